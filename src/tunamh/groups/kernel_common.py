"""What the kernels of a sweep share: priors of the scales, precisions, rows by cells, lengths of displacements."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..acceptance.grouped import GroupRows
from ..compiled import helper
from ..compiled.windows import window
from ..priors.laws import laws_at
from .covariance import fill_precision, log_correlations
from .layout import factor_of
from .prior_scales import log_density_under_scales

ALL_ROWS = 1e300
"""In the place of beta: every group is read in order."""


class CommonPrior(NamedTuple):
    """The prior of the common parameters: its compiled log density, and the numbers that this function reads."""

    log_density: Any
    hyper: Any


class FactorTurn(NamedTuple):
    """A factor's turn in a sweep: what its three moves read, and the state that they change.

    ``state`` is changed in place; before and after every move ``there`` equals it. Other factors do not change.
    """

    factor: Any
    common: Any
    model: Any
    work: Any
    state: Any
    there: Any
    kappa: Any  # (q, G): slopes of the groups' quadratics at b = 0, given the other factors
    slope: Any  # (p): the same in the common parameters
    given: Any  # what follows from b for all groups, as (A) leaves it
    away: Any  # of every cell: how far other factors displace its rows at most
    full: Any  # whether all rows are read
    rho: Any  # how much of the state proposals of (A) keep
    parts: Any  # addresses of the parts of a sweep (`.roles`)
    weights: Any  # (G): every group's effects are N(0, Sigma / weight); 1 where effects are normal
    prior: Any  # `CommonPrior`


class Move(NamedTuple):
    """The outcome of one of the kernels."""

    accepted: float
    log_ratio: float
    rows: int
    worst: float
    fault: int
    laplace: bool  # whether it was proposed by the Laplace law


@helper(inline=True)
def tau_of(state, common):
    return state[common.tau_at] if common.tau_at >= 0 else 1.0


@helper(inline=True)
def effects_of(factor, state):
    """The effects of all groups of the factor, one behind the other."""
    return window(state, factor.effects_at, factor.groups * factor.n_effects)


@helper
def into_basis(factor, effects, w):
    """Compute ``w = T^-1 v`` for related levels."""
    inverse = factor.basis_inverse
    for j in range(factor.groups):
        row, total = inverse[j], 0.0
        for g in range(factor.groups):
            total += row[g] * effects[g]
        w[j] = total


@helper
def squares_related(factor, state):
    """Return ``v'K^-1 v`` for related levels."""
    w, total = np.empty(factor.groups), 0.0
    into_basis(factor, effects_of(factor, state), w)
    for j in range(factor.groups):
        total += w[j] * w[j]
    return total


@helper
def log_prior_of_scales(factor, state, tau):
    """Return the log prior of the user's scales ``e^lambda / tau``, in the coordinates of the chain.

    It is -inf (density zero) if a number is too large or too small for the computation.
    """
    q, at = factor.n_effects, factor.scales_at
    natural = np.empty(q)
    total = 0.0
    for a in range(q):
        natural[a] = math.exp(state[at + a]) / tau
        total += state[at + a] - math.log(tau)
    total += laws_at(natural, factor.laws)
    total += log_correlations(state, at, q, factor.correlation)
    return total if math.isfinite(total) else -np.inf


@helper
def squared_length(factor, state, g, Q):
    """Return ``v_g'Q v_g``."""
    q, total = factor.n_effects, 0.0
    v = window(effects_of(factor, state), g * q, q)
    for a in range(q):
        for c in range(q):
            total += v[a] * Q[a, c] * v[c]
    return total


@helper
def log_student_t(factor, state, Q):
    """Return ``-(df + q) / 2 sum_g log(1 + v_g'Q v_g / df)``: the weights are integrated out; ``log det Q`` is left
    out.
    """
    total = 0.0
    for g in range(factor.groups):
        total -= math.log1p(squared_length(factor, state, g, Q) / factor.df)
    return 0.5 * (factor.df + factor.n_effects) * total


