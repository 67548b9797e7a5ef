"""A sweep over a model with groups: three exact kernels for every factor in turn (spec 5q).

(A) common parameters and scales, ``(b, lambda)``, together, the groups' ``eps`` kept: every group moves along. Decided
    on rows of all groups (`tunamh.acceptance.grouped`).
(B) the effects of every group by themselves, given the rest: independent decisions, each on the group's own rows.
(C) the scales given the effects: no row is read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from .._jit import BAD_RATIO, NO_FAULT, Decide, Decision, Propose, fixed, helper, part
from .._jit.windows import window
from ..acceptance.base import ReadyTest, accepts, failure
from ..acceptance.grouped import GroupRows, all_groups, batch_of
from ..data.supply import NO_ROWS
from ..priors.laws import laws_at
from ..proposals import ReadyProposal
from .covariance import fill_precision, log_correlations
from .each import each_group
from .groups_given import (
    bound_of_group,
    centred,
    closed_energy,
    displacements,
    place,
    slopes_given_others,
    standardised,
    unstandardised,
)
from .layout import common_of, factor_of, square, tall
from .shift import fill_shift
from .small import norm

_BETA = 4.0  # of (A), whose decision would else be noisy
_SCALES, _NEARBY = 0.05, 0.1  # shares of (A): walks of the scales alone, and of all
_FEW, _SCALES_OF_FEW, _NEARBY_OF_FEW = 50.0, 0.25, 0.25  # groups, below which log scales are far from normal
_WALK = 0.1  # share of (B): a random walk in the place of independent proposals


class Move(NamedTuple):
    """How one of the kernels went."""

    accepted: float
    log_ratio: float
    rows: int
    worst: float
    fault: int


@helper
def log_prior_of_scales(hyper, factor, state, tau):
    """Of the scales as a user knows them, ``e^lambda / tau``, in the coordinates that are walked."""
    q, at = factor.q, factor.scales_at
    natural = np.empty(q)
    total = 0.0
    for a in range(q):
        natural[a] = math.exp(state[at + a]) / tau
        total += state[at + a]
    total += laws_at(natural, hyper, factor.priors, factor.priors + factor.prior_size)
    return total + log_correlations(state, at, q, factor.correlation)


@helper(inline=True)
def rows_of(hyper, factor, model):
    """The factor's rows, group by group, and the laws by which they are drawn."""
    n = model.n_rows
    return GroupRows(
        window(hyper, factor.first, factor.groups + 1),
        window(hyper, factor.order, n),
        window(hyper, factor.keep, n),
        window(hyper, factor.other, n),
        window(hyper, factor.bounds, n),
    )


@helper(inline=True)
def _tau(state, common):
    return state[common.tau_at] if common.tau_at >= 0 else 1.0


@helper
def closed_prior(hyper, factor, state, common, model):
    """The priors of common parameters and scales; -inf outside their support."""
    value = model.common_prior(state[: common.p], model.common_hyper)
    if not value > -np.inf or factor.known:
        return value
    return value + log_prior_of_scales(hyper, factor, state, _tau(state, common))


@helper
def _precision(hyper, factor, state, root, Q):
    """``Sigma^-1`` at a state; returns ``log det Sigma``."""
    if factor.known:
        for a in range(factor.q):
            for c in range(factor.q):
                Q[a, c] = hyper[factor.precision + a * factor.q + c]
        return 0.0
    return fill_precision(state, factor.scales_at, factor.q, root, Q)


@helper
def _free(hyper, factor):
    """How many groups have effects."""
    count = 0.0
    for g in range(factor.groups):
        count += 1.0 - hyper[factor.pinned + g]
    return count


@helper
def _length(hyper, metric, b, other, sign, p):
    """``|metric (b + sign other)|``."""
    total = 0.0
    for i in range(p):
        value = 0.0
        for j in range(p):
            value += hyper[metric + i * p + j] * (b[j] + sign * other[j])
        total += value * value
    return math.sqrt(total)


@helper
def _quadratic(slope, H, b, p):
    """``slope.b + b'Hb / 2``."""
    total = 0.0
    for i in range(p):
        value = slope[i]
        for j in range(p):
            value += 0.5 * H[i, j] * b[j]
        total += value * b[i]
    return total


