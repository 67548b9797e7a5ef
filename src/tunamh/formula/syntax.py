"""What a formula is made of once it is read: a tree of plain values, and its text again."""

from __future__ import annotations

import re
from collections.abc import Container, Iterator
from dataclasses import dataclass

_PLAIN = re.compile(r"[^\W\d]\w*(\.\w+)*")


@dataclass(frozen=True)
class Name:
    """A column in a formula. The name ``.`` stands for all columns that are not named elsewhere."""

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
    """A call of a function in a formula, with arguments by position and by name.

    The function is one of the list in `functions`, or ``C``, ``I`` or ``offset``.
    """

    function: str
    arguments: tuple[Node, ...]
    named: tuple[tuple[str, Node], ...] = ()

    def __str__(self) -> str:
        inside = [*map(str, self.arguments), *(f"{name}={value}" for name, value in self.named)]
        return f"{self.function}({', '.join(inside)})"


@dataclass(frozen=True, eq=False)
class Operation:
    """An operator with a left and a right side. The left side of a sign, as in ``-x``, is None.

    A chain such as ``a + b + c`` is a tree in which the left sides are chains. It may have thousands of operations,
    more than Python allows recursive calls. So use `spine` to go through a chain. Two operations are equal if their
    texts are equal.
    """

    operator: str
    left: Node | None
    right: Node

    def __str__(self) -> str:
        first, operations = spine(self)
        if not operations:
            return f"{self.operator}{_inside(self.right, self)}"
        parts, inner = [_inside(first, operations[0])], first
        for outer in operations:
            if inner is not first and _in_parentheses(inner, outer):
                parts = ["(", *parts, ")"]
            between = outer.operator if outer.operator in ("**", ":") else f" {outer.operator} "
            parts += [between, _inside(outer.right, outer, right=True)]
            inner = outer
        return "".join(parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Operation) and str(self) == str(other)

    def __hash__(self) -> int:
        return hash(str(self))


Node = Name | Number | Text | Call | Operation

_BINDS = {"~": 0, "|": 1, "||": 1, ">": 2, "<": 2, ">=": 2, "<=": 2, "==": 2, "!=": 2}
_BINDS |= {"+": 3, "-": 3, "*": 4, "/": 4, ":": 5, "**": 7}
COMPARISONS = tuple(operator for operator, binds in _BINDS.items() if binds == 2)
_SIGN = 6


def _strength(node: Operation) -> int:
    return _SIGN if node.left is None else _BINDS[node.operator]


def _in_parentheses(node: Node, outer: Operation, right: bool = False) -> bool:
    """Whether it would read otherwise without."""
    if not isinstance(node, Operation):
        return False
    own, of_outer = _strength(node), _strength(outer)
    return own < of_outer or (own == of_outer and (right or own == 7)) or own == 1


def _inside(node: Node, outer: Operation, right: bool = False) -> str:
    return f"({node})" if _in_parentheses(node, outer, right) else str(node)


def spine(node: Node, operators: Container[str] = _BINDS) -> tuple[Node, list[Operation]]:
    """Return the first operand of a chain of these operators, and the operations of the chain from left to right."""
    found = []
    while isinstance(node, Operation) and node.left is not None and node.operator in operators:
        found.append(node)
        node = node.left
    return node, found[::-1]


def label(node: Node) -> str:
    """Return the name of an expression in results. The name of a single column has no backticks."""
    return node.name if isinstance(node, Name) else str(node)


def columns_in(node: Node | None) -> Iterator[str]:
    """Return the names of the columns that an expression needs, in the order of the text."""
    if isinstance(node, Name):
        yield node.name
    elif isinstance(node, Call):
        for one in (*node.arguments, *(value for _, value in node.named)):
            yield from columns_in(one)
    elif isinstance(node, Operation):
        first, operations = spine(node)
        yield from columns_in(first.right if isinstance(first, Operation) else first)
        for one in operations:
            yield from columns_in(one.right)
