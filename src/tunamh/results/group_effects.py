"""Group effects as a table: lme4's and brms' ``ranef`` and ``coef``, with ranks and probabilities."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._arguments import explained, flag, number_between, shown
from ..errors import NotApplicable
from ..tables.libraries import listed
from .factors import Effects, GroupedResult, Part

BEST = ("largest", "smallest")
_VALUES_AT_ONCE = 4_000_000
_MOST_RANKED = 40_000_000  # numbers, of which ranks are computed; of more, draws evenly spaced
_FEWEST_RANKED = 200  # draws


@explained
def group_effects(
    posterior: Any,
    group: str | None = None,
    *,
    term: str | None = None,
    coefficients: bool = False,
    best: str = "largest",
    ci_prob: float | None = None,
) -> Any:
    """Return a table of the group effects: means, intervals, ranks and the probability to be the best group.

    This is ``ranef`` of lme4 and brms; with ``coefficients=True`` it is ``coef``.

    Parameters
    ----------
    posterior : DataTree
        The result of `tunamh.sample` or `tunamh.read_store`, or a result read from a file, for a formula with
        ``(1 | airport)`` or for a `MixedModel`.
    group : str, optional
        The factor, such as ``"airport"``. Default: all factors.
    term : str, optional
        ``"Intercept"``, or the column of a slope, such as ``"distance"``. Default: all terms.
    coefficients : bool
        True: add the common coefficient of the same term to each draw of the effect. Then the line of JFK and
        ``Intercept`` is the intercept of JFK. This works only for results of a formula.
    best : "largest" or "smallest"
        Which effect has rank 1.
    ci_prob : float, optional
        The probability of the central intervals. Default: ArviZ's, 0.89, as in `tunamh.summary`.

    Returns
    -------
    pandas.DataFrame
        One line for each level and term, in the order of the levels, with the columns

        - ``group``, ``level``, ``term``; with `Categorical` also ``class``; if groups affect other parameters of the
          family, also ``parameter``;
        - ``rows``: the number of rows of the level; NaN if there are more than 100,000 levels;
        - ``mean``, ``sd`` and the ends of the interval, ``eti89_lb`` and ``eti89_ub``, of the effect;
        - ``p_positive``: the probability that the effect is positive (with ``coefficients=True``, that the sum is);
        - ``rank``, ``rank_lb``, ``rank_ub``: mean and interval of the rank among all levels;
        - ``p_best``: the probability that the level has rank 1. If levels times draws exceed 40 million, the ranks are
          computed from at least 200 evenly spaced draws.

        If the run did not keep the draws of the effects (``keep_effects=False``, or more than 100,000 effects), the
        interval and ``p_positive`` are computed from a normal distribution with the same mean and standard deviation.
        Then ``rank``, ``rank_lb``, ``rank_ub`` and ``p_best`` are NaN, because they need joint draws; to keep the
        draws, use ``keep_effects=True``. A line below the table reports this.

    Raises
    ------
    ValueError
        If there is no such group or term. The message lists the groups or terms of the result.
    NotApplicable
        If the model has no group effects, or if ``coefficients=True`` has no coefficients to add.

    Examples
    --------
    >>> model = tunamh.regression("late ~ hour + (1 | airport)", flights, family=tunamh.Logistic())
    >>> posterior = tunamh.sample(model)
    >>> table = tunamh.group_effects(posterior, "airport")
    >>> table.sort_values("rank").head()
    """
    if best not in BEST:
        raise ValueError(f"best must be one of {', '.join(map(repr, BEST))}, got {shown(best)}.")
    probability = interval_probability(ci_prob)
    result = GroupedResult(posterior)
    chosen = chosen_effects(result, group, term)
    if flag("coefficients", coefficients):
        chosen = with_coefficients(result, chosen)
    return _table(chosen, [statistics(one, probability, best) for one in chosen], probability)


def interval_probability(given: Any) -> float:
    """Return the probability of intervals; by default it is the setting of ArviZ."""
    if given is None:
        from arviz_base import rcParams

        return float(rcParams["stats.ci_prob"])
    return number_between("ci_prob", given, 0.0, 1.0)


def chosen_effects(result: GroupedResult, group: Any, term: Any) -> list[Effects]:
    """Return the effects of one factor or of all factors, and of one term or of all terms."""
    found = result.effects()
    if group is not None:
        found = [one for one in found if one.factor == group]
        if not found:
            raise ValueError(f"the result has no groups {_asked(group)}: it has {_names(result.factors)}.")
    if term is not None:
        terms = list(dict.fromkeys(one.term for one in found))
        found = [one for one in found if one.term == term]
        if not found:
            of = "" if group is None else f" of {group}"
            raise ValueError(f"the effects{of} have no term {_asked(term)}: they have {_names(terms)}.")
    return found


def _names(names: list[str]) -> str:
    return listed([repr(name) for name in names])


def _asked(name: Any) -> str:
    return repr(name) if isinstance(name, str) else shown(name)


def with_coefficients(result: GroupedResult, effects: list[Effects]) -> list[Effects]:
    """Return the effects plus the common coefficients.

    Raise `NotApplicable` if the result does not say which coefficient belongs to which effect.
    """
    if not result.of_formula:
        raise NotApplicable(
            "coefficients=True needs the result of a formula: that of a MixedModel does not say which column of X "
            "belongs to which column of effects. Write the model as a formula, or add the draws of theta yourself."
        )
    return [_with_coefficient(one) for one in effects]


def _with_coefficient(one: Effects) -> Effects:
    """The coefficient of a group: the common one plus the group's effect; where none is common, the effect."""
    if one.draws is None:
        raise NotApplicable(
            f"the run kept no draws of the effects of {one.factor}, and without draws a common coefficient cannot be "
            "added: sample with keep_effects=True, or leave coefficients=True out."
        )
    if one.coefficient is None:
        return one
    return replace(one, draws=one.draws + one.coefficient[..., None])


