"""A Laplace law that cannot be right: wider than the prior, or without any width.

Rows whose energies are convex add to a normal prior's curvature, and never take from it. So a standard deviation above
the prior's, or one that is zero or no number, proves that the search for a mode went astray.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..priors.laws import NORMAL, ReadyIndependent
from ..priors.potential import ReadyPrior
from .forms import Scale

_MORE = 1.01  # times the prior's standard deviation: rounding


def impossible(sd: np.ndarray, arranged: Any, coefficients: ReadyPrior, convex: bool) -> bool:
    """Whether standard deviations of the parameters, as they are walked, cannot be those of a posterior's mode."""
    if not (np.isfinite(sd) & (sd > 0)).all():
        return True
    form = arranged.form
    if not convex or not isinstance(coefficients, ReadyIndependent) or isinstance(form, Scale):
        return False
    at = np.arange(len(coefficients.laws.kind)) if form is None else form.coefficients_at
    normal = coefficients.laws.kind == NORMAL
    return bool((sd[at][normal] > _MORE * coefficients.laws.scale[normal]).any())
