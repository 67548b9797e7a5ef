"""Sums over rows of values and slopes, by average: what the linear part of every draw needs."""

from __future__ import annotations

import numpy as np

from ..errors import NotApplicable
from .local import Centre, LocalCoordinates, LocalExpansion

_MOST_NUMBERS = 60_000_000


class Gradient:
    """Of every measure and average, the value at the posterior mean and the gradient in the parameters of the model."""

    def __init__(self, coordinates: LocalCoordinates, centre: Centre, measures: int):
        self.coordinates, self.centre, self.measures = coordinates, centre, measures
        self.outcomes = coordinates.outcomes.size
        self.keys = 0
        self.varying = False
        self.values = np.zeros((measures, 0, self.outcomes))
        self.parts: list[np.ndarray] = []  # of each design: (measures, keys, outcomes, columns)
        self.groups: list[np.ndarray] = []  # of each factor: (measures, keys, outcomes, levels * columns)

    def _grow(self, keys: int, local: LocalExpansion) -> None:
        if not self.parts:
            sizes = [design.shape[1] for design in self._designs(local)]
            levels = [one.effects.shape[1] * one.effects.shape[2] for one in self._counting(local)]
            self.parts = [np.zeros((self.measures, 0, self.outcomes, size)) for size in sizes]
            self.groups = [np.zeros((self.measures, 0, self.outcomes, size)) for size in levels]
        if keys == self.keys:
            return
        total = self.measures * keys * self.outcomes * sum(own.shape[3] for own in (*self.parts, *self.groups))
        if total > _MOST_NUMBERS:
            raise NotApplicable(
                f"{keys:,} averages of a model with so many parameters need {total:,} numbers, more than "
                f"{_MOST_NUMBERS:,}: average by columns with fewer values, or leave group effects out "
                "(groups='population')."
            )
        more, self.keys = keys - self.keys, keys
        self.values, *found = (
            np.concatenate([own, np.zeros((own.shape[0], more, *own.shape[2:]))], axis=1)
            for own in (self.values, *self.parts, *self.groups)
        )
        self.parts, self.groups = found[: len(self.parts)], found[len(self.parts) :]

    def _counting(self, local: LocalExpansion) -> list:
        """The factors of groups whose effects count."""
        return [one for one in self.coordinates.fitted.groups if local.chunk.groups[one.given] is not None]

    def _designs(self, local: LocalExpansion) -> list[np.ndarray]:
        """The columns of every coordinate, (rows, columns): parameters have a column of ones."""
        n, dense = local.chunk.n_rows, local.chunk.columns.dense()
        found = [dense] * self.coordinates.predictors
        if local.chunk.varying:
            found += self._squares(local.chunk.varying, n)
        found += [local.chunk.others[name] for name in self.coordinates.sides]
        return found + [np.ones((n, 1))] * (len(local.slopes) - len(found))

    def _squares(self, varying: tuple[tuple[int, np.ndarray], ...], n: int) -> list[np.ndarray]:
        """Of every predictor's variance: what the covariances of effects are multiplied by, (rows, numbers)."""
        self.varying = True
        products = [(k, (Z[:, :, None] * Z[:, None, :]).reshape(n, -1)) for k, Z in varying]
        return [_joined([own for k, own in products if k == one], n) for one in range(self.coordinates.predictors)]

    def add(self, measure: int, local: LocalExpansion, weights: np.ndarray, codes: np.ndarray, keys: int) -> None:
        """Add rows to the sums. ``weights`` (rows) are the weights of the rows, multiplied by a factor."""
        self._grow(keys, local)
        self.values[measure] += _by_key(np.ones((len(codes), 1)), weights[:, None] * local.value, codes, keys)[:, :, 0]
        weighted = [weights[:, None] * slope for slope in local.slopes]
        for part, design, slope in zip(self.parts, self._designs(local), weighted, strict=True):
            part[measure] += _by_key(design, slope, codes, keys)
        for own, group in zip(self.groups, self._counting(local), strict=True):
            found = local.chunk.groups[group.given]
            assert found is not None and group.effects is not None  # noqa: PT018
            factor, Z = found
            place = {level: k for k, level in enumerate(group.levels)}
            level = np.array([place[one] for one in factor.levels])[factor.codes]
            slope, q = weighted[group.predictor or 0], Z.shape[1]
            for o in range(self.outcomes):
                for j in range(q):
                    at = codes * len(place) * q + level * q + j
                    sums = np.bincount(at, slope[:, o] * Z[:, j], minlength=keys * len(place) * q)
                    own[measure, :, o] += sums.reshape(keys, -1)

    def at_draws(self) -> np.ndarray:
        """Return ``F(m) + F'(m)(theta - m)`` at all draws: an array (measures, keys, draws, outcomes)."""
        fitted = self.coordinates.fitted
        found = np.repeat(self.values[:, :, None, :], len(fitted.picked), axis=2)
        centre = self._numbers(self.centre.coordinates)
        for part, numbers, origin in zip(self.parts, self._numbers(self.coordinates), centre, strict=True):
            away = numbers - origin[0]
            found += np.einsum("mkod,sd->mkso", part, away, optimize=True)
        counted = [one for one in fitted.groups if one.effects is not None][: len(self.groups)]
        for own, group in zip(self.groups, counted, strict=True):
            effects = group.effects.reshape(len(fitted.picked), -1)  # type: ignore[union-attr]
            found += np.einsum("mkod,sd->mkso", own, effects - effects.mean(axis=0), optimize=True)
        return found

    def _numbers(self, coordinates: LocalCoordinates) -> list[np.ndarray]:
        """The posterior's numbers that belong to every coordinate's columns: (draws, columns)."""
        fitted = coordinates.fitted
        dim, predictors, draws = int(fitted.about["dim"]), coordinates.predictors, len(fitted.picked)
        found = [fitted.theta[:, k * dim : (k + 1) * dim] for k in range(predictors)]
        if self.varying:
            found += [
                _joined(
                    [own.covariance.reshape(draws, -1) for own in fitted.groups if (own.predictor or 0) == k], draws
                )
                for k in range(predictors)
            ]
        found += [fitted.further(name) for name in coordinates.sides]
        for value in coordinates.shared.values():
            found += [value] if value.ndim == 2 else [value[:, :, j] for j in range(value.shape[2])]
        return found


def _joined(parts: list[np.ndarray], rows: int) -> np.ndarray:
    """Side by side; one column of zeros where there is none."""
    return np.concatenate(parts, axis=1) if parts else np.zeros((rows, 1))


def _by_key(design: np.ndarray, slope: np.ndarray, codes: np.ndarray, keys: int) -> np.ndarray:
    """``sum_i slope_io design_ij`` over the rows of every average: (keys, outcomes, columns)."""
    if keys == 1:
        return (slope.T @ design)[None]
    found = np.zeros((keys, slope.shape[1], design.shape[1]))
    order = np.argsort(codes, kind="stable")
    used, begins = np.unique(codes[order], return_index=True)
    for key, rows in zip(used, np.split(order, begins[1:]), strict=True):
        found[key] = slope[rows].T @ design[rows]
    return found
