"""Priors of a formula's coefficients, by term; what a user leaves out has the default (`tunamh.priors.default`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .._arguments import is_meant, shown
from ..priors.default import (
    INTERCEPT,
    ByTerm,
    beside_intercept,
    coefficient_scales,
    intercept_prior,
    unit_without_intercept,
)
from ..priors.independent import IndependentPrior
from ..priors.normal import Normal
from ..priors.registry import independent_names
from .data_summaries import Learned
from .errors import FormulaError, listed
from .parser import parse
from .right_side import RightSide
from .smooth_priors import scales_of_smooths, with_smooths
from .syntax import label
from .terms import terms_of

_FAMILY_PARAMETERS = frozenset(
    ("sigma", "scale", "nu", "df", "alpha", "shape", "dispersion", "kappa", "phi", "precision", "threshold", "cutpoint")
)
_OF_THE_FAMILY = (
    " The prior of a parameter of the family is an argument of the family, such as "
    "family=tunamh.Gaussian(scale=tunamh.HalfNormal(1)) or tunamh.Ordinal(cutpoint=tunamh.Normal(scale=5))."
)

_OF_OTHER_LIBRARIES = {
    "b": " One prior of all coefficients is given without a dict: prior=tunamh.Normal(scale=1).",
    "sd": ' The standard deviation of group effects has their term as its key: "(1 | group)".',
    "cor": ' The correlations of group effects have the key "correlation (x | group)".',
}


def prior_of(
    given: Any,
    learned: Learned,
    location: tuple[float | None, float],
    classes: Sequence[str] | None = None,
    intercept: IndependentPrior | None = None,
) -> Any:
    """Return the prior of the coefficients from what a user passes.

    A user passes nothing, one prior for all coefficients except the intercept, or priors by the names of terms.
    ``location`` contains the centre and the unit of the linear predictor. ``classes`` are the levels of the response;
    `Categorical` has an intercept for each level except the first. ``intercept`` replaces the default prior of the
    intercept.
    """
    side, unit = learned.side, location[1]
    if not side.smooths:
        return _of_columns(given, learned, location, classes, intercept)
    scales, others = scales_of_smooths(given, side, unit, learned.columns.size)
    return with_smooths(_of_columns(others, learned, location, classes, intercept), side, scales)


def _of_columns(
    given: Any,
    learned: Learned,
    location: tuple[float | None, float],
    classes: Sequence[str] | None,
    intercept: IndependentPrior | None,
) -> Any:
    """The same without the scales of curves."""
    side, columns, (centre, unit) = learned.side, learned.columns, location
    own = intercept_prior(columns, centre, unit) if intercept is None else intercept
    if INTERCEPT not in side.names and not side.hide_intercept:
        unit = unit_without_intercept(centre, unit)
    default: dict[str, IndependentPrior] = {}  # the first span of a term that has several is for all of them
    for (name, _), scale in zip(side.spans, coefficient_scales(columns, unit), strict=True):
        default.setdefault(name, own if name == INTERCEPT else Normal(scale=scale))
    if given is None:
        return ByTerm(default, side.spans)
    if isinstance(given, Mapping):
        return (
            ByTerm({**default, **_by_name(given, side)}, side.spans)
            if _whole_terms(given, side)
            else _each(given, side, default)
        )
    several = classes is not None and len(classes) > 2
    intercepts = [f"{INTERCEPT}[{name}]" for name in (classes or ())[1:]] if several else [INTERCEPT]
    found = beside_intercept(given, dict.fromkeys(intercepts, own) if INTERCEPT in side.names else {})
    if found is not None:
        return found
    if isinstance(given, IndependentPrior) and not any(
        isinstance(value, tuple | dict) for value in given.by_column().values()
    ):
        others = {name: given for name in default if name != INTERCEPT}
        return ByTerm({**default, **others}, side.spans)
    return given  # of all columns, the intercept among them: a function, a covariance, numbers for each


def _key(name: str, side: RightSide) -> str:
    """A term or a column as results call it, whether or not it was written with backticks and spaces."""
    known = {one for one, _ in side.spans} | set(side.names)
    plain = name.strip().replace("`", "")
    if name in known or plain in known:
        return name if name in known else plain
    tight = {one.replace(" ", ""): one for one in known}
    if plain.replace(" ", "") in tight:
        return tight[plain.replace(" ", "")]
    as_term = {frozenset(one.split(":")): one for one, _ in side.spans}
    written = frozenset(_written_terms(name))
    if written in as_term:
        return as_term[written]
    names = list(dict.fromkeys([one for one, _ in side.spans]))
    hint = _OF_THE_FAMILY if plain in _FAMILY_PARAMETERS else _OF_OTHER_LIBRARIES.get(plain) or is_meant(plain, names)
    raise FormulaError(
        f"prior names {name!r}, which is not a term of the formula; its terms are {listed(names, 20)}.{hint}"
    )


def _written_terms(name: str) -> list[str]:
    """The factors of a term as results call them, however its quotes, spaces and parentheses were typed."""
    try:
        terms = terms_of(parse(f"~ 0 + {name}").right).fixed
    except FormulaError:
        return []
    return [label(atom) for atom in terms[0]] if len(terms) == 1 else []


def named_terms(given: Mapping[Any, Any], side: RightSide) -> set[str]:
    """Return the names, as results have them, of the terms and columns for which the user gives a prior."""
    return set(_by_name(given, side))


def _by_name(given: Mapping[Any, Any], side: RightSide) -> dict[str, IndependentPrior]:
    found: dict[str, IndependentPrior] = {}
    for name, prior in given.items():
        key = _key(str(name), side)
        if isinstance(prior, type) or not isinstance(prior, IndependentPrior):
            raise TypeError(
                f"the prior of {name} must be {independent_names()} of tunamh.priors, such as tunamh.Normal(scale=1), "
                f"got {shown(prior)}."
            )
        if any(isinstance(value, tuple | dict) for value in prior.by_column().values()):
            raise FormulaError(
                f"the prior of {name} must have single numbers, because it is the prior of each coefficient separately."
            )
        found[key] = prior
    return found


def _whole_terms(given: Mapping[Any, Any], side: RightSide) -> bool:
    terms = {name for name, _ in side.spans}
    return all(name in terms for name in _by_name(given, side))


def _each(given: Mapping[Any, Any], side: RightSide, default: dict[str, IndependentPrior]) -> ByTerm:
    """Where single levels are named: a prior for every coefficient; the most particular name counts."""
    named = _by_name(given, side)
    priors, at = {}, 0
    for term, count in side.spans:
        for name in side.names[at : at + count]:
            priors[name] = named.get(name, named.get(term, default[term]))
        at += count
    return ByTerm(priors, [(name, 1) for name in side.names])
