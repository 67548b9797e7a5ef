"""The built-in priors by name: filled by this package's ``__init__``, read wherever names are needed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from .._arguments import explain_constructors
from .independent import IndependentPrior
from .words import ShellWord

PRIORS: dict[str, type[ShellWord]] = {}
"""Public priors by the name of their class, of coefficients and of positive parameters."""


def register(names: Mapping[str, Any]) -> None:
    """Add the priors in the namespace of a module to the list of built-in priors."""
    PRIORS.update(
        {name: kind for name, kind in names.items() if isinstance(kind, type) and issubclass(kind, ShellWord)}
    )
    explain_constructors(PRIORS)


def by_word() -> dict[str, type[ShellWord]]:
    """Return the priors by their names at the shell."""
    return {kind.word: kind for kind in PRIORS.values() if kind.word is not None}


def independent_names() -> str:
    """Return the names of the priors that can be used for one coefficient, as part of a sentence."""
    names = [name for name, kind in PRIORS.items() if issubclass(kind, IndependentPrior)]
    return f"{', '.join(names[:-1])} or {names[-1]}"
