"""Cauchy priors."""

from __future__ import annotations

from dataclasses import dataclass

from .independent import LocatedPrior
from .laws import STUDENT_T


@dataclass(frozen=True, kw_only=True)
class Cauchy(LocatedPrior):
    """Independent Cauchy priors with centre ``mean_j`` and scale ``scale_j`` for coefficient ``j``.

    The Cauchy prior is the Student-t prior with one degree of freedom.

    Parameters
    ----------
    mean, scale : float, list or dict
        One number for all coefficients, a list in the order of the columns, or a dict with a number for every column
        name, such as ``{"age": 1, "dose": 5}``.
    """

    word = "cauchy"
    word_numbers = ("mean", "scale")
    _kind = STUDENT_T
