"""A prior of one parameter in words, from its law: ``normal, mean 0, standard deviation 2.5``."""

from __future__ import annotations

from .laws import (
    FLAT,
    FLAT_POSITIVE,
    GAMMA,
    INVERSE_GAMMA,
    LAPLACE,
    LOG_NORMAL,
    LOGISTIC,
    NORMAL,
    ON_PRECISION,
    ON_VARIANCE,
    STUDENT_T,
    UNIFORM,
    Laws,
)

POSITIVE = ("scale", "df", "shape", "dispersion", "precision")
PROBABILITIES = ("inflation", "positive")
"""Further parameters of families, by what they can be."""


def laws_in_words(laws: Laws, *, positive: bool = False) -> list[str]:
    """One text for each coordinate; ``positive``: of parameters that see one half of a symmetric law."""
    return [
        _law_in_words(int(kind), float(mean), float(scale), float(df), positive)
        for kind, mean, scale, df in zip(*laws, strict=True)
    ]


def _law_in_words(kind: int, mean: float, scale: float, df: float, positive: bool) -> str:
    if kind >= ON_VARIANCE:
        of = "precision" if kind >= ON_PRECISION else "variance"
        return f"{_law_in_words(kind % ON_VARIANCE, mean, scale, df, positive)} (of the {of})"
    if kind == STUDENT_T and df == 1.0:
        return _located("Cauchy", mean, scale, positive)
    if kind == LAPLACE and positive and mean == 0.0:
        return f"exponential, mean {scale:.4g}"
    named = {NORMAL: "normal", STUDENT_T: f"Student-t, {df:.4g} degrees of freedom", LAPLACE: "Laplace"}
    if kind in (NORMAL, STUDENT_T, LAPLACE, LOGISTIC):
        return _located(named.get(kind, "logistic"), mean, scale, positive)
    return {
        FLAT: "flat",
        FLAT_POSITIVE: "flat",
        GAMMA: f"gamma, shape {df:.4g}, scale {scale:.4g}",
        INVERSE_GAMMA: f"inverse gamma, shape {df:.4g}, scale {scale:.4g}",
        LOG_NORMAL: f"log-normal, mean {mean:.4g} and standard deviation {scale:.4g} of the logarithm",
        UNIFORM: f"uniform from {mean:.4g} to {scale:.4g}",
    }[kind]


def _located(name: str, mean: float, scale: float, positive: bool) -> str:
    if positive and mean == 0.0:
        return f"half-{name}, scale {scale:.4g}"
    if name == "normal":
        return f"normal, mean {mean:.4g}, standard deviation {scale:.4g}"
    return f"{name}, centre {mean:.4g}, scale {scale:.4g}"
