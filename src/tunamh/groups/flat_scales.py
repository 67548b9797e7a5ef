"""Flat priors of the scales of group effects: where there is a posterior (spec 5l)."""

from __future__ import annotations

import numpy as np

from ..rows.source import Rows
from ..targets.checks.flat_positive import is_flat, refuse, weight_of_errors, without_prior
from ..targets.coordinates.base import Scale
from ..targets.glm import GLM
from .grouping import Grouping


def refuse_flat_scales(base: GLM, groupings: list[Grouping]) -> None:
    """Raise unless a flat prior of a group scale leaves a posterior.

    With Gaussian errors the density of the responses is ``|V|^-1/2 |X'V^-1 X|^-1/2 exp(...)``, ``V = s_e^2 + s^2 ZZ'``.
    As ``s`` grows, the first factor falls like ``s^-G``, ``G`` groups, and the second grows like ``s^r`` at most, ``r``
    coefficients without a prior: ``G - r > 1`` will do. If the errors' scale is flat as well, both may grow together,
    like ``s^-(n - r)`` in two dimensions: ``n - r > 2``.
    """
    for one in groupings:
        if one.laws is None or not is_flat(one.laws):
            continue
        name = f"the scale of {one.name}"
        if len(groupings) > 1 or one.q > 1 or not base.family.squared:
            refuse(name, "it is taken for one factor with one column of effects beside Gaussian errors only")
        free, form = without_prior(base.coefficient_prior), base.arranged.form
        if not _groups_with_rows(base, one) - free > 1:
            refuse(name, "there are too few groups for the coefficients that have no prior")
        both = any(is_flat(laws) for laws in base.arranged.laws)
        if both and isinstance(form, Scale) and not weight_of_errors(form) - free > 2:
            refuse(name, "there are too few rows for the coefficients that have no prior")


def _groups_with_rows(base: GLM, one: Grouping) -> int:
    """The groups that have a row with a weight and an effect."""

    def seen(rows: Rows) -> np.ndarray:
        which = slice(rows.start, rows.start + len(rows.y))
        counts = (base.weight(rows) > 0) & (one.Z[which, 0] != 0)
        return np.unique(one.codes[which][counts])

    return len(np.unique(np.concatenate(list(base.given_rows.map(seen)))))
