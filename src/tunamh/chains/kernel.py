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
    """How a statistic of a kept draw comes from those of the ``thin`` steps that lead to it."""

    MEAN = SUM
    ANY = ANY
    MAX = MOST


class Statistic(NamedTuple):
    """A number that a kernel tells of every step.

    Parameters
    ----------
    name : str
        Of the variable in the group ``sample_stats`` of a result.
    over_steps : OverSteps
        Of ``thin`` steps: their mean, whether any of them has it, or their maximum.
    rows : bool
        It counts rows of the data that were read.
    shown : bool
        False: for warm-up only, results do not have it.
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
        record[..., self.kinds == SUM] /= steps


class ReadyKernel(NamedTuple):
    """A kernel made ready for a target.

    Parameters
    ----------
    step : Part
        In the role `Step`.
    statistics : sequence of Statistic
        Names of the numbers that a step fills in, in order.
    hyper : array
        Fixed numbers, ``own.hyper`` in a step.
    knobs : array
        Numbers that warm-up may turn, ``own.knobs``; frozen before the first kept draw.
    memory : array
        What a chain keeps between steps, ``own.memory``: here what it begins with.
    memory_is : Memory, optional
        What the memory has to do with where the chain is. A kernel with a memory that says nothing of it must stay
        alone: `InTurn` refuses it.
    memory_begins_anew : bool
        After warm-up: the memory is a summary of the kept draws.
    supply : Supply
        Where rows that a step draws come from, by default nowhere: ``target.supply`` draws them by ``c_i / C``.
    adapt, adapts_to : Part and str, optional
        The part in the role `Adapt` that turns the knobs in warm-up, and the statistic whose mean over a window, if it
        is positive, it is given.
    log_prior : pair of Part and array, optional
        ``own.log_prior`` and ``own.prior_hyper``; by default the model's.
    proposal, decide : ReadyProposal and Part, optional
        ``own.propose``, ``own.proposal_knobs`` and ``own.decide``: what `MetropolisHastings` is made of.
    then : tuple of ReadyKernel
        Kernels that follow it in every step.
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
    then: tuple[ReadyKernel, ...] = ()

    @property
    def turns(self) -> tuple[ReadyKernel, ...]:
        """The kernels of one step, in their order."""
        return self._replace(then=()), *self.then

    @property
    def learns(self) -> bool:
        """Whether warm-up has anything to do for this one."""
        proposal = self.proposal
        return self.adapt is not None or (proposal is not None and (proposal.tuned or proposal.learn is not None))

    def with_turns(self, turns: Sequence[ReadyKernel]) -> ReadyKernel:
        """The same with others in the places of its kernels."""
        first, *others = turns
        return first._replace(then=tuple(others))

    @property
    def all_statistics(self) -> Statistics:
        """The columns of a record: of all kernels, names that come again with a number behind them."""
        found: list[Statistic] = []
        for one in (one for turn in self.turns for one in turn.statistics):
            taken = {before.name for before in found}
            names = (one.name if k == 1 else f"{one.name}_{k}" for k in range(1, len(taken) + 2))
            found.append(one._replace(name=next(name for name in names if name not in taken)))
        return Statistics(found)

    @property
    def source(self) -> Supply:
        """Where the rows of all kernels come from."""
        return next((turn.supply for turn in self.turns if turn.supply is not NO_ROWS), NO_ROWS)

    @property
    def first_memory(self) -> np.ndarray:
        """What the memory of a chain begins with, that of all kernels one behind the other."""
        return np.concatenate([turn.memory for turn in self.turns])

    @property
    def first_knobs(self) -> np.ndarray:
        return np.concatenate([turn.knobs for turn in self.turns])

    @property
    def first_proposal_knobs(self) -> np.ndarray:
        """Of all proposals, one behind the other; NaN, in the place of a step size, where no kernel has one."""
        found = [turn.proposal.knobs for turn in self.turns if turn.proposal is not None]
        return np.concatenate(found) if found else np.array([np.nan])


class Kernel(ABC):
    """One exact step of the chain: a frozen value that says what it needs.

    Whatever a step does, it must leave the posterior as it is: a state drawn from the posterior, moved by the step, is
    again one drawn from the posterior. Proposal, decision and randomness are its own affair.
    """

    @property
    def exact(self) -> bool:
        """Whether the posterior is the law of its chain."""
        return True

    def prepare(self, target: Any) -> Any:
        """The target in the form that the kernel needs: the same posterior, maybe in other coordinates."""
        return target

    @abstractmethod
    def bind(self, target: Any) -> ReadyKernel:
        """The kernel made ready for a target; raises `NotApplicable` where it does not fit."""

    def finite_transition(self, problem: FiniteProblem) -> np.ndarray:
        """The exact transition matrix on a finite problem: row ``k`` has the law of where state ``k`` goes."""
        raise NotApplicable(f"{type(self).__name__} has no transition matrix on finite problems.")

    def check_bounds(self, target: Any, times: int, rng: np.random.Generator) -> float:
        """Of a kernel that a target brings along: hold every row against its bound in so many steps; the worst ratio.

        Raises `BoundViolation`, which names the row.
        """
        raise NotApplicable(f"{type(self).__name__} has no bounds of rows to be checked.")

    def summaries(self, target: Any, memories: list[np.ndarray]) -> dict[str, np.ndarray] | None:
        """What chains have summed up in their memories, where not all of a state is kept; else None."""
        return None
