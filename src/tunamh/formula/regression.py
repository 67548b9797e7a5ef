"""The front door of formulas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._arguments import shown
from ..groups import MixedModel
from ..rows.table_source import Tables
from ..targets import GLM
from ..targets.glm import checked_family
from .build import learned_model, regression_of_tables, target_of
from .needed_rows import read_formula, rows_of
from .tables import in_memory, may_be_held
from .variables import as_columns, refuse_unknown

_CHOICES = {"missing": ("error", "drop"), "redundant": ("error", "keep")}


def regression(
    formula: str,
    data: Any,
    *,
    family: Any,
    prior: Any = None,
    weights: Any = None,
    trials: Any = None,
    censored: Any = None,
    predictors: Mapping[str, str] | None = None,
    missing: str = "error",
    redundant: str = "error",
    keep_effects: bool | None = None,
) -> GLM | MixedModel:
    """The target of a formula, to be given to `tunamh.sample`.

    Formulas are parsed by a small reader of their own (docs/formula.md): nothing in them is evaluated as Python.

    Parameters
    ----------
    formula : str
        ``response ~ terms``: columns (odd names in backticks), ``+ - * : / **``, ``C(x)``, ``I(x**2)``, ``log(x)`` and
        other functions, ``offset(log(x))``, ``(1 | group)`` and ``(x | group)``. There is an intercept unless ``0 +``
        says otherwise. Text and categories are coded by level, the first being the reference.
    data : table
        pandas, polars or pyarrow, a dict of arrays, or tables that come in blocks (`tunamh.open_rows`: Parquet files,
        Dask). If the columns of the formula fit into the ``memory`` that these allow, they are read once and held; if
        not, rows are read as often as needed, and group effects and ``predictors`` are refused.
    family : Family
        As `tunamh.GLM` takes it, such as ``tunamh.Logistic()``.
    prior : optional
        A prior for every coefficient but the intercept; or a dict by term, such as
        ``{"distance": Normal(scale=1), "C(carrier)": Normal(scale=2)}``, where what is not named has the default, and
        ``"(1 | carrier)"`` names the scale of group effects. The default is weakly informative, in the units of the
        data: a flat intercept, ``Normal(scale=2.5 u / sd(x))`` for numbers, ``Normal(scale=2.5 u)`` for levels, ``u``
        being the responses' standard deviation where they are real, and 1 behind a link. `tunamh.Flat()` is no prior.
    weights, trials, censored : str or array, optional
        As of `GLM`; a text names a column.
    predictors : dict of formulas, optional
        Of the family's further parameters, such as ``{"scale": "~ distance"}``. ``prior`` names their terms by
        parameter and term, such as ``"scale distance"``; the default is the same, with a proper prior of the intercept.
    missing : "error" or "drop"
        What to do with rows that have a missing value in a column that is needed.
    redundant : "error" or "keep"
        What to do with columns that are sums of others. Kept, they need proper priors.
    keep_effects : bool, optional
        As of `MixedModel`.

    Returns
    -------
    GLM or MixedModel
        Its attribute ``formula`` holds what was learned from the data, its results can be given to `tunamh.predict`.

    Examples
    --------
    >>> flights = tunamh.regression("late ~ distance + C(carrier) + (1 | airport)", table, family=tunamh.Logistic())
    >>> posterior = tunamh.sample(flights, rng=1)
    """
    for name, value in {"missing": missing, "redundant": redundant}.items():
        if value not in _CHOICES[name]:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, _CHOICES[name]))}, got {shown(value)}.")
    checked_family(family)
    beside = {"weights": weights, "trials": trials, "censored": censored}
    in_blocks = isinstance(data, Tables)
    names = list(data.names) if in_blocks else as_columns(data).names
    asked = read_formula(formula, names, beside, predictors)
    refuse_unknown(asked.names, names)
    if in_blocks and not may_be_held(asked, data):
        return regression_of_tables(asked, data, family, prior, missing, redundant)
    data = in_memory(asked, data) if in_blocks else data
    rows = rows_of(asked, data, missing)
    model, spreads, further = learned_model(asked, rows, family)
    return target_of(model, spreads, further, rows, family, prior, redundant, keep_effects)
