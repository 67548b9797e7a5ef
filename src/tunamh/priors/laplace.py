"""Laplace priors."""

from __future__ import annotations

from dataclasses import dataclass

from .independent import LocatedPrior
from .laws import LAPLACE


@dataclass(frozen=True, kw_only=True)
class Laplace(LocatedPrior):
    """Independent Laplace (double exponential) priors: density proportional to ``exp(-|theta_j - mean_j| / scale_j)``.

    ``theta_j`` is the coefficient of column ``j``.

    Parameters
    ----------
    mean, scale : float, list or dict
        One number for all coefficients, a list in the order of the columns, or a dict with a number for every column
        name, such as ``{"age": 1, "dose": 5}``.
    """

    word = "laplace"
    word_numbers = ("mean", "scale")
    _kind = LAPLACE
