"""What results call the group effects of a formula, their standard deviations and their correlations."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ..results.layout import CLASSES, CORRELATION, EFFECT, GROUP_SCALE
from .terms import term_label
from .variable_parts import Dimensions, Found, Piece, about, pieces_of, prefix

if TYPE_CHECKING:
    from .model import GroupSide


def effect_name(piece: Piece, one: GroupSide) -> str:
    """Return the name of an effect: ``1|airport``, ``x|airport``, or ``sigma_1|airport`` for a scale."""
    return f"{prefix(one.of)}{own_name(piece)}|{term_label(one.by)}"


def own_name(piece: Piece) -> str:
    """Return the name of a block of columns as it stands in the names of group effects; the intercept is ``1``."""
    return "1" if piece.name == "Intercept" and piece.labels is None else piece.name


def _expression(piece: Piece) -> Dimensions:
    return {} if piece.labels is None else {f"{piece.name}__expr_dim": piece.labels}


class Factor(NamedTuple):
    """A group term of the formula, with its groupings in the target.

    There is one grouping, or one for each class; then ``classes`` contains the dimension of the classes.
    """

    side: GroupSide
    groupings: list[Any]
    classes: Dimensions

    @property
    def first(self) -> Any:
        """Return the first grouping. The others differ from it only in the class."""
        return self.groupings[0]

    def found(
        self, role: str, name: str, term: str, columns: np.ndarray, dims: Dimensions, reference: str | None = None
    ) -> Found:
        """Describe a variable of the result.

        The first axis of ``columns`` is the grouping. If there are classes, they are the last axis in the result.
        """
        own = np.moveaxis(columns, 0, -1) if self.classes else columns[0]
        told = about(role, term=term, predictor=self.side.of, group=term_label(self.side.by), reference=reference)
        if self.classes:
            told[CLASSES] = next(iter(self.classes))
        return Found(name, own, {**dims, **self.classes}, told)


def factors_of(groups: Sequence[GroupSide], groupings: Sequence[Any], classes: Dimensions) -> list[Factor]:
    """Return the group terms with their groupings.

    ``groupings`` contains all groupings of the first term, class after class, then those of the next term.
    """
    each = len(groupings) // len(groups)
    return [Factor(side, list(groupings[k * each : (k + 1) * each]), classes) for k, side in enumerate(groups)]


def effects(factors: Sequence[Factor], columns: np.ndarray) -> Iterator[Found]:
    """Describe the variables of the group effects. In the draws, the effects of one level stand beside each other."""
    start = 0
    for one in factors:
        shape = len(one.groupings), one.first.groups, one.first.q
        own = columns[start : start + math.prod(shape)].reshape(shape)
        start, at = start + own.size, 0
        levels = {f"{term_label(one.side.by)}__factor_dim": tuple(map(str, one.first.levels))}
        for piece in pieces_of(one.side.columns):
            part = own[..., at] if piece.labels is None else own[..., at : at + piece.size].swapaxes(1, 2)
            name, dims = effect_name(piece, one.side), {**_expression(piece), **levels}
            yield one.found(EFFECT, name, piece.name, part, dims, piece.reference)
            at += piece.size


def scales(factors: Sequence[Factor], columns: np.ndarray) -> Iterator[Found]:
    start = 0
    for one in factors:
        if not one.first.scales:
            continue
        shape = len(one.groupings), one.first.q
        own = columns[start : start + math.prod(shape)].reshape(shape)
        start, at = start + own.size, 0
        for piece in pieces_of(one.side.columns):
            part = own[:, at] if piece.labels is None else own[:, at : at + piece.size]
            name = f"{effect_name(piece, one.side)}_sigma"
            yield one.found(GROUP_SCALE, name, piece.name, part, _expression(piece), piece.reference)
            at += piece.size


def correlations(factors: Sequence[Factor], columns: np.ndarray) -> Iterator[Found]:
    """Describe the variables of the correlations.

    In a grouping with q columns, the correlation of the columns ``j < i`` has the number ``i (i - 1) / 2 + j``.
    """
    start = 0
    for one in factors:
        if not one.first.scales:
            continue
        q, count = one.first.q, one.first.q * (one.first.q - 1) // 2
        size = len(one.groupings) * count
        own, start = columns[start : start + size].reshape(len(one.groupings), count), start + size
        i, j = np.indices((q, q))
        place = np.maximum(i, j) * (np.maximum(i, j) - 1) // 2 + np.minimum(i, j)
        pieces, ends = pieces_of(one.side.columns), np.cumsum([piece.size for piece in pieces_of(one.side.columns)])
        for t, second in enumerate(pieces):
            here = slice(ends[t] - second.size, ends[t])
            for s, first in enumerate(pieces[:t]):
                there = slice(ends[s] - first.size, ends[s])
                shape = [piece.size for piece in (first, second) if piece.labels is not None]
                part = own[:, place[there, here]].reshape(len(one.groupings), *shape)
                yield _correlation(first, second, one, part, {**_expression(first), **_expression(second)})
            if second.size > 1:
                a, b = np.triu_indices(second.size, 1)
                levels = second.labels or ()
                pairs = tuple(f"{levels[x]}, {levels[y]}" for x, y in zip(a, b, strict=True))
                dims = {f"{second.name}__pair_dim": pairs}
                yield _correlation(second, second, one, own[:, place[here, here][a, b]], dims)


def _correlation(first: Piece, second: Piece, one: Factor, columns: np.ndarray, dims: Dimensions) -> Found:
    name = f"{prefix(one.side.of)}{own_name(first)},{own_name(second)}|{term_label(one.side.by)}_corr"
    return one.found(CORRELATION, name, pair_name(first, second), columns, dims)


def pair_name(first: Piece, second: Piece) -> str:
    """Return the attribute ``term`` of a correlation: the names of both columns."""
    return f"{first.name},{second.name}"
