"""A family in words that JSON knows, and back: results keep it, so that rows can be predicted from them."""

from __future__ import annotations

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
