"""One night: pieces that are new are mapped at the centre of before; the centre moves where that pays (spec 5x)."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from .._linear import flat_direction
from ..errors import NotApplicable
from ..process.blas import one_blas_thread
from ..process.stages import announce
from ..rows.executors import in_order
from ..rows.packing import ROW, Packing, packed_rows
from ..rows.passes import with_progress
from ..targets.expansion.foreseen import (
    ROWS_OF_A_PIECE,
    TIMES,
    Samples,
    foreseen_rows,
    fresh_total,
    why_move,
    why_move_in_files,
)
from ..targets.expansion.kept import Filled, KeptExpansion, kept_expansion, kept_target
from ..targets.expansion.one_predictor import OnePredictor, ladder_of
from ..targets.expansion.taylor import TaylorTarget
from ..targets.glm import GLM
from ..targets.layouts import Trust
from ..targets.search.newton import Mode, look
from .cache import ModelFolder
from .centre import Centre
from .drift import ahead, drifts, travel, wide_radii
from .kept_rows import KeptRows
from .observations import LivingRows
from .piece_map import PieceMap, drawn_rows
from .pieces import PieceId, ReadRows, RowsOfPieces
from .records import Record
from .sums import MappedPiece, joined, mapped, usable

_MOST_CENTRES = 5
_INFORMATION = 0.2  # about a coefficient, of a row that has its level
_ROWS_FOR_A_CENTRE = 100_000  # from which the first centre is taken, of pieces spread over all
_ROWS_KEPT, _SHARE_KEPT, _LEAST_KEPT = 1 << 17, 1 / 32, 64
_WHILE_DRIFTING = 3
_ASIDE = ROWS_OF_A_PIECE  # of these none is drawn by chains


class Settled(NamedTuple):
    """The result of one set-up (a night): the expansion, its centre, and what was read.

    ``mapped`` is the number of pieces whose sums were computed now; ``moved`` says why the centre moved (None: it did
    not).
    """

    kept: KeptExpansion
    centre: Centre
    mapped: int
    """Files that were mapped at a centre that was there before."""

    moved: str | None
    """Why the centre moved; None where it stayed."""

    rows_read: int


def map_of(base: GLM, centre: Centre) -> PieceMap:
    """Return the function that computes the record of a piece of a regression at a centre."""
    rows: Any = base.observations
    filled = Filled(base.terms, centre.rows_at, base.y_column, base.temper)
    packing = Packing(base.y_column, base.terms.centre_columns, rows.weighted, base.temper, filled)
    return PieceMap(rows._blocks, base.user_family.check, packing, centre.frame)


def entries_of(n_rows: int, of_all: int, drifts: bool = False) -> int:
    """Return the number of rows to keep of a piece.

    It is the share of the piece in about 131,072 rows or 1/32 of its rows, whichever is larger, plus a few. If the
    coefficients drift, steps read more and more rows until the centre moves. Then the share is three times as large, so
    that the centre moves less often, and all files are read less often.
    """
    share = (_WHILE_DRIFTING if drifts else 1) * _ROWS_KEPT * n_rows / max(of_all, 1)
    return _ASIDE + int(max(_LEAST_KEPT, share, _SHARE_KEPT * n_rows))


def look_name(piece: PieceId, rules: str) -> str:
    """Return the name of the record with what a formula learned from a piece.

    ``rules`` is a hash of the conditions of rows that are left out.
    """
    return f"look-{piece.key}-{rules}"


def map_name(piece: PieceId, rules: str, design: str, centre: Centre) -> str:
    """Return the name of the record of a piece at a centre."""
    return f"map-{piece.key}-{rules}-{design}-{centre.name}"


@dataclass(frozen=True)
class _MapPiece:
    """What a worker does."""

    read: ReadRows
    map: PieceMap
    names: list[str]

    def __call__(self, piece: Any, seed: tuple[int, ...], entries: int) -> Record:
        with one_blas_thread():
            return self.map(self.read(piece), entries, seed, self.names)


def seed_of(piece: PieceId, centre: Centre) -> tuple[int, int]:
    return piece.seed, int(centre.name, 16)


@dataclass
class Night:
    """One set-up of a regression over the pieces of files.

    ``rules`` is a hash of the conditions of rows that are left out, and ``lengths`` are the numbers of the pieces' rows
    without those. ``design`` is a hash of what the columns mean, such as which levels are references.
    """

    base: GLM
    folder: ModelFolder
    ids: list[PieceId]
    lengths: list[int]
    rules: str
    design: str
    counts: dict[str, int]
    """Of columns that are levels: how many rows have them."""

    files_mapped: set[str] = field(default_factory=set)
    """At a centre that was there before."""

    _found: dict[str, Record] = field(default_factory=dict)
    date: str = field(default_factory=lambda: dt.date.today().isoformat())
    rows_read: int = 0

    @property
    def source(self) -> RowsOfPieces:
        rows: Any = self.base.observations
        return rows.source

    @property
    def width(self) -> int:
        rows: Any = self.base.observations
        columns = ROW.places(width=self.base.y_column).end + self.base.terms.centre_columns + int(rows.weighted)
        return packed_rows(0, columns).shape[1]

    @property
    def _centre_file(self) -> str:
        return f"centre-{self.design}"

    @property
    def n_rows(self) -> int:
        return sum(self.lengths)

    def settled(self) -> Settled:
        """Compute what is missing for all pieces, choose the centre, and return the result of the night.

        The centre is the old one, or a new one if steps would read many rows with the old one.
        """
        centre, moved = self._centre_of_before(), None
        first = centre is None
        if centre is None:
            centre, moved = self.first_centre(), "it is the first one"
        else:
            self.files_mapped = {self.ids[k].file for k in self.map_missing(centre)}
        for tried in range(_MOST_CENTRES):
            if tried or moved:
                self.map_missing(centre)
            pieces = self.pieces_at(centre)
            sums = joined(pieces)
            expanded = kept_target(self.base, centre.rows_at, sums, self.kept_rows(centre, pieces))
            self._refuse_flat(expanded)
            seen = [(piece.total, piece.rows) for piece in pieces]
            now, fresh = foreseen_rows(expanded, seen, centre.factor, self.base.observations.design.numbers)
            supply = sum(len(piece.rows) for piece in pieces)
            why = why_move_in_files(now, fresh, sums.n_rows, centre.rows, supply)
            if first:
                why = why_move(now, fresh, sums.n_rows, centre.rows)
            if why is None or tried == _MOST_CENTRES - 1:
                break
            moved = moved or why
            centre = self.moved(expanded, centre, seen, sums.of_rows.factors)
            self._found.clear()
        self.folder.write(self._centre_file, centre.as_record())
        keep = {map_name(one, self.rules, self.design, centre) for one in self.ids}
        self.folder.remove(name for name in self.folder.names() if name.startswith("map-") and name not in keep)
        kept = kept_expansion(self.base, expanded, sums.weight, "")
        return Settled(kept, centre, len(self.files_mapped), moved, self.rows_read + self.source.rows_read)

    # -------------------------------------------------------------------------------------------------- the centre

    def _centre_of_before(self) -> Centre | None:
        """The centre that the cache has, in the columns of today."""
        before = centre_on(self.folder.read(self._centre_file), list(self.base.names), self._widths())
        if before is not None:  # before any piece is mapped: what is computed of it holds for these columns' metric
            self.folder.write(self._centre_file, before.as_record())
        return before

    def _widths(self) -> np.ndarray:
        """About the standard deviation of each coefficient by itself, if it is one of a level; any would be exact."""
        counts = np.array([self.counts.get(name, 0) for name in self.base.names])
        precision = self.base._prior.precision + _INFORMATION * counts
        return 1 / np.sqrt(np.where(precision > 0, precision, 1.0))

    def first_centre(self) -> Centre:
        """Return a first centre from the mode of some pieces, chosen at random. The posterior is exact with any centre.

        If these pieces have only a small part of the rows, one Newton step over all rows follows. Without it, all
        pieces would be computed at a centre that is several standard deviations away, and then again at a better one.
        """
        announce("looking for a first centre")
        order = np.argsort(np.random.default_rng(0).random(len(self.lengths)))
        enough = np.searchsorted(np.cumsum(np.array(self.lengths)[order]), _ROWS_FOR_A_CENTRE) + 1
        some = np.sort(order[:enough]).tolist()
        source = self.source.some([k for k in some if self.lengths[k] > 0])
        observations: Any = self.base.observations
        index = np.arange(source.n_rows)
        if len(index) > TIMES * _ROWS_FOR_A_CENTRE:
            index = np.sort(np.random.default_rng(1).choice(index, _ROWS_FOR_A_CENTRE, replace=False))
        sample = LivingRows(source, observations._blocks, None).take(index)
        self.rows_read += source.rows_read
        first = self.base.on_observations(sample.weighted_up(self.n_rows / sample.n_rows))
        mode = first.modes[0]
        if not mode.found or not mode.posterior.metric().positive_definite:
            raise NotApplicable(
                "no mode was found, so there is no centre for the expansion: set a prior, or open the rows "
                "without cache=."
            )
        if self.n_rows > TIMES * sample.n_rows:
            point, factor = self._stepped(first, mode)
            return self._new_centre(point, factor, self.n_rows, first.columns.frame)
        return self._new_centre(mode.point, mode.posterior.metric().factor, sample.n_rows, first.columns.frame)

    def _stepped(self, sample: GLM, mode: Mode) -> tuple[np.ndarray, np.ndarray]:
        """Where a Newton step over all rows leads from the mode of a sample, and the metric of all rows."""
        announce("moving the first centre")
        _, posterior = look(self.base._with(known_columns=sample.columns), mode.point)
        metric = posterior.metric()
        if not (np.isfinite(posterior.energy) and metric.positive_definite):
            return mode.point, mode.posterior.metric().factor
        return mode.point - metric.factor @ (metric.factor.T @ posterior.gradient), metric.factor

    def moved(self, expanded: TaylorTarget, centre: Centre, seen: Samples, factors: np.ndarray) -> Centre:
        """Return a new centre with the metric of the Gaussian.

        It is the mean of the Gaussian or, if the mean drifts, a point ahead of it.
        """
        mean, metric = expanded.reference, expanded.metric
        way = travel(centre, mean, metric.inverse, self.n_rows)
        drifting = drifts(centre, mean, metric.inverse, self.n_rows)
        if way.any():
            total = fresh_total(expanded, seen, centre.factor, self.base.observations.design.numbers)
            kept = sum(entries_of(length, self.n_rows, drifting) for length in self.lengths)
            way = ahead(way, total, self.n_rows, kept, Trust(tuple(centre.radii**2), tuple(factors)))
        made = self._new_centre(mean, metric.factor, self.n_rows, centre.frame, way)
        return made._replace(drifts=drifting)

    def _new_centre(self, mean: np.ndarray, factor: np.ndarray, rows: int, frame: Any, way: Any = None) -> Centre:
        radii = ladder_of(self.base.dim, local=self.base.terms.local()).radii
        radii = wide_radii(radii, self.base.dim, self.n_rows)
        names, point = list(self.base.names), mean if way is None else mean + factor @ way
        return Centre.at(names, point, factor, radii, rows=rows, date=self.date, mean=mean, frame=frame)

    # -------------------------------------------------------------------------------------------------- the pieces

    def map_missing(self, centre: Centre) -> list[int]:
        """Compute the records of the pieces that have none at this centre. Return the numbers of these pieces."""
        missing = [k for k, one in enumerate(self.ids) if self._record(one, centre) is None]
        if not missing:
            return []
        announce("mapping the pieces that are not in the cache")
        task = _MapPiece(self.source.read, map_of(self.base, centre), list(centre.names))
        tasks = (
            (
                self.ids[k].piece,
                seed_of(self.ids[k], centre),
                entries_of(self.lengths[k], self.n_rows, centre.drifts),
            )
            for k in missing
        )
        found = in_order(self.source.executor, task, tasks)
        done = np.cumsum([self.lengths[k] for k in missing]).tolist()
        for k, record in zip(
            missing, with_progress(zip(done, found, strict=True), done[-1], "mapping pieces"), strict=True
        ):
            name = map_name(self.ids[k], self.rules, self.design, centre)
            self.folder.write(name, record)
            self._found[name] = record
            self.rows_read += self.lengths[k]
        return missing

    def _record(self, one: PieceId, centre: Centre) -> Record | None:
        name = map_name(one, self.rules, self.design, centre)
        if name not in self._found:
            record = self.folder.read(name)
            if record is None or not usable(record, self.width):
                return None
            self._found[name] = record
        return self._found[name]

    def pieces_at(self, centre: Centre) -> list[MappedPiece]:
        numbers = self.base.observations.design.numbers
        found = []
        for one in self.ids:
            record = self._record(one, centre)
            assert record is not None
            found.append(mapped(record, centre, numbers))
        return found

    def kept_rows(self, centre: Centre, pieces: list[MappedPiece]) -> KeptRows:
        of = map_of(self.base, centre)
        source, observations = self.source, self.base.observations

        def more(k: int, uniforms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            return drawn_rows(of.blocks, of.packing, source.blocks_of(k), uniforms)

        column = ROW.places(width=self.base.y_column).bound
        memory = observations.memory or 1 << 31
        return KeptRows(observations.map, of.packing.rows, column, pieces, more, width=self.width, memory=memory)

    def _refuse_flat(self, expanded: TaylorTarget) -> None:
        posterior = expanded.at_centre.plus(expanded.prior_at_centre)
        if flat_direction(posterior.hessian) is not None:
            raise NotApplicable(
                "the posterior is flat along a combination of columns: columns that are sums of other columns "
                "need proper priors. Leave one of them out, or set a prior."
            )


def centre_on(record: Record | None, names: list[str], widths: np.ndarray) -> Centre | None:
    """Return the centre in a model's cache, with today's columns, or None if there is none that can be used."""
    if record is None:
        return None
    try:
        return Centre.from_record(record).on(names, widths)
    except (LookupError, ValueError, TypeError):
        return None


def why_not_at_a_centre(base: GLM) -> str | None:
    """Return why sums over the pieces of a regression cannot be kept, as the end of a sentence; None if they can."""
    if base.coefficient_prior.mixture is not None:
        return "the scales of the prior are unknown"
    if not isinstance(base.terms, OnePredictor):
        return f"{base.user_family!r} has several predictors"
    if base.row_layout.form is not None or base.observations is not base.user_rows:
        return f"{base.user_family!r} has an unknown scale or shape"
    if not base.convex:
        return f"{base.user_family!r} may have several modes"
    if base.terms.known_order is not None and base.terms.known_order < 2:
        return f"{base.user_family!r} has no expansion of second order"
    return None
