"""Values: made once, never changed; another value with other facts is another object."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NoReturn, Self


class Value:
    """No attribute can be assigned or deleted once the value is made.

    A constructor states the facts that the value is made of (`_settle`). All else follows from them, as properties,
    cached where they cost something. `_with` gives another value with some facts changed. Nothing that was computed is
    carried over to it; what was costly and still holds is handed over by name, as a fact: a fact stands in the place of
    the cached property of that name.
    """

    _facts: Mapping[str, Any] = MappingProxyType({})

    def _settle(self, **facts: Any) -> None:
        """State facts; for constructors only. Where a fact is stated twice, the later statement holds."""
        for name, fact in facts.items():
            object.__setattr__(self, name, fact)
        object.__setattr__(self, "_facts", {**self._facts, **facts})

    def _settle_like(self, other: Value, **changes: Any) -> None:
        """State the facts of another value, some of them changed."""
        self._settle(**{**other._facts, **changes})

    def _with(self, **changes: Any) -> Self:
        """A value of the same class with other facts."""
        value = object.__new__(type(self))
        value._settle_like(self, **changes)
        return value

    def _let_go(self, *names: str) -> None:
        """Of what was computed and takes much memory: it is computed again if it is asked for."""
        for name in names:
            if name not in self._facts:
                self.__dict__.pop(name, None)

    def __setattr__(self, name: str, value: Any) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} does not change once it is made: {name} cannot be assigned.")

    def __delattr__(self, name: str) -> NoReturn:
        raise AttributeError(f"{type(self).__name__} does not change once it is made: {name} cannot be deleted.")
