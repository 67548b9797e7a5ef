"""Which numbers of a draw make which variable of a result: its name, its dimensions with labels, and what it is.

A draw is a row of numbers. Results of `GLM` and `MixedModel` have a few long variables (``theta``, ``group_effect``);
those of a formula have a variable for every term, whose numbers may lie apart in the row.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import product
from typing import Any

import numpy as np

from .._arguments import whole_number

Variables = Sequence[tuple[str, Sequence[str] | None]]
"""Names of variables that lie one behind the other in a draw, with the labels of those that are vectors."""

ROLE = "role"
"""The attribute of a variable that says what it is; its values are the next six."""

COEFFICIENT, PARAMETER = "coefficient", "parameter of the family"
GROUP_SCALE, CORRELATION, EFFECT = "standard deviation of group effects", "correlation of group effects", "group effect"
SMOOTH_SCALE = "standard deviation of a curve"

TERM, PREDICTOR, GROUP, REFERENCE = "term", "predictor", "group", "reference"
CLASSES, CURVE = "classes", "curve"
"""Attributes of a formula's variables: the term, or the family's own name of a parameter; the parameter that a
coefficient describes, where it is not the main one; the factor of group effects; the level without a coefficient; the
dimension of the classes, where every class has group effects; the column that a curve is over."""

_ROLES = {"theta": COEFFICIENT, "group_scale": GROUP_SCALE, "group_correlation": CORRELATION, "group_effect": EFFECT}


@dataclass(frozen=True, eq=False)
class Variable:
    """A variable of a result.

    ``columns`` are the positions of its numbers in a draw, with an axis for each dimension.
    """

    name: str
    columns: np.ndarray
    dimensions: tuple[str, ...] = ()
    attributes: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, eq=False)
class Layout:
    """All variables of a result, and the labels of their dimensions."""

    variables: tuple[Variable, ...]
    labels: Mapping[str, tuple[str, ...]]

    @cached_property
    def size(self) -> int:
        """Return how many numbers a draw has."""
        return sum(one.columns.size for one in self.variables)

    @cached_property
    def names(self) -> list[str]:
        """Return a name for every number of a draw, as in `tunamh.summary`: ``distance``, ``carrier[DL]``."""
        found = [""] * self.size
        for one in self.variables:
            for column, name in zip(one.columns.ravel().tolist(), self._names(one), strict=True):
                found[column] = name
        return found

    def _names(self, one: Variable) -> Iterator[str]:
        if not one.dimensions:
            return iter([one.name])
        return (f"{one.name}[{', '.join(at)}]" for at in product(*(self.labels[dim] for dim in one.dimensions)))

    # --------------------------------------------------------------------------------------------- xarray and back

    def dataset(self, draws: np.ndarray, before: Mapping[str, Any]) -> Any:
        """Return an xarray data set of ``draws`` (..., number).

        ``before`` are the first dimensions with their coordinates, such as chain and draw.
        """
        import xarray

        found = {
            one.name: ((*before, *one.dimensions), _numbers(draws, one.columns), dict(one.attributes))
            for one in self.variables
        }
        coords: dict[str, Any] = {**before, **{dim: list(labels) for dim, labels in self.labels.items()}}
        return xarray.Dataset(found, coords=coords)

    def flat(self, dataset: Any) -> np.ndarray:
        """Return the draws (..., number) of a data set. Raise `KeyError` if it lacks a variable."""
        values = [
            (one, np.asarray(dataset[one.name].transpose(..., *one.dimensions).values, np.float64))
            for one in self.variables
        ]
        before = values[0][1].shape[: values[0][1].ndim - values[0][0].columns.ndim]
        draws = np.empty((*before, self.size))
        for one, own in values:
            draws[..., one.columns] = own
        return draws

    # ---------------------------------------------------------------------------------------------------- JSON

    def to_json(self) -> dict[str, Any]:
        return {
            "labels": {dim: list(labels) for dim, labels in self.labels.items()},
            "variables": [
                [one.name, list(one.dimensions), one.columns.ravel().tolist(), dict(one.attributes)]
                for one in self.variables
            ],
        }

    @classmethod
    def from_json(cls, found: Any) -> Layout:
        """Read a layout from JSON, which may come from a stranger's file.

        Raise `TypeError` or `ValueError` if it is no layout, or if a number of a draw belongs to no variable.
        """
        labels = {_text(dim): _texts(own) for dim, own in _mapping(found["labels"]).items()}
        variables = []
        for name, dims, columns, attributes in found["variables"]:
            shape = [len(labels[_text(dim)]) for dim in dims]
            at = np.array([whole_number("a column", one, 0) for one in columns], np.int64).reshape(shape)
            about = {_text(key): _text(value) for key, value in _mapping(attributes).items()}
            variables.append(Variable(_text(name), at, tuple(dims), about))
        made = cls(tuple(variables), labels)
        places = np.concatenate([one.columns.ravel() for one in variables]) if variables else np.empty(0, np.int64)
        if sorted(places.tolist()) != list(range(made.size)):
            raise ValueError("its variables do not fit the numbers of a draw")
        return made


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError("names must be texts")
    return value


def _texts(values: Any) -> tuple[str, ...]:
    if not isinstance(values, list):
        raise TypeError("labels must be lists")
    return tuple(map(_text, values))


def _mapping(value: Any) -> Mapping[Any, Any]:
    if not isinstance(value, dict):
        raise TypeError("labels and attributes must be by name")
    return value


_LARGE = 1_000_000  # numbers


def _numbers(draws: np.ndarray, columns: np.ndarray) -> np.ndarray:
    """The numbers of a variable; of a large one that is most of all draws a part of these, not a copy."""
    places = columns.ravel()
    if columns.ndim == 1 and draws.size > _LARGE and 2 * places.size > draws.shape[-1] and (np.diff(places) == 1).all():
        return draws[..., places[0] : places[-1] + 1]
    return draws[..., columns]


# ------------------------------------------------------------------------------------------------ of a target


def layout_of(given: Any, variables: Variables) -> Layout:
    """Return the variables of a result.

    If the target comes from a formula, there is a variable for each term; otherwise the target's own variables.
    """
    formula, groupings = getattr(given, "formula", None), getattr(given, "groupings", ())
    return plain_layout(variables) if formula is None else formula.layout(variables, groupings)


def plain_layout(variables: Variables) -> Layout:
    """Return variables in the order of the numbers of a draw."""
    found, labels, at = [], {}, 0
    for name, own in variables:
        about = {ROLE: _ROLES.get(name, PARAMETER)}
        if own is None:
            found.append(Variable(name, np.array(at), (), about))
            at += 1
            continue
        dim = "parameter" if name == "theta" else f"{name}_parameter"
        found.append(Variable(name, np.arange(at, at + len(own)), (dim,), about))
        labels[dim], at = tuple(own), at + len(own)
    return Layout(tuple(found), labels)


def refuse_unwritable(layout: Layout) -> None:
    """Raise an error for names that no file can contain, before sampling and not when the draws are saved."""
    names = [one.name for one in layout.variables]
    for text in (*names, *(label for labels in layout.labels.values() for label in labels)):
        try:
            whole = "\0" not in text and text.encode() is not None
        except UnicodeEncodeError:
            whole = False
        if not whole:
            raise ValueError(
                f"the name {text!r} has a character that no file can hold (NUL, or half of a surrogate pair): "
                "rename the column or level."
            )
