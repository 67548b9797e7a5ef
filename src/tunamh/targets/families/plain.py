"""A family of a plain class: whatever has the members of `Family` serves, without deriving from it."""

from __future__ import annotations

from typing import Any

from ..._arguments import shown
from .base import BaseFamily, Family
from .registry import family_by_word

_ASKED_FOR = ("energy", "rise", "derivatives", "suprema")


def as_family(given: Any) -> BaseFamily:
    """A family as it is, by its word, or a plain object with its members as one; raises a TypeError for others."""
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