@helper
def _propose_common(rng, hyper, factor, common, state, shift, there):
    """Fill the common parameters and scales of ``there``; returns the log ratio of proposing back and forth.

    With ``y = L^-1 ((b, lambda) - mean)``, standard normal under the Laplace law: independent draws, or random walks.
    """
    p, m = common.p, 0 if factor.known else factor.m
    n = p + m
    y = np.empty(n)
    for i in range(n):
        value = -shift[i]
        for j in range(i + 1):
            away = (
                state[j] - common.centre[j] if j < p else state[factor.scales_at + j - p] - hyper[factor.scales + j - p]
            )
            value += hyper[factor.unroot + i * n + j] * away
        y[i] = value
    before = 0.0
    for i in range(n):
        before += y[i] * y[i]
    kind, few = rng.random(), _free(hyper, factor) < _FEW
    scales, nearby = (_SCALES_OF_FEW, _NEARBY_OF_FEW) if few else (_SCALES, _NEARBY)
    after = 0.0
    if kind < scales + nearby:  # a walk, of the scales alone or of all: where the law has other tails than a Gaussian
        first = p if kind < scales and m > 0 else 0
        width = 2.4 / math.sqrt(n - first) * math.exp(3.0 * rng.random() - 1.5)
        for i in range(first, n):
            y[i] += width * rng.standard_normal()
        after = before  # symmetric
    else:
        for i in range(n):
            y[i] = rng.standard_normal()
            after += y[i] * y[i]
    for i in range(n):
        value = 0.0
        for j in range(i + 1):
            value += hyper[factor.root + i * n + j] * (y[j] + shift[j])
        if i < p:
            there[i] = common.centre[i] + value
        else:
            there[factor.scales_at + i - p] = hyper[factor.scales + i - p] + value
    return 0.5 * (after - before)


@helper
def move_common(rng, hyper, factor, common, state, there, kappa, slope, away, model, work):
    """(A). ``state`` is moved in place; ``there`` equals it before and after."""
    p, q, G = common.p, factor.q, factor.groups
    Q, Q_there, root = np.empty((q, q)), np.empty((q, q)), np.empty((q, q))
    C, own = np.empty((q, q)), np.empty(q)
    mean, eps = np.empty(q), np.empty(q)
    before, after, work_vector = np.empty(q), np.empty(q), np.empty(q)
    b, b_there = np.empty(p), np.empty(p)
    for j in range(p):
        b[j] = state[j] - common.centre[j]
    logdet = _precision(hyper, factor, state, root, Q)
    fall, standard = 0.0, np.zeros((G, q))
    for g in range(G):
        if hyper[factor.pinned + g] == 0.0:
            at = factor.effects_at + g * q
            place(hyper, factor, g, kappa, b, p, Q, C, mean, own)
            fall += closed_energy(hyper, factor, g, Q, C, own, state, at)
            standardised(C, q, state, at, mean, standard, g)
    shift = np.zeros(p + (0 if factor.known else factor.m))
    fill_shift(hyper, factor, common, kappa, slope, standard, shift)
    log_q = _propose_common(rng, hyper, factor, common, state, shift, there)
    prior, prior_there = (
        closed_prior(hyper, factor, state, common, model),
        closed_prior(hyper, factor, there, common, model),
    )
    if not prior_there > -np.inf:
        _restore(factor, common, state, there)
        return Move(0.0, -np.inf, 0, 0.0, BAD_RATIO if math.isnan(prior_there) else NO_FAULT)
    logdet_there = _precision(hyper, factor, there, root, Q_there)
    for j in range(p):
        b_there[j] = there[j] - common.centre[j]
    fall += _quadratic(slope, common.hessian, b, p) - _quadratic(slope, common.hessian, b_there, p)
    fall += 0.5 * _free(hyper, factor) * (logdet - logdet_there)
    lengths = _length(hyper, factor.metric, b, b, 0.0, p), _length(hyper, factor.metric, b_there, b, 0.0, p)
    step, sum_of = _length(hyper, factor.metric, b_there, b, -1.0, p), _length(hyper, factor.metric, b_there, b, 1.0, p)
    distances = np.empty(G)
    for g in range(G):
        at = factor.effects_at + g * q
        if hyper[factor.pinned + g] == 0.0:
            place(hyper, factor, g, kappa, b_there, p, Q_there, C, mean, own)
            for a in range(q):
                eps[a] = standard[g, a]
            unstandardised(C, q, eps, mean, there, at)
            fall -= closed_energy(hyper, factor, g, Q_there, C, own, there, at)
        centred(hyper, factor, g, b, p, state, at, before)
        centred(hyper, factor, g, b_there, p, there, at, after)
        distances[g] = bound_of_group(
            hyper, factor, g, before, after, lengths[0], lengths[1], step, sum_of, away[g], work_vector
        )
    log_rho = log_q + fall + prior_there - prior
    if math.isnan(log_rho) or log_rho == np.inf:
        return Move(0.0, log_rho, 0, 0.0, BAD_RATIO)
    totals = window(hyper, factor.total, G)
    seen = all_groups(rng, state, there, log_rho, totals, distances, _BETA, rows_of(hyper, factor, model), model, work)
    if seen.fault != NO_FAULT:
        return Move(0.0, -np.inf, seen.rows, seen.worst, seen.fault)
    if accepts(rng, seen.log_ratio):
        state[:] = there
        return Move(1.0, seen.log_ratio, seen.rows, seen.worst, NO_FAULT)
    _restore(factor, common, state, there)
    return Move(0.0, seen.log_ratio, seen.rows, seen.worst, NO_FAULT)


