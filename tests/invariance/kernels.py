"""Every exact kernel of the library, made ready for a posterior on a few rows."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from harness import Mover

import tunamh
from problems import STRUCTURES, Problem
from tunamh.acceptance.firefly import FlyMC
from tunamh.chains.metropolis import MetropolisHastings
from tunamh.compiled import NO_FAULT, Step, fixed, part
from tunamh.compiled.references import address_of, keep_until_here
from tunamh.compiled.vector import copy_into
from tunamh.groups.conditionals import displaced_by_others, displacements, fill_given, new_given, slopes_given_others
from tunamh.groups.joint_law import may_move_jointly, numbers_of
from tunamh.groups.kernel_common import CommonPrior, FactorTurn, draw_weights, tau_of
from tunamh.groups.layout import common_of, factor_of
from tunamh.groups.learned_law import LearnedLaw
from tunamh.groups.levels import LeveledRegression, may_have_groups
from tunamh.groups.move_jointly import ready_jointly
from tunamh.groups.prior_scales import draw_prior_scales
from tunamh.groups.roles import (
    MOVE_COMMON,
    MOVE_EFFECTS,
    MOVE_MEANS,
    MOVE_PARENTS,
    MOVE_SCALES,
    MOVE_TOGETHER,
    move_at,
    scales_at,
)
from tunamh.groups.sweep import BY_LOT, _lengths_of, _slope_given_others
from tunamh.priors.mixtures import HORSESHOE
from tunamh.proposals.nested import Nested
from tunamh.sampling.choice import choose
from tunamh.targets.scale_mixtures.known_error import GivenScalesTarget
from tunamh.targets.scale_mixtures.nested import NestedTarget
from tunamh.trajectories.target import HamiltonianRegression, may_have_trajectories


class LeftOut(Exception):
    """`sample` would refuse this kernel for this posterior, or nothing is left for it to move."""


Ready = Callable[[Problem], Mover]

_MANY = 50.0  # times all rows: with so few of them, tests would else read all in the place of a minibatch

# ------------------------------------------------------------------------------------- columns: all parameters together


def joint(test: Any, proposal: Any, order: int | None) -> Ready:
    def ready(problem: Problem) -> Mover:
        control = None if order is None else tunamh.Taylor(order)
        return Mover.of(problem.target, test, proposal, control)

    return ready


def across_modes(problem: Problem) -> Mover:
    return Mover.of(problem.target, tunamh.MH(), tunamh.AcrossModes.of(problem.target.modes))


def trajectories(problem: Problem) -> Mover:
    if not may_have_trajectories(problem.target):
        raise LeftOut
    return _swept(HamiltonianRegression(problem.target), problem.target)


def levels_as_groups(problem: Problem) -> Mover:
    if not may_have_groups(problem.target):
        raise LeftOut
    return _swept(LeveledRegression(problem.target, [[problem.columns, problem.columns + 1]]), problem.target)


def _swept(target: Any, given: Any, **parts: Any) -> Mover:
    """By the kernel of a target's own; ``parts`` of it are replaced."""
    return Mover.ready(target, target.own_kernel().bind(target)._replace(**parts), given)


def scales_in_turn(problem: Problem) -> Mover:
    """As `sample` moves a prior that is Gaussian given scales."""
    mover = joint(None, None, None)(problem)
    if not isinstance(mover.target, GivenScalesTarget):
        raise LeftOut
    return _with_scales(mover, mover.target)


def nested(problem: Problem) -> Mover:
    """Scales and coefficients in one step, and nothing else."""
    target = choose(problem.target, None, None, None).target
    if not isinstance(target, NestedTarget):
        raise LeftOut
    kernel = MetropolisHastings(Nested(), tunamh.MHSS(delayed=False, full_share=_MANY))
    return _with_scales(Mover.ready(target, kernel.bind(target), problem.target), target)


def _with_scales(mover: Mover, target: GivenScalesTarget) -> Mover:
    """What is kept of the scales lies behind the parameters, squared."""
    d, mixture, to_state = target.dim, target.mixture, mover.to_state
    at = [*np.flatnonzero(mixture.mixed), len(mixture.start) - 1] if mixture.arrangement == HORSESHOE else slice(None)

    def with_scales(point: np.ndarray) -> np.ndarray:
        state = to_state(point[:d])
        if mixture.variables:
            state[d:][at] = np.square(point[d:])
        return state

    mover.to_state = with_scales
    return mover


