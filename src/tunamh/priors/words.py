"""Priors as the shell calls them: ``normal(0, 1)``."""

from __future__ import annotations

from typing import Any, ClassVar, Self


class ShellWord:
    """The name of a prior at the shell, and which numbers it takes there, in their order."""

    word: ClassVar[str | None] = None
    """The name of the prior at the shell; None if the shell does not offer it."""

    word_numbers: ClassVar[tuple[str, ...]] = ()

    @classmethod
    def of_numbers(cls, *numbers: float) -> Self:
        """Make the prior from its numbers, in the order of its arguments, as the command ``tunamh`` does."""
        named: dict[str, Any] = dict(zip(cls.word_numbers, numbers, strict=True))
        return cls(**named)
