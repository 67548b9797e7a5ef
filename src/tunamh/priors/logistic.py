"""Logistic priors."""

from __future__ import annotations

from dataclasses import dataclass

from .independent import LocatedPrior
from .laws import LOGISTIC


@dataclass(frozen=True, kw_only=True)
class Logistic(LocatedPrior):
    """Independent logistic priors: exponential tails as for the Laplace prior, but smooth at the mean."""

    _kind = LOGISTIC
