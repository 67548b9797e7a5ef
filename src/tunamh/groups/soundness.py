"""Whether a centre can be one: its Laplace law is no wider than the priors, and no scale has vanished."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..targets.checks.properness import impossible
from ..targets.glm import GLM
from .centre import Centre, Marginal, find_centre
from .scale_priors import ScalePriors
from .sums import GroupedRows, Point

_VANISHED = 1e-7  # of the scale of a prior: in its logarithm a mode never lies so far below


def trusted_centre(
    base: GLM, rows: GroupedRows, priors: ScalePriors, start: Point, scales: Sequence[np.ndarray] | None = None
) -> Centre:
    """Return the centre found from a point or, if its law is impossible, from the family's own start.

    ``scales`` are those of an earlier centre, if the search begins at one.
    """
    found = find_centre(rows, priors, start, scales)
    if not _astray(base, rows, priors, found):
        return found
    for common in base.search_starts():
        again = find_centre(rows, priors, Point(common, [np.zeros_like(v) for v in start.effects]))
        if not _astray(base, rows, priors, again):
            return again
    return found


def _astray(base: GLM, rows: GroupedRows, priors: ScalePriors, centre: Centre) -> bool:
    for f, one in enumerate(rows.groupings):
        scales = centre.scales[f]
        try:
            hessian = Marginal(rows, f, centre.at, centre.sums, priors).solve(scales)[2]
            unit = 1 / np.sqrt(np.diag(hessian))  # positive definite, by `Marginal`
            sd = unit * np.sqrt(np.diag(np.linalg.inv(hessian * np.outer(unit, unit))))
        except np.linalg.LinAlgError:  # so far away that rounding has left nothing of the rows
            return True
        if impossible(sd, base._prior, rows.seen.convex):
            return True
        if one.laws is not None:
            natural = np.exp(scales[: one.q]) / priors.tau(centre.at.common)
            typical = np.where(one.laws.kind < 4, one.laws.scale, 0.0)  # half-normal, half-Student-t, exponential
            if (natural < _VANISHED * typical).any():
                return True
    return False
