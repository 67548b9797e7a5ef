"""The law of common parameters and scales, learned from the groups (spec 5q).

Laplace's approximation is wrong by a little for every group with few rows. The errors of all groups add up, while the
posterior of ``theta = (b, lambda)`` narrows: with G groups its mean is off by a number of standard deviations that
grows like ``sqrt(G)`` (logistic, 10^4 groups of 3 rows: 11). Fisher's identity has no such error:

    gradient of -log p(theta | y)  =  E [ gradient of E(theta, eps) | theta ].

So the effects are moved at a fixed ``theta`` (kernel (B) alone), the gradients at some of these states are averaged,
and Newton's steps lead to the mode of the true marginal law. There ``E(theta, eps)`` has the mean Hessian ``A``, and
the covariance of the gradients is what ``eps`` says of ``theta``: the marginal precision is ``A - Cov`` (Louis 1982).
(A) then draws from this Gaussian law. Its mean does not follow ``eps``; beside other factors it follows their effects
by ``J0``, the gradient at the centre of the quadratic with this factor's effects integrated out:

    mean  =  theta* - A^-1 (J0(others) - mean of J0).

All of this is done once, with fixed random numbers, before the first step of a chain. Any law leaves (A) exact.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from ..chains.loop import ChainState, advance, setup_of
from ..errors import NonFiniteEnergy
from ..process.stages import announce
from ..rows.packing import HeldRows
from ..rows.supply import open_stream
from .centre import Centre
from .common_gaussian import STEP
from .layout import SCALE_TABLE
from .quadratic import convex_factors, inverses, log_determinants, positive, precision_at, roots, solved
from .scale_table import WIDE
from .sums import DataSums, Point
from .sweep import EFFECTS_ALONE, Sweep

_LEAST_GROUPS = 100  # of a factor, below which its scales may be uncertain
_MOST_STEPS, _FIRST_SWEEPS, _SWEEPS = 6, 8, 3
_GRADIENTS, _LAST_GRADIENTS = 4, 12  # at states that are averaged over, on the way and at its end
_HESSIANS = 1  # a sum over all groups, so that one state says it well
_CLOSE = 0.5  # of a step, in standard deviations: about the noise of so few gradients
_LONGEST = 0.5  # of a step in log scales
_MODE_STEPS = 3  # of the effects, which are near their modes
_TRIALS, _TRIALS_OF_FEW = 40, 200  # sweeps that compare two laws; where few of the moves draw from them
_WIDER = 1.3  # standard deviation of uncertain scales: the tails of their laws are long
_MOST_TOLD = 0.5  # share of the precision that eps may take away


class Packed(NamedTuple):
    """What a sweep reads: packed rows, and the numbers that all rows share."""

    rows: HeldRows
    numbers: np.ndarray


class LearnedLaw(NamedTuple):
    """A law that was learned: the centre and, for every factor, a root of the covariance and the standardised mean.

    The mean does not contain the part ``J0``. ``at`` is the mode of the marginal law. ``packed`` are the rows and
    numbers of the model with which the law was tried.
    """

    centre: Centre
    roots: list[np.ndarray]
    offsets: list[np.ndarray]
    at: At | None = None
    packed: Packed | None = None


def learned_law(model: Any) -> LearnedLaw | None:
    """Return a law learned from the groups, or None if the Laplace law is good enough or nothing better was found."""
    if not _may_learn(model):
        return None
    announce("estimating the proposals of common parameters")
    groups, found = Groups(model, model.learned_start), None
    if model.learned_start is not None:
        found = _searched(groups)
        groups = groups if found is not None else Groups(model)
    found = _searched(groups) if found is None else found
    if found is None:
        return None
    state, tabled = groups.state, _tabled(model)
    del groups
    by_laplace = _tried(model, found, state, tabled)
    model.let_go()  # of rows and numbers, which take most of the memory
    learned = model._with(learned=found)
    if _tried(learned, found, state, tabled) > by_laplace:
        return found._replace(packed=Packed(learned._held, learned._hyper))
    return None


def _searched(groups: Groups) -> LearnedLaw | None:
    """None where the search has led to where no number says anything."""
    try:
        with np.errstate(all="ignore"):
            found = _search(groups)
    except (np.linalg.LinAlgError, NonFiniteEnergy):
        return None
    if found is None or not all(np.isfinite(array).all() for array in (*found.roots, *found.offsets)):
        return None
    return found


def _may_learn(model: Any) -> bool:
    """Rows that say more than a quadratic does, and a factor of many groups."""
    if any(one.known is not None for one in model.groupings) and model.scale_priors.tau_at >= 0:
        return False
    if any(one.df or one.related for one in model.groupings):  # gradients are those of normal, independent effects
        return False
    if max(one.free.sum() for one in model.groupings) < _LEAST_GROUPS:
        return False
    return all(factor.bound_total.sum() > 0 for factor in model.factors)


def _tabled(model: Any) -> bool:
    """Whether a scale is known so badly that its law has a table."""
    return any(SCALE_TABLE.views(factor.scale_table, p=model.p).cells for factor in model.factors)


class At(NamedTuple):
    """A point: common parameters in the coordinates of a chain, and the scales of every factor."""

    common: np.ndarray
    scales: list[np.ndarray]

    def with_scales(self, f: int, scales: np.ndarray) -> At:
        return At(self.common, [*self.scales[:f], scales, *self.scales[f + 1 :]])


class Groups:
    """The groups of a model at fixed common parameters and scales. Their effects are moved by kernel (B)."""

    def __init__(self, model: Any, at: At | None = None):
        self.model = model
        ready, seed = Sweep().bind(model), np.random.SeedSequence(0)
        self._setup = setup_of(model, ready._replace(knobs=EFFECTS_ALONE), seed)
        self._rng, self._stream, self._memory = np.random.default_rng(0), open_stream(seed), ready.first_memory
        self.at = At(model.centre.at.common, list(model.centre.scales)) if at is None else at
        self._effects = model.start(self._rng)[model.p + model.m :]
        self.factors = [FactorOfGroups(model, f) for f in range(len(model.groupings))]

    @property
    def state(self) -> np.ndarray:
        scales = [s[: one.scales] for s, one in zip(self.at.scales, self.model.groupings, strict=True)]
        of_prior = self.model.wide_prior.lam if self.model.scaled_prior else []
        return np.concatenate([self.at.common, *scales, of_prior, self._effects])

    @property
    def effects(self) -> list[np.ndarray]:
        """Return the effects of every factor, arrays (G, q)."""
        shapes = [(one.groups, one.q) for one in self.model.groupings]
        ends = np.cumsum([g * q for g, q in shapes])
        return [part.reshape(shape) for part, shape in zip(np.split(self._effects, ends[:-1]), shapes, strict=True)]

    def move(self, sweeps: int) -> None:
        state = ChainState(self.state, self._rng, self._stream, self._memory.copy())
        advance(state, self._setup, np.empty((sweeps, state.here.size)), self._setup.new_record(sweeps))
        self._effects = state.here[self.model.p + self.model.m :].copy()

    def step(self, steps: list[np.ndarray]) -> bool:
        """Take every factor's step of ``(b, lambda)``, with the mean of their steps of ``b``.

        Return True if the priors allow it.
        """
        p = self.model.p
        longest = max(np.abs(one[p:]).max(initial=0.0) for one in steps)
        size = min(1.0, _LONGEST / max(longest, 1e-300))
        scales = [s - size * one[p:] for s, one in zip(self.at.scales, steps, strict=True)]
        self.at = At(self.at.common - size * np.mean([one[:p] for one in steps], axis=0), scales)
        priors, at = self.model.scale_priors, self.at
        energies = [priors.energy(f, scales, at.common) for f, scales in enumerate(at.scales)]
        return bool(np.isfinite([priors.common_energy(at.common), *energies]).all())


class FactorOfGroups:
    """Gradients of the energy for one factor in ``(b, lambda, eps)``, with fixed effects of other factors."""

    def __init__(self, model: Any, f: int):
        self.model, self.f, self.one, self.priors = model, f, model.groupings[f], model.scale_priors
        centre = model.centre
        self.factor, self.of = model.factors[f], centre.sums.factors[f]
        self.convex = convex_factors(centre.sums)[f].curvature

    @cached_property
    def _free(self) -> np.ndarray:
        return self.one.free[:, None]

    def kappa(self, effects: list[np.ndarray]) -> np.ndarray:
        """Return the slopes of the groups' quadratic functions at ``b = 0``, given these effects of other factors."""
        found, centre = self.of.gradient.copy(), self.model.centre
        for (a, b), share in centre.shares.items():
            if self.f in (a, b):
                k, matrix = (b, share) if self.f == a else (a, share.T)
                found += (matrix @ (effects[k] - centre.at.effects[k]).ravel()).reshape(found.shape)
        return found

    def slope(self, effects: list[np.ndarray]) -> np.ndarray:
        """Return the slope of the quadratic function in ``b`` at ``b = 0``."""
        sums, modes = self.model.centre.sums, self.model.centre.at.effects
        found = sums.gradient.copy()
        for k, of in enumerate(sums.factors):
            if k != self.f:
                found += np.einsum("gaj,ga->j", of.cross, effects[k] - modes[k])
        return found

    def placed(self, at: At, kappa: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return ``P`` and the mean of the effects of all groups."""
        P = self.convex + precision_at(self.one, at.scales[self.f])[0]
        b = at.common - self.model.centre.at.common
        right = np.einsum("gab,gb->ga", self.convex, self.factor.mode) - kappa - self.of.cross @ b
        return P, solved(P, right[:, :, None])[:, :, 0]

    def standardised(self, at: At, effects: list[np.ndarray]) -> np.ndarray:
        """Return the standardised effects ``eps``."""
        P, mean = self.placed(at, self.kappa(effects))
        return np.einsum("gba,gb->ga", roots(P), effects[self.f] - mean)

    def effects_at(self, at: At, kappa: np.ndarray, eps: np.ndarray) -> np.ndarray:
        P, mean = self.placed(at, kappa)
        v = mean + solved(np.swapaxes(roots(P), 1, 2), eps[:, :, None])[:, :, 0]
        return v * self._free

    def _closed(self, at: At, v: np.ndarray) -> float:
        """What is not said by rows, up to a constant: the effects' prior, volumes, and the scales' prior."""
        Q, logdet = precision_at(self.one, at.scales[self.f])
        free = self.one.free
        volumes = 0.5 * log_determinants(self.convex[free] + Q).sum() + 0.5 * free.sum() * logdet
        own = 0.5 * float(np.einsum("ga,ab,gb->", v, Q, v)) + float(volumes)
        return own + self.priors.energy(self.f, at.scales[self.f], at.common)

    def _sides(self, at: At, step: float) -> list[tuple[At, At]]:
        """Of every scale: a step up and a step down."""
        own = at.scales[self.f]
        return [
            (at.with_scales(self.f, own + step * unit), at.with_scales(self.f, own - step * unit))
            for unit in np.eye(len(own))
        ]

    def _point(self, at: At, effects: list[np.ndarray], kappa: np.ndarray, eps: np.ndarray) -> Point:
        v = self.effects_at(at, kappa, eps)
        return Point(at.common, [*effects[: self.f], v, *effects[self.f + 1 :]])

    def _prior(self, common: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Gradient and Hessian of the common parameters' potential."""
        return self.priors.common_expansion(common, self.model.centre.sums.hessian)

    def gradient(self, at: At, effects: list[np.ndarray], eps: np.ndarray) -> np.ndarray:
        """Return the gradient of ``E(theta, eps)`` in this factor's ``theta``."""
        f, kappa = self.f, self.kappa(effects)
        point = self._point(at, effects, kappa, eps)
        common, by_effects = self.model.grouped.slopes(point)
        v, slope = point.effects[f], by_effects[f]
        pulled = (slope + v @ precision_at(self.one, at.scales[f])[0]) * self._free
        found = [common + self._prior(at.common)[0] + np.einsum("gaj,ga->j", self._along(at), pulled)]
        if self.priors.tau_at >= 0:
            found[0][self.priors.tau_at] += self._slope_in_tau(at)
        for above, below in self._sides(at, STEP):
            up, down = self.effects_at(above, kappa, eps), self.effects_at(below, kappa, eps)
            rise = self._closed(above, up) - self._closed(below, down) + float(np.sum((up - down) * slope))
            found.append(np.array([rise / (2 * STEP)]))
        return np.concatenate(found)

    def _along(self, at: At) -> np.ndarray:
        """How effects follow common parameters, ``eps`` kept: ``-P^-1 h``."""
        P = self.convex + precision_at(self.one, at.scales[self.f])[0]
        return -solved(P, self.of.cross) * self._free[:, :, None]

    def _slope_in_tau(self, at: At) -> float:
        """Scales as a user knows them have one over the errors' scale in them."""
        small, unit = 1e-3 * self.priors.tau(at.common), np.eye(len(at.common))[self.priors.tau_at]
        sides = [
            self.priors.energy(k, scales, at.common + sign * small * unit)
            for sign in (1, -1)
            for k, scales in enumerate(at.scales)
        ]
        return (sum(sides[: len(at.scales)]) - sum(sides[len(at.scales) :])) / (2 * small)

    def hessian(self, at: At, effects: list[np.ndarray], eps: np.ndarray) -> np.ndarray:
        """Return the Hessian of ``E(theta, eps)`` in this factor's ``theta``; parts with lambda are computed by
        differences.
        """
        sums = self.model.grouped.sums(self._point(at, effects, self.kappa(effects), eps))
        p, m, of, along = self.model.p, len(at.scales[self.f]), sums.factors[self.f], self._along(at)
        found = np.zeros((p + m, p + m))
        mixed = np.einsum("gaj,gak->jk", of.cross * self._free[:, :, None], along)
        bent = of.curvature + precision_at(self.one, at.scales[self.f])[0]
        found[:p, :p] = sums.hessian + self._prior(at.common)[1] + mixed + mixed.T
        found[:p, :p] += np.einsum("gaj,gab,gbk->jk", along, bent, along)
        for k, (above, below) in enumerate(self._sides(at, 5 * STEP)):
            rise = self.gradient(above, effects, eps) - self.gradient(below, effects, eps)
            found[p + k] = rise / (10 * STEP)
        found[:p, p:] = found[p:, :p].T
        return 0.5 * (found + found.T)

    def followed(self, effects: list[np.ndarray]) -> np.ndarray:
        """Return ``J0``, which `tunamh.groups.shift.fill_learned_shift` computes in a sweep; zeros if there is one
        factor.
        """
        if len(effects) == 1:
            return np.zeros(len(self.factor.prior_gradient))
        centre, factor, kappa = self.model.centre, self.factor, self.kappa(effects)
        at = At(centre.at.common, list(centre.scales))
        found = factor.prior_gradient.copy()
        d = (self.placed(at, kappa)[1] - factor.mode) * self._free
        found[: self.model.p] += self.slope(effects) + np.einsum("gaj,ga->j", self.of.cross, d)
        for k, sides in enumerate(self._sides(at, STEP)):
            rise = [self._lowest(side, kappa) for side in sides]
            found[self.model.p + k] += (rise[0] - rise[1]) / (2 * STEP)
        return found

    def _lowest(self, at: At, kappa: np.ndarray) -> float:
        """The least energy of the groups' quadratics with their effects' prior."""
        Q, _ = precision_at(self.one, at.scales[self.f])
        v = self.placed(at, kappa)[1] * self._free
        d = (v - self.factor.mode) * self._free
        own = np.einsum("ga,gab,gb->", d, self.convex, d) + np.einsum("ga,ab,gb->", v, Q, v)
        return float(np.sum(kappa * d)) + 0.5 * float(own)


class Seen(NamedTuple):
    """Results for one factor at some states: gradients, how the law follows other factors, and the mean Hessian."""

    gradients: np.ndarray
    followed: np.ndarray
    A: np.ndarray

    @property
    def step(self) -> np.ndarray:
        return np.linalg.solve(self.A, self.gradients.mean(axis=0))

    @property
    def length(self) -> float:
        """Return the length of the Newton step in standard deviations."""
        return float(np.sqrt(self.step @ self.A @ self.step / len(self.step)))

    @property
    def root(self) -> np.ndarray:
        """Return a root of ``(A - Cov)^-1``, computed for each coordinate of the root of ``A^-1``, because there are
        few states.
        """
        L = np.linalg.cholesky(np.linalg.inv(self.A))
        beside = (self.gradients - self.followed) @ L
        told = np.minimum(np.var(beside, axis=0, ddof=1), _MOST_TOLD)
        return L / np.sqrt(1.0 - told)


class _States(NamedTuple):
    """Of one factor, state by state."""

    gradients: list[np.ndarray]
    followed: list[np.ndarray]
    hessians: list[np.ndarray]


def _look(groups: Groups, states: int) -> list[Seen]:
    """At so many states of the effects, some sweeps apart."""
    found = [_States([], [], []) for _ in groups.factors]
    for i in range(states):
        groups.move(_SWEEPS)
        effects = groups.effects
        for factor, of in zip(groups.factors, found, strict=True):
            eps = factor.standardised(groups.at, effects)
            of.gradients.append(factor.gradient(groups.at, effects, eps))
            of.followed.append(factor.followed(effects))
            if i < _HESSIANS:
                of.hessians.append(factor.hessian(groups.at, effects, eps))
    return [Seen(np.array(of.gradients), np.array(of.followed), positive(np.mean(of.hessians, axis=0))) for of in found]


def _search(groups: Groups) -> LearnedLaw | None:
    """Newton's steps to the mode of the marginal law until they are as short as their noise, and a last one."""
    groups.move(_FIRST_SWEEPS)
    for _ in range(_MOST_STEPS):
        groups.move(_FIRST_SWEEPS)
        seen = _look(groups, _GRADIENTS)
        length = max(one.length for one in seen)
        if not (np.isfinite(length) and groups.step([one.step for one in seen])):
            return None
        if length < _CLOSE:
            break
    else:
        return None
    groups.move(_FIRST_SWEEPS)
    seen = _look(groups, _LAST_GRADIENTS)
    near = max(one.length for one in seen) < 2 * _CLOSE
    if not (near and groups.step([one.step for one in seen])):
        return None
    return _law(groups, seen)


def _law(groups: Groups, seen: list[Seen]) -> LearnedLaw:
    """About the point that was found. The effects of a single factor are expanded about their modes there."""
    roots, centre = [one.root for one in seen], groups.model.centre
    if len(seen) == 1:
        return LearnedLaw(
            _centre_at(groups), [_widened(roots[0], groups.model.p)], [np.zeros(len(roots[0]))], groups.at
        )
    offsets = []
    for f, (one, root) in enumerate(zip(seen, roots, strict=True)):
        away = np.concatenate([groups.at.common - centre.at.common, groups.at.scales[f] - centre.scales[f]])
        offsets.append(np.linalg.solve(root, away) + root.T @ one.followed.mean(axis=0))
    return LearnedLaw(centre, roots, offsets, groups.at)


def _widened(root: np.ndarray, p: int) -> np.ndarray:
    """Return the root with larger entries for uncertain scales, whose laws have long tails."""
    found = root.copy()
    found[p:][np.linalg.norm(root[p:], axis=1) > WIDE] *= _WIDER
    return found


def _centre_at(groups: Groups) -> Centre:
    """With the effects of the one factor at their modes, given the common parameters and scales."""
    at, model, one = groups.at, groups.model, groups.model.groupings[0]
    Q, _ = precision_at(one, at.scales[0])

    def seen(v: np.ndarray) -> tuple[float, DataSums]:
        sums = model.grouped.sums(Point(at.common, [v]))
        return sums.energy + 0.5 * float(np.einsum("ga,ab,gb->", v, Q, v)), sums

    own = groups.factors[0]
    v = own.placed(at, own.of.gradient)[1] * one.free[:, None]
    energy, sums = seen(v)
    for _ in range(_MODE_STEPS):
        slope = (sums.factors[0].gradient + v @ Q) * one.free[:, None]
        there = v - np.einsum("gab,gb->ga", inverses(convex_factors(sums)[0].curvature, Q), slope)
        lower, new = seen(there)
        if not lower < energy:
            break
        v, energy, sums = there, lower, new
    return Centre(Point(at.common, [v]), list(at.scales), sums, {})


def _tried(model: Any, law: LearnedLaw, state: np.ndarray, tabled: bool) -> float:
    """How well sweeps of a model do, from a state with fixed random numbers: better ones have a larger number.

    It is the acceptance of the proposals of (A) by a Gaussian law, or `_jump` if a scale is uncertain. Laplace's
    law follows ``eps`` there: it proposes what is near, and its acceptance says little.
    """
    sweeps = _TRIALS_OF_FEW if tabled else _TRIALS
    ready, seed = Sweep().bind(model), np.random.SeedSequence(0)
    setup = setup_of(model, ready, seed)
    chain = ChainState(state, np.random.default_rng(1), open_stream(seed), ready.first_memory)
    draws, record = np.empty((sweeps, state.size)), setup.new_record(sweeps)
    advance(chain, setup, draws, record)
    if tabled:
        return _jump(model, law, draws)
    rates = record[:, setup.statistics.column("laplace_acceptance")]
    return float(np.nanmean(rates)) if np.isfinite(rates).any() else 0.0


def _jump(model: Any, law: LearnedLaw, draws: np.ndarray) -> float:
    """Of ``(b, lambda)`` in a sweep: the mean square in units of the learned law, by the worst of its directions."""
    found, at = [], model.p
    for one, root in zip(model.groupings, law.roots, strict=True):
        own = np.r_[: model.p, at : at + one.scales]
        steps = np.linalg.solve(root, np.diff(draws[:, own], axis=0).T)
        found.append(np.square(steps).mean(axis=1).min())
        at += one.scales
    return float(min(found))
