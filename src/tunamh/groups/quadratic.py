"""Of the groups' quadratics: their precisions, the convex parts of rows, and Hessians that are positive (spec 5q)."""

from __future__ import annotations

import numpy as np

from .covariance import precision_of
from .grouping import Grouping
from .relation import Basis
from .sums import DataSums, OfFactor

_MOST_FALL = 4.0  # of a group's energy, by its quadratic


def precision_at(one: Grouping, scales: np.ndarray) -> tuple[np.ndarray, float]:
    """Return ``Sigma^-1`` and ``log det Sigma`` of a factor; the latter up to a constant if it is known.

    If the errors' scale is unknown, effects are in units of this scale. Then known scales move with it: ``scales`` is
    their one coordinate, ``log tau``. Otherwise ``scales`` of known scales is empty.
    """
    if one.known is None:
        return precision_of(scales, one.q)
    moved = float(scales.sum())
    return one.known * np.exp(-2.0 * moved), 2.0 * one.q * moved


def usual_precision(one: Grouping, scales: np.ndarray) -> np.ndarray:
    """Return the precision of every group's own effects, as if its level had no relatives."""
    Q, _ = precision_at(one, scales)
    return Q if one.related is None else Q / one.related.variances[:, None, None]


def squares_of(one: Grouping, effects: np.ndarray) -> np.ndarray:
    """Return ``sum v v'`` over the groups that have effects, or ``v'K^-1 v`` for related levels."""
    own = effects[one.free] if one.related is None else one.related.whitened(effects)
    return own.T @ own


def slopes_of_prior(one: Grouping, effects: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Return ``Q v`` of every group, or ``Q K^-1 v`` for related levels."""
    return (effects if one.related is None else one.related.precision @ effects) @ Q


def basis_of(one: Grouping, convex: OfFactor) -> Basis | None:
    """Return the basis in which related levels are independent, given these curvatures; None for other levels."""
    return None if one.related is None else one.related.basis(np.maximum(convex.curvature[:, 0, 0], 0.0))


def inverses(H: np.ndarray, Q: np.ndarray) -> np.ndarray:
    """Return ``(H_g + Q)^-1`` of every group."""
    return 1.0 / (H + Q) if H.shape[1:] == (1, 1) else np.linalg.inv(H + Q)


def solved(P: np.ndarray, right: np.ndarray) -> np.ndarray:
    """Return ``P_g^-1 right_g`` of every group, an array (G, q, n). For one effect this is a division."""
    return right / P if P.shape[1:] == (1, 1) else np.linalg.solve(P, right)


def roots(P: np.ndarray) -> np.ndarray:
    """Return the lower triangular ``C_g`` with ``C_g C_g' = P_g``."""
    return np.sqrt(P) if P.shape[1:] == (1, 1) else np.linalg.cholesky(P)


def log_determinants(P: np.ndarray) -> np.ndarray:
    return np.log(P[:, 0, 0]) if P.shape[1:] == (1, 1) else np.linalg.slogdet(P)[1]


def _lifted(of: OfFactor) -> OfFactor:
    """With so much more curvature along the gradient that no group's quadratic falls by more than a few units.

    Concave rows have a gradient and no curvature: what they say of effects under a wide prior would fall for ever.
    """
    H, g = of.curvature, of.gradient
    tiny = 1e-12 * (np.einsum("gaa->ga", H) + np.square(g) + 1e-300)
    with np.errstate(over="ignore", invalid="ignore"):
        step = solved(H + tiny[:, :, None] * np.eye(H.shape[1]), g[:, :, None])[:, :, 0]
        steep = ~(0.5 * np.einsum("ga,ga->g", g, step) <= _MOST_FALL)
    return of._replace(curvature=H + (0.5 / _MOST_FALL) * steep[:, None, None] * g[:, :, None] * g[:, None, :])


def convex_factors(sums: DataSums) -> list[OfFactor]:
    """Return the sums of the rows' convex parts, so large that no group's quadratic falls by many units."""
    return sums.factors if sums.convex is None else [_lifted(one) for one in sums.convex[1]]


def all_convex(sums: DataSums) -> DataSums:
    """Return the sums with the gradients of all rows and the curvatures of their convex parts."""
    assert sums.convex is not None
    return sums._replace(hessian=sums.convex[0], factors=convex_factors(sums), convex=None)


def least(schur: np.ndarray, hessian: np.ndarray) -> float:
    """Return the least eigenvalue of a Schur complement, in units of the diagonal of the Hessian."""
    unit = 1 / np.sqrt(np.maximum(np.abs(np.diag(hessian)), 1e-300))
    return float(np.linalg.eigvalsh(schur * np.outer(unit, unit))[0])


def positive(matrix: np.ndarray) -> np.ndarray:
    """Return the matrix with eigenvalues that are not positive replaced by positive ones, in units of its diagonal."""
    unit = 1 / np.sqrt(np.maximum(np.abs(np.diag(matrix)), 1e-300))
    values, vectors = np.linalg.eigh(matrix * np.outer(unit, unit))
    if values[0] > 1e-10:
        return matrix
    lifted = (vectors * np.maximum(np.abs(values), 1e-6)) @ vectors.T
    return lifted / np.outer(unit, unit)


def tilts_of(one: Grouping, sums: DataSums, f: int) -> np.ndarray:
    """Return ``A^-1 T A^-1`` of every group with ``T = sum f'' z z'`` and ``A = 2 H - T >= |T|``; zero without effects.

    ``H`` is the curvature of the convex rows. If all rows are convex, ``T = A``, and ``tilt h`` is the regression of x
    on z. Otherwise ``T`` may be near zero, and ``tilt h`` is not steeper than this regression.
    """
    true, convex = sums.factors[f].curvature, convex_factors(sums)[f].curvature
    size = 2.0 * convex - true
    size = size + 1e-9 * (np.einsum("gaa->g", size) + 1e-12)[:, None, None] * np.eye(one.q)
    inverse = np.linalg.inv(size)
    tilt = inverse @ true @ inverse
    tilt[~one.free] = 0.0
    return tilt
