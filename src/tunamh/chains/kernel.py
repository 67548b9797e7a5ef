"""What a kernel is: one exact step of the chain. `MetropolisHastings` is one, a sweep over groups is another."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from enum import Enum
from typing import Any, NamedTuple

import numpy as np

from ..acceptance.base import Memory
from ..compiled import ANY, MOST, SUM, Part, fixed
from ..errors import NotApplicable
from ..proposals import ReadyProposal
from ..rows.supply import NO_ROWS, Supply
from ..theory import FiniteProblem


class OverSteps(Enum):
    """How to combine the values of a statistic in the ``thin`` steps of a kept draw.

    ``MEAN``: their mean. ``MAX``: their maximum. ``ANY``: True if the statistic was true in at least one step.
    """

    MEAN = SUM
    ANY = ANY
    MAX = MOST


class Statistic(NamedTuple):
    """A number that a kernel reports for every step.

    Parameters
    ----------
    name : str
        The name of the variable in the group ``sample_stats`` of a result.
    over_steps : OverSteps
        How to combine the values in the ``thin`` steps of a kept draw: their mean, their maximum, or True if the
        statistic was true in any step. Default: the mean.
    rows : bool
        True if the number counts rows of the data that were read.
    shown : bool
        True: results contain the statistic. False: it is only used in warm-up.
    """

    name: str
    over_steps: OverSteps = OverSteps.MEAN
    rows: bool = False
    shown: bool = True


ROWS_READ = Statistic("batch_size", rows=True)
"""How many rows a step read."""


class Statistics(tuple[Statistic, ...]):
    """The columns of a record, in their order."""

    @property
    def kinds(self) -> np.ndarray:
        return np.array([one.over_steps.value for one in self], dtype=np.int64)

    def column(self, name: str) -> int:
        """Return the column of the statistic with this name; -1 if there is none."""
        return next((k for k, one in enumerate(self) if one.name == name), -1)

    def of(self, name: str, record: np.ndarray) -> np.ndarray | None:
        """Return the column of this name in a record (..., columns); None if there is none."""
        at = self.column(name)
        return None if at < 0 else record[..., at]

    def rows(self, record: np.ndarray) -> np.ndarray:
        """Return the number of rows read by all kernels together, for each line of a record."""
        return record[..., [k for k, one in enumerate(self) if one.rows]].sum(axis=-1)

    def average(self, record: np.ndarray, steps: int) -> None:
        """Divide the sums over ``steps`` steps to get means. This is done when all steps are added.

        So the means do not depend on where a run was cut into chunks.
        """
        if steps > 1:
            record[..., np.flatnonzero(self.kinds == SUM)] /= steps


class ReadyKernel(NamedTuple):
    """A kernel that is compiled and bound to a target.

    In the compiled step the argument ``own`` has the kernel's own numbers and parts. Each parameter below says under
    which name the step finds it, such as ``own.hyper``.

    Parameters
    ----------
    step : Part
        The compiled step, in the role `Step`.
    statistics : sequence of Statistic
        The numbers that a step reports, in order.
    hyper : array
        Fixed numbers, ``own.hyper``.
    knobs : array
        Tuning parameters, ``own.knobs``. Warm-up may tune them; they are fixed before the first kept draw.
    memory : array
        The initial value of ``own.memory``, which a chain keeps between steps.
    memory_is : Memory, optional
        What must be done with the memory if another kernel changes the state of the chain. `InTurn` refuses a kernel
        that has a memory and does not say this.
    memory_begins_anew : bool
        True: the memory is reset after warm-up, because it must summarise only the kept draws.
    supply : Supply
        The source of the rows that a step draws; ``target.supply`` draws row ``i`` with probability ``c_i / C``, its
        bound divided by the sum of all bounds. Default: no rows.
    adapt, adapts_to : Part and str, optional
        ``adapt`` is the part in the role `Adapt` that tunes the knobs in warm-up. ``adapts_to`` is the name of one of
        the statistics. After each window of warm-up the part gets the mean of this statistic over the window. If the
        mean is not positive, the part is not called.
    log_prior : pair of Part and array, optional
        The log prior and its fixed numbers: ``own.log_prior`` and ``own.prior_hyper``. Default: the log prior of the
        target and its numbers.
    proposal, decide : ReadyProposal and Part, optional
        ``own.propose``, ``own.proposal_knobs`` and ``own.decide``, for `MetropolisHastings`.
    parts : tuple of Part
        Further parts that a step calls, by their addresses in ``own.parts``.
    then : tuple of ReadyKernel
        Kernels that follow this one in every step.
    """

    step: Part
    statistics: Sequence[Statistic] = ()
    hyper: np.ndarray = fixed([])
    knobs: np.ndarray = fixed([])
    memory: np.ndarray = fixed([])
    memory_is: Memory | None = None
    memory_begins_anew: bool = False
    supply: Supply = NO_ROWS
    adapt: Part | None = None
    adapts_to: str | None = None
    log_prior: tuple[Part, np.ndarray] | None = None
    proposal: ReadyProposal | None = None
    decide: Part | None = None
    parts: tuple[Part, ...] = ()
    then: tuple[ReadyKernel, ...] = ()

    @property
    def turns(self) -> tuple[ReadyKernel, ...]:
        """Return the kernels that make one step of the chain: this kernel, then the kernels in the field ``then``.

        The kernels are in the order in which they make their steps.
        """
        return self._replace(then=()), *self.then

    @property
    def learns(self) -> bool:
        """Return True if warm-up tunes this kernel or its proposal."""
        proposal = self.proposal
        return self.adapt is not None or (proposal is not None and (proposal.tuned or proposal.learn is not None))

    def with_turns(self, turns: Sequence[ReadyKernel]) -> ReadyKernel:
        """Return a kernel whose step makes one step of each kernel in ``turns``, in this order."""
        first, *others = turns
        return first._replace(then=tuple(others))

    @property
    def all_statistics(self) -> Statistics:
        """Return the statistics that one step of the chain reports, from all kernels that make this step.

        If several statistics have the same name, a number is added to the name of the second one, the third one, and so
        on.
        """
        found: list[Statistic] = []
        for one in (one for turn in self.turns for one in turn.statistics):
            taken = {before.name for before in found}
            names = (one.name if k == 1 else f"{one.name}_{k}" for k in range(1, len(taken) + 2))
            found.append(one._replace(name=next(name for name in names if name not in taken)))
        return Statistics(found)

    @property
    def source(self) -> Supply:
        """Return the supply from which all kernels of a step draw rows; `NO_ROWS` if no kernel draws rows."""
        return next((turn.supply for turn in self.turns if turn.supply is not NO_ROWS), NO_ROWS)

    @property
    def first_memory(self) -> np.ndarray:
        """Return one array: the initial values of the numbers that all kernels keep between steps."""
        return np.concatenate([turn.memory for turn in self.turns])

    @property
    def first_knobs(self) -> np.ndarray:
        """Return one array with the initial values of the tuning parameters (``knobs``) of all kernels."""
        return np.concatenate([turn.knobs for turn in self.turns])

    @property
    def first_proposal_knobs(self) -> np.ndarray:
        """Return the tuning parameters (``knobs``) of all proposals, joined to one array.

        If no kernel has a proposal, the array has a single number, NaN.
        """
        found = [turn.proposal.knobs for turn in self.turns if turn.proposal is not None]
        return np.concatenate(found) if found else np.array([np.nan])


class Kernel(ABC):
    """Base class of kernels. A kernel is one exact step of the chain.

    A step must leave the posterior invariant: if a state is drawn from the posterior, the state after the step has the
    posterior as its distribution, too. The step may change the state in any way that has this property. A kernel is an
    immutable object.
    """

    @property
    def exact(self) -> bool:
        """Return True if the posterior is the stationary distribution of a chain with this kernel."""
        return True

    def parts_ahead(self) -> tuple[Part, ...]:
        """Return the compiled functions that every step of this kernel calls, for any target.

        tunamh compiles them in the background while the first run is set up. The default is none.
        """
        return ()

    def prepare(self, target: Any) -> Any:
        """Return a target with the same posterior in the form that the kernel needs, such as other coordinates."""
        return target

    @abstractmethod
    def bind(self, target: Any) -> ReadyKernel:
        """Return the kernel, compiled for ``target``. Raises `NotApplicable` if it does not fit the target."""

    def finite_transition(self, problem: FiniteProblem) -> np.ndarray:
        """Return the exact transition matrix (K, K) of the kernel on the K states of ``problem``.

        Row ``k`` is the distribution of the next state if the current state is ``k``. The default raises
        `NotApplicable`.
        """
        raise NotApplicable(f"{type(self).__name__} has no transition matrix on finite problems.")

    def check_bounds(self, target: Any, times: int, rng: np.random.Generator) -> float:
        """Make ``times`` steps and compare the energy change of every row with its bound.

        The energy of a row is its negative log-likelihood. The result is the largest ratio of an energy change to its
        bound. Raises `BoundViolation` with the number of the row if a row exceeds its bound. Only kernels of a
        particular target, such as the kernel of `MixedModel`, have this check; the default raises `NotApplicable`.
        """
        raise NotApplicable(f"{type(self).__name__} has no bounds of rows to be checked.")

    def summaries(self, target: Any, memories: list[np.ndarray]) -> dict[str, np.ndarray] | None:
        """Return summaries of numbers that the draws do not contain; None if there are none.

        An example is the mean of each group effect. ``memories`` has, for each chain, the numbers that the kernel kept
        between steps. The result is a dict from names to arrays.
        """
        return None
