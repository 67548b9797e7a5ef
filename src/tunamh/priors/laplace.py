"""Laplace priors."""

from __future__ import annotations

from dataclasses import dataclass

from .independent import LocatedPrior
from .laws import LAPLACE


@dataclass(frozen=True, kw_only=True)
class Laplace(LocatedPrior):
    """Independent Laplace (double exponential) priors with centre ``mean_j`` and scale ``scale_j``.

    The density is proportional to ``exp(-|theta_j - mean_j| / scale_j)``.
    """

    word = "laplace"
    word_numbers = ("mean", "scale")
    _kind = LAPLACE
