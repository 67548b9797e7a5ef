"""The centre of an expansion: a mode of the posterior, by damped Newton steps over growing samples of the rows.

Any centre is exact; a good one makes the remainders small. So most of the way is done on samples of the rows, and full
passes polish only while it pays. A user's own prior is left out of the search, its Gaussian counterpart is not.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from ._linear import metric

if TYPE_CHECKING:
    from .targets.base import Expansion, Target

_MOST_STEPS = 100
_MOST_STEPS_ON_A_SAMPLE = 20
_MOST_CORRECTIONS = 3
_CLOSE = 0.01
# Near a mode Newton decrements shrink quadratically. Several in a row that shrink by less are on the way to infinity.
_LINEAR = 0.2
_RUNAWAY = 5


class Mode(NamedTuple):
    """Where the search ended, and the data's expansion there.

    ``away`` is the length of the next Newton step in posterior standard deviations. ``runaway`` is the direction in
    which the energy goes on falling without end, None when there is a mode.
    """

    point: np.ndarray
    expansion: Expansion
    away: float
    runaway: np.ndarray | None

    @property
    def found(self) -> bool:
        """Whether the point is near enough to a mode to be the centre of a Laplace law."""
        return self.runaway is None and self.away < max(1.0, 0.1 * np.sqrt(self.point.size))


def find_mode(target: Target, start: np.ndarray | None = None, tolerance: float = _CLOSE) -> Mode:
    """Damped Newton steps until the next one is shorter than ``sqrt(tolerance d)`` posterior standard deviations.

    Since a draw lies ``sqrt(d)`` of them away from the mode, a nearer centre would not make the remainders smaller. On
    many rows the search begins on a random hundredth of them and goes on with a tenth; a sample without a mode is
    passed over.
    """
    point = None if start is None else np.array(start, dtype=np.float64)
    if start is None:
        nearest = None
        for sample in target.samples():
            point = sample.search_start() if point is None else point
            found = _descend(sample, point, tolerance, _MOST_STEPS_ON_A_SAMPLE)
            if found.runaway is None and found.away < np.sqrt(target.dim):
                nearest, point = found, found.point
        if nearest is not None:
            point = _corrected(target, nearest, tolerance)
    return _descend(target, target.search_start() if point is None else point, tolerance, _MOST_STEPS)


def _corrected(target: Target, found: Mode, tolerance: float) -> np.ndarray:
    """The mode of a sample, moved by the gradient of all rows in the metric of the sample's Hessian.

    Such a pass costs a fraction of one that adds up a Hessian too. Each step leaves about ``sqrt(d / n)`` of the way to
    go, n being the rows of the sample.
    """
    prior, point = target._prior, found.point
    factor = metric(found.expansion.hessian + np.diag(prior.precision)).factor
    before = np.inf
    for _ in range(_MOST_CORRECTIONS):
        gradient = target.gradient(point) + prior.precision * (point - prior.mean)  # type: ignore[attr-defined]
        step = factor @ (factor.T @ gradient)
        decrement = float(gradient @ step)
        if decrement < tolerance * target.dim or not decrement < 0.5 * before:
            break
        point, before = point - step, decrement
    return point


def _descend(target: Target, point: np.ndarray, tolerance: float, most_steps: int) -> Mode:
    """Newton over all rows of ``target``, from ``point``.

    Curvatures count by their size (`tunamh._linear.metric`), and steps are halved until the energy falls.
    """
    prior = target._prior

    def posterior(theta: np.ndarray) -> tuple[float, np.ndarray, np.ndarray, Expansion]:
        data: Expansion = target.expansion(theta)  # type: ignore[attr-defined]
        off = theta - prior.mean
        return (
            data.energy + 0.5 * float(off @ (prior.precision * off)),
            data.gradient + prior.precision * off,
            data.hessian + np.diag(prior.precision),
            data,
        )

    def falls_forever(direction: np.ndarray) -> bool:
        """Whether the energy falls all along the ray, as far as it can be followed."""
        ray = [energy, *(posterior(theta + far * direction)[0] for far in (10.0, 100.0, 1000.0))]
        return bool(np.all(np.diff(ray) <= 1e-9 * (1 + np.abs(ray[:-1]))))

    theta = point
    energy, gradient, hessian, data = posterior(theta)
    rng = np.random.default_rng(0)
    for _ in range(_MOST_STEPS):
        if np.isfinite(energy):
            break
        theta = target.start(rng)  # the first point lies outside the energies' domain
        energy, gradient, hessian, data = posterior(theta)
    decrement, linear, runaway = np.inf, 0, None
    for _ in range(most_steps):
        step = _downhill(gradient, hessian)
        before, decrement = decrement, float(gradient @ step)
        slow = _LINEAR * before < decrement < 1.0
        linear = linear + 1 if slow else 0
        if linear == _RUNAWAY and not prior.precision.all() and falls_forever(-step):
            runaway = -step
            break
        if decrement < tolerance * target.dim and (not slow or decrement < 1e-10):
            break
        length = 1.0
        while length > 1e-10:
            new = posterior(theta - length * step)
            if new[0] <= energy - 1e-4 * length * decrement:
                break
            length *= 0.5
        else:
            break  # rounding alone is left
        theta = theta - length * step
        energy, gradient, hessian, data = new
    nearest = target.nearest(theta)
    if not np.array_equal(nearest, theta):
        data = posterior(nearest)[3]
    return Mode(nearest, data, float(np.sqrt(max(decrement, 0.0))), runaway)


def _downhill(gradient: np.ndarray, hessian: np.ndarray) -> np.ndarray:
    """A Newton step in the metric of the Hessian."""
    factor = metric(hessian).factor
    return factor @ (factor.T @ gradient)
