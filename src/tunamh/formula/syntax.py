"""What a formula is made of once it is read: a tree of plain values, and its text again."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

_PLAIN = re.compile(r"[^\W\d]\w*(\.\w+)*")


@dataclass(frozen=True)
class Name:
    """A column; ``.`` alone stands for all that are not named elsewhere."""

    name: str

    def __str__(self) -> str:
        return self.name if self.name == "." or _PLAIN.fullmatch(self.name) else f"`{self.name}`"


@dataclass(frozen=True)
class Number:
    text: str

    @property
    def value(self) -> float:
        return float(self.text)

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Text:
    value: str

    def __str__(self) -> str:
        return f'"{self.value}"' if '"' not in self.value else f"'{self.value}'"


@dataclass(frozen=True)
class Call:
    """A function of the list in `functions`, ``C``, ``I`` or ``offset``, with arguments by position and by name."""

    function: str
    arguments: tuple[Node, ...]
    named: tuple[tuple[str, Node], ...] = ()

    def __str__(self) -> str:
        inside = [*map(str, self.arguments), *(f"{name}={value}" for name, value in self.named)]
        return f"{self.function}({', '.join(inside)})"


@dataclass(frozen=True)
class Operation:
    """Two sides and what stands between them; the left one of a sign is None."""

    operator: str
    left: Node | None
    right: Node

    def __str__(self) -> str:
        if self.left is None:
            return f"{self.operator}{_inside(self.right, self)}"
        tight = self.operator in ("**", ":")
        between = self.operator if tight else f" {self.operator} "
        return f"{_inside(self.left, self)}{between}{_inside(self.right, self, right=True)}"


Node = Name | Number | Text | Call | Operation

_BINDS = {"~": 0, "|": 1, "||": 1, ">": 2, "<": 2, ">=": 2, "<=": 2, "==": 2, "!=": 2}
_BINDS |= {"+": 3, "-": 3, "*": 4, "/": 4, ":": 5, "**": 7}
COMPARISONS = tuple(operator for operator, binds in _BINDS.items() if binds == 2)
_SIGN = 6


def _strength(node: Operation) -> int:
    return _SIGN if node.left is None else _BINDS[node.operator]


def _inside(node: Node, outer: Operation, right: bool = False) -> str:
    """In parentheses where it would read otherwise without."""
    if not isinstance(node, Operation):
        return str(node)
    own, of_outer = _strength(node), _strength(outer)
    return f"({node})" if own < of_outer or (own == of_outer and (right or own == 7)) or own == 1 else str(node)


def label(node: Node) -> str:
    """What results call it: without backticks where it is a single column."""
    return node.name if isinstance(node, Name) else str(node)


def columns_in(node: Node | None) -> Iterator[str]:
    """The columns that it needs, in the order in which they are written."""
    if isinstance(node, Name):
        yield node.name
    elif isinstance(node, Call):
        for one in (*node.arguments, *(value for _, value in node.named)):
            yield from columns_in(one)
    elif isinstance(node, Operation):
        yield from columns_in(node.left)
        yield from columns_in(node.right)
