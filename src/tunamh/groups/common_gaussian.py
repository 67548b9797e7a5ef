"""The Gaussian law of common parameters and scales, a factor's effects integrated out (spec 5q)."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .centre import Centre, pushes
from .marginal import Marginal
from .scale_priors import ScalePriors
from .scale_table import no_table, scale_law
from .sums import GroupedRows

STEP = 0.02
"""Of differences in lambda."""


class Law(NamedTuple):
    """The Gaussian law of ``(b, lambda)``: ``root`` is its lower triangular factor, with the gradient of the priors.

    ``common_hessian`` is the Hessian in ``b`` of all rows and the prior with fixed effects. ``scale_table`` is
    described in `.scale_table`.
    """

    root: np.ndarray
    prior_gradient: np.ndarray
    common_hessian: np.ndarray
    scale_table: np.ndarray


def law_of(rows: GroupedRows, f: int, centre: Centre, priors: ScalePriors) -> Law:
    """Return the law from the Hessian of a factor's marginal at the centre.

    The Hessian is in closed form in ``b``, and by differences in lambda.
    """
    one, scales, p = rows.groupings[f], centre.scales[f], rows.p
    beside = pushes(rows, centre.at, centre.scales, centre.sums)
    priors = priors.pushed(sum(beside) - beside[f])
    marginal = Marginal(rows, f, centre.at, centre.sums, priors)
    m = len(scales)
    hessian = np.zeros((p + m, p + m))
    _, _b, hessian[:p, :p] = marginal.solve(scales)
    gradient = np.zeros(p + m)
    gradient[:p] = priors.common_expansion(centre.at.common, centre.sums.hessian)[0]
    if m:
        _add_scales(marginal, priors, f, scales, hessian, gradient)
    if one.known is not None and m:
        hessian, gradient = _tied(hessian, gradient, priors.tau_at, priors.tau(centre.at.common))
    root = _root(hessian)
    table = scale_law(marginal, scales, float(np.linalg.norm(root[p]))) if one.scales and one.df == 0 else no_table(p)
    return Law(root, gradient, marginal.common_hessian, table)


def _add_scales(
    marginal: Marginal, priors: ScalePriors, f: int, scales: np.ndarray, hessian: np.ndarray, gradient: np.ndarray
) -> None:
    """Rows and columns of lambda: differences of the best ``b``, and of the energy there (the Schur complement)."""
    p, m, h = marginal.p, len(scales), 5 * STEP
    common = marginal.at.common
    steps = h * np.eye(m)
    energy = {0: marginal.energy(scales)}
    best = np.array([(marginal.solve(scales + s)[1] - marginal.solve(scales - s)[1]) / (2 * h) for s in steps])
    schur = np.empty((m, m))
    for i in range(m):
        for j in range(i + 1):
            a, c = steps[i], steps[j]
            corners = [marginal.energy(scales + x * a + y * c) for x, y in ((1, 1), (1, -1), (-1, 1), (-1, -1))]
            if i == j:
                around = marginal.energy(scales + a) + marginal.energy(scales - a)
                schur[i, i] = (around - 2 * energy[0]) / h**2
            else:
                schur[i, j] = schur[j, i] = (corners[0] - corners[1] - corners[2] + corners[3]) / (4 * h * h)
    schur = np.where(np.isfinite(schur), schur, 0.0)  # a prior may end nearby
    values, vectors = np.linalg.eigh(schur)
    schur = (vectors * np.maximum(values, 0.2)) @ vectors.T  # lambda is wide where groups are few: no wider than 2.2
    bend = hessian[:p, :p]
    hessian[p:, :p] = -(best @ bend)
    hessian[:p, p:] = hessian[p:, :p].T
    hessian[p:, p:] = schur + best @ bend @ best.T
    for k in range(m):
        above, below = (priors.energy(f, scales + s * STEP * np.eye(m)[k], common) for s in (1, -1))
        slope = (above - below) / (2 * STEP)
        gradient[p + k] += slope if np.isfinite(slope) else 0.0
    if priors.tau_at >= 0:  # the scales as a user knows them have one over tau in them
        tau, small = common.copy(), 1e-3 * common[priors.tau_at]
        tau[priors.tau_at] += small
        above = priors.energy(f, scales, tau)
        tau[priors.tau_at] -= 2 * small
        gradient[priors.tau_at] += (above - priors.energy(f, scales, tau)) / (2 * small)


def _tied(hessian: np.ndarray, gradient: np.ndarray, tau_at: int, tau: float) -> tuple[np.ndarray, np.ndarray]:
    """Known scales move with ``tau`` in units of the errors' scale: their coordinate is its logarithm."""
    p = len(gradient) - 1
    along = np.vstack([np.eye(p), np.zeros(p)])
    along[p, tau_at] = 1 / tau
    return along.T @ hessian @ along, along.T @ gradient


def _root(hessian: np.ndarray) -> np.ndarray:
    """The lower triangular ``L`` with ``L L' = hessian^-1``."""
    unit = 1 / np.sqrt(np.maximum(np.diag(hessian), 1e-300))
    values, vectors = np.linalg.eigh(hessian * np.outer(unit, unit))
    covariance = (vectors / np.maximum(values, 1e-8)) @ vectors.T
    return np.linalg.cholesky(covariance * np.outer(unit, unit) + 0.0)
