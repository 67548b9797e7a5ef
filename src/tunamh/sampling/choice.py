"""What `sample` does when it is told nothing: the cheapest exact sampler for the target at hand.

For a regression that is a control variate about the mode, proposals from the Laplace law there, and the test whose
steps cost less: a minibatch, or all rows. Costs are counted in rows by shipped constants, never by a stopwatch, so the
same seed gives the same draws on any machine.
"""

from __future__ import annotations

import warnings
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from .._arguments import shown
from ..acceptance import MH, MHSS, TunaMH
from ..capabilities import Examined, Kept, Preparing, Repeating, Whitenable, offers
from ..chains.gibbs_scales import GibbsScales
from ..chains.in_turn import InTurn
from ..chains.kernel import Kernel
from ..chains.metropolis import MetropolisHastings
from ..errors import NotApplicable, SeveralModes
from ..groups.levels import as_groups, costly_levels, may_have_groups
from ..groups.trial_sweeps import foreseen_rows
from ..proposals import Autoregressive, as_proposal
from ..proposals.across_modes import AcrossModes
from ..proposals.nested import Nested
from ..rows.gathered_rows import FIRST_ROWS
from ..targets.base import Target
from ..targets.checks.equal_responses import refuse_equal_responses
from ..targets.checks.properness import ExaminedTarget, refuse_dependent_columns, refuse_separated, why_unsafe
from ..targets.expansion.control import Taylor
from ..targets.expansion.taylor import TaylorTarget
from ..targets.scale_mixtures.known_error import GivenScales, GivenScalesTarget
from ..targets.scale_mixtures.nested import NestedTarget, about_own_scales, may_be_nested
from ..trajectories.target import HamiltonianRegression, may_have_trajectories

MH_PASS_SHARE = 0.3
"""A pass of `MH` over all rows costs about this share of as many random rows (benchmarks/rows_per_second.py)."""

MAP_ROWS = 10.0
"""A map over rows that are not in memory costs about this many random rows in memory for each of its own.

Some 1 microsecond, mostly to bound and pack the row again, where a drawn row takes 0.1 (benchmarks/rows_from_disk.py).
"""

_STEP_ROWS = 10.0  # what a step costs besides its rows, in rows: below this, all rows without noise cost no more

_LEVELS_FROM, _LEVELS_GAIN = 40.0, 1.5  # rows of a joint step, from which levels are looked at; what groups must save
_GROUP_ROWS = 10.0  # what a group costs in a sweep besides its rows, in rows
_PAIRS = 200  # of Laplace draws, at which the batch is foreseen
_MODES_SHOWN = 4
_DIM_OF_TRAJECTORIES, _FAR = 20, 4.0  # parameters, and spread of the Laplace law's log weights, from which these pay
_DRAWS_FORESEEN = 32
_ROWS_EACH = 2.0
_RARELY = 0.25  # of independent proposals of scales and coefficients are accepted: then these are drawn in turn
_SKEWED = 0.05  # where mode and mean are this share of a draw's distance apart, the mean is the better centre


class Choice(NamedTuple):
    """The result of the choice: a target with its control variate, a kernel, and the reason in words."""

    target: Target
    kernel: Kernel
    why: str

    @property
    def moves(self) -> MetropolisHastings | None:
        """Return the kernel that proposes and tests, alone or in turn with others; None if there is none."""
        kernels = self.kernel.kernels if isinstance(self.kernel, InTurn) else (self.kernel,)
        return next((one for one in kernels if isinstance(one, MetropolisHastings)), None)

    @property
    def test(self) -> Any:
        """Return the acceptance test of the kernel, or None if it has none."""
        return None if self.moves is None else self.moves.test

    @property
    def proposal(self) -> Any:
        """Return the proposal of the kernel, or None if it has none."""
        return None if self.moves is None else self.moves.proposal


