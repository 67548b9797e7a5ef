"""Where the chain may go next, and the Hastings factor ``log q(theta|prop) - log q(prop|theta)``."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numba.core.dispatcher import Dispatcher

from ._arguments import has_row_labels, number_between, numbers, settle, shown
from ._jit import Part, Propose, compile_now, fixed, helper, part, read_only
from ._users import audit, kept, refuse_uncompiled
from .errors import NotApplicable

OPTIMAL_WALK = 2.38
"""Length of the optimal random-walk step in posterior standard deviations, over sqrt(d) (Roberts et al. 1997)."""


class Space(Protocol):
    """What a proposal may ask of a target."""

    dim: int
    states: int | None

    @property
    def precision_trace(self) -> float: ...
    @property
    def non_gaussianity(self) -> float: ...


class ReadyProposal(NamedTuple):
    """A proposal made ready for a target.

    ``knobs[0]`` is the step size, tuned in warm-up for the wanted acceptance, up to ``largest``, when ``tuned``.
    """

    propose: Part
    knobs: np.ndarray
    tuned: bool
    acceptance: float
    largest: float = math.inf

    def with_step(self, step: float) -> ReadyProposal:
        return self._replace(knobs=fixed([min(step, self.largest), *self.knobs[1:]]))


class Proposal:
    """What every proposal is: a frozen value that says what it needs."""

    def bind(self, space: Space) -> ReadyProposal:
        """The proposal made ready for a target; raises `NotApplicable` where it does not fit."""
        raise NotApplicable(
            f"{type(self).__name__} has no bind(space), by which a proposal is made ready for a target."
        )


@part(Propose)
def _isotropic(rng, theta, prop, knobs):
    for j in range(theta.size):
        prop[j] = theta[j] + knobs[0] * rng.standard_normal()
    return 0.0


@part(Propose)
def _by_coordinate(rng, theta, prop, knobs):
    for j in range(theta.size):
        prop[j] = theta[j] + knobs[0] * knobs[1 + j] * rng.standard_normal()
    return 0.0


@part(Propose)
def _correlated(rng, theta, prop, knobs):
    """``prop = theta + step * F xi``; column by column, so that each normal is used as it is drawn."""
    d = theta.size
    prop[:] = theta
    for k in range(d):
        length = knobs[0] * rng.standard_normal()
        for j in range(d):
            prop[j] += length * knobs[1 + j * d + k]
    return 0.0


@dataclass(frozen=True)
class RandomWalk(Proposal):
    """Gaussian random walk.

    Parameters
    ----------
    scale : float, vector or matrix, optional
        Standard deviation of a step: one number for all coordinates, one per coordinate, or a matrix ``F`` with
        ``F F'`` the covariance of a step. None: one number, tuned in warm-up by Robbins-Monro.
    acceptance : float
        The acceptance rate that the tuning aims at. Efficiency is flat between 0.2 and 0.35.
    """

    scale: Any = None
    acceptance: float = 0.25

    def __post_init__(self) -> None:
        settle(self, acceptance=number_between("acceptance", self.acceptance, 0, 1))
        if self.scale is None:
            return
        if has_row_labels(self.scale):
            raise TypeError("scale has row labels, which a random walk does not read: pass scale.to_numpy().")
        scale = numbers("scale", self.scale)
        if scale.ndim > 2 or (scale.ndim == 2 and scale.shape[0] != scale.shape[1]):
            raise ValueError(f"scale must be a number, one per coordinate or a square matrix, got shape {scale.shape}.")
        if scale.ndim < 2 and not (scale > 0).all():
            raise ValueError(f"scale must be positive, got {shown(self.scale)}.")
        if scale.ndim == 2 and _is_singular(scale):
            raise ValueError("scale is a singular matrix: the walk would stay in a subspace.")
        settle(self, scale=float(scale) if scale.ndim == 0 else self.scale)

    def bind(self, space: Space) -> ReadyProposal:
        if space.states is not None:
            raise NotApplicable("RandomWalk steps in continuous space, but this target has states: use NeighbourWalk()")
        if self.scale is None:
            guess = OPTIMAL_WALK / math.sqrt(space.precision_trace)
            return ReadyProposal(_isotropic, fixed([guess]), True, self.acceptance)
        scale = np.asarray(self.scale, dtype=np.float64)
        if scale.ndim == 0:
            return ReadyProposal(_isotropic, fixed([scale]), False, self.acceptance)
        if scale.shape == (space.dim,):
            return ReadyProposal(_by_coordinate, fixed([1.0, *scale]), False, self.acceptance)
        if scale.shape == (space.dim, space.dim):
            return ReadyProposal(_correlated, fixed([1.0, *scale.ravel()]), False, self.acceptance)
        d = space.dim
        raise ValueError(f"scale must be a number, {d} numbers or a {d} x {d} matrix, got shape {scale.shape}.")


def _is_singular(factor: np.ndarray) -> bool:
    """Whether some coordinates of a step depend on the others, whatever unit each is measured in."""
    units = np.abs(factor).max(axis=1, keepdims=True)
    return not units.all() or np.linalg.matrix_rank(factor / units) < len(factor)


# knobs of the autoregressive proposal: sqrt(1 - rho^2), robust share, length of a random-walk step, rho's sign.


@helper
def _propose_walk(rng, here, there, step):
    for j in range(here.size):
        there[j] = here[j] + step * rng.standard_normal()
    return 0.0


@helper
def _propose_heavy_tailed(rng, here, there):
    """An independent draw from the multivariate Student-t of ``v = max(5, d)`` degrees of freedom.

    log q(here) - log q(there) = (v + d)/2 log((v + |there|^2) / (v + |here|^2)).
    """
    d = here.size
    freedom = max(5, d)
    square = 0.0
    for _ in range(freedom):
        square += rng.standard_normal() ** 2
    stretch = math.sqrt(freedom / square)
    before, after = 0.0, 0.0
    for j in range(d):
        there[j] = stretch * rng.standard_normal()
        before += here[j] * here[j]
        after += there[j] * there[j]
    return 0.5 * (freedom + d) * math.log((freedom + after) / (freedom + before))


@helper
def _propose_autoregressive(rng, here, there, rho, innovation):
    """``z' = rho z + innovation xi``, reversible for the standard normal law when the squares add up to 1."""
    log_q = 0.0
    for j in range(here.size):
        there[j] = rho * here[j] + innovation * rng.standard_normal()
        log_q += 0.5 * (there[j] - here[j]) * (there[j] + here[j])
    return log_q


