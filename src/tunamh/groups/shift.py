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

from ..compiled import helper
from ..compiled.triangular import back, norm, solve
from .conditionals import closed_energy, place
from .layout import square
from .one_effect import dot_over_groups, energy_single, push_single


@helper
def _cubic(hyper, factor, g, d, slope):
    """``T3 d^3 / 6`` of several effects, and its gradient."""
    q = factor.q
    total = 0.0
    for a in range(q):
        slope[a] = 0.0
        for b in range(q):
            for c in range(q):
                slope[a] += 0.5 * hyper[factor.thirds + ((g * q + a) * q + b) * q + c] * d[b] * d[c]
        total += slope[a] * d[a] / 3.0
    return total


@helper
def _add_single(hyper, factor, p, m, first, kappa, eps, gradient):
    """What groups of one effect add; the slopes in ``m`` coordinates of the scales, from ``gradient[first]`` on."""
    G = factor.groups
    along, bent = np.empty(G), np.empty(G)
    push_single(hyper, factor, kappa, eps, along, bent)
    for j in range(p):
        gradient[j] += dot_over_groups(hyper, factor.cross, j, G, along)
        gradient[j] += dot_over_groups(hyper, factor.cross_thirds, j, G, bent)
    for k in range(m):
        energies = np.empty(2)
        for v in range(2):
            energies[v] = energy_single(hyper, factor, hyper[factor.variants + 1 + 2 * k + v], kappa, eps)
        gradient[first + k] += (energies[0] - energies[1]) / (2.0 * hyper[factor.steps + k])


@helper
def _add_several(hyper, factor, p, m, first, kappa, eps, gradient):
    """What groups of several effects add."""
    q, G = factor.q, factor.groups
    C, mean, d = np.empty((q, q)), np.empty(q), np.empty(q)
    push, at_centre = np.empty(q), np.empty(q)
    for g in range(G):
        if hyper[factor.free + g] == 0.0:
            continue
        H = square(hyper, factor.spread, g, q)
        for v in range(1 + 2 * m):
            Q = square(hyper, factor.variants, v, q)
            place(hyper, factor, g, kappa, Q, C, mean)
            for a in range(q):
                d[a] = eps[a, g]
            back(C, q, d)
            for a in range(q):
                d[a] += mean[a]
            energy = closed_energy(hyper, factor, g, Q, kappa, d, 0)
            for a in range(q):
                d[a] -= hyper[factor.mode + g * q + a]
                at_centre[a] = d[a]
            far, limit = norm(H, q, d), hyper[factor.limit + g]
            if far > limit:
                for a in range(q):
                    d[a] *= limit / far
            energy += _cubic(hyper, factor, g, d, push)
            if v > 0:
                k = (v - 1) // 2
                sign = 1.0 if v % 2 == 1 else -1.0
                gradient[first + k] += sign * energy / (2.0 * hyper[factor.steps + k])
                continue
            true = square(hyper, factor.curvature, g, q)
            for a in range(q):  # the closed energy's own slope in v, zero without eps where all rows are convex
                push[a] += kappa[a, g]
                for c in range(q):
                    push[a] += true[a, c] * at_centre[c] + Q[a, c] * (at_centre[c] + hyper[factor.mode + g * q + c])
            solve(C, q, push)
            for a in range(q):
                for j in range(p):
                    gradient[j] += hyper[factor.cross + (a * p + j) * G + g] * (at_centre[a] - push[a])
                    for c in range(q):
                        third = hyper[factor.cross_thirds + ((a * q + c) * p + j) * G + g]
                        gradient[j] += 0.5 * third * d[a] * d[c]


@helper
def fill_shift(hyper, factor, common, kappa, slope, eps, gradient, shift):
    """``-L'J``, the shift in standardised coordinates, with ``J`` the ``gradient`` at the centre.

    Known scales have no coordinates of their own. Beside an unknown scale of the errors they move with its ``tau``.
    """
    p, n = common.p, common.p + factor.m
    m, first = (1 if common.tau_at >= 0 else 0, common.tau_at) if factor.known else (factor.m, p)
    for j in range(n):
        gradient[j] = hyper[factor.pull + j] + (slope[j] if j < p else 0.0)
    if factor.q == 1:
        _add_single(hyper, factor, p, m, first, kappa[0], eps[0], gradient)
    else:
        _add_several(hyper, factor, p, m, first, kappa, eps, gradient)
    for i in range(n):
        total = 0.0
        for j in range(i, n):
            total += hyper[factor.root + j * n + i] * gradient[j]
        shift[i] = -total if math.isfinite(total) else 0.0  # of ``eps`` so far out that no polynomial knows it
