"""Where the numbers of grouped rows lie in a target's flat vector: what packs them stands beside what reads them.

A state is ``(beta, lambda, v)``: the ``p`` common parameters, the coordinates of all factors' covariances, and the
effects of all groups of all factors, one factor behind the other, group by group.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..compiled import helper
from ..compiled.windows import matrix_window, window

RADII = (0.25, 0.4, 0.63, 1.0, 2.0, 4.0, 8.0)
"""Of a group's ladder, in units of its first radius, within which its rows nearly always stay."""

RUNGS = len(RADII)


@dataclass(frozen=True)
class FactorNumbers:
    """All that a sweep knows of one factor with ``G`` groups of ``q`` effects each, ``m`` coordinates of their scales.

    Sums over a group's rows at the centre, with ``z`` a row's columns of effects and ``x`` those of the common
    parameters: ``gradient = sum f' z``, ``curvature = sum f'' z z'``, ``cross = sum f'' z x'``, ``thirds = sum f''' z z
    z``, ``cross_thirds = sum f''' z z x'``, ``fourths`` likewise, used where ``q`` is 1. What has a number for every
    common parameter has the groups last: loops over all groups are then long and vectorised.
    """

    cells: np.ndarray  # (G + 1): where a group's cells begin: rows of like displacement
    owner: np.ndarray  # (cells): the group of a cell
    first: np.ndarray  # (cells + 1): where a cell's rows begin in `places`
    places: np.ndarray  # (N, 4 or 7): rows cell by cell, with bounds and alias tables (`acceptance.grouped`)
    total: np.ndarray  # (cells): C
    free: np.ndarray  # (G): 0 where the effects are zero, as at a reference level, else 1
    cubic: np.ndarray  # (G): 1 where the rows' energies are without their cubic part, else 0
    mode: np.ndarray  # (G, q)
    gradient: np.ndarray  # (G, q)
    curvature: np.ndarray  # (G, q, q)
    convex: np.ndarray  # (G, q, q): the same of the rows that are convex, by which proposals are made
    spread: np.ndarray  # (G, q, q): the metric of a group's effects
    limit: np.ndarray  # (G): the length in that metric beyond which a polynomial says little of the rows
    cross: np.ndarray  # (q, p, G)
    tilt: np.ndarray  # (G, q, q): x is about lean'z in the group, lean = tilt cross
    thirds: np.ndarray  # (G, q, q, q)
    cross_thirds: np.ndarray  # (q, q, p, G)
    fourths: np.ndarray  # (G)
    reach: np.ndarray  # (cells): e, the largest |x - lean'z| in the metric of the common parameters
    width: np.ndarray  # (cells): m, the largest |spread^-1/2 z|; of groups of one effect the largest |z|
    radius: np.ndarray  # (cells): the first trust radius
    rungs: np.ndarray  # (RUNGS, cells): factors of the bound within each of the radii
    beside: np.ndarray  # (cells + 1): where the groups of other factors begin that a cell shares rows with
    neighbour: np.ndarray  # (n, 2): their places among all groups of all factors, and which factor that is
    scales: np.ndarray  # (m): lambda at the centre
    pull: np.ndarray  # (p + m): the gradient at the centre of minus the log priors of (b, lambda) and of all volumes
    root: np.ndarray  # (p + m, p + m): L, the Gaussian law of (b, lambda) has covariance L L'
    unroot: np.ndarray  # (p + m, p + m): L^-1
    metric: np.ndarray  # (p, p): |metric b| is the length of a displacement
    bend: np.ndarray  # (p, p): the Hessian in the common parameters of all rows and of their prior
    precision: np.ndarray  # (q, q): where the scales are known
    steps: np.ndarray  # (m): of differences in lambda
    variants: np.ndarray  # (1 + 2 m, q, q): Sigma^-1 at the centre and a step to either side of it
    scale_law: np.ndarray  # the table of `.scale_law`; [0] where there is none
    priors: np.ndarray  # records of the laws of the scales, see `tunamh.priors.laws`
    link: np.ndarray  # (G + 1): where a group's partners begin, those of other factors with which it shares rows
    partner: np.ndarray  # (n): their places among all groups of all factors
    share: np.ndarray  # (n, q, Q): sum f'' z z~', Q the most effects that a group of any factor has


_ARRAYS = tuple(FactorNumbers.__dataclass_fields__)
_HEAD = ("groups", "q", "m", "scales_at", "effects_at", "group_at", "free_groups", "place", "correlation", "known")
_HEADS = len(_HEAD)
_ENTRY = _HEADS + 2 * len(_ARRAYS)
_PRIORS, _TOTALS = _ARRAYS.index("priors"), _ARRAYS.index("total")