# ------------------------------------------------------------------------------------------------- numbers


@dataclass(frozen=True, eq=False)
class Statistics:
    """Statistics of the effects of one column, with an entry for each level.

    ``half`` is the interval with probability 50 %.
    """

    mean: np.ndarray
    sd: np.ndarray
    ends: np.ndarray
    half: np.ndarray
    positive: np.ndarray
    rank: np.ndarray
    rank_ends: np.ndarray
    best: np.ndarray


def statistics(one: Effects, probability: float, best: str = "largest", *, ranked: bool = True) -> Statistics:
    """Return statistics of effects from draws, or from means and standard deviations.

    With ``ranked=False``, the ranks and ``best`` are not computed (NaN).
    """
    if one.draws is None:
        assert one.moments is not None
        return from_moments(*one.moments, probability)
    flat = one.draws.reshape(-1, one.draws.shape[-1])
    parts = [_marginal(part, probability) for part in _some_levels(flat)]
    mean, sd, ends, half, positive = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    ranks = _ranks(flat, probability, best) if ranked else _unknown(len(mean))
    return Statistics(mean, sd, ends, half, positive, *ranks)


def _some_levels(flat: np.ndarray) -> Iterator[np.ndarray]:
    """(levels, draws): quantiles of draws that lie side by side take a quarter of the time."""
    step = max(1, _VALUES_AT_ONCE // max(1, len(flat)))
    for start in range(0, flat.shape[1], step):
        yield np.array(flat[:, start : start + step].T, np.float64, order="C")


def _marginal(draws: np.ndarray, probability: float) -> tuple[np.ndarray, ...]:
    tail = 0.5 - probability / 2
    moments, positive = (draws.mean(axis=1), draws.std(axis=1)), (draws > 0).mean(axis=1)
    q = np.quantile(draws, [tail, 0.25, 0.75, 1 - tail], axis=1, overwrite_input=True)
    return *moments, q[[0, 3]].T, q[[1, 2]].T, positive


def _ranks(flat: np.ndarray, probability: float, best: str) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Mean rank, interval of the rank, and the probability of rank 1; rank 1 is the best."""
    most = max(_FEWEST_RANKED, _MOST_RANKED // max(1, flat.shape[1]))
    if len(flat) > most:
        flat = flat[np.linspace(0, len(flat) - 1, most).round().astype(np.int64)]
    ranks = np.empty(flat.shape, np.int32)
    for draw, own in zip(flat, ranks, strict=True):
        own[np.argsort(-draw if best == "largest" else draw)] = np.arange(1, draw.size + 1)
    tail = 0.5 - probability / 2
    ends = np.quantile(ranks, [tail, 1 - tail], axis=0, method="inverted_cdf")
    return ranks.mean(axis=0), ends.T, (ranks == 1).mean(axis=0)


def from_moments(mean: np.ndarray, sd: np.ndarray, probability: float) -> Statistics:
    """Return statistics from the mean and standard deviation of every chain. Intervals are those of a normal law."""
    from scipy.special import ndtr, ndtri

    centre = mean.mean(axis=0)
    spread = np.sqrt(np.square(sd).mean(axis=0) + mean.var(axis=0))
    ends, half = (
        centre[:, None] + ndtri(0.5 + share / 2) * spread[:, None] * np.array([-1.0, 1.0])
        for share in (probability, 0.5)
    )
    positive = ndtr(centre / np.where(spread > 0, spread, 1e-300))
    return Statistics(centre, spread, ends, half, positive, *_unknown(len(centre)))


def _unknown(levels: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """In the place of ranks."""
    return np.full(levels, np.nan), np.full((levels, 2), np.nan), np.full(levels, np.nan)


# ------------------------------------------------------------------------------------------------- the table


_NO_DRAWS = (
    "The result has no draws of these effects: intervals and p_positive are those of a normal distribution, ranks "
    "and p_best are not known. keep_effects=True keeps the draws."
)


def interval_names(probability: float) -> tuple[str, str]:
    """Return the names of the columns with the ends of an interval, as in `tunamh.summary`."""
    return f"eti{round(100 * probability)}_lb", f"eti{round(100 * probability)}_ub"


def _table(effects: list[Effects], numbers: list[Statistics], probability: float) -> Any:
    import pandas as pd

    from .table import GroupTable

    low, high = interval_names(probability)
    parts_of = columns_of_parts([one.part for one in effects])
    parts = [
        pd.DataFrame(
            {
                "group": one.factor,
                "level": one.levels,
                "term": one.term,
                **{column: values[k] for column, values in parts_of.items()},
                "rows": np.nan if one.rows is None else one.rows,
                "mean": own.mean,
                "sd": own.sd,
                low: own.ends[:, 0],
                high: own.ends[:, 1],
                "p_positive": own.positive,
                "rank": own.rank,
                "rank_lb": own.rank_ends[:, 0],
                "rank_ub": own.rank_ends[:, 1],
                "p_best": own.best,
            }
        )
        for k, (one, own) in enumerate(zip(effects, numbers, strict=True))
    ]
    table = GroupTable(pd.concat(parts, ignore_index=True))
    table.attrs["notes"] = [_NO_DRAWS] if any(one.draws is None for one in effects) else []
    unit = decimals_of(min((float(np.nanmedian(own.sd)) for own in numbers), default=0.0))
    table.attrs["decimals"] = {
        **dict.fromkeys(["mean", "sd", low, high], unit),
        **dict.fromkeys(["p_positive", "p_best"], 3),
        "rank": 1,
    }
    return table


def columns_of_parts(parts: Sequence[Part]) -> dict[str, list[str]]:
    """Return columns of a table with the predictors of effects. There are none if all are the main predictor."""
    columns = {"class": [one.of_class for one in parts], "parameter": [one.parameter for one in parts]}
    return {name: [one or "" for one in own] for name, own in columns.items() if any(one is not None for one in own)}


def decimals_of(sd: float) -> int:
    """Return the number of decimals that shows three digits of a standard deviation."""
    return max(0, 2 - int(np.floor(np.log10(sd)))) if 0 < sd < np.inf else 3
