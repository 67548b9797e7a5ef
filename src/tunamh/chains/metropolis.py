"""Propose, and accept or reject: the kernel that `test=` and `proposal=` make."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..acceptance import TunaMH
from ..acceptance.base import AcceptanceTest, ReadyTest
from ..capabilities import Preparing, offers
from ..compiled import BAD_RATIO, NO_FAULT, Move, Step, helper, part
from ..compiled.vector import copy_into
from ..proposals import ReadyProposal, as_proposal
from ..theory import FiniteProblem, transition_matrix
from .kernel import ROWS_READ, Kernel, OverSteps, ReadyKernel, Statistic

ACCEPTED, RATE, ROWS, FULL, WORST, MOVE_BOUND, REPORT = range(7)
"""Columns of what is recorded."""

_STATISTICS = (
    Statistic("accepted", OverSteps.ANY),
    Statistic("acceptance_rate"),
    ROWS_READ,
    Statistic("full_data_step", OverSteps.ANY),
    Statistic("bound_ratio", OverSteps.MAX),
    Statistic("move_bound", shown=False),
)


def statistics_of(reports: str | None) -> tuple[Statistic, ...]:
    """Return the statistics of a kernel whose test has its own number with the name ``reports`` (None: it has none)."""
    return *_STATISTICS, Statistic("report" if reports is None else reports, shown=reports is not None)


@helper(inline=True)
def ratio_of_proposal(rng, place, model, own, prior):
    """Fill ``there`` and ``prop`` with a proposal and return ``(log_rho, distance, log prior there)``.

    ``log_rho = log q(here|there) / q(there|here) + offset + log prior(prop) - log prior(theta)``; the argument
    ``prior`` is the last term. Outside the target's support the offset is ``-inf``, and prior and distance need not be
    defined.
    """
    hyper = model.data.hyper
    log_q = own.propose(rng, place.here, place.there, own.proposal_knobs)
    model.locate(place.there, place.prop, hyper)
    log_rho = log_q + model.offset(place.here, place.there, hyper)
    prior_there, distance = prior, np.nan
    if log_rho > -np.inf:
        prior_there = model.log_prior(place.prop, model.prior_hyper)
        log_rho += prior_there - prior
        distance = model.distance(place.here, place.there, hyper)
    return log_rho, distance, prior_there


@part(Step)
def metropolis_hastings(rng, place, model, stream, own, work, statistics):
    """Make one step in turn with other kernels. If it is the only kernel, `tunamh.chains.loop.run_chain` is used."""
    prior = model.log_prior(place.theta, model.prior_hyper)
    log_rho, distance, _ = ratio_of_proposal(rng, place, model, own, prior)
    if math.isnan(log_rho) or log_rho == np.inf:
        return BAD_RATIO
    move = Move(place.theta, place.prop, log_rho, distance)
    decision = own.decide(rng, move, model, stream, own.knobs, own.memory, work)
    if decision.fault != NO_FAULT:
        return decision.fault
    if decision.accepted:
        copy_into(place.here, place.there)
    statistics[ACCEPTED] = 1.0 if decision.accepted else 0.0
    statistics[RATE] = math.exp(min(0.0, decision.log_ratio))
    statistics[ROWS] = decision.rows
    statistics[FULL] = 1.0 if decision.full else 0.0
    statistics[WORST] = decision.worst
    statistics[MOVE_BOUND] = decision.move_bound
    statistics[REPORT] = decision.report
    return NO_FAULT


def joined(proposal: ReadyProposal, test: ReadyTest) -> ReadyKernel:
    """Return the kernel of a proposal and a test that are bound to a target."""
    return ReadyKernel(
        metropolis_hastings,
        statistics_of(test.reports),
        knobs=test.knobs,
        memory=test.memory,
        memory_is=test.memory_is,
        supply=test.supply,
        adapt=test.adapt,
        adapts_to="move_bound",
        proposal=proposal,
        decide=test.decide,
    )


@dataclass(frozen=True)
class MetropolisHastings(Kernel):
    """The kernel that proposes a state and then accepts or rejects this state.

    ``sample(target, proposal=..., test=...)`` uses this kernel.

    Parameters
    ----------
    proposal : optional
        `RandomWalk`, `Autoregressive` or your own. Default: the proposal of the target.
    test : acceptance test, optional
        Accepts or rejects the proposed state. Default: `TunaMH`.
    """

    proposal: Any = None
    test: AcceptanceTest | None = None

    def __post_init__(self) -> None:
        if self.proposal is not None:
            object.__setattr__(self, "proposal", as_proposal(self.proposal))

    def _chosen(self, target: Any) -> tuple[Any, Any]:
        test = TunaMH() if self.test is None else self.test
        return target.default_proposal() if self.proposal is None else self.proposal, test

    @property
    def exact(self) -> bool:
        return True if self.test is None else self.test.exact

    def prepare(self, target: Any) -> Any:
        for one in (self.test, self.proposal):
            if offers(one, Preparing):
                target = one.prepare(target)
        return target

    def bind(self, target: Any) -> ReadyKernel:
        proposal, test = self._chosen(target)
        return joined(proposal.bind(target), test.bind(target))

    def finite_transition(self, problem: FiniteProblem) -> np.ndarray:
        """Return the exact transition matrix (K, K) of the kernel on the K states of ``problem``.

        Row ``k`` is the distribution of the next state if the current state is ``k``. The matrix uses the proposal
        ``problem.proposal``, and not the proposal of the kernel.
        """
        return transition_matrix(problem, TunaMH() if self.test is None else self.test)
