"""Coordinates of single rows, in which the mean of the response is a function of few numbers, and its expansion there.

The coordinates of a row are its linear predictors (one, or one for each class but the reference), of means over new
groups the variances of these, the predictors of further parameters that columns describe, and the parameters that are
the same for all rows. All are linear in the posterior's numbers, variances in the covariances of effects. So a Taylor
part in the coordinates of every row is one in the posterior's numbers.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from ..formula.right_side import RightSide
from ..prediction.fitted import Fitted
from ..prediction.new_rows import Chunk
from ..tables.frames import Frame
from .integration import mean_over_new, variances
from .outcomes import Outcomes

_STEP = 1e-3  # of a predictor; parameters move by a part of their way to their extreme draws
_PILOTS = 6

Numbers = list[np.ndarray]


class LocalCoordinates:
    """For some rows and every draw, the few numbers (coordinates) of which the mean of the response is a function."""

    def __init__(self, outcomes: Outcomes):
        self.outcomes, self.fitted = outcomes, outcomes.fitted
        self.predictors = outcomes.predictor.classes if self.fitted.per_class else 1

    @property
    def sides(self) -> dict[str, RightSide]:
        assert self.fitted.formula is not None
        return dict(self.fitted.formula.others) if self.outcomes.scale == "response" else {}

    @cached_property
    def shared(self) -> dict[str, np.ndarray]:
        """Return the drawn parameters that are the same for all rows: arrays (draws, 1) or (draws, 1, numbers)."""
        if self.outcomes.scale == "link":
            return {}
        return {name: value for name, value in self.fitted.parameters.items() if isinstance(value, np.ndarray)}

    def at(self, chunk: Chunk) -> Numbers:
        """Return the coordinates of the rows at every draw: arrays (draws, rows).

        An array has the shape (draws, 1) if all rows share a coordinate.
        """
        eta = self.outcomes.predictor.linear(chunk)
        found = [eta] if eta.ndim == 2 else list(np.moveaxis(eta, -1, 0))
        if chunk.varying:
            found += variances(self.fitted, chunk.varying, self.predictors)
        found += [self.fitted.further(name) @ chunk.others[name].T for name in self.sides]
        for value in self.shared.values():
            found += [value] if value.ndim == 2 else [value[:, :, j] for j in range(value.shape[2])]
        return found

    def mean(self, coordinates: Numbers, chunk: Chunk) -> np.ndarray:
        """Return the mean of the response as a function of the coordinates: an array (draws, rows, outcomes).

        From ``chunk`` the function reads only what is no coordinate: the strata of the rows.
        """
        left = iter(coordinates)
        etas = [next(left) for _ in range(self.predictors)]
        eta = np.stack(etas, axis=-1) if self.fitted.per_class else etas[0]
        if self.outcomes.scale == "link":
            return eta if eta.ndim == 3 else eta[:, :, None]
        total = [next(left) for _ in range(self.predictors)] if chunk.varying else []
        p: dict[str, Any] = dict(self.fitted.parameters)
        responses = self.fitted.responses
        for name in self.sides:
            p[name] = self.fitted.link_of(name).mean(next(left))
        for name, value in self.shared.items():
            one = value.ndim == 2
            p[name] = next(left) if one else np.stack([next(left) for _ in range(value.shape[2])], axis=-1)
        if chunk.stratum is not None:
            p["stratum"] = chunk.stratum
        if chunk.varying:
            return mean_over_new(lambda moved: responses.mean(moved, p), eta, total)
        found = responses.mean(eta, p)
        return found if found.ndim == 3 else found[:, :, None]


@dataclass(frozen=True)
class LocalExpansion:
    """The linear expansion of some rows' means at the posterior mean: ``value`` (rows, outcomes), and slopes.

    ``slopes`` has one array for each coordinate, and ``origin`` contains the coordinates at the posterior mean.
    ``spread`` (rows) is the variance of the predictors over some draws.
    """

    chunk: Chunk
    value: np.ndarray
    slopes: list[np.ndarray]
    origin: Numbers
    spread: np.ndarray

    def remainder(self, coordinates: LocalCoordinates) -> np.ndarray:
        """Return the mean of the response at all draws minus its linear part: an array (draws, rows, outcomes)."""
        here = coordinates.at(self.chunk)
        found = coordinates.mean(here, self.chunk) - self.value
        for own, origin, slope in zip(here, self.origin, self.slopes, strict=True):
            found = found - (own - origin)[:, :, None] * slope
        return found


class Centre:
    """The posterior mean, and a few draws near it. `expand` computes linear expansions of rows there."""

    def __init__(self, outcomes: Outcomes):
        self.outcomes = outcomes.with_draws(_mean_and_pilots(outcomes.fitted))
        self.coordinates = LocalCoordinates(self.outcomes)
        self.steps = _steps(LocalCoordinates(outcomes))

    def expand(self, rows: Frame) -> LocalExpansion:
        chunk = self.outcomes.chunk(rows)
        every = self.coordinates.at(chunk)
        origin = [own[:1] for own in every]
        n = rows.n_rows
        slopes = []
        for a, own in enumerate(origin):
            low, high = self.steps[a - len(origin)] if a >= len(origin) - len(self.steps) else (_STEP, _STEP)
            ends = []
            for move in (high, -low):
                moved = [*origin[:a], own + move, *origin[a + 1 :]]
                ends.append(_one_draw(self.coordinates, moved, chunk))
            slopes.append((ends[0] - ends[1]) / (high + low))
        spread = np.zeros(n)
        for own in every[: self.coordinates.predictors]:
            spread += np.square(own[1:] - own[:1]).mean(axis=0)
        return LocalExpansion(chunk, _one_draw(self.coordinates, origin, chunk), slopes, origin, spread)


def _one_draw(coordinates: LocalCoordinates, at: Numbers, chunk: Chunk) -> np.ndarray:
    found = coordinates.mean(at, chunk)[0]
    return np.broadcast_to(found, (chunk.n_rows, found.shape[1]))


def _steps(coordinates: LocalCoordinates) -> list[tuple[float, float]]:
    """Of shared parameters: towards their smallest and largest draws, so that they stay inside their range."""
    found = []
    for value in coordinates.shared.values():
        flat = value.reshape(len(value), -1)
        middle = flat.mean(axis=0)
        found += [
            (0.1 * float(m - low) or _STEP, 0.1 * float(high - m) or _STEP)
            for m, low, high in zip(middle, flat.min(axis=0), flat.max(axis=0), strict=True)
        ]
    return found


def _mean_and_pilots(fitted: Fitted) -> Fitted:
    """A result whose first draw is the mean of the picked ones; the others are some of them, evenly spaced."""
    import xarray

    total = len(fitted.picked)
    some = np.unique(np.linspace(0, total - 1, _PILOTS).round().astype(np.int64))
    variables = {}
    for name, values in fitted.posterior.data_vars.items():
        if values.dtype.kind not in "fiu" or not {"chain", "draw"} <= set(values.dims):
            continue
        ordered = values.transpose("chain", "draw", ...)
        draws = fitted.draws(str(name))
        few = np.concatenate([draws.mean(axis=0, keepdims=True), draws[some]])
        variables[name] = (ordered.dims, few[None], values.attrs)
    coords = {name: values for name, values in fitted.posterior.coords.items() if name not in ("chain", "draw")}
    coords = {name: values for name, values in coords.items() if not {"chain", "draw"} & set(values.dims)}
    made = xarray.Dataset(variables, coords, fitted.posterior.attrs)
    return Fitted(made, fitted.about, np.arange(len(some) + 1), fitted.user_family)
