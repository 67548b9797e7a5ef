"""What to try where a model does not fit, by its family."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from ..formula.syntax import Name
from ..targets.families.base import BaseFamily, Responses
from ..targets.families.two_part_counts import TwoPartFamily

_POISSON = ("Poisson", "SoftplusPoisson")
_NOT_YET = "columns or effects of groups, (1 | group), that the model does not have yet"


def written(column: str) -> str:
    """Return the name of a column as in a formula: unusual names are in backticks."""
    return str(Name(column))


def name_of(family: BaseFamily | None) -> str:
    return "" if family is None else type(family).__name__


def _counts_of(family: BaseFamily | None) -> str:
    """The family of the counts, where zeros have a probability of their own."""
    return type(family.counts).__name__ if isinstance(family, TwoPartFamily) else ""


def _other_counts(family: BaseFamily | None) -> str:
    """Families of counts that allow more than the present one."""
    name, inner = name_of(family), _counts_of(family)
    if inner and inner != "NegativeBinomial":
        return f"Try family=tunamh.{name}(tunamh.NegativeBinomial())."
    if inner:
        other = "Hurdle" if name == "ZeroInflated" else "ZeroInflated"
        return f"Try family=tunamh.{other}(tunamh.NegativeBinomial()), or {_NOT_YET}."
    if name == "NegativeBinomial":
        zeros = "tunamh.ZeroInflated(tunamh.NegativeBinomial()) or tunamh.Hurdle(tunamh.NegativeBinomial())"
        return f"Try family={zeros}, or {_NOT_YET}."
    inflated = "tunamh.ZeroInflated(tunamh.Poisson())"
    return f"Try family=tunamh.NegativeBinomial(), or {inflated} if there are also too many zeros."


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
    if _counts_of(family) == "Poisson":
        return _other_counts(family)
    if family is not None and family.responses is Responses.COUNTS:
        return "Try group effects, (1 | group), or columns that the model does not have yet."
    return "Leave the scale unknown (no scale= in the family), or try group effects, (1 | group)."


def of_changing_spread(family: BaseFamily | None, column: str, groups: Sequence[str]) -> str:
    column = written(column)
    slopes = f" Or let slopes differ between groups: ({column} | {groups[0]})." if groups else ""
    if name_of(family) in _POISSON:
        return f"Try family=tunamh.NegativeBinomial().{slopes}"
    described = [] if family is None else list(family.described)
    if described and not groups:
        return f'Let the {described[0]} depend on columns: predictors={{"{described[0]}": "~ {column}"}}.'
    return f"Try a family with another variance function, or transform the response.{slopes}"


def of_zeros(family: BaseFamily | None, more: bool) -> str:
    name = name_of(family)
    if isinstance(family, TwoPartFamily):
        return f'Let the share of zeros depend on columns: predictors={{"{family.described[0]}": "~ x"}}.'
    own = "tunamh.NegativeBinomial()" if name == "NegativeBinomial" else "tunamh.Poisson()"
    if not more:
        return f"Try family=tunamh.Hurdle({own}): it has its own probability of zeros."
    if name == "NegativeBinomial":
        return f"Try family=tunamh.ZeroInflated({own})."
    return (
        f"Try family=tunamh.ZeroInflated({own}), or tunamh.NegativeBinomial() if there are also too many large counts."
    )


def of_skewness(family: BaseFamily | None, positive: bool) -> str:
    if family is not None and family.responses is Responses.COUNTS:
        return _other_counts(family)
    if family is not None and family.responses is Responses.REALS and positive:
        return "Try family=tunamh.Gamma() or tunamh.LogNormal(), or log(y) as the response."
    if family is not None and family.responses is Responses.POSITIVE:
        return "Try another family of positive responses: Gamma, LogNormal, Weibull, LogLogistic."
    return "Try to transform the response, or a family with another shape."


def of_tails(family: BaseFamily | None) -> str:
    name = name_of(family)
    if family is not None and family.responses is Responses.COUNTS:
        return _other_counts(family)
    if name in ("Gaussian", "Huber", "LogisticErrors"):
        return "Try family=tunamh.StudentT(), and look at the rows with the largest residuals."
    if name == "StudentT":
        return "Leave the degrees of freedom unknown: family=tunamh.StudentT(None)."
    if name == "LogNormal":
        return "Try family=tunamh.LogLogistic(), and look at the rows with the largest residuals."
    return "Look at the rows with the largest residuals: check.rows."


def of_trend(column: str, known: bool, coded: bool) -> str:
    """Return advice for a trend along a column. ``coded`` is True if the column has values that look like codes."""
    if coded:
        return "First look at the values that may be codes for missing values (below)."
    column = written(column)
    if not known:
        return f"Add {column} to the formula."
    return (
        f"Let the effect of {column} be a curve or depend on other columns: I({column} ** 2), log({column}), "
        f"{column}:other."
    )


def of_predictor(family: BaseFamily | None) -> str:
    return "Try curved terms and interactions, a transformed response, or a family with another link."


def of_levels(column: str, effects: bool, fixed: bool) -> str:
    if effects:  # groups are written as in the formula
        return f"Let slopes differ between the levels of {column}: (x | {column})."
    column = written(column)
    return f"Let effects differ between the levels: {column}:x." if fixed else f"Add (1 | {column}) to the formula."


def of_law(column: str) -> str:
    return (
        f'Try Student-t effects, prior={{"law (1 | {column})": tunamh.priors.StudentT(df=4)}}, or columns that explain '
        "the levels that are far off."
    )


def of_class(name: Any) -> str:
    return "Try curved terms and interactions; for ordered classes also tunamh.Categorical(), which ignores the order."
