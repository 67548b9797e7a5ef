"""The Gaussian that is nearest to a posterior, from sums over its rows (spec 5t).

Of all Gaussians ``q = N(m, Q^-1)`` the one with the smallest ``KL(q, posterior)`` has ``E_q grad U = 0`` and
``Q = E_q hess U`` (Opper and Archambeau 2009). Where levels are thin or pure it lies far from Laplace's: that has the
curvature at the mode, this one the mean curvature where the posterior is. Every row sees ``q`` through its predictor,
which is Gaussian, so the means are integrals over one number per row.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import scipy  # its parts are loaded when they are asked for, not at import

from ..compiled import helper
from ..priors.potential import ReadyPrior
from ..process.stages import announce
from ..targets.expansion.one_predictor import OnePredictor
from .sparse_rows import ShortRows

_NODES, _WEIGHTS = np.polynomial.hermite_e.hermegauss(7)
_WEIGHTS = _WEIGHTS / _WEIGHTS.sum()
_MOST = 25  # tries
_ENOUGH = 0.02  # of the evidence's lower bound, in nats
_SMALLEST = 1 / 16


class NearestGaussian(NamedTuple):
    """The Gaussian law ``phi ~ N(mean, factor factor')`` in the basis of the rows.

    For each row, ``eta`` is (nearly) the predictor at the mean and ``spread`` is its standard deviation. ``first`` and
    ``second`` are the mean slope and the mean curvature of its energy.
    """

    mean: np.ndarray
    factor: np.ndarray
    eta: np.ndarray
    spread: np.ndarray
    first: np.ndarray
    second: np.ndarray


class _Tried(NamedTuple):
    law: NearestGaussian
    precision: np.ndarray
    evidence: float  # its lower bound, up to a constant
    gradient: np.ndarray
    curvature: np.ndarray


def nearest_gaussian(
    short: ShortRows, of: OnePredictor, prior: ReadyPrior, mean: np.ndarray, precision: np.ndarray
) -> NearestGaussian:
    """Return the nearest Gaussian. The search starts from ``N(mean, precision^-1)`` and makes fixed-point steps.

    A step is shortened if the lower bound of the evidence would fall.
    """
    sums = _Sums(short)

    def tried(mean: np.ndarray, precision: np.ndarray) -> _Tried | None:
        factor = _inverse_root(precision)
        if factor is None:
            return None
        eta, spread = short.predictors(mean), sums.spreads(factor)
        energy, first, second = _means_of(of, eta, spread, short)
        theta = short.basis @ mean
        widths = np.linalg.norm(short.basis @ factor, axis=1)
        own = prior.expansion(theta, widths)
        hessian = short.basis.T @ own.hessian @ short.basis
        smooth = 0.5 * float(np.sum((hessian @ factor) * factor))
        evidence = float(np.log(np.abs(np.diag(factor))).sum() - energy - own.energy - smooth)
        if not np.isfinite(evidence):
            return None
        weight = short.columns.weight
        gradient = sums.rmatvec(weight * first) + short.basis.T @ own.gradient
        curvature = sums.products(weight * second) + hessian
        return _Tried(
            NearestGaussian(mean, factor, eta, spread, first, second), precision, evidence, gradient, curvature
        )

    best = tried(mean, precision)
    if best is None:
        raise ValueError("the Laplace law that the nearest Gaussian starts from has no finite energy.")
    share = 1.0
    announce("fitting a Gaussian")
    for _ in range(_MOST):
        mixed = (1 - share) * best.precision + share * best.curvature
        factor = _inverse_root(mixed)
        step = None if factor is None else factor @ (factor.T @ best.gradient)
        new = None if step is None else tried(best.law.mean - step, mixed)
        if new is None or new.evidence < best.evidence:
            share *= 0.5
            if share < _SMALLEST:
                break
            continue
        gain, best = new.evidence - best.evidence, new
        if gain < _ENOUGH:
            break
    return _made_of_rows(best)


def _made_of_rows(best: _Tried) -> NearestGaussian:
    """The Gaussian that the rows' quadratics and the prior's make together: one more step, which the fit hardly needs.

    Its energy ``|z|^2 / 2`` then is their sum, so that what rows have beyond their quadratics is all that is left.
    """
    factor = _inverse_root(best.curvature)
    if factor is None:
        return best.law
    return best.law._replace(mean=best.law.mean - factor @ (factor.T @ best.gradient), factor=factor)


def _inverse_root(precision: np.ndarray) -> np.ndarray | None:
    """``F`` upper triangular with ``F F' = precision^-1``; None where that is not positive definite."""
    try:
        root = np.linalg.cholesky(precision)
    except np.linalg.LinAlgError:
        return None
    return scipy.linalg.solve_triangular(root, np.eye(len(root)), lower=True).T


def moments_of(
    function: Callable[[np.ndarray], np.ndarray], eta: np.ndarray, spread: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and variance of a function of ``N(eta, spread^2)`` for each row, by Gauss-Hermite quadrature."""
    mean, square = np.zeros_like(eta), np.zeros_like(eta)
    for node, share in zip(_NODES, _WEIGHTS, strict=True):
        value = function(eta + node * spread)
        mean += share * value
        square += share * value * value
    return mean, np.maximum(square - mean * mean, 0.0)


def _means_of(
    of: OnePredictor, eta: np.ndarray, spread: np.ndarray, short: ShortRows
) -> tuple[float, np.ndarray, np.ndarray]:
    """The sum of mean energies, and per row the mean slope and curvature, by Gauss-Hermite quadrature."""
    y, weight = np.ascontiguousarray(short.columns.y), short.columns.weight
    energy, first, second = 0.0, np.zeros_like(eta), np.zeros_like(eta)
    with np.errstate(over="ignore", invalid="ignore"):
        for node, share in zip(_NODES, _WEIGHTS, strict=True):
            at = eta + node * spread
            energy += share * float(weight @ of.energies(at, y))
            slope, bent, _ = of.family.derivatives(at, y)
            first += share * slope
            second += share * bent
    return energy, first, second


@helper
def _add_spreads(lists, V, out):
    """``out_i += x_i' V x_i`` of short rows."""
    entries = lists.entries
    for i in range(out.size):
        start, stop = int(lists.first[i]), int(lists.first[i + 1])
        for a in range(start, stop):
            total = 0.0
            for b in range(start, stop):
                total += entries[2 * b] * V[entries[2 * a + 1], entries[2 * b + 1]]
            out[i] += entries[2 * a] * total


@helper
def _add_products(lists, weight, out):
    """``out += sum_i weight_i x_i x_i'`` of short rows."""
    entries = lists.entries
    for i in range(weight.size):
        start, stop = int(lists.first[i]), int(lists.first[i + 1])
        for a in range(start, stop):
            bent = weight[i] * entries[2 * a]
            for b in range(start, stop):
                out[entries[2 * a + 1], entries[2 * b + 1]] += bent * entries[2 * b]


class _Sums:
    """Over rows ``x_i``, short lists first and then columns in full."""

    def __init__(self, short: ShortRows):
        self._short, self._matrix = short.short, short.matrix
        self._full = np.ascontiguousarray(short.full)
        self._lists = short.lists()

    def spreads(self, factor: np.ndarray) -> np.ndarray:
        """Return ``sqrt(x_i' V x_i)`` of each row with ``V = factor factor'``."""
        k, V = self._short, factor @ factor.T
        out = np.einsum("ij,ij->i", self._full @ V[k:, k:] + 2.0 * (self._matrix @ V[:k, k:]), self._full)
        _add_spreads(self._lists, V, out)
        return np.sqrt(np.maximum(out, 0.0))

    def rmatvec(self, slope: np.ndarray) -> np.ndarray:
        """Return ``sum_i slope_i x_i``."""
        return np.concatenate([self._matrix.T @ slope, self._full.T @ slope])

    def products(self, weight: np.ndarray) -> np.ndarray:
        """Return ``sum_i weight_i x_i x_i'``."""
        k, d = self._short, self._short + self._full.shape[1]
        out = np.zeros((d, d))
        _add_products(self._lists, weight, out)
        bent = weight[:, None] * self._full
        out[k:, k:] = self._full.T @ bent
        out[:k, k:] = self._matrix.T @ bent
        out[k:, :k] = out[:k, k:].T
        return out
