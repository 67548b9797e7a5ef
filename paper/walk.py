"""Figure 1a, 1b and the appendix's densities: four tests on a walk whose law is uniform.

All tests here are stateless and the walk looks the same everywhere, so a move up is accepted with a probability ``a+``
and a move down with ``a-`` whatever the state: the stationary law is geometric, with one other factor at each end,
where the Hastings ratio of 1/2 or 2 enters. The two values of x make ``a+`` and ``a-`` computable: what matters of a
subset is how many of its rows have the second value, a hypergeometric chain.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any, NamedTuple

import numpy as np

import tunamh
from tunamh import MH, AustereMH, MHMinibatch, TunaMH, theory

from . import settings
from .runs import Report, timed_run

METHODS: dict[str, Any] = {
    "MH": MH(),
    "TunaMH": TunaMH(chi=settings.WALK_CHI),
    "AustereMH": AustereMH(settings.AUSTERE_EPSILON, settings.WALK_BATCH),
    "MHminibatch": MHMinibatch(settings.WALK_BATCH, settings.MINIBATCH_DELTA),
}
LOG_U_POINTS = 500  # at which AustereMH's uniform variable is looked at
NEGLIGIBLE = 1e-14  # probability of a subset below which it is no longer followed
(LOW, N_LOW), (HIGH, N_HIGH) = settings.WALK_VALUES.items()
N_ROWS = N_LOW + N_HIGH


def walk_rows() -> np.ndarray:
    return np.repeat([LOW, HIGH], [N_LOW, N_HIGH])


class Acceptance(NamedTuple):
    """Probability that a test accepts, and the rows it reads on average."""

    chance: float
    rows: float


@cache
def growth(seen: int, added: int) -> np.ndarray:
    """``P[j, i]``: chance of i high rows among the next ``added``, with j high rows among the ``seen`` ones."""
    from scipy.special import gammaln

    def log_choose(n: np.ndarray, k: np.ndarray) -> np.ndarray:
        possible = (k >= 0) & (k <= n) & (n >= 0)
        n, k = np.where(possible, n, 0), np.where(possible, k, 0)
        return np.where(possible, gammaln(n + 1) - gammaln(k + 1) - gammaln(n - k + 1), -np.inf)

    high = np.arange(min(seen, N_HIGH) + 1)[:, None]
    new = np.arange(added + 1)[None, :]
    left, left_high = np.array(N_ROWS - seen), N_HIGH - high
    ways = log_choose(left_high, new) + log_choose(left - left_high, added - new)
    return np.exp(ways - log_choose(left, np.array(added)))


def grow(mass: np.ndarray, seen: int, added: int) -> np.ndarray:
    """The law of the number of high rows (last axis) after ``added`` more rows."""
    chances = growth(seen, added)
    grown = np.zeros((*mass.shape[:-1], min(seen + added, N_HIGH) + 1))
    occupied = np.flatnonzero(mass.reshape(-1, mass.shape[-1]).max(axis=0) > NEGLIGIBLE)
    first, last = occupied[0], occupied[-1] + 1
    for new in range(added + 1):
        to = min(last, grown.shape[-1] - new)
        if to > first:
            grown[..., first + new : to + new] += mass[..., first:to] * chances[first:to, new]
    return grown


def moments(seen: int, up: bool) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of the gains ``U_i(theta) - U_i(prop)`` of a subset, by its number of high rows."""
    high = np.arange(min(seen, N_HIGH) + 1)
    mean = (-1 if up else 1) * ((seen - high) * LOW + high * HIGH) / seen / N_ROWS
    share = high / seen
    variance = share * (1 - share) * seen / (seen - 1) * ((HIGH - LOW) / N_ROWS) ** 2
    return mean, np.maximum(variance, 0.0)


def austere(test: AustereMH, *, up: bool, log_rho: float) -> Acceptance:
    """By the law of the subset's composition for each of many values of u."""
    u = (np.arange(LOG_U_POINTS) + 0.5) / LOG_U_POINTS
    threshold = ((np.log(u) - log_rho) / N_ROWS)[:, None]
    mass = np.ones((LOG_U_POINTS, 1))
    chance = rows = 0.0
    quantiles = test.quantiles(N_ROWS)
    for stage, seen in enumerate(range(test.batch, N_ROWS + 1, test.batch)):
        mass = grow(mass, seen - test.batch, test.batch)
        mean, variance = moments(seen, up)
        error = np.sqrt(variance / seen * (1 - (seen - 1) / (N_ROWS - 1)))
        decided = np.abs(mean - threshold) > (quantiles[stage] * error if seen < N_ROWS else -1.0)
        chance += float((mass * (decided & (mean > threshold))).sum())
        rows += seen * float((mass * decided).sum())
        mass = np.where(decided, 0.0, mass)
        open_still = mass.sum(axis=1) > 100 * NEGLIGIBLE
        mass, threshold = mass[open_still], threshold[open_still]
        if not len(mass):
            break
    return Acceptance(chance / LOG_U_POINTS, rows / LOG_U_POINTS)