def choose(
    target: Target, test: Any, proposal: Any, control: Any, kernel: Kernel | None = None, *, frames: int = 0
) -> Choice:
    """Choose everything that the user left open.

    If the user names a test or a proposal, the rest is that of the TunaMH paper (`TunaMH`, `RandomWalk`, no control
    variate), except for the proposal `Autoregressive`, which has its own test and control variate. Otherwise everything
    is chosen. Warnings point to the line of the user's code: the line that called the caller of this function, or
    ``frames`` calls further out.
    """
    if isinstance(kernel, MetropolisHastings):
        test, proposal, kernel = kernel.test, kernel.proposal, None
        test = TunaMH() if test is None and proposal is None else test
    proposal = None if proposal is None else as_proposal(proposal)
    if control is None and isinstance(proposal, Autoregressive) and offers(target, Examined):
        if not offers(test, Preparing):  # such a test brings an expansion of its own
            control = Taylor(order=max(1, target.highest_order()))
    if test is None and proposal is None and control is None and kernel is None and offers(target, Repeating):
        found = target.distinct()
        if found is not None:
            chosen = choose(found, None, None, None, frames=frames + 1)
            how = f"{target.n_rows:,} rows have {found.n_rows:,} different ones, weighted by their numbers of copies"
            return chosen._replace(why=f"{how}; {chosen.why}")
    warn_of_modes(target, frames)
    if control is not None:
        made: Any = control(target)
        if not isinstance(made, Target):
            told = f"of {target!r} it made {shown(made)}"
            raise TypeError(f"control must turn a target into a target, as Taylor(order=2) does; {told}.")
        target = made
    own = target.own_kernel()
    if own is not None:
        if test is not None or proposal is not None:
            raise NotApplicable("a model with group effects has its own sampler: leave test= and proposal= out.")
        if kernel is not None and type(kernel) is not type(own):
            raise NotApplicable(f"this target works only with the kernel {own!r}, got kernel={kernel!r}.")
        _refuse_improper_columns(target.base)  # type: ignore[attr-defined]
        return Choice(target, own if kernel is None else kernel, target.why_own_kernel())
    if kernel is not None:
        return Choice(target, kernel, f"{kernel!r}, as you have set")
    if test is None and proposal is None:
        if offers(target, Examined):
            return _for_regression(target, frames)
        if offers(target, Whitenable) and offers(target.base, Examined):
            return _for_expansion(target, "the centre of control=")
        return _joint(target, TunaMH(), target.default_proposal(), "TunaMH with its target's own proposal")
    if test is None:
        test = MHSS(delayed=False) if isinstance(proposal, Autoregressive) else TunaMH()
    proposal = target.default_proposal() if proposal is None else proposal
    return _joint(target, test, proposal, f"{test!r} with {proposal!r}, as you have set")


def _joint(target: Target, test: Any, proposal: Any, why: str) -> Choice:
    return Choice(target, MetropolisHastings(proposal, test), why)


def _for_regression(target: ExaminedTarget, frames: int) -> Choice:
    if offers(target, Kept) and target.kept is not None:
        return _for_kept(target)
    chosen = _for_rows(target, frames + 1)
    if offers(target, Kept) and target.set_up_told is not None:
        return chosen._replace(why=f"{target.set_up_told}; {chosen.why}")
    return chosen


def _for_rows(target: ExaminedTarget, frames: int) -> Choice:
    """From rows of which nothing is known yet."""
    refuse_equal_responses(target)
    _refuse_improper_columns(target)
    mode = target.modes[0]
    for doubt in target.model_warnings():
        warnings.warn(doubt, stacklevel=4 + frames)
    if len(target.modes) > 1:
        return _across_modes(target)
    if target.mixed_prior is not None:
        return _nested(target.mixed_prior) or _given_scales(target.mixed_prior)
    order = target.highest_order()
    if order == 0:
        return _without_expansion(target, "the family's second derivative is unbounded")
    unsafe = why_unsafe(target, mode)
    if unsafe is not None:
        refuse_separated(target)
        return _without_expansion(target, unsafe)
    try:
        expanded, where = expanded_about_mode(target, order)
        batch = _foreseen_batch(expanded)
        cheaper = _with_levels(target, expanded, batch) or _by_trajectories(target, batch)
        return cheaper or _for_expansion(expanded, where, batch)
    except NotApplicable as unbounded:
        refuse_separated(target)
        return _without_expansion(target, str(unbounded))


