"""Regressions with a name of their own."""

from __future__ import annotations

from typing import Any

from .._arguments import explained
from .families import Logistic, StudentT
from .glm import GLM


class LogisticRegression(GLM):
    """Bayesian logistic regression with labels 0 and 1.

    It is `GLM` with the family `Logistic`; all parameters are described there.
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
    """Linear regression with Student-t errors: `GLM` with the family `StudentT`.

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
