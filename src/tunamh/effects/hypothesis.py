"""Hypotheses: the probability of a statement about parameters, or about the lines of a table of effects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arguments import explained, shown
from ..errors import NotApplicable
from ..results.group_effects import interval_probability
from .statements import Statement, read_statement
from .statistics import share_above, summarised

if TYPE_CHECKING:
    from .table import EffectsTable

_EQUALITIES = (
    "The posterior is continuous, so the probability of an equality is zero: look at the interval of the left "
    "side minus the right side."
)


@explained
def hypothesis(posterior: Any, statements: Any, *, ci_prob: float | None = None) -> EffectsTable:
    """Return the posterior probability of statements about parameters or effects.

    Parameters
    ----------
    posterior : DataTree or EffectsTable
        A result of `tunamh.sample`, or a table of `tunamh.predictions`, `comparisons` or `slopes`. In a statement, the
        lines of the table have the names ``b0``, ``b1``, ... (``b`` and the index of the line).
    statements : str or list of str
        Statements such as ``"distance > 0"``, ``"carrier[UA] - carrier[DL] = 0"``, ``"exp(distance) > 1.1"``.
        Parameters have the names of `tunamh.summary`. You can use numbers, ``+ - * / **``, parentheses, ``exp``,
        ``log``, ``sqrt``, ``abs``, ``expit``, and one comparison. A text without a comparison is a quantity, and the
        table describes its posterior.
    ci_prob : float, optional
        The probability of the central intervals. Default: ArviZ's, 0.89.

    Returns
    -------
    EffectsTable
        One line for each statement. ``mean``, ``sd`` and the interval describe the posterior of the left side minus the
        right side. ``p_positive`` is the probability that this difference is positive. ``probability`` is the
        probability that the statement is true (NaN for equalities and quantities). ``draws`` has the draws of the
        differences.

    Examples
    --------
    >>> tunamh.hypothesis(posterior, ["distance > 0", "carrier[UA] = carrier[DL]"])
    >>> table = tunamh.comparisons(posterior, flights, "carrier", average_by=True)
    >>> tunamh.hypothesis(table, "b0 > b1")
    """
    from .table import effects_table

    asked = [statements] if isinstance(statements, str) else list(statements)
    if not asked:
        raise ValueError('pass a statement, such as "distance > 0".')
    variables = _variables(posterior)
    found = [read_statement(one, variables) for one in asked]
    shape = next(iter(variables.values())).shape[:2]
    draws = np.stack([np.broadcast_to(one.difference, shape) for one in found], axis=-1)
    numbers = summarised(draws, interval_probability(ci_prob))
    numbers["p_positive"] = share_above(draws, 0.0)
    numbers["probability"] = np.array([one.holds() for one in found])
    labels = {"hypothesis": [one.text for one in found]}
    return effects_table(labels, numbers, draws, kind="hypothesis", notes=_notes(found))


def _notes(found: list[Statement]) -> list[str]:
    return [_EQUALITIES] if any(one.sign in ("=", "==") for one in found) else []


def _variables(posterior: Any) -> Mapping[str, Any]:
    """Arrays with chain and draw first, by name."""
    from .table import EffectsTable

    if isinstance(posterior, EffectsTable):
        draws = posterior.draws
        return {f"b{line}": draws.isel(line=k) for k, line in enumerate(draws["line"].values.tolist())}
    try:
        variables = posterior["posterior"].data_vars
    except (TypeError, LookupError, AttributeError, ValueError):
        raise NotApplicable(
            f"tunamh.hypothesis needs the result of tunamh.sample or a table of effects, got {shown(posterior)}."
        ) from None
    return {
        str(name): values.transpose("chain", "draw", ...)
        for name, values in variables.items()
        if {"chain", "draw"} <= set(values.dims)
    }
