"""Steps along the ray from a fixed point: a chain comes and goes by them in tails that fall as a power does (5g)."""

from __future__ import annotations

import math

from ..compiled import helper

_LONGEST = 4.0  # of the logarithm of a factor: farther at once, sums over rows would lose their digits


@helper
def log_dilation(rng):
    """``s``, symmetric and of many lengths: a step ``x' = c + e^s (x - c)`` of k numbers has the factor ``e^(k s)``.

    *Proof.* The step back has ``-s``, whose density is the same, and ``|dx'/dx| = e^(k s)``.
    """
    s = math.exp(0.7 * rng.standard_normal()) * rng.standard_normal()
    return min(max(s, -_LONGEST), _LONGEST)
