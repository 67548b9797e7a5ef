"""The posterior beside a law of proposals: ``log p - log q`` at draws of either (docs/spec-evidence.md 4, 5).

A point is ``(h, x)``: the unknown scales, and all else but the effects of the factor that is integrated out.
``q(h)`` is learned from draws. Given ``h``, ``z = S(h)^(1/2)' (x - m(h))`` would be standard normal if rows and priors
were Gaussian. Its mean and its variances are learned from draws as well: those of the common parameters together, those
of effects one by one.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from scipy.linalg import solve_triangular

from ..groups.sums import Point
from .effects_inside import CAUCHY, LOGISTIC, NORMAL, EffectsInside
from .given_scales import Given, GivenScales, inside_of
from .joint import Joint, State
from .kernel_law import KernelLaw
from .lattice import sizes

_LEARNED = 500  # draws
_SHRUNK = 5.0  # draws for each parameter, beside which its covariance is worth nothing
_PILOTS, _SHIFTS = 3, 8
_QUIET, _NONE = 0.03, 1e-9  # of the variance of log weights by the integrals; of Gaussian rows there is none
_ROOT = 0.5 * np.log(2 * np.pi)


class Weights:
    """A law of proposals, and ``log w`` at draws. ``states`` are draws of the posterior from which the law is made."""

    def __init__(self, joint: Joint, states: list[State], rng: np.random.Generator):
        self.joint = joint
        common = np.mean([one.common for one in states], axis=0)
        effects = [np.mean(each, axis=0) for each in zip(*(one.effects for one in states), strict=True)]
        joint.settle(common)
        self.inside = inside_of(joint.groupings)
        self.given = GivenScales(joint.rows, joint.scales, joint.fixed, Point(common, effects), self.inside)
        self.effects = EffectsInside(joint.rows, self.inside) if self.inside >= 0 else None
        self.law = KernelLaw(np.array([joint.in_vector(one) for one in states]).reshape(len(states), joint.count))
        self._learn(states[:: max(1, len(states) // _LEARNED)])
        if self.effects is not None:
            self._choose(states[:: max(1, len(states) // _PILOTS)][:_PILOTS], rng)

    def _learn(self, states: list[State]) -> None:
        p = self.joint.rows.p
        z = np.array([self._whitened(one)[1] for one in states])
        self.mean, deviations = z.mean(axis=0), z.std(axis=0)
        trust = len(z) / (len(z) + _SHRUNK * p)
        self.root = np.diag(np.sqrt(trust * deviations**2 + 1 - trust))
        own = np.atleast_2d(np.cov(z[:, -p:], rowvar=False))
        self.root[-p:, -p:] = np.linalg.cholesky(trust * own + (1 - trust) * np.eye(p))
        self.volume = float(np.log(np.diag(self.root)).sum()) + self.given.size * _ROOT

    def _choose(self, states: list[State], rng: np.random.Generator) -> None:
        """The cheapest integrals whose noise does not matter, and else the best ones."""
        effects: Any = self.effects
        effects.law, effects.size, effects.curvature = NORMAL, 1, self.given.own_curvature
        if not effects.one.df and max(self._noise(one, rng) for one in states) < _NONE:
            return
        effects.curvature = None
        effects.law, best, least = CAUCHY if effects.one.df else LOGISTIC, 0, np.inf
        for size in sizes(effects.one.q):
            effects.size = size
            noise = max(self._noise(one, rng) for one in states)
            if noise < least:
                best, least = size, noise
            if noise < _QUIET:
                break
        effects.size = best

    def _noise(self, state: State, rng: np.random.Generator) -> float:
        effects: Any = self.effects
        given, x = self._given(state)
        eta = effects.predictors(state.common, state.effects)
        centred = effects.centred(eta, self.given.middle_of(given, x), given.precision)
        shape = effects.one.groups, effects.one.q
        each = [effects.log_integrals(eta, state.lam[self.inside], centred, rng.random(shape)) for _ in range(_SHIFTS)]
        return float(np.var(np.array(each), axis=0).sum())

    @property
    def passes(self) -> float:
        """Return how many times one proposal reads every row."""
        return 1.0 if self.effects is None else (self.effects.size + 2.0 * (self.effects.curvature is None))

    # -------------------------------------------------------------------------------------------------- points (h, x)

    @property
    def centre(self) -> np.ndarray:
        """Return the point at the centre of the law."""
        h = self.law.centre
        return np.concatenate([h, self._placed(h, self.mean)[1]])

    def draws(self, n: int, rng: np.random.Generator) -> np.ndarray:
        """Return ``n`` draws from the law, an array (n, d)."""
        return np.array([np.concatenate([h, self._placed(h, z)[1]]) for h, z in self._drawn(n, rng)])

    def log_density(self, points: np.ndarray) -> np.ndarray:
        return np.array([self._log_q(self.joint.in_vector(one), *self._whitened(one)) for one in self.states(points)])

    def states(self, points: np.ndarray) -> list[State]:
        return [self._state(*np.split(point, [self.joint.count])) for point in points]

    def _drawn(self, n: int, rng: np.random.Generator) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """``n`` pairs ``(h, z)``."""
        h = self.law.draws(n, rng)
        return zip(h, self.mean + rng.standard_normal((n, self.given.size)) @ self.root.T, strict=True)

    def _placed(self, h: np.ndarray, z: np.ndarray) -> tuple[Given, np.ndarray]:
        """The law given ``h``, and ``x``."""
        given = self.given.at(*self.joint.from_vector(h, self.given.point.common))
        return given, given.mean + solve_triangular(given.root, z, lower=True, trans="T")

    def _state(self, h: np.ndarray, x: np.ndarray) -> State:
        common = x[-self.joint.rows.p :]
        return State(common, *self.joint.from_vector(h, common), self.given.effects_of(x))

    # ------------------------------------------------------------------------------------------------------ weights

    def _given(self, state: State) -> tuple[Given, np.ndarray]:
        lam = [
            self.joint.known(self.given.point.common) if one.known is not None else lam
            for one, lam in zip(self.joint.groupings, state.lam, strict=True)
        ]
        return self.given.at(lam, state.mu), self.given.outside_of(state.common, state.effects)

    def _whitened(self, state: State) -> tuple[Given, np.ndarray]:
        given, x = self._given(state)
        return given, given.root.T @ (x - given.mean)

    def _log_q(self, h: np.ndarray, given: Given, z: np.ndarray) -> float:
        standard = solve_triangular(self.root, z - self.mean, lower=True)
        volume = float(np.log(np.diag(given.root)).sum())
        return float(self.law.log_density(h[None])[0]) - 0.5 * float(standard @ standard) - self.volume + volume

    def _log_p(self, state: State, given: Given, x: np.ndarray, places: np.ndarray | None) -> float:
        """``places``: of the effects inside; None where these are the state's own."""
        if self.effects is None:
            return self.joint.log_density(state)
        prior = self.joint.log_prior(state, without=self.inside)
        if not prior > -np.inf:
            return -np.inf
        eta, lam = self.effects.predictors(state.common, state.effects), state.lam[self.inside]
        centred = self.effects.centred(eta, self.given.middle_of(given, x), given.precision)
        if places is None:
            places = self.effects.places(state.effects[self.inside], *centred)
        value = prior + float(self.effects.log_integrals(eta, lam, centred, places).sum())
        return value if np.isfinite(value) else -np.inf

    def at_draw(self, state: State) -> float:
        """Return ``log w`` at a draw of the posterior."""
        given, x = self._given(state)
        z = given.root.T @ (x - given.mean)
        return self._log_p(state, given, x, None) - self._log_q(self.joint.in_vector(state), given, z)

    def at_proposal(self, rng: np.random.Generator) -> float:
        """Return ``log w`` at a draw of the law."""
        ((h, z),) = self._drawn(1, rng)
        given, x = self._placed(h, z)
        places = None if self.effects is None else rng.random((self.effects.one.groups, self.effects.one.q))
        return self._log_p(self._state(h, x), given, x, places) - self._log_q(h, given, z)
