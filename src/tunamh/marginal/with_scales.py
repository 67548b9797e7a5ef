"""The evidence of models with unknown scales: of group effects, curves, Ridge and the like (docs/spec-evidence.md 4).

Where a pass over the rows costs little, every proposal makes one (`bridged`). Of tall data without groups minibatches
decide about moves between points ``(h, x)``, and the density at one point follows as in section 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..errors import NotApplicable
from ..groups import MixedModel
from ..process.stages import announce
from .bridge import bridged
from .density import Weights
from .estimate import Decides, posterior_ordinate
from .joint import Joint, State
from .pairs import Decided

_MOST_READ = 1e9  # rows, by all proposals together
_FEWEST = 200
_LEARNED = 2000  # draws


class Found(NamedTuple):
    """The result: ``log Z``, its error, the proposals per direction, the rows per proposal, the acceptance."""

    log_z: float
    se: float
    proposals: int
    rows: float
    acceptance: tuple[float, float]


class OfPoints:
    """Decides on moves between points ``(h, x)`` with a test for which the prior has known scales."""

    def __init__(self, test: Decides, weights: Weights, prior: Any):
        self.test, self.weights, self.prior = test, weights, prior

    def decide(self, here: np.ndarray, there: np.ndarray, log_q: np.ndarray) -> Decided:
        first = self.weights.joint.count
        fall = self._correction(there) - self._correction(here)
        return self.test.decide(here[:, first:], there[:, first:], log_q + fall)

    def _correction(self, points: np.ndarray) -> np.ndarray:
        """The log prior, minus what the test takes for it."""
        different, back = np.unique(points, axis=0, return_inverse=True)
        joint, known = self.weights.joint, []
        for state in self.weights.states(different):
            wide = self.prior.log_prior(np.ascontiguousarray(state.common), self.prior.hyper)
            known.append(joint.log_prior(state) - wide if wide > -np.inf else -np.inf)
        return np.array(known)[back.ravel()]


def has_unknown_scales(target: Any) -> bool:
    """Return True if a model has group effects or a prior with unknown scales."""
    return isinstance(target, MixedModel) or target.coefficient_prior.mixture is not None


def by_all_rows(target: Any, draws: list[list[State]], proposals: int, rng: np.random.Generator) -> Found:
    """Estimate ``log Z`` from proposals that read all rows. ``draws`` has the draws of every chain."""
    weights, later = _learned(Joint(target), draws, rng)
    passes = weights.passes * target.n_rows
    n = min(proposals, max(_FEWEST, int(_MOST_READ / passes)))
    every = max(1, sum(len(chain) for chain in later) // n)
    announce("comparing the posterior with proposals")
    of_posterior = np.array([[weights.at_draw(state) for state in chain[::every]] for chain in later])
    found = bridged(of_posterior, np.array([weights.at_proposal(rng) for _ in range(n)]))
    return Found(found.log_z, found.se, n, passes, found.overlap)


def by_minibatches(
    target: Any, draws: list[list[State]], proposals: int, rng: np.random.Generator, test: Decides, prior: Any
) -> Found:
    """Estimate ``log Z`` from moves that read minibatches.

    ``prior`` is the prior with known scales that the test uses.
    """
    weights, later = _learned(Joint(target), draws, rng)
    joint = weights.joint
    points = np.array([[_point(weights, state) for state in chain] for chain in later])
    found = posterior_ordinate(points, weights, OfPoints(test, weights, prior), proposals, rng)
    announce("adding up the likelihood of all rows")
    (state,) = weights.states(weights.centre[None])
    return Found(joint.log_density(state) - found.log_density, found.se, proposals, found.rows, found.acceptance)


def _point(weights: Weights, state: State) -> np.ndarray:
    return np.concatenate([weights.joint.in_vector(state), weights.given.outside_of(state.common, state.effects)])


def _learned(joint: Joint, draws: list[list[State]], rng: np.random.Generator) -> tuple[Weights, list[list[State]]]:
    """The law from the first half of every chain, and the other halves, which know nothing of it.

    Some draws between them are left out: the last of the first half would know the next ones.
    """
    half = min(len(chain) for chain in draws) // 2
    first = [state for chain in draws for state in chain[: half - half // 5]]
    if half < 50:
        raise NotApplicable(
            f"the evidence of a model with unknown scales needs at least 100 draws in every chain, and there are "
            f"{2 * half}: sample more (draws=)."
        )
    return Weights(joint, first[:: max(1, len(first) // _LEARNED)], rng), [chain[half : 2 * half] for chain in draws]
