"""The algebra of terms (Wilkinson and Rogers, 1973): what ``+ - * : / **`` mean between columns.

A term is a tuple of atoms that are multiplied with each other; the empty tuple is the intercept.
"""

from __future__ import annotations

from collections.abc import Sequence, Sized
from typing import NamedTuple

from .errors import FormulaError
from .functions import BESIDE, CURVES, TIME_TO_EVENT
from .smooths import asked, columns_of_smooth
from .syntax import COMPARISONS, Call, Name, Node, Number, Operation, Text, columns_in, label, spine

Term = tuple[Node, ...]

_MOST_TERMS = 5000
_HIGHEST_POWER = 10


class GroupTerm(NamedTuple):
    """A group term ``(columns | by)``. ``together`` is True if the effects of several columns are correlated."""

    columns: Terms
    by: Term
    together: bool


class Terms(NamedTuple):
    """The right side of a formula as terms. ``intercept`` is None if the formula does not mention the intercept."""

    fixed: tuple[Term, ...] = ()
    intercept: bool | None = None
    offsets: tuple[Node, ...] = ()
    groups: tuple[GroupTerm, ...] = ()
    strata: tuple[Node, ...] = ()
    curves: tuple[Call, ...] = ()

    @property
    def has_intercept(self) -> bool:
        return self.intercept is not False


def term_label(term: Term) -> str:
    return ":".join(label(atom) for atom in term) if term else "Intercept"


def terms_of(node: Node, others: Sequence[str] = ()) -> Terms:
    """Return the terms of a right side. ``others`` are the columns for which ``.`` stands."""
    found = _sum(node, others)
    ordered = tuple(sorted(found.fixed, key=len))
    return found._replace(fixed=ordered)


def _sum(node: Node, others: Sequence[str]) -> Terms:
    if isinstance(node, Number):
        if node.value not in (0.0, 1.0):
            raise FormulaError(
                f"the number {node} is not a term: 1 adds the intercept and 0 removes it; write arithmetic inside "
                f"I(...), as in I(2 * x), and an offset into offset({node})."
            )
        return Terms(intercept=node.value == 1.0)
    if isinstance(node, Operation):
        if node.operator in ("+", "-"):
            return _added_up(node, others)
        if node.operator in ("|", "||"):
            return Terms(groups=tuple(_groups(node, others)))
    if isinstance(node, Call) and node.function == "offset":
        if len(node.arguments) != 1 or node.named:
            raise FormulaError(f"{node}: offset takes one expression, such as offset(log(exposure)).")
        return Terms(offsets=(node.arguments[0],))
    if isinstance(node, Call) and node.function == "strata":
        if not node.arguments or node.named:
            raise FormulaError(f"{node}: strata takes columns, as in strata(hospital) or strata(hospital, sex).")
        return Terms(strata=node.arguments)
    if isinstance(node, Call) and node.function in CURVES:
        asked(node)  # which refuses arguments that it does not know
        return Terms(curves=(node,))
    return Terms(fixed=_distinct(_product(node, others)))


def _added_up(node: Operation, others: Sequence[str]) -> Terms:
    """A sum or a sign: what is added and taken away from left to right, each term once, as it was written first."""
    first, operations = spine(node, ("+", "-"))
    signed = [("+", first), *((one.operator, one.right) for one in operations)]
    if not operations:
        signed = [("-", node.right)]
    fixed, intercept = dict[frozenset[str], Term](), None
    offsets, groups, strata = list[Node](), list[GroupTerm](), list[Node]()
    curves = dict[str, Call]()
    for sign, part in signed:
        one = _sum(part, others)
        if sign == "-":
            if one.offsets or one.groups or one.strata or one.curves:
                raise FormulaError("a minus cannot remove offsets, strata, curves and group effects: leave them out.")
            for term in one.fixed:
                fixed.pop(_key(term), None)
            intercept = intercept if one.intercept is None else not one.intercept
            continue
        for term in one.fixed:
            fixed.setdefault(_key(term), term)
        intercept = intercept if one.intercept is None else one.intercept
        offsets += one.offsets
        groups += one.groups
        strata += one.strata
        for curve in one.curves:
            name = asked(curve).name
            if curves.setdefault(name, curve) != curve:
                raise FormulaError(f"{name} is in the formula twice, as {curves[name]} and as {curve}: leave one out.")
    _refuse_too_many(fixed)
    return Terms(
        fixed=tuple(fixed.values()),
        intercept=intercept,
        offsets=tuple(offsets),
        groups=tuple(groups),
        strata=tuple(dict.fromkeys(strata)),
        curves=tuple(curves.values()),
    )


def _key(term: Term) -> frozenset[str]:
    """``a:b`` and ``b:a`` are one term."""
    return frozenset(map(label, term))


def _distinct(terms: Sequence[Term]) -> tuple[Term, ...]:
    """Every term once, as it was written first."""
    found: dict[frozenset[str], Term] = {}
    for term in terms:
        found.setdefault(_key(term), term)
    _refuse_too_many(found)
    return tuple(found.values())


def _refuse_too_many(terms: Sized) -> None:
    if len(terms) > _MOST_TERMS:
        raise FormulaError(f"the formula has more than {_MOST_TERMS:,} terms: write fewer.")


