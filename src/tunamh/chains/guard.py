"""Compiled code reports what it saw; here it becomes an error that names the row and the numbers."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arguments import seed_sequence, shown, whole_number
from ..acceptance.base import audit_pair, audit_state
from ..acceptance.out_of_core import AllRows
from ..capabilities import Modelled, offers
from ..compiled import (
    BAD_DISTANCE,
    BAD_RATIO,
    BLOCK,
    NO_FAULT,
    NO_ROWS_CAME,
    Model,
    Work,
    same_coordinates,
)
from ..errors import BoundViolation, NonFiniteEnergy, TunaMHError

if TYPE_CHECKING:
    from ..targets import Target


_START_TRIES = 100

_FAR_BELOW = -1e30  # where no energy that is minus a log density lies


def new_work() -> Work:
    """Return the work arrays for one block of rows."""
    return Work(np.empty(BLOCK, np.int64), np.empty(BLOCK), np.empty(BLOCK))


def parameters_at(state: np.ndarray, model: Model) -> np.ndarray:
    """Return the parameters ``theta`` at a state of the chain.

    If the chain uses its own coordinates, this is a new vector, otherwise the same array.
    """
    if model.locate is same_coordinates:
        return state
    theta = np.empty(model.dim)
    model.locate(state, theta, model.data.hyper)
    return theta


def explain(
    fault: int, here: np.ndarray, there: np.ndarray, model: Model, step: int | None = None, pool: Any = None
) -> BaseException:
    """Return the error for a fault that occurred at the move ``here -> there``.

    ``pool`` contains the row numbers of gathered rows.
    """
    if fault == NO_ROWS_CAME:
        return pool.failure()
    row = fault if pool is None or fault < 0 else int(pool.numbers[fault])
    return _explained(fault, here, there, model, step, row)


def _explained(
    fault: int, here: np.ndarray, there: np.ndarray, model: Model, step: int | None, row: int
) -> TunaMHError:
    theta, prop = parameters_at(here, model), parameters_at(there, model)
    when = "" if step is None else f" at step {step}"
    if fault == BAD_RATIO:
        return NonFiniteEnergy(f"{_bad_ratio(theta, prop, model)}{when}", step=step)
    distance = model.distance(here, there, model.data.hyper)
    if fault == BAD_DISTANCE:
        return NonFiniteEnergy(
            f"the distance M(theta, prop) is {distance}{when} for the move {_show(theta)} -> {_show(prop)}; "
            "it must be a number that is not negative",
            step=step,
        )
    before, after = (_energy_of_row(point, fault, model) for point in (theta, prop))
    if not (math.isfinite(before) and math.isfinite(after)):
        return NonFiniteEnergy(
            f"row {row} has energy {before:.6g} at theta = {_show(theta)} and {after:.6g} at prop = {_show(prop)}"
            f"{when}; every energy must be finite.{_of_sign(min(before, after))}",
            row=row,
            step=step,
        )
    rise, c = np.empty(1), np.empty(1)
    model.differences(theta, prop, np.array([fault]), 0, 1, model.data, rise, c)
    if math.isnan(rise[0]):  # a firefly target has no differences: its energies, minus the gaps, must not exceed zero
        return BoundViolation(row, math.inf, rise=max(before, after), bound=0.0, step=step, own_bounds=model.own_bounds)
    bound = math.inf if distance == math.inf else c[0] * distance  # NaN where rows lie in groups
    if abs(rise[0]) <= bound:
        return NonFiniteEnergy(
            f"the sum of the energies of the rows up to row {row} is not finite{when}, or the energy of this row "
            f"({before:.6g} and {after:.6g}) is outside the range that PoissonMH got, for the move {_show(theta)} -> "
            f"{_show(prop)}",
            row=row,
            step=step,
        )
    ratio = math.inf if bound == 0 else abs(rise[0]) / bound
    return BoundViolation(row, ratio, rise=rise[0], bound=bound, step=step, own_bounds=model.own_bounds)


def _of_sign(energy: float) -> str:
    """A question where an energy falls without end: it is then hardly minus a log density."""
    return " An energy is minus the log density of the row: is the sign right?" if energy < _FAR_BELOW else ""


def _bad_ratio(theta: np.ndarray, prop: np.ndarray, model: Model) -> str:
    """Which of proposal and prior is to blame for a ratio that is NaN or +infinity."""
    prior = model.log_prior(prop, model.prior_hyper)
    move = f"{_show(theta)} -> {_show(prop)}"
    if np.isfinite(prop).all() and not (math.isfinite(prior) or prior == -math.inf):
        return f"the log prior is {prior}, and must be a number or -infinity, at the end of the move {move}"
    return f"the proposal's ratio is NaN or +infinity for the move {move}"


def check_start(state: np.ndarray, model: Model) -> None:
    """Raise an error if ``state`` is outside the support or its prior is not finite."""
    theta = parameters_at(state, model)
    if model.offset(state, state, model.data.hyper) == -math.inf:
        raise ValueError(f"the initial state {_show(theta)} is outside the support of the target")
    prior = model.log_prior(theta, model.prior_hyper)
    if not math.isfinite(prior):
        raise NonFiniteEnergy(f"the log prior is {prior} at the initial state {_show(theta)}")


def check_energies(state: np.ndarray, model: Model, pool: Any = None) -> None:
    """Raise an error if the energy of a row is not finite at ``state``."""
    theta = parameters_at(state, model)
    _, fault = audit_state(theta, theta, 0.0, model, new_work())
    if fault == NO_ROWS_CAME:
        raise pool.failure()
    if fault != NO_FAULT:
        energy, row = _energy_of_row(theta, fault, model), fault if pool is None else int(pool.numbers[fault])
        sums = ", and the sum with the rows before it is not finite," if math.isfinite(energy) else ""
        told = f"row {row} has energy {energy:.6g}{sums} at the initial state {_show(theta)}"
        raise NonFiniteEnergy(f"{told}.{_of_sign(energy)}" if _of_sign(energy) else told, row=row)


def check_move(here: np.ndarray, there: np.ndarray, model: Model, step: int | None = None, pool: Any = None) -> float:
    """Check every row against its bound at one move and return the largest ratio.

    If a row fails, raise the error that `explain` returns.
    """
    theta, prop = parameters_at(here, model), parameters_at(there, model)
    forth, back = (model.distance(a, b, model.data.hyper) for a, b in ((here, there), (there, here)))
    if forth >= 0 and abs(forth - back) > 1e-9 * forth:
        raise ValueError(
            f"the distance is not symmetric: M(theta, prop) = {forth:.6g} but M(prop, theta) = {back:.6g} for "
            f"theta = {_show(theta)}, prop = {_show(prop)}"
        )
    worst, fault = audit_pair(theta, prop, forth, model, new_work())
    if fault != NO_FAULT:
        raise explain(fault, here, there, model, step, pool)
    return worst


def check_bounds(target: Target, pairs: int = 20, rng: Any = None) -> float:
    """Check whether the bounds of all rows hold, at random pairs of states.

    The bound of row ``i`` is a number ``c_i`` with ``|U_i(prop) - U_i(theta)| <= c_i M(theta, prop)``. ``U_i`` is the
    energy (negative log-likelihood) of the row, and ``M`` is a distance. The draws are exact only if all bounds hold.

    Parameters
    ----------
    target : Target
        The target whose bounds are checked: a `GLM`, an `EnergyTarget`, ...
    pairs : int
        Number of pairs. The first state of a pair comes from the distribution of initial states. The second state lies
        on the line from the first state to another initial state, at 1/1000 to 100 times the distance of that state.
    rng : seed or Generator, optional
        The seed of the random pairs. By default the pairs differ in every call.

    Returns
    -------
    float
        The largest ratio ``|U_i(prop) - U_i(theta)| / (c_i M)`` of all rows and pairs: the change of the energy ``U_i``
        of a row, divided by the bound of this change. It is at most 1.

    Raises
    ------
    BoundViolation
        If a row exceeds its bound; the error names the first such row. If there is no error, this is evidence that the
        bounds are right, but not a proof. For a proof, derive each ``c_i`` from the supremum of the derivative of
        ``U_i``.

    Examples
    --------
    >>> tunamh.check_bounds(target, rng=1)  # target: your own EnergyTarget
    """
    if not offers(target, Modelled):
        raise TypeError(f"target must be a tunamh target such as LogisticRegression(X, y), got {shown(target)}.")
    pairs = whole_number("pairs", pairs, 1)
    seed_sequence("rng", rng)  # says what is wrong with it
    generator = np.random.default_rng(rng)
    own = target.own_kernel()
    if own is not None:
        return own.check_bounds(target, pairs, generator)
    model, pool = opened_model(target, np.random.SeedSequence(0))
    return max(check_move(*_random_pair(target, model, generator), model, pool=pool) for _ in range(pairs))


def opened_model(target: Any, rows: np.random.SeedSequence) -> tuple[Model, Any]:
    """Return a target as one chain sees it, and its pool of rows if not all rows are in memory.

    ``rows`` is the seed with which rows are drawn.
    """
    gathered = target.gathered
    if gathered is None:
        return target.model(), None
    of_no_rows = np.empty((0, gathered.width))
    of_no_rows.flags.writeable = False
    pool = gathered.pool(rows, AllRows(target.model(of_no_rows), gathered))
    return target.model(pool.readable, pool.address), pool


def _random_pair(target: Target, model: Model, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    here, other = (supported_start(target, model, rng) for _ in range(2))
    if target.states is None:
        far = here + 10 ** rng.uniform(-3, 2) * (other - here)
        if in_support(far, model):
            return here, far
    return here, other


def in_support(state: np.ndarray, model: Model) -> bool:
    """Return False if the target or the prior excludes ``state``.

    NaN does not exclude a state, because NaN must be reported.
    """
    if model.offset(state, state, model.data.hyper) == -math.inf:
        return False
    return model.log_prior(parameters_at(state, model), model.prior_hyper) != -math.inf


def supported_start(target: Target, model: Model, rng: np.random.Generator, chain: int = 0) -> np.ndarray:
    """Return a start of this chain from the target's start law, inside the support."""
    for _ in range(_START_TRIES):
        state = target.state_at(target.start(rng, chain))
        if in_support(state, model):
            return state
    point = target.supported_point()
    if point is not None:  # between it and a random start
        away = target.start(rng, chain) - point
        for side in (1.0, -1.0):  # a point on the edge of the support may lie outside by rounding: then the other way
            step = side * away
            for _ in range(_START_TRIES):
                state = target.state_at(point + step)
                if in_support(state, model):
                    return state
                step = 0.5 * step
    raise ValueError(f"{_START_TRIES} random initial states are all outside the support of the prior: pass init=.")


def _energy_of_row(theta: np.ndarray, row: int, model: Model) -> float:
    energy = np.empty(1)
    model.energies(theta, np.array([row]), 1, model.data, energy)
    return float(energy[0])


def _show(theta: np.ndarray) -> str:
    return np.array2string(theta, precision=4, threshold=6, edgeitems=3)
