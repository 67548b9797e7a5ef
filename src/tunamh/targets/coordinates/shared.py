"""Closed forms of parameters that all rows share: dispersions, shapes, probabilities, cutpoints (spec 5l)."""

from __future__ import annotations

import math

import numpy as np

from ...compiled import helper
from ...compiled.layouts import WHOLE, Layout
from ...compiled.vector import copy_into
from ...priors.laws import NORMAL, Laws
from ...priors.potential import PriorExpansion
from .base import Form


@helper
def fill_log(theta, natural, numbers):
    """Compute the last parameter from its logarithm, which is the coordinate of the chain."""
    last = theta.size - 1
    copy_into(natural, theta)
    if not abs(theta[last]) < 300.0:
        return -np.inf
    natural[last] = math.exp(theta[last])
    return theta[last]


class Logarithm(Form):
    """The form of a positive parameter that all rows share. What the data say about it is in the energies of the rows.

    The parameter is the last one. ``between`` is the number of parameters between it and the coefficients; a chain does
    not transform these.
    """

    fill = staticmethod(fill_log)

    def __init__(self, coefficients: int, between: int = 0):
        super().__init__(coefficients, between + 1)

    @property
    def numbers(self) -> np.ndarray:
        return np.empty(0)

    def to_user(self, points: np.ndarray) -> np.ndarray:
        return np.concatenate([points[..., :-1], np.exp(points[..., -1:])], axis=-1)

    def to_chain(self, point: np.ndarray) -> np.ndarray:
        return np.append(point[:-1], np.log(point[-1]))

    def log_jacobian(self, point: np.ndarray) -> float:
        return float(point[-1])


_COUNTS_ABOVE = Layout("CountsAbove", n=WHOLE, above=("n",))
_COUNTS = Layout("Counts", n=WHOLE, values=("n",), weights=("n",))
_counts_above_at, _counts_at = _COUNTS_ABOVE.reader(), _COUNTS.reader()


@helper
def fill_dispersion(theta, natural, numbers):
    """Return ``sum_k m_k log(r + k)``, where ``m_k`` is the number of rows with a count above ``k``."""
    value, r = fill_log(theta, natural, numbers), 0.0
    if value > -np.inf:
        r = natural[theta.size - 1]
        above = _counts_above_at(numbers, 0).above
        for k in range(above.size):
            value += above[k] * math.log(r + k)
    return value


@helper
def fill_dispersion_of_large(theta, natural, numbers):
    """Return ``sum_v n_v (lgamma(r + v) - lgamma(r))`` over the counts ``v`` that occur.

    For large counts this is faster than `fill_dispersion`.
    """
    value = fill_log(theta, natural, numbers)
    if value > -np.inf:
        r, counts = natural[theta.size - 1], _counts_at(numbers, 0)
        base, values, weights = math.lgamma(r), counts.values, counts.weights
        for k in range(counts.n):
            value += weights[k] * (math.lgamma(r + values[k]) - base)
    return value


class Dispersion(Logarithm):
    """The form of negative binomial counts.

    The product ``prod_i Gamma(r + y_i) / Gamma(r)`` depends only on how often each count occurs (spec 5n).
    """

    fill = staticmethod(fill_dispersion)

    def __init__(self, coefficients: int, values: np.ndarray, weights: np.ndarray, between: int = 0):
        super().__init__(coefficients, between)
        above = np.zeros(int(values.max(initial=0)) if values.max(initial=0) <= 4 * len(values) + 100 else 0)
        if len(above) == values.max(initial=0):
            for value, weight in zip(values.astype(np.int64), weights, strict=True):
                above[:value] += weight
            self._numbers = _COUNTS_ABOVE.pack(above=above)
        else:
            self.fill = fill_dispersion_of_large  # type: ignore[misc]
            self._numbers = _COUNTS.pack(values=values, weights=weights)

    @property
    def numbers(self) -> np.ndarray:
        return self._numbers


@helper
def fill_shape(theta, natural, numbers):
    """Return ``W (a log a - a - lgamma a)``, where ``W`` is the total weight of the rows."""
    value = fill_log(theta, natural, numbers)
    if value > -np.inf:
        a = natural[theta.size - 1]
        value += numbers[0] * (a * (theta[theta.size - 1] - 1.0) - math.lgamma(a))
    return value


