"""Some sweeps outside a run: what they cost, and whether every row keeps to its bound."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..chains.loop import ChainState, advance, setup_of
from ..rows.supply import open_stream
from .model import MixedModel
from .sweep import Sweep

_SWEEPS, _FIRST = 40, 4


class Trial(NamedTuple):
    """The number of rows that every sweep has read, and the largest ``|rise| / bound``."""

    rows: np.ndarray
    worst: float


def try_sweeps(
    target: MixedModel, sweeps: int, rng: np.random.Generator, *, full: bool = False, most: float = np.inf
) -> Trial:
    """Make sweeps from the target's start law. Raise an error if a row exceeds its bound.

    Stop early if the sweeps so far, without the first few, have read more than ``most`` rows each.
    """
    kernel, seed = Sweep(full).bind(target), np.random.SeedSequence(0)
    setup = setup_of(target, kernel, seed)
    names = setup.statistics
    state = ChainState(target.start(rng), rng, open_stream(seed), kernel.first_memory)
    draw, record = np.empty((1, state.here.size)), setup.new_record(1)
    read: list[float] = []
    worst = 0.0
    for _ in range(sweeps):
        advance(state, setup, draw, record)
        read.append(names.rows(record)[0])
        worst, usual = max(worst, record[0, names.column("bound_ratio")]), read[_FIRST:]
        if usual and np.mean(usual) > most * (1 + 1 / len(usual)):
            break
    return Trial(np.array(read), worst)


def foreseen_rows(target: MixedModel, most: float = np.inf) -> float:
    """Return the mean number of rows per sweep, from some sweeps with fixed random numbers.

    Fewer sweeps are made if each reads more than ``most`` rows.
    """
    rows = try_sweeps(target, _SWEEPS, np.random.default_rng(0), most=most).rows
    return float(np.mean(rows[_SWEEPS // 4 if len(rows) == _SWEEPS else _FIRST :]))