def _for_kept(target: Any) -> Choice:
    """The expansion and the rows that were kept of an earlier set-up: nothing is read."""
    unsafe = why_unsafe(target, target.kept.mode._replace(away=0.0))  # it need not be at the mode
    if unsafe is not None:
        raise NotApplicable(f"{unsafe}: set a prior, or open the rows without cache=.")
    expanded = target.kept.expanded._with(base=target)
    if not target.proved_proper(expanded, target.kept.mode.away):
        refuse_separated(target)
    chosen = _for_expansion(expanded, "the kept sums")
    return chosen._replace(why=f"{target.kept.told}; {chosen.why}")


def _refuse_improper_columns(target: ExaminedTarget) -> None:
    """Columns that leave no posterior under their prior leave none beside group effects, which have a proper one.

    Energies of several predictors are not convex: what is known at their mode proves nothing, so that rows are asked.
    """
    refuse_dependent_columns(target)
    if (target.predictors > 1 and not target.convex) or target.modes[0].slow:  # only where a proof says so
        refuse_separated(target)


def expanded_about_mode(target: ExaminedTarget, order: int) -> tuple[TaylorTarget, str]:
    """Return the target expanded about its mode, or about its mean if these are far apart; and which one it was."""
    mode = target.modes[0]
    expanded = target.taylor(order, mode.point, mode.expansion, whiten=True, original_bounds=False)
    if not target.proved_proper(expanded, mode.away):
        refuse_separated(target)
    if np.linalg.norm(expanded.skew) <= _SKEWED * np.sqrt(target.dim):
        return expanded, "the mode"
    mean = expanded.reference
    del expanded  # one copy of the rows at a time
    return target.taylor(order, mean, target.expansion(mean), whiten=True, original_bounds=False), "the mean"


def _with_levels(target: ExaminedTarget, expanded: TaylorTarget, batch: float) -> Choice | None:
    """Thin and pure levels as groups, where these cost most and groups cost less; else None."""
    if expanded.order < 2 or batch < _LEVELS_FROM or not may_have_groups(target):
        return None
    costly = costly_levels(target, expanded)
    leveled = as_groups(target, costly)
    if leveled is None:
        return None
    rows, groups = foreseen_rows(leveled, batch), sum(one.groups for one in leveled.groupings)
    if _LEVELS_GAIN * (rows + _STEP_ROWS + _GROUP_ROWS * groups) > batch:
        return None
    named = ", ".join(
        f"{target.names[j]} ({share:.0%})" for j, share in zip(costly.columns[:3], costly.shares, strict=False)
    )
    more = "" if len(costly.columns) <= 3 else f" and {len(costly.columns) - 3} more"
    why = (
        f"a step that moves all parameters would read {_few(batch)} of {target.n_rows:,} rows, because some levels "
        f"have few rows or one class ({named}{more}); with these levels treated as groups, a sweep over the groups "
        f"reads {_few(rows)}"
    )
    return Choice(leveled, leveled.own_kernel(), why)


def _by_trajectories(target: ExaminedTarget, batch: float) -> Choice | None:
    """Hamiltonian trajectories, where a step would read all rows and hardly be accepted; else None."""
    if target.dim < _DIM_OF_TRAJECTORIES or batch < MH_PASS_SHARE * target.n_rows:
        return None
    if not may_have_trajectories(target):
        return None
    spread = _spread_of_weights(target)
    if spread < _FAR:
        return None
    swept = HamiltonianRegression(target)
    how = swept.why_own_kernel()
    weights = f"log weights of draws from Laplace's approximation have standard deviation {spread:.1f}"
    why = f"{how}, because the posterior is far from Gaussian ({weights})"
    return Choice(swept, swept.own_kernel(), why)


def _spread_of_weights(target: ExaminedTarget) -> float:
    """The standard deviation of ``log pi - log q`` over draws from the Laplace law ``q``: one pass.

    Independent draws make .3 effective ones each where it is 1.6, .07 where it is 3 and .008 where it is 4.6 (logistic,
    20 to 100 columns); a trajectory makes .1 to .5 and costs as much as some fifteen steps on all rows.
    """
    mode = target.modes[0]
    z = np.random.default_rng(1).standard_normal((_DRAWS_FORESEEN, target.dim))
    energies = target.energies_at(mode.point + z @ mode.posterior.metric().factor.T)
    log_weights = 0.5 * np.einsum("ij,ij->i", z, z) - energies
    return float(np.std(log_weights)) if np.isfinite(log_weights).all() else np.inf


