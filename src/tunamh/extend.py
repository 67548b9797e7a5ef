"""Tools to write your own family, prior, proposal, acceptance test, kernel or source of rows.

docs/extend.md and docs/kernels.md have a complete example for each template below; the test suite runs these examples.

The words of this page:

- *Role*: the signature of a compiled function. *Part*: a function that ``@part(role)`` has compiled for this signature.
  The chain is compiled, too, and calls parts without Python. `helper` compiles functions that parts call. A part cannot
  raise an error: it returns NaN or the number of a fault, and then Python raises the error.
- *Energy* of a row: its negative log-likelihood ``U_i(theta)``. *Rise*: its difference ``U_i(prop) - U_i(theta)``.
- *Packed rows*: one array with all numbers that compiled code reads of each row (features, response, bound).
- *Bound* of row ``i``: a number ``c_i`` with ``|U_i(prop) - U_i(theta)| <= c_i M(theta, prop)`` for all ``theta`` and
  ``prop``; ``M`` is a distance. ``C`` is the sum of the bounds of all rows.
- *Supply*: the object that draws rows for a test or kernel. It draws row ``i`` with the probability ``c_i / C``.
- ``hyper``: fixed numbers of a part. ``knobs``: its tuning parameters, which warm-up sets. ``memory``: numbers that a
  test or kernel keeps between steps. A kernel's step finds them in the argument ``own``: ``own.hyper`` and so on.

| you add | its task | you write | you pass it to |
|---|---|---|---|
| family | energy, given the linear predictor | `FamilyEnergy`, `FamilyRise`, a `Family` | ``GLM(X, y, family)`` |
| prior | log density of the parameters | ``log_prior(theta)``, a `Prior` | ``GLM(X, y, family, prior=...)`` |
| proposal | the next state and its Hastings factor | `Propose`, a `Proposal` | ``sample(target, proposal=...)`` |
| test | accept or reject, with which rows | `Decide`, an `AcceptanceTest` | ``sample(target, test=...)`` |
| kernel | one exact step of the chain | `Step`, a `Kernel` | ``sample(target, kernel=...)`` |
| source | the rows, block by block | ``map(function)``, a `Source` | ``GLM(source, family=...)`` |

The roles
---------
Vectors are one-dimensional float64 arrays. ``out`` and the proposed state ``there`` are arrays that the part fills. ::

    FamilyEnergy  energy(n, eta, y, hyper, out)               out[:n]: the energies of n rows
    FamilyRise    rise(n, eta, eta_prop, y, hyper, out)       out[:n]: their energy differences
    LogPrior      log_prior(theta, hyper) -> float            the log prior density; -inf outside the support
    Distance      distance(here, there, hyper) -> float       the symmetric distance M of two states
    Propose       propose(rng, here, there, knobs) -> float   the log Hastings factor of the proposed state
    Decide        decide(rng, move, model, stream, knobs, memory, work) -> Decision
    Adapt         adapt(knobs, mean)                          changes knobs in warm-up; mean is that of a statistic
    Step          step(rng, place, model, stream, own, work, statistics) -> int       NO_FAULT, or a fault

``rng`` is the random generator of the chain. ``model`` is the compiled target, and ``work`` its temporary space.
``stream`` has the rows that are drawn next. Pass these arguments on to `sum_of_rises`, `sum_of_energies` and
`draw_rows`. ``model.n_rows`` is the number of rows; docs/kernels.md shows other fields that a kernel may need.

Other names: `NO_FAULT` (-1) says that there is no error. `BAD_RATIO` (-2) says that the log acceptance ratio is NaN or
+infinity, and `BAD_DISTANCE` (-3) that the distance is NaN or negative. A fault of 0 or more is the number of a row.
`BLOCK` is the largest number of rows in one call of a part. `NO_ROWS` is the supply of a test that draws no rows.
`ROWS_READ` is the `Statistic` for the number of rows that a step reads. `CONTRACT` and `REASSOCIATE` are values of
``fastmath`` (see `part`).

A family
--------
``f(eta, y)`` is minus the log likelihood of one row as a function of its linear predictor ``eta``. tunamh computes the
bounds of rows from upper bounds of the derivatives of ``f``. You must prove these upper bounds; they may be infinite.
Minibatches need a finite bound of the first derivative or, with ``Taylor(order=k)``, of derivative number
``k + 1``. `tunamh.check_bounds` tests the bounds at random points. ::

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
        hyper = ()                                      # numbers that are passed to energy and rise

        def derivatives(self, eta, y): ...              # f', f'', f''' with respect to eta
        def suprema(self, y): return Suprema(...)       # per row, of |f'|, |f''|, |f'''| over all eta

All other members of `Family` are optional; their docstrings describe them. ``check(y)`` raises an error for responses
that the family does not allow. ``convex``, ``guess`` and ``suprema_near`` make set-up faster and bounds smaller.
FlyMC needs ``lower_bound``.

A prior
-------
A prior is a compiled function of the parameters that returns the log density; it returns ``-inf`` outside the support.
The chain calls it at every step. `UserPrior` adds your own derivatives; without them finite differences are used. A
subclass of `Prior` has a name and parameters, and works wherever `tunamh.Normal` works. ::

    @numba.njit
    def log_prior(theta):
        return ...                                      # up to a constant

    @dataclass(frozen=True)
    class MyPrior(Prior):
        def bind(self, dim):                            # dim: the number of parameters
            return UserPrior(log_prior, gradient=..., hessian=...).bind(dim)

A proposal
----------
``knobs[0]`` is the step size. With ``tuned=True`` warm-up tunes it to the acceptance rate ``acceptance``. The chain is
exact for any step size, if the Hastings factor is right. ::

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
``move`` is a `Move`. It has the parameters ``theta`` and ``prop``. Its ``log_rho`` is the part of the log acceptance
ratio that needs no rows: prior, proposal and Taylor part. Its ``distance`` is ``M(theta, prop)``. If the test chooses
between several methods, the choice may depend on the move only by a symmetric function of (theta, prop). ::

    @part(Decide)
    def decide(rng, move, model, stream, knobs, memory, work):
        theta, prop, log_rho, distance = move
        if log_rho == -np.inf:                          # prop lies outside the support
            return verdict(rng, log_rho, 0, False, np.nan, np.nan)
        total, worst, fault = sum_of_rises(theta, prop, model, work, distance)      # all rows, or draw_rows: a few
        if fault != NO_FAULT:
            return failure(fault)
        return verdict(rng, log_rho - total, model.n_rows, True, worst, np.nan)

    @dataclass(frozen=True)
    class MyTest:
        exact: ClassVar[bool] = True                    # is the posterior the stationary distribution?

        def bind(self, target):
            return ReadyTest(decide, knobs=fixed([]), memory=np.empty(0), supply=NO_ROWS)

        def finite_acceptance(self, problem, here, there): ...      # its exact probability, for `tunamh.theory`

``memory`` is kept between the steps of a chain; `tunamh.MH` keeps the energy of the current state there. A test that
draws rows uses ``supply=target.supply``; then `draw_rows` draws row ``i`` with the probability ``c_i / C``. Before you
trust a simulation, use `tunamh.theory.transition_matrix` and `tunamh.theory.detailed_balance_error` to check that the
test is exact.

A kernel
--------
A kernel makes a whole step of the chain: it changes the state in the array ``place.here``, and must leave the posterior
invariant. `InTurn` makes one step of each of several kernels. `MetropolisHastings(proposal, test)` is a kernel.
docs/kernels.md has a complete example, with a proof by enumeration that the kernel is exact. ::

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
A source returns rows from files, or from any other place, in blocks of some thousand rows. It needs no base class, only
these four members. ::

    class MySource:
        n_rows = ...
        names = None                                    # or a list with a name for each column of X
        fingerprint = "..."                             # differs for different data; results keep it

        def map(self, function):                        # function of every block, in the order of the rows
            return (function(Rows(start, X, y)) for start, X, y in ...)     # Rows has weights= and offset= too

An attribute such as ``memory = 2**31`` limits the bytes of rows in memory. ``RowsOfTables(tables, read, names,
columns)`` makes a source from tables in blocks (`tunamh.open_rows`). The function ``read`` makes `Rows` from a
`TableBlock`; it may run in other processes.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable
from inspect import signature
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
    Move,
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
from .rows.supply import NO_ROWS, Supply, draw_rows
from .rows.table_source import RowsOfTables, TableBlock, Tables
from .targets.families.base import Family, LowerBound, Suprema
from .theory import FiniteProblem


def __getattr__(name: str) -> Any:
    """Two classes of before, of which `Family` has the members."""
    if name in ("WellKnownFamily", "FamilyWithLowerBound"):
        warnings.warn(
            f"tunamh.extend.{name} is an old name: use tunamh.extend.Family, which has the same members.",
            DeprecationWarning,
            stacklevel=2,
        )
        return Family
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def part(role: Any, *, fastmath: Any = False, cache: bool = False) -> Callable[[Callable], Part]:
    """Decorator: compile a function for a role, that is, with the signature that tunamh needs for a task.

    Parameters
    ----------
    role : FamilyEnergy, FamilyRise, LogPrior, Propose, Decide, Step, Adapt or Distance
        The role. The docstring of `tunamh.extend` lists the arguments and the result of each role.
    fastmath : set of LLVM flags, optional
        Which changes of floating-point arithmetic the compiler may make. `CONTRACT` and `REASSOCIATE` are such sets;
        both are safe for NaN and infinity. Default: no changes.
    cache : bool
        True: keep the compiled code on disk. If you edit the function, or a function that it calls, it is compiled
        again.

    Returns
    -------
    A decorator. It returns a `Part`, which you pass to `ReadyTest`, `ReadyKernel` or another object of tunamh.
    """
    decorate = _jit.part(role, fastmath=fastmath, cache=cache)
    if role is not Decide:
        return decorate
    return lambda function: decorate(_of_a_move(function))


def _of_a_move(function: Callable) -> Callable:
    """A test as it is written now; one with the ten arguments of 0.1 is called by one with a `Move`."""
    if len(signature(function).parameters) != 10:
        return function
    warnings.warn(
        f"{function.__name__} has the ten arguments that a test had in tunamh 0.1. Write (rng, move, model, stream, "
        "knobs, memory, work) and begin with theta, prop, log_rho, distance = move.",
        DeprecationWarning,
        stacklevel=3,
    )
    inner = helper(function)

    def decide(rng: Any, move: Any, model: Any, stream: Any, knobs: Any, memory: Any, work: Any) -> Any:
        theta, prop, log_rho, distance = move
        return inner(rng, theta, prop, log_rho, distance, model, stream, knobs, memory, work)

    decide.__doc__ = function.__doc__
    return decide


def helper(
    function: Callable | None = None, *, fastmath: Any = False, inline: bool = False, cache: bool = False
) -> Any:
    """Decorator: compile a function that parts call (see `part`).

    Parameters
    ----------
    function : callable
        The Python function.
    inline : bool
        True: copy the compiled code into its callers. Use it for a function that is called for every row.
    fastmath, cache
        The same arguments as for `part`.
    """
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
    "FiniteProblem",
    "InTurn",
    "Kernel",
    "LogPrior",
    "LowerBound",
    "Memory",
    "MetropolisHastings",
    "Move",
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
