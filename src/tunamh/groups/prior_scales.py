"""Unknown scales of the common parameters' prior: its density, and their move given the parameters (spec 5q).

A coefficient ``b_j`` is normal with the precision ``sum_g share_jg e^-lam_g``, of one scale mostly; the state has
``lam_g``, the logarithm of the scale's square. The chain's coordinates of coefficients may be ``(b - b0) tau``; scales
are those of ``b``.
"""

from __future__ import annotations

import math

import numpy as np

from ..compiled import helper
from ..compiled.vector import precision_under
from ..priors.summed_precisions import draw_by_shares, log_law_of_scale, summed_at


@helper
def log_density_under_scales(common, state, tau):
    """Return ``log N(b; mean, e^lam) + log p(lam)`` of the coefficients with an unknown scale, up to a constant."""
    own, offset, scales = summed_at(common.prior_mixture, 0), common.prior_offset, window_of_scales(common, state)
    variances, total, mixed, mean = np.exp(scales), 0.0, own.mixed, own.mean
    for j in range(common.p):
        if mixed[j] > 0.0:
            precision = precision_under(own.share, j, variances)
            away = offset[j] + state[j] / tau - mean[j]
            total += 0.5 * (math.log(precision) - away * away * precision)
    for g in range(common.prior_scales):
        total += log_law_of_scale(scales[g], own.df[g], own.width[g])
    return total if math.isfinite(total) else -np.inf


@helper
def draw_prior_scales(rng, common, state, tau):
    """Draw the unknown scales of the prior given the coefficients, as `tunamh.priors.mixtures` does. No row is read."""
    p, scales = common.p, window_of_scales(common, state)
    here = np.empty(p + common.prior_scales)
    for j in range(p):
        here[j] = common.prior_offset[j] + state[j] / tau
    for g in range(common.prior_scales):
        here[p + g] = math.exp(scales[g])
    draw_by_shares(rng, here, common.prior_mixture)
    for g in range(common.prior_scales):
        scales[g] = math.log(here[p + g])


@helper(inline=True)
def window_of_scales(common, state):
    return state[common.prior_scales_at : common.prior_scales_at + common.prior_scales]


@helper
def fill_beside_wide(common, state, beside, pull):
    """Compute how the prior's quadratic at these scales differs from the one with which the factors' laws were made.

    Scales are in units of the errors' scale, because given them the posterior is closer to normal in these units; the
    unit is ``tau`` at the centre. For every common parameter, ``beside`` is the difference of the precisions in the
    coordinates of the chain, and ``pull`` is minus the difference of the slopes at the centre. If the chain's
    coordinate is ``x = (b - offset) tau``, the quadratic of ``b`` is that of ``x + lean tau``, ``lean = offset -
    mean``, divided by a variance in these units.
    """
    own, tau, offset = summed_at(common.prior_mixture, 0), common.prior_tau, common.prior_offset
    variances, wide = np.exp(window_of_scales(common, state)), np.exp(common.prior_wide)
    if common.tau_at >= 0:
        variances *= (state[common.tau_at] / tau) ** 2
    for j in range(common.p):
        beside[j], pull[j] = 0.0, 0.0
        if own.mixed[j] > 0.0:
            change = precision_under(own.share, j, variances) - precision_under(own.share, j, wide)
            beside[j] = change / (tau * tau)
            pull[j] = -beside[j] * (common.centre[j] + (offset[j] - own.mean[j]) * tau)
    if common.tau_at >= 0:
        for j in range(common.p):
            if own.mixed[j] > 0.0:
                pull[common.tau_at] += (offset[j] - own.mean[j]) * pull[j]


@helper
def add_lean(common, beside, K):
    """Add to the lower half of a precision the terms that connect ``tau`` with coefficients that have a scale."""
    own, offset, at = summed_at(common.prior_mixture, 0), common.prior_offset, common.tau_at
    if at < 0:
        return
    for j in range(common.p):
        if own.mixed[j] > 0.0:
            lean = offset[j] - own.mean[j]
            K[max(at, j), min(at, j)] += lean * beside[j]
            K[at, at] += lean * lean * beside[j]
