"""The centre of an expansion: a mode of the posterior, by damped Newton steps over growing samples of the rows.

Any centre is exact; a good one makes the remainders small. So most of the way is done on samples of the rows, and full
passes polish only while it pays. Every step over all rows goes downhill on all rows, the prior included: a sample that
does not contain some column cannot send the search astray.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ...capabilities import BoundingAhead, Examined, offers

if TYPE_CHECKING:
    from ..._linear import Metric
    from ..base import Expansion, Target

_MOST_STEPS = 100
_MOST_STEPS_ON_A_SAMPLE = 20
_MOST_CORRECTIONS = 3
_MOST_LEFT = 4.0  # times what a correction is expected to leave of a decrement
_START_TRIES = 100
_CLOSE = 0.01
_ARMIJO = 1e-4
# Near a mode Newton decrements shrink quadratically. Several in a row that shrink by less are on the way to infinity.
_LINEAR = 0.2
_NEARLY = 100.0  # times the dimension: a decrement after which one step more is likely to be enough
_SLOW = 5
_LENGTHS = np.concatenate([0.5 ** np.arange(1, 10), 0.125 ** np.arange(4, 21)])  # of a step, tried in one pass
_STOPPED = 1e-3  # a length of a step below which the search hardly moves


class Mode(NamedTuple):
    """A mode of a posterior, or the point where the search for a mode has ended.

    Attributes
    ----------
    point : (d,)
        The parameters.
    expansion, posterior : Expansion
        The energy (negative log-likelihood) of all rows at this point with gradient and Hessian, and the same for minus
        the log posterior.
    away : float
        The length of the next Newton step, in posterior standard deviations.
    slow : bool
        True if the search gave up, because the steps did not become short. With a flat prior there may be no mode.
    """

    point: np.ndarray
    expansion: Expansion
    posterior: Expansion
    away: float
    slow: bool = False

    @property
    def found(self) -> bool:
        """Return True if the point is so close to a mode that Laplace's approximation can be made there."""
        return not self.slow and self.away < max(1.0, 0.1 * np.sqrt(self.point.size))

    @property
    def beside_saddle(self) -> bool:
        """Return True if the Hessian at the point is not positive definite."""
        return bool(np.isfinite(self.posterior.hessian).all()) and not self.posterior.metric().positive_definite

    @property
    def log_mass(self) -> float:
        """Return the logarithm of the posterior probability of this mode, by Laplace's approximation.

        It has an unknown constant, which is the same for all modes of a posterior.
        """
        return self.posterior.metric().log_volume - self.posterior.energy


def find_mode(
    target: Target, start: np.ndarray | None = None, tolerance: float = _CLOSE, patient: bool = False
) -> Mode:
    """Find a mode by damped Newton steps, until the next step is short.

    A step is short below ``sqrt(tolerance d)`` posterior standard deviations. A draw is ``sqrt(d)`` of them away from
    the mode, so a centre closer to the mode would not make the remainders smaller. With many rows the search begins on
    a random hundredth of them and continues on a tenth. If a path seems to have no end, it is followed only with
    ``patient`` or under a proper prior.
    """
    point = None if start is None else np.array(start, dtype=np.float64)
    samples = list(target.samples()) if start is None else []
    nearest, rows = None, 0
    for sample in samples:
        found = _descend(sample, _begin(sample, point), tolerance, _MOST_STEPS_ON_A_SAMPLE, patient)
        if np.isfinite(found.posterior.energy):
            nearest, point, rows = found, found.point, sample.n_rows
    if nearest is not None and not _bounds_ahead(target):
        point = corrected(target, nearest, rows, tolerance)
    return _descend(target, _begin(target, point), tolerance, _MOST_STEPS, patient)


def _bounds_ahead(target: Target) -> bool:
    """Whether a pass that is likely to be the last one finds bounds, too."""
    return offers(target, BoundingAhead) and target.bounds_ahead


def look(target: Target, point: np.ndarray, metric: Metric | None = None) -> tuple[Expansion, Expansion]:
    """Return the expansions of the data and of the posterior. An energy that is NaN counts as infinite.

    If a ``metric`` is passed, the expansion of the data contains bounds of the rows in this metric.
    """
    data: Expansion = target.expansion(point) if metric is None else target.bounded_expansion(point, metric)  # type: ignore[attr-defined]
    posterior = data.plus(target._prior.expansion(point, data.width))
    if np.isnan(posterior.energy):
        posterior = posterior._replace(energy=np.inf)
    return data, posterior


