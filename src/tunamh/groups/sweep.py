"""A sweep over a model with groups: four exact kernels for every factor in turn (spec 5q).

(A) common parameters and scales, ``(b, lambda)``, together, the groups' ``eps`` kept: every group moves along. Decided
    on rows of all groups (`tunamh.acceptance.grouped`).
(B) the effects of every group by themselves, given the rest: independent decisions, each on the group's own rows.
(C) the scales given the effects: no row is read.
(D) the means of groups against what they have in common: no row sees it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..acceptance.base import Memory
from ..chains.kernel import ROWS_READ, Kernel, OverSteps, ReadyKernel, Statistic
from ..compiled import NO_FAULT, Adapt, Part, Step, fixed, helper, part
from ..compiled.references import address_of, keep_until_here
from ..compiled.triangular import norm
from ..compiled.vector import copy_into
from ..compiled.windows import window
from .common_and_scales import propose_common_and_scales
from .conditionals import displaced_by_others, displacements, fill_given, new_given, slopes_given_others
from .kernel_common import CommonPrior, FactorTurn, draw_weights, tau_of
from .layout import MEAN, SQUARES, SUMMARY, common_of, factor_of, summary_at
from .move_common import move_common, propose_common, times_common
from .move_effects import move_effects
from .move_jointly import ready_jointly
from .move_means import move_means
from .move_parents import move_parents
from .move_scales import move_scales
from .move_together import move_together
from .prior_scales import draw_prior_scales
from .roles import (
    MOVE_COMMON,
    MOVE_EFFECTS,
    MOVE_MEANS,
    MOVE_PARENTS,
    MOVE_SCALES,
    MOVE_TOGETHER,
    move_at,
    scales_at,
)

PARTS = (propose_common, move_common, move_effects, move_scales, move_means)
"""In the order of their places (`tunamh.groups.roles`); models with nested groups or related levels have more."""


_FULL, _RHO = range(2)  # knobs
_ON_ALL_ROWS, _ALONE, _BY_LOT = (
    1.0,
    2.0,
    3.0,
)  # values of the first; the third is explained below
_WANTED, _GAIN = 0.5, 0.2

EFFECTS_ALONE = fixed([_ALONE, 0.0])
"""Knobs of a sweep that keeps common parameters and scales, and moves the effects alone."""

BY_LOT = fixed([_BY_LOT, 0.0])
"""Knobs of a sweep beside moves of all factors together: it makes (A) for one factor alone, which is drawn by lot."""

_STATISTICS = (
    Statistic("accepted", OverSteps.ANY),
    Statistic("acceptance_rate"),  # of (A)
    ROWS_READ,
    Statistic("full_data_step", OverSteps.ANY),
    Statistic("bound_ratio", OverSteps.MAX),
    Statistic("laplace_acceptance"),  # of (A), of those of its proposals that are drawn from the Laplace law
    Statistic("group_acceptance"),  # of (B)
)
_ACCEPTED, _RATE, _ROWS, _FULL_STEP, _WORST, _LAPLACE_RATE, _GROUP_RATE = range(len(_STATISTICS))


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


@part(Step)
def _sweep(rng, place, model, stream, own, work, statistics):
    """Every factor in turn; ``own.log_prior`` is that of the common parameters."""
    prior, knobs, memory = CommonPrior(own.log_prior, own.prior_hyper), own.knobs, own.memory
    hyper, parts = model.data.hyper, own.parts
    common = common_of(hyper)
    state, there = place.here, place.there
    copy_into(there, state)
    moved, lengths = np.zeros((common.all_groups, common.most_effects)), np.zeros(common.all_groups)
    rate, rows, worst, effects = 0.0, 0, 0.0, 0.0
    laplace_rate, laplace_moves = 0.0, 0.0
    full, alone, by_lot = knobs[_FULL] == _ON_ALL_ROWS, knobs[_FULL] == _ALONE, knobs[_FULL] == _BY_LOT
    turns, drawn = (1, int(rng.random() * common.factors)) if by_lot else (common.factors, -1)
    rho = knobs[_RHO]
    slope = np.empty(common.p)
    if common.prior_scales > 0 and not alone:
        draw_prior_scales(rng, common, state, tau_of(state, common))
        copy_into(there, state)
    for f in range(common.factors):
        factor = factor_of(hyper, f)
        kappa, away = np.empty((factor.n_effects, factor.groups)), np.zeros(factor.n_cells)
        given = new_given(factor)
        if common.factors > 1:
            displacements(state, common, hyper, moved)
            _lengths_of(common, moved, hyper, lengths)
            displaced_by_others(factor, common.factors, lengths, away)
        slopes_given_others(factor, moved, kappa)
        _slope_given_others(f, common, moved, hyper, slope)
        times = 0 if alone or (by_lot and f != drawn) else times_common(factor, common)
        if times == 0:
            b = np.empty(common.p)
            for j in range(common.p):
                b[j] = state[j] - common.centre[j]
            fill_given(factor, kappa, b, given)  # which (A) else does
        weights = np.empty(factor.groups)
        draw_weights(rng, factor, common, state, weights)
        turn = FactorTurn(
            factor, common, model, work, state, there, kappa, slope, given, away, full, rho, parts, weights, prior
        )
        address = address_of(turn)
        for _ in range(times):
            first = move_at(parts[MOVE_COMMON])(rng, address)
            if first.fault != NO_FAULT:
                return first.fault
            chance = math.exp(min(0.0, first.log_ratio))
            rate += chance / (times * turns)
            if first.laplace:
                laplace_rate += chance
                laplace_moves += 1.0
            rows += first.rows
            worst = max(worst, first.worst)
        if factor.n_related > 0:
            together = move_at(parts[MOVE_TOGETHER])(rng, address)
            if together.fault != NO_FAULT:
                return together.fault
            rows += together.rows
            worst = max(worst, together.worst)
        second = move_at(parts[MOVE_EFFECTS])(rng, address)
        if second.fault != NO_FAULT:
            return second.fault
        if not (factor.known or alone):
            fault = scales_at(parts[MOVE_SCALES])(rng, address)
            if fault != NO_FAULT:
                return fault
            copy_into(there, state)
        if not alone:
            draw_weights(rng, factor, common, state, weights)
            fault = scales_at(parts[MOVE_MEANS])(rng, address)
            if fault != NO_FAULT:
                return fault
            if factor.n_parents > 0:
                scales_at(parts[MOVE_PARENTS])(rng, address)
        keep_until_here(turn)
        effects += second.accepted / common.factors
        rows += second.rows
        worst = max(worst, second.worst)
    if memory.size > 0:
        _add_to_summary(state, common, memory)
    copy_into(there, state)
    statistics[_ACCEPTED], statistics[_FULL_STEP] = 1.0, 0.0
    statistics[_RATE] = math.exp(math.log(rate)) if rate > 0.0 else 0.0  # its last digit as in stores of older versions
    statistics[_ROWS], statistics[_WORST] = rows, worst
    statistics[_LAPLACE_RATE] = laplace_rate / laplace_moves if laplace_moves > 0.0 else np.nan
    statistics[_GROUP_RATE] = effects
    return NO_FAULT


@part(Adapt)
def _nearer(knobs, acceptance):
    """Raise ``rho`` of (A) where proposals by the Laplace law are seldom accepted, lower it where they mostly are."""
    keep = (1.0 - knobs[_RHO]) * math.exp(_GAIN * (acceptance - _WANTED))
    knobs[_RHO] = 1.0 - min(max(keep, 0.01), 1.0)


def _parts_of(target: Any) -> tuple[Part, ...]:
    """`PARTS`; where the prior has unknown scales, (A) moves these, too; what other models need comes behind."""
    first = propose_common_and_scales if target.scaled_prior else propose_common
    if any(one.related for one in target.groupings):
        return (first, *PARTS[1:], move_parents, move_together)
    nested = any(numbers.n_parents for numbers in target.factors)
    return (first, *PARTS[1:], *((move_parents,) if nested else ()))


@dataclass(frozen=True)
class Sweep(Kernel):
    """The kernel of models with groups: common parameters and scales together, then the effects of every group.

    ``full`` decides on all rows and checks each row against its bound. This is slow; it is a check of the minibatches.
    """

    full: bool = False

    def parts_ahead(self) -> tuple[Part, ...]:
        return move_common, propose_common, move_effects, _sweep, move_means, move_scales

    def bind(self, target: Any) -> ReadyKernel:
        """Return the sweep, followed by joint moves of all factors if these were learned (`.joint_law`)."""
        own = self.alone(target)
        return own if target.joint is None else self.joined(target, target.joint)

    def joined(self, target: Any, numbers: np.ndarray) -> ReadyKernel:
        """Return the sweep, followed by joint moves of all factors with these numbers."""
        own = self.alone(target)
        first = own if self.full else own._replace(knobs=BY_LOT)
        return own.with_turns([first, ready_jointly(numbers, target.prior_of_common)])

    def alone(self, target: Any) -> ReadyKernel:
        """Return the sweep without joint moves."""
        prior = target.prior_of_common
        return ReadyKernel(
            _sweep,
            _STATISTICS,
            knobs=fixed([float(self.full), 0.0]),
            memory=np.zeros(0 if target.keeps_effects else SUMMARY.places(effects=target.effects).end),
            memory_is=Memory.APART,
            memory_begins_anew=True,
            adapt=_nearer,
            adapts_to="laplace_acceptance",
            log_prior=(prior.log_prior, prior.hyper),
            parts=_parts_of(target),
        )

    def check_bounds(self, target: Any, times: int, rng: np.random.Generator) -> float:
        from .trial_sweeps import try_sweeps

        return try_sweeps(target, times, rng, full=True).worst

    def summaries(self, target: Any, memories: list[np.ndarray]) -> dict[str, np.ndarray] | None:
        return target.summaries(memories)
