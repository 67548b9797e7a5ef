"""Coordinates in which the effects of all factors are kept while common parameters and scales move (spec 5q).

Every row has a quadratic ``w (eta - z)^2 / 2``, by its mean curvature and its working response. Factor by factor, that
with most groups first, the effects are integrated out of it; then from the last to the first they stand at

    v = A / P + eps / sqrt(P),     P = Q + sum w,     A = sum w (z - x.b - effects of later factors),

the sums being over a group's rows with what is left of their ``w``.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from ..compiled import BLOCK, REASSOCIATE, helper
from ..compiled.vector import copy_into, log_quotient
from ..compiled.windows import window
from ..targets.glm_rows import predictors


class Space(NamedTuple):
    """Work space for one point: what the quadratic functions of the rows say there."""

    weights: Any  # (factors, rows): what is left of w for each factor
    precisions: Any  # (effects): P
    sums: Any  # (effects): A
    eps: Any  # (effects)
    rest: Any  # (rows): z minus the predictor, as far as it is known
    plain: Any  # a state without effects


@helper
def new_space(law, state):
    effects, rows = law.n_effects, law.n_rows
    return Space(
        np.empty((law.factors, rows)),
        *(np.empty(effects), np.empty(effects), np.empty(effects)),
        *(np.empty(rows), np.zeros(state.size)),
    )


@helper(fastmath=REASSOCIATE)
def fill_precisions(law, state, space):
    """Fill ``P`` of all groups, and the rest of every row's ``w`` for each factor. Return ``sum log P / 2``."""
    n, total, pair = law.n_rows, 0.0, 0
    P, weight = space.precisions, law.weight
    for f in range(law.factors):
        left = space.weights[f]
        for i in range(n):
            left[i] = weight[i]
    for f in range(law.factors):
        Q, place, left = (
            math.exp(-2.0 * state[law.p + int(law.order[f])]),
            window(law.place, f * n, n),
            space.weights[f],
        )
        own = window(P, int(law.first[f]), int(law.groups[f]))
        for g in range(own.size):
            own[g] = Q
        for i in range(n):
            P[place[i]] += left[i]
        for later in range(f + 1, law.factors):
            overlap, of_later = law.overlap[pair], space.weights[later]
            for i in range(n):
                of_later[i] *= 1.0 - overlap[i] * (1.0 - Q / P[place[i]])
            pair += 1
        for g in range(own.size):
            total += log_quotient(own[g], 1.0)
    return 0.5 * total


@helper
def fill_rest(law, state, model, space):
    """Fill ``z`` minus the predictors of the common parameters, including offsets."""
    data, n_rows, plain = model.data, law.n_rows, space.plain
    copy_into(window(plain, 0, law.p), window(state, 0, law.p))
    index, rest, response = np.empty(BLOCK, np.int64), space.rest, law.response
    for start in range(0, n_rows, BLOCK):
        n = min(BLOCK, n_rows - start)
        for b in range(n):
            index[b] = start + b
        predictors(plain, index, n, data, data.eta)
        for b in range(n):
            rest[start + b] = response[start + b] - data.eta[b]


@helper(fastmath=REASSOCIATE)
def _fill_sums(law, f, space):
    """``A`` of one factor's groups, later factors being taken off."""
    n = law.n_rows
    place, left = window(law.place, f * n, n), space.weights[f]
    sums, rest = space.sums, space.rest
    own = window(sums, int(law.first[f]), int(law.groups[f]))
    for g in range(own.size):
        own[g] = 0.0
    for i in range(n):
        sums[place[i]] += left[i] * rest[i]


@helper
def _take_off(law, f, effects, space):
    """Subtract the effects of one factor from ``rest``."""
    n, rest = law.n_rows, space.rest
    place = window(law.place, f * n, n)
    for i in range(n):
        rest[i] -= effects[place[i]]


@helper
def stand(law, effects, space):
    """Fill ``eps`` of all factors from their effects. Afterwards ``rest`` is ``z`` minus the predictors."""
    P, A, eps = space.precisions, space.sums, space.eps
    for back in range(law.factors):
        f = law.factors - 1 - back
        _fill_sums(law, f, space)
        for g in range(int(law.first[f]), int(law.first[f] + law.groups[f])):
            eps[g] = (effects[g] - A[g] / P[g]) * math.sqrt(P[g])
        _take_off(law, f, effects, space)


@helper
def follow(law, effects, space):
    """Fill the effects of all factors from ``eps``. Afterwards ``rest`` is ``z`` minus the predictors."""
    P, A, eps = space.precisions, space.sums, space.eps
    for back in range(law.factors):
        f = law.factors - 1 - back
        _fill_sums(law, f, space)
        for g in range(int(law.first[f]), int(law.first[f] + law.groups[f])):
            effects[g] = A[g] / P[g] + eps[g] / math.sqrt(P[g])
        _take_off(law, f, effects, space)
