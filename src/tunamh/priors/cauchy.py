"""Cauchy priors."""

from __future__ import annotations

from dataclasses import dataclass

from .independent import LocatedPrior
from .laws import STUDENT_T


@dataclass(frozen=True, kw_only=True)
class Cauchy(LocatedPrior):
    """Independent Cauchy priors with centre ``mean_j`` and scale ``scale_j``: Student-t with one degree of freedom."""

    word = "cauchy"
    word_numbers = ("mean", "scale")
    _kind = STUDENT_T
