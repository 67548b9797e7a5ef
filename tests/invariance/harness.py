"""Does a kernel leave the posterior as it is? (Gandy and Scott 2020, "Unit testing for MCMC and other Monte Carlo
methods").

A draw from the posterior, moved by some steps of an exact kernel, is again a draw from the posterior. So: make draws by
a method that shares nothing with the library, move each of them by the kernel, and compare. Nothing needs to converge,
and a wrong law shows however slowly the kernel would move towards it. A data set is set up once, thousands of draws are
moved, and every data set will do, the hard ones too. (Parameters from the prior and data from the model, one draw for
each data set, is the same test averaged over data sets.)
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numba import types

from long_form import limit
from tunamh.chains.kernel import ReadyKernel
from tunamh.chains.loop import ChainSetup, ChainState, compile_parts, setup_of, told_of, walk_of
from tunamh.compiled import NO_FAULT, Kept, Outcome, Part, run_role
from tunamh.compiled.vector import copy_into
from tunamh.rows.supply import open_stream
from tunamh.sampling.session import Choices

# ------------------------------------------------------------------------------------------------- reference draws

_POOL, _STEPS, _MOST_STEPS = 50_000, 200, 51_200
_WIDE, _STEPS_OF_WIDE = 8, 800  # of posteriors of so many parameters, such as slopes of groups
_CHANCE = 0.01  # that draws of the right law are taken for drifting; they then take more steps, which is no harm


class StillDrifting(Exception):
    """Reference draws that have not forgotten where they began: they can judge no kernel."""


def reference_draws(problem: Any, wanted: int, rng: np.random.Generator) -> np.ndarray:
    """Draws from the posterior of ``problem``, in NumPy and without the library (`reference_normals`)."""
    return problem.points(reference_normals(problem, wanted, rng))


def reference_normals(problem: Any, wanted: int, rng: np.random.Generator) -> np.ndarray:
    """Draws from the posterior, as the standard normals ``xi`` that the parameters are functions of.

    The parameters are functions of standard normals. Of a large pool of these, ``wanted`` are drawn by their
    likelihood; then each is moved by Metropolis-Hastings steps that keep the normal law, ``xi' = sqrt(1 - s^2) xi + s
    eta`` on some of the coordinates, accepted with probability ``min(1, L' / L)``. What the pool lacks, the steps mend.
    The draws are held to the test that kernels are held to: as many steps again must leave their law as it is. Until
    they do, their number is doubled. Draws that still drift would find fault with a kernel that is right.
    """
    xi = rng.standard_normal((_POOL, problem.dim))
    value = likelihood_at(problem, xi)
    chance = np.exp(value - value.max())
    chosen = rng.choice(_POOL, wanted, p=chance / chance.sum())
    steps = _STEPS if problem.dim < _WIDE else _STEPS_OF_WIDE
    xi, value = stepped(problem, xi[chosen], value[chosen], steps, rng)
    draws = problem.points(xi)
    while steps < _MOST_STEPS:
        earlier = draws
        xi, value = stepped(problem, xi, value, steps, rng)
        draws, steps = problem.points(xi), 2 * steps
        drift = np.abs(changes(problem, earlier, draws))
        if drift.max() < limit(np.count_nonzero(drift), _CHANCE):
            return xi
    raise StillDrifting(f"the law of the reference draws still changes after {steps:,} steps")


def stepped(
    problem: Any, xi: np.ndarray, value: np.ndarray, steps: int, rng: np.random.Generator
) -> tuple[np.ndarray, np.ndarray]:
    """Every ``xi``, of log-likelihood ``value``, after so many Metropolis-Hastings steps."""
    for _ in range(steps):
        moving = rng.random(xi.shape) < rng.choice([0.3, 1.0])
        size = np.exp(rng.uniform(-3.5, 0.0, (len(xi), 1)))
        there = np.where(moving, np.sqrt(1 - size * size) * xi + size * rng.standard_normal(xi.shape), xi)
        proposed = likelihood_at(problem, there)
        accepted = np.log(rng.random(len(xi))) < proposed - value
        xi, value = np.where(accepted[:, None], there, xi), np.where(accepted, proposed, value)
    return xi, value


def likelihood_at(problem: Any, xi: np.ndarray) -> np.ndarray:
    """The log-likelihood at standard normals."""
    with np.errstate(all="ignore"):
        value = problem.log_likelihood(problem.points(xi))
    return np.where(np.isfinite(value), value, -np.inf)  # so far out that SciPy's densities are no numbers


# ---------------------------------------------------------------------------------------------------- moving them


@dataclass
class Mover:
    """A target set up once, with the kernel that is to be tried: moves points, as a user knows them, by some steps."""

    target: Any
    setup: ChainSetup
    to_state: Callable[[np.ndarray], np.ndarray]

    @classmethod
    def of(cls, target: Any, test: Any = None, proposal: Any = None, control: Any = None) -> Mover:
        """What `tunamh.sample` would set up; all None: what it would choose."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            made = Choices(target, test, proposal, control).checked().sampler()
        return cls.ready(made.target, made.ready, target)

    @classmethod
    def ready(cls, target: Any, kernel: ReadyKernel, given: Any) -> Mover:
        setup = setup_of(target, kernel, np.random.SeedSequence(0))
        compile_parts(setup)
        return cls(target, setup, lambda point: target.state_at(given.to_chain(point)))

    def moved(self, points: np.ndarray, steps: int, seed: int) -> np.ndarray:
        """Every point after ``steps`` steps from it; one stream of random numbers for all of them."""
        seeds = np.random.SeedSequence(seed).spawn(2)
        rng, stream = np.random.default_rng(seeds[0]), open_stream(seeds[1], self.setup.kernel.source)
        states = np.array([self.to_state(point) for point in points])
        memories = np.array([self.memory_at(state, rng) for state in states])
        ends = np.empty((len(points), len(self.target.recorded)))
        setup, state = self.setup, ChainState(states[0].copy(), rng, stream, memories[0].copy())
        kept = Kept(steps, np.empty((1, ends.shape[1])), setup.new_record(1), setup.statistics.kinds)
        loop = _loop_of_many(len(setup.kernel.turns)).trusted
        fault = loop(setup.loop, rng, walk_of(state, setup), kept, states, memories, state.memory, ends)
        told_of(Outcome(0, fault), state, setup)
        return self.target.to_user(ends)

    def memory_at(self, state: np.ndarray, rng: np.random.Generator) -> np.ndarray:
        """What else a kernel knows at a state; where it is a part of the state, it is a draw given the parameters."""
        return self.setup.kernel.first_memory


def _over_points(loop, rng, walk, kept, states, memories, memory, ends):
    """Put a chain to every state and make some steps from there; ``ends`` are where they end. Returns a fault.

    Compiled: a call from Python for every point takes ten times as long as a few steps on a few rows.
    """
    place, model = walk.place, walk.model
    for k in range(states.shape[0]):
        copy_into(place.here, states[k])
        copy_into(place.there, states[k])
        copy_into(memory, memories[k])
        model.locate(place.here, place.theta, model.data.hyper)
        copy_into(place.prop, place.theta)
        kept.record[:] = 0.0
        outcome = loop(rng, walk, kept)
        if outcome.fault != NO_FAULT:
            return outcome.fault
        copy_into(ends[k], kept.draws[0])
    return NO_FAULT


@cache
def _loop_of_many(kernels: int) -> Part:
    """For so many kernels in turn."""
    loop, matrix, vector = run_role(kernels), types.float64[:, ::1], types.float64[::1]
    signature = types.int64(loop, *loop.signature.args, matrix, matrix, vector, matrix)
    return Part(_over_points, types.FunctionType(signature))


# -------------------------------------------------------------------------------------------------------- comparing


def features(points: np.ndarray, extra: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """Bounded functions of the parameters: what the test compares the means of.

    With ``u`` a number's share among reference draws: ``u - 1/2`` of every parameter and of the energy, its square, the
    products of pairs, and whether ``u`` lies in the outer 2 % on either side.
    """
    columns = np.column_stack([points, extra])
    ranks = [np.searchsorted(np.sort(ref), column) for ref, column in zip(reference.T, columns.T, strict=True)]
    u = np.array(ranks).T / len(reference) - 0.5
    d = points.shape[1]
    pairs = [u[:, i] * u[:, j] for i in range(min(d, 6)) for j in range(i)]
    return np.column_stack([u, u * u, *pairs, u < -0.48, u > 0.48])


_LEAST_CHANGED = 25  # points whose feature changed, for a sum to be nearly normal


def scores(before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """``z`` of every feature's mean change; 0 where it changed in too few points to tell."""
    change = after - before
    n = len(change)
    spread = np.std(change, axis=0, ddof=1)
    enough = (np.count_nonzero(change, axis=0) >= _LEAST_CHANGED) & (spread > 0)
    return np.where(enough, change.mean(axis=0) / np.where(enough, spread, 1.0) * np.sqrt(n), 0.0)


@dataclass(frozen=True)
class Verdict:
    """The largest score, of how many, and whose; how many of the points moved."""

    largest: float
    tests: int
    feature: int
    moved: float


def verdict(mover: Mover, problem: Any, points: np.ndarray, steps: int, seed: int) -> Verdict:
    """Move two thirds of ``points`` by some steps of the kernel, and compare."""
    third = len(points) // 3
    after = mover.moved(points[third:], steps, seed)[:, : points.shape[1]]
    z = changes(problem, points, np.concatenate([points[:third], after]))
    worst, still = int(np.argmax(np.abs(z))), (after == points[third:]).all(axis=1)
    return Verdict(float(abs(z[worst])), int(np.count_nonzero(z)), worst, 1.0 - float(still.mean()))


def changes(problem: Any, before: np.ndarray, after: np.ndarray) -> np.ndarray:
    """Scores of two thirds of the points; shares are counted among the first third, as it was before."""
    third = len(before) // 3
    columns = [np.column_stack([p, problem.log_likelihood(p)]) for p in (before, after)]
    reference, *moved = columns[0][:third], *(c[third:] for c in columns)
    return scores(*(features(*_apart(c), reference) for c in moved))


def _apart(columns: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    return columns[:, :-1], columns[:, -1]
