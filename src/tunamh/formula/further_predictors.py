"""Further predictors of a family in a formula: columns about their means, and priors in the units of the data.

The rule is that of the main predictor: ``Normal(scale=2.5 / sd(x))`` for a number, ``Normal(scale=2.5)`` for a level.
Such predictors stand behind a link, and data may hardly hold their intercept (where there is no zero too many, any low
inflation will do), so that it has a proper prior: ``Normal(scale=2.5)``, of a row whose numbers have their means. That
of the log scale of real responses is about the logarithm of their standard deviation.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..priors import Normal
from ..priors.default import COEFFICIENT_WIDTH, rounded
from ..priors.smooths import WithSmooths
from ..targets.designs.base import NamedDesign
from .data_summaries import Learned
from .errors import FormulaError, listed
from .evaluation import Values
from .priors import INTERCEPT, named_terms, prior_of
from .smooth_priors import scales_of_smooths
from .variable_parts import FAMILY_NAMES


def split_further(prior: Any, further: Mapping[str, Any], terms: set[str]) -> tuple[Any, dict[str, dict[str, Any]]]:
    """Separate the priors of the main predictor from those of further predictors.

    A prior of a further predictor has a name such as ``inflation year``: the name of the parameter, then of the term.
    """
    found: dict[str, dict[str, Any]] = {name: {} for name in further}
    if not isinstance(prior, Mapping):
        return prior, found
    main = {}
    for name, given in prior.items():
        parameter, term = _of_parameter(str(name), found)
        if str(name) not in terms and parameter is not None:
            found[parameter][term] = given
        else:
            main[name] = given
    return main, found


def _of_parameter(name: str, known: Mapping[str, Any]) -> tuple[str | None, str]:
    """The parameter and the term of ``inflation year``, or of ``inflation_year`` as results have it."""
    for parameter in sorted(known, key=len, reverse=True):  # ``log_k`` before ``log``
        for called in (parameter, FAMILY_NAMES.get(parameter, parameter)):
            rest = name.removeprefix(called)
            if rest != name and rest[:1] in (" ", "_") and rest[1:]:
                return parameter, rest[1:]
    return None, name


def described_by(name: str, of: Learned, values: Values, given: Mapping[str, Any], family: Any, unit: float) -> Any:
    """Return the columns of one further predictor, the numbers subtracted from them, and their prior."""
    side = of.side
    if side.dim == 0:
        raise FormulaError(f"the predictor of {name} has no coefficients: give it an intercept or a term.")
    own = family.parameter_prior(name)
    if own is not None:
        if side.smooths:
            raise FormulaError(
                f"{name} has the prior {own!r} in the family, but {side.smooths[0].name} in its predictor needs its "
                f'own prior: leave the prior of the family out, and set priors by name, such as {{"{name} Intercept": '
                "tunamh.Normal(scale=1)}."
            )
        if given:
            told = listed([f"{name} {term}" for term in given])
            raise FormulaError(
                f"{name} has two priors: {own!r} of the family, and that of {told}. Leave one of them out."
            )
        return NamedDesign(side.design(values), side.names)
    level = rounded(np.log(unit)) if name == "scale" else 0.0
    try:
        intercept = Normal(mean=level, scale=COEFFICIENT_WIDTH)
        prior = prior_of(given or None, of, (level, 1.0), intercept=intercept)
        of_terms = scales_of_smooths(given, side, 1.0, of.columns.size)[1] or {}
        about_zero = INTERCEPT not in side.names or INTERCEPT in named_terms(of_terms, side)
    except FormulaError as error:
        raise FormulaError(f"of the predictor of {name}: {error}") from None
    origin = np.zeros(side.dim)
    if not about_zero:
        means = [0.0 if one is None else one.mean for one in of.moments[: len(side.whole)]]
        origin[: len(means)] = means
    if isinstance(prior, WithSmooths):
        prior = prior.of_predictor(name)
    return NamedDesign(side.design(values, origin), side.names, prior, origin)
