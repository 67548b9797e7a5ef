"""What can be said before sampling: batch sizes, spectral gaps, and exact kernels on finite problems."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np


def chi_for_gap(kappa: float, *, paper: bool = False) -> float:
    """The ``chi`` that guarantees TunaMH a spectral gap of ``kappa`` times that of MH.

    ``1 / (4 log(1 / (kappa (2 - kappa))))`` (spec, theorem C), or the paper's ``4 / ((1 - kappa) log(1 / kappa))``.
    """
    if not 0 < kappa < 1:
        raise ValueError(f"kappa, a share of the full-data spectral gap, must lie between 0 and 1, got {kappa!r}")
    if paper:
        return 4 / ((1 - kappa) * -math.log(kappa))
    return -1 / (4 * math.log1p(-((1 - kappa) ** 2)))


def gap_for_chi(chi: float, *, paper: bool = False) -> float:
    """The guaranteed ratio of TunaMH's spectral gap to that of MH.

    ``1 - sqrt(1 - exp(-1 / (4 chi)))`` (theorem C), or the paper's ``exp(-1/chi - 2 sqrt(log(2) / chi))``.
    """
    if paper:
        return math.exp(-1 / chi - 2 * math.sqrt(math.log(2) / chi))
    return 1 - math.sqrt(-math.expm1(-1 / (4 * chi)))


def expected_batch(chi: float, reach: float) -> float:
    """Mean batch ``chi C^2 M^2 + C M`` of TunaMH at a move of reach ``C M``."""
    return chi * reach**2 + reach


@dataclass(frozen=True)
class FiniteProblem:
    """A target and a proposal on states ``0 .. K-1``, small enough to add up every acceptance probability.

    Attributes
    ----------
    energies : (N, K)
        ``U_i(k)``.
    c : (N,)
        Bound constants.
    distance : (K, K)
        ``M(k, l)``, symmetric, with ``|U_i(l) - U_i(k)| <= c_i M(k, l)``.
    proposal : (K, K)
        ``q(l | k)`` in row ``k``, column ``l``.
    log_prior : (K,)
    """

    energies: np.ndarray
    c: np.ndarray
    distance: np.ndarray
    proposal: np.ndarray
    log_prior: np.ndarray

    def posterior(self) -> np.ndarray:
        """``pi(k)``, normalised."""
        log_weight = self.log_prior - self.energies.sum(axis=0)
        weight = np.exp(log_weight - log_weight.max())
        return weight / weight.sum()

    def log_rho(self, here: int, there: int) -> float:
        """Deterministic log ratio of a move: proposal and prior."""
        q = self.proposal
        return math.log(q[there, here] / q[here, there]) + self.log_prior[there] - self.log_prior[here]


def transition_matrix(problem: FiniteProblem, test: Any) -> np.ndarray:
    """The exact transition matrix of a chain that proposes by ``problem.proposal`` and accepts by ``test``.

    ``test`` is `tunamh.MH` or `tunamh.TunaMH` with a number for ``chi``.
    """
    K = problem.proposal.shape[0]
    T = np.zeros((K, K))
    for here in range(K):
        for there in range(K):
            if here != there and problem.proposal[here, there] > 0:
                T[here, there] = problem.proposal[here, there] * acceptance(problem, test, here, there)
        T[here, here] = 1 - T[here].sum()
    return T


def acceptance(problem: FiniteProblem, test: Any, here: int, there: int) -> float:
    """The exact probability that ``test`` accepts the move ``here -> there``."""
    if problem.proposal[there, here] == 0:
        return 0.0
    log_rho = problem.log_rho(here, there)
    rise = problem.energies[:, there] - problem.energies[:, here]
    bound = problem.c * problem.distance[here, there]
    reach = bound.sum()
    chi = getattr(test, "chi", None)
    if chi is None or (1 + chi * reach) * reach > test.full_share * rise.size:
        return math.exp(min(0.0, log_rho - rise.sum()))
    return thinned_acceptance(log_rho, rise, bound, beta=1 + chi * reach, gamma=0.5)


def thinned_acceptance(log_rho: float, rise: np.ndarray, bound: np.ndarray, *, beta: float, gamma: float) -> float:
    """Acceptance of the Poisson-thinned kernel (spec 1), ``E min(1, rho prod_i (lam'_i / lam_i)^{s_i})``.

    The counts ``s_i ~ Poisson(lam_i)`` are independent. With ``log r = A + B``, A from one half of the rows and B from
    the other, all values of either are listed and ``E min(1, e^{A+B}) = E[P(B >= -A) + e^A E(e^B; B < -A)]``.
    """
    forward = (1 - gamma) * (beta * bound + np.minimum(0, rise)) + gamma * ((beta - 1) * bound + np.maximum(0, rise))
    if (forward < -1e-12).any() or (forward - rise < -1e-12).any():
        raise ValueError("a row exceeds its bound: its rate would be negative")
    forward, backward = np.maximum(forward, 0), np.maximum(forward - rise, 0)
    with np.errstate(divide="ignore"):
        gains = np.log(backward[forward > 0]) - np.log(forward[forward > 0])
    gains, same = np.unique(gains, return_inverse=True)  # rows of equal gain add up to one Poisson count
    rates = np.bincount(same, forward[forward > 0], minlength=gains.size)
    half = gains.size // 2
    log_a, chance_a = _compound_poisson(rates[:half], gains[:half])
    log_b, chance_b = _compound_poisson(rates[half:], gains[half:])
    order = np.argsort(log_b)
    log_b, chance_b = log_b[order], chance_b[order]
    log_a = log_a + log_rho
    first = np.searchsorted(log_b, -log_a)  # B >= -A from here on
    above = np.append(np.cumsum(chance_b[::-1])[::-1], 0.0)[first]
    below = np.append(0.0, np.cumsum(chance_b * np.exp(log_b)))[first]
    with np.errstate(invalid="ignore"):
        return float(np.sum(chance_a * (above + np.where(log_a > -np.inf, np.exp(log_a) * below, 0.0))))


def _compound_poisson(rates: np.ndarray, gains: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All values of ``sum_k gains_k s_k`` with ``s_k ~ Poisson(rates_k)``, and their probabilities."""
    value, probability = np.zeros(1), np.ones(1)
    for rate, gain in zip(rates, gains, strict=True):
        counts = np.arange(int(rate + 12 * math.sqrt(rate) + 20))
        log_factorial = np.array([math.lgamma(count + 1) for count in counts])
        chance = np.exp(counts * math.log(rate) - rate - log_factorial)
        added = counts * gain if gain > -np.inf else np.where(counts == 0, 0.0, -np.inf)
        value = np.add.outer(value, added).ravel()
        probability = np.multiply.outer(probability, chance).ravel()
    return value, probability


def detailed_balance_error(transition: np.ndarray, law: np.ndarray) -> float:
    """``max_kl |pi(k) T(k, l) - pi(l) T(l, k)|``: zero for a chain reversible with respect to ``law``."""
    flow = law[:, None] * transition
    return float(np.abs(flow - flow.T).max())


def stationary_law(transition: np.ndarray) -> np.ndarray:
    """The law that an irreducible transition matrix leaves unchanged."""
    K = transition.shape[0]
    equations = np.vstack([transition.T - np.eye(K), np.ones(K)])
    return np.linalg.lstsq(equations, np.append(np.zeros(K), 1.0), rcond=None)[0]
