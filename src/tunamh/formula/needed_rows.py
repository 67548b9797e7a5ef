"""A formula and a table, read: expressions, and the rows of which nothing that is needed is missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from .._arguments import shown
from ..tables.matrices import aligned, as_vector
from .columns import Variable
from .errors import FormulaError
from .evaluate import Values
from .left_side import left_side
from .parse import parse, parse_expression
from .syntax import Name, Node, columns_in
from .terms import Terms, columns_of, terms_of
from .variables import as_columns, read, rows_in


class Read(NamedTuple):
    """A formula, read: expressions, not yet of any rows. ``arrays`` are what was given beside as arrays."""

    text: str
    response: Node
    right: Terms
    beside: dict[str, Node]
    arrays: dict[str, Any]
    others: dict[str, Terms]

    @property
    def names(self) -> list[str]:
        nodes = [self.response, *self.beside.values()]
        found = [name for node in nodes for name in columns_in(node)] + columns_of(self.right)
        return list(dict.fromkeys(found + [name for terms in self.others.values() for name in columns_of(terms)]))


def read_formula(formula: str, columns: Mapping[str, Any], beside: dict[str, Any], predictors: Any) -> Read:
    parsed = parse(formula)
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
    right = terms_of(parsed.right, [name for name in columns if name not in used])
    if any(term == (left.response,) for term in right.fixed):
        raise FormulaError(f"the response {left.response} stands among the terms, too: it would explain itself.")
    if "." in used or "." in columns_of(right):
        raise FormulaError("'.' stands for all other columns, and is a term of its own.")
    return Read(" ".join(formula.split()), left.response, right, named, arrays, _others(predictors))


def _others(predictors: Any) -> dict[str, Terms]:
    if predictors is None:
        return {}
    if not isinstance(predictors, Mapping) or not all(isinstance(text, str) for text in predictors.values()):
        raise TypeError(f'predictors must be a dict of formulas, such as {{"scale": "~ x"}}, got {shown(predictors)}.')
    found = {}
    for name, text in predictors.items():
        parsed = parse(text if "~" in text else f"~ {text}")
        terms = terms_of(parsed.right)
        if parsed.left is not None or terms.groups or terms.offsets:
            raise FormulaError(f"predictors[{name!r}] = {text!r}: it has columns only, as in '~ x + z'.")
        found[str(name)] = terms
    return found


class RowsOf(NamedTuple):
    """Rows without missing values: their columns, numbers in the table, and what was given beside as arrays."""

    variables: dict[str, Variable]
    n_rows: int
    numbers: np.ndarray | None
    arrays: dict[str, Any]
    dropped: int

    def values(self, states: Any) -> Values:
        return Values(self.variables, self.n_rows, states, numbers=self.numbers)


def rows_of(asked: Read, data: Any, missing: str) -> RowsOf:
    columns = as_columns(data)
    n_rows = rows_in(columns)
    variables = read(columns, asked.names)
    if n_rows == 0:
        raise FormulaError("the data have no rows.")
    arrays = dict(zip(asked.arrays, aligned(data, "the data", **asked.arrays), strict=True))
    arrays = {name: _one_per_row(name, given, n_rows) for name, given in arrays.items()}
    holes = {name: int(one.missing.sum()) for name, one in variables.items() if one.missing.any()}
    if not holes:
        return RowsOf(variables, n_rows, None, arrays, 0)
    gone = np.any([variables[name].missing for name in holes], axis=0)
    if missing == "error":
        raise FormulaError(missing_told(holes, int(gone.sum()), n_rows, int(np.argmax(gone))))
    if gone.all():
        raise FormulaError(f"every row has a missing value (in {', '.join(holes)}): no rows are left.")
    keep = ~gone
    kept = {name: one.take(keep) for name, one in variables.items()}
    arrays = {name: given[keep] for name, given in arrays.items()}
    return RowsOf(kept, int(keep.sum()), np.flatnonzero(keep), arrays, int(gone.sum()))


def _one_per_row(name: str, given: Any, n_rows: int) -> np.ndarray:
    if isinstance(given, int | float | np.integer | np.floating) and not isinstance(given, bool):
        return np.full(n_rows, float(given))
    return as_vector(given, name, n_rows)


def missing_told(holes: Mapping[str, int], gone: int, n_rows: int, first: int | None = None) -> str:
    told = ", ".join(f"{name} ({count:,} row{'s' * (count > 1)})" for name, count in holes.items())
    where = "" if first is None else f", the first in row {first}"
    return (
        f'values are missing in {told}{where}: say missing="drop" to leave the {gone:,} of {n_rows:,} rows out, or '
        "fill them first."
    )
