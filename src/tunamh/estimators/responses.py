"""Which families an estimator can take."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ..targets.families import BaseFamily
from ..targets.families.base import Responses
from ..targets.families.registry import family_by_word

if TYPE_CHECKING:
    from ..targets.families.responses import ResponseDistribution


def by_word(family: Any) -> Any:
    """Return the family with this name. Anything else, also an unknown name, is returned as it is; `fit` refuses it."""
    try:
        return family_by_word(family) if isinstance(family, str) else family
    except ValueError:
        return family


def distribution_of(family: Any) -> ResponseDistribution:
    """Return the distribution of responses. Raise `TypeError` for families with which an estimator cannot predict."""
    if isinstance(family, type):
        raise TypeError(f"family must be a value such as tunamh.{family.__name__}(), got the class.")
    if isinstance(family, str):
        family = family_by_word(family)  # raises, as it is no family's word
    known = family if isinstance(family, BaseFamily) else None
    if known is not None and known.coefficients_per_class:
        raise TypeError("Categorical() describes classes: use BayesianLogisticRegression, which takes any labels.")
    found = None if known is None or known.of_classes or known.own_intercepts else known.response_distribution()
    if known is not None and known.responses is None:  # nothing is known of where its predictors may be
        found = None
    if found is None:
        raise TypeError(
            f"family must be one of tunamh whose responses have a mean, such as tunamh.Poisson(), got {family!r}; "
            "tunamh.GLM and tunamh.sample take every family."
        )
    return found


def has_positive_responses(family: Any) -> bool:
    """Return True if responses must not be negative. The result is False for an object that is no family."""
    return isinstance(family, BaseFamily) and family.responses in (Responses.COUNTS, Responses.POSITIVE)
