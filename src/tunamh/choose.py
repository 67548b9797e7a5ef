"""What `sample` does when it is told nothing: the cheapest exact sampler for the target at hand.

For a regression that is a control variate about the mode, proposals from the Laplace law there, and the test whose
steps cost less: a minibatch, or all rows. Costs are counted in rows by shipped constants, never by a stopwatch, so the
same seed gives the same draws on any machine.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ._linear import scaled_eigen
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

FLOOR = 2.0
"""Rows per step at the least (spec 5e, rule 2): a few rows cost less than the step around them."""

_STEP_ROWS = 10.0  # what a step costs besides its rows, in rows: below this, all rows without noise cost no more

_PAIRS = 200  # of Laplace draws, at which the batch is foreseen
_SKEWED = 0.05  # where mode and mean are this share of a draw's distance apart, the mean is the better centre
_FLAT = 1e-11  # a curvature below this share of the largest is rounding


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
        control = Taylor(order=2)
    if control is not None:
        target = control(target)
    if test is None and proposal is None:
        if isinstance(target, GLM):
            return _for_regression(target)
        if isinstance(target, TaylorTarget) and isinstance(target.base, GLM):
            return _for_expansion(target, "as control= says")
        return Choice(target, TunaMH(), target.default_proposal(), "TunaMH with its target's own proposal")
    if test is None:
        test = MHSS(floor=FLOOR, delayed=False) if isinstance(proposal, Autoregressive) else TunaMH()
    return Choice(target, test, target.default_proposal() if proposal is None else proposal, "as you said")


def _for_regression(target: GLM) -> Choice:
    order = _highest_order(target)
    if order == 0:
        test = TunaMH() if np.isfinite(target.total_bound) else MH()
        return Choice(target, test, target.default_proposal(), "the family's second derivative is unbounded")
    mode = find_mode(target)
    unsafe = _why_unsafe(target, mode)
    if unsafe is not None:
        return Choice(target, TunaMH(), target.default_proposal(), unsafe)
    expanded = target.taylor(order, mode.point, mode.expansion, whiten=True, original_bounds=False)
    if np.linalg.norm(expanded.skew) > _SKEWED * np.sqrt(target.dim):
        mean = expanded.reference
        del expanded  # one copy of the rows at a time
        expanded = target.taylor(order, mean, target.expansion(mean), whiten=True, original_bounds=False)
    return _for_expansion(expanded, "about the mode" if expanded.centre is mode.point else "about the mean")


def _for_expansion(target: TaylorTarget, where: str) -> Choice:
    """Laplace proposals, and the test by cost."""
    n_rows, batch = target.n_rows, _foreseen_batch(target)
    expansion = f"Taylor expansion of order {target.order} {where}"
    if target.total_bound == 0.0:
        why = f"{expansion} leaves no remainder: independent draws, and no row is read"
        return Choice(target, MHSS(delayed=False), Autoregressive(rho=0.0, other=0.0), why)
    if max(batch, _STEP_ROWS) < MH_PASS_SHARE * n_rows:
        why = f"{expansion}: about {max(batch, FLOOR):,.0f} of {n_rows:,} rows a step, cheaper than a pass over all"
        return Choice(target, MHSS(floor=FLOOR, delayed=False), Autoregressive(), why)
    why = f"{expansion}: a minibatch would be {batch:,.0f} of {n_rows:,} rows a step, a pass over all costs no more"
    return Choice(target, MH(), Autoregressive(), why)


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


def _why_unsafe(target: GLM, mode: Mode) -> str | None:
    """Why the Laplace law is not to be trusted, if so; raises when a flat prior leaves no posterior at all."""
    scale, values, vectors = scaled_eigen(mode.expansion.hessian + np.diag(target._prior.precision))
    sizes = np.abs(values)
    if mode.runaway is not None:
        what = f"the likelihood rises without end along {_names_along(target, mode.runaway)}: the data are separable"
    elif sizes.min() <= _FLAT * sizes.max():
        along = _names_along(target, vectors[:, sizes.argmin()] / scale)
        what = f"the likelihood does not determine {along}: collinear with others, or all zero"
    elif (values < 0).any():
        return "the Hessian is indefinite where the search for a mode stopped"
    elif not mode.away < max(1.0, 0.1 * np.sqrt(target.dim)):
        return f"the search for a mode stopped {mode.away:.3g} posterior standard deviations before its next point"
    else:
        return None
    if isinstance(target.prior, UserPrior):
        return what  # the user's prior may make up for it, but the Laplace law does not know it
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
