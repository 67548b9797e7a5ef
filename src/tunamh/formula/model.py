"""A formula with all that was learned from the data: how rows become what a target takes, and the same as JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..results.layout import Layout, Variables
from ..tables.columns import Factor
from .errors import FormulaError
from .evaluation import Values, as_factor
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
    """``(columns | by)``: effects of the columns for every level; ``name`` is what results call the factor.

    ``of`` is the parameter whose predictor has the term; None of the main predictor.
    """

    name: str
    by: Term
    columns: RightSide
    of: str | None = None

    @property
    def term(self) -> str:
        """The name of the factor within its predictor."""
        return self.name if self.of is None else self.name.removeprefix(f"{self.of}_")

    def labels(self, values: Values) -> Factor:
        """The group of every row, by name; products of factors have names such as ``a:b``."""
        factors = [as_factor(values.value(atom)) for atom in self.by]
        found = factors[0]
        for one in factors[1:]:
            used, codes = np.unique(found.codes * len(one.levels) + one.codes, return_inverse=True)
            pairs = [divmod(int(k), len(one.levels)) for k in used]
            found = Factor(codes.astype(np.int64), tuple(f"{found.levels[a]}:{one.levels[b]}" for a, b in pairs))
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
    """What a formula says of data of one kind.

    ``beside`` are the expressions of trials, weights and censoring that are columns; ``others`` the columns of the
    family's further parameters.
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
        """A model of this formula for people, in several lines (`tunamh.formula.description`)."""
        from .description import described

        return described(self, target)

    def remarks(self, n_rows: int) -> list[str]:
        """What a person should know of the rows before they are sampled: which were left out, which class is 1."""
        dropped = f"{self.dropped:,} of {self.dropped + n_rows:,} rows have missing values and are left out"
        told = self.response.told if self.response.labels and self.response.levels else ""
        found = [dropped if self.dropped else "", told]
        return ["; ".join(filter(None, found))] if any(found) else []

    def layout(self, variables: Variables, groupings: Sequence[Any]) -> Layout:
        """What results call the parameters: a variable for every term (`tunamh.formula.result_names`)."""
        return layout(self, variables, groupings)

    @property
    def factors(self) -> list[str]:
        """The factor of every group term, as results name it in the attribute ``group``."""
        return [term_label(one.by) for one in self.groups]

    @property
    def predictor_columns(self) -> list[str]:
        """The columns that new rows must have."""
        return self.columns_needed(lambda one: True)

    def columns_needed(self, counts: Callable[[GroupSide], bool]) -> list[str]:
        """The columns that new rows must have if only those group effects count for which ``counts`` holds."""
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
        sides = [self.side, *(one.columns for one in self.groups), *self.others.values()]
        return {name: state for side in sides for name, state in side.states.items()}

    def values(self, table: Any, names: list[str] | None = None, first_row: int = 0) -> Values:
        """Rows of a table of which no needed value is missing."""
        columns = as_columns(table)
        found = read(columns, self.predictor_columns if names is None else names)
        for name, one in found.items():
            if one.missing.any():
                row = int(np.argmax(one.missing)) + first_row
                raise FormulaError(f"column {name} has a missing value in row {row}: drop or fill such rows first.")
        return Values(found, columns.n_rows, self.states, first_row)

    def offset(self, values: Values) -> np.ndarray | None:
        if not self.offsets:
            return None
        return np.sum([values.numbers(node) for node in self.offsets], axis=0)

    def to_json(self) -> dict[str, Any]:
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
        """From what a file says: it is parsed as any formula, and nothing in it is executed."""
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
    """What results call a factor; ``alone``: no other group term has the same factor."""
    name = term_label(by)
    return name if alone else f"{' + '.join(columns.names)} | {name}"


__all__ = ["FormulaModel", "GroupSide", "group_name", "known_codes", "label"]
