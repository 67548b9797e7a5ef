"""Rows that are seen through linear predictors: sums over them, samples of them, and how they are packed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from functools import cached_property
from typing import Any, Self, TypeVar

import numpy as np

from .._linear import Columns
from ..data.packed import packed_rows
from ..data.source import Rows
from ..priors import Flat
from .arrange import Arrangement
from .base import Expansion, Target
from .columns import columns_of
from .designs import Block
from .observations import Observations
from .one_predictor import OnePredictor
from .several_predictors import SeveralPredictors

Result = TypeVar("Result")

_MOST_CURVED = 1e300 * 2.0**-332
"""The weight, in a rough fit, of rows whose curvature has no bound: large, and finite when multiplied by squares."""


class Regression(Target):
    """Observations in an arrangement of predictors, and what blocks of them contribute (`terms`)."""

    observations: Observations
    arranged: Arrangement
    terms: OnePredictor | SeveralPredictors
    family: Any
    y_column: int

    # --------------------------------------------------------------------------------------------------- the rows

    @cached_property
    def walking_names(self) -> list[str]:
        """The parameters' names in the order in which they are walked."""
        form, names = self.arranged.form, list(self.names)
        if form is not None:
            for at, name in zip([*form.coefficients_at, *form.extra_at], self.names, strict=True):
                names[at] = name
        return names

    def weight(self, rows: Rows) -> np.ndarray:
        """Weights of some rows, temper included."""
        return np.full(len(rows.y), self.temper) if rows.weights is None else self.temper * rows.weights

    def sums(self, terms: Callable[[Block, np.ndarray, np.ndarray], tuple]) -> list:
        """``terms(X, y, weight)`` of every block of rows, added up in the order of the blocks."""
        return self.observations.sums(lambda rows: terms(rows.X, rows.y, self.weight(rows)))

    def packed(
        self, extra: int, fill: Callable[[np.ndarray, Rows], Result], take: Callable[[Result], Any] = lambda _: None
    ) -> np.ndarray:
        """Rows ``x, y, c``, ``extra`` columns and, if rows are weighted, the weight.

        ``fill(rows, block)`` writes ``c`` and the extra columns of a block, of which the rest is already there; what it
        returns is handed to ``take``, block after block.
        """
        y, weighted = self.y_column, self.observations.weighted
        packed = packed_rows(self.n_rows, y + 2 + extra + weighted)

        def pack(block: Rows) -> Result:
            self.observations.check(block)
            rows = packed[block.start : block.start + len(block.y)]
            block.X.pack(rows)
            rows[:, y] = block.y
            if weighted:
                rows[:, y + 2 + extra] = self.weight(block)
            return fill(rows, block)

        for result in self.observations.map(pack):
            take(result)
        return packed

    @property
    def fingerprint(self) -> str:
        """A short hash of the data: their shape and all numbers in ``X``, ``y`` and ``weights``."""
        return self.observations.fingerprint

    def check_data(self) -> None:
        self.observations.check_some()

    def _pack(self) -> np.ndarray:
        c = self.y_column + 1

        def fill(rows: np.ndarray, block: Rows) -> None:
            rows[:, c] = self.terms.first_bounds(block.X, block.y, self.weight(block))

        return self.packed(0, fill)

    @cached_property
    def effective_rows(self) -> float:
        if not self.observations.weighted:
            return self.temper * self.n_rows
        return self.temper * float(np.concatenate(list(self.observations.map(lambda rows: rows.weights))).sum())

    def _with(self, observations: Observations) -> Self:
        """The same regression of other rows or columns."""
        other = copy(self)
        for name in ("rows", "total_bound", "supply", "precision_trace", "modes", "effective_rows"):
            other.__dict__.pop(name, None)
        other.observations, other.n_rows = observations, observations.n_rows
        return other

    def on_rows(self, index: np.ndarray) -> Self:
        """The target on some of its rows, weighted up to all of them."""
        return self._with(self.observations.take(index).weighted_up(self.n_rows / len(index)))

    def on_columns(self, which: np.ndarray) -> Self:
        """The columns ``which``, a mask, under a flat prior: for questions about the design, not to be sampled."""
        part = self._with(self.observations.on_columns(which))
        part.__dict__.pop("columns", None)
        part.walking_names = [name for name, kept in zip(self.walking_names, which, strict=True) if kept]
        part.dim = int(which.sum())
        part.prior, part._prior = Flat(), Flat().bind(part.dim)
        return part

    @cached_property
    def columns(self) -> Columns:
        """What a sample of the rows tells about the columns, and coordinates in which they are well conditioned."""
        return columns_of(self)

    def samples(self) -> Iterator[Target]:
        """A hundredth and a tenth of the rows, where these are enough to look like all of them."""
        for share in (100, 10):
            n = self.n_rows // share
            if n >= max(1000, 20 * self.dim):
                yield self.on_rows(np.sort(np.random.default_rng(share).integers(self.n_rows, size=n)))

    def sample_of(self, n: int, seed: int) -> Self:
        """The target on so many of its rows, more where there are many parameters."""
        n = max(n, 20 * self.dim)
        if n >= self.n_rows:
            return self
        return self.on_rows(np.sort(np.random.default_rng(seed).choice(self.n_rows, size=n, replace=False)))

    def search_starts(self) -> list[np.ndarray]:
        """The prior's mean and, where the family can guess predictors from responses, their least squares fit."""
        starts, guess = super().search_starts(), getattr(self.family, "guess", None)
        if self.arranged.start is not None:
            return [self.walking(np.asarray(self.arranged.start))]
        if guess is not None and self.arranged.form is None:
            frame = self.columns.frame

            def terms(X: Block, y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
                curved = weight * np.minimum(self.family.suprema(y).second, _MOST_CURVED)
                return X.sandwich(curved, frame), X.moment(curved * (guess(y) - X.dot(np.zeros(self.dim))))

            gram, moment = self.sums(terms)
            fit = Expansion(0.0, moment, gram, frame).plus(self._prior.expansion(starts[0], np.ones(self.dim)))
            factor = fit.metric().factor
            pull = self._prior.precision * self._prior.mean
            starts.append(factor @ (factor.T @ (moment + pull)))
        return starts

    def slope(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Energy and gradient of the data at ``theta``: a pass without a Hessian."""
        energy, gradient = self.sums(lambda X, y, weight: self.terms.slope(X, theta, y, weight))
        return energy, gradient

    def energies_at(self, points: np.ndarray) -> np.ndarray:
        """Energies of the posterior at points (k, d), in one pass."""
        with np.errstate(over="ignore", invalid="ignore"):
            data = self.sums(lambda X, y, weight: (self.terms.energies_at(X, points, y, weight),))[0]
            return data + self._prior_energies_at(points)

    def expansion(self, theta: np.ndarray) -> Expansion:
        """Energy, gradient and Hessian of the data at ``theta``, in one pass over blocks of rows."""
        frame = self.columns.frame
        with np.errstate(over="ignore", invalid="ignore"):
            found = self.sums(lambda X, y, weight: self.terms.expansion(X, theta, y, weight, frame))
        energy, gradient, hessian = found
        return Expansion(energy, gradient, hessian, frame)
