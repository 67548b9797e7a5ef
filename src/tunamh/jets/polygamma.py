"""The derivatives of the logarithm of the gamma function, four of them at once, compiled.

By ``psi(x) = psi(x + 1) - 1/x`` up to an argument of 12, and there by the asymptotic series (Abramowitz and Stegun
6.3.18 and 6.4.11-14)

    psi(x) ~ log x - 1/(2x) - sum_k B_2k / (2k x^2k),

which is differentiated term by term. What is left out after nine terms is below 1e-16 of the third derivative, and less
of the others. The steps up have one sign each, so that in derivatives of psi nothing cancels.
"""

from __future__ import annotations

import math

import numpy as np

from ..compiled import helper

_FROM = 12.0
_BERNOULLI = (1 / 6, -1 / 30, 1 / 42, -1 / 30, 5 / 66, -691 / 2730, 7 / 6, -3617 / 510, 43867 / 798)


@helper
def fill_polygamma(x, out):
    """Write ``psi, psi', psi'', psi'''`` at positive numbers into the rows of ``out``; NaN at other numbers."""
    for r in range(x.size):
        at = x[r]
        zero, one, two, three = 0.0, 0.0, 0.0, 0.0
        if not at > 0.0:
            out[0, r], out[1, r], out[2, r], out[3, r] = np.nan, np.nan, np.nan, np.nan
            continue
        while at < _FROM:
            inverse = 1.0 / at
            square = inverse * inverse
            zero -= inverse
            one += square
            two -= 2.0 * square * inverse
            three += 6.0 * square * square
            at += 1.0
        inverse = 1.0 / at
        square = inverse * inverse
        zeros, ones, twos, threes = 0.0, 0.0, 0.0, 0.0
        for k in range(len(_BERNOULLI), 0, -1):
            b = _BERNOULLI[k - 1]
            zeros = (zeros + b / (2 * k)) * square
            ones = (ones + b) * square
            twos = (twos + b * (2 * k + 1)) * square
            threes = (threes + b * (2 * k + 1) * (2 * k + 2)) * square
        zero += math.log(at) - 0.5 * inverse - zeros
        one += inverse * (1.0 + 0.5 * inverse + ones)
        two -= square * (1.0 + inverse + twos)
        three += square * inverse * (2.0 + 3.0 * inverse + threes)
        out[0, r], out[1, r], out[2, r], out[3, r] = zero, one, two, three


def polygamma_to(x: np.ndarray, orders: int) -> list[np.ndarray]:
    """Return the first ``orders`` of the functions ``psi, psi', psi'', psi'''``."""
    flat = np.array(x, np.float64).ravel()
    out = np.empty((4, flat.size))
    fill_polygamma(flat, out)
    return [row.reshape(np.shape(x)) for row in out[:orders]]