@part(Propose)
def _mixed(rng, here, there, knobs):
    """Which kind of step does not depend on the state, so each kind needs its own ratio only."""
    innovation, share, walk, sign = knobs[0], knobs[1], knobs[2], knobs[3]
    if share > 0.0:
        u = rng.random() / share
        if u < 0.5:
            return _propose_heavy_tailed(rng, here, there)
        if u < 0.75:
            return _propose_walk(rng, here, there, walk)
        if u < 1.0:
            innovation, sign = innovation * rng.random(), 1.0
    rho = sign * math.sqrt(max(0.0, 1.0 - innovation * innovation))
    return _propose_autoregressive(rng, here, there, rho, innovation)


@dataclass(frozen=True)
class Autoregressive(Proposal):
    """Proposal reversible for the Laplace law ``N(m, Q^-1)`` of the posterior (spec 5b), for Taylor targets.

    In the coordinates ``theta = m + L z``, ``L L' = Q^-1``, it is ``z' = rho z + sqrt(1 - rho^2) xi``. On a Taylor
    target of order 2 the quadratic part cancels from the acceptance ratio, so only the remainders decide and nearly
    every move is accepted. `sample` chooses it for regressions.

    Parameters
    ----------
    rho : float, between -1 and 1, optional
        Autocorrelation of the chain if all moves are accepted; 0 proposes independently of the state. None: as small as
        an acceptance rate of 0.6 allows, found in warm-up.
    robust_share : float, optional
        Share of steps of other kinds, which keep tails heavier than Gaussian from trapping the chain: half of them
        independent draws from a Student-t law, a quarter a random walk, a quarter with a fresh ``rho`` that makes the
        step shorter. None: by how far the posterior is from its Laplace law, between 0.03 and 0.5.
    """

    rho: float | None = None
    robust_share: float | None = None

    def __post_init__(self) -> None:
        if self.rho is not None:
            settle(self, rho=number_between("rho", self.rho, -1, 1))
        if self.robust_share is not None:
            settle(self, robust_share=number_between("robust_share", self.robust_share, 0, 1, ends="both"))

    def prepare(self, target: Any) -> Any:
        """The target in whitened coordinates."""
        if not hasattr(target, "whitened"):
            raise NotApplicable("Autoregressive needs the Laplace law of a target with control=Taylor(order=2)")
        return target.whitened()

    def bind(self, space: Space) -> ReadyProposal:
        innovation = 1.0 if self.rho is None else math.sqrt(1.0 - self.rho**2)
        sign = math.copysign(1.0, self.rho or 1.0)
        share = min(max(space.non_gaussianity, 0.03), 0.5) if self.robust_share is None else self.robust_share
        knobs = fixed([innovation, share, OPTIMAL_WALK / math.sqrt(space.dim), sign])
        autoregressive = 1.0 - 0.75 * share  # the share of steps whose acceptance rho decides
        return ReadyProposal(_mixed, knobs, self.rho is None, 0.6 * autoregressive, largest=1.0)


