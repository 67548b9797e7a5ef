"""Coefficients whose prior precision is a sum over unknown scales: ``beta_j ~ N(mean_j, 1 / sum_g share_jg / v_g)``.

Tensor products of curves have such priors: a penalty along each column, each with a scale of its own (spec 5u). Where
every coefficient has one share, of 1, the scales are those of groups of coefficients. Given the coefficients, the
logarithms of ``v_g`` are drawn one by one by slice samplers (Neal 2003).
"""

from __future__ import annotations

import math

import numpy as np

from ..compiled import NO_FAULT, Step, helper, part
from ..compiled.layouts import WHOLE, Layout

SUMMED = Layout(
    "SummedPrecisions",
    d=WHOLE,
    groups=WHOLE,
    df=("groups",),  # of the half-Student-t laws of the scales
    width=("groups",),
    mixed=("d",),
    fixed_variance=("d",),
    mean=("d",),
    share=("d", "groups"),
)
summed_at = SUMMED.reader()

_STEP = 1.5  # of the slice sampler, in the logarithm of a variance
_FARTHEST = 460.0  # of that logarithm


@helper
def log_law_of_scale(lam, df, width):
    """Return the log density of ``lam = log v``, up to a constant, if the square root of ``v`` is half-Student-t."""
    return 0.5 * (lam - (df + 1.0) * math.log1p(math.exp(lam) / (df * width * width)))


@helper
def _log_density(lam, g, own, squares, rest):
    """Of ``log v_g`` given the coefficients; ``rest`` are their precisions by the other scales."""
    if not abs(lam) < _FARTHEST:
        return -np.inf
    total, one = log_law_of_scale(lam, own.df[g], own.width[g]), math.exp(-lam)
    for j in range(own.d):
        if own.share[j, g] > 0.0:
            precision = rest[j] + own.share[j, g] * one
            total += 0.5 * (math.log(precision) - precision * squares[j])
    return total


@helper
def _slice(rng, here, g, own, squares, rest):
    """A new ``log v_g``."""
    height = _log_density(here, g, own, squares, rest) + math.log(1.0 - rng.random())
    if not height > -np.inf:
        return here
    low = here - _STEP * rng.random()
    high = low + _STEP
    while _log_density(low, g, own, squares, rest) > height:
        low -= _STEP
    while _log_density(high, g, own, squares, rest) > height:
        high += _STEP
    while True:
        new = low + (high - low) * rng.random()
        if _log_density(new, g, own, squares, rest) >= height:
            return new
        if new < here:
            low = new
        else:
            high = new


@helper
def draw_by_shares(rng, here, hyper):
    """Draw the variances given the coefficients. The state contains the coefficients, then the variances ``v``."""
    own = summed_at(hyper, 0)
    d, squares, rest = own.d, np.zeros(own.d), np.zeros(own.d)
    variances = here[d : d + own.groups]
    for j in range(d):
        squares[j] = (here[j] - own.mean[j]) ** 2
    for g in range(own.groups):
        for j in range(d):
            if own.share[j, g] > 0.0:
                rest[j] = 0.0
                for k in range(own.groups):
                    if k != g:
                        rest[j] += own.share[j, k] / variances[k]
        variances[g] = math.exp(_slice(rng, math.log(variances[g]), g, own, squares, rest))


@part(Step)
def draw_scales_by_shares(rng, place, model, stream, own, work, statistics):
    draw_by_shares(rng, place.here, own.hyper)
    return NO_FAULT
