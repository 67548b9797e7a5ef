"""What `sample` does when it is told nothing: the cheapest exact sampler for the target at hand.

For a regression that is a control variate about the mode, proposals from the Laplace law there, and the test whose
steps cost less: a minibatch, or all rows. Costs are counted in rows by shipped constants, never by a stopwatch, so the
same seed gives the same draws on any machine.
"""

from __future__ import annotations

import warnings
from typing import Any, NamedTuple, NoReturn

import numpy as np

from ._linear import SMALLEST_BEND, scaled_eigen
from .acceptance import MH, MHSS, TunaMH
from .control import Taylor
from .data.passes import blocks
from .errors import ImproperPosterior
from .laplace import Mode, find_mode
from .priors import UserPrior
from .proposals import Autoregressive, as_proposal
from .targets.base import Target
from .targets.glm import GLM
from .targets.taylor import TaylorTarget

MH_PASS_SHARE = 0.3
"""A pass of `MH` over all rows costs about this share of as many random rows (benchmarks/rows_per_second.py)."""

_STEP_ROWS = 10.0  # what a step costs besides its rows, in rows: below this, all rows without noise cost no more

_PAIRS = 200  # of Laplace draws, at which the batch is foreseen
_LEAST_WEIGHT = 5.0  # rows per parameter, below which nothing is known of a Laplace law under a flat prior
_OTHER_UNITS = 20.0  # typical residuals this many scales long are residuals in other units
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
    if control is not None:
        target = control(target)
    if test is None and proposal is None:
        if isinstance(target, GLM):
            return _for_regression(target)
        if isinstance(target, TaylorTarget) and isinstance(target.base, GLM):
            return _for_expansion(target, "as control= says")
        return Choice(target, TunaMH(), target.default_proposal(), "TunaMH with its target's own proposal")
    if test is None:
        test = MHSS(delayed=False) if isinstance(proposal, Autoregressive) else TunaMH()
    return Choice(target, test, target.default_proposal() if proposal is None else proposal, "as you said")


def _for_regression(target: GLM) -> Choice:
    order = _highest_order(target)
    if order == 0:
        return _without_expansion(target, "the family's second derivative is unbounded")
    mode = find_mode(target)
    _warn_of_units(target, mode)
    unsafe = _why_unsafe(target, mode)
    if unsafe is not None:
        return _without_expansion(target, unsafe)
    where = "about the mode"
    expanded = target.taylor(order, mode.point, mode.expansion, whiten=True, original_bounds=False)
    if np.linalg.norm(expanded.skew) > _SKEWED * np.sqrt(target.dim):
        where, mean = "about the mean", expanded.reference
        del expanded  # one copy of the rows at a time
        expanded = target.taylor(order, mean, target.expansion(mean), whiten=True, original_bounds=False)
    return _for_expansion(expanded, where)


def _without_expansion(target: GLM, why: str) -> Choice:
    """A random walk; minibatches pay where the posterior knows far fewer rows than there are (spec 5e, rule 4)."""
    tempered = target.weight < 0.25 * target.n_rows and np.isfinite(target.total_bound)
    return Choice(target, TunaMH() if tempered else MH(), target.default_proposal(), f"random walk, since {why}")


def _for_expansion(target: TaylorTarget, where: str) -> Choice:
    """Laplace proposals, and the test by cost."""
    expansion = f"Taylor expansion of order {target.order} {where}"
    if isinstance(target.prior, UserPrior):
        expansion += ", your own prior left out of it"
    if not target.white:
        return Choice(target, MHSS(), target.default_proposal(), f"{expansion}, without whitened distances")
    n_rows, batch = target.n_rows, _foreseen_batch(target)
    if target.total_bound == 0.0:
        why = f"{expansion} leaves no remainder: independent draws, and no row is read"
        return Choice(target, MHSS(delayed=False), Autoregressive(rho=0.0, other=0.0), why)
    if max(batch, _STEP_ROWS) < MH_PASS_SHARE * n_rows:
        why = f"{expansion}: about {_few(batch)} of {n_rows:,} rows a step, cheaper than a pass over all"
        return Choice(target, MHSS(delayed=False), Autoregressive(), why)
    why = f"{expansion}: a minibatch would be {_few(batch)} of {n_rows:,} rows a step, a pass over all costs no more"
    return Choice(target, MH(), Autoregressive(), why)


