"""Priors of group effects, found by the name of their term: ``(1 | g)``, ``(1 + x || g)``, ``g`` for their scales,
``correlation (1 + x | g)`` for their correlations, ``law (1 | g)`` for a Student-t law of the effects,
``covariance (1 | g)`` or ``precision (1 | g)`` for a known matrix among the levels.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from .._arguments import moderate_number, shown
from ..priors import PositivePrior
from ..priors.independent import IndependentPrior
from .errors import FormulaError, listed
from .group_names import own_name
from .model import GroupSide
from .parser import parse
from .syntax import label
from .terms import GroupTerm, Term, Terms, term_label, terms_of
from .variable_parts import pieces_of

Key = tuple[tuple[str, ...], bool, frozenset[str]]
"""The factor, whether it has intercepts, and the other columns of its effects."""


def parts_of(group: GroupTerm) -> list[Terms]:
    """Return the columns of each factor that a group term makes.

    ``(1 + x | g)`` makes one factor with two columns, and ``(1 + x || g)`` makes two factors with one column each.
    """
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
    """By the name of the factor: priors of scales, ``eta`` of the LKJ prior of correlations, and laws of effects.

    ``matrices`` describes known matrices between the levels, such as a precision matrix.
    """

    scales: dict[str, Any]
    correlations: dict[str, float]
    laws: dict[str, Any]
    matrices: dict[str, dict[str, Any]]

    def joined(self, other: GroupPriors) -> GroupPriors:
        """Return these priors together with ``other``, the priors of the factors of another predictor."""
        pairs: Any = zip(self, other, strict=True)
        return GroupPriors(*(own | more for own, more in pairs))


def split_groups(prior: Any, groups: Sequence[GroupSide]) -> tuple[Any, GroupPriors]:
    """Return the priors of coefficients and the priors of group effects, separated."""
    if not isinstance(prior, Mapping):
        return prior, GroupPriors({}, {}, {}, {})
    by_key = {_key(one.by, one.columns.terms): one.name for one in groups}
    by_name = {one.term.replace(" ", ""): one.name for one in groups}
    as_in_results = _names_in_results(groups)
    single: dict[str, dict[int, Any]] = {}
    coefficients: dict[Any, Any] = {}
    scales: dict[str, Any] = {}
    correlations: dict[str, float] = {}
    laws: dict[str, Any] = {}
    matrices: dict[str, dict[str, Any]] = {}
    for name, given in prior.items():
        if str(name) in as_in_results:
            named, places = as_in_results[str(name)]
            if places:
                _refuse_prior_of_coefficients(str(name), given)
                single.setdefault(named, {}).update(dict.fromkeys(places, given))
            else:
                correlations[named] = _eta(str(name), given, [named], groups)
            continue
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
            _refuse_prior_of_coefficients(text, given)
            scales |= _divided(given, [one for one in groups if one.name in found])
    scales |= {factor: _single(own, scales.get(factor), groups, factor) for factor, own in single.items()}
    _refuse_known_scales_of_correlated(scales, groups)
    return coefficients, GroupPriors(scales, correlations, laws, matrices)


def _refuse_prior_of_coefficients(name: str, given: Any) -> None:
    """Raise for priors of any real number, which brms cuts at zero."""
    if isinstance(given, IndependentPrior):
        raise TypeError(
            f"{name} is a standard deviation, so its prior must be of a positive parameter, such as "
            f"tunamh.HalfNormal(1) or tunamh.HalfStudentT(3, 2.5), got {shown(given)}."
        )


def _names_in_results(groups: Sequence[GroupSide]) -> dict[str, tuple[str, list[int]]]:
    """``x|g_sigma``: the factor and the columns of its effects. ``1,x|g_corr``: the factor alone."""
    found: dict[str, tuple[str, list[int]]] = {}
    for one in groups:
        names, at = [], 0
        for piece in pieces_of(one.columns):
            names.append(own_name(piece))
            found[f"{names[-1]}|{term_label(one.by)}_sigma"] = one.name, list(range(at, at + piece.size))
            at += piece.size
        for first in names:
            found |= {f"{first},{second}|{term_label(one.by)}_corr": (one.name, []) for second in names}
    return found


def _divided(given: Any, factors: Sequence[GroupSide]) -> dict[str, Any]:
    """One prior for all factors that a term makes, or a list: of ``(1 + x || g)`` and ``(1 | a/b)`` in their order."""
    sizes = [one.columns.dim for one in factors]
    if not isinstance(given, list | tuple) or len(factors) == 1 or len(given) != sum(sizes):
        return {one.name: given for one in factors}
    ends = np.cumsum(sizes)
    parts = [list(given[end - size : end]) for end, size in zip(ends, sizes, strict=True)]
    return {one.name: part for one, part in zip(factors, parts, strict=True)}


def _single(own: Mapping[int, Any], given: Any, groups: Sequence[GroupSide], factor: str) -> list[Any]:
    """Priors by columns, those named by themselves in the place of the term's."""
    (dim,) = {one.columns.dim for one in groups if one.name == factor}
    every = list(given) if isinstance(given, list | tuple) else [given] * dim
    return [own.get(k, one) for k, one in enumerate(every)]


def _refuse_known_scales_of_correlated(scales: Mapping[str, Any], groups: Sequence[GroupSide]) -> None:
    """Raise for numbers in the place of priors where a term means correlations, which would be unknown beside them."""
    for one in groups:
        given = scales.get(one.name)
        every = given if isinstance(given, list | tuple) else [given]
        if one.columns.dim > 1 and any(isinstance(size, int | float) for size in every):
            raise FormulaError(
                f"the standard deviations of ({_written(one)}) are numbers, but the correlations of its effects are "
                "unknown: known standard deviations beside unknown correlations are not sampled. Write || for effects "
                "without correlations, such as (1 + x || g), or give priors such as tunamh.HalfNormal(1)."
            )


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
