"""Energies of K predictors given by formulas: derivatives and bounds by running them on jets (spec 5p)."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import product
from typing import Any

import numpy as np

from .multi_predictor import MultiPredictorLikelihood

_LOOSE = 0.25
"""Boxes are cut again where bounds exceed the derivatives seen in them by more than this share (and a mean one)."""

_PIECES = {2: (2, 3, 5), 3: (2, 3)}
"""Pieces a side of boxes that are cut, by the number of predictors; of more predictors there would be too many."""


NONE = np.empty((0, 0))


class FormulaLikelihood(MultiPredictorLikelihood):
    """A likelihood whose energy is a formula in functions of NumPy, ``formula(eta_1, ..., eta_K, y)``.

    Columns of the data that the formula reads (`known`) come after the predictors, here and in compiled code. Interval
    arithmetic cannot branch. So if the energy of some responses is another formula, ``formulas`` has one for each kind
    of response, and `kind` says which one is used. Compiled code may branch.
    """

    formulas: tuple[Callable[..., Any], ...]

    def kind(self, y: np.ndarray) -> np.ndarray:
        """Return for each row the number of the formula that is used."""
        return np.zeros(y.shape, np.intp)

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        from ...jets import derivatives

        K = self.predictors
        gradient, hessian, third = (np.empty((*(K,) * order, y.size)) for order in (1, 2, 3))
        for formula, rows in self.by_kind(y):
            found = derivatives(formula, list(eta[:K, rows]), y[rows], list(eta[K:, rows]))
            gradient[:, rows], hessian[..., rows], third[..., rows] = found.gradient, found.hessian, found.third
        return gradient, hessian, third

    def derivatives_to(self, most: int, eta: np.ndarray, y: np.ndarray) -> list[np.ndarray]:
        from ...jets import derivatives_to

        K = self.predictors
        result = [np.empty((*(K,) * order, y.size)) for order in range(1, most + 1)]
        for formula, rows in self.by_kind(y):
            found = derivatives_to(most, formula, eta[:K, rows], y[rows], list(eta[K:, rows]))
            for to, own in zip(result, found, strict=True):
                to[..., rows] = own
        return result

    def third_bounds(self, y: np.ndarray, eta: np.ndarray, radii: np.ndarray) -> np.ndarray:
        K = self.predictors
        radii = np.broadcast_to(radii, (K, y.size))
        result = np.empty((*(K,) * 3, y.size))
        for formula, rows in self.by_kind(y):
            result[..., rows] = box_bounds(formula, eta[:K, rows], y[rows], radii[:, rows], eta[K:, rows])
        return result

    def rough_bounds(self, y: np.ndarray, eta: np.ndarray, white: np.ndarray, radius: float) -> np.ndarray:
        """Return `cubic_bounds` of whole boxes without cutting them, for the radii that few proposals need."""
        from ...jets import box_bound

        size = np.sqrt(np.einsum("aij,aij->ai", white, white))
        radii = np.multiply(radius, size, out=np.zeros_like(size), where=size > 0)
        total, K = np.empty(y.size), self.predictors
        for formula, rows in self.by_kind(y):
            thirds = box_bound(formula, eta[:K, rows], y[rows], radii[:, rows], known=eta[K:, rows], natural=True)
            s = size[:, rows]
            with np.errstate(over="ignore", invalid="ignore"):
                total[rows] = np.einsum("abci,ai,bi,ci->i", thirds, s, s, s, optimize=True)
        return np.where(np.isnan(total), np.inf, total)  # infinity times 0 is no bound

    def where_lost(self, y: float, eta: np.ndarray, reach: np.ndarray) -> str:
        from ...jets import Interval, first_lost

        K, row = self.predictors, np.array([y])
        box = [Interval(x[None] - r, x[None] + r) for x, r in zip(eta[:K], reach, strict=True)]
        ((formula, _),) = self.by_kind(row)
        lost = first_lost(formula, box, row, list(eta[K:, None]))
        return "" if lost is None else f": it is lost at {lost}"

    def by_kind(self, y: np.ndarray) -> Iterator[tuple[Callable[..., Any], Any]]:
        """Yield each formula with the rows for which it is used."""
        if len(self.formulas) == 1:
            yield self.formulas[0], slice(None)
            return
        kind = self.kind(y)
        for k, formula in enumerate(self.formulas):
            rows = np.flatnonzero(kind == k)
            if rows.size:
                yield formula, rows


def box_bounds(
    formula: Callable[..., Any], eta: np.ndarray, y: np.ndarray, radii: np.ndarray, known: np.ndarray = NONE
) -> np.ndarray:
    """Return `box_bound`, with as many pieces as are worth the computation.

    The bound ``c_i`` of a row is proportional to ``sum_abc T_abc reach_a reach_b reach_c``. No bound can be below the
    derivatives at the centre and the corners of the box. A row is ready if its sum is close to this limit, or if the
    excess is small compared with the sums of typical rows. The boxes of the other rows are cut into more pieces.
    """
    from ...jets import box_bound, derivatives

    def size(thirds: np.ndarray) -> np.ndarray:
        with np.errstate(invalid="ignore", over="ignore"):
            return np.einsum("abci,ai,bi,ci->i", thirds, radii, radii, radii, optimize=True)

    finite = np.isfinite(radii).all(axis=0)
    result = box_bound(formula, eta, y, radii, known=known)
    if len(eta) not in _PIECES:
        return result
    least = size(np.abs(derivatives(formula, list(eta), y, list(known)).third))

    def loose() -> np.ndarray:
        return np.flatnonzero(finite & ~(size(result) <= least + _LOOSE * (least + _mean(least))))

    rows = loose()
    if rows.size:
        near = radii[:, rows]
        seen = _largest_at_corners(formula, eta[:, rows], y[rows], near, _some(known, rows))
        least[rows] = np.fmax(least[rows], np.einsum("abci,ai,bi,ci->i", seen, near, near, near, optimize=True))
    for pieces in _PIECES[len(eta)]:
        rows = loose()
        if rows.size == 0:
            break
        result[..., rows] = box_bound(formula, eta[:, rows], y[rows], radii[:, rows], pieces, _some(known, rows))
    return result


def _some(known: np.ndarray, rows: np.ndarray) -> np.ndarray:
    return known[:, rows] if len(known) else known


def _largest_at_corners(
    formula: Callable[..., Any], eta: np.ndarray, y: np.ndarray, radii: np.ndarray, known: np.ndarray
) -> np.ndarray:
    """The largest absolute third derivatives at the corners of the boxes."""
    from ...jets import derivatives

    best = np.zeros((*(len(eta),) * 3, y.size))
    for signs in product((-1.0, 1.0), repeat=len(eta)):
        corner = eta + np.array(signs)[:, None] * radii
        np.fmax(best, np.abs(derivatives(formula, list(corner), y, list(known)).third), out=best)
    return best


def _mean(values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    return float(finite.mean()) if finite.size else 0.0
