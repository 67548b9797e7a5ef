"""One standardised coordinate of an independent proposal of (A) from a Cauchy law (spec 5q).

If rows say little of effects whose scale is uncertain, the common parameters may have tails far longer than those of a
Gaussian law: if all responses are equal, an intercept has the tail of its prior. A chain of draws from a Gaussian law
goes there too seldom, and stays too long. So half of these draws have one coordinate from a Cauchy law. The coordinate
is chosen at random, whatever the state is: each choice is a proposal of its own, with a known density.
"""

from __future__ import annotations

import math

from ..compiled import helper

_SHARE = 0.5  # of the independent proposals


@helper
def chosen_coordinate(rng, n):
    """Which of ``n`` standardised coordinates has a Cauchy law in this proposal; -1 for none."""
    return min(int(rng.random() * n), n - 1) if rng.random() < _SHARE else -1


@helper
def cauchy_number(rng):
    return math.tan(math.pi * (rng.random() - 0.5))


@helper
def square_beside(y):
    """What ``y^2``, minus twice the log density of a normal number, becomes for a Cauchy number."""
    return 2.0 * math.log1p(y * y)
