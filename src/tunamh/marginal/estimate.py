"""The log marginal likelihood from acceptance probabilities (docs/spec-evidence.md).

With an independence proposal ``q``, detailed balance reads ``pi(x) q(y) a(x -> y) = pi(y) q(x) a(y -> x)``. At a fixed
point ``x = t``, integrated over ``y``,

    pi(t) = q(t) E_pi[a(y -> t)] / E_q[a(t -> y)],        log Z = log p(y | t) + log p(t) - log pi(t).

Both means are of numbers between 0 and 1. ``a`` may be that of any test that keeps detailed balance for ``q``; draws of
``pi`` may come from any chain.
"""

from __future__ import annotations

from typing import Any, NamedTuple, Protocol

import numpy as np

from ..errors import NotApplicable
from .pairs import Decided

_BATCHES = 20  # per chain, by whose means the Monte Carlo error is estimated
_POINTS_AT_ONCE = 64


class Decides(Protocol):
    """An object that decides on moves between states."""

    def decide(self, here: np.ndarray, there: np.ndarray, log_q: np.ndarray) -> Decided: ...


class Law(Protocol):
    """An object from which proposals are drawn; they do not depend on the state."""

    @property
    def centre(self) -> np.ndarray: ...

    def draws(self, n: int, rng: np.random.Generator) -> np.ndarray: ...

    def log_density(self, points: np.ndarray) -> np.ndarray: ...


class AllRows:
    """Decides on moves from all rows, for targets without bounds."""

    def __init__(self, target: Any):
        self.target = target

    def decide(self, here: np.ndarray, there: np.ndarray, log_q: np.ndarray) -> Decided:
        rise = self._energies(there) - self._energies(here)
        accepted = np.exp(np.minimum(0.0, log_q - rise))
        return Decided(accepted, np.full(len(here), float(self.target.n_rows)))

    def _energies(self, points: np.ndarray) -> np.ndarray:
        different, back = np.unique(points, axis=0, return_inverse=True)
        parts = [
            self.target.energies_at(different[first : first + _POINTS_AT_ONCE])
            for first in range(0, len(different), _POINTS_AT_ONCE)
        ]
        return np.concatenate(parts)[back.ravel()]


class Ordinate(NamedTuple):
    """The estimate ``log pi(t)`` with its standard error, the acceptance probabilities and the rows per move."""

    log_density: float
    se: float
    acceptance: tuple[float, float]
    rows: float


def posterior_ordinate(
    draws: np.ndarray, law: Law, test: Decides, proposals: int, rng: np.random.Generator
) -> Ordinate:
    """Return the posterior ordinate at the centre of the law.

    ``draws`` are draws of the posterior (chain, draw, parameter) in the coordinates of chains.
    """
    point, (chains, kept, d) = law.centre, draws.shape
    every = max(1, chains * kept // proposals)
    some = draws[:, ::every].reshape(-1, d)
    there = np.broadcast_to(point, some.shape)
    at = float(law.log_density(point[None])[0])
    to_point = test.decide(some, there, law.log_density(some) - at)
    proposed = law.draws(proposals, rng)
    from_point = test.decide(np.broadcast_to(point, proposed.shape), proposed, at - law.log_density(proposed))
    back, forth = float(to_point.accepted.mean()), float(from_point.accepted.mean())
    if not min(back, forth) > 0:
        raise NotApplicable(
            "no proposal was accepted, so this posterior is too far from normal for this estimate of the "
            "evidence: use fewer columns, or a prior that is closer to normal."
        )
    errors = error_of_chains(to_point.accepted.reshape(chains, -1)), from_point.accepted.std() / np.sqrt(proposals)
    se = float(np.hypot(errors[0] / back, errors[1] / forth))
    rows = float(np.concatenate([to_point.rows, from_point.rows]).mean())
    return Ordinate(at + float(np.log(back) - np.log(forth)), se, (back, forth), rows)


def error_of_chains(values: np.ndarray) -> float:
    """Return the standard error of the mean of ``values`` (chain, draw), from the means of batches.

    The values may be autocorrelated.
    """
    chains, n = values.shape
    batches = max(1, min(_BATCHES, n // 10))
    length = n // batches
    means = values[:, : batches * length].reshape(chains * batches, length).mean(axis=1)
    if len(means) < 2:
        return float(values.std() / np.sqrt(values.size))
    return float(means.std(ddof=1) / np.sqrt(len(means)))
