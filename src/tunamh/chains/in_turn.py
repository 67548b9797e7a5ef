"""Several kernels, one after the other in every step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from .._arguments import shown
from ..acceptance.base import Memory
from ..errors import NotApplicable
from ..rows.supply import NO_ROWS
from ..theory import FiniteProblem
from .kernel import Kernel, ReadyKernel


@dataclass(frozen=True, repr=False, init=False)
class InTurn(Kernel):
    """A kernel whose step makes one step of each of several kernels: ``InTurn(first, second, ...)``.

    If every kernel leaves the posterior invariant, then `InTurn` leaves it invariant. The chain need not be reversible,
    and a single kernel need not reach every state.

    Some kernels keep numbers between steps, such as the energy (negative log-likelihood) of all rows in `MH`. After
    another kernel has changed the parameters, these numbers are computed again; a step of `MH` then reads all rows
    twice. If these numbers are part of the state, as in `FlyMC`, the kernel cannot be combined with others. If several
    kernels draw rows at random, all of them must draw row ``i`` with the same probability.

    Examples
    --------
    >>> kernel = InTurn(MetropolisHastings(RandomWalk(0.1)), MetropolisHastings(RandomWalk(1.0)))
    >>> tunamh.sample(target, kernel=kernel)
    """

    kernels: tuple[Kernel, ...]

    def __init__(self, *kernels: Kernel):
        if not kernels:
            raise ValueError("InTurn needs at least one kernel.")
        for one in kernels:
            if not isinstance(one, Kernel):
                raise TypeError(f"InTurn takes kernels, such as MetropolisHastings(RandomWalk()), got {shown(one)}.")
        flat = (each for one in kernels for each in (one.kernels if isinstance(one, InTurn) else (one,)))
        object.__setattr__(self, "kernels", tuple(flat))

    @property
    def exact(self) -> bool:
        return all(one.exact for one in self.kernels)

    def prepare(self, target: Any) -> Any:
        return reduce(lambda prepared, one: one.prepare(prepared), self.kernels, target)

    def bind(self, target: Any) -> ReadyKernel:
        bound = [(one, turn) for one in self.kernels for turn in one.bind(target).turns]
        turns = [turn for _, turn in bound]
        if len(turns) > 1:
            for one, turn in bound:
                _refuse_memory(one, turn)
        supplies = [turn.supply for turn in turns if turn.supply is not NO_ROWS]
        if any(supply is not supplies[0] for supply in supplies):
            raise NotApplicable(
                "two kernels draw rows with different probabilities: all kernels of InTurn must draw "
                "a row with the same probability."
            )
        return turns[0].with_turns(turns)

    def finite_transition(self, problem: FiniteProblem) -> np.ndarray:
        """Return the exact transition matrix (K, K) on the K states of ``problem``.

        The matrix is the product of the transition matrices of the kernels.
        """
        return reduce(np.matmul, (one.finite_transition(problem) for one in self.kernels))

    def __repr__(self) -> str:
        return f"InTurn({', '.join(map(repr, self.kernels))})"


def _refuse_memory(kernel: Kernel, ready: ReadyKernel) -> None:
    if ready.memory.size == 0 or ready.memory_is in (Memory.APART, Memory.OF_PARAMETERS):
        return
    if ready.memory_is is Memory.PART_OF_STATE:
        raise NotApplicable(
            f"{kernel!r} keeps a part of the state in its memory, and other kernels cannot know this part: so it "
            f"cannot be combined with them."
        )
    raise NotApplicable(
        f"{kernel!r} has a memory, but does not say what must be done with it if another kernel changes the state: "
        f"set memory_is= of its ReadyTest or ReadyKernel."
    )
