"""What is known of each law of `tunamh.priors.laws`, once: its constant, its draws, its name in words.

The compiled side, `tunamh.priors.laws.laws_at`, has the logarithms of the densities up to these constants. A new
density is a kind with its energy there, and an entry of `DENSITIES` here.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln, log_expit, log_ndtr, stdtr

from .laws import (
    FLAT,
    FLAT_POSITIVE,
    GAMMA,
    INVERSE_GAMMA,
    LAPLACE,
    LOG_NORMAL,
    LOGISTIC,
    NORMAL,
    STUDENT_T,
    UNIFORM,
)

_ROOT = 0.5 * float(np.log(2 * np.pi))


class Numbers(NamedTuple):
    """The numbers of the prior law of one coordinate. For gamma laws ``df`` is the shape."""

    mean: float
    scale: float
    df: float


class Density(NamedTuple):
    """What is known of one prior law.

    ``constant`` is added to the log density of `laws_at`; then the density integrates to one. ``words`` returns the law
    in words. ``draws(own, n, rng)`` returns ``n`` draws. ``log_above_zero(z, df)`` returns ``log P(X > 0)`` of a
    symmetric law, where ``z`` is its centre divided by its scale; it is None for other laws.
    """

    words: Callable[[Numbers], str]
    constant: Callable[[Numbers], float]
    draws: Callable[[Numbers, int, np.random.Generator], np.ndarray]
    log_above_zero: Callable[[float, float], float] | None = None

    @property
    def symmetric(self) -> bool:
        return self.log_above_zero is not None


def _student_t_constant(own: Numbers) -> float:
    df = own.df
    return float(gammaln(0.5 * (df + 1)) - gammaln(0.5 * df) - 0.5 * np.log(np.pi * df) - np.log(own.scale))


def _laplace_above_zero(z: float, df: float) -> float:
    return float(np.log(0.5) + z) if z < 0 else float(np.log1p(-0.5 * np.exp(-z)))


def _student_t_words(own: Numbers) -> str:
    return "Cauchy" if own.df == 1.0 else f"Student-t, {own.df:.4g} degrees of freedom"


DENSITIES = {
    NORMAL: Density(
        words=lambda own: "normal",
        constant=lambda own: -float(np.log(own.scale)) - _ROOT,
        draws=lambda own, n, rng: own.mean + own.scale * rng.standard_normal(n),
        log_above_zero=lambda z, df: float(log_ndtr(z)),
    ),
    STUDENT_T: Density(
        words=_student_t_words,
        constant=_student_t_constant,
        draws=lambda own, n, rng: own.mean + own.scale * rng.standard_t(own.df, n),
        log_above_zero=lambda z, df: float(np.log(stdtr(df, z))),
    ),
    LAPLACE: Density(
        words=lambda own: "Laplace",
        constant=lambda own: -float(np.log(2.0 * own.scale)),
        draws=lambda own, n, rng: own.mean + own.scale * rng.laplace(size=n),
        log_above_zero=_laplace_above_zero,
    ),
    LOGISTIC: Density(
        words=lambda own: "logistic",
        constant=lambda own: -float(np.log(own.scale)),
        draws=lambda own, n, rng: own.mean + own.scale * rng.logistic(size=n),
        log_above_zero=lambda z, df: float(log_expit(z)),
    ),
    GAMMA: Density(
        words=lambda own: f"gamma, shape {own.df:.4g}, scale {own.scale:.4g}",
        constant=lambda own: -float(gammaln(own.df)) - own.df * float(np.log(own.scale)),
        draws=lambda own, n, rng: own.scale * rng.gamma(own.df, size=n),
    ),
    INVERSE_GAMMA: Density(
        words=lambda own: f"inverse gamma, shape {own.df:.4g}, scale {own.scale:.4g}",
        constant=lambda own: own.df * float(np.log(own.scale)) - float(gammaln(own.df)),
        draws=lambda own, n, rng: own.scale / rng.gamma(own.df, size=n),
    ),
    LOG_NORMAL: Density(
        words=lambda own: f"log-normal, mean {own.mean:.4g} and standard deviation {own.scale:.4g} of the logarithm",
        constant=lambda own: -float(np.log(own.scale)) - _ROOT,
        draws=lambda own, n, rng: rng.lognormal(own.mean, own.scale, n),
    ),
    UNIFORM: Density(
        words=lambda own: f"uniform from {own.mean:.4g} to {own.scale:.4g}",
        constant=lambda own: -float(np.log(own.scale - own.mean)),
        draws=lambda own, n, rng: rng.uniform(own.mean, own.scale, n),
    ),
}
"""The proper laws by their kind; `FLAT` and `FLAT_POSITIVE` have no density that integrates to one."""

FLAT_KINDS = (FLAT, FLAT_POSITIVE)
