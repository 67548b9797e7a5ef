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
    """How to combine a statistic over the ``thin`` steps of a kept draw."""

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
        How to combine ``thin`` steps: their mean, whether it was true in any of them, or their maximum.
    rows : bool
        Whether it counts rows of the data that were read.
    shown : bool
        False: only for warm-up, not in results.
    """

    name: str
    over_steps: OverSteps = OverSteps.MEAN
    rows: bool = False
    shown: bool = True


ROWS_READ = Statistic("batch_size", rows=True)
"""How many rows a step read."""


class Statistics(tuple[Statistic, ...]):
    """The columns of a record, in order."""

    @property
    def kinds(self) -> np.ndarray:
        return np.array([one.over_steps.value for one in self], dtype=np.int64)

    def column(self, name: str) -> int:
        """Where the statistic of that name is; -1 where there is none."""
        return next((k for k, one in enumerate(self) if one.name == name), -1)

    def of(self, name: str, record: np.ndarray) -> np.ndarray | None:
        """The column of a record (..., columns), None where there is none."""
        at = self.column(name)
        return None if at < 0 else record[..., at]

    def rows(self, record: np.ndarray) -> np.ndarray:
        """Rows read, by all kernels together, in each line of a record."""
        return record[..., [k for k, one in enumerate(self) if one.rows]].sum(axis=-1)

    def average(self, record: np.ndarray, steps: int) -> None:
        """Make means of the sums over so many steps, once all are added up: then these do not depend on the cuts."""
        if steps > 1:
            record[..., np.flatnonzero(self.kinds == SUM)] /= steps


class ReadyKernel(NamedTuple):
    """A kernel that is compiled and bound to a target.

    Parameters
    ----------
    step : Part
        The compiled step, in the role `Step`.
    statistics : sequence of Statistic
        The numbers that a step reports, in order.
    hyper : array
        Fixed numbers, ``own.hyper`` in a step.
    knobs : array
        Numbers that warm-up may tune, ``own.knobs``; fixed before the first kept draw.
    memory : array
        The initial value of ``own.memory``, which a chain keeps between steps.
    memory_is : Memory, optional
        How the memory depends on the state of the chain. `InTurn` refuses a kernel that has a memory and does not say
        this.
    memory_begins_anew : bool
        Whether the memory is reset after warm-up, because it summarises the kept draws.
    supply : Supply
        The source of the rows that a step draws; ``target.supply`` draws them with probabilities ``c_i / C``. Default:
        no rows.
    adapt, adapts_to : Part and str, optional
        The part in the role `Adapt` that tunes the knobs in warm-up, and the name of a statistic. The part gets the
        mean of this statistic over a window, if it is positive.
    log_prior : pair of Part and array, optional
        ``own.log_prior`` and ``own.prior_hyper``. Default: those of the model.
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
        """The kernels of one step, in their order."""
        return self._replace(then=()), *self.then

    @property
    def learns(self) -> bool:
        """Whether warm-up tunes anything in this kernel."""
        proposal = self.proposal
        return self.adapt is not None or (proposal is not None and (proposal.tuned or proposal.learn is not None))

    def with_turns(self, turns: Sequence[ReadyKernel]) -> ReadyKernel:
        """Return a copy of this kernel, whose step makes one step of each of ``turns``."""
        first, *others = turns
        return first._replace(then=tuple(others))

    @property
    def all_statistics(self) -> Statistics:
        """The columns of a record, for all kernels. Repeated names get a number."""
        found: list[Statistic] = []
        for one in (one for turn in self.turns for one in turn.statistics):
            taken = {before.name for before in found}
            names = (one.name if k == 1 else f"{one.name}_{k}" for k in range(1, len(taken) + 2))
            found.append(one._replace(name=next(name for name in names if name not in taken)))
        return Statistics(found)

    @property
    def source(self) -> Supply:
        """The source from which the kernels take their rows."""
        return next((turn.supply for turn in self.turns if turn.supply is not NO_ROWS), NO_ROWS)

    @property
    def first_memory(self) -> np.ndarray:
        """The initial memory of a chain: the memories of all kernels, joined."""
        return np.concatenate([turn.memory for turn in self.turns])

    @property
    def first_knobs(self) -> np.ndarray:
        return np.concatenate([turn.knobs for turn in self.turns])

    @property
    def first_proposal_knobs(self) -> np.ndarray:
        """The knobs of all proposals, joined; NaN as the step size if no kernel has one."""
        found = [turn.proposal.knobs for turn in self.turns if turn.proposal is not None]
        return np.concatenate(found) if found else np.array([np.nan])


class Kernel(ABC):
    """One exact step of the chain, as an immutable object.

    A step must leave the posterior invariant: if a state is drawn from the posterior, the state after the step has the
    posterior as its distribution, too. How it proposes and decides is free.
    """

    @property
    def exact(self) -> bool:
        """Whether the posterior is the stationary distribution of its chain."""
        return True

    def parts_ahead(self) -> tuple[Part, ...]:
        """Parts that its steps need whatever the target is: they are compiled while a first run is set up."""
        return ()

    def prepare(self, target: Any) -> Any:
        """Return the target in the form that the kernel needs: the same posterior, possibly in other coordinates."""
        return target

    @abstractmethod
    def bind(self, target: Any) -> ReadyKernel:
        """Return the kernel bound to a target. Raises `NotApplicable` if it does not fit the target."""

    def finite_transition(self, problem: FiniteProblem) -> np.ndarray:
        """The exact transition matrix on a finite problem; row ``k`` is the distribution of the state after ``k``."""
        raise NotApplicable(f"{type(self).__name__} has no transition matrix on finite problems.")

    def check_bounds(self, target: Any, times: int, rng: np.random.Generator) -> float:
        """Compare every row with its bound in a number of steps and return the worst ratio (for a target's own kernel).

        Raises `BoundViolation` with the number of the row.
        """
        raise NotApplicable(f"{type(self).__name__} has no bounds of rows to be checked.")

    def summaries(self, target: Any, memories: list[np.ndarray]) -> dict[str, np.ndarray] | None:
        """Return summaries of numbers that draws do not keep, from the chains' memories; None if there are none."""
        return None
