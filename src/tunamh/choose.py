"""What `sample` does when it is told nothing: the cheapest exact sampler for the target at hand.

For a regression that is a control variate about the mode, proposals from the Laplace law there, and the test whose
steps cost less: a minibatch, or all rows. Costs are counted in rows by shipped constants, never by a stopwatch, so the
same seed gives the same draws on any machine.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ._arguments import shown
from ._linear import flat_direction
from .acceptance import MH, MHSS, TunaMH
from .control import Taylor
from .data.passes import announce, blocks
from .errors import ImproperPosterior, SeveralModes
from .laplace import Mode
from .modes import AcrossModes
from .proposals import Autoregressive, as_proposal
from .targets.base import Target
from .targets.glm import GLM
from .targets.separation import separating_direction
from .targets.taylor import TaylorTarget

MH_PASS_SHARE = 0.3
"""A pass of `MH` over all rows costs about this share of as many random rows (benchmarks/rows_per_second.py)."""

_STEP_ROWS = 10.0  # what a step costs besides its rows, in rows: below this, all rows without noise cost no more

_PAIRS = 200  # of Laplace draws, at which the batch is foreseen
_LEAST_WEIGHT = 5.0  # rows per parameter, below which nothing is known of a Laplace law under a flat prior
_OTHER_SCALE = 2.0  # typical residuals this many times longer or shorter than the scale are another scale's
_MODES_SHOWN = 4
_NARROW = 10.0  # times narrower than the likelihood: a prior whose tails, if it has any, are far from its peak
_SKEWED = 0.05  # where mode and mean are this share of a draw's distance apart, the mean is the better centre


class Choice(NamedTuple):
    """A target with its control variate, a test, a proposal, and why."""

    target: Target
    test: Any
    proposal: Any
    why: str


def choose(target: Target, test: Any, proposal: Any, control: Any) -> Choice:
    """Fill in what the user left open.

    With a test or a proposal named, the rest is the paper's (`TunaMH`, `RandomWalk`, no control variate), unless the
    proposal is `Autoregressive`, which comes with its own. Otherwise all is chosen.
    """
    proposal = None if proposal is None else as_proposal(proposal)
    if control is None and isinstance(proposal, Autoregressive) and isinstance(target, GLM):
        if not hasattr(test, "prepare"):  # such a test brings an expansion of its own
            control = Taylor(order=max(1, _highest_order(target)))
    warn_of_modes(target)
    if control is not None:
        given, target = target, control(target)
        if not isinstance(target, Target):
            made = f"of {given!r} it made {shown(target)}"
            raise TypeError(f"control must turn a target into a target, as Taylor(order=2) does; {made}.")
    if test is None and proposal is None:
        if isinstance(target, GLM):
            return _for_regression(target)
        if isinstance(target, TaylorTarget) and isinstance(target.base, GLM):
            return _for_expansion(target, "as control= says")
        return Choice(target, TunaMH(), target.default_proposal(), "TunaMH with its target's own proposal")
    if test is None:
        test = MHSS(delayed=False) if isinstance(proposal, Autoregressive) else TunaMH()
    proposal = target.default_proposal() if proposal is None else proposal
    return Choice(target, test, proposal, f"{test!r} with {proposal!r}, as you said")


def _for_regression(target: GLM) -> Choice:
    _refuse_dependent_columns(target)
    mode = target.modes[0]
    if mode.slow:  # only where a proof says so
        _refuse_separated(target)
    warn_of_units(target)
    if len(target.modes) > 1:
        return _across_modes(target)
    _warn_of_narrow_prior(target, mode)
    _warn_of_heavy_prior(target)
    order = _highest_order(target)
    if order == 0:
        return _without_expansion(target, "the family's second derivative is unbounded")
    unsafe = _why_unsafe(target, mode)
    if unsafe is not None:
        _refuse_separated(target)
        return _without_expansion(target, unsafe)
    where = "the mode"
    expanded = target.taylor(order, mode.point, mode.expansion, whiten=True, original_bounds=False)
    if not _proved_proper(target, expanded, mode.away):
        _refuse_separated(target)
    if np.linalg.norm(expanded.skew) > _SKEWED * np.sqrt(target.dim):
        where, mean = "the mean", expanded.reference
        del expanded  # one copy of the rows at a time
        expanded = target.taylor(order, mean, target.expansion(mean), whiten=True, original_bounds=False)
    return _for_expansion(expanded, where)


def _proved_proper(target: GLM, expanded: TaylorTarget, away: float) -> bool:
    """Whether the energy is higher than at the centre all around it, so that a convex one rises in every direction.

    At a distance ``r`` (in posterior standard deviations) within the trust radius it is higher by at least
    ``-away r + r^2/2 - C r^3/6``, C the sum of the bounds of order 2; at ``r = 4 away`` that is positive if
    ``8/3 C away < 1``. Where ``|f'''| <= f''``, ``away max_i |L'x_i| < 1`` will do (spec 5i). On separated data
    Newton's steps shrink so that neither product ever becomes small.
    """
    if target._prior.proper:
        return True
    if getattr(target.family, "self_concordant", False) and expanded.longest * away < 1:
        return True
    near_enough = 16 * away**2 <= expanded.trust.radius_squared
    return expanded.order == 2 and near_enough and 8 / 3 * expanded.total_bound * away < 1


def _across_modes(target: GLM) -> Choice:
    """Several modes: proposals from the mixture of their Laplace laws, decided on all rows."""
    proposal = AcrossModes.of(target.modes)
    return Choice(
        target,
        MH(),
        proposal,
        f"the posterior has {len(target.modes)} modes, and proposals are drawn from Gaussian approximations about each "
        f"of them and by a random walk; each step reads all {target.n_rows:,} rows",
    )


def _without_expansion(target: GLM, why: str) -> Choice:
    """No expansion to rely on; minibatches pay where the posterior knows far fewer rows than there are (spec 5e)."""
    if target.effective_rows < 0.25 * target.n_rows and np.isfinite(target.total_bound):
        return Choice(target, TunaMH(), target.default_proposal(), f"a random walk on minibatches, since {why}")
    mode = target.modes[0]
    if np.isfinite(mode.posterior.energy) and mode.posterior.metric().positive_definite:
        said = f"Student-t proposals about the mode and a random walk, each checked on all rows, since {why}"
        return Choice(target, MH(), AcrossModes.of([mode]), said)
    return Choice(target, MH(), target.default_proposal(), f"a random walk on all rows, since {why}")


def _for_expansion(target: TaylorTarget, where: str) -> Choice:
    """Laplace proposals, and the test by cost."""
    approximation = f"proposals from a Gaussian approximation about {where}"
    if not target.white:
        why = f"a random walk on an expansion of order {target.order}, without whitened distances"
        return Choice(target, MHSS(), target.default_proposal(), why)
    n_rows, batch = target.n_rows, _foreseen_batch(target)
    if target.total_bound == 0.0 and target._prior.gaussian:
        why = "the posterior is Gaussian: independent draws, and no row is read"
        return Choice(target, MHSS(delayed=False), Autoregressive(rho=0.0, robust_share=0.0), why)
    if max(batch, _STEP_ROWS) < MH_PASS_SHARE * n_rows or target.total_bound == 0.0:
        why = f"{approximation}, each checked on {_few(batch)} of {n_rows:,} rows"
        return Choice(target, MHSS(delayed=False), Autoregressive(), why)
    why = f"{approximation}, each checked on all {n_rows:,} rows: a minibatch of {_few(batch)} would cost no less"
    return Choice(target, MH(), Autoregressive(), why)


def _few(batch: float) -> str:
    if batch < 0.1:
        return "less than 0.1"
    return f"about {batch:.1f}" if batch < 10 else f"about {batch:,.0f}"


def _foreseen_batch(target: TaylorTarget) -> float:
    """The mean of ``min(C M, N)`` over pairs of independent draws from the Laplace law."""
    white = target.whitened()
    hyper, distance = white._hyper, white.parts.distance
    pairs = np.random.default_rng(0).standard_normal((_PAIRS, 2, target.dim))
    move_bounds = [target.total_bound * distance(here, there, hyper) for here, there in pairs]
    return float(np.mean(np.minimum(move_bounds, target.n_rows)))


def _highest_order(target: GLM) -> int:
    """The highest order of expansion whose remainder is bounded in every row."""
    finite = np.array([True, True, True])
    for block in blocks(target.n_rows):
        suprema = target.family.suprema(target._y[block])
        finite &= [bool(np.isfinite(values).all()) for values in suprema]
    return 2 if finite[2] else 1 if finite[1] else 0


_TYPICAL = 0.6745  # the median of the absolute value of a standard normal


def warn_of_units(target: GLM) -> None:
    """A known scale that is far from the residuals makes another model of the data than its owner means."""
    scale = getattr(target.family, "scale", None)
    if scale is None:
        return
    X, y, _ = target._columns(slice(None, None, max(1, target.n_rows // 10_000)))
    residuals = y - X.dot(target.modes[0].point)
    if len(y) <= 2 * target.dim or not np.isfinite(residuals).all():
        return
    typical = float(np.median(np.abs(residuals))) / _TYPICAL
    if getattr(target.family, "squared", False):
        typical = float(np.sqrt(np.mean(residuals**2) * len(y) / (len(y) - target.dim)))
    ratio = typical / scale
    if ratio > _OTHER_SCALE or (0 < ratio < 1 / _OTHER_SCALE):
        off = f"{ratio:.3g} times" if ratio > 1 else f"1/{1 / ratio:.3g} of"
        warnings.warn(
            f"a typical residual is {typical:.3g}, {off} the scale of {target.family!r}, which is taken as known: "
            f"standard deviations will be too {'small' if ratio > 1 else 'large'}. Say scale={typical:.2g} or so, or "
            "divide X and y by it.",
            stacklevel=5,
        )


def _warn_of_narrow_prior(target: GLM, mode: Mode) -> None:
    """A peak of the prior far narrower than the likelihood: its tails are rarely visited, and may be missed."""
    if target._prior.gaussian or not mode.found:
        return
    data, both = np.diag(mode.expansion.plain_hessian), np.diag(mode.posterior.plain_hessian)
    narrow = [target.names[j] for j in np.flatnonzero((data > 0) & (both > _NARROW**2 * data))]
    if narrow:
        warnings.warn(
            f"the prior is more than {_NARROW:g} times narrower than the likelihood for {_listed(narrow)}: if it has "
            "heavy tails, they are visited rarely and these draws may miss them. Compare with "
            "sample(target, test=tunamh.MH(), thin=20), or take a wider prior.",
            stacklevel=5,
        )


def _warn_of_heavy_prior(target: GLM) -> None:
    """Data that are separable along coefficients with heavy-tailed priors: nothing else holds these back."""
    heavy = target._prior.heavy
    if not heavy.any():
        return
    moved = heavy | target._prior.flat
    part = target.on_columns(moved)
    direction = separating_direction(part)
    if direction is not None:
        warnings.warn(
            f"the data are separable along {_names_along(part, direction)}, and only a prior without a variance holds "
            "the posterior there: its tails are so heavy that chains hardly reach them, and with flat coefficients "
            "beside it there may be no posterior at all. Take a Normal, a Laplace or a StudentT prior with df above 2.",
            stacklevel=5,
        )


def warn_of_modes(target: Target) -> None:
    """Say loudly that a posterior has several modes, where they are and what each holds, whatever the sampler."""
    modes = target.modes if isinstance(target, GLM) and not target.convex else []
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
        "sample(target) proposes moves between them; a test or a proposal of your own may not. Several modes mean "
        "that the model does not fit: look at the residuals, and at the family's scale.",
        SeveralModes,
        stacklevel=4,
    )


def _why_unsafe(target: GLM, mode: Mode) -> str | None:
    """Why the Laplace law is not to be trusted, if so."""
    prior, along = target._prior, flat_direction(mode.posterior.hessian)
    if not np.isfinite(mode.posterior.energy):
        return "no point was found at which the prior and all energies are finite"
    if along is not None:
        frame = mode.posterior.frame
        along = along if frame is None else frame.columns @ along
        return f"the likelihood is flat along {_names_along(target, along)} where the search for a mode stopped"
    if not mode.posterior.metric().positive_definite:
        return "the Hessian is indefinite where the search for a mode stopped"
    if not mode.found:
        return f"the search for a mode stopped {mode.away:.3g} posterior standard deviations before its next point"
    if target.effective_rows < _LEAST_WEIGHT * target.dim and not prior.proper:
        return f"the rows weigh no more than {target.effective_rows:.3g} together, for {target.dim} parameters"
    return None


def _refuse_dependent_columns(target: GLM) -> None:
    """Under a flat prior: name every group of columns that depend on each other."""
    if target._prior.proper:
        return
    groups = target.dependent_columns()
    if not groups:
        return
    said = []
    for group in groups:
        names = [target.names[j] for j in group]
        if len(group) == 1:
            said.append(f"column {names[0]} is zero in every row")
        else:
            said.append(f"columns {_listed(names)} are collinear: one of them is a combination of the others")
    _refuse("; ".join(said))


def _refuse_separated(target: GLM) -> None:
    """Under a flat prior: name the columns along which the likelihood never falls."""
    if target._prior.proper:
        return
    announce("looking for separated data")
    direction = separating_direction(target)
    if direction is not None:
        along = _names_along(target, direction)
        _refuse(
            f"the likelihood rises without end along {along}: the data are separable there, one side of it holding "
            "a single class or no counts"
        )


def _refuse(what: str) -> NoReturn:
    raise ImproperPosterior(
        f"{what}. Under a flat prior there is then no posterior. Give a prior, such as prior=tunamh.Normal(scale=10), "
        "or drop columns."
    )


def _names_along(target: GLM, direction: np.ndarray) -> str:
    """The columns that a direction is made of, in the units of the columns."""
    squares = target._sums(lambda X, y, weight: (X.squares(weight > 0),))[0]
    share = np.abs(direction) * np.sqrt(squares)
    if not share.any():
        share = np.abs(direction)
    leading = sorted(j for j in np.argsort(-share) if share[j] > 0.1 * share.max())
    named = [target.names[j] for j in leading]
    return f"column{'s' * (len(named) > 1)} {_listed(named)}"


def _listed(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} others" if len(names) > 5 else "")
