"""A formula and a table, read: expressions, and the rows of which nothing that is needed is missing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._arguments import shown
from ..errors import Text
from ..tables.frames import CompleteRows, complete_rows, places_of
from ..tables.matrices import aligned, as_vector
from ..targets.observations.observed import some_rows
from .errors import FormulaError
from .evaluation import Values
from .left_side import left_side
from .parser import parse, parse_expression
from .syntax import Name, Node, Operation, columns_in
from .terms import Terms, columns_of, terms_of
from .variables import as_columns, in_backticks, read


class Read(NamedTuple):
    """A formula after parsing: its expressions, which have not met any rows yet.

    ``arrays`` are the arguments, such as weights, that the user passed as arrays.
    """

    text: str
    response: Node
    right: Terms
    beside: dict[str, Node]
    arrays: dict[str, Any]
    others: dict[str, Terms]
    data_columns: tuple[str, ...] = ()
    """Columns that a user's own energy is given as they are."""

    @property
    def further(self) -> list[Terms]:
        """Return the right sides of further predictors, and the columns of an energy in the form of terms."""
        columns = tuple((Name(name),) for name in self.data_columns)
        return [*self.others.values(), Terms(fixed=columns, intercept=False)]

    @property
    def names(self) -> list[str]:
        nodes = [self.response, *self.beside.values()]
        found = [name for node in nodes for name in columns_in(node)] + columns_of(self.right)
        found += self.data_columns
        return list(dict.fromkeys(found + [name for terms in self.others.values() for name in columns_of(terms)]))


def read_formula(
    formula: str, columns: Sequence[str], beside: dict[str, Any], predictors: Any, data_columns: tuple[str, ...] = ()
) -> Read:
    try:
        parsed = parse(formula)
    except FormulaError as error:
        raise FormulaError(f"{error}{in_backticks(formula, columns)}") from None
    if isinstance(parsed.right, Operation) and parsed.right.operator in ("|", "||"):
        refuse_open_bar(formula, parsed.right)
    left = left_side(parsed.left)
    named, arrays = dict(left.beside), {}
    for name, given in beside.items():
        if isinstance(given, str):
            named[name] = Name(given) if given in columns else parse_expression(given)
        elif given is not None:
            arrays[name] = given
    used = {name for node in (left.response, *named.values()) for name in columns_in(node)}
    plain = terms_of(parsed.right, [])
    used |= {name for group in plain.groups for atom in group.by for name in columns_in(atom)}
    used |= set(data_columns)
    right = terms_of(parsed.right, [name for name in columns if name not in used])
    if any(term == (left.response,) for term in right.fixed):
        raise FormulaError(f"the response {left.response} is also a term: remove it from the right side.")
    if "." in used or "." in columns_of(right):
        raise FormulaError("'.' means all other columns, so it must be a term by itself.")
    return Read(" ".join(formula.split()), left.response, right, named, arrays, further_sides(predictors), data_columns)


def refuse_open_bar(formula: str, right: Operation) -> None:
    """Raise an error for ``x + 1 | g`` without parentheses: the bar would take all terms before it.

    Then no term would have a common coefficient.
    """
    if not formula.partition("~")[2].strip().startswith("("):
        raise FormulaError(
            f"{right}: group effects are written in parentheses, such as x + (1 | group): without them the bar takes "
            "all terms before it."
        )


def further_sides(predictors: Any) -> dict[str, Terms]:
    if predictors is None:
        return {}
    if not isinstance(predictors, Mapping) or not all(isinstance(text, str) for text in predictors.values()):
        raise TypeError(f'predictors must be a dict of formulas, such as {{"scale": "~ x"}}, got {shown(predictors)}.')
    found = {}
    for name, text in predictors.items():
        parsed = parse(text if "~" in text else f"~ {text}")
        terms = terms_of(parsed.right)
        if parsed.left is not None or terms.offsets or terms.strata:
            raise FormulaError(
                f"predictors[{name!r}] = {text!r}: it can have only columns and group effects, as in '~ x + (1 | g)'."
            )
        found[str(name)] = terms
    return found


class RowsOf(NamedTuple):
    """Rows without missing values, and the arguments that the user passed as arrays.

    ``known`` maps a factor, as it is written in the formula, to levels that keep their order; new levels come after
    them.
    """

    complete: CompleteRows
    arrays: dict[str, Any]
    known: Mapping[str, Sequence[str]] = {}

    @property
    def dropped(self) -> int:
        return self.complete.lost

    def values(self, states: Any) -> Values:
        return values_of(self.complete, states)

    def places_of_some(self) -> np.ndarray | None:
        """Return the row numbers of `some_rows` in the table, or None if no row was left out."""
        return places_of(self.complete.keep)[some_rows(self.complete.n_rows)] if self.dropped else None


def values_of(complete: CompleteRows, states: Any, first_row: int = 0) -> Values:
    return Values(complete.columns, complete.n_rows, states, first_row, complete.numbers)


def rows_of(asked: Read, data: Any, missing: str) -> RowsOf:
    table = as_columns(data)
    return rows_of_complete(asked, complete_rows(read(table, asked.names), table.n_rows), data, missing)


def rows_of_complete(asked: Read, found: CompleteRows, data: Any, missing: str) -> RowsOf:
    """Return the `RowsOf` of rows whose missing values have been found already."""
    n_rows = len(found.keep)
    if n_rows == 0:
        raise FormulaError("the data have no rows.")
    arrays = dict(zip(asked.arrays, aligned(data, "the data", **asked.arrays), strict=True))
    arrays = {name: _one_per_row(name, given, n_rows) for name, given in arrays.items()}
    if found.holes and missing == "error":
        raise FormulaError(missing_told(found.holes, found.lost, n_rows, int(np.argmin(found.keep))))
    if found.n_rows == 0:
        raise FormulaError(f"every row has a missing value (in {', '.join(found.holes)}): no rows are left.")
    return RowsOf(found, {name: given[found.keep] for name, given in arrays.items()} if found.holes else arrays)


def _one_per_row(name: str, given: Any, n_rows: int) -> np.ndarray:
    if isinstance(given, int | float | np.integer | np.floating) and not isinstance(given, bool):
        return np.full(n_rows, float(given))
    return as_vector(given, name, n_rows)


def missing_told(holes: Mapping[str, int], gone: int, n_rows: int, first: int | None = None) -> str:
    told = ", ".join(f"{name} ({count:,} row{'s' * (count > 1)})" for name, count in holes.items())
    where = "" if first is None else f", the first in row {first}"
    return Text.of(
        f"values are missing in {told}{where}: set ",
        ('missing="drop"', "--missing drop"),
        f" to leave out these {gone:,} of {n_rows:,} rows, or fill in the values.",
    )


def refuse_keep_effects(asked: Read, keep_effects: bool | None) -> None:
    """Raise an error if the user passes ``keep_effects`` and the formula has no groups."""
    if keep_effects is not None and not any(terms.groups for terms in (asked.right, *asked.others.values())):
        raise FormulaError(
            f"keep_effects={keep_effects} says whether draws of group effects are kept, and the formula has no group "
            "effects: leave keep_effects= out, or add a term such as (1 | group)."
        )
