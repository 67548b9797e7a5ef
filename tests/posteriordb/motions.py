"""Hares and lynxes (Lotka and Volterra), as an energy of one's own: two numbers that move by differential equations."""

from __future__ import annotations

import math
from typing import Any

import numba
import numpy as np
from energies import Walked, positive, square

_STEPS = 20  # of Runge and Kutta's fourth order, a year: errors below 1e-5 of the numbers


@numba.njit
def _slopes(prey, hunters, theta):
    """Of the logarithms."""
    return theta[0] - theta[1] * math.exp(hunters), -theta[2] + theta[3] * math.exp(prey)


@numba.njit
def _year(prey, hunters, theta):
    """Logarithms of both numbers, a year later."""
    h = 1.0 / _STEPS
    for _ in range(_STEPS):
        a, b = _slopes(prey, hunters, theta)
        c, d = _slopes(prey + 0.5 * h * a, hunters + 0.5 * h * b, theta)
        e, f = _slopes(prey + 0.5 * h * c, hunters + 0.5 * h * d, theta)
        g, i = _slopes(prey + h * e, hunters + h * f, theta)
        prey += h / 6.0 * (a + 2.0 * c + 2.0 * e + g)
        hunters += h / 6.0 * (b + 2.0 * d + 2.0 * f + i)
    return prey, hunters


@numba.njit
def _hunted(at, row):
    """Logarithms of four rates, the first numbers and the errors' scales; row: log counts, two a year.

    Rates of growth and death are normal(1, .5), those of meetings normal(.05, .05), all positive; the first numbers
    log-normal about 10, the scales log-normal(-1, 1).
    """
    rates = np.exp(at[:4])
    prey, hunters = at[4], at[5]
    total = square(rates[0], 1.0, 0.5) + square(rates[2], 1.0, 0.5)
    total += square(rates[1], 0.05, 0.05) + square(rates[3], 0.05, 0.05) - at[:4].sum()
    for j in range(2):
        total += square(at[4 + j], math.log(10.0), 1.0) + square(at[6 + j], -1.0, 1.0)
    for year in range(row.size // 2):
        if year > 0:
            prey, hunters = _year(prey, hunters, rates)
        total += square(row[2 * year], prey, math.exp(at[6])) + at[6]
        total += square(row[2 * year + 1], hunters, math.exp(at[7])) + at[7]
    return total if math.isfinite(total) else math.inf


def hunted(d: Any) -> Walked:
    assert np.array_equal(d.ts, np.arange(1, len(d.ts) + 1))
    row = np.log(np.concatenate([d.y_init, d.y.ravel()]))
    start = [*np.log([0.5, 0.03, 0.8, 0.03]), row[0], row[1], -1.0, -1.0]
    names = [f"theta[{j}]" for j in range(1, 5)] + ["z_init[1]", "z_init[2]", "sigma[1]", "sigma[2]"]
    return Walked(_hunted, row, start, positive(names))
