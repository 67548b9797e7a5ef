"""Unknown scales of the common parameters' prior: its density, and their move given the parameters (spec 5q).

A coefficient ``b_j`` of scale ``g`` is ``N(mean_j, e^lam_g)``; the state has ``lam_g``, the logarithm of the scale's
square. Coefficients may be walked as ``(b - b0) tau``; scales are those of ``b``.
"""

from __future__ import annotations

import math

import numpy as np

from ..compiled import helper
from ..priors.mixtures import draw_by_group, grouped_at


@helper
def log_density_under_scales(common, state, tau):
    """``log N(b; mean, e^lam) + log p(lam)``, of coefficients that have a scale, up to a constant."""
    own, offset, at = grouped_at(common.prior_mixture, 0), common.prior_offset, common.prior_scales_at
    total, mixed, group, mean = 0.0, own.mixed, own.group, own.mean
    for j in range(common.p):
        if mixed[j] > 0.0:
            lam = state[at + int(group[j])]
            away = offset[j] + state[j] / tau - mean[j]
            total -= 0.5 * (lam + away * away * math.exp(-lam))
    df, width = own.df, own.width
    for g in range(common.prior_scales):
        lam = state[at + g]
        total += 0.5 * (lam - (df[g] + 1.0) * math.log1p(math.exp(lam) / (df[g] * width[g] ** 2)))
    return total if math.isfinite(total) else -np.inf


@helper
def draw_prior_scales(rng, common, state, tau):
    """Given the coefficients, as `tunamh.priors.mixtures` draws them: no row is read."""
    p, scales = common.p, window_of_scales(common, state)
    here = np.empty(p + common.prior_scales)
    for j in range(p):
        here[j] = common.prior_offset[j] + state[j] / tau
    for g in range(common.prior_scales):
        here[p + g] = math.exp(scales[g])
    draw_by_group(rng, here, common.prior_mixture)
    for g in range(common.prior_scales):
        scales[g] = math.log(here[p + g])


@helper(inline=True)
def window_of_scales(common, state):
    return state[common.prior_scales_at : common.prior_scales_at + common.prior_scales]


@helper
def fill_beside_wide(common, state, beside, pull):
    """By how much the prior's quadratic at these scales differs from that at which the factors' laws are made.

    Of every common parameter: ``beside``, the difference of precisions in what is walked, and ``pull``, minus the
    difference of the slopes at the centre. Where ``x = (b - offset) tau`` is walked, the quadratic of ``b`` is that of
    ``x + lean tau``, ``lean = offset - mean``, over the square of ``tau``, which is taken as at the centre.
    """
    own, wide, tau = grouped_at(common.prior_mixture, 0), common.prior_wide, common.prior_tau
    scales, offset = window_of_scales(common, state), common.prior_offset
    for j in range(common.p):
        beside[j], pull[j] = 0.0, 0.0
        if own.mixed[j] > 0.0:
            g = int(own.group[j])
            beside[j] = (math.exp(-scales[g]) - math.exp(-wide[g])) / (tau * tau)
            pull[j] = -beside[j] * (common.centre[j] + (offset[j] - own.mean[j]) * tau)
    if common.tau_at >= 0:
        for j in range(common.p):
            if own.mixed[j] > 0.0:
                pull[common.tau_at] += (offset[j] - own.mean[j]) * pull[j]


@helper
def add_lean(common, beside, K):
    """To the lower half of a precision of what is walked: what ``tau`` has to do with coefficients of a scale."""
    own, offset, at = grouped_at(common.prior_mixture, 0), common.prior_offset, common.tau_at
    if at < 0:
        return
    for j in range(common.p):
        if own.mixed[j] > 0.0:
            lean = offset[j] - own.mean[j]
            K[max(at, j), min(at, j)] += lean * beside[j]
            K[at, at] += lean * lean * beside[j]
