"""A proposal in the coordinate of a share of all rows, which chains walk as its logit (spec 5q).

Where a share of zeros is near zero, its logit has a long tail, and the rest of the model follows the share itself and
not the logit. So any proposal of (A) may be made with

    u = centre + (pi(z) - pi_0) / w,      w = 1.4 pi (1 - pi) at the centre,

in the place of the logit ``z``. With 1 in the place of 1.4 the slope of ``u`` in ``z`` is 1 at the centre, and the
Gaussian law stands there as it is; effects make the law of a share wider than that. A proposal ratio in ``u`` becomes
one in ``z`` by ``log u'(here) - log u'(there)``. What is no share at all is rejected, and so is every such move of a
logit that is too far off. ``pi_0`` lies below the centre's share, as the mode of a share lies below that of its logit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from ..compiled import helper

_FARTHEST = 30.0
"""Logits further from 0 than this stay where they are: shares there are lost to rounding."""

_WIDER = 1.4


class Share(NamedTuple):
    """The coordinate ``u`` of a share: its position in a state, ``centre``, ``pi_0`` and ``w``."""

    at: int
    centre: float
    middle: float
    slope: float


@helper
def share_about(at, centre, variance):
    """Return the coordinate for a logit with this centre and variance under the Gaussian law.

    In this coordinate ``-log density`` contains ``log u'``, with the slope ``1 - 2 pi`` and the curvature ``-(pi^2 + (1
    - pi)^2)`` at the centre. The middle is moved by a damped Newton step, which stays between 0 and 1 for every
    variance.
    """
    share = 1.0 / (1.0 + math.exp(-centre))
    slope = share * (1.0 - share)
    bend = share * share + (1.0 - share) * (1.0 - share)
    back = slope * (1.0 - 2.0 * share) * variance / (1.0 + bend * variance)
    return Share(at, centre, share - back, _WIDER * slope)


@helper
def into_share(own, point):
    """Replace the logit in ``point`` by ``u``. Return ``log u'``, or NaN if the logit is too large or too small."""
    z = point[own.at]
    if not abs(z) < _FARTHEST:
        return np.nan
    small = math.exp(-abs(z))
    share = 1.0 / (1.0 + small) if z > 0.0 else small / (1.0 + small)
    point[own.at] = own.centre + (share - own.middle) / own.slope
    return -abs(z) - 2.0 * math.log1p(small) - math.log(own.slope)


@helper
def out_of_share(own, point):
    """Replace ``u`` in ``point`` by the logit. Return ``log u'``, or NaN if ``u`` is no share."""
    share = own.middle + own.slope * (point[own.at] - own.centre)
    if not 0.0 < share < 1.0:
        return np.nan
    z = math.log(share) - math.log1p(-share)
    point[own.at] = z
    return math.log(share) + math.log1p(-share) - math.log(own.slope) if abs(z) < _FARTHEST else np.nan
