"""(C) of a sweep: the scales given the effects; no row is read (spec 5q)."""

from __future__ import annotations

import math

import numpy as np

from ..compiled import BAD_RATIO, NO_FAULT, helper, part
from .conditionals import own_effects
from .covariance import fill_precision
from .kernel_common import log_prior_of_scales, log_student_t, squares_related, tau_of
from .one_effect import squares_single
from .roles import MoveScales, turn_at


@helper
def _log_scales_given_effects(factor, state, squares, tau, root, Q):
    """``log p(lambda | v)``: normal effects by the sum of ``v v'``, Student-t ones without their weights."""
    q = factor.n_effects
    logdet = fill_precision(state, factor.scales_at, q, root, Q)
    total = -0.5 * factor.free_groups * logdet
    if factor.df > 0.0:
        total += log_student_t(factor, state, Q)
    else:
        for a in range(q):
            for c in range(q):
                total -= 0.5 * Q[a, c] * squares[a, c]
    total += log_prior_of_scales(factor, state, tau)
    return total if math.isfinite(total) else -np.inf


@part(MoveScales)
def move_scales(rng, address):
    """Kernel (C): update every coordinate of ``lambda`` by a slice sampler (Neal 2003, stepping out)."""
    turn = turn_at(address)
    factor, state = turn.factor, turn.state
    q = factor.n_effects
    squares, root, Q = np.zeros((q, q)), np.empty((q, q)), np.empty((q, q))
    if factor.n_related > 0:
        squares[0, 0] = squares_related(factor, state)
    elif q == 1:
        squares[0, 0] = squares_single(factor, state)  # effects that are not free are zero
    else:
        for g in range(factor.groups):
            v = own_effects(factor, state, g)
            for a in range(q):
                for c in range(q):
                    squares[a, c] += v[a] * v[c]
    tau, width = tau_of(state, turn.common), 2.0 / math.sqrt(factor.free_groups)
    for k in range(factor.n_scales):
        at = factor.scales_at + k
        here = state[at]
        height = _log_scales_given_effects(factor, state, squares, tau, root, Q)
        if not height > -np.inf:
            return BAD_RATIO
        height += math.log(1.0 - rng.random())
        low = here - width * rng.random()
        high = low + width
        state[at] = low
        while _log_scales_given_effects(factor, state, squares, tau, root, Q) > height:
            low -= width
            state[at] = low
        state[at] = high
        while _log_scales_given_effects(factor, state, squares, tau, root, Q) > height:
            high += width
            state[at] = high
        while True:
            state[at] = low + (high - low) * rng.random()
            if _log_scales_given_effects(factor, state, squares, tau, root, Q) >= height:
                break
            if state[at] < here:
                low = state[at]
            else:
                high = state[at]
    return NO_FAULT
