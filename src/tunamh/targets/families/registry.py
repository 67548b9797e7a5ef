"""Families by name: the built-in ones, filled by this package's ``__init__``; what a user gives as a family; a family
in words that JSON knows, and back: results keep it, so that rows can be predicted from them."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from ..._arguments import explain_constructors, is_meant, shown
from .base import BaseFamily, Family, Responses

FAMILIES: dict[str, type[BaseFamily]] = {}
"""Public families by the name of their class."""


def register(names: Mapping[str, Any]) -> None:
    """Add the families in the namespace of a module to the list of built-in families."""
    found = {name: kind for name, kind in names.items() if isinstance(kind, type) and issubclass(kind, BaseFamily)}
    FAMILIES.update({name: kind for name, kind in found.items() if kind not in (BaseFamily, Family)})
    explain_constructors(FAMILIES)


def of_responses(kind: Responses) -> list[str]:
    """Return the names of the families that have this kind of response."""
    return [name for name, family in FAMILIES.items() if family.responses is kind]


def by_word() -> dict[str, Callable[[], BaseFamily]]:
    """Return the families by their names at the shell."""
    return {word: make for family in FAMILIES.values() for word, make in family.words().items()}


_SAME = {
    "bernoulli": "logistic",
    "binomial": "logistic",
    "normal": "gaussian",
    "t": "student-t",
    "multinomial": "categorical",
    "cumulative": "ordinal",
}
"""What other libraries call a family."""

_NEAR = {
    "logit": "logistic",
    "logreg": "logistic",
    "binary": "logistic",
    "linear": "gaussian",
    "lm": "gaussian",
    "ols": "gaussian",
    "student": "student-t",
    "robust": "student-t",
    "softmax": "categorical",
    "mlogit": "categorical",
    "polr": "ordinal",
    "count": "poisson",
    "nb": "negative-binomial",
    "nb2": "negative-binomial",
    "negbin": "negative-binomial",
    "negbinom": "negative-binomial",
    "negbinomial": "negative-binomial",
    "nbinom": "negative-binomial",
    "zip": "zero-inflated-poisson",
    "zinb": "zero-inflated-negative-binomial",
    "cox": "piecewise-exponential",
    "coxph": "piecewise-exponential",
    "aft": "weibull",
    "survival": "weibull",
}
"""Words that are no family's, but as good as: they are asked about, not taken."""


def family_by_word(word: str) -> BaseFamily:
    """Return the family with a name such as ``"logistic"`` or ``"negative-binomial"``.

    Raise `ValueError` for others.
    """
    plain = word.strip().lower().replace("_", "-").replace(" ", "-")
    known = by_word()
    tight = {one.replace("-", ""): one for one in known}
    found = plain if plain in known else _SAME.get(plain, tight.get(plain.replace("-", "")))
    if found is None:
        tightly = plain.replace("-", "")
        hint = f" Is {_NEAR[tightly]} meant?" if tightly in _NEAR else is_meant(plain, [*known, *_SAME])
        raise ValueError(f"there is no family {word!r}.{hint} Known are {listed_by_responses()}.")
    return known[found]()


def listed_by_responses() -> str:
    """Return all names of families in one sentence: ``logistic, probit (0 or 1); gaussian (real); ...``."""
    parts = []
    for kind in Responses:
        words = [word for name in of_responses(kind) for word in FAMILIES[name].words()]
        parts += [f"{', '.join(words)} ({kind.value})"] if words else []
    return "; ".join(parts)


def family_as_json(family: Any) -> dict[str, Any]:
    """Describe a family for JSON: the name of a built-in family and its known numbers; for others only a text."""
    name, text = type(family).__name__, repr(family)[:200]
    if FAMILIES.get(name) is not type(family):
        return {"name": None, "text": text}
    settings = family.settings()
    known: dict[str, Any] = {
        key: float(value)
        for key, value in settings.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    known |= {key: list(value) for key, value in settings.items() if isinstance(value, tuple)}
    within = {key: family_as_json(value) for key, value in settings.items() if isinstance(value, BaseFamily)}
    return {"name": name, "known": known, "text": text, **within}


def family_in_words(found: dict[str, Any]) -> str:
    """Return a family in words, such as ``Student-t regression (df = 4)``. For a user's own family it is its text."""
    if FAMILIES.get(str(found.get("name"))) is None:
        return str(found.get("text", ""))
    known = found.get("known")
    settings = known.items() if isinstance(known, dict) else ()
    numbers = [
        f"{len(value) + 1} {key}" if isinstance(value, list) else f"{key} = {value:g}"  # the times between pieces
        for key, value in settings
    ]
    return f"{_title(found)} regression" + (f" ({', '.join(numbers)})" if numbers else "")


def _title(found: dict[str, Any]) -> str:
    """``ZeroInflated`` of ``Poisson`` counts is Zero-inflated Poisson."""
    words = re.findall(r"[A-Z][a-z]*", str(found["name"]))
    own = "-".join([words[0], *(word.lower() for word in words[1:])])
    within = [_title(value) for value in found.values() if isinstance(value, dict) and "name" in value]
    return " ".join([own, *within])


def family_from_json(found: dict[str, Any]) -> BaseFamily | None:
    """Return the family with its known numbers, or None for a user's own family.

    Unknown parameters have their defaults.
    """
    kind = FAMILIES.get(str(found.get("name")))
    if kind is None:
        return None
    within = {
        key: family_from_json(value) for key, value in found.items() if isinstance(value, dict) and key != "known"
    }
    try:
        return kind(**found.get("known", {}), **within)
    except (TypeError, ValueError):  # a result that nobody's code wrote
        return None


_ASKED_FOR = ("energy", "rise", "derivatives", "suprema")


def as_family(given: Any) -> BaseFamily:
    """Return the family that a user passes: a family, its name, or an object with the members of a family.

    Raise `TypeError` for anything else.
    """
    if isinstance(given, BaseFamily):
        return given
    if isinstance(given, str):
        return family_by_word(given)
    if isinstance(given, type) or not all(name in dir(given) for name in _ASKED_FOR):
        hint = f"{given.__name__}(...)" if isinstance(given, type) else 'tunamh.Logistic() or "logistic"'
        raise TypeError(f"family must be a value such as {hint}, got {shown(given)}.")
    return _adopted(given)


def _adopted(given: Any) -> Family:
    """An object of a class of the same name, whose members are those of ``given`` wherever it has them."""
    members = {name: _member(given, name) for name in dir(Family) if not name.startswith("_") and name in dir(given)}
    own = {
        "__repr__": lambda self: repr(given),
        "__reduce__": lambda self: (_adopted, (given,)),  # families are sent to other processes with the rows' sums
        "__module__": type(given).__module__,
    }
    return type(type(given).__name__, (Family,), {**members, **own})()


def _member(given: Any, name: str) -> property:
    return property(lambda self: getattr(given, name))
