"""Logistic priors."""

from __future__ import annotations

from dataclasses import dataclass

from .independent import LocatedPrior
from .laws import LOGISTIC


@dataclass(frozen=True, kw_only=True)
class Logistic(LocatedPrior):
    """Independent logistic priors with centre ``mean_j`` and scale ``scale_j``.

    Their tails are exponential, like those of the Laplace prior, but the density is smooth at the mean."""

    _kind = LOGISTIC