@helper
def _log_prior_of_effects(factor, state, tau):
    """Of known scales: ``N(0, tau^2 Sigma)``, or Student-t, without its constant."""
    if factor.df > 0.0:
        own = factor.precision / (tau * tau)
        return log_student_t(factor, state, own) - factor.free_groups * factor.n_effects * math.log(tau)
    q, total = factor.n_effects, 0.0
    Q, effects = factor.precision, effects_of(factor, state)
    if factor.n_related > 0:
        return -0.5 * Q[0, 0] * squares_related(factor, state) / (tau * tau) - factor.free_groups * math.log(tau)
    for g in range(factor.groups):
        v = window(effects, g * q, q)
        for a in range(q):
            for c in range(q):
                total += v[a] * Q[a, c] * v[c]
    return -0.5 * total / (tau * tau) - factor.free_groups * q * math.log(tau)


@helper
def log_prior_of_common(prior, common, state):
    """Return the log prior of the common parameters and of the unknown scales of their prior."""
    value = prior.log_density(state[: common.p], prior.hyper)
    if common.prior_scales == 0 or not value > -np.inf:
        return value
    return value + log_density_under_scales(common, state, tau_of(state, common))


@helper
def closed_prior(turn, state):
    """Return the log prior of common parameters and scales, or -inf outside the support.

    If ``tau`` moves, the user's scales of all factors move, too, and known scales move in units of the errors' scale.
    Then the laws of the other factors' effects change and are included; otherwise they are left out.
    """
    factor, common = turn.factor, turn.common
    value = log_prior_of_common(turn.prior, common, state)
    if not value > -np.inf:
        return value
    tau = tau_of(state, common)
    if common.tau_at < 0:
        return value if factor.known else value + log_prior_of_scales(factor, state, tau)
    for f in range(common.factors):
        one = factor_of(turn.model.data.hyper, f)
        if not one.known:
            value += log_prior_of_scales(one, state, tau)
        elif one.scales_at != factor.scales_at or one.effects_at != factor.effects_at:
            value += _log_prior_of_effects(one, state, tau)
    return value


@helper
def precision(factor, common, state, root, Q):
    """Fill ``Sigma^-1`` in units of the errors' scale. Return ``log det Sigma`` up to a known constant."""
    if factor.known:
        tau, known = tau_of(state, common), factor.precision
        for a in range(factor.n_effects):
            for c in range(factor.n_effects):
                Q[a, c] = known[a, c] / (tau * tau)
        return 2.0 * factor.n_effects * math.log(tau)
    return fill_precision(state, factor.scales_at, factor.n_effects, root, Q)


@helper
def draw_weights(rng, factor, common, state, weights):
    """Draw ``w_g ~ Gamma((df + q) / 2, rate (df + v_g'Q v_g) / 2)`` given effects and scales; 1 for normal effects.

    A Student-t law is ``v_g ~ N(0, Sigma / w_g)`` with ``w_g ~ Gamma(df / 2, rate df / 2)``. Weights are drawn again
    before every use and are no part of the state.
    """
    if not factor.df > 0.0:
        for g in range(factor.groups):
            weights[g] = 1.0
        return
    q = factor.n_effects
    Q = np.empty((q, q))
    precision(factor, common, state, np.empty((q, q)), Q)
    for g in range(factor.groups):
        drawn = 2.0 * rng.standard_gamma(0.5 * (factor.df + q))
        weights[g] = max(drawn / (factor.df + squared_length(factor, state, g, Q)), 1e-300)


@helper
def length_of(metric, b, other, sign):
    """Return ``|metric (b + sign other)|``."""
    total = 0.0
    for i in range(b.size):
        value = 0.0
        for j in range(b.size):
            value += metric[i, j] * (b[j] + sign * other[j])
        total += value * value
    return math.sqrt(total)


@helper(inline=True)
def rows_of(factor, here, there):
    """Return the factor's rows, cell by cell, with their bounds.

    ``here`` and ``there`` are ``c`` of the cells at both ends.
    """
    return GroupRows(factor.row_start, factor.places, factor.bound_total, here, there)
