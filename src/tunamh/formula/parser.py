"""Formulas are read here and nowhere else: names, numbers, texts, operators and calls of listed functions.

    formula    = [sum] "~" either          either = comparison {("|" | "||") comparison}
    comparison = sum [(">" | "<" | ">=" | "<=" | "==" | "!=") sum]
    sum        = product {("+" | "-") product}       product = cell {("*" | "/") cell}
    cell       = sign {":" sign}                     sign = ["+" | "-"] sign | power
    power      = atom [("**" | "^") sign]
    atom       = number | text | name | name "(" [argument {"," argument}] ")" | "(" either ")"

There are no attributes, no indices and no other functions, and nothing is handed to Python to be evaluated.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Any, NamedTuple

from .errors import FormulaError, pointed
from .functions import KNOWN, hint
from .syntax import COMPARISONS, Call, Name, Node, Number, Operation, Text

LONGEST = 200_000
"""Characters."""

_DEEPEST = 60  # parentheses inside each other
_KNOWN = f"known are {', '.join(KNOWN)}; a column with such a name is written in backticks"
_TOKEN = re.compile(
    r"""(?P<number>(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?)
      | (?P<name>[^\W\d]\w*(\.\w+)*|\.(?!\w))
      | (?P<quoted>`[^`\n]+`)
      | (?P<text>"[^"\n]*"|'[^'\n]*')
      | (?P<operator>\*\*|\|\||>=|<=|==|!=|[-+*/:^|~(),<>=])""",
    re.VERBOSE,
)


class Token(NamedTuple):
    kind: str
    text: str
    at: int


def tokens_of(formula: str) -> list[Token]:
    found, at = [], 0
    while at < len(formula):
        if formula[at].isspace():
            at += 1
            continue
        match = _TOKEN.match(formula, at)
        if match is None:
            raise FormulaError(
                f"the formula has {formula[at]!r} at position {at + 1}, which is not allowed there. Allowed are "
                "columns (odd names in backticks), numbers, + - * : / ** ( ) | ~, comparisons and the functions "
                f"{', '.join(KNOWN)}:{pointed(formula, at)}"
            )
        found.append(Token(str(match.lastgroup), match[0], at))
        at = match.end()
    return [*found, Token("end", "", at)]


class _Reader:
    """One token after the other."""

    def __init__(self, formula: str):
        self.formula, self.tokens, self.at, self.depth = formula, tokens_of(formula), 0, 0

    @property
    def token(self) -> Token:
        return self.tokens[self.at]

    def takes(self, *texts: str) -> str | None:
        """Read the next operator and return it, if it is one of ``texts``. Otherwise return None and read nothing."""
        token = self.token
        if token.kind == "operator" and token.text in texts:
            self.at += 1
            return token.text
        return None

    def expect(self, text: str) -> None:
        if self.takes(text) is None:
            self.refuse(f"{text!r} is missing{self.of_a_name()}")

    def of_a_name(self) -> str:
        """Return a hint if two names stand side by side: write a column name with spaces in backticks."""
        before = self.tokens[self.at - 1]
        if self.at == 0 or before.kind != "name" or self.token.kind != "name":
            return ""
        return f" (a column with spaces in its name is written in backticks: `{before.text} {self.token.text}`)"

    def refuse(self, told: str) -> None:
        raise FormulaError(f"{told} in the formula:{pointed(self.formula, self.token.at)}")

    def chain(self, below: Any, *operators: str) -> Node:
        found = below()
        while (operator := self.takes(*operators)) is not None:
            found = Operation(operator, found, below())
        return found

    def either(self) -> Node:
        return self.chain(self.comparison, "|", "||")

    def comparison(self) -> Node:
        left = self.sum()
        operator = self.takes(*COMPARISONS)
        return left if operator is None else Operation(operator, left, self.sum())

    def sum(self) -> Node:
        return self.chain(self.product, "+", "-")

    def product(self) -> Node:
        return self.chain(self.cell, "*", "/")

    def cell(self) -> Node:
        return self.chain(self.sign, ":")

    def sign(self) -> Node:
        sign = self.takes("-", "+")
        if sign is None:
            return self.power()
        inside = self.deeper(self.sign)
        return inside if sign == "+" else Operation("-", None, inside)

    def power(self) -> Node:
        base = self.atom()
        return base if self.takes("**", "^") is None else Operation("**", base, self.deeper(self.sign))

    def deeper(self, read: Any) -> Any:
        self.depth += 1
        if self.depth > _DEEPEST:
            self.refuse(f"more than {_DEEPEST} parentheses or signs are inside each other")
        found = read()
        self.depth -= 1
        return found

    def atom(self) -> Node:
        token = self.token
        if self.takes("("):
            found = self.deeper(self.either)
            self.expect(")")
            return found
        self.at += 1
        if token.kind == "number":
            return Number(token.text)
        if token.kind == "text":
            return Text(token.text[1:-1])
        if token.kind == "quoted":
            return Name(token.text[1:-1])
        if token.kind == "name":
            return self.call(token.text) if self.takes("(") else Name(token.text)
        self.at -= 1
        self.refuse("something is missing" if token.kind == "end" else f"{token.text!r} is where a term should be")
        raise AssertionError

    def call(self, function: str) -> Call:
        if function not in KNOWN:
            self.at -= 2
            self.refuse(f"the function {function} is not known ({hint(function) or _KNOWN})")
        arguments, named = [], []
        while not self.takes(")"):
            begin = self.at
            if self.token.kind == "name" and self.tokens[self.at + 1].text == "=":
                self.at += 2
                named.append((self.tokens[begin].text, self.deeper(self.either)))
            else:
                arguments.append(self.deeper(self.either))
            if not self.takes(","):
                self.expect(")")
                break
        return Call(function, tuple(arguments), tuple(named))


class Formula(NamedTuple):
    """The two sides of a formula. ``left`` is None if the formula begins with ``~``."""

    left: Node | None
    right: Node

    def __str__(self) -> str:
        return f"{'' if self.left is None else f'{self.left} '}~ {self.right}"


def parse(formula: str) -> Formula:
    """Return the two sides of ``formula``, a text such as ``"late ~ distance + C(carrier)"``.

    Raises `FormulaError` if the text is not a formula. The message shows where.
    """
    reader = _reader(formula)
    left = None if reader.token.text == "~" else reader.either()
    if reader.takes("~") is None:
        if reader.token.text == "=":
            reader.refuse("between the response and the terms write ~, not =,")
        if reader.token.kind != "end":
            reader.refuse(f"{reader.token.text!r} is where an operator or ~ should be{reader.of_a_name()}")
        raise FormulaError(f"the formula {formula!r} has no ~: write it as 'response ~ terms'.")
    right = reader.either()
    _at_end(reader)
    return Formula(left, right)


def parse_expression(text: str) -> Node:
    """Parse an expression without ``~``, such as the name of a column of weights."""
    reader = _reader(text)
    found = reader.either()
    _at_end(reader)
    return found


def _reader(formula: Any) -> _Reader:
    if not isinstance(formula, str):
        raise TypeError(f"a formula is a text such as 'late ~ distance + C(carrier)', got {type(formula).__name__}.")
    formula = unicodedata.normalize("NFC", formula)
    if len(formula) > LONGEST:
        raise FormulaError(f"the formula has {len(formula):,} characters, more than the {LONGEST:,} that are read.")
    if not formula.strip():
        raise FormulaError("the formula is empty: write it as 'response ~ terms'.")
    return _Reader(formula)


def _at_end(reader: _Reader) -> None:
    token = reader.token
    if token.kind != "end":
        wrong = f"{token.text!r} is where an operator should be{reader.of_a_name()}"
        what = "a second ~" if token.text == "~" else wrong
        reader.refuse(what)
