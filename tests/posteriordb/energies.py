"""Models that are no regressions, as energies of one's own: all data are one row, and every step reads it.

An energy is minus the log of the whole posterior density (data, priors, and the change of variables), in coordinates
without ends: logarithms of positive numbers and of gaps, logits of shares. A Gaussian walk does the moving, and
warm-up learns the shape of its steps.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numba
import numpy as np
from scipy import optimize, special

from tunamh import MH, EnergyTarget


class Walked(NamedTuple):
    """An energy, the row it reads, where to look for its mode, and the parameters at coordinates ``(..., dim)``."""

    energy: Callable
    row: np.ndarray
    start: list[float]
    natural: Callable[[np.ndarray], dict[str, np.ndarray]]


def walked(
    energy: Callable, row: np.ndarray, start: list[float], natural: Callable[[np.ndarray], dict[str, np.ndarray]]
) -> tuple[EnergyTarget, Callable[[Any], dict[str, np.ndarray]], dict[str, Any]]:
    """Target, parameters and settings; warm-up learns the shape of the walk's steps."""
    target, mode = EnergyTarget(energy, row[None], math.inf, dim=len(start)), _mode(energy, row, start)
    settings = {"test": MH(), "init": mode, "tune": 20_000, "draws": 5_000, "thin": 10 * len(start)}
    return target, lambda draws: natural(draws["theta"].values), settings


def _mode(energy: Callable, row: np.ndarray, start: list[float]) -> np.ndarray:
    """Near enough: chains begin there, and go where they go."""
    found = np.array(start)
    for method in ("BFGS", "Nelder-Mead", "BFGS"):
        with np.errstate(all="ignore"):
            tried = optimize.minimize(energy, found, args=(row,), method=method).x
        if energy(tried, row) < energy(found, row):
            found = tried
    return found


def positive(names: list[str]) -> Callable[[np.ndarray], dict[str, np.ndarray]]:
    """All parameters by their logarithms."""
    return lambda theta: {name: np.exp(theta[..., j]) for j, name in enumerate(names)}


@numba.njit
def _expit(x):
    return 1.0 / (1.0 + math.exp(-x))


@numba.njit
def _share(x):
    """Minus the log of ``p (1 - p)``, ``x`` being the logit of ``p``: what the change of variables adds."""
    return abs(x) + 2.0 * math.log1p(math.exp(-abs(x)))


@numba.njit
def _log_share(x):
    """Minus the log of ``p``, ``x`` being its logit."""
    return max(-x, 0.0) + math.log1p(math.exp(-abs(x)))


@numba.njit
def square(x, mean, scale):
    """Of a normal law."""
    return 0.5 * ((x - mean) / scale) ** 2


# ------------------------------------------------------------------------------------------------------ time series


@numba.njit
def _arma(theta, y):
    """mu, phi, theta, log sigma. The error before the first is 0, and the value before the first is mu."""
    mu, phi, moving, sigma = theta[0], theta[1], theta[2], math.exp(theta[3])
    error = y[0] - (mu + phi * mu)
    total = error**2
    for t in range(1, y.size):
        error = y[t] - (mu + phi * y[t - 1] + moving * error)
        total += error**2
    prior = square(mu, 0.0, 10.0) + square(phi, 0.0, 2.0) + square(moving, 0.0, 2.0) + math.log1p((sigma / 2.5) ** 2)
    return 0.5 * total / sigma**2 + (y.size - 1) * theta[3] + prior


def arma(d: Any) -> Walked:
    return Walked(
        _arma,
        d.y,
        [0.0, 0.0, 0.0, 0.0],
        lambda at: {"mu": at[..., 0], "phi": at[..., 1], "theta": at[..., 2], "sigma": np.exp(at[..., 3])},
    )


@numba.njit
def _garch(theta, row):
    """mu, log alpha0, logit alpha1, logit of beta1 / (1 - alpha1); row: sigma of the first value, then all values."""
    mu, constant, past, share = theta[0], math.exp(theta[1]), _expit(theta[2]), _expit(theta[3])
    memory = share * (1.0 - past)
    variance = row[0] ** 2
    total = 0.0
    for t in range(1, row.size):
        square = (row[t] - mu) ** 2
        total += 0.5 * (math.log(variance) + square / variance)
        variance = constant + past * square + memory * variance
    return total - theta[1] - math.log(1.0 - past) + _share(theta[2]) + _share(theta[3])


def garch(d: Any) -> Walked:
    def natural(at: np.ndarray) -> dict[str, np.ndarray]:
        past = special.expit(at[..., 2])
        memory = special.expit(at[..., 3]) * (1.0 - past)
        return {"mu": at[..., 0], "alpha0": np.exp(at[..., 1]), "alpha1": past, "beta1": memory}

    return Walked(_garch, np.array([d.sigma1, *d.y]), [float(d.y.mean()), 0.0, 0.0, 0.0], natural)


# ----------------------------------------------------------------------------------------------- mixtures in order


@numba.njit
def _mixture(theta, y):
    """mu1, log(mu2 - mu1), log sigma1, log sigma2, logit of the first share."""
    first, gap = theta[0], math.exp(theta[1])
    one, two = math.exp(theta[2]), math.exp(theta[3])
    share = _expit(theta[4])
    total = 0.0
    for i in range(y.size):
        a = math.log(share) - theta[2] - square(y[i], first, one)
        b = math.log(1.0 - share) - theta[3] - square(y[i], first + gap, two)
        total -= max(a, b) + math.log1p(math.exp(-abs(a - b)))
    prior = square(first, 0.0, 2.0) + square(first + gap, 0.0, 2.0) + square(one, 0.0, 2.0) + square(two, 0.0, 2.0)
    return total + prior + 5.0 * _share(theta[4]) - theta[1] - theta[2] - theta[3]


