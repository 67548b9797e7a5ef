"""Labels 0 and 1: what families of them have in common, and the first of these, the logistic function."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from ...compiled import CONTRACT, FamilyEnergy, FamilyRise, helper, part
from ...compiled.vector import exp_any, exp_negative, softplus, softplus_rise, twice_atanh
from ...compiled.windows import window
from ..observations.observed import InMemory
from .base import Family, Responses
from .intervals import (
    ENDLESS,
    SIGMOID_SLOPE_PEAKS,
    SIGMOID_THIRD,
    SIGMOID_THIRD_PEAKS,
    SLACK,
    Peaks,
    largest,
    nearby,
    same_for_all,
    sigmoids,
    vectors_of_one_shape,
    widened,
)
from .likelihood import LowerBound, Suprema
from .links import LOGIT
from .remainder_constants import LARGE, by_the_end, exponential_far, far_rows, is_ahead, phi, widened_of
from .response_checks import first_wrong
from .responses import ResponseDistribution
from .trials import as_fractions, as_two_rows

_SIGMOID_PEAK = float(SIGMOID_THIRD_PEAKS[1][0])

_HIGHEST = float(SIGMOID_THIRD)

_SHORT = 1 / 8  # a range within which the fourth derivative matters little: constants are a few percent larger at most

_STRIP = 256  # rows whose numbers stay in the nearest cache


@part(FamilyEnergy, fastmath=CONTRACT)
def _logistic_energy(n, eta, y, hyper, out):
    for b in range(n):
        out[b] = softplus(eta[b]) - y[b] * eta[b]


@part(FamilyRise, fastmath=CONTRACT)
def _logistic_rise(n, eta, eta_prop, y, hyper, out):
    for b in range(n):
        out[b] = softplus_rise(eta[b], eta_prop[b]) - y[b] * (eta_prop[b] - eta[b])


@helper(fastmath=CONTRACT)
def _fill_derivatives(eta, y, first, second, third):
    """With ``p = 1 / (1 + e^-eta)`` and ``q = 1 - p``, each with all its digits."""
    for i in range(eta.size):
        small = exp_negative(-abs(eta[i]))
        large = 1.0 / (1.0 + small)
        p, q = (large, small * large) if eta[i] > 0.0 else (small * large, large)
        first[i] = p * (1.0 - y[i]) - q * y[i]
        second[i] = p * q
        third[i] = p * q * (q - p)


_LOOKED_AT = 10_000  # rows, of which two values are looked for


class LabelFamily(Family):
    """Base class of families for labels 0 and 1, or for ``k`` successes in ``n`` trials."""

    responses = Responses.LABELS
    convex = True
    fractions: bool = False
    """Whether rows are trials: ``k`` successes in ``n`` trials are one row of weight ``n`` and response ``k/n``."""

    def check(self, y: np.ndarray) -> None:
        wrong = ~((y >= 0) & (y <= 1)) if self.fractions else (y != 0) & (y != 1)
        if not wrong.any():
            return
        if self.fractions:
            raise first_wrong(wrong, y, "lie between 0 and 1", "give successes over trials", "fractions")
        raise first_wrong(wrong, y, "be 0 or 1", _advice(y), "labels")

    def of_trials(self, found: InMemory, trials: np.ndarray) -> InMemory:
        """Return the rows for ``k`` successes in ``n`` trials.

        ``k`` is the response in ``found``, and ``n`` is in ``trials``. If the energy (negative log-likelihood) is
        linear in the label, each row becomes one row with the response ``k / n`` and the weight ``n``. Otherwise it
        becomes two rows, one for the successes and one for the failures.
        """
        return as_fractions(found, trials) if self.linear_in_label else as_two_rows(found, trials)

    def rises(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return for each row whether its energy grows without limit as ``eta`` goes to +/- infinity.

        The energy of a row is its negative log-likelihood. The result is two boolean arrays (n,), the first for
        +infinity and the second for -infinity. ``eta`` is the linear predictor. The first array is True unless the
        label is 1. The second is True unless the label is 0.
        """
        return y < 1, y > 0

    def response_distribution(self) -> ResponseDistribution:
        from .response_distributions import Labels

        return Labels(self.link.mean)


def _advice(y: np.ndarray) -> str:
    """What to do about responses that are not 0 or 1: what they look like says it."""
    if np.all((y >= 0) & (y <= 1)):
        return "give successes, and their number of trials as trials="
    if len(np.unique(y[:_LOOKED_AT])) <= 2:
        return "code the two classes as 0 and 1"
    if np.all((y >= 0) & (y == np.floor(y))):
        return (
            "for counts take Poisson() or NegativeBinomial(), for the codes of several classes Categorical() or "
            "Ordinal()"
        )
    return "for measurements take Gaussian() or StudentT(), for positive amounts also Gamma() or LogNormal()"


