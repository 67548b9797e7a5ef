"""Models that are not linear: an energy of several predictors, each of which has a formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from .._arguments import explained, shown
from ..errors import NotApplicable
from ..groups import MixedModel
from ..process.scratch import large_arrays_in
from ..rows.pieces import has_cache
from ..rows.table_source import Tables
from ..targets import GLM
from ..targets.families.energy_arguments import MOST_PREDICTORS, Arguments, signature_of
from ..targets.families.energy_functions import likelihood_of
from ..targets.families.nonlinear import NamedResponses, NonlinearFamily
from .errors import FormulaError, listed
from .needed_rows import Read, RowsOf, further_sides, refuse_keep_effects, rows_of
from .syntax import Name, Node
from .tables import folder_of, may_be_held, rows_of_tables
from .target import learned_model, target_of
from .terms import Terms
from .variable_parts import FAMILY_NAMES
from .variables import as_columns, refuse_unknown

_ROWS_TRIED = 16  # at which an energy is looked at before anything else


@explained
def nonlinear(
    energy: Callable[..., Any],
    data: Any,
    predictors: Mapping[str, str],
    *,
    prior: Mapping[str, Any] | None = None,
    response: str | None = None,
    weights: Any = None,
    mean: Callable[..., Any] | None = None,
    draw: Callable[..., Any] | None = None,
    convex: bool | None = None,
    missing: str = "error",
    keep_effects: bool | None = None,
    name: str | None = None,
) -> GLM | MixedModel:
    """Return the target of a nonlinear model, for `tunamh.sample`.

    The likelihood is your own function, for example of a curve. Each parameter of the function has a formula.

    Parameters
    ----------
    energy : function such as ``energy(top, log_ed50, log_sigma, y, dose)``
        Minus the log-likelihood of one row. The name of each argument is a name in ``predictors`` (then the argument is
        this linear predictor) or the name of a column of the data. Use functions of NumPy and `scipy.special`, without
        branches (docs/nonlinear.md).
    data : table
        A pandas, polars or pyarrow table, a dict of arrays, or tables in blocks whose columns fit into memory.
    predictors : dict of formulas
        One to eight linear predictors with their formulas, such as ``{"top": "~ weight", "log_ed50": "~ 1 + (1 |
        batch)", "log_sigma": "~ 1"}``. A linear predictor can be any real number, so use the logarithm of a positive
        parameter.
    prior : dict of priors, optional
        The priors. The key is the name of a predictor and a term, the value is the prior: ``{"top": Normal(mean=100,
        scale=50), "top weight": Normal(scale=2)}``. The name of a predictor alone means its intercept. Default:
        ``Normal(scale=2.5)`` for an intercept (the value of the predictor for a row in which every column has its
        mean); ``Normal(scale=2.5 / sd(x))`` for numeric columns and ``Normal(scale=2.5)`` for levels. tunamh does not
        know the units of a predictor: give a prior to every predictor that may be far from 0.
    response : str, optional
        The column that is the response, for prediction. Default: the first argument of ``energy`` that is a column.
    weights : str or array, optional
        Numbers that multiply the energies of the rows; a string is the name of a column.
    mean : function such as ``mean(top, log_ed50, dose)``, optional
        The mean of a response, for `tunamh.predict`; its arguments are predictors and columns by their names.
    draw : function such as ``draw(rng, top, log_ed50, log_sigma, dose)``, optional
        A function that simulates responses, for ``tunamh.predict(kind="response")`` and `tunamh.replicate`.
    convex : bool, optional
        True if the energy is convex in its predictors. Then tunamh does not search for several modes. By default it
        searches for them.
    missing : "error" or "drop"
        The same argument as for `tunamh.regression`.
    keep_effects : bool, optional
        The same argument as for `MixedModel`. It raises an error if the model has no group effects.
    name : str, optional
        The name of the model. Default: the name of the function.

    Returns
    -------
    GLM or MixedModel
        The target. Results have a variable for every predictor and term, such as ``top_Intercept`` and ``top_weight``.
        For `tunamh.predict` and `tunamh.loo`, pass the attribute ``user_family`` of the target as ``family=``.

    Raises
    ------
    tunamh.jets.CannotBound
        The energy has an operation for which no bound is known; the message names it and its line.

    Examples
    --------
    >>> def hill(top, log_ed50, log_sigma, y, dose):
    ...     curve = top * dose / (np.exp(log_ed50) + dose)
    ...     return log_sigma + 0.5 * ((y - curve) * np.exp(-log_sigma)) ** 2
    >>> formulas = {"top": "~ weight", "log_ed50": "~ 1", "log_sigma": "~ 1"}
    >>> posterior = tunamh.sample(tunamh.nonlinear(hill, table, formulas), rng=1)
    """
    if missing not in ("error", "drop"):
        raise ValueError(f"missing must be one of 'error', 'drop', got {shown(missing)}.")
    in_blocks = isinstance(data, Tables)
    if has_cache(data):
        raise NotApplicable("rows that were opened with cache= are for regressions: open them without cache=.")
    names = list(data.names) if in_blocks else as_columns(data).names
    sides = further_sides(predictors)
    arguments = _arguments(energy, sides, names, response)
    asked = _read(arguments, sides, predictors, weights)
    refuse_unknown(asked.names, names)
    refuse_keep_effects(asked, keep_effects)
    if in_blocks and not may_be_held(asked, data, in_files=True):
        raise NotApplicable("the columns of a model that is not linear must fit into memory.")
    with large_arrays_in(folder_of(asked, data) if in_blocks else None):
        rows = rows_of_tables(asked, data, missing) if in_blocks else rows_of(asked, data, missing)
        some = _some(rows, arguments)
        likelihood = likelihood_of(energy, arguments, convex=convex, name=name, rows=some, alone=False)
        responses = NamedResponses(likelihood.formula, (*arguments.predictors, *arguments.known), mean, draw)
        family = NonlinearFamily(likelihood, {}, responses)
        model, learned, further = learned_model(asked, rows, family)
        priors = _priors(prior, arguments)
        return target_of(model, learned, further, rows, family, priors, "error", keep_effects)


def _arguments(energy: Any, sides: Mapping[str, Any], columns: Sequence[str], response: str | None) -> Arguments:
    """Which arguments are predictors, and which are columns."""
    given = signature_of(energy)
    call = f"energy({', '.join(given)})"
    if not 1 <= len(sides) <= MOST_PREDICTORS:
        raise FormulaError(f"predictors must be one to eight formulas, got {len(sides)}.")
    absent = [one for one in sides if one not in given]
    if absent:
        raise FormulaError(f"predictors names {absent[0]!r}, which is no argument of {call}.")
    taken = [one for one in sides if one in FAMILY_NAMES]
    if taken:
        raise FormulaError(
            f"{taken[0]!r} is what families call a positive parameter, and a predictor is any real number: call it "
            f"log_{taken[0]}, say."
        )
    both = [one for one in sides if one in columns]
    if both:
        raise FormulaError(f"{both[0]!r} is a predictor and a column of the data: rename one of them.")
    unknown = [one for one in given if one not in sides and one not in columns]
    if unknown:
        raise FormulaError(
            f"{call} has the argument {unknown[0]!r}, which is neither a predictor ({listed(list(sides))}) nor a "
            f"column of the data ({listed(list(columns), 20)})."
        )
    data = [one for one in given if one not in sides]
    if not data:
        raise FormulaError(f"{call} has no column of the data among its arguments, so it does not depend on the data.")
    if response is not None and response not in data:
        raise FormulaError(f"response={response!r} is no column among the arguments of {call}.")
    y = data[0] if response is None else response
    known = tuple(one for one in data if one != y)
    return Arguments(tuple(sides), known, y, given)


def _read(arguments: Arguments, sides: Any, predictors: Mapping[str, str], weights: Any) -> Read:
    """As if it had been read from a formula without columns of its own."""
    text = "; ".join(f"{one} {' '.join(formula.split())}" for one, formula in predictors.items())
    beside: dict[str, Node] = {}
    arrays: dict[str, Any] = {}
    if isinstance(weights, str):
        beside["weights"] = Name(weights)
    elif weights is not None:
        arrays["weights"] = weights
    none = Terms(intercept=False)
    return Read(text, Name(arguments.response), none, beside, arrays, dict(sides), arguments.known)


def _some(rows: RowsOf, arguments: Arguments) -> np.ndarray:
    """Columns and responses of a few rows, which are spread over the data."""
    values, n = rows.values({}), rows.complete.n_rows
    some = np.linspace(0, n - 1, min(n, _ROWS_TRIED)).astype(int)
    return np.array([values.numbers(Name(one))[some] for one in (*arguments.known, arguments.response)])


def _priors(given: Any, arguments: Arguments) -> dict[str, Any] | None:
    """With the name of a predictor for its intercept."""
    if given is None:
        return None
    if not isinstance(given, Mapping):
        raise TypeError(
            f'prior must be a dict by predictor and term, such as {{"{arguments.predictors[0]}": '
            f"tunamh.Normal(mean=10, scale=5)}}, got {shown(given)}."
        )
    names = arguments.predictors
    for key in map(str, given):
        if not any(key == one or key.startswith((f"{one} ", f"{one}_")) for one in names):
            raise FormulaError(
                f"prior names {key!r}, which belongs to no predictor: write the predictor and then the term, as in "
                f'"{names[0]}" (its intercept) or "{names[0]} weight"; the predictors are {listed(list(names))}.'
            )
    return {f"{one} Intercept" if one in names else str(one): prior for one, prior in given.items()}
