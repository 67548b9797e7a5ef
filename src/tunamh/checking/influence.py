"""Rows that matter most: Pareto's k, leverage and residual, from the rows that leaving-one-out looks at."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arguments import explained, whole_number
from ..prediction.fitted import Fitted
from ..prediction.left_out import opened_to_leave_out
from ..prediction.new_rows import NewRowExtras, NewRows
from ..prediction.predictions import Predictor
from ..prediction.times import Seen
from ..targets.families.responses import ResponseDistribution
from .check import opened
from .some_rows import SomeRows, drawn_rows

_ROWS_AT_ONCE = 2000


@explained
def influence(
    posterior: Any,
    data: Any,
    *,
    rows: int = 1000,
    draws: int | None = None,
    family: Any = None,
    rng: Any = None,
) -> Any:
    """Return a table that shows how much each row influences the posterior, for a random subsample of the rows.

    The subsample is the same as in `tunamh.loo` with the same ``rows`` and ``rng``. The model is not fitted again.

    Parameters
    ----------
    posterior : DataTree
        The result of a target made by `tunamh.regression`.
    data : table
        The data of the fit: a table, or tables in blocks (`tunamh.open_rows`).
    rows : int
        Size of the random subsample. To use all rows, set it to the number of rows.
    draws : int, optional
        Number of posterior draws to use, the same number from every chain. Default: at most 1000. If the data have
        fewer than 1000 rows, at most 1,000,000 divided by the number of rows.
    family : optional
        Your own family (`tunamh.family`) again, because a result does not contain code. A family with only an energy
        (without ``mean=`` and ``draw=``) is enough here.
    rng : seed, optional
        The seed of the random subsample. By default each call draws another subsample.

    Returns
    -------
    pandas.DataFrame
        One line for each row, the largest Pareto k first, with the columns

        - ``row``: the number of the row in the data; the first row has number 0;
        - ``pareto_k``: how much the posterior would change without the row. Above 0.7, the change is so large that the
          draws do not describe the posterior without the row;
        - ``leverage``: a number from 0 to 1: how much of the information about the row's linear predictor comes from
          the row itself. It is the curvature of the row's log density times the posterior variance of its linear
          predictor. The sum over all rows is about the number of coefficients. Only an outlier of a robust model can
          have a negative leverage;
        - ``log_density``: the log density of the response, averaged over the posterior; low if the response is
          surprising;
        - ``observed``: the response;
        - ``weight``: the weight of the row, if the model has weights.

    Examples
    --------
    >>> table = tunamh.influence(posterior, flights, rng=1)
    >>> table.head()
    """
    import pandas as pd

    fitted = opened_to_leave_out(posterior, draws, family)
    opened(posterior, draws, family)
    assert fitted.formula is not None
    generator = np.random.default_rng(rng)
    some = drawn_rows(fitted.formula, data, whole_number("rows", rows, 1), generator, weighted=False)
    densities, leverage, observed = _of_rows(fitted, some, generator)
    weights = np.ones(len(observed)) if some.weights is None else some.weights
    columns: dict[str, Any] = {
        "row": some.numbers,
        "pareto_k": _pareto_k(densities, weights),
        "leverage": weights * leverage,
        "log_density": densities.mean(axis=0),
        "observed": observed,
    }
    if some.weights is not None:
        columns["weight"] = weights
    table = pd.DataFrame(columns).sort_values("pareto_k", ascending=False, kind="stable", ignore_index=True)
    table.attrs["rows"] = some.told
    return table


def _of_rows(fitted: Fitted, some: SomeRows, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Log densities (draws, rows), leverages and responses."""
    new = NewRows(fitted, some.table, NewRowExtras(), with_response=True)
    predictor = Predictor(fitted, "error", rng)
    parts = []
    for chunk in new.chunks(min(predictor.rows_at_once, _ROWS_AT_ONCE)):
        which = slice(chunk.first, chunk.first + chunk.n_rows)
        seen = some.seen.part(which)
        eta, p, y = predictor.linear(chunk), predictor.parameters(chunk), chunk.y
        assert y is not None
        densities = seen.log_density(fitted.responses, y, eta, p)
        densities = np.broadcast_to(densities, (len(fitted.picked), len(y)))
        parts.append((densities, _leverage(fitted.responses, y, eta, p, seen), y))
    first, second, third = zip(*parts, strict=True)
    return np.concatenate(first, axis=1), np.concatenate(second), np.concatenate(third)


def _leverage(responses: ResponseDistribution, y: np.ndarray, eta: np.ndarray, p: Any, seen: Seen) -> np.ndarray:
    """The trace of (curvature times covariance of the predictors), by second differences along the draws.

    ``-f(m + d) - f(m - d) + 2 f(m)`` with ``f`` the log density, ``m`` the mean of the predictors and ``d`` a draw's
    deviation from it is ``d'Hd`` as far as the fourth order, and its mean is the trace of ``H cov(d)``.
    """
    at = {
        name: np.mean(np.atleast_1d(value), axis=0, keepdims=True) if _of_draws(value, eta) else value
        for name, value in p.items()
    }
    middle = eta.mean(axis=0, keepdims=True)
    off = eta - middle
    here, above, below = (seen.log_density(responses, y, point, at) for point in (middle, middle + off, middle - off))
    return (2 * here - above - below).mean(axis=0)


def _of_draws(value: Any, eta: np.ndarray) -> bool:
    return np.ndim(value) >= 2 and len(value) == len(eta)


def _pareto_k(densities: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Of the importance ``p(y_i | theta)^-w_i``, by which draws are those without the row; zero without a weight."""
    from arviz_stats.base import array_stats

    found = np.zeros(len(weights))
    some = weights > 0
    if some.any():
        _, found[some] = array_stats.psislw((weights * densities)[:, some].T, axis=-1)
    return found
