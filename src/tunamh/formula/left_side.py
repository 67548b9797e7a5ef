"""The left side of a formula: the response, and what stands beside it behind a bar, as in ``y | trials(n)``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..process.scratch import distinct
from ..tables.columns import Factor, Numbers
from .errors import FormulaError, listed
from .evaluation import Values, as_factor, filled, only_argument
from .functions import TIME_TO_EVENT
from .likely_factors import as_numbers
from .parser import parse_expression
from .syntax import Call, Name, Node, Operation, label, spine

_SURV = f"{TIME_TO_EVENT}(time, event) or {TIME_TO_EVENT}(start, stop, event)"
_ARGUMENT = {"trials": "trials", "weights": "weights", "cens": "censored", "event": "event"}


class LeftSide(NamedTuple):
    """The response of a formula, and its expressions for trials, weights, censoring and entry, if there are any."""

    response: Node
    beside: dict[str, Node]


def left_side(node: Node | None) -> LeftSide:
    if node is None:
        raise FormulaError("the formula has nothing before its ~: write it as 'response ~ terms'.")
    if not (isinstance(node, Operation) and node.operator in ("|", "||")):
        return _response(node, {})
    assert node.left is not None
    beside: dict[str, Node] = {}
    for one in _parts(node.right):
        if not isinstance(one, Call) or one.function not in _ARGUMENT:
            raise FormulaError(
                f"{node}: after the bar of a response write trials(n), weights(w), cens(c) or event(e), not {one}."
            )
        beside[_ARGUMENT[one.function]] = only_argument(one)
    return _response(node.left, beside)


def _response(node: Node, beside: dict[str, Node]) -> LeftSide:
    """A column, or times to event with what belongs to them."""
    if not (isinstance(node, Call) and node.function == TIME_TO_EVENT):
        return LeftSide(_checked(node), beside)
    if node.named:
        raise FormulaError(
            f"{node}: known are {_SURV}, without {node.named[0][0]}=. Times between two visits (interval-censored) are "
            'not offered: take one row for each visit, and family="cloglog" with offset(log(time since the last '
            "visit)), which has the same hazard."
        )
    names = {1: (), 2: ("event",), 3: ("entry", "event")}.get(len(node.arguments))
    if names is None or "event" in beside or "censored" in beside:
        wrong = "only weights(w) can be added to it" if names is not None else f"it has {len(node.arguments)} arguments"
        raise FormulaError(f"{node}: times to event are written {_SURV}; {wrong}.")
    time = node.arguments[1 if len(names) == 2 else 0]
    others = [one for one in node.arguments if one is not time]
    return LeftSide(_checked(time), {**beside, **dict(zip(names, others, strict=True))})


def _parts(node: Node) -> list[Node]:
    first, operations = spine(node, ("+",))
    if operations:
        return [part for side in (first, *(one.right for one in operations)) for part in _parts(side)]
    return [node]


def _checked(node: Node) -> Node:
    if isinstance(node, Operation) and node.operator in ("|", "||", ":"):
        raise FormulaError(f"{node}: the response must be one column, or an expression of columns.")
    return node


@dataclass(frozen=True)
class Response:
    """The response of a regression. ``levels`` are the names of its classes.

    If ``labels`` is True, the response has two labels, and the second label counts as 1.
    """

    node: Node
    levels: tuple[str, ...] | None = None
    labels: bool = False

    @property
    def told(self) -> str:
        """Return the response in words. For two labels, the text says which of them counts as 1."""
        if self.labels and self.levels:
            return f"{label(self.node)}: {self.levels[1]!r} counts as 1, {self.levels[0]!r} as 0"
        return label(self.node)

    def to_json(self) -> dict[str, Any]:
        return {
            "text": str(self.node),
            "levels": None if self.levels is None else list(self.levels),
            "labels": self.labels,
        }

    @classmethod
    def from_json(cls, found: dict[str, Any]) -> Response:
        levels = found["levels"]
        named = None if levels is None else tuple(map(str, levels))
        return cls(parse_expression(str(found["text"])), named, bool(found["labels"]))

    def values(self, values: Values) -> np.ndarray:
        """Return the responses of some rows as numbers. A class is the code of a known level."""
        if self.levels is None:
            return values.numbers(self.node)
        codes = as_factor(values.value(self.node)).recoded(self.levels)
        if (codes < 0).any():
            raise FormulaError(
                f"{label(self.node)} has other levels than {listed([repr(one) for one in self.levels])}."
            )
        return codes.astype(np.float64)


def numbers_beside(beside: Mapping[str, Node], values: Values) -> dict[str, np.ndarray]:
    """Return trials, weights, censoring and entry as numbers.

    Raise `FormulaError` if an event is a column of text, because it is not clear which text means 1.
    """
    for name, node in beside.items():
        found = values.value(node) if name == "event" and isinstance(node, Name) else None
        if isinstance(found, Factor):
            raise FormulaError(
                f"the event {label(node)} holds text or categories ({listed([repr(one) for one in found.levels], 3)}), "
                "and must be 1 where the event was seen, 0 where it was not (a censored time). Name the level that "
                f'says it was seen, such as ({node} == "{found.levels[-1]}").'
            )
    return {name: values.numbers(node) for name, node in beside.items()}


def learned_response(node: Node, values: Values, family: Any) -> tuple[Response, Any]:
    """Return the response, and its values in the form that a target takes."""
    found, name = values.value(node), label(node)
    if isinstance(found, Numbers):
        numbers = values.numbers(node)
        _refuse_constant(name, numbers, family)
        known = tuple(as_factor(Numbers(numbers)).levels) if family.of_classes else None
        return Response(node, known), numbers
    levels = tuple(found.levels[code] for code in distinct(found.codes).tolist())
    response = response_of_levels(node, levels, family)
    if response.labels:
        return response, filled(values, lambda part: {"y": response.values(part)})["y"]
    return response, Factor(found.recoded(levels), levels, found.ordered)


def response_of_levels(node: Node, levels: tuple[str, ...], family: Any) -> Response:
    """Return a response whose column contains text or categories."""
    name, kind, shown = label(node), type(family).__name__, listed([repr(level) for level in levels])
    if len(levels) == 1:
        raise FormulaError(f"the response {name} is {levels[0]!r} in every row: there is nothing to estimate.")
    if family.of_classes:
        return Response(node, levels)
    if not family.of_labels:
        raise FormulaError(
            f"the response {name} holds text or categories ({shown}), and {kind} is for numbers.{as_numbers(levels)}"
        )
    if len(levels) > 2:
        raise FormulaError(
            f"the response {name} has {len(levels)} levels ({shown}), and {kind} is for two: name the "
            f'level that counts as 1, as in ({node} == "{levels[-1]}") ~ ..., or take tunamh.Categorical().'
        )
    return Response(node, levels, labels=True)


def _refuse_constant(name: str, y: np.ndarray, family: Any) -> None:
    """One value in all rows explains itself where a scale is unknown, or labels are regressed."""
    if y.min() == y.max() and (family.of_labels or family.of_classes or family.unknown_scale):
        raise FormulaError(f"the response {name} is {y[0]:g} in every row: there is nothing to estimate.")
