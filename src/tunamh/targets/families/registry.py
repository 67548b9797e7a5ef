"""The built-in families by name: filled by this package's ``__init__``, read wherever names are needed."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..._arguments import explain_constructors
from .base import BaseFamily, Family, Responses

FAMILIES: dict[str, type[BaseFamily]] = {}
"""Public families by the name of their class."""


def register(names: Mapping[str, Any]) -> None:
    """Take the families among the names of a module."""
    found = {name: kind for name, kind in names.items() if isinstance(kind, type) and issubclass(kind, BaseFamily)}
    FAMILIES.update({name: kind for name, kind in found.items() if kind not in (BaseFamily, Family)})
    explain_constructors(FAMILIES)


def of_responses(kind: Responses) -> list[str]:
    """Names of the families of such responses."""
    return [name for name, family in FAMILIES.items() if family.responses is kind]


def by_word() -> dict[str, Callable[[], BaseFamily]]:
    """Families as the shell calls them."""
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


def family_by_word(word: str) -> BaseFamily:
    """A family by its word, such as ``"logistic"`` or ``"negative-binomial"``; raises a ValueError for others."""
    plain = word.strip().lower().replace("_", "-").replace(" ", "-")
    known = by_word()
    tight = {one.replace("-", ""): one for one in known}
    found = plain if plain in known else _SAME.get(plain, tight.get(plain.replace("-", "")))
    if found is None:
        raise ValueError(f"there is no family {word!r}; known are {listed_by_responses()}.")
    return known[found]()


def listed_by_responses() -> str:
    """Their words, in a sentence: ``logistic, probit (0 or 1); gaussian (real); ...``."""
    parts = []
    for kind in Responses:
        words = [word for name in of_responses(kind) for word in FAMILIES[name].words()]
        parts += [f"{', '.join(words)} ({kind.value})"] if words else []
    return "; ".join(parts)
