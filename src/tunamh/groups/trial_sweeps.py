"""Some sweeps outside a run: what they cost, and whether every row keeps to its bound."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..chains.guard import explain, new_work
from ..compiled import NO_FAULT
from ..rows.stream import open_stream
from .model import MixedModel
from .sweep import Sweep

_SWEEPS, _FIRST = 40, 4


class Trial(NamedTuple):
    """Rows read by every sweep, and the largest ``|rise| / bound`` met."""

    rows: np.ndarray
    worst: float


def try_sweeps(
    target: MixedModel, sweeps: int, rng: np.random.Generator, *, full: bool = False, most: float = np.inf
) -> Trial:
    """From the target's law of starts; raises where a row exceeds its bound.

    Ends early where the sweeps so far, the first few left out, have read more than ``most`` rows each.
    """
    ready, model = Sweep(full).bind(target), target.model()
    stream, work, state = open_stream(np.random.SeedSequence(0)), new_work(), target.start(rng)
    read, worst = [], 0.0
    for k in range(sweeps):
        there = state.copy()
        decision = ready.decide(
            *(rng, state, there, 0.0, 0.0, model, stream.of(ready.supply), ready.knobs, ready.memory, work)
        )
        if decision.fault != NO_FAULT:
            raise explain(decision.fault, state, there, model, k)
        read.append(decision.rows)
        state, worst, usual = there, max(worst, decision.worst), read[_FIRST:]
        if usual and np.mean(usual) > most * (1 + 1 / len(usual)):
            break
    return Trial(np.array(read, dtype=np.float64), worst)


def foreseen_rows(target: MixedModel, most: float = np.inf) -> float:
    """Rows per sweep, by some sweeps with fixed random numbers; fewer of them where each reads more than ``most``."""
    rows = try_sweeps(target, _SWEEPS, np.random.default_rng(0), most=most).rows
    return float(np.mean(rows[_SWEEPS // 4 if len(rows) == _SWEEPS else _FIRST :]))
