"""The paper's truncated, tempered mixture of two Gaussians (spec 3.2)."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arguments import flag, moderate_number
from ..compiled import CONTRACT, Differences, Energies, Offset, helper, part
from ..compiled.layouts import NUMBER, Layout
from ..compiled.vector import softplus, softplus_rise
from ..errors import NotApplicable
from ..rows.packing import PackedRows, packed_rows
from ..rows.passes import sums_over_blocks
from ..tables.matrices import as_vector
from .base import Expansion, Target, checked_temper
from .expansion.bounds import NO_BOUNDS, bounds_in_general
from .expansion.taylor import TaylorTarget, no_differences, polynomial_fall
from .layouts import OWN, centre_of, row_and_bound_at
from .parts import Parts

_NUMBERS = Layout("Mixture", temper=NUMBER, variance=NUMBER, box=NUMBER)
"""The target's own. A packed row is x and c."""

_numbers_at = _NUMBERS.reader()


@helper(inline=True)
def _temper_and_variance(hyper):
    own = _numbers_at(hyper, OWN)
    return own.temper, own.variance


@helper
def _coefficients(theta, variance):
    """``U = q - log(1 + e^z)`` with ``q = (x - t1)^2 / (2 s2)`` and ``z = q - (x - t1 - t2)^2 / (2 s2)``, linear in x.

    Returns the slope and intercept of ``z``.
    """
    slope = theta[1] / variance
    return slope, -slope * (theta[0] + 0.5 * theta[1])


@helper(fastmath=CONTRACT)
def _differences_inside(theta, prop, index, start, n, data, rise, bound):
    temper, variance = _temper_and_variance(data.hyper)
    slope, intercept = _coefficients(theta, variance)
    slope_prop, intercept_prop = _coefficients(prop, variance)
    centre, shift = 0.5 * (theta[0] + prop[0]), prop[0] - theta[0]
    x = data.y
    for b in range(n):
        row = row_and_bound_at(data.rows, index[start + b], 1)
        x[b] = row.numbers[0]
        bound[b] = row.bound
    for b in range(n):
        quadratic = -shift * (x[b] - centre) / variance
        mixed = softplus_rise(slope * x[b] + intercept, slope_prop * x[b] + intercept_prop)
        rise[b] = temper * (quadratic - mixed)


@part(Differences)
def _differences(theta, prop, index, start, n, data, rise, bound):
    _differences_inside(theta, prop, index, start, n, data, rise, bound)


@part(Energies, fastmath=CONTRACT)
def _energies(theta, index, n, data, out):
    temper, variance = _temper_and_variance(data.hyper)
    slope, intercept = _coefficients(theta, variance)
    x = data.y
    for b in range(n):
        x[b] = data.rows[index[b], 0]
    for b in range(n):
        out[b] = temper * (0.5 * (x[b] - theta[0]) ** 2 / variance - softplus(slope * x[b] + intercept))


@helper
def _size(theta, x, variance):
    """Of what cancels in an energy: the quadratic, and the terms of the linear ``z``."""
    slope, intercept = _coefficients(theta, variance)
    return 1.0 + 0.5 * (abs(x) + abs(theta[0])) ** 2 / variance + abs(slope * x) + abs(intercept)


@part(Energies)
def _scales(theta, index, n, data, out):
    temper, variance = _temper_and_variance(data.hyper)
    for b in range(n):
        out[b] = temper * _size(theta, data.rows[index[b], 0], variance)


@part(Offset)
def _inside_box(theta, prop, hyper):
    box = _numbers_at(hyper, OWN).box
    return -np.inf if abs(prop[0]) > box or abs(prop[1]) > box else 0.0  # NaN is not outside: it must be reported


@helper
def _slopes(x, theta, variance):
    """Gradient of the energy (without temper): ``-((1-w) a + w b), -w b`` with ``w`` the second component's share."""
    a, b = (x - theta[0]) / variance, (x - theta[0] - theta[1]) / variance
    slope, intercept = _coefficients(theta, variance)
    w = 1.0 / (1.0 + np.exp(-(slope * x + intercept)))
    return -((1.0 - w) * a + w * b), -w * b


@part(Differences, fastmath=CONTRACT)
def _taylor_differences(theta, prop, index, start, n, data, rise, bound):
    """Rises of the first-order remainders."""
    temper, variance = _temper_and_variance(data.hyper)
    centre = centre_of(data.hyper, 2)
    _differences_inside(theta, prop, index, start, n, data, rise, bound)
    for b in range(n):
        i = index[start + b]
        first, second = _slopes(data.rows[i, 0], centre, variance)
        rise[b] -= temper * (first * (prop[0] - theta[0]) + second * (prop[1] - theta[1]))


