"""The rows of a regression, from arrays or from a source: a map over blocks, and samples in memory."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeVar

import numpy as np

from .._arguments import shown
from ..data.passes import added_up, over_blocks
from ..data.seal import Seal
from ..data.source import Rows, Source, watched_map
from ..data.tables import aligned, as_matrix, as_vector, refuse_non_finite
from .designs import Design, as_design
from .designs.dense import DenseDesign
from .designs.shifted import ShiftedDesign

Result = TypeVar("Result")

_MOST_WEIGHT = 1e20  # with more, a posterior is narrower than the rounding of its parameters


class Observations(ABC):
    """Rows of features, responses and, maybe, weights and offsets; ``design`` says how features are packed."""

    n_rows: int
    design: Design
    names: Sequence[str] | None
    weighted: bool

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """A short hash of the data: their shape and all numbers in them."""

    @abstractmethod
    def map(self, function: Callable[[Rows], Result]) -> Iterator[Result]:
        """``function`` of every block of rows, in their order; ``X`` of a block is one of the design's."""

    def sums(self, terms: Callable[[Rows], tuple]) -> list:
        """``terms`` of every block, added up in the order of the blocks."""
        return added_up(self.map(terms))

    @abstractmethod
    def take(self, index: np.ndarray) -> Sample:
        """The rows with these numbers, in this order."""

    @abstractmethod
    def on_columns(self, which: np.ndarray) -> Observations:
        """With some of the columns only, a mask."""

    @abstractmethod
    def check(self, rows: Rows) -> None:
        """Raise unless these rows are as they were when the target was made."""

    @abstractmethod
    def check_some(self) -> None:
        """The same for a few rows, spread over the data."""


class Sample(Observations):
    """Observations that are in memory as a whole."""

    @abstractmethod
    def rows(self) -> Rows:
        """All of them."""

    @abstractmethod
    def weighted_up(self, factor: float) -> Sample:
        """With all weights multiplied by ``factor``."""


@dataclass
class InMemory(Sample):
    """Arrays, which are not copied; the seal notices when they are changed. A sample has none."""

    design: Design
    y: np.ndarray
    weights: np.ndarray | None = None
    names: Sequence[str] | None = None
    seal: Seal | None = None
    censored: np.ndarray | None = None
    others: tuple[Design, ...] = ()
    other_names: tuple[Sequence[str] | None, ...] = ()

    @property
    def n_rows(self) -> int:  # type: ignore[override]
        return len(self.y)

    @property
    def weighted(self) -> bool:  # type: ignore[override]
        return self.weights is not None

    @property
    def fingerprint(self) -> str:
        return "" if self.seal is None else self.seal.digest

    def rows(self, which: Any = slice(None), start: int = 0) -> Rows:
        """The rows of a slice or of an array of row numbers."""
        weights, censored = (None if values is None else values[which] for values in (self.weights, self.censored))
        others = tuple(design.block(which) for design in self.others)
        return Rows(start, self.design.block(which), self.y[which], weights, None, censored, others)

    def map(self, function: Callable[[Rows], Result]) -> Iterator[Result]:
        return over_blocks(lambda block: function(self.rows(block, block.start)), self.n_rows)

    def weighted_up(self, factor: float) -> InMemory:
        weights = np.full(self.n_rows, factor)
        return replace(self, weights=weights if self.weights is None else weights * self.weights)

    def take(self, index: np.ndarray) -> InMemory:
        weights, censored = (None if values is None else values[index] for values in (self.weights, self.censored))
        others = tuple(design.take(index) for design in self.others)
        return InMemory(self.design.take(index), self.y[index], weights, self.names, None, censored, others)

    def on_columns(self, which: np.ndarray) -> InMemory:
        return replace(self, design=self.design.on_columns(which))

    def check(self, rows: Rows) -> None:
        if self.seal is not None:
            self.seal.check_block(slice(rows.start, rows.start + len(rows.y)))

    def check_some(self) -> None:
        if self.seal is not None:
            self.seal.check_some()


