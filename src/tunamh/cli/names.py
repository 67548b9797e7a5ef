"""Families and priors as one writes them at a shell."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from .app import Refused


def _families() -> dict[str, Callable[[], Any]]:
    from .. import targets as t

    return {
        "logistic": t.Logistic,
        "probit": t.Probit,
        "cloglog": t.Cloglog,
        "gaussian": t.Gaussian,
        "student-t": t.StudentT,
        "huber": t.Huber,
        "logistic-errors": t.LogisticErrors,
        "poisson": t.Poisson,
        "negative-binomial": t.NegativeBinomial,
        "zero-inflated-poisson": lambda: t.ZeroInflated(t.Poisson()),
        "zero-inflated-negative-binomial": lambda: t.ZeroInflated(t.NegativeBinomial()),
        "hurdle-poisson": lambda: t.Hurdle(t.Poisson()),
        "gamma": t.Gamma,
        "exponential": t.Exponential,
        "lognormal": t.LogNormal,
        "loglogistic": t.LogLogistic,
        "weibull": t.Weibull,
        "beta": t.Beta,
        "categorical": t.Categorical,
        "ordinal": t.Ordinal,
    }


FAMILIES = (
    "logistic, probit, cloglog (0 or 1); gaussian, student-t, huber, logistic-errors (real); poisson, "
    "negative-binomial, zero-inflated-poisson, zero-inflated-negative-binomial, hurdle-poisson (counts); gamma, "
    "exponential, lognormal, loglogistic, weibull (positive); beta (shares); categorical, ordinal (classes)"
)


def family_named(name: str) -> Any:
    found = _families().get(name.lower().replace("_", "-"))
    if found is None:
        raise Refused(f"there is no family {name!r}; known are {FAMILIES}.")
    return found()


_LAWS = {
    "normal": ("Normal", ("mean", "scale")),
    "student_t": ("StudentT", ("df", "mean", "scale")),
    "cauchy": ("Cauchy", ("mean", "scale")),
    "laplace": ("Laplace", ("mean", "scale")),
    "flat": ("Flat", ()),
    "half_normal": ("HalfNormal", ("scale",)),
    "half_cauchy": ("HalfCauchy", ("scale",)),
    "half_student_t": ("HalfStudentT", ("df", "scale")),
}
_PRIOR = re.compile(r"\s*(?P<term>.+?)\s*=\s*(?P<law>\w+)\s*\((?P<numbers>[^()]*)\)\s*")
PRIORS = "'distance=normal(0, 1)'; laws are " + ", ".join(
    f"{law}({', '.join(names)})" for law, (_, names) in _LAWS.items()
)


def priors_named(texts: list[str]) -> dict[str, Any] | None:
    """By term, from texts such as ``distance=normal(0, 1)``."""
    from .. import priors

    found = {}
    for text in texts:
        match = _PRIOR.fullmatch(text)
        if match is None or match["law"] not in _LAWS:
            raise Refused(f"--prior {text!r} cannot be read: write it as {PRIORS}.")
        kind, names = _LAWS[match["law"]]
        try:
            numbers = [float(one) for one in match["numbers"].split(",") if one.strip()]
        except ValueError:
            raise Refused(f"--prior {text!r}: {match['numbers']!r} are not numbers.") from None
        if len(numbers) != len(names):
            raise Refused(f"--prior {text!r}: {match['law']} takes {len(names)} numbers ({', '.join(names)}).")
        law = getattr(priors, kind)
        named = dict(zip(names, numbers, strict=True))
        positional = kind.startswith("Half")
        found[match["term"]] = law(*numbers) if positional else law(**named)
    return found or None


def predictors_named(texts: list[str]) -> dict[str, str] | None:
    """By parameter, from texts such as ``scale=~ distance``."""
    found = {}
    for text in texts:
        name, equals, formula = text.partition("=")
        if not equals or not formula.strip():
            raise Refused(f"--predictors {text!r} cannot be read: write it as 'scale=~ distance'.")
        found[name.strip()] = formula.strip()
    return found or None