def _begin(target: Target, point: np.ndarray | None) -> np.ndarray:
    """The point itself or, with none, the best of the target's guesses with a finite energy."""
    if point is not None:
        return point
    guesses = target.search_starts()
    energies = [look(target, guess)[1].energy for guess in guesses]
    if not np.isfinite(energies).any():
        rng = np.random.default_rng(0)
        for _ in range(_START_TRIES):
            guess = rng.standard_normal(target.dim)
            if np.isfinite(look(target, guess)[1].energy):
                return guess
    return guesses[int(np.argmin(energies))]


def corrected(target: Target, found: Mode, rows: int, tolerance: float = _CLOSE) -> np.ndarray:
    """Return the mode of a sample of ``rows`` rows, corrected with the gradient of all rows.

    A step uses the gradient of all rows and the Hessian of the sample. A pass for a gradient costs much less than a
    pass that also adds up a Hessian. After a step, about ``sqrt(d / rows)`` of the distance to the mode is left. If
    hardly any distance can be left after a step, this step is the last one, without another pass: the Hessian of all
    rows is computed next, together with the gradient. In directions that the sample does not determine, the point is
    not changed. A step after which the energy of all rows is not lower is undone.
    """
    left = _MOST_LEFT * target.dim / rows
    metric = found.posterior.metric()
    known = metric.factor * (metric.kept > 0.5)
    point, best, before = found.point, (np.inf, found.point), np.inf
    for _ in range(_MOST_CORRECTIONS):
        energy, gradient = target.slope(point)  # type: ignore[attr-defined]
        prior = target._prior.expansion(point, found.expansion.width)
        energy, gradient = energy + prior.energy, gradient + prior.gradient
        if not energy < best[0]:
            return best[1]
        best = energy, point
        step = known @ (known.T @ gradient)
        decrement = float(gradient @ step)
        if decrement < tolerance * target.dim or not decrement < 0.5 * before:
            return point
        point, before = point - step, decrement
        if left * decrement < tolerance * target.dim:
            return point
    energy = target.slope(point)[0] + target._prior.expansion(point, found.expansion.width).energy  # type: ignore[attr-defined]
    return point if energy < best[0] else best[1]


def _descend(target: Target, point: np.ndarray, tolerance: float, most_steps: int, patient: bool) -> Mode:
    """Newton over all rows of ``target``, from ``point``.

    Curvatures count by their size (`tunamh._linear.metric`). Where a full step does not bring the energy down, one pass
    tries shorter ones.
    """
    data, posterior = look(target, point)
    decrement, linear, slow = np.inf, 0, False
    patient = patient or target._prior.proper
    for _ in range(most_steps):
        if not np.isfinite(posterior.hessian).all():
            break  # among infinities
        metric = posterior.metric()
        step = metric.factor @ (metric.factor.T @ posterior.gradient)
        before, decrement = decrement, float(posterior.gradient @ step)
        if not np.isfinite(decrement):
            break
        shrinks_slowly = _LINEAR * before < decrement < 1.0
        linear = linear + 1 if shrinks_slowly else 0
        if linear == _SLOW and not patient:
            slow = True
            break
        if decrement < tolerance * target.dim and (not shrinks_slowly or decrement < 1e-10):
            break
        likely_last = decrement < _NEARLY * target.dim and metric.positive_definite and _bounds_ahead(target)
        there, new = point - step, look(target, point - step, metric if likely_last else None)
        if not new[1].energy <= posterior.energy - _ARMIJO * decrement:
            length = _shorter(target, point, step, posterior.energy, decrement)
            if length < _STOPPED:
                step, decrement, length = _beside_an_end(target, point, posterior, (step, decrement, length))
            if length == 0.0:
                break  # rounding alone is left
            there = point - length * step
            new = look(target, there)
        point, (data, posterior) = there, new
    nearest = target.nearest(point)
    if not np.array_equal(nearest, point):
        data, posterior = look(target, nearest)
    return Mode(nearest, data, posterior, float(np.sqrt(max(decrement, 0.0))), slow)