class Arranged(Sample):
    """Rows of other observations, each block turned into one of another design by ``change``."""

    def __init__(self, base: Observations, design: Any, change: Callable[[Rows], Rows]):
        self.base, self.design, self.change = base, design, change
        self.n_rows, self.names, self.weighted = base.n_rows, base.names, base.weighted

    @property
    def fingerprint(self) -> str:
        return self.base.fingerprint

    def map(self, function: Callable[[Rows], Result]) -> Iterator[Result]:
        return self.base.map(lambda rows: function(self.change(rows)))

    def rows(self) -> Rows:
        return self.change(self.base.rows())  # type: ignore[attr-defined]

    def take(self, index: np.ndarray) -> Sample:
        return Arranged(self.base.take(index), self.design, self.change)

    def weighted_up(self, factor: float) -> Sample:
        return Arranged(self.base.weighted_up(factor), self.design, self.change)  # type: ignore[attr-defined]

    def on_columns(self, which: np.ndarray) -> Observations:
        return self.base.on_columns(which)

    def check(self, rows: Rows) -> None:
        self.base.check(rows)

    def check_some(self) -> None:
        self.base.check_some()


class FromSource(Observations):
    """Rows that a source gives block by block; their columns are dense. One map looks at all of them first."""

    def __init__(self, source: Source, which: np.ndarray | None = None):
        self.source, self._which = source, which
        self.n_rows = source.n_rows
        first = next(iter(source.map(lambda rows: (np.shape(rows.X), rows.weights is None, rows.offset is None))))
        (_, columns), self.weighted, self._shifted = first[0], not first[1], not first[2]
        self._columns = columns if which is None else int(which.sum())
        self.design = self._design(np.empty((0, self._columns)), np.empty(0))
        names = None if source.names is None else [str(name) for name in source.names]
        if names is not None and len(names) != columns:
            raise ValueError(f"the source names {len(names)} columns, but its rows have {columns}.")
        self.names = names

    @property
    def fingerprint(self) -> str:
        return self.source.fingerprint

    def map(self, function: Callable[[Rows], Result]) -> Iterator[Result]:
        return watched_map(self.source, lambda rows: function(self._block(rows)))

    def _design(self, X: np.ndarray, offset: Any) -> Design:
        design = DenseDesign(X)
        return ShiftedDesign(design, np.asarray(offset, dtype=np.float64)) if self._shifted else design

    def _block(self, rows: Rows) -> Rows:
        X = np.ascontiguousarray(rows.X, dtype=np.float64)
        X = X if self._which is None else np.ascontiguousarray(X[:, self._which])
        y = np.ascontiguousarray(rows.y, dtype=np.float64)
        if X.shape != (len(y), self._columns):
            raise ValueError(f"rows from {rows.start} on have X of shape {X.shape}, {self._columns} columns expected.")
        weights = None if rows.weights is None else np.asarray(rows.weights, dtype=np.float64)
        block = self._design(X, rows.offset).block(slice(None))
        return rows._replace(X=block, y=y, weights=weights)

    def check(self, rows: Rows) -> None:
        """Of a source nothing but its fingerprint is known."""

    def check_some(self) -> None:
        """Of a source nothing but its fingerprint is known."""

    def take(self, index: np.ndarray) -> InMemory:
        """One map in which every block gives those of its rows that are asked for."""

        def chosen(rows: Rows) -> tuple[np.ndarray, ...]:
            here = np.flatnonzero((index >= rows.start) & (index < rows.start + len(rows.y)))
            inside = index[here] - rows.start
            ones = np.ones(len(rows.y))
            others = (ones if values is None else values for values in (rows.weights, rows.offset))
            return here, rows.X.dense()[inside], rows.y[inside], *(values[inside] for values in others)

        found = zip(*self.map(chosen), strict=True)
        places, X, y, weights, offset = (np.concatenate(parts) for parts in found)
        order = np.argsort(places)
        design = self._design(X[order], offset[order])
        return InMemory(design, y[order], weights[order] if self.weighted else None, self.names)

    def on_columns(self, which: np.ndarray) -> FromSource:
        kept = which if self._which is None else self._which.copy()
        if self._which is not None:
            kept[self._which] = which
        return FromSource(self.source, kept)


class Beside(NamedTuple):
    """What a user may give beside ``X`` and ``y``."""

    weights: Any = None
    offset: Any = None
    trials: Any = None
    censored: Any = None
    predictors: Any = None