class GammaShape(Logarithm):
    """The form of gamma responses: the part of the density's constant that depends only on the shape."""

    fill = staticmethod(fill_shape)

    def __init__(self, coefficients: int, weight: float):
        super().__init__(coefficients)
        self.weight = weight

    @property
    def numbers(self) -> np.ndarray:
        return np.array([self.weight])


# --------------------------------------------------------------------------------------------------- a probability


@helper
def _from_logit(theta, natural, j):
    """Compute parameter ``j`` from its logit. Return the logarithm of the Jacobian ``p (1 - p)``."""
    small = math.exp(-abs(theta[j]))
    natural[j] = 1.0 / (1.0 + small) if theta[j] > 0.0 else small / (1.0 + small)
    return -abs(theta[j]) - 2.0 * math.log1p(small)


@helper
def fill_probability(theta, natural, numbers):
    """Compute the last parameter from its logit, which is the coordinate of the chain."""
    copy_into(natural, theta)
    return _from_logit(theta, natural, theta.size - 1)


def _log_slope(logit: float) -> float:
    """``log p (1 - p)``."""
    return -float(np.abs(logit) + 2.0 * np.log1p(np.exp(-np.abs(logit))))


class Probability(Form):
    """The form of a probability that all rows share, with a uniform prior."""

    fill = staticmethod(fill_probability)

    def __init__(self, coefficients: int):
        super().__init__(coefficients, 1)
        self.share_at = coefficients

    @property
    def numbers(self) -> np.ndarray:
        return np.empty(0)

    @staticmethod
    def uniform() -> Laws:
        """Return a normal law that is so wide that it is flat between 0 and 1."""
        return Laws(*(np.array([value]) for value in (float(NORMAL), 0.5, 1e6, 1.0)))

    def to_user(self, points: np.ndarray) -> np.ndarray:
        return np.concatenate([points[..., :-1], 1 / (1 + np.exp(-points[..., -1:]))], axis=-1)

    def to_chain(self, point: np.ndarray) -> np.ndarray:
        return np.append(point[:-1], np.log(point[-1] / (1 - point[-1])))

    def log_jacobian(self, point: np.ndarray) -> float:
        return _log_slope(point[-1])


@helper
def fill_probability_and_dispersion(theta, natural, numbers):
    """Compute what `fill_dispersion` computes, and the parameter before the dispersion from its logit."""
    return fill_dispersion(theta, natural, numbers) + _from_logit(theta, natural, theta.size - 2)


@helper
def fill_probability_and_dispersion_of_large(theta, natural, numbers):
    """Compute what `fill_dispersion_of_large` computes, and the parameter before the dispersion from its logit."""
    return fill_dispersion_of_large(theta, natural, numbers) + _from_logit(theta, natural, theta.size - 2)


class ProbabilityAndDispersion(Dispersion):
    """The form of zero-inflated negative binomial counts: a probability with a uniform prior, then a dispersion."""

    def __init__(self, coefficients: int, values: np.ndarray, weights: np.ndarray):
        super().__init__(coefficients, values, weights, between=1)
        self.share_at = coefficients
        large = self.fill is fill_dispersion_of_large
        self.fill = fill_probability_and_dispersion_of_large if large else fill_probability_and_dispersion  # type: ignore[misc]

    def to_user(self, points: np.ndarray) -> np.ndarray:
        found = super().to_user(points)
        found[..., -2] = 1 / (1 + np.exp(-points[..., -2]))
        return found

    def to_chain(self, point: np.ndarray) -> np.ndarray:
        found = super().to_chain(point)
        found[-2] = np.log(point[-2] / (1 - point[-2]))
        return found

    def log_jacobian(self, point: np.ndarray) -> float:
        return super().log_jacobian(point) + _log_slope(point[-2])


# ------------------------------------------------------------------------------------------------------- cutpoints


_CUTPOINTS = Layout("Cutpoints", gaps=WHOLE, leaning=WHOLE, between=("gaps",), lean=("leaning",))
_cutpoints_at = _CUTPOINTS.reader()


