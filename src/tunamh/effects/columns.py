"""What is known of the columns of a formula: their levels, and their typical values."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property
from typing import Any

from .._arguments import is_meant
from ..formula.errors import FormulaError, listed
from ..formula.evaluation import level_name
from ..formula.model import FormulaModel
from ..formula.right_side import RightSide
from ..formula.syntax import Name, columns_in, label
from ..formula.terms import columns_of
from ..formula.typical import Typical
from ..prediction.fitted import Fitted


def column_name(name: Any) -> str:
    """Return the name of a column without the backticks that a user may have written as in a formula."""
    text = str(name)
    return text[1:-1] if len(text) > 2 and text[0] == text[-1] == "`" else text


class ModelColumns:
    """The columns of a fitted formula.

    ``typical`` are the typical values of the columns: those of the fitted data, or of other data that the user passes.
    """

    def __init__(self, fitted: Fitted, formula: FormulaModel, typical: dict[str, Typical] | None = None):
        self.fitted, self.formula = fitted, formula
        self.typical = dict(formula.typical) if typical is None else typical

    @cached_property
    def predictors(self) -> list[str]:
        """Return the names of the columns in terms. Columns that only name groups are not in the list."""
        names = self.formula.columns_needed(lambda one: False)
        names += [name for one in self.formula.groups for name in columns_of(one.columns.terms)]
        return list(dict.fromkeys(names))

    @cached_property
    def of_groups(self) -> list[str]:
        return list(dict.fromkeys(name for one in self.formula.groups for atom in one.by for name in columns_in(atom)))

    def sides(self) -> Iterator[RightSide]:
        yield self.formula.side
        yield from self.formula.others.values()
        yield from (one.columns for one in self.formula.groups)

    def refuse_unknown(self, name: Any, argument: str) -> None:
        there = list(dict.fromkeys([*self.predictors, *self.of_groups]))
        if name not in there:
            hint = is_meant(str(name), there)
            raise FormulaError(f"{argument}: the formula has no column {name!r}.{hint} It has {listed(there, 20)}.")

    def levels(self, name: str) -> tuple[str, ...] | None:
        """Return the levels of a factor, the reference level first. Return None for a column of numbers."""
        for side in self.sides():
            for term in side.terms.fixed:
                for atom in term:
                    if label(atom) in side.levels and list(columns_in(atom)) == [name]:
                        return side.levels[label(atom)]
        for group in self.fitted.groups:
            if self.formula.groups[group.given].by == (Name(name),) and group.effects is not None:
                return group.levels
        typical = self.typical.get(name)
        if typical is not None and typical.is_factor:
            return typical.levels or (str(typical.value),)
        return () if name in self.of_groups and name not in self.predictors else None

    def typical_value(self, name: str) -> float | str:
        """Return the typical value of a column.

        This is the mean of numbers, the more frequent value of a 0/1 column, and the most frequent level of a factor.
        """
        found = self.known(name)
        if found.is_factor:
            return self.as_written(name, str(found.value))
        return float(float(found.value) > 0.5) if found.labels else float(found.value)

    def known(self, name: str) -> Typical:
        found = self.typical.get(name)
        if found is None:
            raise FormulaError(
                f"this result comes from an older version and does not contain a typical value of {name}: pass the "
                f"data, data=..., or set {name} in conditional=."
            )
        return found

    def as_written(self, name: str, level: str) -> float | str:
        """Return a level as the column contains it: a number if the factor is ``C(month)`` of a column of numbers."""
        levels = self.levels(name) or ()
        is_text = any(Name(name) in term and name in side.levels for side in self.sides() for term in side.terms.fixed)
        if is_text or name in self.of_groups:
            return level
        try:
            return float(level) if all(level_name(float(one)) == one for one in levels) else level
        except ValueError:
            return level
