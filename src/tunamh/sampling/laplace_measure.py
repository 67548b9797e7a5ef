"""The distance of a run's draws from Laplace's approximation, measured after the last of them.

*Total variation.* Let ``x ~ pi`` and propose ``y ~ q``, independently of ``x``. A test that keeps detailed balance
accepts with a probability ``a(x, y)`` for which ``pi(x) q(y) a(x, y) = pi(y) q(x) a(y, x)``; both probabilities are at
most 1, so ``pi(x) q(y) a(x, y) <= min(pi(x) q(y), pi(y) q(x))`` and

    E a  <=  integral of min(pi(x) q(y), pi(y) q(x))  =  1 - TV(pi x q, q x pi)  <=  1 - TV(pi, q),

the last because a marginal law tells no more than a joint one. A test on minibatches accepts less often than one on all
rows, so with it the bound is only looser. With all rows it is sharp up to a factor of two: ``1 - E a <= 2 TV(pi, q)``.

The bound needs proposals that are independent draws from ``q`` itself. Those of `Autoregressive` are not: they may
depend on the state (for ``rho`` near 1 all moves are accepted, whatever ``pi``), their mean is corrected for skewness,
and a share of them are of other kinds. So a thousand steps are made after the last draw, from kept draws, which have
the law ``pi`` already: they leave it as it is, and need no warm-up. The result's draws are the same without them.

A sweep over groups proposes no such thing: of it there is no bound.

*Means and standard deviations* are those of the kept draws beside Laplace's, in natural units.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..acceptance import MH, MHSS
from ..capabilities import Approximated, Leading, Preparing, offers
from ..chains.kernel import Kernel, ReadyKernel
from ..chains.loop import ChainState, advance, setup_of
from ..chains.metropolis import RATE, MetropolisHastings, joined
from ..laplace.distance import LaplaceDistance
from ..laplace.gaussian import LaplaceGaussian, approximated_target, laplace_gaussian, moments
from ..proposals import Autoregressive, IndependentGaussian
from ..rows.supply import NO_ROWS, open_stream

FEWEST_DRAWS = 100
"""Of all chains together, below which nothing is said."""

_STARTS = 20  # kept draws from which independent proposals are made
_STEPS = 1000  # of them at most,
_STEP_SHARE = 0.05  # or this share of the run's own steps,
_ROWS = 2e6  # or as many as read so many rows
_FLOOR = 20.0  # rows of a minibatch: more than the chain's own take, for less noise in the decision
_VALUES = 20_000_000  # of draws at most, evenly spaced: memory is not ours
_BATCHES = 20  # per chain, by whose means Monte Carlo errors are estimated


class Walked(NamedTuple):
    """The draws of all chains in the coordinates of the chains, and their records. A draw takes ``thin`` steps."""

    draws: Sequence[np.ndarray]
    records: Sequence[np.ndarray]
    thin: int


def by_laplace_gaussian(target: Any, kernel: Kernel) -> bool:
    """Return True if a kernel proposes from the Laplace law of the target, or from the law that the target itself has.

    The result is False for a test that prepares a target of its own (`FlyMC`), because the rows of that target differ.
    """
    if offers(target, Approximated):
        return True
    proposes = isinstance(kernel, MetropolisHastings) and isinstance(kernel.proposal, Autoregressive)
    return proposes and not offers(kernel.test, Preparing)  # type: ignore[attr-defined]


def laplace_attributes(
    target: Any,
    kernel: Kernel,
    ready: ReadyKernel,
    walked: Walked,
    seed: np.random.SeedSequence,
    names: Sequence[str],
) -> dict[str, Any]:
    """Return the attributes of a result about Laplace's approximation.

    The dict is empty if the kernel does not propose from such a law, or if the draws are not exact. ``names`` are the
    names of the user's parameters.
    """
    if not by_laplace_gaussian(target, kernel) or not kernel.exact:
        return {}
    law, (draws, records, thin) = laplace_gaussian(target), walked
    kept = min(map(len, draws))
    if law is None or len(draws) * kept < FEWEST_DRAWS:
        return {}
    of = approximated_target(target)
    size = of.places if offers(of, Leading) else draws[0].shape[1]  # effects of groups are not part of it
    every = max(1, len(draws) * kept * size // _VALUES)
    points = np.stack([chain[:kept:every, :size] for chain in draws])
    some = points[:, :: max(1, points.shape[1] // FEWEST_DRAWS)]
    if (np.ptp(_in_users_units(target, some), axis=(0, 1)) == 0).any():  # no chain moved
        return {}
    rows = float(np.mean([ready.all_statistics.rows(record[:kept]).mean() for record in records]))
    steps = int(min(_STEPS, max(_STEP_SHARE * thin * len(draws) * kept, _ROWS / max(rows, 1.0))))
    bound = None
    if isinstance(kernel, MetropolisHastings) and steps >= _STARTS:
        bound = total_variation_bound(target, law, ready, points, steps // _STARTS, seed)
    return measured(target, law, points, bound, names).attributes()


def measured(
    target: Any, law: LaplaceGaussian, walked: np.ndarray, bound: float | None, names: Sequence[str]
) -> LaplaceDistance:
    """Compare the means and standard deviations of draws (chain, draw, parameter) with those of the Laplace law.

    Both are in the user's parameters.
    """
    centre, covariance = moments(approximated_target(target), law)
    natural = _in_users_units(target, walked)[..., : len(centre)]
    mean, variance = natural.mean(axis=(0, 1)), natural.var(axis=(0, 1))
    sd = np.sqrt(variance)
    ratio = sd / np.sqrt(np.diag(covariance))
    ratio_error = ratio * _monte_carlo_error(np.square(natural - mean)) / (2.0 * variance)
    shift, shift_error = (mean - centre) / sd, _monte_carlo_error(natural) / sd
    return LaplaceDistance(list(names[: len(centre)]), bound, shift, shift_error, ratio, ratio_error)


def _in_users_units(target: Any, points: np.ndarray) -> np.ndarray:
    """Points as chains walk them, of groups without their effects."""
    of = approximated_target(target)
    return np.asarray((of if offers(of, Leading) else target).to_user(points))


def _monte_carlo_error(values: np.ndarray) -> np.ndarray:
    """Of the mean of ``values`` (chain, draw, parameter), by the means of batches."""
    chains, n, d = values.shape
    batches = max(1, min(_BATCHES, n // 10))
    length = n // batches
    means = values[:, : batches * length].reshape(chains * batches, length, d).mean(axis=1)
    return means.std(axis=0, ddof=1) / np.sqrt(len(means))


def seeds_of_measure(seed: np.random.SeedSequence) -> list[np.random.SeedSequence]:
    """Return the seeds of the moves and of the rows of a measurement. They differ from the seeds of all chains."""
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 2**32 - 1)).spawn(2)


def total_variation_bound(
    target: Any,
    law: LaplaceGaussian,
    chain: ReadyKernel,
    walked: np.ndarray,
    steps: int,
    seed: np.random.SeedSequence,
) -> float:
    """Return an upper bound of the total variation distance: ``1 - E a`` plus two Monte Carlo errors.

    ``a`` is the acceptance probability of independent proposals from the law; there are ``steps`` of them from each
    start.
    """
    points = walked.reshape(-1, walked.shape[2])
    points = points[np.linspace(0, len(points) - 1, _STARTS).astype(int)]
    mean = target.state_at(law.mean)
    factor = np.column_stack([target.state_at(law.mean + column) - mean for column in law.factor.T])
    proposal = IndependentGaussian(mean, factor).bind(target)
    ready = (MH() if chain.source is NO_ROWS else MHSS(floor=_FLOOR, delayed=False)).bind(target)
    moves, rows = seeds_of_measure(seed)
    setup = setup_of(target, joined(proposal, ready), rows)
    stream = open_stream(rows, setup.kernel.source)
    state = ChainState(mean.copy(), np.random.default_rng(moves), stream, ready.memory.copy())
    draws, record, rates = np.empty((steps, target.dim)), setup.new_record(steps), np.empty(_STARTS)
    for k, point in enumerate(points):
        state.here[:], state.memory[:] = target.state_at(point), ready.memory
        advance(state, setup, draws, record)
        rates[k] = record[:, RATE].mean()
    error = rates.std(ddof=1) / np.sqrt(_STARTS)
    return float(np.clip(1.0 - rates.mean() + 2.0 * error, 0.0, 1.0))