@helper
def _restore(factor, common, state, there):
    there[:] = state


@helper
def move_effects(rng, hyper, factor, common, state, there, kappa, away, model, work):
    """(B). ``state`` is moved in place; ``there`` equals it before and after."""
    p, q, G = common.p, factor.q, factor.groups
    Q, root, C, own = np.empty((q, q)), np.empty((q, q)), np.empty((q, q)), np.empty(q)
    mean, eps, eps_there = np.empty(q), np.empty((1, q)), np.empty(q)
    before, after, work_vector = np.empty(q), np.empty(q), np.empty(q)
    b = np.empty(p)
    for j in range(p):
        b[j] = state[j] - common.centre[j]
    _precision(hyper, factor, state, root, Q)
    length = _length(hyper, factor.metric, b, b, 0.0, p)
    batches, distances, log_ratios = np.zeros(G, np.int64), np.zeros(G), np.zeros(G)
    walk = rng.random() < _WALK
    width = math.exp(2.0 * rng.random() - 0.5)
    for g in range(G):
        if hyper[factor.pinned + g] > 0.0:
            continue
        at = factor.effects_at + g * q
        place(hyper, factor, g, kappa, b, p, Q, C, mean, own)
        standardised(C, q, state, at, mean, eps, 0)
        for a in range(q):
            eps_there[a] = width * rng.standard_normal() + eps[0, a] if walk else rng.standard_normal()
            if walk:
                log_ratios[g] += 0.5 * (eps[0, a] * eps[0, a] - eps_there[a] * eps_there[a])
        unstandardised(C, q, eps_there, mean, there, at)
        centred(hyper, factor, g, b, p, state, at, before)
        centred(hyper, factor, g, b, p, there, at, after)
        distances[g] = bound_of_group(
            hyper, factor, g, before, after, length, length, 0.0, 2.0 * length, away[g], work_vector
        )
        n_rows = hyper[factor.first + g + 1] - hyper[factor.first + g]
        batches[g] = batch_of(rng, hyper[factor.total + g], distances[g], 1.0, n_rows)
    table = rows_of(hyper, factor, model)
    seen = each_group(rng, state, there, log_ratios, batches, distances, 1.0, table, model, work)
    if seen.fault != NO_FAULT:
        return Move(0.0, -np.inf, seen.rows, seen.worst, seen.fault)
    accepted, free = 0.0, 0.0
    for g in range(G):
        if hyper[factor.pinned + g] > 0.0:
            continue
        free += 1.0
        at = factor.effects_at + g * q
        if accepts(rng, log_ratios[g]):
            accepted += 1.0
            for a in range(q):
                state[at + a] = there[at + a]
        else:
            for a in range(q):
                there[at + a] = state[at + a]
    return Move(accepted / max(free, 1.0), 0.0, seen.rows, seen.worst, NO_FAULT)


@helper
def _log_scales_given_effects(hyper, factor, state, free, squares, tau, root, Q):
    """``log p(lambda | v)``: the groups' effects by the sum of ``v v'``."""
    logdet = fill_precision(state, factor.scales_at, factor.q, root, Q)
    total = -0.5 * free * logdet
    for a in range(factor.q):
        for c in range(factor.q):
            total -= 0.5 * Q[a, c] * squares[a, c]
    return total + log_prior_of_scales(hyper, factor, state, tau)