@part(Propose)
def _neighbour(rng, theta, prop, knobs):
    """Stay with probability 1/2, else a neighbour; an end has one neighbour only, hence the Hastings factor."""
    last = knobs[1] - 1.0
    state = theta[0]
    prop[0] = state
    u = rng.random()
    if u < 0.5:
        return 0.0
    if state == 0.0:
        prop[0] = 1.0
    elif state == last:
        prop[0] = last - 1.0
    else:
        prop[0] = state + 1.0 if u < 0.75 else state - 1.0
    leaves_end = state == 0.0 or state == last
    enters_end = prop[0] == 0.0 or prop[0] == last
    if leaves_end == enters_end:
        return 0.0
    return math.log(2.0) if enters_end else -math.log(2.0)


@dataclass(frozen=True)
class NeighbourWalk(Proposal):
    """The paper's lazy walk on states ``0 .. K-1``: stay 1/2, left 1/4, right 1/4; at an end inwards 1/2."""

    def bind(self, space: Space) -> ReadyProposal:
        if space.states is None:
            raise NotApplicable("NeighbourWalk steps between states; this target is continuous: use RandomWalk()")
        return ReadyProposal(_neighbour, fixed([1.0, space.states]), False, 0.5)


@dataclass(frozen=True)
class UserProposal(Proposal):
    """A user's own compiled ``propose(rng, theta, prop) -> log q(theta|prop) - log q(prop|theta)``.

    It draws from ``rng`` (a NumPy Generator) and writes into ``prop``, which begins as ``theta``; a symmetric proposal
    returns 0.0.
    """

    function: Callable

    def bind(self, space: Space) -> ReadyProposal:
        refuse_uncompiled(self.function, "propose")
        propose = kept(self.function, "propose", lambda: _users_propose(self.function))
        audit(self.function, "propose", space.dim, proposal=True)
        return ReadyProposal(propose, fixed([1.0]), False, 0.25)


def _users_propose(function: Callable) -> Part:
    """``prop`` begins as ``theta``: what the user does not write would else be the proposal before."""

    @part(Propose, cache=False)
    def propose(rng, theta, prop, knobs):
        prop[:] = theta
        try:
            return float(function(rng, read_only(theta), prop))
        except Exception:
            return np.nan

    return compile_now(propose, "propose(rng, theta, prop)")


def as_proposal(proposal: Any) -> Any:
    """A compiled function is the user's own proposal, the rest must be one already."""
    if isinstance(proposal, Dispatcher):
        return UserProposal(proposal)
    if isinstance(proposal, type):
        raise TypeError(f"proposal is the class {proposal.__name__}: give a value, such as {proposal.__name__}().")
    if hasattr(proposal, "exact"):
        raise TypeError(f"proposal is {shown(proposal)}, which is an acceptance test: say test= instead.")
    if isinstance(proposal, Proposal):
        return proposal
    if callable(proposal):
        raise TypeError("proposal is a plain Python function: compile it first with @numba.njit.")
    known = "RandomWalk(...), Autoregressive(...), NeighbourWalk() or an @numba.njit function"
    raise TypeError(f"proposal must be {known}, got {shown(proposal)}.")
