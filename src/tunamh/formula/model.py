"""A formula with all that was learned from the data: how rows become what a target takes, and the same as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..process.scratch import coded, large
from ..results.layout import Layout, Variables
from ..tables.columns import Factor
from .errors import FormulaError
from .evaluation import Values, as_factor, filled
from .left_side import Response
from .parser import parse_expression
from .result_names import layout
from .right_side import RightSide, known_codes
from .strata import Strata
from .syntax import Node, columns_in, label
from .terms import Term, columns_of, term_label, terms_of
from .typical import Typical
from .variables import as_columns, read

VERSION = 1


@dataclass(frozen=True)
class GroupSide:
    """A group term ``(columns | by)``: every level of ``by`` has an effect for each column.

    ``name`` is the name of the factor in results. ``of`` is the parameter whose predictor contains the term (None: the
    main predictor).
    """

    name: str
    by: Term
    columns: RightSide
    of: str | None = None

    @property
    def term(self) -> str:
        """Return the name of the factor without the name of its predictor."""
        return self.name if self.of is None else self.name.removeprefix(f"{self.of}_")

    def labels(self, values: Values) -> Factor:
        """Return the group of every row as a factor. Levels of products of factors have names such as ``a:b``."""
        factors = [as_factor(values.value(atom)) for atom in self.by]
        found = factors[0]
        for one in factors[1:]:
            pair = large(len(one), np.int64)
            np.multiply(found.codes, len(one.levels), out=pair)
            pair += one.codes
            used, codes = coded(pair)
            pairs = [divmod(int(k), len(one.levels)) for k in used]
            found = Factor(codes, tuple(f"{found.levels[a]}:{one.levels[b]}" for a, b in pairs))
        return found

    def to_json(self) -> dict[str, Any]:
        found = {"name": self.name, "by": ":".join(map(str, self.by)), "columns": self.columns.to_json()}
        return found if self.of is None else {**found, "of": self.of}

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> GroupSide:
        (by,) = terms_of(parse_expression(str(found["by"]))).fixed
        of = None if found.get("of") is None else str(found["of"])
        return cls(str(found["name"]), by, RightSide.from_json(found["columns"]), of)


@dataclass(frozen=True, repr=False)
class FormulaModel:
    """A formula together with what it has learned from the data: levels, means, knots. Results contain it.

    Parameters
    ----------
    formula : str
        The formula as it was typed.
    response, side : Response, RightSide
        The left side and the right side of the formula, with the levels and other numbers of the data.
    offsets : tuple
        The expressions of the offsets.
    groups : tuple
        The group terms, such as ``(1 | airport)``.
    others : dict
        The right sides of the formulas in ``predictors=``, by the names of the parameters.
    beside : dict
        The expressions of those of ``trials``, ``weights`` and ``censored`` that are columns.
    dropped : int
        The number of rows with missing values that were left out.
    arrays : tuple of str
        Which of ``trials``, ``weights`` and ``censored`` were arrays. Results do not contain these arrays.
    typical : dict
        Typical values of the columns, for predictions.
    strata : Strata or None
        The strata of a `PiecewiseExponential` model.
    data_columns : tuple of str
        The columns of the data that are arguments of your own energy function, as in `tunamh.nonlinear`.
    """

    formula: str
    response: Response
    side: RightSide
    offsets: tuple[Node, ...] = ()
    groups: tuple[GroupSide, ...] = ()
    others: Mapping[str, RightSide] = field(default_factory=dict)
    beside: Mapping[str, Node] = field(default_factory=dict)
    dropped: int = 0
    """Rows with missing values that were left out."""
    arrays: tuple[str, ...] = ()
    """Which of trials, weights and censoring were arrays: results do not keep them."""
    typical: Mapping[str, Typical] = field(default_factory=dict)
    """What the columns of the data were like."""
    strata: Strata | None = None
    """Rows with log hazards of their own."""
    data_columns: tuple[str, ...] = ()
    """Columns that a user's own energy is given as they are."""

    def __str__(self) -> str:
        """The formula as it was typed."""
        return self.formula

    def __repr__(self) -> str:
        return f"FormulaModel({self.formula!r})"

    def described(self, target: Any) -> str:
        """Return a text of several lines that describes ``target``, a target made from this formula."""
        from .description import described

        return described(self, target)

    def remarks(self, n_rows: int) -> list[str]:
        """Return a list of sentences for the user: how many rows are left out, and which class is 1.

        ``n_rows`` is the number of the rows that remain.
        """
        dropped = f"{self.dropped:,} of {self.dropped + n_rows:,} rows have missing values and are left out"
        told = self.response.told if self.response.labels and self.response.levels else ""
        found = [dropped if self.dropped else "", told]
        return ["; ".join(filter(None, found))] if any(found) else []

    def layout(self, variables: Variables, groupings: Sequence[Any]) -> Layout:
        """Return the names of the variables of the results: one variable for every term."""
        return layout(self, variables, groupings)

    @property
    def factors(self) -> list[str]:
        """Return the name of the factor of every group term, a list."""
        return [term_label(one.by) for one in self.groups]

    @property
    def predictor_columns(self) -> list[str]:
        """Return the names of the columns that new rows must have."""
        return self.columns_needed(lambda one: True)

    def columns_needed(self, counts: Callable[[GroupSide], bool]) -> list[str]:
        """Return the names of the columns that new rows must have, if predictions use only some of the group effects.

        ``counts`` is a function of a group term. It returns True if predictions use the effects of this term.
        """
        names = columns_of(self.side.terms)
        for one in filter(counts, self.groups):
            names += [name for atom in one.by for name in columns_in(atom)] + columns_of(one.columns.terms)
        for side in self.others.values():
            names += columns_of(side.terms)
        names += [] if self.strata is None else self.strata.columns
        names += self.data_columns
        return list(dict.fromkeys([*names, *(name for node in self.offsets for name in columns_in(node))]))

    @property
    def states(self) -> dict[str, Mapping[str, float]]:
        """Return what the functions of the formula have learned from the data, such as means: a dict of dicts."""
        sides = [self.side, *(one.columns for one in self.groups), *self.others.values()]
        return {name: state for side in sides for name, state in side.states.items()}

    def values(self, table: Any, names: list[str] | None = None, first_row: int = 0) -> Values:
        """Return the columns of ``table`` that the formula needs. Raises `FormulaError` if a value is missing.

        ``names`` are the needed columns (None: all columns of the right sides). ``first_row`` is the number of the
        first row of the table, for error messages.
        """
        columns = as_columns(table)
        found = read(columns, self.predictor_columns if names is None else names)
        for name, one in found.items():
            if one.missing.any():
                row = int(np.argmax(one.missing)) + first_row
                raise FormulaError(f"column {name} has a missing value in row {row}: drop or fill such rows first.")
        return Values(found, columns.n_rows, self.states, first_row)

    def offset(self, values: Values) -> np.ndarray | None:
        """Return the sum of the offsets of the rows, an array (n,); None if the formula has no offset."""
        if not self.offsets:
            return None
        return filled(values, self._sum_of_offsets)["offset"]

    def _sum_of_offsets(self, values: Values) -> dict[str, np.ndarray]:
        return {"offset": np.sum([values.numbers(node) for node in self.offsets], axis=0)}

    def to_json(self) -> dict[str, Any]:
        """Return the model as a dict of plain values, which results contain."""
        return {
            "version": VERSION,
            "formula": self.formula,
            "response": self.response.to_json(),
            "columns": self.side.to_json(),
            "offsets": [str(node) for node in self.offsets],
            "groups": [one.to_json() for one in self.groups],
            "others": {name: side.to_json() for name, side in self.others.items()},
            "beside": {name: str(node) for name, node in self.beside.items()},
            "dropped": self.dropped,
            **({"arrays": list(self.arrays)} if self.arrays else {}),
            **({"typical": {name: one.to_json() for name, one in self.typical.items()}} if self.typical else {}),
            **({} if self.strata is None else {"strata": self.strata.to_json()}),
            **({"data_columns": list(self.data_columns)} if self.data_columns else {}),
        }

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> FormulaModel:
        """Return the model that `to_json` has written into ``found``.

        The formula is parsed again, and nothing in the dict is executed. Raises `FormulaError` if it cannot be read.
        """
        try:
            if found["version"] != VERSION:
                raise FormulaError(f"it is of version {found['version']!r}, where {VERSION} is known")
            return cls(
                str(found["formula"]),
                Response.from_json(found["response"]),
                RightSide.from_json(found["columns"]),
                tuple(parse_expression(str(text)) for text in found["offsets"]),
                tuple(GroupSide.from_json(one) for one in found["groups"]),
                {str(name): RightSide.from_json(side) for name, side in found["others"].items()},
                {str(name): parse_expression(str(text)) for name, text in found["beside"].items()},
                int(found["dropped"]),
                tuple(map(str, found.get("arrays", ()))),
                {str(name): Typical.from_json(one) for name, one in found.get("typical", {}).items()},
                Strata.from_json(found.get("strata")),
                tuple(map(str, found.get("data_columns", ()))),
            )
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError) as error:
            raise FormulaError(f"the stored formula cannot be read: {error}") from None


def group_name(by: Term, columns: RightSide, alone: bool) -> str:
    """Return the name of a factor in results. ``alone`` is True if no other group term has the same factor."""
    name = term_label(by)
    return name if alone else f"{' + '.join(columns.names)} | {name}"


__all__ = ["FormulaModel", "GroupSide", "group_name", "known_codes", "label"]
