"""Rows that are seen through linear predictors: sums over them, samples of them, and how they are packed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any, Self, TypeVar

import numpy as np

from .._linear import Columns
from ..priors import Flat
from ..rows.gathered_rows import BlockWeights, GatheredRows
from ..rows.packing import ROW, Packing, packed_rows, packed_size, weight_of
from ..rows.source import Rows
from .base import Expansion, PackedRows, Target
from .checks.conditioning import columns_of, rows_for_columns
from .designs import Block
from .expansion.multi_predictor import MultiPredictor
from .expansion.one_predictor import OnePredictor
from .observations.observed import Observations, Sample
from .observations.row_layout import RowLayout

Result = TypeVar("Result")


class Regression(Target):
    """A regression: observations in a layout of predictors, and what each block of rows contributes (`terms`)."""

    observations: Observations
    row_layout: RowLayout
    terms: OnePredictor | MultiPredictor
    family: Any
    y_column: int
    kept: Any = None
    set_up_told: str | None = None
    """What was read for the set-up and what was kept, in words."""

    known_columns: Columns | None = None
    """What is known about the columns, from these rows or from the rows of which they are a sample."""

    fingerprint_of_all_rows = True

    @cached_property
    def chain_names(self) -> list[str]:
        """Return the names of the parameters, in the order in which a chain has them."""
        form = self.row_layout.form
        return self.names if form is None else form.in_walked_order(self.names)

    # --------------------------------------------------------------------------------------------------- the rows

    def weight(self, rows: Rows) -> np.ndarray:
        """Return an array with one number for each row of ``rows``: its weight, multiplied by ``temper``."""
        return weight_of(rows, self.temper)

    def sums(self, terms: Callable[[Block, np.ndarray, np.ndarray], tuple]) -> list:
        """Return the sums of ``terms(X, y, weight)`` over all blocks of rows, a tuple of arrays.

        ``terms`` returns a tuple of arrays for one block. The blocks are added in their order, so the rounding errors
        do not depend on the number of threads.
        """
        return self.observations.sums(partial(_of_rows, terms, self.temper))

    def packed(
        self, extra: int, fill: Callable[[np.ndarray, Rows], Result], take: Callable[[Result], Any] = lambda _: None
    ) -> PackedRows:
        """Return the packed rows: one array with the numbers that compiled code reads of each row (`Packing`).

        A packed row has the features ``x``, the response ``y``, the bound ``c``, ``extra`` further columns and, if rows
        are weighted, the weight. ``fill(rows, block)`` writes the bounds and further columns of a block; ``take`` is
        called with each result of ``fill``, in the order of the blocks. If the packed rows need more memory than their
        source allows, no row is kept, and rows are read when a chain needs them (`GatheredRows`).
        """
        observations = self.observations
        packing = Packing(self.y_column, extra, observations.weighted, self.temper, fill)
        width = packed_rows(0, packing.columns).shape[1]
        limit = observations.memory
        if limit is not None and packed_size(self.n_rows, width) > limit:
            return self._as_packed(self._gathered(packing, width, limit, take))
        packed = packed_rows(self.n_rows, packing.columns)
        if not observations.in_process:
            for start, rows, result in observations.map(packing.made):
                packed[start : start + len(rows)] = rows
                take(result)
            return self._as_packed(packed)

        def pack(block: Rows) -> Result:
            observations.check(block)
            return packing.into(packed[block.start : block.start + len(block.y)], block)

        for result in observations.map(pack):
            take(result)
        return self._as_packed(packed)

    def _as_packed(self, rows: np.ndarray | GatheredRows) -> PackedRows:
        return PackedRows(rows, ROW.places(width=self.y_column).bound, self.parts)

    def _gathered(self, packing: Packing, width: int, limit: int, take: Callable[[Any], Any]) -> GatheredRows:
        """One map, of which two numbers a block are kept."""
        starts, sums, squares = [], [], 0.0
        for start, result, total, square in self.observations.map(packing.weighed):
            take(result)
            starts.append(start)
            sums.append(total)
            squares += square
        return GatheredRows(
            self.observations.map,
            packing.rows,
            ROW.places(width=self.y_column).bound,
            BlockWeights(np.array(starts, np.int64), np.array(sums), squares),
            width=width,
            n_rows=self.n_rows,
            memory=limit,
        )

    @property
    def fingerprint(self) -> str:
        """Return a short hash of the data: their shape and all numbers in ``X``, ``y`` and ``weights``."""
        return self.observations.fingerprint

    def check_data(self) -> None:
        self.observations.check_some()

    def _pack(self) -> np.ndarray | GatheredRows:
        width, temper, of = self.y_column, self.temper, self.terms

        def fill(rows: np.ndarray, block: Rows) -> None:
            bound = ROW.columns(rows, width=width).bound
            bound[:] = of.first_bounds(block.X, block.y, weight_of(block, temper))

        rows: Any = self.packed(0, fill).rows
        return rows

    @cached_property
    def effective_rows(self) -> float:
        if self.kept is not None:
            return self.temper * self.kept.weight
        if not self.observations.weighted:
            return self.temper * self.n_rows
        return self.temper * self.observations.sums(_weights_of)[0]

    def on_observations(self, observations: Observations, **changes: Any) -> Self:
        """Return the same regression with other rows (``observations``); ``changes`` sets further attributes."""
        return self._with(
            **{
                "observations": observations,
                "n_rows": observations.n_rows,
                "kept": None,
                "grown": None,
                "_samples_ahead": [],  # those are of the other rows
                **changes,
            }
        )

    def on_rows(self, index: np.ndarray) -> Self:
        """Return the regression on a subsample, the rows with the numbers ``index``, which stands for all rows.

        The weights of these rows are multiplied by the number of all rows, divided by the number of these rows.
        """
        rows = self.observations.take(index).weighted_up(self.n_rows / len(index))
        return self.on_observations(rows, known_columns=self.columns)

    def on_columns(self, which: np.ndarray) -> Self:
        """Return the regression on those columns for which the mask ``which`` is True, with a flat prior.

        tunamh does not sample it: it is used to find collinear columns and separated data.
        """
        names, dim = [name for name, kept in zip(self.chain_names, which, strict=True) if kept], int(which.sum())
        return self.on_observations(
            self.observations.on_columns(which),
            dim=dim,
            names=names,
            chain_names=names,
            prior=Flat(),
            _prior=Flat().bind(dim),
            known_columns=None,
        )

    @cached_property
    def columns(self) -> Columns:
        """Return coordinates for the columns and directions of possible collinearity, found on a sample of the rows.

        In these coordinates the columns have similar sizes and are nearly uncorrelated. In these directions columns may
        be collinear.
        """
        if self.known_columns is not None:
            return self.known_columns
        index = rows_for_columns(self.n_rows, self.dim)
        if self.observations.in_process:
            return columns_of(self, self.observations.take(index).rows())
        first, *others = self.observations.take_each([index, *self._rows_of_samples()])  # in one map
        self._samples_ahead.extend(others)
        return columns_of(self, first.rows())

    def knowing_columns(self) -> Self:
        """Return the same regression together with the result of `columns`: its copies need not compute it again.

        Samples of rows that were read together with the sample for `columns` are kept, too.
        """
        return self._with(known_columns=self.columns, _samples_ahead=self._samples_ahead)

    @cached_property
    def _samples_ahead(self) -> list[Sample]:
        """Samples for the search of a mode that came with those of the columns, until they are used."""
        return []

    def _rows_of_samples(self) -> list[np.ndarray]:
        """A hundredth and a tenth of the rows, where these are enough to look like all of them: their numbers."""
        sizes = {self._at_most(self.n_rows // share): share for share in (10, 100)}
        return [
            np.sort(np.random.default_rng(share).integers(self.n_rows, size=n))
            for n, share in reversed(sizes.items())
            if n >= max(1000, 20 * self.dim)
        ]

    def samples(self) -> Iterator[Target]:
        """Yield the regression on two random samples, a hundredth and a tenth of the rows.

        The search for a mode uses these regressions before it reads all rows. The weights of the rows in a sample are
        multiplied so that the sample represents all rows. Samples that would be very small are left out.
        """
        indices = self._rows_of_samples()
        if not indices:
            return
        _ = self.columns  # whose map may take the samples along
        ahead = list(self._samples_ahead)
        self._samples_ahead.clear()
        for taken, index in zip(ahead or self.observations.take_each(indices), indices, strict=True):
            yield self.on_observations(taken.weighted_up(self.n_rows / len(index)), known_columns=self.columns)

    def _at_most(self, n: int) -> int:
        """So many rows of a sample, or as many as may be held."""
        most = self.observations.most_at_once
        return n if most is None else min(n, most)

    def sample_of(self, n: int, seed: int) -> Self:
        """Return the regression on a random sample of its rows, weighted so that the sample stands for all rows.

        The sample has ``max(n, 20 d)`` rows for ``d`` parameters, or fewer if the source limits the rows in memory. If
        there are not more rows than this, the target itself is returned. ``seed`` is the seed of the sample.
        """
        n = self._at_most(max(n, 20 * self.dim))
        if n >= self.n_rows:
            return self
        return self.on_rows(np.sort(np.random.default_rng(seed).choice(self.n_rows, size=n, replace=False)))

    def search_starts(self) -> list[np.ndarray]:
        """Return initial values for the search for a mode, a list of points (d,).

        The first is the mean of the prior. If the family can compute rough linear predictors from the responses, the
        second is a least squares fit to these.
        """
        starts, guess = super().search_starts(), self.family.guess
        if self.row_layout.start is not None:
            return [self.to_chain(np.asarray(self.row_layout.start))]
        if guess is not None and self.row_layout.form is None:
            frame, family, dim = self.columns.frame, self.family, self.dim

            def terms(X: Block, y: np.ndarray, weight: np.ndarray, most: float) -> tuple[np.ndarray, np.ndarray]:
                curved = weight * np.minimum(family.suprema(y).second, most)
                return X.sandwich(curved, frame), X.rmatvec(curved * (guess(y) - X.matvec(np.zeros(dim))))

            for most in (1e300, 1.0):  # columns in small units may be too large for the first
                with np.errstate(over="ignore", invalid="ignore"):
                    gram, moment = self.sums(partial(terms, most=most))
                if np.isfinite(gram).all() and np.isfinite(moment).all():
                    break
            fit = Expansion(0.0, moment, gram, frame).plus(self._prior.expansion(starts[0], np.ones(self.dim)))
            factor = fit.metric().factor
            prior_moment = self._prior.precision * self._prior.mean
            starts.append(factor @ (factor.T @ (moment + prior_moment)))
        return starts

    def slope(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Return the sum of the energies (minus log-likelihoods) of all rows at ``theta``, and its gradient (d,)."""
        of = self.terms  # a function of blocks may travel: it must not hold the target
        energy, gradient = self.sums(lambda X, y, weight: of.slope(X, theta, y, weight))
        return energy, gradient

    def energies_at(self, points: np.ndarray) -> np.ndarray:
        """Return an array (k,): minus the log posterior density, up to a constant, at each of the points (k, d)."""
        of = self.terms
        with np.errstate(over="ignore", invalid="ignore"):
            data = self.sums(lambda X, y, weight: (of.energies_at(X, points, y, weight),))[0]
            return data + self._prior_energies_at(points)

    def expansion(self, theta: np.ndarray) -> Expansion:
        """Return the sum of the energies (minus log-likelihoods) of all rows at ``theta``, its gradient and Hessian."""
        of, frame = self.terms, self.columns.frame
        with np.errstate(over="ignore", invalid="ignore"):
            found = self.sums(lambda X, y, weight: of.expansion(X, theta, y, weight, frame))
        energy, gradient, hessian = found
        return Expansion(energy, gradient, hessian, frame)


def _weights_of(rows: Rows) -> tuple[float]:
    return (float(weight_of(rows, 1.0).sum()),)


def _of_rows(terms: Callable[[Block, np.ndarray, np.ndarray], Result], temper: float, rows: Rows) -> Result:
    return terms(rows.X, rows.y, weight_of(rows, temper))


def plain_rows_in_memory(target: Any) -> bool:
    """Whether a regression has one predictor, nothing unknown beside its coefficients, and all rows here."""
    here = target.observations.memory is None and target.observations.in_process
    return here and isinstance(target.terms, OnePredictor) and target.row_layout.form is None


class ResultsOfRegression:
    """Of a target that is a ``regression`` in other coordinates: results are the regression's own."""

    regression: Any

    @property
    def variables(self) -> list[tuple[str, list[str] | None]]:
        return self.regression.variables

    @property
    def reported(self) -> list[str]:
        return self.regression.reported

    def __repr__(self) -> str:
        return repr(self.regression)