def _given_scales(target: ExaminedTarget) -> Choice:
    """A prior that is Gaussian given scales: these and the coefficients in turn (spec 5o)."""
    mode = target.modes[0]
    unsafe = why_unsafe(target, mode)
    if unsafe is not None:
        refuse_separated(target)
    expanded = target.taylor(2, mode.point, mode.expansion, whiten=True, original_bounds=False)
    test, rows = _cheaper_test(expanded, _foreseen_batch(expanded))
    why = f"the coefficients and the scales of the prior are drawn in turn, each step checked on {rows}"
    return Choice(GivenScalesTarget(expanded), InTurn(GibbsScales(), MetropolisHastings(GivenScales(), test)), why)


def _nested(target: ExaminedTarget) -> Choice | None:
    """A prior with a few scales: these and the coefficients in one step (spec 5u); None where that is not offered."""
    mode = target.modes[0]
    if not may_be_nested(target) or (why_unsafe(target, mode) is not None and not mode.beside_saddle):
        return None  # beside a saddle, the centre under the scales' own widths may be a mode
    if target.effective_rows < _ROWS_EACH * target.dim:  # the quadratic knows nothing of large scales
        return None
    try:
        target, centre, expansion = about_own_scales(target, mode.point, mode.expansion)
        expanded = target.taylor(2, centre, expansion, whiten=True, original_bounds=False)
        own = NestedTarget(expanded)
    except NotApplicable:
        return None
    if own.foreseen_acceptance(target) < _RARELY:
        return None
    test, rows = _cheaper_test(expanded, _foreseen_batch(expanded))
    why = f"the coefficients and the scales of the prior are proposed together, each step checked on {rows}"
    return Choice(own, InTurn(GibbsScales(), MetropolisHastings(Nested(), test)), why)


def _across_modes(target: ExaminedTarget) -> Choice:
    """Several modes: proposals from the mixture of their Laplace laws, decided on all rows."""
    if target._prior.mixture is not None:
        raise NotApplicable(
            f"the posterior has {len(target.modes)} modes, and under a prior with unknown scales (curves, Ridge, "
            "Grouped, Horseshoe) chains do not move between modes: give priors that tell them apart, or curves without "
            "an unknown scale, bs(x, df)."
        )
    proposal = AcrossModes.of(target.modes)
    return _joint(
        target,
        MH(),
        proposal,
        f"the posterior has {len(target.modes)} modes, and proposals come from Gaussian approximations around each "
        f"of them and from a random walk; each step reads {_all_rows(target)}",
    )


def _without_expansion(target: ExaminedTarget, why: str) -> Choice:
    """No expansion to rely on; minibatches pay where the posterior knows far fewer rows than there are (spec 5e)."""
    if target.effective_rows < 0.25 * target.n_rows and np.isfinite(target.total_bound):
        return _joint(target, TunaMH(), target.default_proposal(), f"a random walk on minibatches, because {why}")
    mode = target.modes[0]
    finite = np.isfinite(mode.posterior.energy) and np.isfinite(mode.posterior.hessian).all()
    if finite and mode.posterior.metric().positive_definite:
        said = (
            f"Student-t proposals around the mode and a random walk, each decided on {_all_rows(target)}, because {why}"
        )
        return _joint(target, MH(), AcrossModes.of([mode]), said)
    return _joint(target, MH(), target.default_proposal(), f"a random walk on {_all_rows(target)}, because {why}")


def _for_expansion(target: TaylorTarget, where: str, batch: float | None = None) -> Choice:
    """Laplace proposals, and the test by cost; ``batch`` is what a minibatch would read, where that is known."""
    approximation = f"proposals from a Gaussian approximation around {where}"
    if not target.white:
        why = f"a random walk with a Taylor expansion of order {target.order} and Euclidean distances"
        return _joint(target, MHSS(), target.default_proposal(), why)
    if target.total_bound == 0.0 and target._prior.gaussian:
        why = "the posterior is Gaussian: independent draws, and no row is read"
        return _joint(target, MHSS(delayed=False), Autoregressive(rho=0.0, robust_share=0.0), why)
    test, rows = _cheaper_test(target, _foreseen_batch(target) if batch is None else batch)
    return _joint(target, test, Autoregressive(), f"{approximation}, each checked on {rows}")


