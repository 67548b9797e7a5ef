"""Regressions of arrays that rows are added to and taken from, without a pass over the other rows (spec 5x).

What is kept of a set-up: the centre, its metric, the sums there, and the packed rows with their bounds. New rows are
expanded at the same centre and added to the sums; rows that go are expanded there once more and taken off. The centre
moves, and all rows are passed over, as for files (`tunamh.targets.expansion.foreseen`).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..errors import NotApplicable
from ..process.stages import announce
from ..rows.packing import ROW, packed_rows
from .designs.dense import DenseDesign
from .designs.with_offset import DesignWithOffset
from .expansion.foreseen import foreseen_rows, why_move
from .expansion.kept import Filled, KeptSums, RowsAt, kept_expansion, kept_target
from .expansion.one_predictor import OnePredictor, RowSums, ladder_of
from .layouts import RUNGS
from .observations.inputs import RowExtras, check_weights, observe
from .observations.observed import InMemory
from .observations.parts import InParts

if TYPE_CHECKING:
    from .glm import GLM

_DRAWN = 500  # rows by which a fresh centre is foreseen


class Grown(NamedTuple):
    """What is kept of a regression besides its expansion.

    It has the point where rows are expanded, the sums over rows, and the number of rows when this point was chosen.
    """

    at: RowsAt
    sums: KeptSums
    packed: np.ndarray
    born: int


def with_rows(target: GLM, X: Any, y: Any, *, weights: Any = None, offset: Any = None) -> GLM:
    """Return the regression of the rows of ``target`` together with these new rows."""
    refuse_not_growing(target)
    new = observe(X, y, RowExtras(weights=weights, offset=offset), target.user_family)
    here = target.observations.design
    same = isinstance(new, InMemory) and type(new.design) is type(here) and new.design.numbers == here.numbers
    if not same or new.weighted != target.observations.weighted:
        raise ValueError(
            "the new rows must be like the old ones: the same columns, all in single or all in double precision, and "
            "weights= and offset= for both or for none."
        )
    if (new.names is None) != (target.observations.names is None) or list(new.names or ()) != list(
        target.observations.names or ()
    ):
        raise ValueError(
            f"the columns of the new rows are {new.names}, and those of the old ones {target.observations.names}."
        )
    if new.weighted:
        check_weights(new, target.temper)
    grown = grown_of(target)
    packed, sums = _expanded(target, grown.at, new)
    observations = _in_parts(target).with_part(new)  # type: ignore[arg-type]
    return _settled(
        target, observations, grown._replace(sums=grown.sums.joined(sums), packed=_stacked([grown.packed, packed]))
    )


def without_rows(target: GLM, numbers: Any) -> GLM:
    """Return the regression of the rows of ``target`` without the rows with these numbers."""
    refuse_not_growing(target)
    index = np.unique(np.asarray(numbers))
    if index.dtype.kind not in "iu" or np.ndim(numbers) != 1:
        raise TypeError("numbers must be the numbers of the rows to remove, counted from 0, such as [3, 17].")
    if index.size == 0:
        return target
    if index[0] < 0 or index[-1] >= target.n_rows:
        raise ValueError(
            f"the rows have the numbers 0 to {target.n_rows - 1}, so rows {index[0]} to {index[-1]} do not exist."
        )
    if len(index) == target.n_rows:
        raise ValueError("no row would be left.")
    grown = grown_of(target)
    _, gone = _expanded(target, grown.at, target.observations.take(index))
    observations = _in_parts(target).without(index)
    kept = np.ones(target.n_rows, bool)
    kept[index] = False
    packed = _stacked([grown.packed[kept]])
    return _settled(target, observations, grown._replace(sums=grown.sums.without(gone), packed=packed))


def grown_of(target: GLM) -> Grown:
    """Return what is kept of a target.

    If nothing is kept yet, first make a set-up, which passes over all of its rows.
    """
    if target.grown is not None:
        return target.grown
    mode = target.modes[0]
    if not mode.found or not mode.posterior.metric().positive_definite:
        raise NotApplicable("the search found no mode, so there is no centre to keep: set a prior.")
    return _about(target, mode.point, mode.posterior.metric().factor)


def _about(target: GLM, point: np.ndarray, factor: np.ndarray) -> Grown:
    """All rows expanded about a point: passes over them."""
    announce("expanding every row about the centre")
    at = RowsAt(point, factor, np.linalg.inv(factor), ladder_of(target.dim, local=target.terms.local()))
    packed, sums = _expanded(target, at, target.observations)
    return Grown(at, sums, packed, target.n_rows)


def _expanded(target: GLM, at: RowsAt, rows: Any) -> tuple[np.ndarray, KeptSums]:
    """Some rows, packed, and their sums at the centre."""
    part = target.on_observations(rows, known_columns=target.columns)
    terms: Any = target.terms
    found = RowSums(np.ones(RUNGS + 1), 0.0, 0.0, np.zeros(target.dim))

    def take(of_block: RowSums) -> None:
        nonlocal found
        found = found.joined(of_block)

    packed: Any = part.packed(terms.centre_columns, Filled(terms, at, target.y_column, target.temper), take).rows
    expansion = part.expansion(at.centre)
    return packed, KeptSums(expansion, found, part.n_rows, part.effective_rows / target.temper)


def _stacked(parts: list[np.ndarray]) -> np.ndarray:
    """Packed rows one behind the other, the first on a cache line."""
    rows = packed_rows(sum(map(len, parts)), parts[0].shape[1])
    np.concatenate(parts, out=rows)
    return rows


def _in_parts(target: GLM) -> InParts:
    rows: Any = target.observations
    return rows if isinstance(rows, InParts) else InParts((rows,))


def _settled(target: GLM, observations: InParts, grown: Grown) -> GLM:
    """The target of these rows, with the centre of before or, where that does not pay any more, a fresh one."""
    known = target.columns
    base = target.on_observations(observations, user_rows=observations, grown=None, known_columns=known)
    moved = None
    for _ in range(2):
        expanded = kept_target(base, grown.at, grown.sums, grown.packed)
        column = ROW.places(width=base.y_column).bound
        samples = _drawn(grown.packed, column)
        now, fresh = foreseen_rows(expanded, samples, grown.at.factor, observations.design.numbers)
        why = why_move(now, fresh, observations.n_rows, grown.born)
        if why is None or moved is not None:
            break
        moved = why
        grown = _about(base, expanded.reference, expanded.metric.factor)
    told = "the old centre is kept" if moved is None else f"every row was expanded about a new centre, because {moved}"
    kept = kept_expansion(base, expanded, grown.sums.weight, told)
    return base.with_kept(kept)._with(grown=grown)


def _drawn(packed: np.ndarray, column: int) -> list[tuple[float, np.ndarray]]:
    """Some rows drawn by their bounds, in small parts."""
    ends = np.cumsum(packed[:, column])
    if not ends[-1] > 0:
        return []
    at = np.searchsorted(ends, np.random.default_rng(0).random(_DRAWN) * ends[-1], side="right")
    parts = np.array_split(packed[np.minimum(at, len(packed) - 1)], 20)
    return [(float(ends[-1]) / len(parts), part) for part in parts]


def refuse_not_growing(target: GLM) -> None:
    """Raise an error for a regression to which no rows can be added."""
    design: Any = target.observations.design
    inner = design.design if isinstance(design, DesignWithOffset) else design
    reason = None
    if target.formula is not None:
        reason = "was made by a formula, whose default priors and levels come from the rows: use files and cache="
    elif not isinstance(target.terms, OnePredictor) or target.observations is not target.user_rows:
        reason = "has several predictors, or an unknown scale or shape whose coordinates are chosen by the rows"
    elif not isinstance(target.observations, InMemory | InParts) or not isinstance(inner, DenseDesign):
        reason = "has rows that are not in memory, or columns of categories or of a sparse matrix"
    elif target.given_trials or target.observations.has_censoring:
        reason = "has trials or censored responses"
    elif not target.convex or target.highest_order() < 2:
        reason = "may have several modes, or no expansion of second order"
    elif target.coefficient_prior.mixture is not None:
        reason = "has a prior with unknown scales, which are drawn with a law that follows all rows"
    if reason is not None:
        raise NotApplicable(
            f"rows can be added only if the old centre can be kept, but this regression {reason}. Make a new "
            "target of all rows (docs/living-data.md)."
        )