class LinearInLabel(LabelFamily):
    """Base class of families for labels whose energy is linear in the label. So a response can also be a fraction.

    The dataclass of a subclass has the field ``fractions``.
    """

    linear_in_label = True

    def for_trials(self) -> Any:
        return replace(self, fractions=True)  # type: ignore[type-var]


@dataclass(frozen=True)
class Logistic(LinearInLabel):
    """Logistic regression of a 0/1 response: ``P(y = 1) = 1 / (1 + e^-eta)``.

    ``eta`` is the linear predictor ``x.theta`` of a row, plus its offset. The energy (negative log-likelihood) of a row
    is ``f = log(1 + e^eta) - y eta`` (docs/spec.md, section 3.3).

    Parameters
    ----------
    fractions : bool
        True: ``y`` is a fraction of successes. tunamh sets this if you pass ``trials=`` to `GLM`.

    Examples
    --------
    >>> tunamh.GLM(X, y, tunamh.Logistic())
    """

    fractions: bool = field(default=False, repr=False, kw_only=True)

    word = "logistic"
    link = LOGIT
    energy = _logistic_energy
    rise = _logistic_rise
    self_concordant = True

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        eta, y = vectors_of_one_shape(eta, y)
        first, second, third = (np.empty(eta.shape) for _ in range(3))
        _fill_derivatives(eta.ravel(), y.ravel(), first.ravel(), second.ravel(), third.ravel())
        return first, second, third

    def suprema(self, y: np.ndarray) -> Suprema:
        """Return the suprema of ``|f'|``, ``|f''|`` and ``|f'''|`` over all ``eta``: arrays (n,).

        ``f(eta)`` is the energy (negative log-likelihood) of a row as a function of its linear predictor. The suprema
        are 1 (not attained), 1/4 (at ``eta = 0``) and 1/(6 sqrt 3). With the probability ``p = 1 / (1 + e^-eta)``,
        ``f''' = p(1-p)(1-2p)``, which has its extrema at ``p = (1 - 1/sqrt 3)/2`` and ``p = (1 + 1/sqrt 3)/2``.
        """
        return same_for_all(y, 1.0, 0.25, SIGMOID_THIRD)

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """Return the suprema of ``|f'|``, ``|f''|``, ``|f'''|`` within ``radius`` of ``eta``: arrays (n,).

        ``f(eta)`` is the energy (negative log-likelihood) of a row as a function of its linear predictor. Each supremum
        is at an end of the interval or at a critical point inside it. ``f'`` has no critical point, ``f''`` has the
        critical point 0, and ``f'''`` has the critical points ``-log(2 + sqrt 3)`` and ``log(2 + sqrt 3)``.
        """
        return nearby(self, y, eta, radius, (), SIGMOID_SLOPE_PEAKS, SIGMOID_THIRD_PEAKS)

    def second_order_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Return an array (n,) of constants ``L``, which bound Taylor remainders (docs/spec.md, section 5m).

        ``L`` is a number with ``|f'(eta + z) - f'(eta) - f''(eta) z| <= L z^2 / 2`` for all ``|z| <= radius``. ``L`` is
        the constant of ``log(1 + e^eta)``, because the other term of the energy (negative log-likelihood) ``f`` is
        linear.
        """
        return logistic_second_order(eta, radius)

    def third_order_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Return an array (n,): the constant of each row that bounds a remainder of order 3 (docs/spec.md, section 5r).

        It is an upper bound of ``6 |f'(eta + z) - f'(eta) - f''(eta) z - f'''(eta) z^2 / 2| / |z|^3`` for all ``|z| <=
        radius``. ``f(eta)`` is the energy (negative log-likelihood) of the row, and ``eta`` its linear predictor.
        """
        return logistic_third_order(eta, radius)

    def lower_bound(self, y: np.ndarray, eta: np.ndarray | None) -> LowerBound:
        """Return a `LowerBound`: for each row a quadratic function that is nowhere above the log-likelihood.

        It is the bound of Jaakkola and Jordan. It equals the log-likelihood at the linear predictors ``xi`` and
        ``-xi``. ``xi`` is ``|eta|``, or 1.5 if ``eta`` is None.
        """
        xi = np.abs(np.full(y.shape, 1.5) if eta is None else eta)
        a = -0.125 * np.ones_like(xi)
        np.divide(-np.tanh(0.5 * xi), 4 * xi, out=a, where=xi > 1e-6)
        return LowerBound(np.zeros(y.shape), a, y - 0.5, -a * xi**2 - np.logaddexp(0.5 * xi, -0.5 * xi))


# ---------------------------------------------------------------------------------- constants of ``log(1 + e^eta)``


