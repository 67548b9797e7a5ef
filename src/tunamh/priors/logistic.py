"""Logistic priors."""

from __future__ import annotations

from dataclasses import dataclass

from .independent import LocatedPrior
from .laws import LOGISTIC


@dataclass(frozen=True, kw_only=True)
class Logistic(LocatedPrior):
    """Independent logistic priors with centre ``mean_j`` and scale ``scale_j`` for coefficient ``j``.

    The tails of the density are exponential, as in the Laplace prior, but the density is smooth at its centre.

    Parameters
    ----------
    mean, scale : float, list or dict
        One number for all coefficients, a list in the order of the columns, or a dict with a number for every column
        name, such as ``{"age": 1, "dose": 5}``.
    """

    _kind = LOGISTIC
