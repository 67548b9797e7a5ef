"""Derivatives of a user's own energy, and proved bounds of them, by running the function on jets (spec 5p)."""

from __future__ import annotations

from .bounds import slope_constant, supremum_near
from .boxes import box_bound
from .convexity import curved_downwards
from .derivatives import Derivatives, derivatives, derivatives_to
from .interval import Interval
from .jet import Jet
from .rounding import least_rounding
from .traced import CannotBound
from .where import first_lost

__all__ = [
    "CannotBound",
    "Derivatives",
    "Interval",
    "Jet",
    "box_bound",
    "curved_downwards",
    "derivatives",
    "derivatives_to",
    "first_lost",
    "least_rounding",
    "slope_constant",
    "supremum_near",
]