@helper
def move_scales(rng, hyper, factor, common, state):
    """(C): every coordinate of ``lambda`` by a slice sampler (Neal 2003, stepping out)."""
    q = factor.q
    squares, root, Q = np.zeros((q, q)), np.empty((q, q)), np.empty((q, q))
    for g in range(factor.groups):
        if hyper[factor.pinned + g] == 0.0:
            at = factor.effects_at + g * q
            for a in range(q):
                for c in range(q):
                    squares[a, c] += state[at + a] * state[at + c]
    free, tau = _free(hyper, factor), _tau(state, common)
    width = 2.0 / math.sqrt(free)
    for k in range(factor.m):
        at = factor.scales_at + k
        here = state[at]
        height = _log_scales_given_effects(hyper, factor, state, free, squares, tau, root, Q) + math.log(rng.random())
        if math.isnan(height):
            return BAD_RATIO
        low = here - width * rng.random()
        high = low + width
        state[at] = low
        while _log_scales_given_effects(hyper, factor, state, free, squares, tau, root, Q) > height:
            low -= width
            state[at] = low
        state[at] = high
        while _log_scales_given_effects(hyper, factor, state, free, squares, tau, root, Q) > height:
            high += width
            state[at] = high
        while True:
            state[at] = low + (high - low) * rng.random()
            if _log_scales_given_effects(hyper, factor, state, free, squares, tau, root, Q) >= height:
                break
            if state[at] < here:
                low = state[at]
            else:
                high = state[at]
    return NO_FAULT


@helper
def _lengths_of(common, moved, hyper, lengths):
    """The most that the displacement of each group moves a row's predictor."""
    for f in range(common.factors):
        factor = factor_of(hyper, f)
        for g in range(factor.groups):
            H = square(hyper, factor.spread, g, factor.q)
            lengths[factor.group_at + g] = hyper[factor.width + g] * norm(H, factor.q, moved[factor.group_at + g])


@helper
def _slope_given_others(f, common, moved, hyper, slope):
    """The gradient in the common parameters of the quadratic at ``b = 0``, other factors being where they are."""
    for j in range(common.p):
        slope[j] = common.gradient[j]
    for other in range(common.factors):
        if other != f:
            factor = factor_of(hyper, other)
            for g in range(factor.groups):
                h = tall(hyper, factor.cross, g, factor.q, common.p)
                for a in range(factor.q):
                    for j in range(common.p):
                        slope[j] += h[a, j] * moved[factor.group_at + g, a]


@part(Decide)
def _sweep(rng, theta, prop, log_rho, distance, model, stream, knobs, memory, work):
    """Moves ``prop``, which is where the chain goes; every decision is made inside. ``theta`` becomes scratch."""
    hyper = model.data.hyper
    common = common_of(hyper)
    state, there = prop, prop.copy()
    moved, lengths = np.zeros((common.all_groups, common.most)), np.zeros(common.all_groups)
    rate, rows, worst, effects = 0.0, 0, 0.0, 0.0
    slope = np.empty(common.p)
    for f in range(common.factors):
        factor = factor_of(hyper, f)
        kappa, away = np.empty((factor.groups, factor.q)), np.zeros(factor.groups)
        if common.factors > 1:
            displacements(state, common, hyper, moved)
            _lengths_of(common, moved, hyper, lengths)
        slopes_given_others(hyper, factor, common, moved, lengths, kappa, away)
        _slope_given_others(f, common, moved, hyper, slope)
        first = move_common(rng, hyper, factor, common, state, there, kappa, slope, away, model, work)
        if first.fault != NO_FAULT:
            theta[:] = state
            prop[:] = there
            return failure(first.fault)
        second = move_effects(rng, hyper, factor, common, state, there, kappa, away, model, work)
        if second.fault != NO_FAULT:
            theta[:] = state
            prop[:] = there
            return failure(second.fault)
        if not factor.known:
            fault = move_scales(rng, hyper, factor, common, state)
            if fault != NO_FAULT:
                return failure(fault)
            there[:] = state
        rate += math.exp(min(0.0, first.log_ratio)) / common.factors
        effects += second.accepted / common.factors
        rows += first.rows + second.rows
        worst = max(worst, first.worst, second.worst)
    return Decision(True, math.log(rate) if rate > 0.0 else -np.inf, rows, False, worst, np.nan, effects, NO_FAULT)


@part(Propose)
def _stay(rng, here, there, knobs):
    """The sweep itself moves."""
    there[:] = here
    return 0.0


@dataclass(frozen=True)
class Sweep:
    """Common parameters and scales together, then every group by itself: what a model with groups is sampled by."""

    exact: ClassVar[bool] = True

    def bind(self, target: Any) -> ReadyTest:
        return ReadyTest(_sweep, fixed([0.0]), np.empty(0), NO_ROWS, None, "group_acceptance")


@dataclass(frozen=True)
class LaplaceByGroups:
    """The proposals of `Sweep`."""

    def bind(self, target: Any) -> ReadyProposal:
        return ReadyProposal(_stay, fixed([1.0]), False, 0.0)