def gathered(problem: Problem) -> Mover:
    mover = joint(tunamh.MHSS(delayed=False, full_share=_MANY), tunamh.Autoregressive(), 2)(problem)
    assert mover.target.gathered is not None
    mover.target.gathered.begin()
    return mover


def kept_rows(problem: Problem) -> Mover:
    """Rows that were expanded about a centre of before, and bounded in its metric."""
    test = tunamh.MHSS(delayed=False, full_share=_MANY)
    return Mover.of(problem.target, test, tunamh.Autoregressive(), lambda target: target.kept.expanded)


class _Firefly(Mover):
    """The bright rows are part of the state: they begin as a draw given the parameters."""

    def memory_at(self, state: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        model, n, memory = self.setup.model, self.target.n_rows, self.setup.kernel.first_memory.copy()
        energy = np.empty(n)
        model.energies(state, np.arange(n), n, model.data, energy)
        bright = rng.random(n) < -np.expm1(np.minimum(energy, 0.0))  # 1 - e^-gap, the energies being -gap
        order = np.concatenate([np.flatnonzero(bright), np.flatnonzero(~bright)])
        memory[0] = bright.sum()
        memory[1 : 1 + n], memory[1 + n : 1 + 2 * n] = order, -energy[order]
        return memory


def firefly(problem: Problem) -> Mover:
    return _Firefly.of(problem.target, FlyMC(q=0.3), tunamh.RandomWalk())


# ------------------------------------------------------------------------------------------------------------- groups

_COMMON, _EFFECTS, _SCALES, _MEANS, _TOGETHER, _OF_PRIOR = 1.0, 2.0, 3.0, 4.0, 5.0, 6.0


@part(Step)
def _one_move(rng, place, model, stream, own, work, statistics):
    """What `tunamh.groups.sweep` does for every factor, but one of the four moves alone: that of ``knobs[2]``."""
    prior, knobs = CommonPrior(own.log_prior, own.prior_hyper), own.knobs
    hyper, parts = model.data.hyper, own.parts
    common = common_of(hyper)
    state, there = place.here, place.there
    copy_into(there, state)
    moved, lengths = np.zeros((common.all_groups, common.most_effects)), np.zeros(common.all_groups)
    slope, b = np.empty(common.p), np.empty(common.p)
    if knobs[2] == _OF_PRIOR:
        draw_prior_scales(rng, common, state, tau_of(state, common))
        copy_into(there, state)
        return NO_FAULT
    for f in range(common.factors):
        factor = factor_of(hyper, f)
        kappa, away = np.empty((factor.n_effects, factor.groups)), np.zeros(factor.n_cells)
        given, fault = new_given(factor), NO_FAULT
        if common.factors > 1:
            displacements(state, common, hyper, moved)
            _lengths_of(common, moved, hyper, lengths)
            displaced_by_others(factor, common.factors, lengths, away)
        slopes_given_others(factor, moved, kappa)
        _slope_given_others(f, common, moved, hyper, slope)
        weights = np.empty(factor.groups)
        draw_weights(rng, factor, common, state, weights)
        turn = FactorTurn(
            factor, common, model, work, state, there, kappa, slope, given, away, False, knobs[1], parts, weights, prior
        )
        address = address_of(turn)
        if knobs[2] == _COMMON:
            move = move_at(parts[MOVE_COMMON])(rng, address)
            fault = move.fault
        elif knobs[2] == _TOGETHER:
            if factor.n_related > 0:
                move = move_at(parts[MOVE_TOGETHER])(rng, address)
                fault = move.fault
        elif knobs[2] == _EFFECTS:
            for j in range(common.p):
                b[j] = state[j] - common.centre[j]
            fill_given(factor, kappa, b, given)
            move = move_at(parts[MOVE_EFFECTS])(rng, address)
            fault = move.fault
        elif knobs[2] == _MEANS:
            fault = scales_at(parts[MOVE_MEANS])(rng, address)
            if factor.n_parents > 0:
                scales_at(parts[MOVE_PARENTS])(rng, address)
        elif not factor.known:
            fault = scales_at(parts[MOVE_SCALES])(rng, address)
            copy_into(there, state)
        keep_until_here(turn)
        if fault != NO_FAULT:
            return fault
    return NO_FAULT


def one_move(which: float) -> Ready:
    def ready(problem: Problem) -> Mover:
        if which == _SCALES and all(known for _, _, known in problem.structure.factors):
            raise LeftOut
        if which == _MEANS and not any(numbers.n_between + numbers.n_parents for numbers in problem.target.factors):
            raise LeftOut
        if which == _OF_PRIOR and not problem.target.scaled_prior:
            raise LeftOut
        if which == _TOGETHER and not problem.related:
            raise LeftOut
        return _swept(problem.target, problem.target, step=_one_move, knobs=fixed([0.0, 0.0, which]), then=())

    return ready


def sweep(*, full: bool = False, rho: float = 0.0) -> Ready:
    return lambda problem: _swept(problem.target, problem.target, knobs=fixed([float(full), rho]))


def by_lot(problem: Problem) -> Mover:
    """The sweep beside moves of all factors together: (A) for one factor, which is drawn by lot."""
    if len(problem.structure.factors) < 2:
        raise LeftOut
    return _swept(problem.target, problem.target, knobs=BY_LOT, then=())


def learned(problem: Problem) -> Mover:
    """Common parameters and scales by a law of `tunamh.groups.learned_law`: here any law at all."""
    target = problem.target
    if any(known for _, _, known in problem.structure.factors) and target.scale_priors.tau_at >= 0:
        raise LeftOut
    roots = [1.3 * numbers.root for numbers in target.factors]
    offsets = [np.linspace(-0.7, 0.5, len(root)) for root in roots]
    target = target._with(learned=LearnedLaw(target.centre, roots, offsets))
    return _swept(target, target)


def all_factors(problem: Problem) -> Mover:
    """Common parameters and the scales of all factors by a law of `tunamh.groups.joint_law`: here any law at all."""
    target = problem.target
    if not may_move_jointly(target):
        raise LeftOut
    rng = np.random.default_rng(0)
    numbers = numbers_of(target, np.array([target.start(rng) for _ in range(40)]), 2)
    assert numbers is not None
    return Mover.ready(target, ready_jointly(numbers, target.prior_of_common), target)


# ---------------------------------------------------------------------------------------------------------- the tables

OF_COLUMNS: dict[str, Ready] = {
    "as chosen": joint(None, None, None),
    "joint, minibatch": joint(tunamh.MHSS(delayed=False, full_share=_MANY), tunamh.Autoregressive(), 2),
    "joint, all rows": joint(tunamh.MH(), tunamh.Autoregressive(), 2),
    "TunaMH, order 1": joint(tunamh.TunaMH(full_share=_MANY), tunamh.RandomWalk(), 1),
    "factorized, order 2": joint(tunamh.FactorizedMH(), tunamh.RandomWalk(), 2),
    "walk, all rows": joint(tunamh.MH(), tunamh.RandomWalk(), None),
    "walk, TunaMH": joint(tunamh.TunaMH(full_share=_MANY), tunamh.RandomWalk(), None),
    "across modes": across_modes,
    "trajectories": trajectories,
    "FlyMC": firefly,
}
OF_GROUPS: dict[str, Ready] = {
    "sweep": sweep(),
    "sweep, nearer": sweep(rho=0.7),
    "sweep, all rows": sweep(full=True),
    "sweep, one factor by lot": by_lot,
    "sweep, learned law": learned,
    "common move": one_move(_COMMON),
    "groups' own move": one_move(_EFFECTS),
    "scales' move": one_move(_SCALES),
    "move that no row sees": one_move(_MEANS),
    "related levels together": one_move(_TOGETHER),
    "all factors together": all_factors,
    "scales of the prior": one_move(_OF_PRIOR),
}
OF_MIXTURES: dict[str, Ready] = {"scales in turn": scales_in_turn, "scales and coefficients": nested}
OF_SOURCES: dict[str, Ready] = {"gathered rows": gathered}
OF_LEVELS: dict[str, Ready] = {"levels as groups": levels_as_groups}
OF_GROWING: dict[str, Ready] = {"kept rows": kept_rows}


def made_ready(ready: Ready, problem: Problem) -> Mover:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return ready(problem)
        except tunamh.NotApplicable as error:
            raise LeftOut from error


def kernels_for(where: str) -> dict[str, Ready]:
    """The kernels that a structure of `problems.STRUCTURES` is moved by."""
    structure = STRUCTURES[where]
    if structure.factors:
        return OF_GROUPS
    if structure.levels:
        return OF_LEVELS
    if structure.gathered:
        return OF_SOURCES
    if structure.growing:
        return OF_GROWING
    return OF_COLUMNS if structure.prior == "normal" and not structure.curved else OF_MIXTURES
