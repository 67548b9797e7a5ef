"""What the kernels of a sweep share: priors of the scales, precisions, rows by cells, lengths of displacements."""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..acceptance.grouped import GroupRows
from ..compiled import helper
from ..compiled.windows import matrix_window, window
from ..priors.laws import laws_at
from .covariance import fill_precision, log_correlations
from .layout import factor_of

ALL_ROWS = 1e300
"""In the place of beta: every group is read in order."""


class Move(NamedTuple):
    """How one of the kernels went."""

    accepted: float
    log_ratio: float
    rows: int
    worst: float
    fault: int
    laplace: bool  # whether it was proposed by the Laplace law


@helper(inline=True)
def tau_of(state, common):
    return state[common.tau_at] if common.tau_at >= 0 else 1.0


@helper
def log_prior_of_scales(hyper, factor, state, tau):
    """Of the scales as a user knows them, ``e^lambda / tau``, in the coordinates that are walked.

    -inf, a density of zero, where a number is too large or too small for what it goes through.
    """
    q, at = factor.q, factor.scales_at
    natural = np.empty(q)
    total = 0.0
    for a in range(q):
        natural[a] = math.exp(state[at + a]) / tau
        total += state[at + a] - math.log(tau)
    total += laws_at(natural, hyper, factor.priors, factor.priors + factor.prior_size)
    total += log_correlations(state, at, q, factor.correlation)
    return total if math.isfinite(total) else -np.inf


@helper
def _log_prior_of_effects(hyper, factor, state, tau):
    """Of known scales: ``N(0, tau^2 Sigma)``, without its constant."""
    q, total = factor.q, 0.0
    Q = matrix_window(hyper, factor.precision, q, q)
    for g in range(factor.groups):
        at = factor.effects_at + g * q
        for a in range(q):
            for c in range(q):
                total += state[at + a] * Q[a, c] * state[at + c]
    return -0.5 * total / (tau * tau) - factor.free_groups * q * math.log(tau)


@helper
def closed_prior(hyper, factor, state, common, model):
    """The priors of common parameters and scales; -inf outside their support.

    Where ``tau`` moves, the scales of all factors do as a user knows them, and known ones do in units of the errors'
    scale, so that the other factors' effects have other laws; else those of the other factors stay.
    """
    value = model.log_prior(state[: common.p], model.prior_hyper)
    if not value > -np.inf:
        return value
    tau = tau_of(state, common)
    if common.tau_at < 0:
        return value if factor.known else value + log_prior_of_scales(hyper, factor, state, tau)
    for f in range(common.factors):
        one = factor_of(hyper, f)
        if not one.known:
            value += log_prior_of_scales(hyper, one, state, tau)
        elif one.scales_at != factor.scales_at or one.effects_at != factor.effects_at:
            value += _log_prior_of_effects(hyper, one, state, tau)
    return value


@helper
def precision(hyper, factor, common, state, root, Q):
    """``Sigma^-1`` at a state, in units of the errors' scale; returns ``log det Sigma``, up to a known constant."""
    if factor.known:
        tau = tau_of(state, common)
        for a in range(factor.q):
            for c in range(factor.q):
                Q[a, c] = hyper[factor.precision + a * factor.q + c] / (tau * tau)
        return 2.0 * factor.q * math.log(tau)
    return fill_precision(state, factor.scales_at, factor.q, root, Q)


@helper
def length_of(hyper, metric, b, other, sign, p):
    """``|metric (b + sign other)|``."""
    total = 0.0
    for i in range(p):
        value = 0.0
        for j in range(p):
            value += hyper[metric + i * p + j] * (b[j] + sign * other[j])
        total += value * value
    return math.sqrt(total)


@helper(inline=True)
def rows_of(hyper, factor, model, here, there):
    """The factor's rows, cell by cell, and their laws; ``here`` and ``there`` are the cells' ``c`` at both ends."""
    places = matrix_window(hyper, factor.places, model.n_rows, factor.place)
    return GroupRows(window(hyper, factor.first, factor.all_cells + 1), places, here, there)
