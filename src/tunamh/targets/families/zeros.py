"""Families of counts in which zeros have a law of their own: `ZeroInflated` and `Hurdle`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..._arguments import shown
from ...priors.independent import IndependentPrior
from ...rows.source import Rows
from ..coordinates.base import Form
from ..coordinates.shared import Dispersion, Probability, ProbabilityAndDispersion
from ..designs.multi_predictor import SeveralBlock, SeveralLayout, Term
from ..observations.observed import Arranged, Observations
from ..observations.row_layout import Arrangement, Extra, column_names, shared_scalar
from .counts import NegativeBinomial, Poisson, check_counts
from .described import WIDE, by_columns, described_by_columns, positive_counts, prior_of_columns, start_at
from .two_predictors import HurdlePoissonRows, ZeroInflatedNegativeBinomialRows, ZeroInflatedPoissonRows


class _TwoParts:
    """Counts with a probability beside them: one number, or described by columns through the logistic function."""

    counts: Any
    rows: Any
    name: str

    def check(self, y: np.ndarray) -> None:
        check_counts(y)

    of: ClassVar[tuple[type, ...]] = (Poisson,)

    def _settled(self) -> None:
        if not isinstance(self.counts, self.of):
            known = " or ".join(f"{kind.__name__}()" for kind in self.of)
            raise TypeError(f"{type(self).__name__} takes the counts' family, {known}, got {shown(self.counts)}.")
        prior = getattr(self, self.name)
        if prior is not None and not isinstance(prior, IndependentPrior):
            raise TypeError(f"{self.name} must be a prior of coefficients such as Normal(scale=1), got {shown(prior)}.")

    def _prior(self, observations: Observations) -> Any:
        """Of the coefficients; None where there are none."""
        prior = getattr(self, self.name)
        if prior is not None and not described_by_columns(observations):
            also = f"predictors={{{self.name!r}: Z}}"
            raise ValueError(f"a prior of {self.name} is one of coefficients of columns: give {also} too.")
        return prior

    def arrange(self, observations: Observations, temper: float) -> Arrangement:
        prior = self._prior(observations)
        if described_by_columns(observations):
            return by_columns(observations, self.rows, self.name, prior, start_at(observations))
        names = column_names(observations)
        form, begin = Probability(len(names)), np.append(np.zeros(len(names)), 0.5)
        rows = shared_scalar(observations)
        return Arrangement(rows, self.rows, names, form, (Extra(self.name),), (Probability.uniform(),), begin)


@dataclass(frozen=True)
class ZeroInflated(_TwoParts):
    """Zero with probability ``inflation``, otherwise a count of another family.

    ``ZeroInflated(Poisson())`` or ``ZeroInflated(NegativeBinomial())``; the latter also has an unknown ``dispersion``.
    One probability for all rows has a uniform prior. With ``predictors={"inflation": Z}`` its logit is ``z.gamma``; the
    prior of ``gamma`` is ``inflation``, or ``Normal(scale=2.5)``.
    """

    counts: Any
    inflation: Any = None

    described = ("inflation",)
    name = "inflation"
    rows = ZeroInflatedPoissonRows()
    of = (Poisson, NegativeBinomial)

    def __post_init__(self) -> None:
        self._settled()
        if isinstance(self.counts, NegativeBinomial) and isinstance(self.counts.dispersion, float):
            raise ValueError(
                "ZeroInflated(NegativeBinomial(...)) takes a prior of the dispersion, or none: a known dispersion "
                "is not offered. A narrow prior comes close, such as tunamh.priors.LogNormal(log(r), 0.01)."
            )

    def arrange(self, observations: Observations, temper: float) -> Arrangement:
        if isinstance(self.counts, Poisson):
            return super().arrange(observations, temper)
        return _with_dispersion(observations, temper, self.counts.dispersion, self._prior(observations))


def _with_dispersion(observations: Observations, temper: float, dispersion: Any, prior: Any) -> Arrangement:
    """Rows of three predictors: ``x.theta``, the log dispersion of all rows, and the inflation's logit.

    The dispersion is the last parameter. A zero's probability holds all that the dispersion says of it, so that
    ``Gamma(r + y) / Gamma(r)`` is a matter of the positive counts here too.
    """
    d, values = observations.design.dim, positive_counts(observations, temper)
    law = (WIDE if dispersion is None else dispersion).law()
    columns: tuple[Any, int] | None = None
    if described_by_columns(observations):
        second, labels = observations.others[0], observations.other_names[0]  # type: ignore[attr-defined]
        columns = second.numbers, second.dim
        names = tuple(str(j) for j in range(second.dim)) if labels is None else tuple(labels)
        form: Form = Dispersion(d, *values, between=second.dim)
        inflation, laws = Extra("inflation", names), prior_of_columns(observations, 0, prior).laws(second.dim)
        start = np.append(start_at(observations), 1.0)
    else:
        form, inflation, laws = ProbabilityAndDispersion(d, *values), Extra("inflation"), Probability.uniform()
        start = np.append(np.zeros(d), [0.5, 1.0])
    extras = inflation, Extra("dispersion")
    blocks = [(observations.design.numbers, d), None, columns]
    layout = SeveralLayout(blocks, [Term(0, 0, 0), Term(1, 1, form.dim - 1), Term(2, 2, d)], predictors=3)

    def several(rows: Rows) -> Rows:
        other = rows.others[0] if columns is not None else None
        return rows._replace(X=SeveralBlock((rows.X, None, other), layout, len(rows.y)), others=())

    rows = Arranged(observations, layout, several)
    family = ZeroInflatedNegativeBinomialRows()
    return Arrangement(rows, family, column_names(observations), form, extras, (laws, law), start)


@dataclass(frozen=True)
class Hurdle(_TwoParts):
    """Positive with probability ``positive``, and then a count above zero: ``Hurdle(Poisson())``.

    As `ZeroInflated`, with the parameter ``positive``.
    """

    counts: Any
    positive: Any = None

    described = ("positive",)
    name = "positive"
    rows = HurdlePoissonRows()

    def __post_init__(self) -> None:
        self._settled()