@helper(fastmath=CONTRACT)
def _first_remainders(theta, index, n, data, out):
    """First-order remainders, zero at the centre."""
    temper, variance = _temper_and_variance(data.hyper)
    centre = centre_of(data.hyper, 2).copy()
    _differences_inside(centre, theta, index, 0, n, data, out, data.eta)
    for b in range(n):
        first, second = _slopes(data.rows[index[b], 0], centre, variance)
        out[b] -= temper * (first * (theta[0] - centre[0]) + second * (theta[1] - centre[1]))


@part(Energies)
def _taylor_energies(theta, index, n, data, out):
    _first_remainders(theta, index, n, data, out)


@part(Energies)
def _taylor_scales(theta, index, n, data, out):
    """Size of what cancels in a remainder: the energies at both points and the terms of the slope."""
    temper, variance = _temper_and_variance(data.hyper)
    centre = centre_of(data.hyper, 2).copy()
    for b in range(n):
        x = data.rows[index[b], 0]
        first, second = _slopes(x, centre, variance)
        slope = abs(first * (theta[0] - centre[0])) + abs(second * (theta[1] - centre[1]))
        out[b] = temper * (_size(theta, x, variance) + _size(centre, x, variance) + slope)


@part(Energies, fastmath=CONTRACT)
def _firefly_energies(theta, index, n, data, out):
    """``-gap``: the first-order remainder less its bound ``U2bar |u|^2 / 2``; the row holds temper * U2bar."""
    centre = centre_of(data.hyper, 2).copy()
    square = (theta[0] - centre[0]) ** 2 + (theta[1] - centre[1]) ** 2
    _first_remainders(theta, index, n, data, out)
    for b in range(n):
        out[b] -= 0.5 * data.rows[index[b], 1] * square


@part(Offset)
def _taylor_inside_box(theta, prop, hyper):
    box = _numbers_at(hyper, OWN).box
    if abs(prop[0]) > box or abs(prop[1]) > box:
        return -np.inf
    return polynomial_fall(theta, prop, hyper)


