"""Some sweeps outside a run: what they cost, and whether every row keeps to its bound."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._jit import NO_FAULT
from ..data.stream import open_stream
from ..guard import explain, new_work
from .model import MixedModel
from .sweep import Sweep

_SWEEPS = 40


class Trial(NamedTuple):
    """Rows read by every sweep, and the largest ``|rise| / bound`` met."""

    rows: np.ndarray
    worst: float


def try_sweeps(target: MixedModel, sweeps: int, rng: np.random.Generator, *, full: bool = False) -> Trial:
    """From the target's law of starts; raises where a row exceeds its bound."""
    ready, model = Sweep(full).bind(target), target.model()
    stream, work, state = open_stream(np.random.SeedSequence(0)), new_work(), target.start(rng)
    rows, worst = np.empty(sweeps), 0.0
    for k in range(sweeps):
        there = state.copy()
        decision = ready.decide(
            *(rng, state, there, 0.0, 0.0, model, stream.of(ready.supply), ready.knobs, ready.memory, work)
        )
        if decision.fault != NO_FAULT:
            raise explain(decision.fault, state, there, model, k)
        state, rows[k], worst = there, decision.rows, max(worst, decision.worst)
    return Trial(rows, worst)


def foreseen_rows(target: MixedModel) -> float:
    """Rows per sweep, by some sweeps with fixed random numbers."""
    return float(np.mean(try_sweeps(target, _SWEEPS, np.random.default_rng(0)).rows[_SWEEPS // 4 :]))
