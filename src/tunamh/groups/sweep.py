"""A sweep over a model with groups: three exact kernels for every factor in turn (spec 5q).

(A) common parameters and scales, ``(b, lambda)``, together, the groups' ``eps`` kept: every group moves along. Decided
    on rows of all groups (`tunamh.acceptance.grouped`).
(B) the effects of every group by themselves, given the rest: independent decisions, each on the group's own rows.
(C) the scales given the effects: no row is read.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..acceptance.base import ReadyTest, failure
from ..compiled import NO_FAULT, Adapt, Decide, Decision, fixed, helper, part
from ..compiled.triangular import norm
from ..compiled.vector import copy_into
from ..compiled.windows import window
from ..proposals import Staying
from ..rows.supply import NO_ROWS
from .conditionals import displaced_by_others, displacements, new_given, slopes_given_others
from .kernel_common import FactorTurn, tau_of
from .layout import MEAN, SQUARES, SUMMARY, common_of, factor_of, summary_at
from .move_common import move_common, times_common
from .move_effects import move_effects
from .move_scales import move_scales

_FULL, _RHO = range(2)  # knobs
_WANTED, _GAIN = 0.5, 0.2


@helper
def _lengths_of(common, moved, hyper, lengths):
    """The most that the displacement of each group moves a row's predictor."""
    for f in range(common.factors):
        factor = factor_of(hyper, f)
        metric, start, reach = factor.effect_metric, factor.cell_start, factor.effect_reach
        for g in range(factor.groups):
            H, own = metric[g], moved[factor.group_at + g]
            length = norm(H, factor.n_effects, own) if factor.n_effects > 1 else abs(own[0])
            widest = 0.0
            for c in range(int(start[g]), int(start[g + 1])):
                widest = max(widest, reach[c])
            lengths[factor.group_at + g] = widest * length


@helper
def _slope_given_others(f, common, moved, hyper, slope):
    """The gradient in the common parameters of the quadratic at ``b = 0``, other factors being where they are."""
    for j in range(common.p):
        slope[j] = common.gradient[j]
    for other in range(common.factors):
        if other != f:
            factor = factor_of(hyper, other)
            cross = factor.cross
            for a in range(factor.n_effects):
                for j in range(common.p):
                    h = cross[a, j]
                    for g in range(factor.groups):
                        slope[j] += h[g] * moved[factor.group_at + g, a]


@helper
def _add_to_summary(state, common, memory):
    """How many sweeps, and of every effect, as a user knows it, mean and sum of squares about it (Welford 1962)."""
    tau, first = tau_of(state, common), common.p + common.n_scales
    effects = window(state, first, state.size - first)
    own = summary_at(memory, 0, effects.size)
    count, moments = own.count, own.moments
    count[0] += 1.0
    for k in range(effects.size):
        away = effects[k] / tau - moments[k, MEAN]
        moments[k, MEAN] += away / count[0]
        moments[k, SQUARES] += away * (effects[k] / tau - moments[k, MEAN])


@part(Decide)
def _sweep(rng, theta, prop, log_rho, distance, model, stream, knobs, memory, work):
    """Moves ``prop``, which is where the chain goes; every decision is made inside. ``theta`` becomes scratch."""
    hyper = model.data.hyper
    common = common_of(hyper)
    state, there = prop, prop.copy()
    moved, lengths = np.zeros((common.all_groups, common.most_effects)), np.zeros(common.all_groups)
    rate, rows, worst, effects = 0.0, 0, 0.0, 0.0
    laplace_rate, laplace_moves = 0.0, 0.0
    full = knobs[_FULL] > 0.0
    slope = np.empty(common.p)
    for f in range(common.factors):
        factor = factor_of(hyper, f)
        kappa, away = np.empty((factor.n_effects, factor.groups)), np.zeros(factor.n_cells)
        given = new_given(factor)
        if common.factors > 1:
            displacements(state, common, hyper, moved)
            _lengths_of(common, moved, hyper, lengths)
            displaced_by_others(factor, lengths, away)
        slopes_given_others(factor, moved, kappa)
        _slope_given_others(f, common, moved, hyper, slope)
        times = times_common(factor, common)
        turn = FactorTurn(factor, common, model, work, state, there, kappa, slope, given, away, full, knobs[_RHO])
        for _ in range(times):
            first = move_common(rng, turn)
            if first.fault != NO_FAULT:
                copy_into(theta, state)
                copy_into(prop, there)
                return failure(first.fault)
            chance = math.exp(min(0.0, first.log_ratio))
            rate += chance / (times * common.factors)
            if first.laplace:
                laplace_rate += chance
                laplace_moves += 1.0
            rows += first.rows
            worst = max(worst, first.worst)
        second = move_effects(rng, turn)
        if second.fault != NO_FAULT:
            copy_into(theta, state)
            copy_into(prop, there)
            return failure(second.fault)
        if not factor.known:
            fault = move_scales(rng, turn)
            if fault != NO_FAULT:
                return failure(fault)
            copy_into(there, state)
        effects += second.accepted / common.factors
        rows += second.rows
        worst = max(worst, second.worst)
    if memory.size > 0:
        _add_to_summary(state, common, memory)
    of_laplace = laplace_rate / laplace_moves if laplace_moves > 0.0 else np.nan
    return Decision(True, math.log(rate) if rate > 0.0 else -np.inf, rows, False, worst, of_laplace, effects, NO_FAULT)


@part(Adapt)
def _nearer(knobs, acceptance):
    """Raise ``rho`` of (A) where proposals by the Laplace law are seldom accepted, lower it where they mostly are.

    What a sweep reports in the place of a move bound is that acceptance.
    """
    keep = (1.0 - knobs[_RHO]) * math.exp(_GAIN * (acceptance - _WANTED))
    knobs[_RHO] = 1.0 - min(max(keep, 0.01), 1.0)


@dataclass(frozen=True)
class Sweep:
    """Common parameters and scales together, then every group by itself: what a model with groups is sampled by.

    ``full`` decides on all rows, each held against its bound: slow, and a check of the minibatches.
    """

    full: bool = False

    exact: ClassVar[bool] = True

    def bind(self, target: Any) -> ReadyTest:
        memory = np.zeros(0 if target.keeps_effects else SUMMARY.places(effects=target.effects).end)
        return ReadyTest(
            _sweep, fixed([float(self.full), 0.0]), memory, NO_ROWS, _nearer, "group_acceptance", fresh=True
        )


@dataclass(frozen=True)
class LaplaceByGroups(Staying):
    """The proposals of `Sweep`."""
