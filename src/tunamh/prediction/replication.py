"""Simulated responses of a random subsample of the rows, never of all of them by default."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._arguments import explained, flag, whole_number
from ..errors import NotApplicable
from ..formula import FormulaModel
from ..formula.errors import FormulaError
from ..formula.syntax import columns_in
from ..formula.variables import as_columns, read
from ..results.observed import attributes_of_rows, classes_told, free_name
from ..rows.table_source import Tables
from ..tables.columns import Numbers
from ..tables.frames import Frame, complete_rows
from .fitted import Fitted
from .new_rows import NewRowExtras, NewRows
from .predictions import Predictor
from .times import Seen


@explained
def replicate(
    posterior: Any,
    data: Any,
    *,
    rows: int = 1000,
    draws: int | None = None,
    family: Any = None,
    extend: bool = False,
    rng: Any = None,
) -> Any:
    """Simulate responses for a random subsample of the rows that a formula was fitted to.

    Parameters
    ----------
    posterior : DataTree
        The result of a target made by `tunamh.regression`.
    data : table
        The data of the fit, or other data with responses. Rows with missing values are left out.
    rows : int
        Size of the random subsample. To use all rows, set it to the number of rows.
    draws : int, optional
        Number of posterior draws to use: evenly spaced, the same number from every chain. Default: at most 1000.
    family : optional
        Your own family (`tunamh.family`) again, because a result does not contain code. It must have ``draw=``.
    extend : bool
        True: return ``posterior`` with these groups added, for ArviZ's functions that need both.
    rng : seed, optional
        The seed of the random subsample and of the simulated responses. By default they differ in every call.

    Returns
    -------
    DataTree
        Groups for ArviZ: ``observed_data``, ``constant_data`` (the columns on the right side of the formula),
        ``posterior_predictive`` (simulated responses) and ``log_likelihood``. The log likelihood includes all
        constants; it is the log likelihood of a single response and does not use the weights. If the classes of the
        response are numbers, the groups have the same numbers. If the classes have names, they are numbered from 0,
        because ArviZ can draw only numbers; the attribute ``classes`` of the variable has the names. The coordinate
        ``row`` has the row numbers of the subsample in the data. The attribute ``rows`` says how many rows the
        subsample and the data have.

    Examples
    --------
    >>> tree = tunamh.replicate(posterior, flights, rows=500, rng=1, extend=True)
    >>> arviz_plots.plot_ppc_dist(tree)
    """
    extend = flag("extend", extend)
    fitted = Fitted.open(posterior, draws, family, by_chain=True)
    groups = replicated(fitted, data, whole_number("rows", rows, 1), rng, (RESPONSES, DENSITIES))[0]
    return _extended(posterior, groups) if extend else groups


def _extended(posterior: Any, groups: Any) -> Any:
    """A result with further groups; those that it has already are replaced."""
    found = posterior.copy()
    for name, group in groups.children.items():
        if name != "posterior":
            found[name] = group.copy()
    return found


def refuse_lost_array(fitted: Fitted, name: str) -> None:
    """Raise `NotApplicable` if weights or trials were an array and not a column of the data.

    Results do not contain such arrays.
    """
    if fitted.formula is not None and name in fitted.formula.arrays:
        raise NotApplicable(
            f"{name} of this model was an array, which a result does not contain: fit the model with the name of a "
            f'column of the data instead, {name}="{name[0]}".'
        )


RESPONSES, DENSITIES = "posterior_predictive", "log_likelihood"


def replicated(
    fitted: Fitted, data: Any, rows: int, rng: Any, wanted: Sequence[str]
) -> tuple[Any, int, np.ndarray | None]:
    """Return the tree, the number of rows from which the subsample was drawn, and the weights of the sampled rows.

    The weights are None if there are none. ``wanted`` names the groups with an entry for every draw and row.
    """
    import xarray

    formula = fitted.formula
    if formula is None:
        raise NotApplicable("tunamh.replicate needs the result of a model that tunamh.regression made from a formula.")
    if fitted.about.get("censored"):
        raise NotApplicable(
            "censored responses cannot be simulated, because the data do not say when a row with an event would "
            "have been censored: compare tunamh.predict(kind='survival') or tunamh.plot_survival with the data."
        )
    refuse_lost_array(fitted, "trials")
    generator = np.random.default_rng(rng)
    some, picked, n_rows = _subsample(formula, data, rows, generator)
    new = NewRows(fitted, some, NewRowExtras(), with_response=True)
    predictor = Predictor(fitted, "error", generator)
    beside = Seen.of(formula, some)
    parts: dict[str, list[np.ndarray]] = {"y": [], RESPONSES: [], DENSITIES: []}
    for chunk in new.chunks(predictor.rows_at_once):
        eta, p = predictor.linear(chunk), predictor.parameters(chunk)
        assert chunk.y is not None
        parts["y"].append(chunk.y)
        if RESPONSES in wanted:
            parts[RESPONSES].append(fitted.responses.draw(generator, eta, p))
        if DENSITIES in wanted:
            shape = len(fitted.picked), chunk.n_rows
            its = beside.part(slice(chunk.first, chunk.first + chunk.n_rows))
            density = its.log_density(fitted.responses, chunk.y, eta, p)
            parts[DENSITIES].append(np.broadcast_to(density, shape))
    name, weighted = free_name(str(formula.response.node)), formula.beside.get("weights")
    weights = None if weighted is None else formula.values(some, list(columns_in(weighted))).numbers(weighted)
    kept = fitted.picked_posterior()
    coords = {"chain": kept["chain"].values, "draw": kept["draw"].values, "row": picked}
    attributes = attributes_of_rows(len(picked), n_rows)
    y, told = _classes(fitted, np.concatenate(parts.pop("y")))
    tree = {
        "posterior": kept,
        "observed_data": xarray.Dataset({name: ("row", y, told)}, {"row": picked}, attributes),
        "constant_data": _constant_data(formula, some, picked, attributes),
    }
    for key, own in parts.items():
        if own:
            values = np.concatenate(own, axis=1).reshape(kept.sizes["chain"], kept.sizes["draw"], -1)
            values, more = _classes(fitted, values) if key == RESPONSES else (values, {})
            tree[key] = xarray.Dataset({name: (("chain", "draw", "row"), values, more)}, coords, attributes)
    return xarray.DataTree.from_dict(tree), n_rows, weights


def _classes(fitted: Fitted, codes: np.ndarray) -> tuple[np.ndarray, dict[str, str]]:
    """Classes that are numbers as the data have them; those with names by number, as ArviZ draws numbers only."""
    classes = fitted.classes
    if classes is None:
        return codes, {}
    numbered = codes.astype(np.int64)
    if classes.dtype.kind == "i":
        return classes[numbered], {}
    return numbered, classes_told(classes.tolist())


def _constant_data(formula: FormulaModel, some: Frame, picked: np.ndarray, attributes: dict[str, Any]) -> Any:
    """The columns of the predictors: numbers as they are, factors by the names of their levels."""
    import xarray

    columns = {}
    for name, one in read(some, formula.predictor_columns).items():
        values = one.values if isinstance(one, Numbers) else np.asarray(one.levels)[one.codes]
        columns[free_name(name)] = ("row", values)
    return xarray.Dataset(columns, {"row": picked}, attributes)


def _subsample(formula: FormulaModel, data: Any, rows: int, rng: np.random.Generator) -> tuple[Frame, np.ndarray, int]:
    """Columns of random rows, their numbers, and how many rows there are without missing values."""
    if isinstance(data, Tables):
        raise NotApplicable(
            "tunamh.replicate does not take tables in blocks: read some of their rows into a data frame."
        )
    table = as_columns(data)
    needed = [*formula.predictor_columns, *columns_in(formula.response.node)]
    needed += [name for node in formula.beside.values() for name in columns_in(node)]
    names = list(dict.fromkeys(needed))
    there = np.flatnonzero(complete_rows(read(table, names), table.n_rows).keep)
    if len(there) == 0:
        raise FormulaError("the data have no rows without missing values.")
    picked = np.sort(rng.choice(there, size=min(rows, len(there)), replace=False))
    return table.take(picked, names), picked, len(there)