def observe(X: Any, y: Any, beside: Beside, family: Any) -> Observations:
    """Whatever a user gives as ``X, y``, checked by the family."""
    _refuse_what_means_nothing(beside, family)
    if isinstance(X, Source):
        for name, given in {"y": y, **beside._asdict()}.items():
            if given is not None:
                raise TypeError(f"a source gives its own {name}: leave {name}= out, got {shown(given)}.")
        return _looked_through(FromSource(X), family.check)
    if y is None:
        raise TypeError("y is missing: give the responses, one per row of X, or a source that has them.")
    vectors = {"y": y, **{name: getattr(beside, name) for name in ("weights", "offset", "trials", "censored")}}
    y, *others = aligned(X, "X", **vectors)
    design, names = as_design(X)
    n_rows = design.n_rows
    y = as_vector(y, "y", n_rows)
    weights, offset, trials, censored = (
        None if given is None else as_vector(given, name, n_rows)
        for name, given in zip(("weights", "offset", "trials", "censored"), others, strict=True)
    )
    if offset is not None:
        design = ShiftedDesign(design, offset)
    given_columns = [as_design(table) for table in (beside.predictors or {}).values()]
    for (one, _), name in zip(given_columns, beside.predictors or {}, strict=True):
        if one.n_rows != n_rows:
            raise ValueError(f"predictors[{name!r}] has {one.n_rows} rows, but X has {n_rows}.")
    if trials is None:
        family.check(y)
    if censored is not None:
        _check_codes(censored)
    held = {"y": y, "weights": weights, "trials": trials, "censored": censored}
    columns = {f"predictors: {name}": array for one, _ in given_columns for name, array in one.arrays().items()}
    arrays = {name: array for name, array in held.items() if array is not None}
    seal = Seal({**design.arrays(), **arrays, **columns}, names)
    if trials is not None:
        return family.of_trials(InMemory(design, y, weights, names, seal), trials)
    found = InMemory(design, y, weights, names, seal, censored, tuple(one for one, _ in given_columns))
    found.other_names = tuple(labels for _, labels in given_columns)
    return found


def _refuse_what_means_nothing(beside: Beside, family: Any) -> None:
    """Trials, censoring and further predictors are for families that know them."""
    kind = type(family).__name__
    if beside.trials is not None and not hasattr(family, "of_trials"):
        raise TypeError(f"trials= counts labels, for Logistic(), Probit() and Cloglog(); {kind} has no labels.")
    if beside.censored is not None and not getattr(family, "knows_censoring", False):
        raise TypeError(f"censored= is for Gaussian, LogNormal, LogLogistic and Weibull responses, not for {kind}.")
    known = getattr(family, "described", ())
    for name in beside.predictors or {}:
        if name not in known:
            what = f"its parameters with predictors of their own are {', '.join(known)}" if known else "it has none"
            raise ValueError(f"predictors names {name!r}, which {kind} does not describe by columns: {what}.")


def _check_codes(censored: np.ndarray) -> None:
    wrong = ~np.isin(censored, (-1.0, 0.0, 1.0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"censored must be 0 (observed), 1 (the response is larger) or -1 (smaller), but row {row} has "
            f"{censored[row]:g}."
        )


def _looked_through(found: FromSource, check: Callable[[np.ndarray], None]) -> FromSource:
    """Raise for numbers that are no use, wherever they are, before anything rests on them."""

    def look(rows: Rows) -> int:
        as_matrix(rows.X.dense(), "X")
        names = None if found.names is None else list(found.names)
        refuse_non_finite(rows.X.dense(), "X", rows.start, names)
        refuse_non_finite(rows.y, "y", rows.start)
        if rows.weights is not None:
            refuse_non_finite(rows.weights, "weights", rows.start)
        if rows.offset is not None:
            refuse_non_finite(np.asarray(rows.offset, dtype=np.float64), "offset", rows.start)
        try:
            check(rows.y)
        except ValueError as error:
            raise ValueError(f"in the block of rows from {rows.start} on: {error}") from None
        return len(rows.y)

    counted = sum(found.map(look))
    if counted != found.n_rows:
        raise ValueError(f"the source says it has {found.n_rows} rows, its blocks have {counted} together.")
    return found


def check_weights(observations: Observations, temper: float) -> None:
    """Raise for weights that are negative, all zero, or too large to compute with."""

    def look(rows: Rows) -> tuple[float, bool]:
        weights = rows.weights
        assert weights is not None
        if (weights < 0).any():
            row = int(np.argmax(weights < 0))
            raise ValueError(f"weights must not be negative, but row {rows.start + row} has {weights[row]:g}.")
        return float(weights.sum()), bool(weights.any())

    total, some = observations.sums(look)
    if temper * total > _MOST_WEIGHT:
        raise ValueError(f"weights add up to {total:g}, too much to compute with: 1 is the weight of one row.")
    if not some:
        raise ValueError("weights are all zero, so that no row counts: at least one must be positive.")
