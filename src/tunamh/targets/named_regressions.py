"""Regressions with a name of their own."""

from __future__ import annotations

from typing import Any

from .._arguments import explained
from .families import Logistic, StudentT
from .glm import GLM


class LogisticRegression(GLM):
    """Logistic regression with labels 0 and 1: a target for `tunamh.sample`.

    ``LogisticRegression(X, y)`` is ``GLM(X, y, Logistic())``. All arguments are the same as for `GLM`. No intercept is
    added.

    Examples
    --------
    >>> posterior = tunamh.sample(tunamh.LogisticRegression(X, y, prior=tunamh.Normal(scale=2.5)))
    """

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
    """Linear regression with Student-t errors, robust to outliers: a target for `tunamh.sample`.

    ``RobustRegression(X, y)`` is ``GLM(X, y, StudentT())``. No intercept is added.

    Parameters
    ----------
    X, y, prior, temper, weights, offset
        The same arguments as for `GLM`.
    df, scale
        The same arguments as for `StudentT`: the degrees of freedom (default: 4) and the scale of the errors (default:
        unknown).
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
