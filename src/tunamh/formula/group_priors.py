"""Priors of group effects, found by the name of their term: ``(1 | g)``, ``(1 + x || g)``, ``g`` for their scales,
``correlation (1 + x | g)`` for their correlations, ``law (1 | g)`` for a Student-t law of the effects,
``covariance (1 | g)`` or ``precision (1 | g)`` for a known matrix among the levels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from .._arguments import moderate_number
from ..priors import PositivePrior
from .errors import FormulaError, listed
from .model import GroupSide
from .parser import parse
from .syntax import label
from .terms import GroupTerm, Term, Terms, term_label, terms_of

Key = tuple[tuple[str, ...], bool, frozenset[str]]
"""The factor, whether it has intercepts, and the other columns of its effects."""


def parts_of(group: GroupTerm) -> list[Terms]:
    """The columns of each factor that a term makes: ``(1 + x || g)`` is one for every column."""
    columns = group.columns
    if group.together:
        return [columns]
    intercepts = [Terms(intercept=True)] if columns.has_intercept else []
    return intercepts + [Terms(fixed=(term,), intercept=False) for term in columns.fixed]


def _key(by: Term, columns: Terms) -> Key:
    return tuple(sorted(map(label, by))), columns.has_intercept, frozenset(map(term_label, columns.fixed))


def _asked(text: str) -> Iterator[Key]:
    """The factors that a text names, as a term of a formula does."""
    bare = text.strip()
    term = bare if bare.startswith("(") and bare.endswith(")") else f"({bare})"
    try:
        groups = terms_of(parse(f"~ {term}").right).groups
    except FormulaError:
        return  # a name that no formula can have, such as that of a correlation
    for group in groups:
        for columns in parts_of(group):
            yield _key(group.by, columns)


CORRELATION = "correlation "
"""How a name begins that stands for the correlations of a term's effects."""


LAW = "law "
"""How a name begins that stands for the law of a term's effects."""

MATRICES = ("covariance", "precision")
"""How a name begins that stands for a known matrix among the levels."""


class GroupPriors(NamedTuple):
    """Priors of scales, ``eta`` of the LKJ prior of correlations, and laws of effects, by the factor's name.

    ``matrices`` are known ones among the levels, by what they are.
    """

    scales: dict[str, Any]
    correlations: dict[str, float]
    laws: dict[str, Any]
    matrices: dict[str, dict[str, Any]]

    def joined(self, other: GroupPriors) -> GroupPriors:
        """Those of factors of another predictor, too."""
        parts: list[Any] = [own | more for own, more in zip(self, other, strict=True)]  # type: ignore[operator]
        return GroupPriors(*parts)


def split_groups(prior: Any, groups: Sequence[GroupSide]) -> tuple[Any, GroupPriors]:
    """Priors of coefficients, and those of group effects."""
    if not isinstance(prior, Mapping):
        return prior, GroupPriors({}, {}, {}, {})
    by_key = {_key(one.by, one.columns.terms): one.name for one in groups}
    by_name = {one.term.replace(" ", ""): one.name for one in groups}
    coefficients: dict[Any, Any] = {}
    scales: dict[str, Any] = {}
    correlations: dict[str, float] = {}
    laws: dict[str, Any] = {}
    matrices: dict[str, dict[str, Any]] = {}
    for name, given in prior.items():
        kind, text = _kind_and_term(str(name))
        called = by_name.get(text.replace(" ", "").removeprefix("(").removesuffix(")"))
        if "|" not in text:
            if called is not None and isinstance(given, PositivePrior):
                scales[called] = given
            else:
                coefficients[name] = given
            continue
        found = [called] if called is not None else [by_key.get(key) for key in _asked(text)]
        if not found or None in found:
            known = listed([f"({_written(one)})" for one in groups], 20) if groups else "none"
            raise FormulaError(
                f"prior names {text!r}, which is not a group term of the formula; its group terms are {known}. Such a "
                "term means the standard deviations of its effects: give one prior for all of them, or a list. For the "
                f'correlations of its effects write "{CORRELATION}" before the term.'
            )
        if kind == CORRELATION:
            correlations |= dict.fromkeys(found, _eta(str(name), given, found, groups))  # type: ignore[arg-type]
        elif kind == LAW:
            laws |= dict.fromkeys(found, given)  # type: ignore[arg-type]
        elif kind:
            for factor in found:
                matrices.setdefault(str(factor), {})[kind.strip()] = given
        else:
            scales |= dict.fromkeys(found, given)  # type: ignore[arg-type]
    return coefficients, GroupPriors(scales, correlations, laws, matrices)


def _kind_and_term(name: str) -> tuple[str, str]:
    """What a name stands for, "" for scales, and its group term."""
    for kind in (CORRELATION, LAW, *(f"{matrix} " for matrix in MATRICES)):
        if name.startswith(kind) and "|" in name:
            return kind, name.removeprefix(kind)
    return "", name


def _eta(name: str, given: Any, found: Sequence[str | None], groups: Sequence[GroupSide]) -> float:
    """The number of the LKJ prior."""
    alone = [one for one in groups if one.name in found and one.columns.dim < 2]
    if alone:
        raise FormulaError(
            f"prior names {name!r}, but ({_written(alone[0])}) has one effect for each group, and no correlation."
        )
    return moderate_number(f"the prior of {name!r} is eta of the LKJ prior, which", given, 0.1, 1e6)


def _written(one: GroupSide) -> str:
    """A factor as a formula would say it."""
    columns = one.columns.terms
    parts = [*(["1"] if columns.has_intercept else ["0"]), *map(term_label, columns.fixed)]
    return f"{' + '.join(parts)} | {term_label(one.by)}"
