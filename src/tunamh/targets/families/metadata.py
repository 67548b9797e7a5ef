"""A family in words that JSON knows, and back: results keep it, so that rows can be predicted from them."""

from __future__ import annotations

import re
from typing import Any

from .base import BaseFamily
from .registry import FAMILIES


def family_as_json(family: Any) -> dict[str, Any]:
    """A built-in family by its name and the numbers in it that are known; of others nothing but their text."""
    name, text = type(family).__name__, repr(family)[:200]
    if FAMILIES.get(name) is not type(family):
        return {"name": None, "text": text}
    settings = family.settings()
    known = {
        key: float(value)
        for key, value in settings.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    within = {key: family_as_json(value) for key, value in settings.items() if isinstance(value, BaseFamily)}
    return {"name": name, "known": known, "text": text, **within}


def family_in_words(found: dict[str, Any]) -> str:
    """``Student-t regression (df = 4)``; a user's own family by its text."""
    if FAMILIES.get(str(found.get("name"))) is None:
        return str(found.get("text", ""))
    known = found.get("known")
    numbers = [f"{key} = {value:g}" for key, value in known.items()] if isinstance(known, dict) else []
    return f"{_title(found)} regression" + (f" ({', '.join(numbers)})" if numbers else "")


def _title(found: dict[str, Any]) -> str:
    """``ZeroInflated`` of ``Poisson`` counts is Zero-inflated Poisson."""
    words = re.findall(r"[A-Z][a-z]*", str(found["name"]))
    own = "-".join([words[0], *(word.lower() for word in words[1:])])
    within = [_title(value) for value in found.values() if isinstance(value, dict) and "name" in value]
    return " ".join([own, *within])


def family_from_json(found: dict[str, Any]) -> BaseFamily | None:
    """The family with its known numbers, what is unknown left out; None of one of a user's own."""
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
