"""Posterior predictive checks and leave-one-out on a random subsample of the rows, never on all of them by default."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._arguments import whole_number
from ..errors import NotApplicable
from ..formula import FormulaModel
from ..formula.errors import FormulaError
from ..formula.syntax import columns_in
from ..formula.variables import as_columns, read
from ..rows.table_source import Tables
from ..tables.frames import Frame, complete_rows
from .fitted import Fitted
from .new_rows import Given, NewRows
from .predictions import Predictor


def replicate(posterior: Any, data: Any, *, rows: int = 1000, draws: int | None = None, rng: Any = None) -> Any:
    """Simulate responses for a random subsample of the rows that a formula was fitted to.

    Parameters
    ----------
    posterior : DataTree
        The result of a target made by `tunamh.regression`.
    data : table
        The fitted data, or other data with responses. Rows with missing values are dropped.
    rows : int
        Size of the random subsample. Use the number of rows to have all of them.
    draws : int, optional
        Number of posterior draws to use, evenly spaced. Default: at most 1000.
    rng : seed, optional

    Returns
    -------
    DataTree
        Groups for ArviZ: ``observed_data``, ``posterior_predictive`` (simulated responses) and ``log_likelihood``. The
        log likelihood has all constants, and is that of a single response, whatever its weight. The coordinate ``row``
        has the row numbers of the subsample in the data.
    """
    return _replicated(posterior, data, whole_number("rows", rows, 1), draws, rng)[0]


@dataclass(frozen=True)
class LooEstimate:
    """The expected log predictive density of new rows, by leaving rows out one at a time (PSIS).

    ``elpd`` is the sum over all rows, estimated from a random subsample. ``se`` is its standard error as a sum of so
    many random rows; ``subsampling_se`` what is not known of that sum for having seen the subsample only. Rows whose
    ``pareto_k`` is above 0.7 are not told reliably.
    """

    elpd: float
    se: float
    subsampling_se: float
    n_rows: int
    rows: int
    bad: int
    pointwise: np.ndarray = field(repr=False)
    pareto_k: np.ndarray = field(repr=False)

    def __str__(self) -> str:
        told = f"; {self.bad:,} of them have Pareto k above 0.7" if self.bad else ""
        return (
            f"elpd {self.elpd:,.1f}, standard error {self.se:,.1f} ({self.subsampling_se:,.1f} by subsampling): "
            f"{self.rows:,} of {self.n_rows:,} rows left out one at a time{told}"
        )


def loo(posterior: Any, data: Any, *, rows: int = 1000, draws: int | None = None, rng: Any = None) -> LooEstimate:
    """Leave-one-out cross-validation of a formula's fit, by PSIS (Vehtari, Gelman and Gabry, 2017).

    It uses a simple random subsample of ``rows`` rows (Magnusson et al., 2019). The arguments are those of `replicate`.
    A row of weight ``w`` counts as ``w`` rows: it is left out as a whole, and its log predictive density counts ``w``
    times, ``elpd = sum_i w_i log p(y_i | all rows but i)``.
    """
    _refuse_lost_weights(Fitted.open(posterior, draws))
    tree, n_rows, weights = _replicated(posterior, data, whole_number("rows", rows, 1), draws, rng)
    each, k = _left_out(tree) if weights is None else _weighted_left_out(tree, weights)
    n = len(each)
    spread = float(np.std(each, ddof=1)) if n > 1 else np.nan
    unseen = n_rows * spread * np.sqrt((1 - n / n_rows) / n)
    total = np.hypot(spread * np.sqrt(n_rows), unseen)
    return LooEstimate(
        n_rows * float(each.mean()), float(total), float(unseen), n_rows, n, int((k > 0.7).sum()), each, k
    )


def _left_out(tree: Any) -> tuple[np.ndarray, np.ndarray]:
    """``log p(y_i | y_-i)`` of every row, and Pareto's k."""
    from arviz_stats import loo as by_rows

    found = by_rows(tree, pointwise=True)
    return np.asarray(found.elpd_i).ravel(), np.asarray(found.pareto_k).ravel()


