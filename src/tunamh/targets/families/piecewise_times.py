"""Times whose hazard is constant between cuts: survival, density, quantiles, moments."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .responses import Parameters, ResponseDistribution


class Tables(NamedTuple):
    """Tables for piecewise constant hazards.

    They are the hazards (draws, strata x pieces), the cumulative hazards at the beginning of each piece, and where the
    pieces of each row's stratum begin.
    """

    hazard: np.ndarray
    before: np.ndarray
    stratum: np.ndarray


class PiecewiseTimes(ResponseDistribution):
    """The distribution of `PiecewiseExponential`: ``P(T > t) = exp(-e^eta H(t))``.

    ``H`` is the integral of the hazard, which is ``e^{a_j}`` for ``cuts[j] < t <= cuts[j + 1]``. The last piece has no
    end. ``p["log_hazard"]`` are the ``a_j``, stratum by stratum, and ``p["stratum"]`` is the number of each row's
    stratum (if it is missing, the first).
    """

    def __init__(self, inner: tuple[float, ...]):
        self.inner = np.asarray(inner, dtype=np.float64)
        self.left = np.concatenate([[0.0], self.inner])
        self.wide = np.append(np.diff(self.left), np.inf)

    def _tables(self, eta: np.ndarray, p: Parameters) -> Tables:
        hazard = np.exp(np.asarray(p["log_hazard"], dtype=np.float64))
        hazard = hazard.reshape(len(hazard), -1)
        by_piece = hazard.reshape(len(hazard), -1, len(self.left))
        sums = np.cumsum(by_piece[:, :, :-1] * self.wide[:-1], axis=2)
        before = np.concatenate([np.zeros((*by_piece.shape[:2], 1)), sums], axis=2).reshape(hazard.shape)
        stratum = p.get("stratum")
        found = np.broadcast_to(np.asarray(0 if stratum is None else stratum, dtype=np.int64), eta.shape[1:])
        return Tables(hazard, before, len(self.left) * found)

    def _at(self, t: np.ndarray, of: Tables) -> tuple[np.ndarray, np.ndarray]:
        """Hazard and cumulative hazard at times, of ``eta = 0``."""
        piece = np.searchsorted(self.inner, t, side="left")
        at = of.stratum + piece
        return of.hazard[:, at], of.before[:, at] + (t - self.left[piece]) * of.hazard[:, at]

    def log_tail(self, y: np.ndarray, eta: np.ndarray, p: Parameters, *, above: bool) -> np.ndarray:
        later = -np.exp(eta) * self._at(y, self._tables(eta, p))[1]
        return later if above else np.log(-np.expm1(later))

    def tails(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> tuple[np.ndarray, np.ndarray]:
        return self.both_tails(y, eta, p)

    def log_hazard(self, t: np.ndarray, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return eta + np.log(self._at(t, self._tables(eta, p))[0])

    def log_density(self, y: np.ndarray, eta: np.ndarray, p: Parameters) -> np.ndarray:
        hazard, total = self._at(y, self._tables(eta, p))
        return eta + np.log(hazard) - np.exp(eta) * total

    def _inverse(self, total: np.ndarray, of: Tables) -> np.ndarray:
        """The times at which the cumulative hazard of ``eta = 0`` reaches ``total`` (draws, rows)."""
        piece = np.zeros(total.shape, np.int64)
        for j in range(1, len(self.left)):
            piece += of.before[:, of.stratum + j] <= total
        at = of.stratum + piece
        before = np.take_along_axis(of.before, at, axis=1)
        return self.left[piece] + (total - before) / np.take_along_axis(of.hazard, at, axis=1)

    def quantile(self, q: float, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return self._inverse(-np.log1p(-q) * np.exp(-eta), self._tables(eta, p))

    def draw(self, rng: np.random.Generator, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return self._inverse(rng.standard_exponential(eta.shape) * np.exp(-eta), self._tables(eta, p))

    def _moments(self, eta: np.ndarray, p: Parameters) -> tuple[np.ndarray, np.ndarray]:
        """``E T`` and ``E T^2``: the integrals of ``S(t)`` and of ``2 t S(t)``, piece by piece.

        With the rate ``r`` of a piece of width ``w`` that begins at ``l``, ``int_0^w e^{-ru} du = (1 - e^{-rw}) / r``
        and ``int_0^w u e^{-ru} du = (1 - e^{-rw} (1 + rw)) / r^2``.
        """
        of, first, second = self._tables(eta, p), np.zeros(eta.shape), np.zeros(eta.shape)
        for j, (low, wide) in enumerate(zip(self.left, self.wide, strict=True)):
            rate = np.exp(eta) * of.hazard[:, of.stratum + j]
            alive = np.exp(-np.exp(eta) * of.before[:, of.stratum + j])
            spent = rate * wide
            inside = -np.expm1(-spent) / rate
            moment = (1.0 if np.isinf(wide) else -np.expm1(-spent) - spent * np.exp(-spent)) / rate**2
            first += alive * inside
            second += 2 * alive * (low * inside + moment)
        return first, second

    def mean(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        return self._moments(eta, p)[0]

    def variance(self, eta: np.ndarray, p: Parameters) -> np.ndarray:
        first, second = self._moments(eta, p)
        return second - first**2