def barker(test: MHMinibatch, *, up: bool, log_rho: float) -> Acceptance:
    """By the law of the subset's composition; given a subset, acceptance is a sum over the correction's atoms."""
    from scipy.special import ndtr

    atoms, weights = theory.correction_atoms()
    mass, chance, rows = np.ones(1), 0.0, 0.0
    for seen in range(test.batch, N_ROWS + 1, test.batch):
        mass = grow(mass, seen - test.batch, test.batch)
        mean, variance = moments(seen, up)
        noise = N_ROWS**2 * variance / seen if seen < N_ROWS else np.zeros_like(mean)
        decided = (noise < 1) & settled(test, seen) | (seen == N_ROWS)
        spread = np.sqrt(1 - np.where(decided, noise, 0.0))[:, None]
        accepts = ndtr(((N_ROWS * mean + log_rho)[:, None] + atoms) / spread) @ weights
        chance += float((mass * decided) @ accepts)
        rows += seen * float((mass * decided).sum())
        mass = np.where(decided, 0.0, mass)
        if mass.sum() < NEGLIGIBLE:
            break
    return Acceptance(chance, rows)


def settled(test: MHMinibatch, seen: int) -> np.ndarray:
    """Whether ``(6.4 E|X|^3 + 2 E|X|) / sqrt(n) <= delta``, by the number of high rows; a subset without spread is."""
    mean, variance = moments(seen, up=False)
    share = np.arange(len(mean)) / seen
    deviation = np.sqrt(np.where(variance > 0, variance, np.inf))
    to_low, to_high = (np.abs(x / N_ROWS - mean) / deviation for x in (LOW, HIGH))
    third = (1 - share) * to_low**3 + share * to_high**3
    first = (1 - share) * to_low + share * to_high
    return (6.4 * third + 2 * first) / math.sqrt(seen) <= test.delta


def accepts(test: Any, *, up: bool, log_rho: float = 0.0) -> Acceptance:
    """The exact probability of accepting a move up or down, and the mean number of rows read for it."""
    if isinstance(test, AustereMH):
        return austere(test, up=up, log_rho=log_rho)
    if isinstance(test, MHMinibatch):
        return barker(test, up=up, log_rho=log_rho)
    x = walk_rows() / N_ROWS
    if isinstance(test, MH):
        return Acceptance(math.exp(min(0.0, log_rho)), N_ROWS)
    reach = np.abs(x).sum()
    thinning = test.thinning(N_ROWS)
    beta = thinning.mean_batch(reach) / reach
    rise = x if up else -x
    chance = theory.thinned_acceptance(log_rho, rise, np.abs(x), beta=beta, gamma=thinning.gamma)
    return Acceptance(chance, beta * reach)


def exact_law(test: Any, states: int) -> np.ndarray:
    """The stationary law: ``pi(k+1) / pi(k) = q(k, k+1) a+ / (q(k+1, k) a-)``, ends included."""

    def log_chance(up: bool, log_rho: float) -> float:
        return math.log(_accepts_cached(test, up, log_rho).chance)

    log_ratio = np.full(states - 1, log_chance(True, 0.0) - log_chance(False, 0.0))
    log_2 = math.log(2.0)
    log_ratio[0] = log_2 + log_chance(True, -log_2) - log_chance(False, log_2)
    log_ratio[-1] = -log_2 + log_chance(True, log_2) - log_chance(False, -log_2)
    log_law = np.append(0.0, np.cumsum(log_ratio))
    law = np.exp(log_law - log_law.max())
    return law / law.sum()


@cache
def _accepts_cached(test: Any, up: bool, log_rho: float) -> Acceptance:
    return accepts(test, up=up, log_rho=log_rho)


def simulated(test: Any, states: int, seconds: float) -> dict[str, Any]:
    target = tunamh.FiniteWalk(walk_rows(), states=states)
    run = timed_run(target, test, scale=None, seconds=seconds, start=[float(states // 2)], keep=100_000)
    law = np.bincount(run.theta[:, 0].astype(int), minlength=states) / len(run.theta)
    uniform = np.full(states, 1 / states)
    return {"law": law.tolist(), "tv": theory.total_variation(law, uniform), **run.summary()}


def measure(states: tuple[int, ...], simulate: tuple[int, ...], seconds: float, report: Report) -> dict[str, Any]:
    """Exact and simulated laws of all methods for each number of states."""
    result: dict[str, Any] = {"methods": {}, "states": list(states)}
    for k, (name, test) in enumerate(METHODS.items()):
        report(k / len(METHODS), f"walk, {name}")
        up, down = (_accepts_cached(test, way, 0.0) for way in (True, False))
        entry: dict[str, Any] = {
            "accept_up": up.chance,
            "accept_down": down.chance,
            "ratio": up.chance / down.chance,
            "rows_per_move": 0.5 * (up.rows + down.rows),
            "exact": bool(test.exact),
            "tv": {},
            "law": {},
            "simulated": {},
        }
        for K in states:
            law = exact_law(test, K)
            entry["tv"][str(K)] = theory.total_variation(law, np.full(K, 1 / K))
            entry["law"][str(K)] = law[np.linspace(0, K - 1, min(K, 400)).astype(int)].tolist()
        for K in simulate:
            entry["simulated"][str(K)] = simulated(test, K, seconds)
        result["methods"][name] = entry
    return result


def advised() -> dict[str, Any]:
    """The inexact tests with batches like those of their own papers."""
    austere_rows, barker_rows = settings.ADVISED_BATCH.values()
    tests: dict[str, Any] = {
        f"AustereMH, m = {austere_rows}": AustereMH(settings.AUSTERE_EPSILON, austere_rows),
        f"MHminibatch, m = {barker_rows}": MHMinibatch(barker_rows, settings.MINIBATCH_DELTA),
    }
    result = {}
    for name, test in tests.items():
        K = settings.WALK_STATES[0]
        law = exact_law(test, K)
        result[name] = {
            "ratio": _accepts_cached(test, True, 0.0).chance / _accepts_cached(test, False, 0.0).chance,
            "tv": theory.total_variation(law, np.full(K, 1 / K)),
        }
    return result
