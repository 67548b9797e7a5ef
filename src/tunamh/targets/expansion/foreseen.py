"""How many rows a step will read, with the centre as it is and with a fresh one: whether the centre is to move.

A step reads about ``C M(theta, prop)`` rows, the mean over pairs of draws from the Gaussian. With a fresh centre at the
Gaussian's mean the distances are those about the origin, and the sum of the bounds is

    C_fresh = sum_i w_i L_i |N'x_i|^{k+1} = C E[ (|N'x_i| / |L'x_i|)^{k+1} ],    i drawn by c_i / C,

``L`` of the old metric, ``N`` of today's: rows that are kept of every piece (`tunamh.living.kept_rows`) are such
draws, so that the mean over them estimates it, and nothing is read.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from ..designs.base import DesignNumbers
from ..designs.dense import DenseBlock
from ..designs.indexed import IndexedBlock
from ..layouts import FEATURES, Trust
from .bounds import on_ladder, second_order
from .kept import ORDER
from .taylor import TaylorTarget

Samples = Sequence[tuple[float, np.ndarray]]
"""Of parts of the data: the sum of their bounds, and packed rows drawn by these, as many as there are."""

_PAIRS = 100
ROWS_OF_A_PIECE = 32
"""Drawn rows of a part of the data by which a fresh centre is foreseen. Chains get others: whether the centre moves
depends on these."""


CHEAP = 2.0
"""Rows per step, below which a fresh centre saves nothing: they cost less than a step without any row. With twice as
many, the rows that are kept of all pieces are enough for a run of usual length."""

TIMES = 2.0
"""The centre moves where a step would read so many times as many rows as with a fresh one, or rows are so many times as
many as when it was chosen."""


def foreseen_rows(
    expanded: TaylorTarget, samples: Samples, factor: np.ndarray, numbers: DesignNumbers
) -> tuple[float, float]:
    """Return the rows that a step will read with this centre, and with a new centre."""
    white = expanded.whitened()
    hyper, distance = white._hyper, white.parts.distance
    n_rows = expanded.n_rows
    here = [min(expanded.total_bound * distance(a, b, hyper), n_rows) for a, b in _pairs(expanded.dim)]
    total = fresh_total(expanded, samples, factor, numbers)
    return float(np.mean(here)), rows_about(np.zeros(expanded.dim), total, n_rows, Trust())


def rows_about(shift: np.ndarray, total: float, n_rows: int, trust: Trust) -> float:
    """Return the rows that a step will read with a new centre, ``shift`` away from the mean of the Gaussian.

    ``shift`` is in whitened coordinates. ``total`` is ``C_fresh``, and ``trust`` has the radii about the centre.
    """
    found = []
    for a, b in _pairs(len(shift)):
        p, w = b - a, a + b - 2 * shift
        products = float(p @ p), float(w @ w), float(p @ w)
        found.append(total * on_ladder(second_order(*products), *products, trust))
    return float(np.mean(np.minimum(found, n_rows)))


def _pairs(dim: int) -> np.ndarray:
    """Pairs of draws from a standard Gaussian."""
    return np.random.default_rng(0).standard_normal((_PAIRS, 2, dim))


def fresh_total(expanded: TaylorTarget, samples: Samples, factor: np.ndarray, numbers: DesignNumbers) -> float:
    """Return an estimate of ``C_fresh``, the sum of the bounds with a new centre."""
    some = [(total, rows[:ROWS_OF_A_PIECE]) for total, rows in samples if len(rows)]
    if not some:
        return 0.0
    block = features_of(np.concatenate([rows for _, rows in some]), numbers, expanded.dim)
    before, today = block.whitened_norms(factor), block.whitened_norms(expanded.metric.factor)
    ratio = np.divide(today, before, out=np.zeros_like(today), where=before > 0) ** (ORDER + 1)
    ends = np.cumsum([len(rows) for _, rows in some])[:-1]
    return float(sum(total * part.mean() for (total, _), part in zip(some, np.split(ratio, ends), strict=True)))


def why_move(now: float, fresh: float, rows: int, born: int) -> str | None:
    """Return in words why the centre must move, or None if it stays."""
    if rows > TIMES * born:
        return f"there are {rows:,} rows, and {born:,} when the centre was chosen"
    if max(now, CHEAP) > TIMES * max(fresh, CHEAP):
        return f"a step would read {now:.3g} rows, and {fresh:.3g} with a fresh centre"
    return None


LASTING = 17_000
"""Kept rows for each row of a step, so that a usual run needs no file: eight streams (four chains, and the measure of
Laplace's distance) have equal parts of what is kept, a chain makes 1,500 steps, and of some pieces it draws more than
its part: a third to spare."""


def why_move_in_files(now: float, fresh: float, rows: int, born: int, kept: int) -> str | None:
    """Return what `why_move` returns, for a move that must read every file.

    The rule reads each row fewer than three times on average. Moves at ``n_1, n_2, ...`` rows with ``n_k >= 2 n_(k-1)``
    read at most ``n + n/2 + n/4 + ... = 2 n`` rows, and every row was read once when it came. Between two moves a step
    reads more rows than with a new centre. These rows are ``kept`` and cost almost nothing. But if a run needs more
    rows than are kept, it must read files; then the centre moves at once. So a coefficient that drifts fast costs more
    passes, but fewer if the centre is placed ahead of the drift (`tunamh.living.drift`).
    """
    if now <= max(CHEAP, TIMES * fresh):
        return None
    why = f"a step would read {now:.3g} rows, and {fresh:.3g} with a fresh centre"
    if rows >= TIMES * born or rows <= born / TIMES:
        return why
    return f"{why}: more than are kept for a run" if now * LASTING > kept else None


def features_of(rows: np.ndarray, numbers: DesignNumbers, dim: int) -> Any:
    """Return the block of a design from which packed rows were made."""
    if numbers.single:
        single = np.ascontiguousarray(rows[:, : numbers.width - int(numbers.shifted)]).view(np.float32)
        return DenseBlock(single[:, : numbers.columns].astype(np.float64))
    if not numbers.positions:
        return DenseBlock(np.ascontiguousarray(rows[:, : numbers.columns]))
    places = FEATURES.places(columns=numbers.columns, positions=numbers.positions)
    indices = np.ascontiguousarray(rows[:, places.indices : places.values]).view(np.int32)[:, : numbers.positions]
    values = rows[:, places.values : places.values + numbers.positions * int(numbers.valued)]
    return IndexedBlock(
        np.ascontiguousarray(rows[:, : numbers.columns]),
        np.ascontiguousarray(indices),
        np.ascontiguousarray(values),
        dim,
    )