def _few(batch: float) -> str:
    return f"{batch:.1f}" if batch < 10 else f"{batch:,.0f}"


def _foreseen_batch(target: TaylorTarget) -> float:
    """The mean of ``min(C M, N)`` over pairs of independent draws from the Laplace law."""
    white = target.whitened()
    hyper, distance = white._hyper, white.parts.distance
    pairs = np.random.default_rng(0).standard_normal((_PAIRS, 2, target.dim))
    reaches = [target.total_bound * distance(here, there, hyper) for here, there in pairs]
    return float(np.mean(np.minimum(reaches, target.n_rows)))


def _highest_order(target: GLM) -> int:
    """The highest order of expansion whose remainder is bounded in every row."""
    finite = np.array([True, True, True])
    for block in blocks(target.n_rows):
        suprema = target.family.suprema(target._y[block])
        finite &= [bool(np.isfinite(values).all()) for values in suprema]
    return 2 if finite[2] else 1 if finite[1] else 0


def _warn_of_units(target: GLM, mode: Mode) -> None:
    """A known scale that is far from the residuals makes another model of the data than its owner means."""
    scale = getattr(target.family, "scale", None)
    if scale is None:
        return
    X, y, _ = target._columns(slice(None, None, max(1, target.n_rows // 10_000)))
    typical = float(np.median(np.abs(y - X @ mode.point))) / scale
    if typical > _OTHER_UNITS:
        warnings.warn(
            f"a typical residual is {typical:.3g} times the scale of {target.family!r}, which is taken as known: say "
            f"scale={typical * scale:.2g} or so, or divide X and y by it",
            stacklevel=5,
        )


def _why_unsafe(target: GLM, mode: Mode) -> str | None:
    """Why the Laplace law is not to be trusted, if so; raises when a flat prior leaves no posterior at all."""
    proper = isinstance(target.prior, UserPrior) or target._prior.precision.all()
    precision = mode.expansion.hessian + np.diag(target._prior.precision)
    bend = _flat_direction(precision)
    if mode.runaway is not None:
        what = f"the likelihood rises without end along {_names_along(target, mode.runaway)}: the data are separable"
        return what if proper else _refuse(what)
    if bend is not None:
        same_everywhere = _flat_direction(target.gram() + np.diag(target._prior.precision))
        if same_everywhere is None:
            return f"the likelihood is flat along {_names_along(target, bend)} where the search for a mode stopped"
        along = _names_along(target, same_everywhere)
        what = f"the likelihood does not determine {along}: collinear with others, or all zero"
        return what if proper else _refuse(what)
    if np.linalg.eigvalsh(precision).min() < 0:
        return "the Hessian is indefinite where the search for a mode stopped"
    if not mode.found:
        return f"the search for a mode stopped {mode.away:.3g} posterior standard deviations before its next point"
    if target.weight < _LEAST_WEIGHT * target.dim and not target._prior.precision.all():
        return f"the rows weigh no more than {target.weight:.3g} together, for {target.dim} parameters"
    return None


def _flat_direction(precision: np.ndarray) -> np.ndarray | None:
    """A direction along which ``precision`` vanishes up to rounding, if there is one."""
    scale, values, vectors = scaled_eigen(precision)
    sizes = np.abs(values)
    return vectors[:, sizes.argmin()] / scale if sizes.min() <= SMALLEST_BEND * sizes.max() else None


def _refuse(what: str) -> NoReturn:
    raise ImproperPosterior(
        f"{what}. Under a flat prior there is then no posterior. Give a prior, such as prior=tunamh.Normal(scale=10), "
        "or drop columns."
    )


def _names_along(target: GLM, direction: np.ndarray) -> str:
    """The columns that a direction is made of, in the units of the columns."""
    share = np.abs(direction) * np.sqrt(np.mean(target._columns(slice(0, 10_000))[0] ** 2, axis=0))
    if not share.any():
        share = np.abs(direction)
    leading = [j for j in np.argsort(-share) if share[j] > 0.1 * share.max()]
    named = [target.names[j] for j in sorted(leading[:5])]
    return f"column{'s' * (len(named) > 1)} " + ", ".join(named) + (" and others" if len(leading) > 5 else "")
