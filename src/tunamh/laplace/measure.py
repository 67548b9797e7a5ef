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
from typing import Any

import numpy as np

from ..acceptance import MH, MHSS
from ..acceptance.base import AcceptanceTest, ReadyTest
from ..capabilities import Swept, offers
from ..chains.loop import RATE, ROWS, ChainState, advance, kernel_of, new_record
from ..proposals import Autoregressive, IndependentGaussian
from ..rows.stream import open_stream
from ..rows.supply import NO_ROWS
from .distance import LaplaceDistance
from .gaussian import LaplaceLaw, laplace_law, law_is_of, moments

FEWEST_DRAWS = 100
"""Of all chains together, below which nothing is said."""

_STARTS = 20  # kept draws from which independent proposals are made
_STEPS = 1000  # of them at most,
_STEP_SHARE = 0.05  # or this share of the run's own steps,
_ROWS = 2e6  # or as many as read so many rows
_FLOOR = 20.0  # rows of a minibatch: more than the chain's own take, for less noise in the decision
_VALUES = 20_000_000  # of draws at most, evenly spaced: memory is not ours
_BATCHES = 20  # per chain, by whose means Monte Carlo errors are estimated


def laplace_attributes(
    target: Any,
    test: AcceptanceTest,
    proposal: Any,
    ready: ReadyTest,
    draws: Sequence[np.ndarray],
    records: Sequence[np.ndarray],
    thin: int,
    seed: np.random.SeedSequence,
    names: Sequence[str],
) -> dict[str, Any]:
    """What a run's result says of Laplace's law; nothing where proposals do not come from one, or draws are not exact.

    ``draws`` and ``records`` are the chains', in walked coordinates; ``names`` those of the natural parameters. A test
    that prepares a target of its own (`FlyMC`) has other rows than the law's.
    """
    swept = offers(target, Swept)
    if not (swept or isinstance(proposal, Autoregressive)) or not test.exact or hasattr(test, "prepare"):
        return {}
    law = laplace_law(target)
    kept = min(map(len, draws))
    if law is None or len(draws) * kept < FEWEST_DRAWS:
        return {}
    every = max(1, len(draws) * kept * draws[0].shape[1] // _VALUES)
    walked = np.stack([chain[:kept:every] for chain in draws])
    some = walked[:, :: max(1, walked.shape[1] // FEWEST_DRAWS)]
    if (np.ptp(target.natural(some), axis=(0, 1)) == 0).any():  # no chain moved
        return {}
    rows = float(np.mean([record[:kept, ROWS].mean() for record in records]))
    steps = int(min(_STEPS, max(_STEP_SHARE * thin * len(draws) * kept, _ROWS / max(rows, 1.0))))
    bound = None
    if not swept and steps >= _STARTS:
        bound = total_variation_bound(target, law, ready, walked, steps // _STARTS, seed)
    return measured(target, law, walked, bound, names).attributes()


def measured(
    target: Any, law: LaplaceLaw, walked: np.ndarray, bound: float | None, names: Sequence[str]
) -> LaplaceDistance:
    """Means and standard deviations of draws (chain, draw, parameter) beside the law's, in natural units."""
    of = law_is_of(target)
    centre, covariance = moments(of, law)
    natural = target.natural(walked)[..., : len(centre)]  # effects of groups are not part of it
    mean, variance = natural.mean(axis=(0, 1)), natural.var(axis=(0, 1))
    sd = np.sqrt(variance)
    ratio = sd / np.sqrt(np.diag(covariance))
    ratio_error = ratio * _monte_carlo_error(np.square(natural - mean)) / (2.0 * variance)
    shift, shift_error = (mean - centre) / sd, _monte_carlo_error(natural) / sd
    return LaplaceDistance(list(names[: len(centre)]), bound, shift, shift_error, ratio, ratio_error)


def _monte_carlo_error(values: np.ndarray) -> np.ndarray:
    """Of the mean of ``values`` (chain, draw, parameter), by the means of batches."""
    chains, n, d = values.shape
    batches = max(1, min(_BATCHES, n // 10))
    length = n // batches
    means = values[:, : batches * length].reshape(chains * batches, length, d).mean(axis=1)
    return means.std(axis=0, ddof=1) / np.sqrt(len(means))


def seeds_of_measure(seed: np.random.SeedSequence) -> list[np.random.SeedSequence]:
    """Of moves and rows, apart from those of all chains."""
    return np.random.SeedSequence(seed.entropy, spawn_key=(*seed.spawn_key, 2**32 - 1)).spawn(2)


def total_variation_bound(
    target: Any, law: LaplaceLaw, test: ReadyTest, walked: np.ndarray, steps: int, seed: np.random.SeedSequence
) -> float:
    """``1 - E a`` of independent proposals from the law, ``steps`` from each start, two Monte Carlo errors added."""
    points = walked.reshape(-1, walked.shape[2])
    points = points[np.linspace(0, len(points) - 1, _STARTS).astype(int)]
    mean = target.state_at(law.mean)
    factor = np.column_stack([target.state_at(law.mean + column) - mean for column in law.factor.T])
    proposal = IndependentGaussian(mean, factor).bind(target)
    ready = (MH() if test.supply is NO_ROWS else MHSS(floor=_FLOOR, delayed=False)).bind(target)
    moves, rows = seeds_of_measure(seed)
    kernel = kernel_of(target, proposal, ready, rows)
    stream = open_stream(rows, kernel.test.supply)
    state = ChainState(mean.copy(), np.random.default_rng(moves), stream, ready.memory.copy())
    draws, record, rates = np.empty((steps, target.dim)), new_record(steps), np.empty(_STARTS)
    for k, point in enumerate(points):
        state.here[:], state.memory[:] = target.state_at(point), ready.memory
        advance(state, kernel, draws, record)
        rates[k] = record[:, RATE].mean()
    error = rates.std(ddof=1) / np.sqrt(_STARTS)
    return float(np.clip(1.0 - rates.mean() + 2.0 * error, 0.0, 1.0))
