"""Statements about parameters, such as ``carrier[UA] - carrier[DL] > 0.1``: read here, and computed on draws.

    statement = sum [(">" | "<" | ">=" | "<=" | "=" | "==") sum]
    sum       = product {("+" | "-") product}       product = power {("*" | "/") power}
    power     = ["-" | "+"] power | atom [("**" | "^") power]
    atom      = number | parameter | function "(" sum ")" | "(" sum ")"

Parameters are those of `tunamh.summary`. The longest name that fits is taken, so that ``log(distance)`` is a parameter
if there is one of this name. Nothing is handed to Python to be evaluated.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from .._arguments import is_meant
from ..formula.errors import FormulaError, listed, pointed

_NUMBER = re.compile(r"(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_WORD = re.compile(r"`(?P<quoted>[^`]+)`|(?P<name>[^\W\d][\w.|:()]*)")  # what may be a misspelt parameter
_SIGNS = (">=", "<=", "==", ">", "<", "=")
_FUNCTIONS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "exp": np.exp,
    "log": np.log,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "expit": lambda x: 1 / (1 + np.exp(-x)),
}
_LONGEST, _DEEPEST = 10_000, 60


class Statement(NamedTuple):
    """A statement: the draws of its left side minus its right side, and the sign between them.

    ``sign`` is "" for an expression without a sign.
    """

    text: str
    sign: str
    difference: np.ndarray

    def holds(self) -> float:
        """Return the probability of an inequality. The result is NaN if the statement is no inequality."""
        if self.sign.startswith(">"):
            return float((self.difference > 0).mean())
        return float((self.difference < 0).mean()) if self.sign.startswith("<") else np.nan


def read_statement(text: Any, variables: Mapping[str, Any]) -> Statement:
    """Read a statement about parameters. ``variables`` are xarray arrays whose first dimensions are chain and draw."""
    if not isinstance(text, str):
        raise TypeError(f'a hypothesis is a text such as "distance > 0", got {type(text).__name__}.')
    if not text.strip() or len(text) > _LONGEST:
        raise FormulaError('a hypothesis is a short text such as "distance > 0".')
    return _Reader(text, variables).statement()


class _Reader:
    def __init__(self, text: str, variables: Mapping[str, Any]):
        self.text, self.variables, self.at, self.depth = text, variables, 0, 0
        self.names = sorted(variables, key=len, reverse=True)

    def statement(self) -> Statement:
        left = self.sum()
        sign = self.takes(*_SIGNS)
        right = self.sum() if sign else np.zeros(())
        self.skip()
        if self.at < len(self.text):
            self.refuse("this is not allowed here")
        with np.errstate(all="ignore"):
            return Statement(self.text.strip(), sign, np.asarray(left - right))

    def skip(self) -> None:
        while self.at < len(self.text) and self.text[self.at].isspace():
            self.at += 1

    def takes(self, *signs: str) -> str:
        self.skip()
        for sign in signs:
            if self.text.startswith(sign, self.at):
                self.at += len(sign)
                return sign
        return ""

    def refuse(self, told: str) -> None:
        raise FormulaError(f"the hypothesis cannot be read: {told}:{pointed(self.text, self.at)}")

    def sum(self) -> np.ndarray:
        found = self.product()
        while sign := self.takes("+", "-"):
            other = self.product()
            found = found + other if sign == "+" else found - other
        return found

    def product(self) -> np.ndarray:
        found = self.power()
        while not self.text.startswith("**", self.at) and (sign := self.takes("*", "/")):
            other = self.power()
            with np.errstate(all="ignore"):
                found = found * other if sign == "*" else found / other
        return found

    def power(self) -> np.ndarray:
        self.depth += 1
        if self.depth > _DEEPEST:
            self.refuse(f"more than {_DEEPEST} signs or parentheses are inside each other")
        if sign := self.takes("-", "+"):
            inside = self.power()
            found = -inside if sign == "-" else inside
        else:
            found = self.atom()
            if self.takes("**", "^"):
                with np.errstate(all="ignore"):
                    found = np.power(np.asarray(found, np.float64), self.power())
        self.depth -= 1
        return found

    def atom(self) -> np.ndarray:
        self.skip()
        if (found := self.parameter()) is not None:
            return found
        if number := _NUMBER.match(self.text, self.at):
            self.at = number.end()
            return np.asarray(float(number[0]))
        for name, function in _FUNCTIONS.items():
            if self.text.startswith(f"{name}(", self.at):
                self.at += len(name) + 1
                with np.errstate(all="ignore"):
                    return function(self.inside())
        if self.takes("("):
            return self.inside()
        word = _WORD.match(self.text, self.at)
        hint = is_meant(word["quoted"] or word["name"], self.variables) if word else ""
        self.refuse(
            f"a parameter or a number should be here.{hint} The parameters are {listed(list(self.variables), 20)}"
        )
        raise AssertionError

    def inside(self) -> np.ndarray:
        found = self.sum()
        if not self.takes(")"):
            self.refuse("')' is missing")
        return found

    def parameter(self) -> np.ndarray | None:
        """Return the variable with the longest name that matches here; of an array, the entry in brackets."""
        quoted = self.text.startswith("`", self.at)
        begin = self.at + quoted
        for name in self.names:
            end = begin + len(name)
            after = self.text[end : end + 1]
            if not self.text.startswith(name, begin) or (quoted and after != "`"):
                continue
            if not quoted and (name[-1].isalnum() or name[-1] == "_") and (after.isalnum() or after in ("_", "|")):
                if after:
                    continue
            self.at = end + quoted
            return self.entry(name)
        return None

    def entry(self, name: str) -> np.ndarray:
        values = self.variables[name]
        if values.ndim == 2:
            return np.asarray(values.values, np.float64)
        dims = values.dims[2:]
        if not self.takes("["):
            first = ", ".join(str(values[dim].values[0]) for dim in dims)
            self.refuse(f"{name} has several entries: name one, such as {name}[{first}]")
        at = self._place([[str(one) for one in values[dim].values.tolist()] for dim in dims], name)
        return np.asarray(values.values[(slice(None), slice(None), *at)], np.float64)

    def _place(self, labels: list[list[str]], name: str) -> tuple[int, ...]:
        """Up to the first bracket that closes a label that is known."""
        end = self.text.find("]", self.at)
        while end >= 0:
            found = _split(self.text[self.at : end].strip(), labels)
            if found is not None:
                self.at = end + 1
                return found
            end = self.text.find("]", end + 1)
        written = self.text[self.at :].partition("]")[0].strip()
        self.refuse(f"{name} has no entry {written}.{is_meant(written, labels[-1])} It has {listed(labels[-1], 20)}")
        raise AssertionError


def _split(text: str, labels: list[list[str]]) -> tuple[int, ...] | None:
    """The places of labels that are separated by commas; labels may have commas of their own."""
    if len(labels) == 1:
        return (labels[0].index(text),) if text in labels[0] else None
    for k, label in enumerate(labels[0]):
        rest = text.removeprefix(label).lstrip()
        if text.startswith(label) and rest.startswith(","):
            found = _split(rest[1:].strip(), labels[1:])
            if found is not None:
                return (k, *found)
    return None