class GaussianMixture(Target):
    """A target: a mixture of two normal distributions, ``x_i ~ 1/2 N(t1, variance) + 1/2 N(t1 + t2, variance)``.

    The unknown means are truncated to ``|t1|, |t2| <= box``. The energy (negative log-likelihood) of a row is ``U_i =
    -temper log(exp(-(x_i - t1)^2 / (2 variance)) + exp(-(x_i - t1 - t2)^2 / (2 variance)))``. Proposals with ``|t1|``
    or ``|t2|`` above ``box`` are rejected before any row is read.

    Parameters
    ----------
    x : (N,)
        The observations.
    variance : float
        The known variance of both normal distributions.
    box : float
        The largest absolute value of ``t1`` and of ``t2``.
    paper_bounds : bool
        False: the bounds are ``c_i = sqrt(2) (|x_i| + box) / variance``. They are proved in section 3.2 of docs/spec.md
        for ``|x_i| + box >= 1.8 sigma`` with the standard deviation ``sigma``; for rows with smaller ``|x_i| + box``
        the bound of the TunaMH paper (Zhang, Cooper and De Sa 2020) is used. True: all rows have the bounds of that
        paper, which are 2.2 times larger on average.
    prior, temper
        The prior of ``(t1, t2)``, as in `GLM`, and a number that multiplies every energy but not the prior.
    """

    several_modes = True
    variance: float
    box: float

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
        variance, box = moderate_number("variance", variance), moderate_number("box", box)
        rows = packed_rows(x.size, 2)
        rows[:, 0] = x
        rows[:, 1] = temper * (_paper_bounds if flag("paper_bounds", paper_bounds) else _tight_bounds)(x, variance, box)
        self._settle(variance=variance, box=box)
        super().__init__(
            packed=PackedRows(rows, 1, Parts(_differences, _energies, scales=_scales, offset=_inside_box)),
            hyper=_NUMBERS.pack(temper=temper, variance=variance, box=box).tolist(),
            dim=2,
            prior=prior,
            temper=temper,
        )

    def search_starts(self) -> list[np.ndarray]:
        """Return initial values for the search for a mode: a list of points with ``t2`` different from 0.

        The posterior is symmetric about the line ``t2 = 0``. A search that starts on this line would stop at a saddle
        point.
        """
        return [np.clip([self.rows[:, 0].mean() - 0.5, 1.0], -self.box, self.box)]

    def nearest(self, theta: np.ndarray) -> np.ndarray:
        return np.clip(theta, -self.box, self.box)

    def expansion(self, theta: np.ndarray) -> Expansion:
        """Return the sum of the energies of all rows at ``theta``, its gradient (d,) and its Hessian (d, d).

        The energy of a row is its negative log-likelihood. Section 3.2 of docs/spec.md has the formulas. The second
        derivative with respect to ``t2`` in the TunaMH paper (Zhang, Cooper and De Sa 2020) has an error; section 4 of
        docs/spec.md describes it.
        """
        s2 = self.variance

        def terms(block: slice) -> tuple[float, np.ndarray, np.ndarray]:
            x = self.rows[block, 0]
            a, b = (x - theta[0]) / s2, (x - theta[0] - theta[1]) / s2
            w = 0.5 * (1 + np.tanh(0.25 * s2 * (a * a - b * b)))
            mixed = (w / s2 - w * (1 - w) * (b - a) * b).sum()
            return (
                -np.logaddexp(-0.5 * s2 * a * a, -0.5 * s2 * b * b).sum(),
                -np.array([((1 - w) * a + w * b).sum(), (w * b).sum()]),
                np.array(
                    [
                        [(1 / s2 - w * (1 - w) * (a - b) ** 2).sum(), mixed],
                        [mixed, (w / s2 - w * (1 - w) * b * b).sum()],
                    ]
                ),
            )

        energy, gradient, hessian = sums_over_blocks(terms, self.n_rows)
        return Expansion(self.temper * float(energy), self.temper * gradient, self.temper * hessian)

    def taylor(
        self, order: int, centre: np.ndarray, at_centre: Expansion, *, whiten: bool, original_bounds: bool
    ) -> TaylorTarget:
        """Return a target with the same posterior and a Taylor expansion of order 1.

        It uses Euclidean distances and the bound on the spectral norm of the Hessian in section 3.2 of docs/spec.md.
        The arguments are those of `GLM.taylor`. Other orders raise `NotApplicable`.
        """
        if order != 1 or original_bounds:
            raise NotApplicable("GaussianMixture works only with Taylor(order=1) and without original_bounds=True")
        if np.abs(centre).max() > self.box:
            raise ValueError(f"centre {centre} lies outside the box, where the bounds do not hold")
        rows = packed_rows(self.n_rows, 2)
        rows[:, 0] = self.rows[:, 0]
        rows[:, 1] = self.temper * self.hessian_norm_bounds()
        parts = Parts(_taylor_differences, _taylor_energies, scales=_taylor_scales, offset=_taylor_inside_box)
        remainders = PackedRows(rows, 1, parts)
        return TaylorTarget(self, 1, centre, at_centre, remainders=remainders, bounds=bounds_in_general(1))

    def firefly(self, centre: np.ndarray | None) -> TaylorTarget:
        """Return a target with the same posterior and with lower bounds of the likelihood, for `FlyMC`.

        The bound of row ``i`` is ``log B_i = -temper [U_i(t0) + grad U_i(t0).u + U2bar_i |u|^2 / 2]`` with ``u = theta
        - t0``. ``U_i`` is the energy (negative log-likelihood) for ``temper = 1``. ``U2bar_i`` is a bound of the norm
        of the Hessian of ``U_i`` (`hessian_norm_bounds`). ``t0`` is ``centre``, or 0 if this is None.
        """
        centre = np.zeros(2) if centre is None else centre
        if np.abs(centre).max() > self.box:
            raise ValueError(f"centre {centre} lies outside the box, where the bounds do not hold")
        rows = packed_rows(self.n_rows, 3)
        rows[:, 0], rows[:, 1], rows[:, 2] = self.rows[:, 0], self.temper * self.hessian_norm_bounds(), 0.0
        at_centre = Expansion(0.0, self.expansion(centre).gradient, rows[:, 1].sum() * np.eye(2))
        parts = Parts(no_differences, _firefly_energies, scales=_taylor_scales, offset=_taylor_inside_box)
        remainders = PackedRows(rows, 2, parts)
        return TaylorTarget(self, 2, centre, at_centre, remainders=remainders, bounds=NO_BOUNDS)

    def hessian_norm_bounds(self) -> np.ndarray:
        """Return a bound of the norm of the Hessian of the energy for each row, an array (N,).

        The energy of a row is its negative log-likelihood. The norm is the spectral norm, and the energy is that for
        ``temper = 1``. Section 3.2 of docs/spec.md proves the bound.
        """
        s2, box = self.variance, self.box
        near = (np.abs(self.rows[:, 0]) + box) / (2 * s2)
        return np.maximum(2 / s2, box * box / (4 * s2 * s2) + near**2 + 0.448 / s2)

    def global_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Return two arrays (N,) of upper bounds, for all parameter values with ``|t1|, |t2| <= box``.

        The first array bounds the energy (negative log-likelihood) of each row. The second array bounds the difference
        between the largest and the smallest energy of each row. Both include ``temper``.
        """
        farthest = (np.abs(self.rows[:, 0]) + self.box) ** 2 / (2 * self.variance)
        return self.temper * farthest, self.temper * (np.log(2.0) + farthest)

    def start(self, rng: np.random.Generator, chain: int = 0) -> np.ndarray:
        """Return a random initial state ``(t1, t2)``, uniform on the square ``|t1|, |t2| <= box``.

        With several chains, some chains usually start near each of the two modes.
        """
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
