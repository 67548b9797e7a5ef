"""Common parameters and the scales of all factors together, the effects of all factors moving along (spec 5q).

(A) keeps the effects of other factors. Where rows lie in groups that lie in groups, each with few rows, these effects
nearly say where its own scale is. Here ``eps`` of all factors is kept (`.joint_coordinates`), ``(b, lambda)`` is drawn,
and all rows decide.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ..acceptance.base import accepts
from ..chains.kernel import ReadyKernel, Statistic
from ..compiled import BAD_RATIO, BLOCK, NO_FAULT, Step, helper, part
from ..compiled.vector import copy_into
from ..compiled.windows import window
from ..targets.glm_rows import FIRST, apply_weights
from ..targets.layouts import multi_predictor_row_at, regression_of
from .joint_coordinates import fill_precisions, fill_rest, follow, new_space, stand
from .joint_layout import joint_at
from .kernel_common import CommonPrior, log_prior_of_common, log_prior_of_scales
from .layout import common_of, factor_of

_ALL, _ONE = 0.15, 0.3  # below the first a proposal is a walk of all numbers, below the second one of a single scale
_SHORTEST, _LONGEST = -2.0, 1.0  # logarithms of the lengths of walks, in standard deviations

_STATISTICS = (Statistic("joint_acceptance"), Statistic("joint_batch_size", rows=True))
_RATE, _ROWS = range(len(_STATISTICS))


@helper
def _energy_of_rows(law, model, space):
    """Of all rows, with their weights, by the predictors ``z - rest``."""
    data, n_rows, total = model.data, law.n_rows, 0.0
    index, energy, rest, response = np.empty(BLOCK, np.int64), np.empty(BLOCK), space.rest, law.response
    own = regression_of(data.hyper)
    end = multi_predictor_row_at(data.rows, 0, own.width, own.predictors).end
    for start in range(0, n_rows, BLOCK):
        n = min(BLOCK, n_rows - start)
        for b in range(n):
            index[b] = start + b
            data.eta[b] = response[start + b] - rest[start + b]
            data.y[b] = multi_predictor_row_at(data.rows, start + b, own.width, own.predictors).y
        data.family_energy(n, data.eta, data.y, data.family_hyper, energy)
        apply_weights(index, FIRST, n, data, end, energy)
        for b in range(n):
            total += energy[b]
    return total


@helper
def _energy(law, prior, model, state, space, volumes):
    """Minus the log density in ``(b, lambda, eps)``; +infinity outside of the priors' support."""
    common, p = common_of(model.data.hyper), law.p
    closed = log_prior_of_common(prior, common, state)
    for k in range(law.factors):
        closed += log_prior_of_scales(factor_of(model.data.hyper, k), state, 1.0)
    if not closed > -np.inf:
        return np.nan if math.isnan(closed) else np.inf
    total = volumes - closed
    for f in range(law.factors):
        at, squares = p + int(law.order[f]), 0.0
        effects = window(state, law.n + int(law.first[f]), int(law.groups[f]))
        for g in range(effects.size):
            squares += effects[g] * effects[g]
        total += 0.5 * math.exp(-2.0 * state[at]) * squares + effects.size * state[at]
    return total + _energy_of_rows(law, model, space)


@helper
def _propose(rng, law, state, there):
    """Fill ``(b, lambda)`` of ``there``, by the learned law or a walk; returns the log ratio of back and forth."""
    n, kind, log_q = law.n, rng.random(), 0.0
    middle, root, inverse = law.middle, law.root, law.root_inverse
    length = math.exp(_SHORTEST + (_LONGEST - _SHORTEST) * rng.random())
    if kind < _ALL:
        length *= 2.4 / math.sqrt(n)
        y = np.empty(n)
        for i in range(n):
            y[i] = length * rng.standard_normal()
            there[i] = state[i]
        for i in range(n):
            for j in range(i + 1):
                there[i] += root[i, j] * y[j]
        return 0.0
    if kind < _ONE:
        copy_into(window(there, 0, n), window(state, 0, n))
        k, variance = law.p + min(int(rng.random() * law.factors), law.factors - 1), 0.0
        for j in range(k + 1):
            variance += root[k, j] * root[k, j]
        there[k] += length * math.sqrt(variance) * rng.standard_normal()
        return 0.0
    y = np.empty(n)
    for i in range(n):
        y[i] = rng.standard_normal()
        standing = 0.0
        for j in range(i + 1):
            standing += inverse[i, j] * (state[j] - middle[j])
        log_q += 0.5 * (y[i] * y[i] - (standing / law.wider) ** 2)
    for i in range(n):
        there[i] = middle[i]
        for j in range(i + 1):
            there[i] += law.wider * root[i, j] * y[j]
    return log_q


@part(Step)
def _jointly(rng, place, model, stream, own, work, statistics):
    """Some moves of ``(b, lambda)`` in turn, ``eps`` of all factors kept; each is decided on all rows."""
    prior, law = CommonPrior(own.log_prior, own.prior_hyper), joint_at(own.hyper, 0)
    state, there = place.here, place.there
    copy_into(there, state)
    space, effects = new_space(law, state), window(there, law.n, law.n_effects)
    fill_rest(law, state, model, space)
    volumes = fill_precisions(law, state, space)
    stand(law, effects, space)
    energy, rate = _energy(law, prior, model, state, space, volumes), 0.0
    if not math.isfinite(energy):
        return BAD_RATIO
    for _ in range(law.tries):
        log_ratio = _propose(rng, law, state, there)
        fill_rest(law, there, model, space)
        volumes = fill_precisions(law, there, space)
        follow(law, effects, space)
        rise = _energy(law, prior, model, there, space, volumes)
        log_ratio += energy - rise
        if not math.isfinite(log_ratio):  # it has overflowed, or is outside of the priors' support
            log_ratio = -np.inf
        rate += math.exp(min(0.0, log_ratio))
        if accepts(rng, log_ratio):
            copy_into(state, there)
            energy = rise
    copy_into(there, state)
    statistics[_RATE], statistics[_ROWS] = rate / law.tries, (law.tries + 1.0) * law.n_rows
    return NO_FAULT


def ready_jointly(numbers: np.ndarray, prior: Any) -> ReadyKernel:
    """Return the kernel with the numbers of `.joint_law` and with this prior of the common parameters."""
    return ReadyKernel(_jointly, _STATISTICS, hyper=numbers, log_prior=(prior.log_prior, prior.hyper))
