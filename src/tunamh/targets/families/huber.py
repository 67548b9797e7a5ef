"""Huber's energy: squares of small residuals, absolute values of large ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..._arguments import moderate_number, settle
from ...compiled import CONTRACT, FamilyEnergy, FamilyRise, part
from ...priors.positive import known_or_prior
from .intervals import nearby, same_for_all, widened
from .likelihood import Suprema
from .residuals import ResidualFamily
from .responses import Parameters, ResponseDistribution


@part(FamilyEnergy, fastmath=CONTRACT)
def _huber_energy(n, eta, y, hyper, out):
    delta, precision = hyper[0], hyper[1]
    for b in range(n):
        r = y[b] - eta[b]
        inner = min(max(r, -delta), delta)
        out[b] = precision * (0.5 * inner * inner + delta * abs(r - inner))


@part(FamilyRise, fastmath=CONTRACT)
def _huber_rise(n, eta, eta_prop, y, hyper, out):
    delta, precision = hyper[0], hyper[1]
    for b in range(n):
        r, r_prop = y[b] - eta[b], y[b] - eta_prop[b]
        inner, inner_prop = min(max(r, -delta), delta), min(max(r_prop, -delta), delta)
        outer = abs(r_prop - inner_prop) - abs(r - inner)
        out[b] = precision * (0.5 * (inner_prop - inner) * (inner_prop + inner) + delta * outer)


@dataclass(frozen=True)
class Huber(ResidualFamily):
    """Linear regression with Huber's loss: quadratic for small residuals, linear for large ones.

    ``eta`` is the linear predictor ``x.theta`` of a row, plus its offset. With the residual ``r = y - eta`` and ``s =
    scale``, the energy (negative log-likelihood) of a row is ``f = r^2 / (2 s^2)`` if ``|r| <= delta s``, and ``f =
    delta |r| / s - delta^2 / 2`` otherwise.

    Parameters
    ----------
    delta : float
        The loss is linear for residuals above ``delta`` times the scale.
    scale : float or prior of a positive parameter, optional
        A number: the scale is known. A prior: the scale is unknown. By default the scale is unknown, with the default
        prior of `Gaussian`.
    """

    delta: float = 1.345
    scale: Any = None

    word = "huber"
    robust = True
    energy = _huber_energy
    rise = _huber_rise
    convex = True

    def __post_init__(self) -> None:
        settle(self, delta=moderate_number("delta", self.delta), scale=known_or_prior("scale", self.scale))

    def with_scale(self, scale: float) -> Huber:
        return Huber(self.delta, scale)

    @property
    def edge(self) -> float:
        """Return ``delta s``: the energy is linear where the absolute residual is larger than this number.

        The energy of a row is its negative log-likelihood.
        """
        return self.delta * self.scale

    @property
    def hyper(self) -> tuple[float, ...]:
        return (self.edge, self.precision)

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        r = y - eta
        inside = np.abs(r) <= self.edge
        return -self.precision * np.clip(r, -self.edge, self.edge), self.precision * inside, np.zeros_like(r)

    def suprema(self, y: np.ndarray) -> Suprema:
        """Return the suprema of ``|f'|``, ``|f''|`` and ``|f'''|`` over all ``eta``: arrays (n,).

        ``f(eta)`` is the energy (negative log-likelihood) of a row as a function of its linear predictor; ``s`` is the
        scale, and ``delta`` the parameter of the Huber loss. The suprema are ``delta / s``, ``1 / s^2`` and infinity.
        The third one is infinite because ``f''`` jumps where the residual is ``delta s`` or ``-delta s``.
        """
        return same_for_all(y, self.delta / self.scale, self.precision, np.inf)

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        """Return the suprema of ``|f'|``, ``|f''|``, ``|f'''|`` within ``radius`` of ``eta``: arrays (n,).

        ``f(eta)`` is the energy (negative log-likelihood) of a row as a function of its linear predictor. ``f'`` is
        monotone, so its supremum is at an end of the interval. If the interval contains a jump of ``f''``, the third
        supremum is infinite.
        """
        jumps = y - self.edge, y + self.edge
        return nearby(self, y, eta, radius, (), [(at, self.precision) for at in jumps], [(at, np.inf) for at in jumps])

    def second_order_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Return an array (n,) of constants ``L``, which bound Taylor remainders (docs/spec.md, section 5m).

        ``L`` is the smallest number with ``|f'(eta + z) - f'(eta) - f''(eta) z| <= L z^2 / 2`` for all ``|z| <= rho``,
        where ``rho`` is the argument ``radius``. ``f(eta)`` is the energy (negative log-likelihood) of the row, ``eta``
        its linear predictor, and ``s`` the scale. ``f''`` jumps at the edges: where the residual is ``delta s`` or
        ``-delta s``.

        Let ``k`` be the distance from ``eta`` to the closer jump of ``f''``. The constant is 0 for ``rho <= k``.

        For larger ``rho`` it is ``2 (z-k) / (s z)^2`` at ``z = min(rho, 2k)`` or, if ``eta`` is outside the edges, at
        ``z = min(rho, 2k, k + 2 delta s)``. At a jump it is infinite. The source has the proof.
        """
        # Proof. ``f'(eta+z) - f'(eta) - f''(eta) z`` is the integral of ``f''(eta + .) - f''(eta)`` from 0 to ``z``.
        #
        # *Inside the edges* this integral is ``-(|z| - k')/s^2`` beyond the jump at the distance ``k'`` on the side of
        # ``z``, and 0 before it. ``2 (z - k') / z^2`` grows up to ``z = 2k'`` and falls from there on; at every ``z``
        # it is larger for the closer of the two jumps.
        #
        # *Outside* the integral is zero on one side. On the other side it is ``(|z| - k)/s^2`` between the jumps, at
        # ``k`` and ``k + 2 delta s``, and constant beyond the second jump, where the quotient falls.
        #
        # A point within rounding error of a jump counts as a jump.
        r, wide = np.abs(y - eta), widened(eta, radius)
        rounding = 8 * np.finfo(float).eps * (np.abs(y) + np.abs(eta) + self.edge)
        k = np.maximum(np.abs(r - self.edge) - rounding, 0.0)
        z = np.minimum(wide, np.where(r > self.edge, np.minimum(2 * k, r + self.edge + rounding), 2 * k))
        beyond = (k > 0) & (wide > k)
        value = np.divide(2 * self.precision * (z - k), z * z, out=np.zeros_like(z), where=beyond)
        return np.where(k > 0, (1 + 1e-12) * value, np.inf)

    def response_distribution(self) -> ResponseDistribution:
        return HuberErrors()


