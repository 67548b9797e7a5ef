"""Constants of the third order: how far ``f'`` can be from its parabola near a row's predictor (spec 5r).

The constant of a row is ``sup_{0<|z|<=radius} 6 |f'(eta+z) - f'(eta) - f''(eta) z - f'''(eta) z^2 / 2| / |z|^3``, which
the supremum of ``|f''''|`` nearby bounds.
"""

from __future__ import annotations

import math

import numpy as np

from .base import SLACK, Peaks, largest, reach_of, sigmoids

_PHI_THIRD = np.array([6 / math.factorial(k + 3) for k in range(18)])  # up to rho = 1


def exponential_bends(log_second: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """``f'' 6 (e^rho - 1 - rho - rho^2/2) / rho^3``: the constants of third order of ``e^eta``, attained at ``rho``."""
    reach = reach_of(eta, radius)
    with np.errstate(over="ignore", invalid="ignore"):
        second = np.exp(log_second)
        small, large = np.minimum(reach, 1), np.maximum(np.minimum(reach, 600.0), 1)
        near = np.polynomial.polynomial.polyval(small, _PHI_THIRD)
        far = 6 / large**3 * (np.exp(large) - 1 - large - large**2 / 2)
        return np.where(reach < 600.0, (1 + SLACK) * second * np.where(reach < 1, near, far), np.inf)


_SIGMOID_FOURTH_PEAKS: Peaks = (
    (0.0, 1 / 8),
    *((sign * np.log((1 + np.sqrt(2 / 3)) / (1 - np.sqrt(2 / 3))), 1 / 24) for sign in (-1, 1)),
)


def logistic_bends(eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """The supremum nearby of ``|f''''| = w |1 - 6w|``, ``w = p (1-p)``: critical points are ``w`` = 1/4 and 1/12."""
    reach = reach_of(eta, radius)

    def fourth(at: np.ndarray) -> np.ndarray:
        p, q = sigmoids(at)
        return p * q * (1 - 6 * p * q)

    return (1 + SLACK) * largest(fourth(eta - reach), fourth(eta + reach), _SIGMOID_FOURTH_PEAKS, eta, reach)
