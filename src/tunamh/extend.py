"""What a person needs to add a family, prior, proposal, test, kernel or source of rows: one file of their own.

A *role* is a signature, a *part* is a function compiled for it by ``@part(role)`` and handed over as a pointer: the
chain runs parts that it has never seen, at full speed. `helper` compiles what parts call. Parts never raise: they
report, by NaN or by the ``fault`` of a `Decision`, and Python raises. docs/extend.md and docs/kernels.md have each
skeleton below as a complete example, which the test suite runs.

| you add | the chain asks | write | give it to |
|---|---|---|---|
| family | what does a row say, given its predictor | `FamilyEnergy`, `FamilyRise`, a `Family` | ``GLM(X, y, family)`` |
| prior | what is known before the data | ``log_prior(theta)``, a `Prior` | ``GLM(X, y, family, prior=...)`` |
| proposal | where next, and its Hastings factor | `Propose`, a `Proposal` | ``sample(target, proposal=...)`` |
| test | accept or reject, on which rows | `Decide`, an `AcceptanceTest` | ``sample(target, test=...)`` |
| kernel | one exact step of the chain | `Step`, a `Kernel` | ``sample(target, kernel=...)`` |
| source | what are the rows | ``map(function)``, a `Source` | ``GLM(source, family=...)`` |

A family
--------
``f(eta, y)`` is minus the log likelihood of one row at the predictor ``eta``. Bounds come from the suprema of its
derivatives: prove them, in the docstring. Infinity is allowed, and says what the family cannot serve: minibatches need
the first (or, with ``Taylor(order=k)``, number ``k + 1``). `tunamh.check_bounds` looks for a mistake. ::

    @part(FamilyEnergy)
    def energy(n, eta, y, hyper, out):                  # out[:n] = f(eta, y)
        for b in range(n):
            out[b] = ...

    @part(FamilyRise)
    def rise(n, eta, eta_prop, y, hyper, out):          # out[:n] = f(eta_prop, y) - f(eta, y), without cancellation
        for b in range(n):
            out[b] = ...

    @dataclass(frozen=True)
    class MyFamily(Family):
        energy, rise = energy, rise
        hyper = ()                                      # numbers of its own, which energy and rise are given

        def derivatives(self, eta, y): ...              # f', f'', f''' with respect to eta
        def suprema(self, y): return Suprema(...)       # per row, of |f'|, |f''|, |f'''| over all eta

What a family may add: ``check(y)`` raises for responses that it does not know, `WellKnownFamily` makes set-up faster
and bounds smaller, `FamilyWithLowerBound` serves FlyMC.

A prior
-------
A compiled function of the parameters, evaluated whole at every step; ``-inf`` outside its support. `UserPrior` gives it
derivatives of your own in the place of differences; a `Prior` gives it a name and numbers, and is accepted wherever
`tunamh.Normal` is. ::

    @numba.njit
    def log_prior(theta):
        return ...                                      # up to a constant

    @dataclass(frozen=True)
    class MyPrior(Prior):
        def bind(self, dim):                            # as many parameters
            return UserPrior(log_prior, gradient=..., hessian=...).bind(dim)

A proposal
----------
``knobs[0]`` is the step size. With ``tuned=True`` warm-up turns it until ``acceptance`` is met; its chain is exact
whatever the step size, as long as the Hastings factor is right. ::

    @part(Propose)
    def propose(rng, here, there, knobs):               # fill all of there
        for j in range(here.size):
            there[j] = ...
        return ...                                      # log q(here | there) - log q(there | here)

    @dataclass(frozen=True)
    class MyProposal(Proposal):
        def bind(self, space):                          # space.dim, space.states, space.precision_trace
            return ReadyProposal(propose, fixed([step]), tuned=True, acceptance=0.25)

A test
------
``log_rho`` is what is cheap and exact of the log acceptance ratio (prior, proposal, Taylor part), ``distance`` the
``M(theta, prop)`` with ``|U_i(prop) - U_i(theta)| <= c_i M``. Whatever the test lets depend on the move must be
symmetric in (theta, prop). ::

    @part(Decide)
    def decide(rng, theta, prop, log_rho, distance, model, stream, knobs, memory, work):
        if log_rho == -np.inf:                          # prop lies outside the support
            return verdict(rng, log_rho, 0, False, np.nan, np.nan)
        total, worst, fault = sum_of_rises(theta, prop, model, work, distance)      # all rows, or draw_rows: a few
        if fault != NO_FAULT:
            return failure(fault)
        return verdict(rng, log_rho - total, model.n_rows, True, worst, np.nan)

    @dataclass(frozen=True)
    class MyTest:
        exact: ClassVar[bool] = True                    # is the posterior the law of its chain?

        def bind(self, target):
            return ReadyTest(decide, knobs=fixed([]), memory=np.empty(0), supply=NO_ROWS)

        def finite_acceptance(self, problem, here, there): ...      # its exact probability, for `tunamh.theory`

``memory`` is what a chain keeps between steps (in `tunamh.MH` the energy of its state). A test that draws
rows gives ``supply=target.supply``: `draw_rows` then takes them from the law ``c_i / C``. Prove the test exact by
`tunamh.theory.transition_matrix` and `tunamh.theory.detailed_balance_error` before trusting a simulation.

A kernel
--------
All of a step: it moves ``place.here`` in place and must leave the posterior as it is. `InTurn` lets kernels take turns,
`MetropolisHastings(proposal, test)` is one of them. docs/kernels.md has a complete example with its enumeration. ::

    @part(Step)
    def step(rng, place, model, stream, own, work, statistics):
        place.here[0] = ...                             # own.hyper, own.knobs, own.memory are the kernel's own
        statistics[0] = ...                             # a number for each name below
        return NO_FAULT

    @dataclass(frozen=True)
    class MyKernel(Kernel):
        def bind(self, target):
            return ReadyKernel(step, statistics=(Statistic("how_far"),), hyper=fixed([...]))

        def finite_transition(self, problem): ...       # its transition matrix, for `tunamh.theory.invariance_error`

A source
--------
Rows that lie in files, or anywhere else, in blocks of some thousand. No base class: whatever has these four is one. ::

    class MySource:
        n_rows = ...
        names = None                                    # or one for each column of X
        fingerprint = "..."                             # differs for different data; results keep it

        def map(self, function):                        # function of every block, in the order of the rows
            return (function(Rows(start, X, y)) for start, X, y in ...)     # Rows has weights= and offset= too

With ``memory = 2**31`` it says how many bytes of rows may be held. Tables in blocks (`tunamh.open_rows`) become such a
source by a function of a block, which may be sent to other processes: ``RowsOfTables(tables, read, names, columns)``.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import compiled as _jit
from .acceptance.base import (
    AcceptanceTest,
    Memory,
    ReadyTest,
    accepts,
    failure,
    sum_of_energies,
    sum_of_rises,
    verdict,
    within_rounding,
)
from .chains.in_turn import InTurn
from .chains.kernel import ROWS_READ, Kernel, OverSteps, ReadyKernel, Statistic
from .chains.metropolis import MetropolisHastings
from .compiled import (
    BAD_DISTANCE,
    BAD_RATIO,
    BLOCK,
    CONTRACT,
    NO_FAULT,
    REASSOCIATE,
    Adapt,
    Decide,
    Decision,
    Distance,
    FamilyEnergy,
    FamilyRise,
    LogPrior,
    Part,
    Propose,
    Step,
    fixed,
)
from .compiled.random import poisson
from .errors import NotApplicable
from .priors import Prior, PriorExpansion, ReadyPrior, UserPrior
from .proposals import Proposal, ReadyProposal, Space
from .rows.source import Factored, Rows, Source
from .rows.stream import draw_rows
from .rows.supply import NO_ROWS, Supply
from .rows.table_source import RowsOfTables, TableBlock, Tables
from .targets.families.base import Family, FamilyWithLowerBound, LowerBound, Suprema, WellKnownFamily
from .theory import FiniteProblem


def part(role: Any, *, fastmath: Any = False, cache: bool = False) -> Callable[[Callable], Part]:
    """Decorator: this function plays ``role``.

    Parameters
    ----------
    role : FamilyEnergy, FamilyRise, LogPrior, Propose, Decide, Step, Adapt, Distance
    fastmath : set of LLVM flags, optional
        `CONTRACT` and `REASSOCIATE` keep NaN and infinity.
    cache : bool
        Keep the compiled code on disk. Numba notices changes in the function's own file, not in files of yours that it
        calls into: leave it off while you work on those.
    """
    return _jit.part(role, fastmath=fastmath, cache=cache)


def helper(
    function: Callable | None = None, *, fastmath: Any = False, inline: bool = False, cache: bool = False
) -> Any:
    """Decorator: compiled for parts to call; ``inline=True`` where it is called for every row. As `part` otherwise."""
    return _jit.helper(function, fastmath=fastmath, inline=inline, cache=cache)


__all__ = [
    "BAD_DISTANCE",
    "BAD_RATIO",
    "BLOCK",
    "CONTRACT",
    "NO_FAULT",
    "NO_ROWS",
    "REASSOCIATE",
    "ROWS_READ",
    "AcceptanceTest",
    "Adapt",
    "Decide",
    "Decision",
    "Distance",
    "Factored",
    "Family",
    "FamilyEnergy",
    "FamilyRise",
    "FamilyWithLowerBound",
    "FiniteProblem",
    "InTurn",
    "Kernel",
    "LogPrior",
    "LowerBound",
    "Memory",
    "MetropolisHastings",
    "NotApplicable",
    "OverSteps",
    "Part",
    "Prior",
    "PriorExpansion",
    "Proposal",
    "Propose",
    "ReadyKernel",
    "ReadyPrior",
    "ReadyProposal",
    "ReadyTest",
    "Rows",
    "RowsOfTables",
    "Source",
    "Space",
    "Statistic",
    "Step",
    "Supply",
    "Suprema",
    "TableBlock",
    "Tables",
    "UserPrior",
    "WellKnownFamily",
    "accepts",
    "draw_rows",
    "failure",
    "fixed",
    "helper",
    "part",
    "poisson",
    "sum_of_energies",
    "sum_of_rises",
    "verdict",
    "within_rounding",
]
