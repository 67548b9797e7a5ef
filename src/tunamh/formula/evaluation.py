"""Values of a formula's expressions, by a small interpreter: arithmetic, comparisons and listed functions."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..process.scratch import coded, folder_in_force, large, large_arrays_in, stretches
from ..tables.columns import Column, Factor, Numbers
from .errors import FormulaError, listed
from .functions import ELEMENTWISE, LEARNED, apply_learned
from .syntax import COMPARISONS, Call, Name, Node, Number, Operation, Text, columns_in, spine

_AT_ONCE = 1 << 16
"""Rows of a stretch: designs may have many columns."""

States = Mapping[str, Mapping[str, float]]
"""What functions have learned, by their text."""

_COMPARE = {">": np.greater, "<": np.less, ">=": np.greater_equal, "<=": np.less_equal}
_COMPARE |= {"==": np.equal, "!=": np.not_equal}
_ARITHMETIC: dict[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": np.true_divide,
    "**": lambda base, exponent: np.power(np.asarray(base, dtype=np.float64), exponent),
}


class Values:
    """Values of expressions for some rows of a table.

    ``numbers`` are the row numbers in the table, which errors name. None means that the rows follow each other.
    """

    def __init__(
        self,
        variables: Mapping[str, Column],
        n_rows: int,
        states: States,
        first_row: int = 0,
        numbers: np.ndarray | None = None,
    ):
        self.variables, self.n_rows, self.states = variables, n_rows, states
        self._first_row, self._numbers = first_row, numbers

    def row(self, k: int) -> int:
        """Return the number that row ``k`` has in its table."""
        return self._first_row + (k if self._numbers is None else int(self._numbers[k]))

    def take(self, rows: slice) -> Values:
        """Return the values of the expressions for a slice of the rows."""
        variables = {name: column.take(rows) for name, column in self.variables.items()}
        n_rows = len(range(self.n_rows)[rows])
        if self._numbers is None:
            return Values(variables, n_rows, self.states, self._first_row + rows.start)
        return Values(variables, n_rows, self.states, self._first_row, self._numbers[rows])

    def value(self, node: Node) -> Column:
        """Return the value of an expression, with one entry per row: numbers or a factor."""
        if isinstance(node, Name):
            return self.variables[node.name]
        if isinstance(node, Call) and node.function == "C":
            return self._categorical(node)
        return Numbers(self.numbers(node))

    def numbers(self, node: Node) -> np.ndarray:
        """Return the value of an expression as an array with one finite number per row."""
        known = self.variables[node.name] if isinstance(node, Name) else None
        if isinstance(known, Numbers) and self._is_usable(known):
            return known.values
        return filled(self, lambda part: {"": part._computed(node)})[""]

    def _computed(self, node: Node) -> np.ndarray:
        with np.errstate(all="ignore"):
            found = np.broadcast_to(np.asarray(self._number(node), dtype=np.float64), (self.n_rows,))
        wrong = ~np.isfinite(found)
        if wrong.any():
            row = int(np.argmax(wrong))
            inside = ", ".join(
                f"{name} is {given.values[row]:g}"
                for name in dict.fromkeys(columns_in(node))
                if isinstance(given := self.variables[name], Numbers)
            )
            where = f", where {inside}" if inside else ""
            logarithm = isinstance(node, Call) and node.function in ("log", "log2", "log10") and found[row] == -np.inf
            instead = ": log1p(x) is log(1 + x), and allows zeros" if logarithm else ""
            raise FormulaError(f"{node} is not a finite number in row {self.row(row)}{where}{instead}.")
        return found

    def _is_usable(self, known: Numbers) -> bool:
        values = known.values
        return values.dtype == np.float64 and values.shape == (self.n_rows,) and bool(np.isfinite(known.squares))

    def _number(self, node: Node) -> Any:
        if isinstance(node, Number):
            return node.value
        if isinstance(node, Name):
            found = self.variables[node.name]
            if isinstance(found, Factor):
                shown = listed([repr(level) for level in found.levels], 3)
                raise FormulaError(
                    f"column {node.name} holds text or categories ({shown}), but numbers are needed: convert numbers "
                    f"stored as text first, or compare, as in ({node} == {Text(found.levels[-1])})."
                )
            return found.values
        if isinstance(node, Text):
            raise FormulaError(f"{node} is a text, but a number is needed.")
        if isinstance(node, Call):
            return self._call(node)
        if node.left is None:
            return -self._number(node.right)
        if node.operator in COMPARISONS:
            return self._compared(node)
        first, operations = spine(node, _ARITHMETIC)
        if not operations:
            raise FormulaError(f"{node}: {node.operator} is allowed between terms, not inside arithmetic.")
        found = self._number(first)
        for one in operations:
            found = _ARITHMETIC[one.operator](found, self._number(one.right))
        return found

    def _call(self, node: Call) -> Any:
        if node.function not in ELEMENTWISE and node.function not in (*LEARNED, "I"):
            raise FormulaError(f"{node}: {node.function}(...) is not a number.")
        argument = only_argument(node)
        values = self._number(argument)
        if node.function == "I":
            return values
        if node.function in ELEMENTWISE:
            return ELEMENTWISE[node.function](np.asarray(values, dtype=np.float64))
        return apply_learned(node.function, values, dict(self.states[str(node)]))

    def _compared(self, node: Operation) -> np.ndarray:
        """1 where it holds, else 0; levels are compared with texts by their names."""
        assert node.left is not None
        sides = [node.left, node.right]
        texts = [side for side in sides if isinstance(side, Text)]
        if not texts:
            return _COMPARE[node.operator](self._number(sides[0]), self._number(sides[1])).astype(np.float64)
        other = next((side for side in sides if not isinstance(side, Text)), None)
        if node.operator not in ("==", "!=") or other is None:
            raise FormulaError(f"{node}: a text can only be compared with a column, with == or !=.")
        factor = as_factor(self.value(other))
        level = texts[0].value  # that no row has it is told where nothing varies
        here = factor.codes == (factor.levels.index(level) if level in factor.levels else -1)
        return (here if node.operator == "==" else ~here).astype(np.float64)

    def _categorical(self, node: Call) -> Factor:
        argument = only_argument(node, named=("ref",))
        return as_factor(self.value(argument))


def filled(values: Values, function: Callable[[Values], dict[str, Any]]) -> dict[str, Any]:
    """Return the arrays that ``function`` computes for all rows, with one entry per row. None stays None.

    If large arrays are in files (`tunamh.process.scratch`), the function is called for one stretch of rows after
    another.
    """
    if folder_in_force() is None:
        return function(values)
    found: dict[str, Any] = {}
    for rows in stretches(values.n_rows, _AT_ONCE):
        with large_arrays_in(None):
            parts = function(values.take(rows))
        for name, part in parts.items():
            if name not in found:
                found[name] = None if part is None else large((values.n_rows, *part.shape[1:]), part.dtype)
            if part is not None:
                found[name][rows] = part
    return found


def only_argument(node: Call, named: tuple[str, ...] = ()) -> Node:
    """Return the only argument of a function that takes one expression. Raise `FormulaError` if there are others."""
    unknown = [name for name, _ in node.named if name not in named]
    if unknown:
        known = f"; known is {', '.join(named)}=" if named else ""
        raise FormulaError(f"{node}: {node.function} has no argument {unknown[0]}={known}.")
    if len(node.arguments) != 1:
        hint = " For another base write log2(x), log10(x) or I(log(x) / log(3))." if node.function == "log" else ""
        raise FormulaError(f"{node}: {node.function} takes one expression, got {len(node.arguments)}.{hint}")
    return node.arguments[0]


def reference_of(node: Node) -> str | None:
    """Return the reference level that ``C(x, ref="AA")`` names, or None."""
    for name, value in node.named if isinstance(node, Call) else ():
        if name == "ref":
            if isinstance(value, Text | Number):
                return value.value if isinstance(value, Text) else level_name(value.value)
            raise FormulaError(f'{node}: ref= must be a level, such as ref="AA".')
    return None


def as_factor(found: Column) -> Factor:
    """Return a column of numbers as a factor, whose levels are the sorted numbers."""
    if isinstance(found, Factor):
        return found
    values, codes = coded(found.values)
    return Factor(codes, tuple(level_name(value) for value in values.tolist()))


def level_name(value: float) -> str:
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def learned_calls(node: Node | None) -> list[Call]:
    """Return the calls in an expression of functions that learn numbers from the data, such as a mean.

    Raise `FormulaError` if one such call contains another.
    """
    if isinstance(node, Call):
        inside = [call for one in node.arguments for call in learned_calls(one)]
        if node.function not in LEARNED:
            return inside
        if inside:
            raise FormulaError(f"{node}: {node.function} cannot contain {inside[0].function}.")
        only_argument(node)
        return [node]
    if isinstance(node, Operation):
        first, operations = spine(node)
        sides = [first.right if isinstance(first, Operation) else first, *(one.right for one in operations)]
        return [call for side in sides for call in learned_calls(side)]
    return []
