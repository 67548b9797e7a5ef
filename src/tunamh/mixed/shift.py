"""Where proposals of the common parameters and scales sit, given the groups' ``eps`` (spec 5q).

The Laplace law of ``(b, lambda)`` knows nothing of the rows' third and fourth derivatives, which the groups' effects,
each with few rows, feel. With ``d_g(b, lambda; eps)`` a group's displacement, the gradient at the centre of

    closed energy + sum_g [T3_g d_g^3 / 6 + t3_g.b d_g^2 / 2 + T4_g d_g^4 / 24]

says where the law of ``(b, lambda)`` given ``eps`` has its middle. ``eps`` is kept by the move, so that any function of
it may define the proposal. Without the shift a move is accepted in 1 of 4 cases with 1000 groups and hardly ever with
10,000.
"""

from __future__ import annotations

import math

import numpy as np

from .._jit import helper
from .._jit.windows import window
from .groups_given import closed_energy, place
from .layout import square, tall
from .small import back, norm, solve

_FARTHEST = 1.5  # of a row's predictor, beyond which a polynomial says little


@helper(inline=True)
def _cubic(hyper, factor, g, d, slope):
    """``T3 d^3 / 6 + T4 d^4 / 24`` and its gradient."""
    q = factor.q
    total = 0.0
    for a in range(q):
        slope[a] = 0.0
        for b in range(q):
            for c in range(q):
                slope[a] += 0.5 * hyper[factor.thirds + ((g * q + a) * q + b) * q + c] * d[b] * d[c]
        total += slope[a] * d[a] / 3.0
    if q == 1:
        total += hyper[factor.fourths + g] * d[0] ** 4 / 24.0
        slope[0] += hyper[factor.fourths + g] * d[0] ** 3 / 6.0
    return total


@helper
def _add_single(hyper, factor, g, kappa, p, eps, gradient):
    """What a group of one effect adds to the gradient: `fill_shift`'s loop in plain numbers, six times as fast."""
    H, true, mode = hyper[factor.convex + g], hyper[factor.curvature + g], hyper[factor.mode + g]
    third, fourth = hyper[factor.thirds + g], hyper[factor.fourths + g]
    width = hyper[factor.width + int(hyper[factor.cells + g])] * math.sqrt(max(hyper[factor.spread + g], 0.0))
    P = H + hyper[factor.variants]
    at_centre = (H * mode - kappa) / P + eps / math.sqrt(P) - mode
    far = width * abs(at_centre)
    d = at_centre * (_FARTHEST / far) if far > _FARTHEST else at_centre
    push = (0.5 * third + fourth * d / 6.0) * d * d
    push += kappa + true * at_centre + hyper[factor.variants] * (at_centre + mode)
    along, bent = at_centre - push / P, 0.5 * d * d
    h, t = window(hyper, factor.cross + g * p, p), window(hyper, factor.cross_thirds + g * p, p)
    for j in range(p):
        gradient[j] += h[j] * along + t[j] * bent
    for k in range(0 if factor.known else factor.m):
        rise, precisions = 0.0, 1.0
        for v in range(1 + 2 * k, 3 + 2 * k):
            sign = 1.0 if v % 2 == 1 else -1.0
            Q = hyper[factor.variants + v]
            P = H + Q
            d = (H * mode - kappa) / P + eps / math.sqrt(P) - mode
            rise += sign * (kappa * d + 0.5 * (true * d * d + Q * (d + mode) ** 2))
            far = width * abs(d)
            if far > _FARTHEST:
                d *= _FARTHEST / far
            rise += sign * (third / 6.0 + fourth * d / 24.0) * d * d * d
            precisions = P if v % 2 == 1 else precisions / P
        gradient[p + k] += (rise + 0.5 * math.log(precisions)) / (2.0 * hyper[factor.steps + k])


@helper
def fill_shift(hyper, factor, common, kappa, slope, eps, shift):
    """``-L'G``, the shift in standardised coordinates, with ``G`` the gradient at the centre."""
    p, q, G = common.p, factor.q, factor.groups
    m = 0 if factor.known else factor.m
    n = p + m
    gradient = np.empty(n)
    for j in range(n):
        gradient[j] = hyper[factor.pull + j] + (slope[j] if j < p else 0.0)
    zero, mean, d, push, at_centre = np.zeros(p), np.empty(q), np.empty(q), np.empty(q), np.empty(q)
    C, own = np.empty((q, q)), np.empty(q)
    free = 0.0
    for g in range(G):
        if hyper[factor.pinned + g] > 0.0:
            continue
        free += 1.0
        if q == 1:
            _add_single(hyper, factor, g, kappa[g, 0], p, eps[g, 0], gradient)
            continue
        h, H = tall(hyper, factor.cross, g, q, p), square(hyper, factor.spread, g, q)
        for v in range(1 + 2 * m):
            Q = square(hyper, factor.variants, v, q)
            place(hyper, factor, g, kappa, zero, p, Q, C, mean, own)
            for a in range(q):
                d[a] = eps[g, a]
            back(C, q, d)
            for a in range(q):
                d[a] += mean[a]
            energy = closed_energy(hyper, factor, g, Q, C, own, d, 0)
            for a in range(q):
                d[a] -= hyper[factor.mode + g * q + a]
                at_centre[a] = d[a]
            far = hyper[factor.width + int(hyper[factor.cells + g])] * norm(H, q, d)
            if far > _FARTHEST:
                for a in range(q):
                    d[a] *= _FARTHEST / far
            energy += _cubic(hyper, factor, g, d, push)
            if v > 0:
                k = (v - 1) // 2
                sign = 1.0 if v % 2 == 1 else -1.0
                gradient[p + k] += sign * energy / (2.0 * hyper[factor.steps + k])
                continue
            true = square(hyper, factor.curvature, g, q)
            for a in range(q):  # the closed energy's own slope in v, zero without eps where all rows are convex
                push[a] += own[a]
                for c in range(q):
                    push[a] += true[a, c] * at_centre[c] + Q[a, c] * (at_centre[c] + hyper[factor.mode + g * q + c])
            solve(C, q, push)
            for a in range(q):
                for j in range(p):
                    gradient[j] += h[a, j] * (at_centre[a] - push[a])
                    for c in range(q):
                        gradient[j] += 0.5 * hyper[factor.cross_thirds + ((g * q + a) * q + c) * p + j] * d[a] * d[c]
    for k in range(m):
        plus, minus = hyper[factor.variant_logdets + 1 + 2 * k], hyper[factor.variant_logdets + 2 + 2 * k]
        gradient[p + k] += 0.5 * free * (plus - minus) / (2.0 * hyper[factor.steps + k])
    for i in range(n):
        total = 0.0
        for j in range(i, n):
            total += hyper[factor.root + j * n + i] * gradient[j]
        shift[i] = -total