def mixture(d: Any) -> Walked:
    def natural(at: np.ndarray) -> dict[str, np.ndarray]:
        named = {"mu[1]": at[..., 0], "mu[2]": at[..., 0] + np.exp(at[..., 1]), "theta": special.expit(at[..., 4])}
        return named | {"sigma[1]": np.exp(at[..., 2]), "sigma[2]": np.exp(at[..., 3])}

    low, high = np.quantile(d.y, [0.2, 0.8])
    return Walked(_mixture, d.y, [low, math.log(high - low), 0.0, 0.0, 0.0], natural)


# ------------------------------------------------------------------------------------------------ hidden two states


@numba.njit
def _hidden(stay, back, emitted):
    """Minus the log of the sum over all ways through two states; ``emitted``: log densities ``(n, 2)``.

    From the first state one goes to the first with probability ``stay``, from the second with ``back``. The first
    state has no law of its own.
    """
    peak = max(emitted[0, 0], emitted[0, 1])
    a, b, total = math.exp(emitted[0, 0] - peak), math.exp(emitted[0, 1] - peak), peak
    for t in range(1, len(emitted)):
        peak = max(emitted[t, 0], emitted[t, 1])
        one = (a * stay + b * back) * math.exp(emitted[t, 0] - peak)
        two = (a * (1.0 - stay) + b * (1.0 - back)) * math.exp(emitted[t, 1] - peak)
        a, b = one / (one + two), two / (one + two)
        total += peak + math.log(one + two)
    return -total - math.log(a + b)


@numba.njit
def _two_means(theta, y):
    """logit stay, logit back, log mu1, log(mu2 - mu1)."""
    first = math.exp(theta[2])
    second = first + math.exp(theta[3])
    emitted = np.empty((y.size, 2))
    for t in range(y.size):
        emitted[t, 0], emitted[t, 1] = -square(y[t], first, 1.0), -square(y[t], second, 1.0)
    prior = square(first, 3.0, 1.0) + square(second, 10.0, 1.0)
    change = _share(theta[0]) + _share(theta[1]) - theta[2] - theta[3]
    return _hidden(_expit(theta[0]), _expit(theta[1]), emitted) + prior + change


def _chances(at: np.ndarray) -> dict[str, np.ndarray]:
    stay, back = special.expit(at[..., 0]), special.expit(at[..., 1])
    return {"theta1[1]": stay, "theta1[2]": 1.0 - stay, "theta2[1]": back, "theta2[2]": 1.0 - back}


def two_means(d: Any) -> Walked:
    def natural(at: np.ndarray) -> dict[str, np.ndarray]:
        first = np.exp(at[..., 2])
        return _chances(at) | {"mu[1]": first, "mu[2]": first + np.exp(at[..., 3])}

    return Walked(_two_means, d.y, [1.0, -1.0, math.log(3.0), math.log(7.0)], natural)


@numba.njit
def _drive(theta, row):
    """logit stay, logit back, then for speed and distance: the first number and the log of the gap to the second.

    Row: whether the numbers are rates of exponential laws (else means of normal ones), the two scales of the normal
    laws, the four numbers of the Dirichlet priors, speeds, distances. Rates are positive: walked by logarithms.
    """
    rates, n = row[0] > 0.0, (row.size - 7) // 2
    emitted = np.zeros((n, 2))
    prior = row[3] * _log_share(theta[0]) + row[4] * _log_share(-theta[0])
    prior += row[5] * _log_share(theta[1]) + row[6] * _log_share(-theta[1])
    for j in range(2):
        first = math.exp(theta[2 + 2 * j]) if rates else theta[2 + 2 * j]
        second = first + math.exp(theta[3 + 2 * j])
        prior += square(first, 0.0, 1.0) + square(second, 3.0, 1.0) - theta[3 + 2 * j]
        if rates:
            prior -= theta[2 + 2 * j]
        for t in range(n):
            seen = row[7 + j * n + t]
            for k, at in enumerate((first, second)):
                emitted[t, k] += math.log(at) - at * seen if rates else -square(seen, at, row[1 + j])
    return _hidden(_expit(theta[0]), _expit(theta[1]), emitted) + prior


def drive(d: Any, rates: bool) -> Walked:
    def natural(at: np.ndarray) -> dict[str, np.ndarray]:
        named = _chances(at)
        for j, name in ((2, "phi"), (4, "lambda")):
            first = np.exp(at[..., j]) if rates else at[..., j]
            named |= {f"{name}[1]": first, f"{name}[2]": first + np.exp(at[..., j + 1])}
        return named

    scales = [1.0, 1.0] if rates else [float(d.tau), float(d.rho)]
    row = np.array([float(rates), *scales, *d.alpha.ravel(), *d.u, *d.v])
    ends = [[0.0, 1.6]] * 2 if rates else [np.quantile(seen, [0.1, 0.9]) for seen in (d.u, d.v)]
    start = [number for low, high in ends for number in (low, math.log(high - low))]
    return Walked(_drive, row, [1.0, -1.0, *start], natural)


ENERGIES: dict[str, Callable[[Any], Walked]] = {
    "arma11": arma,
    "garch11": garch,
    "low_dim_gauss_mix": mixture,
    "hmm_example": two_means,
    "hmm_drive_0": lambda d: drive(d, rates=True),
    "hmm_drive_1": lambda d: drive(d, rates=False),
}
