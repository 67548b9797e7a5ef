"""What `.move_jointly` reads, learned from some sweeps (spec 5q).

Where factors are nested and thin, sweeps know the common parameters and scales of a short chain well enough for a law
of proposals, and rows' mean curvatures are better than those at the mode. All of it is done once, with fixed random
numbers, before the first step of a chain. Any numbers leave the move exact.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..chains.loop import ChainState, advance, setup_of
from ..compiled import fixed
from ..process.stages import announce
from ..rows.packing import weight_of
from ..rows.source import Rows
from ..rows.supply import open_stream
from .joint_layout import JOINT
from .sweep import Sweep

_MOST_ROWS = 20_000  # with more, sweeps read fewer rows than there are
_FIRST, _SWEEPS, _MORE = 60, 120, 240
_TRIES, _MOST_TRIES = 3.0, 8  # in a sweep: for each time that it reads all rows, and at most
_THIN, _LEAST_TIMES = 5.0, 0.5  # rows of a group, below which a sweep that reads half of the rows costs more than a try
_LEAST_RATE = 0.1
_STATES = 24  # at which rows are looked at
_EACH = 10  # sweeps for an independent draw, about
_WIDER = 1.1
_FLATTEST = 0.01  # of a row's curvature, as a share of its mean size


def joint_law(model: Any) -> np.ndarray | None:
    """Return the numbers that `.move_jointly` reads. Return None if this move is impossible or would not pay."""
    if not may_move_jointly(model):
        return None
    announce("estimating the proposals of all factors")
    chain = _Chain(model)
    chain.sweep(_FIRST)
    times = chain.rows / model.n_rows
    thin = model.n_rows <= _THIN * sum(one.groups for one in model.groupings)
    if times < (_LEAST_TIMES if thin else 1.0):
        return None
    tries = min(_MOST_TRIES, round(_TRIES * times))
    first = numbers_of(model, chain.sweep(_SWEEPS), tries)
    if first is None:
        return None
    chain.join(first)
    states = chain.sweep(_MORE)
    return None if chain.rate < _LEAST_RATE else numbers_of(model, states, tries)


def may_move_jointly(model: Any) -> bool:
    """Return True if the joint move of all factors is possible.

    This needs several factors of normal effects, one effect per group, in the single predictor of rows in memory.
    """
    if len(model.groupings) < 2 or model.n_rows > _MOST_ROWS or model.form is not None or model.scaled_prior:
        return False
    if not (model.grouped.seen.one and isinstance(model.rows, np.ndarray)):
        return False
    return all(
        one.scales == 1 and one.df == 0 and one.related is None and one.free.all() and (one.Z == 1).all()
        for one in model.groupings
    )


class _Chain:
    """Sweeps of a model, alone or with joint moves; ``rows`` and ``rate`` are those of the last ones."""

    def __init__(self, model: Any):
        self._model, self._alone, self._seed = model, Sweep().alone(model), np.random.SeedSequence(0)
        self._rng, self._stream = np.random.default_rng(0), open_stream(self._seed)
        self._here, self.rows, self.rate = model.start(self._rng), 0.0, 0.0
        self._take(self._alone)

    def _take(self, kernel: Any) -> None:
        self._setup = setup_of(self._model, kernel, self._seed)
        self._memory = kernel.first_memory.copy()

    def join(self, numbers: np.ndarray) -> None:
        self._take(Sweep().joined(self._model, numbers))

    def sweep(self, times: int) -> np.ndarray:
        """Make sweeps and return the states, one in each row."""
        setup = self._setup
        state = ChainState(self._here, self._rng, self._stream, self._memory)
        draws, record = np.empty((times, self._here.size)), setup.new_record(times)
        advance(state, setup, draws, record)
        self._here, at = state.here, setup.statistics.column("joint_acceptance")
        self.rows = float(setup.statistics.rows(record).mean())
        self.rate = float(record[:, at].mean()) if at >= 0 else 0.0
        return draws


def numbers_of(model: Any, states: np.ndarray, tries: int) -> np.ndarray | None:
    """Return the numbers of `.move_jointly` from the states of a chain, or None if the states do not determine them."""
    n, groups = model.p + model.m, np.array([one.groups for one in model.groupings])
    order = np.argsort(-groups, kind="stable")
    first = np.concatenate([[0], np.cumsum(groups)[:-1]])
    weight, response = _quadratics(model, states[:: max(1, len(states) // _STATES)])
    codes = [model.groupings[k].codes for k in order]
    root = _root(model, states[:, :n])
    if root is None or not (np.isfinite(weight).all() and np.isfinite(response).all()):
        return None
    overlaps = [_overlap(a, b, weight) for k, a in enumerate(codes) for b in codes[k + 1 :]]
    place = np.concatenate([codes_of + first[k] for codes_of, k in zip(codes, order, strict=True)])
    return fixed(
        JOINT.pack(
            tries=tries,
            p=model.p,
            n_effects=groups.sum(),
            wider=_WIDER,
            order=order,
            first=first[order],
            groups=groups[order],
            middle=states[:, :n].mean(axis=0),
            root=root,
            root_inverse=np.linalg.inv(root),
            weight=weight,
            response=response,
            overlap=np.array(overlaps),
            place=np.append(place, np.zeros(len(place) % 2)).astype(np.int32),
        )
    )


def _overlap(codes: np.ndarray, later: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """Of every row: the share of its group's weight that lies in its group of the later factor; 0 in groups without."""
    pair = np.unique(codes * (int(later.max()) + 1) + later, return_inverse=True)[1]
    return np.bincount(pair, weight)[pair] / np.maximum(np.bincount(codes, weight), np.finfo(float).tiny)[codes]


def _quadratics(model: Any, states: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of every row the mean curvature at some states, not below a share of its size, and the working response."""
    seen, temper = model.grouped.seen, model.base.temper

    def look(block: Rows) -> tuple[np.ndarray, np.ndarray]:
        eta = np.array([seen.of(block, state)[0] for state in states])
        found = [seen.derivatives(one[None], block.y) for one in eta]
        slope = np.mean([one[0][0] for one in found], axis=0)
        bent = np.array([one[1][0, 0] for one in found])
        curvature = np.maximum(bent.mean(axis=0), _FLATTEST * np.abs(bent).mean(axis=0)) + 1e-12
        return weight_of(block, temper) * curvature, eta.mean(axis=0) - slope / curvature

    parts = list(model.rows_of.observations.map(look))
    return np.concatenate([w for w, _ in parts]), np.concatenate([z for _, z in parts])


def _root(model: Any, draws: np.ndarray) -> np.ndarray | None:
    """Of the covariance of the draws, with that of the Gaussian laws of (A) in the place of some of them."""
    p, n = model.p, draws.shape[1]
    before = np.zeros((n, n))
    for k, factor in enumerate(model.factors):
        own = factor.root @ factor.root.T
        before[:p, :p] = own[:p, :p]
        before[p + k, p + k] = own[p, p]
    share = len(draws) / (len(draws) + _EACH * n)
    try:
        return np.linalg.cholesky(share * np.cov(draws.T) + (1 - share) * before)
    except np.linalg.LinAlgError:
        return None
