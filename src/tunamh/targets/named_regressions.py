"""Regressions with a name of their own."""

from __future__ import annotations

from typing import Any

from .._arguments import explained
from .families import Logistic, StudentT
from .glm import GLM


class LogisticRegression(GLM):
    """Bayesian logistic regression with labels 0 and 1. The parameters are those of `GLM`."""

    @explained
    def __init__(
        self,
        X: Any,
        y: Any = None,
        *,
        prior: Any = None,
        temper: float = 1.0,
        weights: Any = None,
        offset: Any = None,
    ):
        super().__init__(X, y, Logistic(), prior=prior, temper=temper, weights=weights, offset=offset)


class RobustRegression(GLM):
    """Linear regression with Student-t errors of ``df`` degrees of freedom; see `GLM` and the family `StudentT`.

    ``scale`` is a known number, or the prior of an unknown scale. By default the scale is unknown, with a default
    prior.
    """

    @explained
    def __init__(
        self,
        X: Any,
        y: Any = None,
        df: float = 4.0,
        scale: Any = None,
        *,
        prior: Any = None,
        temper: float = 1.0,
        weights: Any = None,
        offset: Any = None,
    ):
        super().__init__(X, y, StudentT(df, scale), prior=prior, temper=temper, weights=weights, offset=offset)