def logistic_second_order(eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Return the constants of order 2 of ``log(1 + e^eta)``.

    They are the smaller of two bounds: `second_order_near`, and ``f'' phi(rho)``, because ``|f'''| = f'' |1-2p|``.
    """
    eta, radius = vectors_of_one_shape(eta, radius)
    result = np.empty(eta.shape)
    _logistic_second_order(eta.ravel(), radius.ravel(), result.ravel())
    return result


def logistic_third_order(eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Return the supremum of ``|f''''| = w |1 - 6w|`` near ``eta``, with ``w = p (1-p)``.

    The critical points are at ``w`` = 1/4 and 1/12.
    """
    wide = widened(eta, radius)

    def fourth(at: np.ndarray) -> np.ndarray:
        p, q = sigmoids(at)
        return p * q * (1 - 6 * p * q)

    return (1 + SLACK) * largest(fourth(eta - wide), fourth(eta + wide), _SIGMOID_FOURTH_PEAKS, eta, wide)


_SIGMOID_FOURTH_PEAKS: Peaks = (
    (0.0, 1 / 8),
    *((sign * np.log((1 + np.sqrt(2 / 3)) / (1 - np.sqrt(2 / 3))), 1 / 24) for sign in (-1, 1)),
)


@helper(fastmath=CONTRACT, inline=True)
def _sigmoid(eta):
    """``p``, ``p'`` and ``p''``, the derivatives of ``log(1 + e^eta)``."""
    small = exp_negative(-abs(eta))
    large = 1.0 / (1.0 + small)
    p, q = (large, small * large) if eta > 0.0 else (small * large, large)
    return p, p * q, p * q * (q - p)


@helper(fastmath=CONTRACT, inline=True)
def _logistic_side(sign, eta, wide, first, second, third, out):
    """What `second_order_near` says of one side, where that is more than ``out``; derivatives at ``eta`` are given."""
    for i in range(eta.size):
        here, end = (first[i], second[i], third[i]), _sigmoid(eta[i] + sign * wide[i])
        most = max(abs(here[2]), abs(end[2]))
        left = is_ahead(-_SIGMOID_PEAK, sign, eta[i], wide[i])
        turns = left | is_ahead(_SIGMOID_PEAK, sign, eta[i], wide[i])
        mean = by_the_end(sign, eta[i], wide[i], here, end)
        out[i] = max(out[i], _HIGHEST if turns else min(most, mean))


@helper(fastmath=CONTRACT, inline=True)
def _of_short_ranges(second, third, wide):
    """Of a short range: ``|f'''| + wide / 24``, which costs no further exponential, or ``f'' phi(wide)``.

    ``f'(eta+z) - f'(eta) - f''(eta) z = int_0^z (z-t) f'''(eta+t) dt``, and ``|f'''(eta+t)| <= |f'''(eta)| + |t| / 8``,
    since ``|f''''| <= 1/8``: the quotient is at most ``|f'''(eta)| + |z| / 24``.
    """
    return min((1.0 + SLACK) * min(abs(third) + wide / 24.0, second * phi(wide)), _HIGHEST)


@helper(fastmath=CONTRACT)
def _widest(wide):
    most = 0.0
    for i in range(wide.size):
        most = max(most, wide[i])
    return most


@helper(fastmath=CONTRACT)
def _logistic_second_order(eta, radius, out):
    """In short loops over some rows: one loop has more numbers than there are registers, and takes twice as long."""
    work = np.empty(4 * _STRIP)
    for start in range(0, eta.size, _STRIP):
        n = min(_STRIP, eta.size - start)
        at, within, found = window(eta, start, n), window(radius, start, n), window(out, start, n)
        wide, first = window(work, 0, n), window(work, _STRIP, n)
        second, third = window(work, 2 * _STRIP, n), window(work, 3 * _STRIP, n)
        for i in range(n):
            wide[i], found[i] = widened_of(at[i], within[i]), 0.0
            first[i], second[i], third[i] = _sigmoid(at[i])
        if _widest(wide) < _SHORT:
            for i in range(n):
                found[i] = _of_short_ranges(second[i], third[i], wide[i])
            continue
        for side in range(2):
            _logistic_side(2.0 * side - 1.0, at, wide, first, second, third, found)
        for i in range(n):
            if wide[i] < _SHORT:  # as if all were short: what is said of a row does not depend on its neighbours
                found[i] = _of_short_ranges(second[i], third[i], wide[i])
                continue
            near = min((1.0 + SLACK) * found[i], _HIGHEST) if wide[i] < ENDLESS else _HIGHEST
            series = (1.0 + SLACK) * (second[i] * phi(wide[i] if wide[i] < 1.0 else 1.0))
            found[i] = min(near, series) if wide[i] < 1.0 else near
    if far_rows(eta, radius) == 0:
        return
    for i in range(eta.size):
        wide_here = widened_of(eta[i], radius[i])
        size = abs(eta[i])
        small = exp_negative(-size)
        log_second = -size - 2.0 * twice_atanh(small / (2.0 + small))
        if not wide_here < 1.0:
            out[i] = min(out[i], exponential_far(log_second, wide_here))
        elif not size < LARGE:
            out[i] = min(out[i], (1.0 + SLACK) * (exp_any(log_second) * phi(wide_here)))
