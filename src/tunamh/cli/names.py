"""Families and priors as one writes them at a shell."""

from __future__ import annotations

import re
from typing import Any

from ..priors.registry import by_word as priors_by_word
from ..targets.families.registry import family_by_word, listed_by_responses
from .app import Refused

FAMILIES = listed_by_responses()


def family_named(name: str) -> Any:
    return family_by_word(name)


_LAWS = priors_by_word()
_PRIOR = re.compile(r"\s*(?P<term>.+?)\s*=\s*(?P<law>\w+)\s*\((?P<numbers>[^()]*)\)\s*")
PRIORS = "'distance=normal(0, 1)'; the distributions are " + ", ".join(
    f"{law}({', '.join(kind.word_numbers)})" for law, kind in _LAWS.items()
)
PRIORS += "; for correlations 'correlation (x | g)=lkj(2)'"
_NUMBERS = {**{law: kind.word_numbers for law, kind in _LAWS.items()}, "lkj": ("eta",)}


def priors_named(texts: list[str]) -> dict[str, Any] | None:
    """Return priors by term from texts such as ``distance=normal(0, 1)``."""
    found: dict[str, Any] = {}
    for text in texts:
        match = _PRIOR.fullmatch(text)
        if match is None or match["law"] not in _NUMBERS:
            raise Refused(f"--prior {text!r} cannot be read: write it as {PRIORS}.")
        names = _NUMBERS[match["law"]]
        try:
            numbers = [float(one) for one in match["numbers"].split(",") if one.strip()]
        except ValueError:
            raise Refused(f"--prior {text!r}: {match['numbers']!r} are not numbers.") from None
        if len(numbers) != len(names):
            raise Refused(f"--prior {text!r}: {match['law']} takes {len(names)} numbers ({', '.join(names)}).")
        found[match["term"]] = numbers[0] if match["law"] == "lkj" else _LAWS[match["law"]].of_numbers(*numbers)
    return found or None


def predictors_named(texts: list[str]) -> dict[str, str] | None:
    """Return formulas by parameter from texts such as ``scale=~ distance``."""
    found = {}
    for text in texts:
        name, equals, formula = text.partition("=")
        if not equals or not formula.strip():
            raise Refused(f"--predictors {text!r} cannot be read: write it as 'scale=~ distance'.")
        found[name.strip()] = formula.strip()
    return found or None
