"""The paper's truncated, tempered mixture of two Gaussians (spec 3.2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._jit import CONTRACT, Differences, Energies, Offset, helper, part
from .._vector import softplus, softplus_rise
from ..data.packed import packed_rows
from ..data.tables import as_vector
from .base import Parts, Target, checked_temper

# Layout of a packed row: x, c.   Layout of hyper: temper, variance, box.


@helper
def _coefficients(theta, variance):
    """``U = q - log(1 + e^z)`` with ``q = (x - t1)^2 / (2 s2)`` and ``z = q - (x - t1 - t2)^2 / (2 s2)``, linear in x.

    Returns the slope and intercept of ``z``.
    """
    slope = theta[1] / variance
    return slope, -slope * (theta[0] + 0.5 * theta[1])


@part(Differences, fastmath=CONTRACT)
def _differences(theta, prop, index, start, n, data, rise, bound):
    temper, variance = data.hyper[0], data.hyper[1]
    slope, intercept = _coefficients(theta, variance)
    slope_prop, intercept_prop = _coefficients(prop, variance)
    centre, shift = 0.5 * (theta[0] + prop[0]), prop[0] - theta[0]
    x = data.y
    for b in range(n):
        x[b] = data.rows[index[start + b], 0]
        bound[b] = data.rows[index[start + b], 1]
    for b in range(n):
        quadratic = -shift * (x[b] - centre) / variance
        mixed = softplus_rise(slope * x[b] + intercept, slope_prop * x[b] + intercept_prop)
        rise[b] = temper * (quadratic - mixed)


@part(Energies, fastmath=CONTRACT)
def _energies(theta, index, n, data, out):
    temper, variance = data.hyper[0], data.hyper[1]
    slope, intercept = _coefficients(theta, variance)
    x = data.y
    for b in range(n):
        x[b] = data.rows[index[b], 0]
    for b in range(n):
        out[b] = temper * (0.5 * (x[b] - theta[0]) ** 2 / variance - softplus(slope * x[b] + intercept))


@part(Offset)
def _inside_box(theta, prop, hyper):
    box = hyper[2]
    return 0.0 if abs(prop[0]) <= box and abs(prop[1]) <= box else -np.inf


class GaussianMixture(Target):
    """``x_i ~ 1/2 N(t1, variance) + 1/2 N(t1 + t2, variance)``, truncated to ``|t1|, |t2| <= box``.

    ``U_i = -temper log(exp(-(x_i - t1)^2 / (2 variance)) + exp(-(x_i - t1 - t2)^2 / (2 variance)))``. Proposals outside
    the box are rejected before any row is read.

    Parameters
    ----------
    x : (N,) observations
    variance, box : float
    paper_bounds : bool
        False: ``c_i = sqrt(2) (|x_i| + box) / variance`` (proved in spec 3.2 for ``|x_i| + box >= 1.8 sigma``, where it
        holds; smaller boxes fall back on the paper's constant). True: the paper's, 2.2 times larger on average.
    prior, temper
        As for every target.
    """

    def __init__(
        self,
        x: Any,
        variance: float = 2.0,
        box: float = 3.0,
        *,
        paper_bounds: bool = False,
        prior: Any = None,
        temper: float = 1.0,
    ):
        x = as_vector(x, "x")
        temper = checked_temper(temper)
        for name, value in (("variance", variance), ("box", box)):
            if not (np.isfinite(value) and value > 0):
                raise ValueError(f"{name} must be positive and finite, got {value!r}")
        rows = packed_rows(x.size, 2)
        rows[:, 0] = x
        rows[:, 1] = temper * (_paper_bounds if paper_bounds else _tight_bounds)(x, variance, box)
        self.variance, self.box = float(variance), float(box)
        super().__init__(
            rows=rows,
            bound_column=1,
            hyper=[temper, variance, box],
            parts=Parts(_differences, _energies, offset=_inside_box),
            dim=2,
            prior=prior,
            temper=temper,
        )

    def start(self, rng: np.random.Generator) -> np.ndarray:
        """Uniform on the box, so that chains begin in both modes."""
        return rng.uniform(-self.box, self.box, size=2)


def _paper_bounds(x: np.ndarray, variance: float, box: float) -> np.ndarray:
    """|grad U| by the triangle inequality: |x| + box and |x| + 2 box bound the two distances to a centre."""
    near, far = np.abs(x) + box, np.abs(x) + 2 * box
    return np.hypot(near + far, far) / variance


def _tight_bounds(x: np.ndarray, variance: float, box: float) -> np.ndarray:
    """sqrt(2) (|x| + box) / variance where the proof's condition holds, else the paper's constant."""
    near = np.abs(x) + box
    proved = near >= 1.8 * np.sqrt(variance)
    return np.where(proved, np.sqrt(2.0) * near / variance, _paper_bounds(x, variance, box))
