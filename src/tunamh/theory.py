"""Batch sizes, spectral gaps, and exact transition matrices of finite problems.

For a finite problem the functions compute the exact acceptance probability of every move. The tests of tunamh compare
the compiled code with these probabilities. The argument ``test`` of a function is an acceptance test, such as
``tunamh.TunaMH(chi=0.1)``; its method ``finite_acceptance`` returns the acceptance probability.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np

from .capabilities import GloballyBounded, offers

# -------------------------------------------------------------------------------------- chi, gaps and batch sizes


def chi_for_gap(kappa: float, *, paper: bool = False) -> float:
    """Return the ``chi`` that guarantees TunaMH a spectral gap of ``kappa`` times the gap of MH.

    ``chi`` is the parameter of `tunamh.TunaMH` for the batch size, and ``kappa`` is a number between 0 and 1. The
    result is ``1 / (4 log(1 / (kappa (2 - kappa))))`` (theorem C of docs/spec.md). With ``paper=True`` it is ``4 / ((1
    - kappa) log(1 / kappa))``, the formula of Zhang, Cooper and De Sa (2020).
    """
    if not 0 < kappa < 1:
        raise ValueError(f"kappa, a share of the full-data spectral gap, must lie between 0 and 1, got {kappa!r}")
    if paper:
        return 4 / ((1 - kappa) * -math.log(kappa))
    return -1 / (4 * math.log1p(-((1 - kappa) ** 2)))


def gap_for_chi(chi: float, *, paper: bool = False) -> float:
    """Return the guaranteed ratio of the spectral gap of TunaMH to the spectral gap of full-data MH.

    ``chi`` is the parameter of `tunamh.TunaMH` for the batch size. The ratio is ``1 - sqrt(1 - exp(-1 / (4 chi)))``
    (theorem C of docs/spec.md). With ``paper=True`` it is ``exp(-1/chi - 2 sqrt(log(2) / chi))``, the formula of Zhang,
    Cooper and De Sa (2020).
    """
    if paper:
        return math.exp(-1 / chi - 2 * math.sqrt(math.log(2) / chi))
    return 1 - math.sqrt(-math.expm1(-1 / (4 * chi)))


def expected_batch(chi: float, move_bound: float) -> float:
    """Return the mean batch size ``chi C^2 M^2 + C M`` of TunaMH for a move with ``move_bound = C M``.

    The mean batch size is the mean number of rows that a step draws. ``C M`` is the sum of the bounds ``c_i M`` on the
    energy differences of all rows. ``chi`` is the parameter of `tunamh.TunaMH`: a larger ``chi`` gives larger batches
    and a higher acceptance rate. The energy of a row is its negative log-likelihood.
    """
    return chi * move_bound**2 + move_bound


def least_batch(kappa: float, move_bound: float, zeta: float = 3.4e-6) -> float:
    """Return a lower bound of the mean number of rows that a step of a minibatch test must read.

    It holds for exact tests without memory whose spectral gap is at least ``kappa`` times the gap of full-data MH
    (theorem 2 of Zhang, Cooper and De Sa 2020). The bound is ``zeta kappa (C^2 M^2 + C M)``. ``move_bound = C M`` is
    the sum of the bounds on the energy differences of all rows; the energy of a row is its negative log-likelihood. The
    lemmas in the proof give at best ``zeta = 3.4e-6`` (docs/spec.md, section 4, erratum 7).
    """
    return zeta * kappa * (move_bound**2 + move_bound)


def optimal_chi(move_bound: float, *, paper: bool = False) -> float:
    """Return the ``chi`` that minimises the mean batch size of TunaMH divided by its guaranteed spectral gap.

    The guarantee is that of Zhang, Cooper and De Sa (2020), so the function minimises ``(chi C^2 M^2 + C M) exp(1/chi +
    2 sqrt(log(2) / chi))``. ``move_bound = C M`` is the sum of the bounds on the energy differences of all rows; the
    energy of a row is its negative log-likelihood. For large ``C M`` the result tends to 2.248.

    With ``paper=True`` the result is the formula of the paper, about ``1 / sqrt(C M)``. This formula is not the minimum
    (docs/spec.md, section 4, erratum 2).
    """
    if not move_bound > 0:
        raise ValueError(f"move_bound must be positive, got {move_bound!r}")
    if paper:
        return 1 / math.sqrt(move_bound)
    from scipy.optimize import brentq

    def slope(log_chi: float) -> float:
        """Return the derivative of the logarithm of the objective with respect to ``log chi``.

        It changes its sign once.
        """
        chi = math.exp(log_chi)
        return move_bound / (move_bound + 1 / chi) - 1 / chi - math.sqrt(math.log(2) / chi)

    return math.exp(brentq(slope, -500.0, 500.0, xtol=1e-15))


def effective_rows(gradients: np.ndarray, c: np.ndarray, hessian: np.ndarray, steps: np.ndarray | None = None) -> float:
    """Return the effective number of rows for the noise of a minibatch.

    It is ``N_eff = C sum_i ((g_i' V g_i) / c_i) / tr(V H)`` (docs/spec.md, section 5e), with the gradients ``g_i``, the
    bounds ``c_i``, their sum ``C``, the Hessian ``H`` and the covariance ``V`` below. The noise of the log ratio has a
    variance proportional to ``N_eff`` divided by the batch size. So if ``N_eff`` is small, small batches are enough. If
    it is about the number of rows (as for a correct model without a control variate), minibatches save almost nothing.

    Parameters
    ----------
    gradients : (N, d)
        Gradients of the rows' energies (negative log-likelihoods) at the mode.
    c : (N,)
        The bounds ``c_i`` of the rows.
    hessian : (d, d)
        Hessian of the sum of the energies at the mode.
    steps : (d, d), optional
        Covariance V of a step, up to a factor. Default: the identity.
    """
    V = np.eye(hessian.shape[0]) if steps is None else steps
    squares = np.einsum("ij,jk,ik->i", gradients, V, gradients)
    used = c > 0
    return float(c.sum() * np.sum(squares[used] / c[used]) / np.trace(V @ hessian))


# ------------------------------------------------------------------------------------------------- finite problems


@dataclass(frozen=True)
class FiniteProblem:
    """A target and a proposal on the states ``0 .. K-1``, for exact computations.

    Attributes
    ----------
    energies : (N, K)
        ``U_i(k)``, the energy (negative log-likelihood) of row ``i`` in state ``k``.
    c : (N,)
        The bounds ``c_i`` of the rows.
    distance : (K, K)
        The symmetric distance ``M(k, l)``, with ``|U_i(l) - U_i(k)| <= c_i M(k, l)``.
    proposal : (K, K)
        The probability ``q(l | k)`` to propose state ``l`` from state ``k``, in row ``k`` and column ``l``.
    log_prior : (K,)
        The log prior of each state plus, with a control variate, the Taylor part of the log posterior.
    global_bounds : pair of (N,), optional
        For `PoissonMH`: two arrays of upper bounds. The first bounds the energy of each row, the second the difference
        between the largest and the smallest energy of each row.
    """

    energies: np.ndarray
    c: np.ndarray
    distance: np.ndarray
    proposal: np.ndarray
    log_prior: np.ndarray
    global_bounds: tuple[np.ndarray, np.ndarray] | None = None

    @classmethod
    def of(cls, target: Any, points: np.ndarray, proposal: np.ndarray) -> FiniteProblem:
        """Make a finite problem whose K states are ``points``, an array (K, d) of parameter vectors.

        The compiled code of ``target`` computes the energies (negative log-likelihoods), bounds and distances at these
        points. ``proposal`` is the matrix (K, K) of proposal probabilities.
        """
        model = target.model()
        points = np.array(points, dtype=np.float64)
        states = [target.state_at(point) for point in points]
        index, n_rows = np.arange(target.n_rows), target.n_rows
        energies, rise, c = np.empty((n_rows, len(points))), np.empty(n_rows), np.empty(n_rows)
        for k, point in enumerate(points):
            for i in range(n_rows):  # one by one: blocks longer than the scratch would overflow it
                one = np.empty(1)
                model.energies(point, index[i : i + 1], 1, model.data, one)
                energies[i, k] = one[0]
        for i in range(n_rows):
            model.differences(points[0], points[-1], index, i, 1, model.data, rise[i : i + 1], c[i : i + 1])
        hyper = model.data.hyper
        return cls(
            energies,
            c,
            np.array([[model.distance(a, b, hyper) for b in states] for a in states]),
            proposal,
            np.array([model.log_prior(b, model.prior_hyper) for b in points])
            + [model.offset(states[0], b, hyper) for b in states],
            target.global_bounds() if offers(target, GloballyBounded) else None,
        )

    def posterior(self) -> np.ndarray:
        """Return the normalised posterior ``pi(k)`` of every state ``k``."""
        log_weight = self.log_prior - self.energies.sum(axis=0)
        weight = np.exp(log_weight - log_weight.max())
        return weight / weight.sum()

    def log_rho(self, here: int, there: int) -> float:
        """Return the part of the log acceptance ratio that needs no rows, for the move from ``here`` to ``there``.

        It is the logarithm of the product of the proposal ratio, the prior ratio and the Taylor part.
        """
        q = self.proposal
        return math.log(q[there, here] / q[here, there]) + self.log_prior[there] - self.log_prior[here]


def transition_matrix(problem: FiniteProblem, test: Any) -> np.ndarray:
    """Return the exact transition matrix (K, K) of a chain on the K states of ``problem``.

    The chain proposes states with ``problem.proposal`` and accepts or rejects them with ``test``. Row ``k`` is the
    distribution of the next state if the current state is ``k``.
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
    """Return the exact probability that ``test`` accepts the move from state ``here`` to state ``there``.

    ``problem`` has the states, the energies (negative log-likelihoods) of the rows in each state, and the proposal
    (`FiniteProblem`).
    """
    if problem.proposal[there, here] == 0 or problem.log_prior[there] == -np.inf:
        return 0.0
    return test.finite_acceptance(problem, here, there)


def full_acceptance(problem: FiniteProblem, here: int, there: int) -> float:
    """Return the acceptance probability of full-data MH, ``min(1, rho exp(-sum_i D_i))``.

    ``here`` and ``there`` are states of ``problem`` (`FiniteProblem`). ``D_i = U_i(there) - U_i(here)`` is the energy
    difference of row ``i``; ``rho`` is the product of the proposal ratio, the prior ratio and the Taylor part. The
    energy of a row is its negative log-likelihood.
    """
    rises = problem.energies[:, there] - problem.energies[:, here]
    return math.exp(min(0.0, problem.log_rho(here, there) - rises.sum()))


def thinned_acceptance(log_rho: float, rise: np.ndarray, bound: np.ndarray, *, beta: float, gamma: float) -> float:
    """Return the exact acceptance probability of a test that draws row ``i`` a Poisson number of times.

    It is ``E min(1, rho prod_i (lam'_i / lam_i)^{s_i})`` with ``rho = exp(log_rho)``. The Poisson count ``s_i`` has the
    rate ``lam_i``; ``lam'_i = lam_i - rise_i`` is the rate in the move back. ``rise_i`` is the energy difference of row
    ``i``, and ``bound_i = c_i M`` is the bound of ``|rise_i|``. ``beta`` is the mean batch size of the test, divided by
    the sum of all ``bound_i``. The rate ``lam_i`` is ``beta bound_i + min(0, rise_i)`` if ``gamma = 0``, and ``(beta -
    1) bound_i + max(0, rise_i)`` if ``gamma = 1``; for other ``gamma`` it is the weighted mean of these two rates, with
    the weights ``1 - gamma`` and ``gamma``. The energy of a row is its negative log-likelihood.
    """
    forward = (1 - gamma) * (beta * bound + np.minimum(0, rise)) + gamma * ((beta - 1) * bound + np.maximum(0, rise))
    if (forward < -1e-12).any() or (forward - rise < -1e-12).any():
        raise ValueError("the energy difference of a row exceeds its bound")
    return poisson_acceptance(log_rho, np.maximum(forward, 0), np.maximum(forward - rise, 0))


def poisson_acceptance(log_rho: float, forward: np.ndarray, backward: np.ndarray) -> float:
    """Return the expectation ``E min(1, rho prod_i (backward_i / forward_i)^{s_i})``.

    This is the exact acceptance probability of a test that draws row ``i`` a random number ``s_i`` of times. The counts
    ``s_i ~ Poisson(forward_i)`` are independent, and ``log_rho = log rho``. ``forward`` and ``backward`` are arrays
    with one rate for each row.

    The function writes the logarithm of ``rho prod_i (backward_i / forward_i)^{s_i}`` as ``A + B``: A comes from one
    half of the rows and B from the other half. It lists all values of A and B and computes ``E min(1, e^{A+B}) = E[P(B
    >= -A) + e^A E(e^B; B < -A)]``.
    """
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
    above = np.append(np.cumsum(np.exp(chance_b)[::-1])[::-1], 0.0)[first]
    below = np.append(0.0, np.cumsum(np.exp(chance_b + log_b)))[first]
    return float(np.sum(np.exp(chance_a) * above + np.exp(chance_a + log_a) * below))


def _compound_poisson(rates: np.ndarray, gains: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All values of ``sum_k gains_k s_k`` with ``s_k ~ Poisson(rates_k)``, and the logs of their probabilities."""
    value, log_chance = np.zeros(1), np.zeros(1)
    for rate, gain in zip(rates, gains, strict=True):
        counts = np.arange(int(rate + 12 * math.sqrt(rate) + 20))
        log_factorial = np.array([math.lgamma(count + 1) for count in counts])
        added = counts * gain if gain > -np.inf else np.where(counts == 0, 0.0, -np.inf)
        value = np.add.outer(value, added).ravel()
        log_chance = np.add.outer(log_chance, counts * math.log(rate) - rate - log_factorial).ravel()
    return value, log_chance


def subset_acceptance(problem: FiniteProblem, here: int, there: int, accepts: Callable[[np.ndarray], float]) -> float:
    """Return the mean of ``accepts(gains)`` over all orders in which the rows can be drawn.

    ``here`` and ``there`` are states of ``problem`` (`FiniteProblem`). ``gains`` are the energy differences ``U_i(here)
    The energy of a row is its negative log-likelihood.
    - U_i(there)`` of the rows in this order. ``accepts`` returns the acceptance probability of a test that draws the
    rows in this order.
    """
    gains = problem.energies[:, here] - problem.energies[:, there]
    orders = list(itertools.permutations(range(gains.size)))
    return float(np.mean([accepts(gains[list(order)]) for order in orders]))


@cache
def correction_atoms() -> tuple[np.ndarray, np.ndarray]:
    """Return a discrete distribution that turns a normal variable into a logistic one.

    The sum of a standard normal variable and a draw from this distribution has approximately a logistic distribution.
    The result is two arrays: the values (symmetric about 0) and their probabilities. They are the non-negative least
    squares fit of ``sum_j p_j Phi(x - a_j)`` to the logistic distribution function, with values ``a_j`` 0.1 apart on
    [-15, 15]. The variance of the distribution is ``pi^2/3 - 1``. `tunamh.MHMinibatch` uses it.
    """
    from scipy.optimize import nnls
    from scipy.special import expit, ndtr

    atoms = np.arange(0, 15.05, 0.1)
    x = np.arange(0, 20.05, 0.05)
    pairs = 0.5 * (ndtr(x[:, None] - atoms) + ndtr(x[:, None] + atoms))
    weight, _ = nnls(pairs, expit(x))
    used = weight > 0
    atoms, weight = atoms[used], weight[used] / weight.sum()
    both = np.concatenate([-atoms[::-1], atoms])
    chance = 0.5 * np.concatenate([weight[::-1], weight])
    return both, chance


# -------------------------------------------------------------------------------------------- laws and distances


def detailed_balance_error(transition: np.ndarray, law: np.ndarray) -> float:
    """Return how far a chain is from reversible: ``max_kl |pi(k) T(k, l) - pi(l) T(l, k)|``.

    ``T`` is the transition matrix ``transition`` (K, K), and ``pi`` is the distribution ``law`` (K,). The result is
    zero if the chain is reversible with respect to ``law``, and then ``law`` is a stationary distribution.
    """
    flow = law[:, None] * transition
    return float(np.abs(flow - flow.T).max())


def invariance_error(transition: np.ndarray, law: np.ndarray) -> float:
    """Return how far ``law`` is from a stationary distribution: ``max_l |sum_k pi(k) T(k, l) - pi(l)|``.

    ``T`` is the transition matrix ``transition`` (K, K), and ``pi`` is the distribution ``law`` (K,). The result is
    zero if ``law`` is a stationary distribution of the chain. The chain need not be reversible.
    """
    return float(np.abs(law @ transition - law).max())


def stationary_law(transition: np.ndarray) -> np.ndarray:
    """Return the stationary distribution, an array (K,), of an irreducible transition matrix (K, K).

    Row ``k`` of the matrix is the distribution of the next state if the current state is ``k``.
    """
    K = transition.shape[0]
    equations = np.vstack([transition.T - np.eye(K), np.ones(K)])
    return np.linalg.lstsq(equations, np.append(np.zeros(K), 1.0), rcond=None)[0]


def spectral_gap(transition: np.ndarray) -> float:
    """Return one minus the second largest eigenvalue of a reversible transition matrix (K, K).

    The larger the gap, the faster the chain converges to its stationary distribution.
    """
    root = np.sqrt(stationary_law(transition))
    symmetric = root[:, None] * transition / root
    return float(1 - np.sort(np.linalg.eigvalsh((symmetric + symmetric.T) / 2))[-2])


def total_variation(p: np.ndarray, q: np.ndarray) -> float:
    """Return the total variation distance of two distributions ``p`` and ``q``: half the sum of ``|p - q|``.

    If the sums of ``p`` and ``q`` differ, the result also includes half of the difference of the sums.
    """
    p, q = np.asarray(p), np.asarray(q)
    return float(0.5 * (np.abs(p - q).sum() + abs(p.sum() - q.sum())))


def walk_law(ratio: float, states: int) -> np.ndarray:
    """Return the stationary distribution of the random walk of the TunaMH paper on the states ``0 .. states - 1``.

    A test without memory accepts a move to the next higher state with the same probability ``a+`` at every state, and a
    move to the next lower state with the probability ``a-``. So the distribution is geometric with ``ratio = a+ / a-``
    (docs/spec.md, section 2.9). At the first and the last state, where the Hastings factor differs, this is an
    approximation.
    """
    law = ratio ** (np.arange(states) - (states - 1 if ratio > 1 else 0))
    return law / law.sum()