class HuberErrors(ResponseDistribution):
    """The distribution of Huber's errors: normal in the middle, exponential beyond ``delta`` scales."""

    def mean(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return eta

    def variance(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return self.error_variance(p) + np.zeros_like(eta)

    def error_variance(self, p: Parameters) -> Any:
        """Return the variance of the errors.

        It is ``int t^2 e^-f(t) dt`` over the middle and over the tails, divided by their total mass, times the squared
        scale.
        """
        delta = np.asarray(p["delta"])
        middle, tails = self._masses(delta)
        end = np.exp(-0.5 * delta * delta)
        squares = middle - 2 * delta * end + 2 * end * (delta + 2 / delta + 2 / delta**3)
        return np.square(p["scale"]) * squares / (middle + tails)

    @staticmethod
    def _masses(delta: Any) -> tuple[Any, Any]:
        from scipy import special

        return np.sqrt(2 * np.pi) * (2 * special.ndtr(delta) - 1), 2 * np.exp(-0.5 * delta * delta) / delta

    def draw(self, rng: np.random.Generator, eta: np.ndarray, p: Parameters) -> np.ndarray:
        from scipy import special

        delta = np.asarray(p["delta"])
        middle, tails = self._masses(delta)
        low = special.ndtr(-delta)
        inside = special.ndtri(low + (1 - 2 * low) * rng.random(eta.shape))
        outside = np.where(rng.random(eta.shape) < 0.5, -1, 1) * (delta + rng.standard_exponential(eta.shape) / delta)
        t = np.where(rng.random(eta.shape) < middle / (middle + tails), inside, outside)
        return eta + p["scale"] * t

    def log_density(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> np.ndarray:
        delta = np.asarray(p["delta"])
        t = np.abs(y - eta) / p["scale"]
        energy = np.where(t <= delta, 0.5 * t * t, delta * t - 0.5 * delta * delta)
        return -energy - np.log(sum(self._masses(delta))) - np.log(p["scale"])

    def tails(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> tuple[np.ndarray, np.ndarray]:
        t = (y - eta) / p["scale"]
        return self._below(t, np.asarray(p["delta"])), self._below(-t, np.asarray(p["delta"]))

    def _below(self, t: np.ndarray, delta: np.ndarray) -> np.ndarray:
        """The law is symmetric: what is above ``t`` is below ``-t``."""
        from scipy import special

        middle, tails = self._masses(delta)
        low = 0.5 * tails * np.exp(-delta * np.maximum(-t - delta, 0.0))
        inside = np.sqrt(2 * np.pi) * (special.ndtr(np.clip(t, -delta, delta)) - special.ndtr(-delta))
        high = -0.5 * tails * np.expm1(-delta * np.maximum(t - delta, 0.0))
        return (low + inside + high) / (middle + tails)
