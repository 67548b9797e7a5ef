"""Standard deviations and correlations of group effects, and shares of variance: lme4's and brms' ``VarCorr``, and ICC.

The share of factor ``f`` in the variance of the linear predictor and the row,

    ICC_f = v_f / (sum_k v_k + v_row),        v_f = trace(Sigma_f E[z z']),

is computed draw by draw. ``v_f`` is the variance that the effects of ``f`` add to a row, on average over the rows
(Johnson 2014); for random intercepts it is their variance. ``v_row`` is the variance of a row on the scale of the
linear predictor (`tunamh.targets.families.BaseFamily.latent_variance`): that of the errors, or of the link's latent
errors, or an approximation for counts (Nakagawa, Johnson and Schielzeth 2017). What common coefficients explain is in
neither.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

from .._arguments import explained
from ..tables.libraries import listed
from ..targets.families.base import Responses
from .factors import Covariance, GroupedResult, Part
from .group_effects import columns_of_parts, decimals_of, interval_names, interval_probability

SD, CORRELATION, SHARE = "sd", "correlation", "share"
RESIDUAL, ALL = "Residual", "all groups"


class Quantity(NamedTuple):
    """One line of the table with its draws (chain, draw)."""

    group: str
    term: str
    quantity: str
    draws: np.ndarray
    part: Part = Part()


@explained
def group_scales(posterior: Any, *, ci_prob: float | None = None) -> Any:
    """Return a table of how much groups differ: standard deviations, correlations and shares of variance (ICC).

    This is ``VarCorr`` of lme4 and brms, and ``icc`` of the R package performance. All numbers are summaries of
    posterior distributions: the shares are computed for every draw.

    Parameters
    ----------
    posterior : DataTree
        The result of `tunamh.sample` or `tunamh.read_store`, or a result read from a file, for a formula with
        ``(1 | airport)`` or for a `MixedModel`.
    ci_prob : float, optional
        The probability of the central intervals. Default: ArviZ's, 0.89, as in `tunamh.summary`.

    Returns
    -------
    pandas.DataFrame
        The columns are ``group``, ``term``, ``quantity``, ``mean``, ``sd`` and the ends of the interval, ``eti89_lb``
        and ``eti89_ub``. With `Categorical` there is a column ``class``; if groups affect other parameters of the
        family, there is a column ``parameter``. ``quantity`` is

        - ``"sd"``: the standard deviation of the effects of a term. For Student-t effects it is the scale of their
          distribution (the shares use the variance ``scale^2 df / (df - 2)``). The group ``Residual`` has the standard
          deviation of the errors. If the model has a link, it is a standard deviation on the scale of the linear
          predictor: for labels and ordered classes, of the latent error (logit: ``pi / sqrt(3)``, probit: 1, cloglog:
          ``pi / sqrt(6)``); for responses with a log link, of the logarithm of the response. For Poisson counts with
          mean ``m`` this is approximately ``sqrt(log(1 + 1/m))``, for negative binomial counts ``sqrt(log(1 + 1/m +
          1/dispersion))`` (Nakagawa, Johnson and Schielzeth 2017);
        - ``"correlation"``: the correlation of the effects of two terms;
        - ``"share"``: the share of a factor in the variance (ICC): the variance of its effects, divided by the sum of
          the variances of all factors and the residual variance. The group ``all groups`` has the sum over factors. For
          random slopes the variance of a factor is the mean over the rows (Johnson 2014). The variance that the common
          coefficients explain is not part of this ratio ("adjusted ICC"). If each row of counts (or of numbers of
          successes) has its own effect, ``(1 | row)``, the variance of these effects is part of the residual variance.
          With `Categorical` every class has its own shares; the residual variance is the variance of the latent error,
          ``pi^2 / 3``.

        For `Hurdle`, `ZeroInflated`, `SoftplusPoisson` and your own families the residual variance is not known. Then
        the table has no ``Residual`` and no shares, and a line below the table reports this.

    Raises
    ------
    NotApplicable
        If the model has no group effects.

    Examples
    --------
    >>> tunamh.group_scales(posterior)
    >>> tunamh.group_scales(posterior).query("quantity == 'share'")
    """
    probability = interval_probability(ci_prob)
    result = GroupedResult(posterior)
    quantities = quantities_of(result)
    return _table(quantities, notes_of(result, quantities), probability)


def quantities_of(result: GroupedResult) -> list[Quantity]:
    """Return all lines of the table: scales and correlations of every factor, the variance of a row, then shares."""
    covariances, row = result.covariances(), result.latent_variance()
    found = [line for one in covariances for line in _of_factor(one)]
    if row is None:
        return found
    spread = _of_rows(result, covariances)
    row = row + sum(variance for one in spread if (variance := one.variance()) is not None)
    covariances = [one for one in covariances if one not in spread]
    shares = [line for one in result.parts for line in _shares([c for c in covariances if c.part == one], row, one)]
    return [*found, Quantity(RESIDUAL, "", SD, np.sqrt(row)), *shares]


def _of_rows(result: GroupedResult, covariances: list[Covariance]) -> list[Covariance]:
    """Factors that have a level for every count, also of successes.

    What counts vary beyond their law is part of a row's variance.
    """
    beyond = result.family.responses in (Responses.COUNTS, Responses.PROPORTIONS) or bool(result.about.get("trials"))
    return [one for one in covariances if beyond and one.of_rows and one.variance() is not None]


def _of_factor(one: Covariance) -> Iterator[Quantity]:
    for k, term in enumerate(one.terms):
        yield Quantity(one.factor, term, SD, one.scales[..., k], one.part)
    for i, j in sorted(one.correlations, key=lambda pair: pair[::-1]):
        terms = f"{one.terms[i]}, {one.terms[j]}"
        yield Quantity(one.factor, terms, CORRELATION, one.correlations[i, j], one.part)


def _shares(covariances: list[Covariance], row: np.ndarray, part: Part) -> Iterator[Quantity]:
    """Of one predictor; the row of a class beside the reference has a latent logistic error."""
    variances = [one.variance() for one in covariances]
    known = [one for one in variances if one is not None]
    if len(known) < len(variances):
        return
    whole = sum(known) + row
    with np.errstate(invalid="ignore"):
        for one, own in zip(covariances, known, strict=True):
            yield Quantity(one.factor, "", SHARE, own / whole, part)
        if len(known) > 1:
            yield Quantity(ALL, "", SHARE, sum(known) / whole, part)


def notes_of(result: GroupedResult, quantities: list[Quantity]) -> list[str]:
    """Return notes that say what ``Residual`` and the shares are."""
    family = result.family
    if not any(one.group == RESIDUAL for one in quantities):
        text = str(result.about["family"].get("text", "the family"))
        if described := result.about.get("predictors"):
            return [
                (
                    f"There are no shares of variance: {listed([*described])} differs between rows, and so does "
                    "the variance."
                )
            ]
        return [f"There are no shares of variance: the residual variance of {text} is not known."]
    if not any(one.quantity == SHARE for one in quantities):
        if not all(one.has_variance for one in result.covariances()):
            return ["There are no shares of variance: Student-t effects of 2 or fewer degrees of freedom have none."]
        return ["There are no shares of variance: this result does not have the columns of its effects."]
    share = (
        "share: the share in the variance of all groups and the residual, on the scale of the linear predictor (ICC)."
    )
    if family.coefficients_per_class:
        return [f"{share} Residual is the latent logistic error of a class, compared with the reference class."]
    rows = _of_rows(result, result.covariances())
    beside = f", and has the effects of {listed([one.factor for one in rows])}, one for every row" if rows else ""
    if family.of_labels or family.of_classes:
        return [f"{share} Residual is the latent error of the {family.link.name} link{beside}."]
    if family.responses in (Responses.COUNTS, Responses.PROPORTIONS):
        at = "at the mean of the responses"
        return [f"{share} Residual is approximated {at}, {result.mean_response:.4g} (Nakagawa et al. 2017){beside}."]
    return [share]


class Numbers(NamedTuple):
    """Statistics of one line of the table."""

    mean: float
    sd: float
    low: float
    high: float


def numbers_of(draws: np.ndarray, probability: float) -> Numbers:
    flat = np.asarray(draws, np.float64).ravel()
    sd = float(flat.std()) if np.ptp(flat) > 0 else 0.0  # of equal numbers rounding may leave a little
    low, high = np.quantile(flat, [0.5 - probability / 2, 0.5 + probability / 2])
    return Numbers(float(flat.mean()), sd, float(low), float(high))


def _table(quantities: list[Quantity], notes: list[str], probability: float) -> Any:
    import pandas as pd

    from .table import GroupTable

    numbers = [numbers_of(one.draws, probability) for one in quantities]
    named = pd.DataFrame([(one.group, one.term, one.quantity) for one in quantities])
    named.columns = pd.Index(["group", "term", "quantity"])
    for column, values in columns_of_parts([one.part for one in quantities]).items():
        named.insert(2, column, values)
    columns = ["mean", "sd", *interval_names(probability)]
    table = GroupTable(pd.concat([named, pd.DataFrame(numbers, columns=columns)], axis=1))
    table.attrs["notes"] = notes
    typical = float(np.median([one.sd for one in numbers if one.sd > 0] or [0.0]))
    table.attrs["decimals"] = dict.fromkeys(columns, max(3, decimals_of(typical)))  # a share has three
    return table
