"""A prior of one parameter in words, from its law: ``normal, mean 0, standard deviation 2.5``."""

from __future__ import annotations

from .densities import DENSITIES, FLAT_KINDS, Numbers
from .laws import LAPLACE, ON_PRECISION, ON_VARIANCE, Laws

POSITIVE = ("scale", "df", "shape", "dispersion", "precision")
PROBABILITIES = ("inflation", "positive")
"""Further parameters of families, by what they can be."""


def laws_in_words(laws: Laws, *, positive: bool = False) -> list[str]:
    """Return one text for each coordinate. ``positive`` says that a symmetric law is restricted to positive numbers."""
    return [
        _law_in_words(int(kind), Numbers(*map(float, numbers)), positive) for kind, *numbers in zip(*laws, strict=True)
    ]


def _law_in_words(kind: int, own: Numbers, positive: bool) -> str:
    if kind >= ON_VARIANCE:
        of = "precision" if kind >= ON_PRECISION else "variance"
        return f"{_law_in_words(kind % ON_VARIANCE, own, positive)} (of the {of})"
    if kind in FLAT_KINDS:
        return "flat"
    if kind == LAPLACE and positive and own.mean == 0.0:
        return f"exponential, mean {own.scale:.4g}"
    name = DENSITIES[kind].words(own)
    return _located(name, own, positive) if DENSITIES[kind].symmetric else name


def _located(name: str, own: Numbers, positive: bool) -> str:
    if positive and own.mean == 0.0:
        return f"half-{name}, scale {own.scale:.4g}"
    if name == "normal":
        return f"normal, mean {own.mean:.4g}, standard deviation {own.scale:.4g}"
    return f"{name}, centre {own.mean:.4g}, scale {own.scale:.4g}"
