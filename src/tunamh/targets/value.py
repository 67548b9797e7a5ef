"""Values: made once, never changed; another value with other facts is another object."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NoReturn, Self


class Value:
    """An object whose attributes cannot be assigned or deleted after it is made.

    The constructor sets the facts of the object (`_settle`). Everything else is computed from the facts in properties,
    which are cached if they are expensive. `_with` returns another object with some facts changed. Computed values are
    not copied to it. A value that was expensive and is still valid can be passed by name as a fact; then this fact
    replaces the cached property of the same name.
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