class Factor(NamedTuple):
    """Sizes of a factor, and where its arrays begin in the vector: positions cross calls, arrays would be counted."""

    groups: Any
    q: Any
    m: Any
    scales_at: Any
    effects_at: Any
    group_at: Any
    free_groups: Any
    place: Any  # numbers of a place: whether energies are without their cubic part
    correlation: Any
    known: Any
    prior_size: Any
    all_cells: Any
    cells: Any
    owner: Any
    first: Any
    places: Any
    total: Any
    free: Any
    cubic: Any
    mode: Any
    gradient: Any
    curvature: Any
    convex: Any
    spread: Any
    limit: Any
    cross: Any
    tilt: Any
    thirds: Any
    cross_thirds: Any
    fourths: Any
    reach: Any
    width: Any
    radius: Any
    rungs: Any
    beside: Any
    neighbour: Any
    scales: Any
    pull: Any
    root: Any
    unroot: Any
    metric: Any
    bend: Any
    precision: Any
    steps: Any
    variants: Any
    scale_law: Any
    priors: Any
    link: Any
    partner: Any
    share: Any


class Common(NamedTuple):
    """What all factors share; ``tau_at`` is where one over the residuals' scale is walked, -1 where it is known.

    Common parameters from ``shared_at`` on are numbers that all rows share: a log dispersion, a logit of inflation.
    """

    factors: Any
    p: Any
    scales: Any
    all_groups: Any
    most: Any  # effects per group
    tau_at: Any
    shared_at: Any
    centre: Any
    gradient: Any
    hessian: Any


# Order 2.0, factors, p, scales, all groups, most, tau_at, shared_at, where the factors' entries begin, where arrays do.
_COMMON = 10


def pack(common: Common, factors: list[tuple[dict[str, float], FactorNumbers]], begins: int) -> np.ndarray:
    """The vector whose first number lies at ``begins`` of the target's."""
    F, p = len(factors), int(common.p)
    entries = begins + _COMMON
    at = entries + F * _ENTRY
    arrays = [np.ravel(array) for array in (common.centre, common.gradient, common.hessian)]
    data_at = at
    at += sum(array.size for array in arrays)
    table: list[float] = []
    for head, numbers in factors:
        table += [float(head[name]) for name in _HEAD]
        for name in _ARRAYS:
            flat = np.ravel(getattr(numbers, name)).astype(np.float64)
            table += [float(at), float(flat.size)]
            arrays.append(flat)
            at += flat.size
    sizes = [F, p, common.scales, common.all_groups, common.most, common.tau_at, common.shared_at]
    first = [2.0, *sizes, entries, data_at]
    return np.concatenate([first, table, *arrays])


@helper(inline=True)
def common_of(hyper):
    at = int(hyper[0])
    p, data = int(hyper[at + 2]), int(hyper[at + 9])
    return Common(
        int(hyper[at + 1]),
        p,
        int(hyper[at + 3]),
        int(hyper[at + 4]),
        int(hyper[at + 5]),
        int(hyper[at + 6]),
        int(hyper[at + 7]),
        window(hyper, data, p),
        window(hyper, data + p, p),
        matrix_window(hyper, data + 2 * p, p, p),
    )


@helper(inline=True)
def factor_of(hyper, f):
    e = int(hyper[int(hyper[0]) + 8]) + f * _ENTRY
    t = e + _HEADS
    return Factor(
        int(hyper[e]), int(hyper[e + 1]), int(hyper[e + 2]), int(hyper[e + 3]), int(hyper[e + 4]), int(hyper[e + 5]),
        hyper[e + 6], int(hyper[e + 7]), hyper[e + 8], hyper[e + 9] > 0.0, int(hyper[t + 2 * _PRIORS + 1]),
        int(hyper[t + 2 * _TOTALS + 1]), int(hyper[t + 0]), int(hyper[t + 2]), int(hyper[t + 4]), int(hyper[t + 6]),
        int(hyper[t + 8]), int(hyper[t + 10]), int(hyper[t + 12]), int(hyper[t + 14]), int(hyper[t + 16]),
        int(hyper[t + 18]), int(hyper[t + 20]), int(hyper[t + 22]), int(hyper[t + 24]), int(hyper[t + 26]),
        int(hyper[t + 28]), int(hyper[t + 30]), int(hyper[t + 32]), int(hyper[t + 34]), int(hyper[t + 36]),
        int(hyper[t + 38]), int(hyper[t + 40]), int(hyper[t + 42]), int(hyper[t + 44]), int(hyper[t + 46]),
        int(hyper[t + 48]), int(hyper[t + 50]), int(hyper[t + 52]), int(hyper[t + 54]), int(hyper[t + 56]),
        int(hyper[t + 58]), int(hyper[t + 60]), int(hyper[t + 62]), int(hyper[t + 64]), int(hyper[t + 66]),
        int(hyper[t + 68]), int(hyper[t + 70]), int(hyper[t + 72]), int(hyper[t + 74]),
    )  # fmt: skip


@helper(inline=True)
def square(hyper, at, g, q):
    """The (q, q) matrix of group ``g`` in the array that begins at ``at``."""
    return matrix_window(hyper, at + g * q * q, q, q)


@helper(inline=True)
def over_groups(hyper, at, k, groups):
    """Row ``k`` of an array with the groups last."""
    return window(hyper, at + k * groups, groups)
