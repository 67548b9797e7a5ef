"""Times to event whose hazard is constant in pieces of time: Cox' model with a baseline that is sampled, too."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np

from ..._arguments import moderate_number, settle, shown, whole_number
from ...errors import ImproperPosterior, NotApplicable
from ...priors import RandomWalk
from ...priors.default import Columns, intercept_prior
from ...priors.independent import IndependentPrior
from ...priors.laws import FLAT, Laws
from ...rows.source import Rows
from ..coordinates.base import Form
from ..coordinates.steps import Hazards, Walk
from ..designs.indexed import IndexedBlock
from ..designs.with_offset import BlockWithOffset
from ..observations.base import Observations
from ..observations.observed import InMemory
from ..observations.row_layout import Extra, RowLayout, column_names
from ..observations.split_times import SplitRows, events_per_time
from .base import BaseFamily, Responses
from .links import LOG
from .poisson import Poisson
from .response_checks import check_positive
from .responses import Parameters, ResponseDistribution

_PIECES = 10
_MOST_PIECES = 2000


@dataclass(frozen=True)
class PiecewiseExponential(BaseFamily):
    """Regression of times to event. In piece ``j`` of time the hazard is ``e^{a_j + x.theta}`` (proportional hazards).

    ``x`` are the columns of a row, and ``theta`` are the coefficients. The log hazards ``a_j`` replace the intercept,
    so do not include a column of ones. Three arguments of `GLM` describe the times: ``event=`` (a time can be
    right-censored), ``entry=`` (the observation of a row can begin after time 0) and ``strata=`` (each stratum has its
    own log hazards). With many pieces and a flat prior of the log hazards, the coefficients have the posterior that
    Cox's partial likelihood gives.

    Parameters
    ----------
    pieces : int or sequence
        A number: the number of pieces. tunamh then chooses the pieces so that all of them have about the same number of
        events (there are fewer pieces if many events have the same time). A sequence, such as ``[30, 90, 365]``: the
        times at which a new piece begins.
    log_hazard : optional
        The prior of the log hazards. Default: ``priors.RandomWalk(1)``. Then each log hazard is normal around the log
        hazard before it, with standard deviation 1. The first log hazard of each stratum is normal around the logarithm
        of events per time, with the standard deviation of the default prior of an intercept. ``tunamh.Flat()`` means no
        prior. Another independent prior, such as ``tunamh.Normal(mean=-5, scale=2)``, is the prior of every log hazard.

    Examples
    --------
    >>> tunamh.GLM(X, time, tunamh.PiecewiseExponential(pieces=[30, 90, 365]), event=died)
    """

    pieces: Any = _PIECES
    log_hazard: Any = None

    responses = Responses.POSITIVE
    word = "piecewise-exponential"
    link = LOG
    parameters = ("log_hazard",)
    takes_censoring = True
    takes_entry = True
    takes_strata = True
    hazards_alone = True
    own_intercepts = True
    real_parameters = ("log_hazard",)

    def __post_init__(self) -> None:
        settle(self, pieces=_checked_pieces(self.pieces))
        prior = self.log_hazard
        if prior is not None and (isinstance(prior, type) or not isinstance(prior, IndependentPrior | RandomWalk)):
            raise TypeError(
                "log_hazard must be a prior such as tunamh.priors.RandomWalk(0.5) or tunamh.Flat(), got "
                f"{shown(prior)}."
            )

    def check(self, y: np.ndarray) -> None:
        check_positive(y)

    def settled(self, observations: Observations) -> PiecewiseExponential:
        """Return the family with fixed change points: the times at which a new piece begins.

        If the user did not set these times, they are chosen so that all pieces have about the same number of events.
        """
        rows = _at_hand(observations)
        if rows.censored is not None and (rows.censored < 0).any():
            row = int(np.argmax(rows.censored < 0))
            raise NotApplicable(
                f"PiecewiseExponential does not take left-censored times (row {row}): the likelihood of such a row "
                f"is not a product over the pieces. Take tunamh.Weibull(), or one row for each visit with "
                f"family=tunamh.Cloglog() and "
                "offset(log(time since the last visit)), which is this model for times between visits."
            )
        happened = np.ones(rows.n_rows, bool) if rows.censored is None else rows.censored == 0
        weights = np.ones(rows.n_rows) if rows.weights is None else rows.weights
        counts = happened & (weights > 0)
        if not counts.any():
            raise ValueError(
                f"none of the {rows.n_rows:,} rows has an event, so the data say nothing about the hazard: event "
                f"must be 1 (or True) if the event happened."
            )
        if isinstance(self.pieces, tuple):
            return self
        return replace(self, pieces=cuts_of(rows.y[counts], weights[counts], self.pieces))

    def arrange(self, observations: Observations, temper: float) -> RowLayout:
        family = self.settled(observations)
        rows, inner = _at_hand(observations), np.array(family.pieces, dtype=np.float64)
        strata = (None,) if rows.strata is None else rows.strata.levels
        split, names = SplitRows(rows, inner, len(strata)), column_names(observations)
        labels = hazard_names(inner, strata)
        form, laws = self._prior_of(rows, len(names), len(strata), len(inner) + 1)
        if (laws.kind == FLAT).any() and not isinstance(form, Walk):
            refuse_without_events(rows, inner, labels)
        start = np.concatenate([np.zeros(len(names)), np.full(len(labels), np.log(events_per_time(rows)))])
        return RowLayout(split, Poisson(), names, form, (Extra("log_hazard", labels),), (laws,), start)

    def _prior_of(self, rows: InMemory, dim: int, strata: int, pieces: int) -> tuple[Form, Laws]:
        """The form, and the laws of all log hazards."""
        prior = RandomWalk() if self.log_hazard is None else self.log_hazard
        if isinstance(prior, IndependentPrior):
            return Hazards(dim, strata * pieces), prior.laws(strata * pieces)
        first = (default_start(rows) if prior.start is None else prior.start).laws(1)
        others = Laws(*(np.array(values) for values in zip(*[(FLAT, 0.0, 1.0, 1.0)] * (pieces - 1), strict=True)))
        one = first if pieces == 1 else Laws(*map(np.concatenate, zip(first, others, strict=True)))
        return Walk(dim, strata, pieces, prior.scale), Laws(*(np.tile(values, strata) for values in one))

    def response_distribution(self) -> ResponseDistribution | None:
        from .piecewise_times import PiecewiseTimes

        return PiecewiseTimes(self.pieces) if isinstance(self.pieces, tuple) else None

    def latent_variance(self, p: Parameters, mean: float | None) -> Any:
        """Return the variance of ``log H(T)``, which is ``pi^2 / 6``.

        ``T`` is the time of the event, and ``H`` is the cumulative hazard of a row whose linear predictor is 0. ``log
        H(T)`` plus the linear predictor has a Gumbel distribution.
        """
        return np.pi**2 / 6


def _checked_pieces(given: Any) -> int | tuple[float, ...]:
    if isinstance(given, str | bytes) or not (np.ndim(given) == 0 or isinstance(given, Sequence | np.ndarray)):
        raise TypeError(f"pieces must be a number of pieces or the times between them, got {shown(given)}.")
    if np.ndim(given) == 0:
        found = whole_number("pieces", given, 1)
        if found > _MOST_PIECES:
            raise ValueError(f"pieces must be at most {_MOST_PIECES:,}, got {found:,}.")
        return found
    cuts = tuple(moderate_number("a time between pieces", value) for value in given)
    if any(after <= before for before, after in pairwise(cuts)):
        raise ValueError(f"the times between pieces must increase, got {', '.join(f'{cut:g}' for cut in cuts)}.")
    return cuts


def _at_hand(observations: Observations) -> InMemory:
    if not isinstance(observations, InMemory):
        raise NotApplicable(
            "PiecewiseExponential splits rows by the times of all events, and needs them in memory: raise memory= of "
            "tunamh.open_rows, or take tunamh.Weibull(), which reads rows block by block."
        )
    return observations


def cuts_of(times: np.ndarray, weights: np.ndarray, pieces: int) -> tuple[float, ...]:
    """Return the times between pieces so that all pieces have about the same number of events.

    Each is the time of an event: the ``k``-th is the smallest time up to which ``k / pieces`` of all events happen. The
    last piece has an event, too.
    """
    order = np.argsort(times, kind="stable")
    below = np.cumsum(weights[order])
    at = np.searchsorted(below, below[-1] * np.arange(1, pieces) / pieces * (1 - 1e-12), side="left")
    found = np.unique(times[order][at])
    return tuple(found[found < times.max()].tolist())


def hazard_names(inner: np.ndarray, strata: Sequence[str | None]) -> tuple[str, ...]:
    """Return names of the pieces such as ``0 to 30``, ``30 to 90``, ``90 on``, with as few digits as possible.

    If there are strata, the name of the stratum comes first.
    """
    cuts = [0.0, *map(float, inner)]
    written = ([_with_digits(cut, digits) for cut in cuts] for digits in range(3, 18))
    ends = next((short for short in written if len(set(short)) == len(short)), list(map(repr, cuts)))
    pieces = [f"{low} to {high}" for low, high in pairwise(ends)] + [f"{ends[-1]} on"]
    return tuple(piece if one is None else f"{one}, {piece}" for one in strata for piece in pieces)


def _with_digits(cut: float, digits: int) -> str:
    """At least so many, and all before the point."""
    return f"{cut:.0f}" if 10.0**digits <= cut < 1e15 else f"{cut:.{digits}g}"


def refuse_without_events(rows: InMemory, inner: np.ndarray, labels: tuple[str, ...]) -> None:
    """Raise an error if a piece without an event has a flat log hazard, because there is no posterior."""
    counts = np.ones(rows.n_rows, bool) if rows.censored is None else rows.censored == 0
    counts &= True if rows.weights is None else rows.weights > 0
    hazard = np.searchsorted(inner, rows.y, side="left")
    hazard = hazard if rows.strata is None else hazard + (len(inner) + 1) * rows.strata.codes
    without = np.bincount(hazard[counts], minlength=len(labels)) == 0
    if without.any():
        named = ", ".join(np.array(labels)[without][:3]) + (", ..." if without.sum() > 3 else "")
        raise ImproperPosterior(
            f"there is no event in {int(without.sum())} of {len(labels)} pieces ({named}), so that flat log hazards "
            "have no posterior. Leave log_hazard= out (a random walk over the pieces), or take fewer pieces or strata."
        )


# ------------------------------------------------------------------------------------------- where a walk begins


def default_start(rows: InMemory) -> IndependentPrior:
    """Return the default prior of the first log hazard.

    It is the rule for intercepts: the centre is the logarithm of events per time, and the prior is wider if columns are
    far from zero.
    """
    parts = list(rows.map(_moments))
    n, mean, squares = parts[0][:3]
    for more, other, own, *_ in parts[1:]:
        apart, share = other - mean, more / (n + more)
        squares = squares + own + apart**2 * n * share
        mean, n = mean + apart * share, n + more
    low, high = np.min([part[3] for part in parts], axis=0), np.max([part[4] for part in parts], axis=0)
    columns = Columns.of_moments(mean, np.sqrt(squares / n), low, high)
    return intercept_prior(columns, float(np.log(events_per_time(rows))), 1.0)


def _moments(rows: Rows) -> tuple[float, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Of a block: the number of rows, and mean, squared deviations and range of every column that is kept whole."""
    given = rows.X.block if isinstance(rows.X, BlockWithOffset) else rows.X
    X = given.without_levels if isinstance(given, IndexedBlock) else given.dense()
    mean = X.mean(axis=0)
    return float(len(X)), mean, ((X - mean) ** 2).sum(axis=0), X.min(axis=0), X.max(axis=0)
