"""Whether so many responses are equal that Student-t errors of unknown scale have no posterior.

Let ``W`` be the weight of rows whose responses are all met exactly by one vector of coefficients, ``R`` the weight of
the others, and ``d`` the number of coefficients. As the scale ``s`` goes to zero, each row of the first kind has a
density of at least a constant over ``s``, in a region of coefficients of the size ``s^d``. Each row of the second kind
has one of at least a constant times ``s^v``, with ``v`` degrees of freedom. So the posterior is at least a constant
times ``s^(d - W + v R)`` there. Its integral is infinite if ``W - v R >= d + 1``, unless the prior of the scale falls
to zero at zero. Unknown degrees of freedom are below 1 with a positive prior probability; ``v = 1`` is taken for them.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from ...errors import ImproperPosterior
from ...priors.exponential import Exponential
from ...priors.half_cauchy import HalfCauchy
from ...priors.half_normal import HalfNormal
from ...priors.half_student_t import HalfStudentT
from ...priors.uniform import Uniform
from ..families.student_t import StudentT
from ..observations.base import Observations

_POSITIVE_AT_ZERO = (type(None), HalfNormal, HalfStudentT, HalfCauchy, Exponential)
_FIRST = 10_000  # rows that are asked first: others are read only if most of these are equal
_MET = 1e-10  # of the response: what is left of it is rounding


def refuse_equal_responses(target: Any) -> None:
    """Raise an error if the share of rows with the most frequent response proves that there is no posterior."""
    family, rows = target.user_family, target.user_rows
    if not isinstance(family, StudentT) or not isinstance(family.scale, _POSITIVE_AT_ZERO):
        return
    value = _majority(rows)
    if value is None:
        return
    df = family.df if isinstance(family.df, float) else max(1.0, getattr(family.df, "low", 0.0))
    if isinstance(family.df, Uniform) and family.df.high <= df:
        return

    def weights(block: Any) -> tuple[float, float]:
        own = np.ones(len(block.y)) if block.weights is None else block.weights
        return float(own[_left(block, rows.design.dim) == value].sum()), float(own.sum())

    equal, every = rows.sums(weights)
    if target.temper * (equal - df * (every - equal)) >= rows.design.dim + 1:
        raise ImproperPosterior(
            f"{equal / every:.1%} of the responses are exactly {value:.6g}. With Student-t errors of unknown scale "
            "there is no posterior then: the density grows without end as the scale goes to zero. Give a known scale, "
            "StudentT(scale=1.0); a prior without small scales, StudentT(scale=tunamh.priors.InverseGamma(2, 1)); "
            "or take Huber() or Gaussian()."
        )


def _left(block: Any, dim: int) -> Any:
    """The responses without their offsets."""
    return block.y - block.X.matvec(np.zeros(dim))


def _majority(rows: Observations) -> float | None:
    """The response of more than half of the first rows, if some coefficients meet it exactly."""
    block = rows.take(np.arange(min(rows.n_rows, _FIRST))).rows()
    left = _left(block, rows.design.dim)
    weights = np.ones(len(left)) if block.weights is None else block.weights
    values, at = np.unique(left, return_inverse=True)
    shares = np.bincount(at, weights=weights)
    value, share = float(values[shares.argmax()]), shares.max() / max(shares.sum(), 1.0)
    if share <= 0.5:
        return None
    X = block.X.dense()[left == value]
    met = X @ np.linalg.lstsq(X, np.full(len(X), value), rcond=None)[0]
    return value if np.abs(met - value).max() <= _MET * abs(value) else None