@helper
def fill_cutpoints(theta, natural, numbers):
    """Return ``sum_{1<y<J} n_y log(1 - e^{-(c_y - c_{y-1})})``, or minus infinity if the cutpoints do not increase.

    The prior laws are laws of the cutpoints minus ``lean.theta``.
    """
    copy_into(natural, theta)
    own = _cutpoints_at(numbers, 0)
    cuts, between, leans = own.gaps + 1, own.between, own.lean
    first, value, lean = theta.size - cuts, 0.0, 0.0
    for j in range(leans.size):
        lean += leans[j] * theta[j]
    for k in range(cuts):
        natural[first + k] -= lean
    for k in range(1, cuts):
        gap = theta[first + k] - theta[first + k - 1]
        if not gap > 0.0:
            return -np.inf
        value += between[k - 1] * math.log(-math.expm1(-gap))
    return value


class Cutpoints(Form):
    """The form of ordered categories: the part of the density that depends only on gaps of cutpoints (spec 5l).

    Rows have the columns ``x - origin``, so the chain's coordinate is ``b_k = c_k - origin.theta`` in place of the
    cutpoint ``c_k``. Columns that are zero in most rows are not changed, but they have an origin, too, ``lean``: the
    prior is a law of ``b_k - lean.theta``.

    With ``g`` the distance of two cutpoints and ``n`` the weight of the category between them, the potential is ``V =
    -n log(1 - e^-g)``. Its derivatives are ``-n / (e^g - 1)``, ``B = n / (4 sinh^2(g/2))``, ``-B coth(g/2)``.
    """

    fill = staticmethod(fill_cutpoints)
    linear = True

    def __init__(self, between: np.ndarray, origin: np.ndarray, lean: np.ndarray | None = None):
        super().__init__(len(origin), len(between) + 1)
        self.between, self.origin = between, origin
        self.lean = np.zeros(len(origin)) if lean is None else lean

    @property
    def numbers(self) -> np.ndarray:
        return _CUTPOINTS.pack(between=self.between, lean=self.lean if self.lean.any() else [])

    @property
    def laws_of(self) -> np.ndarray:
        found = super().laws_of
        found[:, : self.coefficients] = -self.lean
        return found

    def _moved(self, points: np.ndarray, sign: float) -> np.ndarray:
        if not self.origin.any():
            return points
        theta, cuts = points[..., : self.coefficients], points[..., self.coefficients :]
        return np.concatenate([theta, cuts + sign * (theta @ self.origin)[..., None]], axis=-1)

    def to_user(self, points: np.ndarray) -> np.ndarray:
        return self._moved(points, 1.0)

    def to_chain(self, point: np.ndarray) -> np.ndarray:
        return self._moved(point, -1.0)

    def log_jacobian(self, point: np.ndarray) -> float:
        """Return 0, because the cutpoints are only shifted by a linear function of the coefficients."""
        return 0.0

    def expansion(self, theta: np.ndarray) -> PriorExpansion:
        at, gaps = self.extra_at, np.diff(theta[self.extra_at])
        gradient, hessian = np.zeros(len(theta)), np.zeros((len(theta), len(theta)))
        if not (gaps > 0).all():
            return PriorExpansion(np.inf, gradient, hessian)
        n, apart = self.between, np.diff(np.eye(len(at)), axis=0)  # (gaps, cutpoints)
        with np.errstate(over="ignore"):
            slope, curvature = -n / np.expm1(gaps), n / (4 * np.sinh(gaps / 2) ** 2)
        gradient[at], hessian[np.ix_(at, at)] = apart.T @ slope, apart.T @ (curvature[:, None] * apart)
        return PriorExpansion(-float(n @ np.log(-np.expm1(-gaps))), gradient, hessian)

    def thirds(self, theta: np.ndarray, factor: np.ndarray) -> np.ndarray:
        at, gaps = self.extra_at, np.diff(theta[self.extra_at])
        white = np.diff(factor[at], axis=0)  # gaps in whitened coordinates
        if not (gaps > 0).all():
            return np.zeros(factor.shape[1])
        with np.errstate(over="ignore"):
            third = -self.between / (4 * np.sinh(gaps / 2) ** 2 * np.tanh(gaps / 2))
        return (third * np.einsum("gj,gj->g", white, white)) @ white
