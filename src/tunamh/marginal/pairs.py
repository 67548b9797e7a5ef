"""Acceptance probabilities of given moves, each decided on a minibatch of its own, without making the moves.

For a move ``x -> y`` and an independence proposal ``q``, the test draws a batch and accepts with ``min(1, r)``. The
mean of ``min(1, r)`` over batches is the acceptance probability ``a(x -> y)`` of the test. So ``min(1, r)`` of one
batch is an unbiased estimate of it, and no coin is thrown.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
from numba import types

from ..acceptance import MHSS
from ..chains.guard import explain
from ..chains.loop import setup_of
from ..chains.metropolis import joined
from ..compiled import BAD_RATIO, KINDS, NO_FAULT, NO_ROWS_CAME, Decide, Move, borrowed, part
from ..proposals import RandomWalk
from ..rows.supply import open_stream

_vector, _fixed, _matrix = KINDS.vector, KINDS.fixed, KINDS.matrix


class Moves(NamedTuple):
    """Moves between the rows of two matrices, and their results.

    ``log_q`` are the log ratios ``log q(here) - log q(there)`` of the proposal. ``out`` receives ``min(1, r)`` and the
    number of rows of every move.
    """

    here: Any
    there: Any
    log_q: Any
    out: Any


_moves = types.NamedTuple([_matrix, _matrix, _vector, _matrix], Moves)

DecidePairs = types.FunctionType(
    types.Tuple([KINDS.whole, KINDS.whole])(
        *(KINDS.generator, _moves, KINDS.model, KINDS.stream, Decide, _fixed, _vector, KINDS.work)
    )
)
"""``(rng, moves, model, stream, decide, knobs, memory, work) -> (moves decided, fault)``."""


@part(DecidePairs)
def decide_pairs(rng, moves, model, stream, decide, knobs, memory, work):
    model, stream, work = borrowed(model), borrowed(stream), borrowed(work)
    here, there, log_q, out = moves
    hyper, d = model.data.hyper, here.shape[1]
    x, y, theta, prop = np.empty(d), np.empty(d), np.empty(d), np.empty(d)
    for k in range(here.shape[0]):
        for j in range(d):
            x[j] = theta[j] = here[k, j]
            y[j] = prop[j] = there[k, j]
        model.locate(x, theta, hyper)
        model.locate(y, prop, hyper)
        log_rho = log_q[k] + model.offset(x, y, hyper)
        distance = np.nan
        if log_rho > -np.inf:
            log_rho += model.log_prior(prop, model.prior_hyper) - model.log_prior(theta, model.prior_hyper)
            distance = model.distance(x, y, hyper)
        if math.isnan(log_rho) or log_rho == np.inf:
            return k, BAD_RATIO
        decision = decide(rng, Move(theta, prop, log_rho, distance), model, stream, knobs, memory, work)
        if decision.fault != NO_FAULT:
            return k, decision.fault
        if stream.cursor[-1] < 0:
            return k, NO_ROWS_CAME
        out[k, 0] = math.exp(min(0.0, decision.log_ratio))
        out[k, 1] = decision.rows
    return here.shape[0], NO_FAULT


class Decided(NamedTuple):
    """The results of moves: ``min(1, r)``, and the number of rows that each has read."""

    accepted: np.ndarray
    rows: np.ndarray


class MinibatchTest:
    """Decides on moves between states of a target whose rows have finite bounds."""

    def __init__(self, target: Any, floor: float, seed: np.random.SeedSequence):
        moves, rows = seed.spawn(2)
        ready = MHSS(floor=floor, delayed=False).bind(target)
        if target.gathered is not None:
            target.gathered.expect(1)
        self.setup = setup_of(target, joined(RandomWalk().bind(target), ready), rows)
        self.stream = open_stream(rows, self.setup.kernel.source)
        self.rng, self.ready = np.random.default_rng(moves), ready

    def decide(self, here: np.ndarray, there: np.ndarray, log_q: np.ndarray) -> Decided:
        """Decide on moves between the rows of two matrices of states."""
        out, setup = np.empty((len(here), 2)), self.setup
        here, there = (np.ascontiguousarray(states, dtype=np.float64) for states in (here, there))
        ready, stream, moves = (
            self.ready,
            self.stream.of(setup.kernel.source),
            Moves(here, there, np.ascontiguousarray(log_q), out),
        )
        done, fault = decide_pairs(
            *(self.rng, moves, setup.model, stream, ready.decide, ready.knobs, ready.memory.copy(), setup.work)
        )
        if fault != NO_FAULT:
            raise explain(fault, here[done].copy(), there[done].copy(), setup.model, None, setup.pool)
        return Decided(out[:, 0], out[:, 1])
