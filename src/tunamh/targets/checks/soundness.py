"""A Laplace law that cannot be right: wider than the prior, or without any width.

Rows whose energies are convex add to a normal prior's curvature, and never take from it. So a standard deviation above
the prior's, or one that is zero or no number, proves that the search for a mode went astray.
"""

from __future__ import annotations

import numpy as np

from ...priors.laws import NORMAL, ReadyIndependent
from ...priors.potential import ReadyPrior
from ..coordinates.base import Scale
from ..coordinates.closed_form_prior import ReadyClosed

_MORE = 1.01  # times the prior's standard deviation: rounding


def impossible(sd: np.ndarray, prior: ReadyPrior, convex: bool) -> bool:
    """Whether standard deviations of the parameters, as they are walked, cannot be those of a posterior's mode."""
    if not (np.isfinite(sd) & (sd > 0)).all():
        return True
    if isinstance(prior, ReadyClosed):
        if isinstance(prior.form, Scale):  # coefficients are walked in units of it
            return False
        sd, prior = sd[prior.form.coefficients_at], prior.coefficients
    if not convex or not isinstance(prior, ReadyIndependent):
        return False
    normal = prior.laws.kind == NORMAL
    return bool((sd[normal] > _MORE * prior.laws.scale[normal]).any())
