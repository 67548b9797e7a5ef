"""Curves of unknown scale in further predictors: one prior of their columns and of the main predictor's.

Columns of further predictors are coefficients like all others, which a chain does not transform; what a family has
beside them (a dispersion) comes behind. So the scales of all curves are those of one prior, `priors.joint`, and are
proposed together.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ..priors.joint import side_by_side
from ..priors.laws import ready
from ..priors.mixtures import ReadyMixture
from ..priors.potential import ReadyPrior
from ..priors.smooths import WithSmooths
from .coordinates.base import Same
from .coordinates.closed_form_prior import closed_form
from .observations.row_layout import RowLayout


def joint_prior(coefficients: ReadyPrior, layout: RowLayout, rows: Any) -> ReadyMixture | None:
    """Return one prior of the coefficients and of the columns of further predictors.

    The result is None if no curve of a further predictor has an unknown scale.
    """
    given = dict(zip(rows.described, rows.other_priors, strict=False))
    curved = [isinstance(given.get(extra.name), WithSmooths) for extra in layout.extras]
    if not any(curved):
        return None
    count = len(curved) if isinstance(layout.form, Same) else len(curved) - curved[::-1].index(True)
    parts = [coefficients]
    for extra, laws, curve in list(zip(layout.extras, layout.laws, curved, strict=True))[:count]:
        own = given.get(extra.name)
        parts.append(own.bind(extra.size) if curve and own is not None else ready(laws))
    return side_by_side(parts)


def potential(coefficients: ReadyPrior, joint: ReadyMixture | None, layout: RowLayout) -> ReadyPrior:
    """Return the potential of all parameters in the coordinates of a chain."""
    form, start = layout.form, np.asarray(layout.start)
    if form is None:
        return coefficients
    if joint is None:
        return closed_form(form, coefficients, list(layout.laws), start)
    taken = len(joint.flat) - form.coefficients
    if len(joint.flat) == form.dim:  # nothing else is there
        return joint
    ends = np.cumsum([extra.size for extra in layout.extras])
    behind = [laws for laws, end in zip(layout.laws, ends, strict=True) if end > taken]
    return closed_form(form.taking(taken), joint, behind, start)
