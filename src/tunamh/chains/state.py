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
from ..rows.stream import StreamState
from .loop import REPORT, ChainState, Kernel


class PartOfDraw(NamedTuple):
    """Some of the ``thin`` steps that lead to one kept draw, and their record, in sums."""

    steps: int
    record: np.ndarray


NO_PART = PartOfDraw(0, np.zeros(REPORT + 1))
"""Between two draws."""


@dataclass
class RunState:
    """All that the next step of a run depends on.

    Parameters
    ----------
    chain : ChainState
        Where the chain is, its random numbers and its test's memory.
    learned : Learned
        What warm-up knows; ``learned.done`` of its steps are made.
    proposal_knobs, test_knobs : array
        The knobs of the moment: warm-up turns them, and freezes them with its last step.
    part : PartOfDraw
        The draw under way.
    kept : int
        Draws.
    """

    chain: ChainState
    learned: Learned
    proposal_knobs: np.ndarray
    test_knobs: np.ndarray
    part: PartOfDraw = NO_PART
    kept: int = 0

    def in_force(self, kernel: Kernel) -> Kernel:
        """The choices in ``kernel`` with the knobs of the moment, which its parts may not write to."""
        return kernel._replace(
            proposal=kernel.proposal._replace(knobs=_read_only(self.proposal_knobs)),
            test=kernel.test._replace(knobs=_read_only(self.test_knobs)),
        )

    def fits(self, kernel: Kernel, dim: int, draws: int, thin: int) -> bool:
        """Whether every vector has the size that these choices give it, and points nowhere outside their rows.

        Compiled code would not notice, and a saved state may come from a damaged file.
        """
        chain, test = self.chain, kernel.test
        sizes = [chain.here, chain.memory, self.proposal_knobs, self.test_knobs, self.part.record]
        wanted = [dim, test.memory.size, kernel.proposal.knobs.size, test.knobs.size, REPORT + 1]
        if [(array.shape, array.dtype) for array in sizes] != [((size,), np.dtype(np.float64)) for size in wanted]:
            return False
        if [type(value) for value in self.learned] != [int, float, float, int, float, int, float]:
            return False
        counts = 0 <= self.kept <= draws and 0 <= self.part.steps < thin
        model = kernel.model
        within = chain.stream.fits(len(model.data.rows), test.supply.pool is not None) and _same_order(
            chain.memory, test.memory, model.n_rows
        )
        return counts and within

    def to_arrays(self) -> dict[str, np.ndarray]:
        """Copies of everything, by name: what a store writes."""
        chain = self.chain
        values = {
            "here": chain.here,
            "memory": chain.memory,
            "steps": chain.steps,
            "rng": words_of_generator(chain.rng),
            **_named("stream", chain.stream),
            **_named("learned", self.learned),
            "proposal_knobs": self.proposal_knobs,
            "test_knobs": self.test_knobs,
            **_named("part", self.part),
            "kept": self.kept,
        }
        return {name: np.array(value) for name, value in values.items()}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, np.ndarray]) -> RunState:
        """The record that `to_arrays` gave; the arrays are copied."""
        values: dict[str, Any] = {
            name: array.item() if array.ndim == 0 else np.array(array) for name, array in arrays.items()
        }
        for name in ("steps", "kept", "part.steps"):
            if type(values[name]) is not int or values[name] < 0:
                raise ValueError(f"its {name} is no number of steps or draws")
        rng, stream = generator_from_words(values["rng"]), _group(StreamState, "stream", values)
        return cls(
            ChainState(values["here"], rng, stream, values["memory"], values["steps"]),
            _group(Learned, "learned", values),
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


def _read_only(array: np.ndarray) -> np.ndarray:
    view = array.view()
    view.flags.writeable = False
    return view


def _named(prefix: str, group: Any) -> dict[str, Any]:
    """The fields of a NamedTuple, each by its name behind the prefix."""
    return {f"{prefix}.{name}": value for name, value in group._asdict().items()}


def _group(kind: Any, prefix: str, values: Mapping[str, Any]) -> Any:
    return kind(*(values[f"{prefix}.{name}"] for name in kind._fields))
