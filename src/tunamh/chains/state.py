"""The state of a run: one record of all that the next step depends on, warm-up included.

What a run was told (target, test, proposal, sizes) is no part of it, and neither are the draws it has kept. Saved as
arrays and loaded into a run of the same choices, the record goes on with the same draws.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..compiled import Learned
from ..compiled.random import generator_from_words, words_of_generator
from ..rows.supply import StreamState
from .kernel import ReadyKernel
from .loop import ChainSetup, ChainState, slices_of


class PartOfDraw(NamedTuple):
    """The part of a draw that is done: the steps so far, of ``thin`` steps, and the sums of their record."""

    steps: int
    record: np.ndarray


def no_part(setup: ChainSetup) -> PartOfDraw:
    """Return the empty part of a draw: no step is made yet."""
    return PartOfDraw(0, np.zeros(len(setup.statistics)))


@dataclass
class RunState:
    """Everything on which the next step of a run depends.

    Parameters
    ----------
    chain : ChainState
        Where the chain is, its random numbers and the memory of its test.
    learned : list of Learned
        What warm-up has learned of each kernel that learns; if no kernel learns, of the first kernel.
    proposal_knobs, knobs : array
        The present knobs of all proposals and of all kernels. Warm-up tunes them; they are fixed after its last step.
    part : PartOfDraw
        The steps of the next draw that are done.
    kept : int
        The number of draws so far.
    """

    chain: ChainState
    learned: list[Learned]
    proposal_knobs: np.ndarray
    knobs: np.ndarray
    part: PartOfDraw
    kept: int = 0

    @property
    def warmed(self) -> int:
        """Return the number of warm-up steps that are done."""
        return self.learned[0].done

    def knobs_of(self, kernel: ReadyKernel) -> list[np.ndarray]:
        """Return the knobs of each kernel, as views that may be written to."""
        return [self.knobs[place] for place in slices_of([turn.knobs.size for turn in kernel.turns])]

    def proposal_knobs_of(self, kernel: ReadyKernel) -> list[np.ndarray]:
        """Return the knobs of each kernel's proposal, as views that may be written to; empty if it has no proposal."""
        sizes = [0 if turn.proposal is None else turn.proposal.knobs.size for turn in kernel.turns]
        return [self.proposal_knobs[place] for place in slices_of(sizes)]

    def in_force(self, setup: ChainSetup) -> ChainSetup:
        """Return the set-up with the present knobs. Its parts may not write to them."""
        kernel = setup.kernel
        turns = [
            turn._replace(
                knobs=_read_only(knobs),
                proposal=None if turn.proposal is None else turn.proposal._replace(knobs=_read_only(of_proposal)),
            )
            for turn, knobs, of_proposal in zip(
                kernel.turns, self.knobs_of(kernel), self.proposal_knobs_of(kernel), strict=True
            )
        ]
        return setup._replace(kernel=kernel.with_turns(turns))

    def fits(self, setup: ChainSetup, dim: int, draws: int, thin: int) -> bool:
        """Return True if every vector has the size that these choices need, and if no row number is outside the rows.

        Compiled code would not notice wrong sizes, and a saved state may come from a damaged file.
        """
        chain, kernel, model = self.chain, setup.kernel, setup.model
        memory, columns = kernel.first_memory, len(setup.statistics)
        sizes = [chain.here, chain.memory, self.proposal_knobs, self.knobs, self.part.record]
        wanted = [dim, memory.size, kernel.first_proposal_knobs.size, kernel.first_knobs.size, columns]
        if [(array.shape, array.dtype) for array in sizes] != [((size,), np.dtype(np.float64)) for size in wanted]:
            return False
        if [[type(value) for value in one] for one in self.learned] != [_KINDS] * len(learners(kernel)):
            return False
        counts = 0 <= self.kept <= draws and 0 <= self.part.steps < thin
        within = chain.stream.fits(len(model.data.rows), kernel.source.pool is not None) and _same_order(
            chain.memory, memory, model.n_rows
        )
        return counts and within

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Return copies of everything by name, for a store."""
        chain = self.chain
        values = {
            "here": chain.here,
            "memory": chain.memory,
            "steps": chain.steps,
            "rng": words_of_generator(chain.rng),
            **_named("stream", chain.stream),
            **{name: value for k, one in enumerate(self.learned) for name, value in _learned_as_dict(k, one).items()},
            "proposal_knobs": self.proposal_knobs,
            "test_knobs": self.knobs,
            **_named("part", self.part),
            "kept": self.kept,
        }
        return {name: np.array(value) for name, value in values.items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> RunState:
        """Return the state from the arrays of `to_arrays`. The arrays are copied."""
        values: dict[str, Any] = {
            name: array.item() if array.ndim == 0 else np.array(array) for name, array in arrays.items()
        }
        for name in ("steps", "kept", "part.steps"):
            if type(values[name]) is not int or values[name] < 0:
                raise ValueError(f"its {name} is no number of steps or draws")
        rng, stream = generator_from_words(values["rng"]), _group(StreamState, "stream", values)
        return cls(
            ChainState(values["here"], rng, stream, values["memory"], values["steps"]),
            _learned_from(values),
            values["proposal_knobs"],
            values["test_knobs"],
            _group(PartOfDraw, "part", values),
            values["kept"],
        )


def _same_order(memory: np.ndarray, initial: np.ndarray, n_rows: int) -> bool:
    """Where a test began with a list of all rows, at its memory's start or behind one number, it has such a list."""
    rows = np.arange(n_rows)
    for at in (0, 1):
        if n_rows > 1 and np.array_equal(initial[at:][:n_rows], rows):
            bright = at == 0 or 0 <= memory[0] <= n_rows
            return bright and np.array_equal(np.sort(memory[at:][:n_rows]), rows)
    return True


_KINDS = [int, float, float, int, float, int, float]
_OLDER_NAMES = {"adapts_to": "move_bound", "late_means": "late_move_bounds"}  # in stores, since the first of them


def learners(kernel: ReadyKernel) -> list[int]:
    """Return the numbers of the kernels that learn in warm-up.

    If no kernel learns, return the number of the first one, which counts the steps.
    """
    return [k for k, turn in enumerate(kernel.turns) if turn.learns] or [0]


def _learned_as_dict(k: int, learned: Learned) -> dict[str, Any]:
    return {f"{_prefix(k)}.{_OLDER_NAMES.get(name, name)}": value for name, value in learned._asdict().items()}


def _learned_from(values: Mapping[str, Any]) -> list[Learned]:
    found: list[Learned] = []
    while not found or f"{_prefix(len(found))}.done" in values:
        prefix = _prefix(len(found))
        found.append(Learned(*(values[f"{prefix}.{_OLDER_NAMES.get(name, name)}"] for name in Learned._fields)))
    return found


def _prefix(k: int) -> str:
    return "learned" if k == 0 else f"learned {k + 1}"


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view


def _named(prefix: str, group: Any) -> dict[str, Any]:
    """The fields of a NamedTuple, each by its name behind the prefix."""
    return {f"{prefix}.{name}": value for name, value in group._asdict().items()}


def _group(kind: Any, prefix: str, values: Mapping[str, Any]) -> Any:
    return kind(*(values[f"{prefix}.{name}"] for name in kind._fields))
