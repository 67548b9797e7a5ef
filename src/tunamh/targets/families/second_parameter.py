"""A second parameter beside the mean: one number for all rows, or described by columns of its own."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._arguments import shown
from ...priors import LogNormal, Normal
from ...priors.independent import IndependentPrior
from ...priors.positive import PositivePrior
from ..coordinates.base import Form, Same
from ..observations.base import Observations
from ..observations.row_layout import Extra, RowLayout, column_names, rough_fit, shared_scalar, two_designs
from .unknown_scale import refuse_perfect_fit

COEFFICIENTS = Normal(scale=2.5)
"""The prior of the coefficients of a second predictor, where none is given."""

WIDE = LogNormal(1.0, 2.0)
"""The prior of a dispersion, shape or precision, where none is given: 95 % of it between 0.05 and 150."""


def one_number(
    observations: Observations, likelihood: Any, form: Form, name: str, prior: PositivePrior, start: float
) -> RowLayout:
    """Return the rows of a regression with a positive parameter that all rows share."""
    names = column_names(observations)
    begin = np.append(np.zeros(len(names)), prior.inside(start))
    rows = shared_scalar(observations)
    return RowLayout(rows, likelihood, names, form, (Extra(name),), (prior.law(),), begin)


def refuse_constant(observations: Observations, name: str, prior: Any, link: Any) -> None:
    """Raise an error if the columns explain the responses exactly.

    Then the density grows with a power of the shape or precision. With a prior whose tail is a
    power there is no posterior, and with a log-normal prior the posterior is at numbers too large for the computer.
    """
    fit = None if prior.falls_fast else rough_fit(observations, link)
    if fit is not None and fit.exact:
        refuse_perfect_fit(observations, link, fit.b0, name, f"set {name}=tunamh.priors.Exponential(100)")


def by_columns(observations: Observations, likelihood: Any, name: str, prior: Any, start: np.ndarray) -> RowLayout:
    """Return the rows of a regression with a parameter whose link is ``z.gamma``.

    Its coefficients are a variable with the name of the parameter.
    """
    second, labels = observations.others[0], observations.other_names[0]
    if prior is not None and not isinstance(prior, IndependentPrior):
        raise TypeError(
            f"{name} depends on columns, so its prior must be a prior of coefficients, such as "
            f"tunamh.Normal(scale=1), got "
            f"{shown(prior)}."
        )
    d, more = observations.design.dim, second.dim
    named = tuple(str(j) for j in range(more)) if labels is None else tuple(labels)
    laws = prior_of_columns(observations, 0, prior).laws(more)
    form, names = Same(d, more), column_names(observations)
    rows = two_designs(observations, (second.numbers, more))
    return RowLayout(rows, likelihood, names, form, (Extra(name, named),), (laws,), start)


def prior_of_columns(observations: Observations, which: int, prior: IndependentPrior | None) -> IndependentPrior:
    """Return the prior of the parameter's coefficients.

    It is the prior of the family, or that of the columns (from a formula), or the default.
    """
    if prior is not None:
        return prior
    own = observations.other_priors
    return own[which] if which < len(own) and own[which] is not None else COEFFICIENTS


def described_by_columns(observations: Observations) -> bool:
    return bool(observations.others)


def start_at(observations: Observations, level: float = 0.0) -> np.ndarray:
    """Return a start: zeros, and coefficients of the second predictor that bring it close to ``level``."""
    some = observations.take(np.arange(min(observations.n_rows, 1000))).rows()
    Z = some.others[0].dense()
    size = np.sqrt(np.einsum("ij,ij->j", Z, Z))
    unit = np.where(size > 0, size, 1.0)
    second = np.linalg.lstsq(Z / unit, np.full(len(Z), level), rcond=1e-10)[0] / unit
    return np.concatenate([np.zeros(observations.design.dim), second])


def positive_counts(observations: Observations, temper: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the counts above zero that occur, sorted, and the total weight of the rows with each count."""
    found: dict[float, float] = {}

    def count(rows: Any) -> tuple[np.ndarray, np.ndarray]:
        values, where = np.unique(rows.y, return_inverse=True)
        return values, np.bincount(where, weights=rows.weights, minlength=len(values))

    for values, weights in observations.map(count):
        for value, weight in zip(values.tolist(), weights.tolist(), strict=True):
            found[value] = found.get(value, 0.0) + temper * weight
    kept = sorted(value for value in found if value > 0)
    return np.array(kept), np.array([found[value] for value in kept])


def weight_of_rows(rows: Any) -> tuple[float]:
    return (float(len(rows.y) if rows.weights is None else rows.weights.sum()),)
