"""Priors of a formula's coefficients, by term, in the units of the data.

The default: the intercept is flat, a coefficient of a number ``x`` is ``Normal(scale=2.5 unit / sd(x))``, one of a
level ``Normal(scale=2.5 unit)``. The unit is the standard deviation of the response where that is real, of its
logarithm for log-normal, log-logistic and Weibull times, and 1 behind a link. So a change of a column by its
standard deviation moves the predictor by a few units at most, before the data are seen (Gelman et al., 2008; as in
rstanarm and Bambi).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._arguments import shown
from ..priors import ByName, Flat, Normal
from ..priors.independent import IndependentPrior
from ..priors.laws import Laws
from ..priors.mixtures import MixturePrior
from .errors import FormulaError, listed
from .learning import INTERCEPT
from .parse import parse
from .right_side import RightSide
from .syntax import label
from .terms import terms_of

_WIDTH = 2.5


@dataclass(frozen=True)
class ByTerm(IndependentPrior):
    """A prior for every term, which serves each of its coefficients by itself."""

    priors: Mapping[str, IndependentPrior]
    spans: Sequence[tuple[str, int]] = field(repr=False)

    def laws(self, dim: int) -> Laws:
        parts = [self.priors[name].laws(count) for name, count in self.spans]
        laws = Laws(*(np.concatenate(numbers) for numbers in zip(*parts, strict=True)))
        classes = dim // max(len(laws.kind), 1)  # a stretch of coefficients for every class but one
        return Laws(*(np.tile(numbers, classes) for numbers in laws))


def default_priors(
    side: RightSide, spreads: Sequence[float | None], unit: float, intercept: IndependentPrior
) -> dict[str, IndependentPrior]:
    """By span; the first one of a term that has several is for all of them."""
    found: dict[str, IndependentPrior] = {}
    for (name, _), spread in zip(side.spans, spreads, strict=True):
        if name == INTERCEPT:
            found.setdefault(name, intercept)
        else:
            scale = _WIDTH * unit / (spread if spread else 1.0)
            found.setdefault(name, Normal(scale=float(f"{scale:.3g}")))
    return found


def prior_of(
    given: Any,
    side: RightSide,
    spreads: Sequence[float | None],
    unit: float,
    classes: Sequence[str] | None = None,
    intercept: IndependentPrior | None = None,
) -> Any:
    """What a user says: nothing, a prior of all coefficients but the intercept, or some by the name of their term.

    ``classes`` are the levels of the response, of which `Categorical` has an intercept for each but the first.
    ``intercept`` is its default prior; None: flat.
    """
    default = default_priors(side, spreads, unit, Flat() if intercept is None else intercept)
    if given is None:
        return ByTerm(default, side.spans)
    if isinstance(given, Mapping):
        return (
            ByTerm({**default, **_by_name(given, side)}, side.spans)
            if _whole_terms(given, side)
            else _each(given, side, default)
        )
    if isinstance(given, MixturePrior):
        several = classes is not None and len(classes) > 2
        intercepts = [f"{INTERCEPT}[{name}]" for name in (classes or ())[1:]] if several else [INTERCEPT]
        return ByName(dict.fromkeys(intercepts, Flat()), others=given) if INTERCEPT in side.names else given
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
    raise FormulaError(f"prior names {name!r}, which is no term of the formula; its terms are {listed(names, 20)}.")


def _written_terms(name: str) -> list[str]:
    """The factors of a term as results call them, however its quotes, spaces and parentheses were typed."""
    try:
        terms = terms_of(parse(f"~ 0 + {name}").right).fixed
    except FormulaError:
        return []
    return [label(atom) for atom in terms[0]] if len(terms) == 1 else []


def named_terms(given: Mapping[Any, Any], side: RightSide) -> set[str]:
    """The terms and columns that priors are given for, as results call them."""
    return set(_by_name(given, side))


def _by_name(given: Mapping[Any, Any], side: RightSide) -> dict[str, IndependentPrior]:
    found: dict[str, IndependentPrior] = {}
    for name, prior in given.items():
        if isinstance(prior, type) or not isinstance(prior, IndependentPrior):
            raise TypeError(
                f"the prior of {name} must be Flat, Normal, StudentT, Laplace or Cauchy of tunamh.priors, such as "
                f"tunamh.Normal(scale=1), got {shown(prior)}."
            )
        if any(isinstance(value, tuple | dict) for value in prior.by_column().values()):
            raise FormulaError(
                f"the prior of {name} must have single numbers, since it serves each coefficient by itself."
            )
        found[_key(str(name), side)] = prior
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