def _weighted_left_out(tree: Any, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """``w_i log p(y_i | y_-i)``: without the row, draws have the importance ``p(y_i | theta)^-w_i``."""
    from arviz_stats.base import array_stats
    from scipy.special import logsumexp

    (densities,) = (values.values[0].T for values in tree["log_likelihood"].data_vars.values())  # (row, draw)
    each, k = np.zeros(len(weights)), np.zeros(len(weights))
    some = weights > 0  # a row without weight is left out of the fit already, and counts for nothing
    importance, k[some] = array_stats.psislw(weights[some, None] * densities[some], axis=-1)
    each[some] = weights[some] * logsumexp(importance + densities[some], axis=-1)
    return each, k


def _refuse_lost_weights(fitted: Fitted) -> None:
    """Weights that were no column of the data are not kept."""
    if fitted.about.get("weighted") and fitted.formula is not None and "weights" not in fitted.formula.beside:
        raise NotApplicable(
            "the fit has weights that were given as an array, which are not kept: give them by the name of a column "
            'of the data, weights="w".'
        )


def _replicated(
    posterior: Any, data: Any, rows: int, draws: int | None, rng: Any
) -> tuple[Any, int, np.ndarray | None]:
    """The tree, how many rows there are of which the subsample is one, and the weights of its rows, if any."""
    import xarray

    fitted = Fitted.open(posterior, draws)
    formula = fitted.formula
    if formula is None:
        raise NotApplicable("replicas need a target that was made from a formula, by tunamh.regression.")
    if fitted.about.get("censored"):
        raise NotApplicable("replicas of censored responses are not offered.")
    generator = np.random.default_rng(rng)
    some, picked, n_rows = _subsample(formula, data, rows, generator)
    new = NewRows(fitted, some, Given(), with_response=True)
    predictor = Predictor(fitted, "error", generator)
    y, replicas, densities = [], [], []
    for chunk in new.chunks(predictor.rows_at_once):
        eta, p = predictor.linear(chunk), predictor.parameters(chunk)
        assert chunk.y is not None
        y.append(chunk.y)
        replicas.append(fitted.responses.draw(generator, eta, p))
        densities.append(np.broadcast_to(fitted.responses.log_density(chunk.y, eta, p), replicas[-1].shape))
    name, weighted = str(formula.response.node), formula.beside.get("weights")
    weights = None if weighted is None else formula.values(some, list(columns_in(weighted))).numbers(weighted)
    coords = {"chain": [0], "draw": np.arange(len(fitted.picked)), "row": picked}
    dims = ("chain", "draw", "row")
    groups: dict[str, dict[str, Any]] = {
        "observed_data": {name: (("row",), np.concatenate(y))},
        "posterior_predictive": {name: (dims, np.concatenate(replicas, axis=1)[None])},
        "log_likelihood": {name: (dims, np.concatenate(densities, axis=1)[None])},
    }
    tree = {
        key: xarray.Dataset(found, coords=coords if key != "observed_data" else {"row": picked})
        for key, found in groups.items()
    }
    tree["posterior"] = fitted.picked_posterior()
    return xarray.DataTree.from_dict(tree), n_rows, weights


def _subsample(formula: FormulaModel, data: Any, rows: int, rng: np.random.Generator) -> tuple[Frame, np.ndarray, int]:
    """Columns of random rows, their numbers, and how many rows there are without missing values."""
    if isinstance(data, Tables):
        raise NotApplicable("replicas of tables in blocks are not offered: read some of their rows into a data frame.")
    table = as_columns(data)
    needed = [*formula.predictor_columns, *columns_in(formula.response.node)]
    needed += [name for node in formula.beside.values() for name in columns_in(node)]
    names = list(dict.fromkeys(needed))
    there = np.flatnonzero(complete_rows(read(table, names), table.n_rows).keep)
    if len(there) == 0:
        raise FormulaError("the data have no rows without missing values.")
    picked = np.sort(rng.choice(there, size=min(rows, len(there)), replace=False))
    return table.take(picked, names), picked, len(there)
