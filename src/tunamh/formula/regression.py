"""The front door of formulas."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._arguments import explained, shown
from ..groups import MixedModel
from ..process.scratch import large_arrays_in
from ..rows.pieces import has_cache
from ..rows.table_source import Tables
from ..targets import GLM
from ..targets.families.registry import as_family
from .errors import FormulaError
from .living_columns import ModelAsked
from .living_tables import regression_of_living
from .needed_rows import read_formula, refuse_keep_effects, rows_of
from .result_names import by_own_names
from .tables import folder_of, may_be_held, rows_of_tables
from .target import default_family, learned_model, regression_of_tables, target_of
from .variables import as_columns, refuse_unknown

_CHOICES = {"missing": ("error", "drop"), "redundant": ("error", "keep")}


@explained
def regression(
    formula: str,
    data: Any,
    *,
    family: Any = None,
    prior: Any = None,
    weights: Any = None,
    trials: Any = None,
    censored: Any = None,
    event: Any = None,
    predictors: Mapping[str, str] | None = None,
    missing: str = "error",
    redundant: str = "error",
    keep_effects: bool | None = None,
) -> GLM | MixedModel:
    """Return the model that a formula describes: a target for `tunamh.sample`.

    A small parser reads the formula (docs/formula.md). No part of the formula is run as Python code.

    Parameters
    ----------
    formula : str
        ``response ~ terms``. Terms are columns (unusual names in backticks), ``+ - * : / **``, ``C(x)``, ``I(x**2)``,
        ``log(x)`` and other functions, ``offset(log(x))``, ``(1 | group)`` and ``(x | group)``. There is an intercept
        unless the formula has ``0 +``. Text and categories are factors; the first level is the reference.
    data : table
        A pandas, polars or pyarrow table, a dict of arrays, or tables in blocks (`tunamh.open_rows`: Parquet files,
        Dask). If the columns of the formula fit into the ``memory`` of `open_rows`, they are read once. If not, every
        pass reads them again, and group effects and ``predictors`` raise an error.
    family : Family or str, optional
        The distribution of the response, such as ``tunamh.Logistic()`` or ``"logistic"``; see `tunamh.GLM`. The default
        is ``tunamh.Gaussian()`` for a numeric response. If the response has only two values, you must set the family.
    prior : optional
        One prior for all coefficients except the intercept; or a dict with a prior for each term, such as
        ``{"distance": Normal(scale=1), "C(carrier)": Normal(scale=2)}``. In the dict the key ``"(1 | carrier)"`` means
        the scale of group effects. The key ``"correlation (x | carrier)"`` means their correlations; its value is the
        number ``eta`` of the LKJ prior. The key ``"covariance (1 | animal)"`` means a known matrix of covariances among
        the levels (docs/groups.md). Terms without a key keep their default prior. The default is weakly informative
        (docs/priors.md): ``Normal(scale=2.5 u / sd(x))`` for numeric columns, ``Normal(scale=2.5 u)`` for levels, and
        for the intercept a wide normal prior around the mean of the response. ``u`` is the standard deviation of a real
        response, and 1 for families with a link. `tunamh.Flat()` means no prior.
    weights, trials, censored, event : str or array, optional
        The same arguments as for `GLM`; a string is the name of a column.
    predictors : dict of formulas, optional
        Formulas for other parameters of the family. The key is the name of the parameter, the value is its formula:
        ``{"scale": "~ distance"}``. In ``prior``, the key of a term in these formulas is the name of the parameter and
        the term: ``"scale distance"``. The intercepts of these formulas have a proper default prior.
    missing : "error" or "drop"
        ``"error"`` raises an error for missing values in the columns of the formula. ``"drop"`` leaves out the rows
        with missing values.
    redundant : "error" or "keep"
        ``"error"`` raises an error for columns that are linear combinations of other columns. ``"keep"`` keeps these
        columns; then their priors must be proper.
    keep_effects : bool, optional
        The same argument as for `MixedModel`. It raises an error if the model has no group effects.

    Returns
    -------
    GLM or MixedModel
        The target. Its attribute ``formula`` has the levels, means and reference levels of the data. Pass the target to
        `tunamh.sample`; `tunamh.predict` takes the result of `tunamh.sample`.

    Examples
    --------
    >>> flights = tunamh.regression("late ~ distance + C(carrier) + (1 | airport)", table, family=tunamh.Logistic())
    >>> posterior = tunamh.sample(flights, rng=1)
    """
    for name, value in {"missing": missing, "redundant": redundant}.items():
        if value not in _CHOICES[name]:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, _CHOICES[name]))}, got {shown(value)}.")
    family = None if family is None else as_family(family)
    beside = {"weights": weights, "trials": trials, "censored": censored, "event": event}
    columns = () if family is None else family.data_columns
    predictors = by_own_names(predictors, () if family is None else family.described)
    in_blocks = isinstance(data, Tables)
    names = list(data.names) if in_blocks else as_columns(data).names
    asked = read_formula(formula, names, beside, predictors, columns)
    refuse_unknown(asked.names, names, asked.text)
    refuse_keep_effects(asked, keep_effects)
    if has_cache(data):
        wanted = ModelAsked(family, prior, missing, redundant, keep_effects)
        return regression_of_living(asked, data, wanted)
    if in_blocks and not may_be_held(asked, data, in_files=True):
        if family is None:
            raise FormulaError(
                "rows that do not fit into memory need a family: set family=, such as tunamh.Gaussian()."
            )
        return regression_of_tables(asked, data, family, prior, missing, redundant)
    folder = folder_of(asked, data) if in_blocks else None
    with large_arrays_in(folder):
        rows = rows_of_tables(asked, data, missing) if in_blocks else rows_of(asked, data, missing)
        family = default_family(asked, rows) if family is None else family
        model, learned, further = learned_model(asked, rows, family)
        return target_of(model, learned, further, rows, family, prior, redundant, keep_effects)
