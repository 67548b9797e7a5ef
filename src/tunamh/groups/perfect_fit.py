"""Whether columns and group effects explain every response: then an unknown scale of the errors has no posterior."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import scipy

from ..errors import ImproperPosterior
from ..priors.laws import RECORD, laws_at, records
from ..targets.checks.flat_positive import weight_of_errors
from ..targets.coordinates.base import Scale
from ..targets.glm import GLM
from .grouping import Grouping

_ROWS = 2000  # of some groups, which nearly always show that there is something left
_MOST_COLUMNS, _MOST_ROWS, _MOST_STEPS = 200, 200_000, 400
_ROUNDING = 1e-9  # of the largest response
_NEAR, _NEARER = 1e-60, 1e-80  # errors at which the power of a prior is seen


def refuse_perfect_fit(base: GLM, groupings: Sequence[Grouping], form: Scale | None) -> None:
    """Raise an error if the density of the scale ``s`` has no integral near zero.

    If some coefficients and effects fit every response exactly, rows with the total weight ``w`` give the factor
    ``s^-w``. The coefficients and effects near this point fill a volume of at least ``s^r``, where ``r`` is the number
    of rows or of coefficients and effects, whichever is smaller. With a prior like ``s^k`` there is no integral if ``w
    - r - k >= 1``. For a shape ``1 / s`` with a prior like ``s^k`` there is none if ``w - r - k >= -1``.
    """
    if type(form) is not Scale or any(one.parameter is not None for one in groupings):
        return
    effects = sum(one.groups * one.q for one in groupings) + len(form.b0)
    room = weight_of_errors(form) - _power(base, form) + (1.0 if form.shape else -1.0)
    if len(form.b0) > _MOST_COLUMNS or base.n_rows > _MOST_ROWS or room < min(base.n_rows, effects):
        return
    largest = max(groupings, key=lambda one: one.groups)
    last = int(np.searchsorted(np.cumsum(np.bincount(largest.codes)), _ROWS))
    some = np.flatnonzero(largest.codes <= last)[:_ROWS]
    if _are_met(base, groupings, form, some) and _are_met(base, groupings, form, np.arange(base.n_rows)):
        name, way_out = ("shape", "HalfNormal(5)") if form.shape else ("scale", "priors.InverseGamma(2, 1)")
        raise ImproperPosterior(
            f"the columns and the group effects explain every response exactly, so the {name} has no posterior: the "
            "likelihood grows without limit as the errors go to zero. In such data rows of a group are equal, or "
            f"weights are above 1. Give a known {name}, or a prior that keeps the errors from zero, such as "
            f"tunamh.{way_out}."
        )


def _power(base: GLM, form: Scale) -> float:
    """``k`` of a prior like ``s^k`` near zero; infinity where it falls faster."""
    laws = base.row_layout.laws[0]
    zero = np.zeros(len(laws.kind))
    numbers = records(laws, laws.kind > 0, zero, zero, zero).reshape(-1, RECORD)
    near, nearer = (float(laws_at(np.array([1 / s if form.shape else s]), numbers)) for s in (_NEAR, _NEARER))
    if not (np.isfinite(nearer) and np.isfinite(near)):
        return np.inf
    return (near - nearer) / float(np.log(_NEAR / _NEARER))


def _are_met(base: GLM, groupings: Sequence[Grouping], form: Scale, which: np.ndarray) -> bool:
    """Whether least squares leave nothing of the responses of these rows; False where some are censored."""
    rows = base.observations.take(which).rows()
    counts = np.ones(len(which), bool) if rows.weights is None else rows.weights > 0
    if rows.censored is not None and (rows.censored[counts] != 0).any():
        return False
    X = rows.X.dense()[counts]
    left, columns = X[:, form.tau_at], np.delete(X, form.tau_at, axis=1)
    of_groups = []
    for one in groupings:
        codes, Z = one.codes[which][counts], one.Z[which][counts]
        at = np.unique(codes, return_inverse=True)[1]
        of_groups += [scipy.sparse.csr_array((z, (np.arange(len(at)), at))) for z in Z.T]
    A = scipy.sparse.hstack([scipy.sparse.csr_array(columns), *of_groups]).tocsc()
    size = np.sqrt(np.asarray(A.multiply(A).sum(axis=0)).ravel())
    A = A @ scipy.sparse.diags_array(1 / np.where(size > 0, size, 1.0))
    found = scipy.sparse.linalg.lsmr(A, left, atol=1e-14, btol=1e-14, maxiter=_MOST_STEPS)[0]
    return bool(np.abs(left - A @ found).max(initial=0.0) <= _ROUNDING * np.abs(left).max(initial=0.0))
