"""What to try where a model does not fit, by its family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..targets.families.base import BaseFamily, Responses

_OTHER_COUNTS = "Try another family of counts: NegativeBinomial, ZeroInflated, Hurdle."
_POISSON = ("Poisson", "SoftplusPoisson")


def name_of(family: BaseFamily | None) -> str:
    return "" if family is None else type(family).__name__


def of_spread(family: BaseFamily | None, more: bool) -> str:
    name = name_of(family)
    if name == "Exponential":
        return "Try family=tunamh.Weibull() or tunamh.Gamma(): they have an unknown shape."
    if not more:
        return "If you have set the scale, leave it unknown; otherwise the intervals of this model are too wide."
    if name in _POISSON:
        return "Try family=tunamh.NegativeBinomial(), or group effects, (1 | group)."
    if family is not None and family.of_labels:
        return (
            "Try group effects, (1 | group), with an effect for each group or for each row: responses of one "
            "group are correlated."
        )
    if family is not None and family.responses is Responses.COUNTS:
        return "Try group effects, (1 | group), or columns that the model does not have yet."
    return "Leave the scale unknown (no scale= in the family), or try group effects, (1 | group)."


def of_changing_spread(family: BaseFamily | None, column: str, groups: Sequence[str]) -> str:
    slopes = f" Or let slopes differ between groups: ({column} | {groups[0]})." if groups else ""
    if name_of(family) in _POISSON:
        return f"Try family=tunamh.NegativeBinomial().{slopes}"
    described = [] if family is None else list(family.described)
    if described and not groups:
        return f'Let the {described[0]} depend on columns: predictors={{"{described[0]}": "~ {column}"}}.'
    return f"Try a family with another variance function, or transform the response.{slopes}"


def of_zeros(family: BaseFamily | None, more: bool) -> str:
    name = name_of(family)
    if name in ("ZeroInflated", "Hurdle"):
        parameter = "inflation" if name == "ZeroInflated" else "positive"
        return f'Let the share of zeros depend on columns: predictors={{"{parameter}": "~ x"}}.'
    if more:
        own = "tunamh.NegativeBinomial()" if name == "NegativeBinomial" else "tunamh.Poisson()"
        return (
            f"Try family=tunamh.ZeroInflated({own}), or tunamh.NegativeBinomial() if there are also too many "
            "large counts."
        )
    return "Try family=tunamh.Hurdle(): it has its own probability of zeros."


def of_skewness(family: BaseFamily | None, positive: bool) -> str:
    if family is not None and family.responses is Responses.COUNTS:
        return _OTHER_COUNTS
    if family is not None and family.responses is Responses.REALS and positive:
        return "Try family=tunamh.Gamma() or tunamh.LogNormal(), or log(y) as the response."
    if family is not None and family.responses is Responses.POSITIVE:
        return "Try another family of positive responses: Gamma, LogNormal, Weibull, LogLogistic."
    return "Try to transform the response, or a family with another shape."


def of_tails(family: BaseFamily | None) -> str:
    name = name_of(family)
    if family is not None and family.responses is Responses.COUNTS:
        return _OTHER_COUNTS
    if name in ("Gaussian", "Huber", "LogisticErrors"):
        return "Try family=tunamh.StudentT(), and look at the rows with the largest residuals."
    if name == "StudentT":
        return "Leave the degrees of freedom unknown: family=tunamh.StudentT(None)."
    if name == "LogNormal":
        return "Try family=tunamh.LogLogistic(), and look at the rows with the largest residuals."
    return "Look at the rows with the largest residuals: check.rows."


def of_trend(family: BaseFamily | None, column: str, known: bool) -> str:
    if not known:
        return f"Add {column} to the formula."
    return (
        f"Let the effect of {column} be a curve or depend on other columns: I({column} ** 2), log({column}), "
        f"{column}:other."
    )


def of_predictor(family: BaseFamily | None) -> str:
    return "Try curved terms and interactions, a transformed response, or a family with another link."


def of_levels(column: str, effects: bool, fixed: bool) -> str:
    if effects:
        return f"Let slopes differ between the levels of {column}: (x | {column})."
    return f"Let effects differ between the levels: {column}:x." if fixed else f"Add (1 | {column}) to the formula."


def of_law(column: str) -> str:
    return (
        f'Try Student-t effects, prior={{"law (1 | {column})": tunamh.priors.StudentT(df=4)}}, or columns that explain '
        "the levels that are far off."
    )


def of_class(name: Any) -> str:
    return "Try curved terms and interactions; for ordered classes also tunamh.Categorical(), which ignores the order."
