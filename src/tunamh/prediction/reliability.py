"""How reliable the values of rows that are left out are, by Pareto's k, and how their numbers are written."""

from __future__ import annotations

import numpy as np

MOST_UNRELIABLE = 0.05
"""The share of rows with an unreliable value above which their sum says nothing."""


def good_k(draws: int) -> float:
    """Return the largest Pareto k with which importance sampling with this number of draws is reliable.

    The formula is from Vehtari et al. (2024).
    """
    return float(min(1.0 - 1.0 / np.log10(draws), 0.7)) if draws > 10 else 0.0


def two_digits(value: float) -> str:
    """Return a number as text with two significant digits below 10 and no decimals above, without an exponent."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"
