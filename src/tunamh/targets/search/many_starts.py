"""Modes of a regression whose energies are not convex: descents from fits to tiny random subsamples.

A fit to as many rows as there are parameters is right whenever all of these rows are good, however many others are not:
robust statistics starts so (Rousseeuw 1984; Rousseeuw and Van Driessen 2006). From each start the energy is brought
down by iteratively reweighted least squares, which cannot rise: every step minimises a quadratic above the energy that
touches it where the step begins.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from ..glm import GLM

_ROUGH_ROWS = 300  # rows for the first steps from every start
_ROUGH_STEPS = 5
_STEPS = 30
_KEPT = 10  # starts that are followed on a sample longer than that
_DIFFERENT = 0.02  # of a residual's scale
_MANY_COLUMNS = 30  # beyond, products of all pairs of columns take too much memory


class _Rows(NamedTuple):
    X: np.ndarray
    y: np.ndarray
    weight: np.ndarray
    offset: np.ndarray


def modes_from_many_starts(target: GLM) -> np.ndarray:
    """Return points (k, d) near the local minima of the energy of all rows of ``target``, each minimum once."""
    with np.errstate(all="ignore"):  # starts far from all rows overflow, and are dropped
        return _modes_from_many_starts(target)


def _modes_from_many_starts(target: GLM) -> np.ndarray:
    whole = target.observations.take(np.arange(target.n_rows)).rows()
    offset = whole.X.matvec(np.zeros(target.dim))
    rows = _Rows(whole.X.dense(), whole.y, target.weight(whole), offset)
    rows = _Rows(*(column[rows.weight > 0] for column in rows))
    unit = 1 / np.sqrt(np.median(target.family.suprema(rows.y).second))  # about a residual's scale
    known = np.array(target.search_starts())
    starts = np.concatenate([known, _fits_to_few_rows(rows, np.random.default_rng(0))])
    if len(rows.y) > _ROUGH_ROWS + 5 * target.dim:
        few = _Rows(*(column[: _ROUGH_ROWS + 5 * target.dim] for column in _shuffled(rows)))
        starts = np.concatenate([known, _reweighted(target, few, starts, _ROUGH_STEPS)])
        starts = starts[np.argsort(target.energies_at(starts))]
        starts = _distinct(starts, rows, unit)[:_KEPT]
    points = _reweighted(target, rows, starts, _STEPS)
    points = points[np.isfinite(points).all(axis=1)]
    return _distinct(points[np.argsort(target.energies_at(points))], rows, unit)


def _shuffled(rows: _Rows) -> _Rows:
    order = np.random.default_rng(1).permutation(len(rows.y))
    return _Rows(*(column[order] for column in rows))


def subsets_of(n: int, d: int, rng: np.random.Generator) -> Iterator[np.ndarray]:
    """Yield arrays of d row numbers each, or of 2d from 20 coefficients on, where a fit to d rows is poor."""
    if d == 1:
        yield from (np.array([i]) for i in (range(n) if n <= 200 else rng.choice(n, size=200, replace=False)))
        return
    size = min(n, d if d < 20 else 2 * d)
    for _ in range(200 if d <= 5 else 50 if d <= 20 else 20):
        yield rng.choice(n, size=size, replace=False)


def _fits_to_few_rows(rows: _Rows, rng: np.random.Generator) -> np.ndarray:
    """Least squares on d rows each."""
    n, d = rows.X.shape
    subsets = list(subsets_of(n, d, rng))
    fits = [np.linalg.lstsq(rows.X[subset], (rows.y - rows.offset)[subset])[0] for subset in subsets]
    return np.array([fit for fit in fits if np.isfinite(fit).all()]).reshape(-1, d)


def _reweighted(target: GLM, rows: _Rows, points: np.ndarray, steps: int) -> np.ndarray:
    """So many steps of reweighted least squares from every point, all points at once."""
    family, prior = target.family, target._prior
    X, y, weight, offset = rows
    share = weight.sum() / max(target.effective_rows, 1e-300)  # of the prior, as much as these rows weigh of all
    ridge = share * np.diag(prior.precision) + 1e-10 * np.diag(np.maximum(weight @ (X * X), 1e-300))
    for _ in range(steps):
        eta = points @ X.T + offset
        below = family.lower_bound(y, eta)  # -f >= a (eta - anchor)^2 + b (eta - anchor) + k, with equality at eta
        curve = -2 * weight * below.a
        moment = curve * (below.anchor - offset) + weight * below.b
        right_side = moment @ X + share * prior.precision * prior.mean
        points = np.linalg.solve(_grams(X, curve) + ridge, right_side[:, :, None])[:, :, 0]
    return points


def _grams(X: np.ndarray, curve: np.ndarray) -> np.ndarray:
    """``X' diag(curve_k) X`` for every k."""
    n, d = X.shape
    if d > _MANY_COLUMNS:
        return np.stack([(X.T * row) @ X for row in curve])
    return (curve @ (X[:, :, None] * X[:, None, :]).reshape(n, d * d)).reshape(-1, d, d)


def _distinct(points: np.ndarray, rows: _Rows, unit: float) -> np.ndarray:
    """The first of every set of points whose predictors agree, by the median row, up to a share of ``unit``."""
    kept: list[np.ndarray] = []
    predictors: list[np.ndarray] = []
    some = rows.X[:: max(1, len(rows.y) // 200)]
    for point in points:
        eta = some @ point
        if all(np.median(np.abs(eta - other)) > _DIFFERENT * unit for other in predictors):
            kept.append(point)
            predictors.append(eta)
    return np.array(kept).reshape(-1, points.shape[1])
