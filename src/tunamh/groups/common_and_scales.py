"""A proposal of (A): unknown scales of the prior together with common parameters and a factor's scales (spec 5q).

The Gaussian law of ``x = (b, lambda)``, with precision ``A`` and mean ``c + d`` about the centre ``c``, is made at
certain variances of the coefficients. At others, with ``D`` the difference of the prior's precisions, it has

    precision  A + D,     mean  c + (A + D)^-1 (A d + D (prior mean - c)).

So new variances are drawn from fixed tables ``q~``, and ``x`` from its law there, or by a step that keeps some of its
standardised coordinates. For ``f = q~(lam) N(x | lam)`` each is reversible; the factor is ``f(here) / f(there)``.
"""

from __future__ import annotations

import math

import numpy as np

from ..compiled import helper, part
from ..compiled.triangular import back, cholesky, solve
from ..compiled.vector import copy_into
from ..compiled.windows import window
from ..proposals.scale_tables import drawn_from, log_density_of, tables_at
from .move_common import propose_kinds
from .prior_scales import add_lean, fill_beside_wide, window_of_scales
from .roles import ProposeCommon, turn_at
from .shift import fill_learned_shift, fill_shift

_AS_WITHOUT = 0.25  # share of proposals that keep the prior's scales, by the laws of a known prior
_KEPT = 0.15  # share of the others that keep them, and have the law at these
_FARTHEST = 400.0  # of the logarithm of a variance


@helper
def _law_without(turn, shift, A, right):
    """``A`` and ``A d`` at the variances at which the factor's law was made; ``shift`` is ``L^-1 d``."""
    inverse, n = turn.factor.root_inverse, shift.size
    for i in range(n):
        right[i] = 0.0
        for k in range(i, n):
            right[i] += inverse[k, i] * shift[k]
        for j in range(i + 1):
            total = 0.0
            for k in range(i, n):
                total += inverse[k, i] * inverse[k, j]
            A[i, j] = total


@helper
def _law_at(common, state, A, right, K, d):
    """Of the variances of a state: fills ``K``, the precision's root, and the mean about the centre; ``log det K``."""
    n, p = right.size, common.p
    beside, pull = np.empty(p), np.empty(p)
    fill_beside_wide(common, state, beside, pull)
    for i in range(n):
        d[i] = right[i] + (pull[i] if i < p else 0.0)
        for j in range(i + 1):
            K[i, j] = A[i, j]
        if i < p:
            K[i, i] += beside[i]
    add_lean(common, beside, K)
    cholesky(K, n)
    solve(K, n, d)
    total = 0.0
    for i in range(n):
        if not K[i, i] > 0.0:
            return np.nan
        total += math.log(K[i, i])
    return total


@helper
def _draw_scales(rng, common, state, there):
    """New scales of ``there``, whose ``tau`` is that of ``state``; the log ratio of their densities, or NaN."""
    tables, total, unit = tables_at(common.prior_tables, 0), 0.0, _log_unit(common, state)
    old, new = window_of_scales(common, state), window_of_scales(common, there)
    for g in range(common.prior_scales):
        drawn = drawn_from(rng, tables, g)
        if not abs(drawn) < _FARTHEST:
            return np.nan
        new[g] = drawn - unit
        total += log_density_of(old[g] + unit, tables, g) - log_density_of(drawn, tables, g)
    return total


@helper(inline=True)
def _log_unit(common, state):
    """By how much the logarithms of squared scales are larger in units of the errors', beside those at the centre."""
    return 2.0 * math.log(state[common.tau_at] / common.prior_tau) if common.tau_at >= 0 else 0.0


@helper
def _keep_in_units(common, state, there):
    """The scales of ``there``, which belong to the ``tau`` of ``state``, become those of its own ``tau``."""
    if common.tau_at < 0:
        return
    change, scales = _log_unit(common, there) - _log_unit(common, state), window_of_scales(common, there)
    for g in range(common.prior_scales):
        scales[g] -= change


@helper
def _propose(rng, turn, shift):
    """Fills ``there``; returns the log ratio of proposing back and forth. Where a law fails, nothing moves."""
    factor, common, state, there = turn.factor, turn.common, turn.state, turn.there
    p, n = common.p, shift.size
    own, own_there = window(state, factor.scales_at, n - p), window(there, factor.scales_at, n - p)
    A, K, right, d, z = np.empty((n, n)), np.empty((n, n)), np.empty(n), np.empty(n), np.empty(n)
    _law_without(turn, shift, A, right)
    log_q = _law_at(common, state, A, right, K, d)
    for i in range(n):
        z[i] = 0.0
        off = (state[i] - common.centre[i] if i < p else own[i - p] - factor.scales[i - p]) - d[i]
        for j in range(i + 1):
            z[j] += K[i, j] * off
    kept, rho = rng.random() < _KEPT, turn.rho
    if kept:
        innovation = math.sqrt(1.0 - rho * rho) * rng.random()
        rho = math.sqrt(1.0 - innovation * innovation)
    keep = math.sqrt(1.0 - rho * rho)
    for i in range(n):
        before = z[i]
        z[i] = rho * before + keep * rng.standard_normal()
        log_q += 0.5 * (z[i] - before) * (z[i] + before)
    if kept:
        log_q -= _log_volume(K, n)
    else:
        log_q += _draw_scales(rng, common, state, there)
        log_q -= _law_at(common, there, A, right, K, d)
    back(K, n, z)
    if not math.isfinite(log_q):
        copy_into(there, state)
        return 0.0
    for i in range(n):
        if i < p:
            there[i] = common.centre[i] + d[i] + z[i]
        else:
            own_there[i - p] = factor.scales[i - p] + d[i] + z[i]
    if common.tau_at >= 0 and not there[common.tau_at] > 0.0:
        copy_into(there, state)
        return 0.0
    _keep_in_units(common, state, there)
    return log_q


@helper
def _log_volume(K, n):
    total = 0.0
    for i in range(n):
        total += math.log(K[i, i])
    return total


@part(ProposeCommon)
def propose_common_and_scales(rng, address, eps, Q):
    """Propose common parameters and scales together with the unknown scales of the prior.

    The law is that at new scales of the prior, at the present scales, or sometimes that of known scales.
    """
    turn = turn_at(address)
    if rng.random() < _AS_WITHOUT:
        return propose_kinds(rng, turn, eps, Q)[0], False
    n = turn.factor.p + turn.factor.n_scales
    gradient, shift = np.empty(n), np.empty(n)
    if turn.factor.learned:
        fill_learned_shift(turn, shift)
    else:
        fill_shift(turn, eps, gradient, shift)
    return _propose(rng, turn, shift), True
