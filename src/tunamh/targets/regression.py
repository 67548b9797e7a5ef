"""Rows that are seen through linear predictors: sums over them, samples of them, and how they are packed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from typing import Any, Self, TypeVar

import numpy as np

from .._linear import Columns, Metric
from ..priors import Flat
from ..rows.gathered_rows import BlockWeights, GatheredRows
from ..rows.packing import (
    ROW,
    HeldRows,
    KeptBounds,
    PackedRows,
    Packing,
    Weighing,
    columns_by_name,
    of_weighted_rows,
    pack_in_memory,
    packed_rows,
    packed_size,
    weight_of,
)
from ..rows.servings import SomeRows
from ..rows.source import Rows
from .base import Expansion, Target
from .checks.conditioning import columns_of
from .designs import Block
from .expansion.multi_predictor import MultiPredictor
from .expansion.one_pass import BoundsAhead, ExpandedWeighing, added_up_with_bounds
from .expansion.one_predictor import OnePredictor, Remainders, Whitening, expansion_of_rows, ladder_of
from .observations.base import Observations, Sample
from .observations.row_layout import RowLayout
from .observations.samples import rows_for_columns, rows_for_search

Result = TypeVar("Result")

_SHARE_OF_BOUNDS = 0.4  # of the memory for rows, that bounds of all rows may take; gathered rows take half


class Regression(Target):
    """A regression: its rows, its predictors, and what each block of rows contributes to sums (``terms``)."""

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
        """Return a list with the names of the parameters, in the order in which a chain has them."""
        form = self.row_layout.form
        return self.names if form is None else form.in_walked_order(self.names)

    # --------------------------------------------------------------------------------------------------- the rows

    def weight(self, rows: Rows) -> np.ndarray:
        """Return the weights of ``rows``, multiplied by ``temper``: an array with one number for each row."""
        return weight_of(rows, self.temper)

    def sums(self, terms: Callable[[Block, np.ndarray, np.ndarray], tuple]) -> list:
        """Add up the results of ``terms(X, y, weight)`` over all blocks of rows; return a list of arrays.

        ``terms`` returns a tuple of arrays for one block of rows. The blocks are added in their order, so the rounding
        errors do not depend on the number of threads.
        """
        return self.observations.sums(partial(of_weighted_rows, terms, self.temper))

    def packed(
        self,
        extra: int,
        fill: Callable[[np.ndarray, Rows], Result],
        take: Callable[[Result], Any] = lambda _: None,
        audited: Callable[[np.ndarray, Rows], Result] | None = None,
    ) -> PackedRows:
        """Return the packed rows: one array with all numbers that compiled code reads of each row.

        A packed row has the columns ``x``, the response ``y``, the bound ``c``, ``extra`` further numbers and, if rows
        are weighted, the weight. If the packed rows need more memory than their source allows, no row is kept, and rows
        are read when a chain needs them.

        Parameters
        ----------
        extra : int
            How many further numbers each packed row has.
        fill : function ``fill(rows, block)``
            It writes the bounds and the further numbers of one block of rows into the array ``rows``.
        take : function, optional
            It gets each result of ``fill``, in the order of the blocks.
        audited : function, optional
            It is called in the place of ``fill`` if no row is kept, once for all rows. It also checks every row against
            its bound.
        """
        observations = self.observations
        packing = Packing(self.y_column, extra, observations.weighted, self.temper, fill)
        width = packed_rows(0, packing.columns).shape[1]
        limit = observations.memory
        if limit is not None and packed_size(self.n_rows, width) > limit:
            gathered = self._gathered(packing, width, limit, take, audited)
            return PackedRows(gathered, ROW.places(width=self.y_column).bound, self.parts)
        return pack_in_memory(packing, observations, self.parts, take)

    def _gathered(
        self, packing: Packing, width: int, limit: int, take: Callable[[Any], Any], audited: Any
    ) -> GatheredRows:
        """One map, of which two numbers a block are kept, and the bounds of all rows where there is room."""
        starts, sums, squares = [], [], 0.0
        kept = self._room_for_bounds(limit)
        weighing = Weighing(packing, packing.fill if audited is None else audited, kept)
        for start, result, total, square in self.observations.map(weighing):
            take(result)
            starts.append(start)
            sums.append(total)
            squares += square
        weights = BlockWeights(np.array(starts, np.int64), np.array(sums), squares)
        return self._gathered_by(weights, packing, width, limit, kept, audited is not None)

    def _room_for_bounds(self, limit: int) -> KeptBounds | None:
        return KeptBounds(self.n_rows) if 8 * self.n_rows <= _SHARE_OF_BOUNDS * limit else None

    def _gathered_by(
        self, weights: BlockWeights, packing: Packing, width: int, limit: int, kept: KeptBounds | None, audited: bool
    ) -> GatheredRows:
        found = GatheredRows(
            self.observations.map,
            packing.rows,
            ROW.places(width=self.y_column).bound,
            weights,
            width=width,
            n_rows=self.n_rows,
            memory=limit,
            some=SomeRows(kept, packing.bounds, packing.some_rows) if packing.knows_bounds else None,
        )
        found.audited = audited
        return found

    # ------------------------------------------------------------------ bounds that the search for a mode finds

    @property
    def bounds_ahead(self) -> bool:
        """Return True if the last pass of the search for a mode also finds the bounds of the rows.

        This is so for rows that are not in memory and a convex energy of one predictor: there is one search then, and a
        pass over such rows costs more than what is computed in it.
        """
        limit = self.observations.memory
        of = self.terms
        if limit is None or not isinstance(of, OnePredictor) or of.known_order != 2 or not self.family.convex:
            return False
        return packed_size(self.n_rows, self._width_of(of)) > limit

    def _width_of(self, of: OnePredictor) -> int:
        """Of the packed rows of an expansion."""
        columns = ROW.places(width=self.y_column).end + of.centre_columns + int(self.observations.weighted)
        return packed_rows(0, columns).shape[1]

    def bounded_expansion(self, theta: np.ndarray, metric: Metric) -> Expansion:
        """Return the result of `expansion`, with the bounds of the rows' remainders in ``metric``, found by one pass.

        There are no bounds with it if a row has none, or exceeds its own.
        """
        of: Any = self.terms
        observations, limit = self.observations, self.observations.memory
        assert limit is not None
        factor = np.asarray(
            np.linalg.qr(metric.factor.T, mode="r")
        ).T  # the same metric by a triangular matrix, for half the work
        at = Whitening(2, theta, factor, ladder_of(self.dim, local=of.local()), False)
        fill, kept = Remainders(of, at, self.y_column, self.temper), self._room_for_bounds(limit)
        packing = Packing(self.y_column, of.centre_columns, observations.weighted, self.temper, fill)
        weighing = ExpandedWeighing(fill, packing, self.columns.frame, not self.own_bounds, kept)
        expansion, said, weights = added_up_with_bounds(observations.map(weighing), self.columns.frame)
        if said is None:
            return expansion
        settings = weights, packing, self._width_of(of), limit, kept, not self.own_bounds
        return expansion._replace(
            bounds=BoundsAhead(fill, np.linalg.inv(factor), said, partial(self._gathered_by, *settings))
        )

    @property
    def fingerprint(self) -> str:
        """Return a short hash of the data: their shape and all numbers in ``X``, ``y`` and ``weights``."""
        return self.observations.fingerprint

    def check_data(self) -> None:
        self.observations.check_some()

    def _pack(self) -> HeldRows | GatheredRows:
        width, temper, of = self.y_column, self.temper, self.terms

        def fill(rows: np.ndarray, block: Rows) -> None:
            bound = columns_by_name(ROW, rows, width=width).bound
            bound[:] = of.first_bounds(block.X, block.y, weight_of(block, temper))

        packed = self.packed(0, fill)
        rows: Any = packed.rows
        return rows if isinstance(rows, GatheredRows) else HeldRows(rows, packed.bound_column)

    @cached_property
    def effective_rows(self) -> float:
        """Return the sum of the weights of all rows, multiplied by ``temper``."""
        if self.kept is not None:
            return self.temper * self.kept.weight
        if not self.observations.weighted:
            return self.temper * self.n_rows
        return self.temper * self.observations.sums(_weights_of)[0]

    def on_observations(self, observations: Observations, **changes: Any) -> Self:
        """Return the same regression with the rows ``observations`` instead of its rows.

        ``changes`` are further attributes of the new regression, with their values.
        """
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
        """Return the regression on a subsample: the rows whose numbers are in ``index``.

        The weights of these n rows are multiplied by ``N / n``, so that they represent all N rows.
        """
        rows = self.observations.take(index).weighted_up(self.n_rows / len(index))
        return self.on_observations(rows, known_columns=self.columns)

    def on_columns(self, which: np.ndarray) -> Self:
        """Return the regression on the columns for which the mask ``which`` is True, with a flat prior.

        The library uses it to find collinear columns and separated data, not to draw samples.
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
        """Return new coordinates for the columns, and directions in which columns may be collinear.

        In the new coordinates the columns have similar sizes and are nearly uncorrelated. Both are computed from a
        random sample of the rows.
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
        """Return a copy of this regression that stores the value of its property `columns`.

        Further copies of this copy do not compute the value again. The copy also keeps the samples of rows that were
        read together with the sample for `columns`.
        """
        return self._with(known_columns=self.columns, _samples_ahead=self._samples_ahead)

    @cached_property
    def _samples_ahead(self) -> list[Sample]:
        """Samples for the search of a mode that came with those of the columns, until they are used."""
        return []

    def _rows_of_samples(self) -> list[np.ndarray]:
        """The numbers of the rows of the samples for the search of a mode."""
        return rows_for_search(self.n_rows, self.dim, self.observations.most_at_once)

    def samples(self) -> Iterator[Target]:
        """Yield the regression on two random samples: a hundredth and a tenth of the rows.

        The search for a mode uses these regressions before it reads all rows. The weights of the rows in a sample are
        multiplied so that the sample represents all rows. Very small samples are left out.
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
        """Return the regression on a random sample of at least ``n`` rows.

        The weights of these rows are multiplied so that the sample represents all rows. The sample has ``max(n, 20 d)``
        rows for ``d`` parameters, or fewer if the source limits the rows in memory. If the data have no more rows than
        this, the regression itself is returned. ``seed`` is the seed of the sample.
        """
        n = self._at_most(max(n, 20 * self.dim))
        if n >= self.n_rows:
            return self
        return self.on_rows(np.sort(np.random.default_rng(seed).choice(self.n_rows, size=n, replace=False)))

    def search_starts(self) -> list[np.ndarray]:
        """Return initial values for the search for a mode, a list of points (d,).

        The first point is the mean of the prior. If the family can compute rough linear predictors from the responses,
        the second point is a least squares fit to these linear predictors. A family with further unknown parameters
        gives only one point.
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
        """Return minus the log posterior density, up to a constant, at ``points`` (k, d): an array (k,)."""
        of = self.terms
        with np.errstate(over="ignore", invalid="ignore"):
            data = self.sums(lambda X, y, weight: (of.energies_at(X, points, y, weight),))[0]
            return data + self._prior_energies_at(points)

    def expansion(self, theta: np.ndarray) -> Expansion:
        """Return the sum of the energies (minus log-likelihoods) of all rows at ``theta``.

        The result also has the gradient (d,) and the Hessian (d, d) of this sum.
        """
        of, frame = self.terms, self.columns.frame
        with np.errstate(over="ignore", invalid="ignore"):
            found = self.observations.sums(partial(expansion_of_rows, of, theta, frame, self.temper))
        energy, gradient, hessian = found
        return Expansion(energy, gradient, hessian, frame)


def _weights_of(rows: Rows) -> tuple[float]:
    return (float(weight_of(rows, 1.0).sum()),)


def plain_rows_in_memory(target: Any) -> bool:
    """Return True if all rows are in memory and each has one predictor, and only the coefficients are unknown."""
    here = target.observations.memory is None and target.observations.in_process
    return here and isinstance(target.terms, OnePredictor) and target.row_layout.form is None


class ResultsOfRegression:
    """For targets that are a ``regression`` in other coordinates: the results are those of this regression."""

    regression: Any

    @property
    def variables(self) -> list[tuple[str, list[str] | None]]:
        return self.regression.variables

    @property
    def reported(self) -> list[str]:
        return self.regression.reported

    def __repr__(self) -> str:
        return repr(self.regression)