def _cheaper_test(target: TaylorTarget, batch: float) -> tuple[Any, str]:
    """A minibatch or all rows, whichever a step costs less with, and which rows that are."""
    by_maps = target.gathered is not None and target.gathered.by_maps
    if by_maps and target.total_bound > 0.0:
        return _cheaper_by_maps(target, batch)
    n_rows = target.n_rows
    if max(batch, _STEP_ROWS) < MH_PASS_SHARE * n_rows or target.total_bound == 0.0:
        return MHSS(delayed=False), f"{_few(batch)} of {n_rows:,} rows"
    return MH(), f"all {n_rows:,} rows: a minibatch of {_few(batch)} would not be cheaper"


def _cheaper_by_maps(target: TaylorTarget, batch: float) -> tuple[Any, str]:
    """The same of rows that are not in memory, where maps are what costs: a step takes its share of one, or all of it.

    One map gathers some `FIRST_ROWS` rows for every chain, so that a move that asks for more is checked on all rows.
    More are gathered where there is memory for them, which the choice must not depend on.
    """
    n_rows = target.n_rows
    test = MHSS(delayed=False)
    test = replace(test, full_share=min(test.full_share, FIRST_ROWS / n_rows))
    bounds = _foreseen_bounds(target)
    gathered = bounds < test.full_share * n_rows
    rows = float(np.mean(np.where(gathered, bounds, 0.0)))
    maps = rows / FIRST_ROWS + float(np.mean(~gathered))
    if rows + MAP_ROWS * n_rows * maps < MAP_ROWS * n_rows:
        every = f"about one pass in {_rounded(1 / maps)} steps" if maps < 0.5 else "one pass in most steps"
        return test, f"{_few(batch)} of {n_rows:,} rows, which passes over all rows gather, {every}"
    return MH(), f"{_all_rows(target)}: a minibatch of {_few(batch)} would not be cheaper"


def _all_rows(target: Target) -> str:
    by_map = ", by a pass over them, because they are not in memory" if target.gathered is not None else ""
    return f"all {target.n_rows:,} rows{by_map}"


def _rounded(number: float) -> str:
    """Two digits of a large number."""
    return f"{float(f'{number:.2g}'):,.0f}"


def _few(batch: float) -> str:
    if batch < 0.1:
        return "less than 0.1"
    return f"about {batch:.1f}" if batch < 10 else f"about {batch:,.0f}"


def _foreseen_batch(target: TaylorTarget) -> float:
    """The mean of ``min(C M, N)`` over pairs of independent draws from the Laplace law."""
    return float(np.mean(np.minimum(_foreseen_bounds(target), target.n_rows)))


def _foreseen_bounds(target: TaylorTarget) -> np.ndarray:
    """``C M`` of pairs of independent draws from the Laplace law."""
    white = target.whitened()
    hyper, distance = white._hyper, white.parts.distance
    pairs = np.random.default_rng(0).standard_normal((_PAIRS, 2, target.dim))
    return np.array([target.total_bound * distance(here, there, hyper) for here, there in pairs])


def warn_of_modes(target: Target, frames: int) -> None:
    """Warn that a posterior has several modes: where they are, and the share of each. It does so for every sampler."""
    modes = target.modes if offers(target, Examined) and not target.convex else []
    if len(modes) < 2:
        return
    mass = np.exp(np.array([mode.log_mass for mode in modes]) - modes[0].log_mass)
    shown = [
        f"{np.array2string(mode.point, precision=4, threshold=6, edgeitems=3)} with about {share:.2g} of the posterior"
        for mode, share in zip(modes[:_MODES_SHOWN], mass / mass.sum(), strict=False)
    ]
    more = "" if len(modes) <= _MODES_SHOWN else f"; and {len(modes) - _MODES_SHOWN} more"
    warnings.warn(
        f"the posterior has {len(modes)} modes: {'; '.join(shown)}{more}. Chains start in all of them in turn. "
        "sample(target) proposes moves between them; your own test or proposal may not. "
        f"{target.several_modes_mean}",
        SeveralModes,
        stacklevel=4 + frames,
    )
