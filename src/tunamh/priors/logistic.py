"""Logistic priors."""

from __future__ import annotations

from dataclasses import dataclass

from .independent import LocatedPrior
from .laws import LOGISTIC


@dataclass(frozen=True, kw_only=True)
class Logistic(LocatedPrior):
    """Independent logistic priors: tails as those of a Laplace law, and no kink."""

    _kind = LOGISTIC
