"""The unit in which default priors are measured."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..targets.families import Gaussian, Huber, LogisticErrors, LogLogistic, LogNormal, StudentT, Weibull

_OF_REALS = (Gaussian, LogisticErrors, StudentT, Huber)
_OF_TIMES = (LogNormal, LogLogistic, Weibull)


def response_unit(family: Any, y: Any) -> float:
    """Of responses that are all at hand."""
    return unit_of(family, y, float(np.std(y)) if isinstance(family, _OF_REALS) else 1.0)


def unit_of(family: Any, y: Any, spread: float) -> float:
    """The responses' standard deviation ``spread`` where these are real, that of their logarithms for times, else 1.

    For robust families the median absolute deviation, over 0.6745, takes its place where it is not zero. ``y`` are the
    responses, or some of them.
    """
    if isinstance(family, _OF_TIMES):
        positive = np.asarray(y)[np.asarray(y) > 0]
        return float(np.std(np.log(positive))) or 1.0 if positive.size else 1.0
    if not isinstance(family, _OF_REALS):
        return 1.0
    if isinstance(family, StudentT | Huber):
        typical = float(np.median(np.abs(y - np.median(y)))) / 0.6745
        spread = typical if typical > 0 else spread
    return spread if spread > 0 else 1.0