def _shorter(target: Target, point: np.ndarray, step: np.ndarray, energy: float, decrement: float) -> float:
    """The length at which the energy is lowest, 0 where none brings it down."""
    energies = target.energies_at(point - _LENGTHS[:, None] * step)
    energies = np.where(np.isfinite(energies), energies, np.inf)
    enough = energies <= energy - _ARMIJO * _LENGTHS * decrement
    return float(_LENGTHS[np.argmin(np.where(enough, energies, np.inf))]) if enough.any() else 0.0


def _beside_an_end(
    target: Target, point: np.ndarray, posterior: Expansion, given: tuple[np.ndarray, float, float]
) -> tuple[np.ndarray, float, float]:
    """The step of the other coordinates, with its decrement and length, where the prior of some ends on the way.

    A shape with a uniform prior, say: far from the mode, the step leads out of its support in every direction, and the
    coefficients would stay where they are. The step that is given where no prior ends, or nothing else leads down.
    """
    prior = target._prior
    alone = point - np.diag(given[0])  # one coordinate moves in each row
    held = ~np.isfinite([prior.log_prior(there, prior.hyper) for there in alone])
    if not held.any() or held.all() or posterior.frame is not None:
        return given
    gradient, hessian = np.where(held, 0.0, posterior.gradient), posterior.hessian.copy()
    hessian[held], hessian[:, held] = 0.0, 0.0
    hessian[held, held] = 1.0
    metric = posterior._replace(gradient=gradient, hessian=hessian).metric()
    step = metric.factor @ (metric.factor.T @ gradient)
    decrement = float(gradient @ step)
    energy = float(look(target, point - step)[1].energy)
    if energy <= posterior.energy - _ARMIJO * decrement:
        return step, decrement, 1.0
    length = _shorter(target, point, step, posterior.energy, decrement)
    return (step, decrement, length) if length > _STOPPED else given


# ----------------------------------------------------------------------------------------------------- several modes

_LEAST_SHARE = 1e-3
"""Modes whose Laplace law holds less than this share of the posterior are left out."""

_SAME = 0.5  # posterior standard deviations, below which two ends of the search are one mode
_MOST_MODES = 30


def find_modes(target: Target) -> list[Mode]:
    """Return all modes that matter, in the order of their share of the posterior; one mode if it is log-concave.

    Energies that are not convex are searched from many starts, `Target.candidates`. These fits to tiny random
    subsamples find modes that least squares misses because of bad rows (Rousseeuw 1984). If there are no candidates,
    there is one search, and `Target.rivals` are the modes that it may have missed.
    """
    modes: list[Mode] = []
    candidates = target.candidates()
    if len(candidates) == 0:
        first = find_mode(target)
        candidates = target.rivals(first)
        if len(candidates) == 0:
            return [first]
        modes = [first] if np.isfinite(first.posterior.hessian).all() else []
    energies = target.energies_at(candidates)
    order = np.argsort(energies)[:_MOST_MODES]
    lowest = min([energies[order[0]], *(mode.posterior.energy for mode in modes)])
    for k in order:
        rough = energies[k] - lowest > target.candidates_slack  # type: ignore[attr-defined]
        if rough or any(near(candidates[k], mode) for mode in modes):
            continue
        mode = _descend(target, candidates[k], _CLOSE if not modes else 0.1 * _CLOSE, _MOST_STEPS, False)
        if not any(near(mode.point, other) for other in modes):
            modes.append(mode)
    minima = [mode for mode in modes if mode.found and mode.posterior.metric().positive_definite]
    modes = sorted(minima or modes, key=lambda mode: -mode.log_mass)
    return [mode for mode in modes if mode.log_mass >= modes[0].log_mass + np.log(_LEAST_SHARE)]


def descend(target: Target, start: np.ndarray, most_steps: int) -> Mode:
    """Return the end of Newton steps from a start, over all rows of ``target``."""
    return _descend(target, np.array(start, dtype=np.float64), 0.1 * _CLOSE, most_steps, False)


def near(point: np.ndarray, mode: Mode, within: float = _SAME) -> bool:
    """Return True if a point is close to a mode, up to ``within`` standard deviations in every direction."""
    off = mode.posterior.metric().inverse @ (point - mode.point)
    return bool(np.linalg.norm(off) < within * np.sqrt(point.size))


def best_mode(target: Target) -> Mode:
    """Return the mode with the largest share of the posterior."""
    return target.modes[0] if offers(target, Examined) else find_mode(target)