def _product(node: Node, others: Sequence[str]) -> list[Term]:
    """The terms of anything but a sum with intercepts, offsets or groups."""
    first, operations = spine(node, _PRODUCTS)
    if operations:
        found = _product(first, others)
        for one in operations:
            found = _multiplied(found, one, others)
        return found
    if isinstance(node, Operation) and node.left is not None:
        if node.operator in ("+", "-"):
            inside = _sum(node, others)
            if inside.curves:
                raise FormulaError(_IN_A_PRODUCT.format(inside.curves[0]))
            if inside.offsets or inside.groups or inside.strata or inside.intercept is not None:
                raise FormulaError(
                    f"({node}): 0, 1, offsets, strata and group effects can be added to other terms, but not "
                    "multiplied."
                )
            return list(inside.fixed)
        if node.operator in ("|", "||"):
            raise FormulaError(f"({node}): group effects can be added to other terms, but not multiplied.")
    if isinstance(node, Name) and node.name == ".":
        return [(Name(name),) for name in others]
    return [(_atom(node),)]


_IN_A_PRODUCT = (
    "{0} is in a product: write a curve that differs between levels, or that is multiplied by a column, as s(x, by=z)."
)
_PRODUCTS = (":", "*", "/", "**")


def _multiplied(a: list[Term], operation: Operation, others: Sequence[str]) -> list[Term]:
    """``a`` with what stands right of it."""
    if operation.operator == "**":
        return _power(a, operation.right)
    b = _product(operation.right, others)
    if operation.operator == ":":
        return _times(a, b)
    if operation.operator == "*":
        return [*a, *b, *_times(a, b)]
    together: Term = tuple(dict.fromkeys(atom for term in a for atom in term))
    return [*a, *_times([together], b)]


def _times(left: list[Term], right: list[Term]) -> list[Term]:
    if len(left) * len(right) > 100 * _MOST_TERMS:
        raise FormulaError(f"the formula has more than {_MOST_TERMS:,} terms: write fewer.")
    return list(_distinct([tuple(dict.fromkeys((*a, *b))) for a in left for b in right]))


def _power(terms: list[Term], exponent: Node) -> list[Term]:
    if not isinstance(exponent, Number) or exponent.value not in range(1, _HIGHEST_POWER + 1):
        raise FormulaError(
            f"** {exponent}: the power of terms is a whole number from 1 to {_HIGHEST_POWER}, and means all products "
            "of so many of them; the power of a column is I(x**2)."
        )
    if len(terms) == 1 and exponent.value > 1:
        term = ":".join(map(str, terms[0]))
        raise FormulaError(
            f"{term}**{exponent} would be {term} alone, since ** between terms means products of different ones. Write "
            f"I({term}**{exponent}) for the power of a column."
        )
    found = list(terms)
    for _ in range(int(exponent.value) - 1):
        found = list(_distinct([*found, *_times(found, terms)]))
    return found


def _atom(node: Node) -> Node:
    if isinstance(node, Number | Text):
        if isinstance(node, Text):
            raise FormulaError(
                f"{node} is a text, not a column: the name of a column is written in backticks, `{node.value}`."
            )
        raise FormulaError(f"{node} is not a column: write arithmetic inside I(...).")
    if isinstance(node, Operation) and node.operator not in COMPARISONS:
        raise FormulaError(f"{node}: write arithmetic inside I(...), as in I({node}).")
    if isinstance(node, Call) and node.function == TIME_TO_EVENT:
        raise FormulaError(f"{node}: {TIME_TO_EVENT}(...) is the whole left side, as in Surv(time, event) ~ x.")
    if isinstance(node, Call) and node.function in CURVES:
        raise FormulaError(_IN_A_PRODUCT.format(node))
    if isinstance(node, Call) and node.function in (*BESIDE, "offset", "strata"):
        where = "on the left side, as in y | trials(n)" if node.function in BESIDE else "beside other terms"
        raise FormulaError(f"{node}: {node.function}(...) must be {where}.")
    return node


def _groups(node: Operation, others: Sequence[str]) -> list[GroupTerm]:
    """``(x | a/b)`` is ``(x | a) + (x | a:b)``."""
    assert node.left is not None
    inner = [one for one in (node.left, node.right) if isinstance(one, Operation) and one.operator in ("|", "||")]
    if inner:
        raise FormulaError(f"({node}): group effects have one bar, as in (1 + x | group).")
    columns = terms_of(node.left, others)
    if columns.groups or columns.offsets or columns.strata:
        raise FormulaError(f"({node}): there must be columns to the left of the bar.")
    if columns.curves:
        raise FormulaError(
            f"({node}): a curve for every group is not possible: write s(x) + (1 + x | group), s(x, by=group) for a "
            "few levels, or powers of x, (x + I(x**2) | group)."
        )
    by = _product(node.right, others)
    for term in by:
        wrong = [
            atom
            for atom in term
            if not isinstance(atom, Name) and not (isinstance(atom, Call) and atom.function == "C")
        ]
        if wrong:
            raise FormulaError(
                f"({node}): to the right of the bar write a column of groups, a:b or a/b, not {wrong[0]}."
            )
    return [GroupTerm(columns, term, node.operator == "|") for term in by]


def columns_of(terms: Terms) -> list[str]:
    """Return the names of all columns that a right side needs."""
    nodes = [atom for term in terms.fixed for atom in term] + [*terms.offsets, *terms.strata]
    nodes += [one for curve in terms.curves for one in columns_of_smooth(curve)]
    for group in terms.groups:
        nodes += [atom for term in group.columns.fixed for atom in term] + list(group.by)
    return list(dict.fromkeys(name for node in nodes for name in columns_in(node)))
