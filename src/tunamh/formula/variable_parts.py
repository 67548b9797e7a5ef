"""What a result's variables are made of: the columns of one block of a right side, and a variable without its name."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..results.layout import ROLE
from .coding import Block
from .curve_terms import Term
from .right_side import RightSide
from .syntax import label

FAMILY_NAMES = {
    "scale": "sigma",
    "df": "nu",
    "dispersion": "alpha",
    "shape": "alpha",
    "precision": "kappa",
    "positive": "psi",
    "cutpoint": "threshold",
}
"""What results of formulas call a family's parameter, as Bambi does; others keep the family's own name.

``inflation`` does: it is the probability of a zero too many, and Bambi's ``psi`` is 1 minus that probability.
"""


def prefix(of: str | None) -> str:
    """Return the text with which variables of a parameter's predictor begin; it is empty for the main predictor."""
    return "" if of is None else f"{FAMILY_NAMES.get(of, of)}_"


class Piece(NamedTuple):
    """The columns of one block: name, labels of the columns (None: it is one column), reference level."""

    name: str
    labels: tuple[str, ...] | None
    reference: str | None
    curve: str | None = None
    """Of a curve, the column that it is over."""

    @property
    def size(self) -> int:
        return 1 if self.labels is None else len(self.labels)


def pieces_of(side: RightSide) -> list[Piece]:
    """Return the blocks of a right side in the order of its columns."""
    return [_piece(side, part) for part in side.parts]


def as_written(side: RightSide) -> list[tuple[Piece, int]]:
    """Return the blocks in the order of the formula, each with the position of its first column."""
    found, at = {}, 0
    for part, piece in zip(side.parts, pieces_of(side), strict=True):
        found[part], at = (piece, at), at + piece.size
    return [found[part] for part in (*side.blocks, *side.curves) if part in found]


def _piece(side: RightSide, block: Block | Term) -> Piece:
    if isinstance(block, Term):
        return Piece(block.name, side.curve_labels(block), None, ", ".join(map(label, block.asked.columns)))
    name = side.block_name(block)
    if not block.factors:
        return Piece(name, None, None)
    references = {label(one.atom): side.levels[label(one.atom)][0] for one in block.factors if not one.full}
    told = [level if len(block.factors) == 1 else f"{factor} = {level}" for factor, level in references.items()]
    return Piece(name, tuple(", ".join(levels) for levels in side.cell_levels(block)), ", ".join(told) or None)


Dimensions = dict[str, tuple[str, ...]]
"""Labels by the dimension's name."""


class Found(NamedTuple):
    """A variable of a result, before it is checked that no other variable has its name."""

    name: str
    columns: np.ndarray
    dims: Dimensions
    attributes: dict[str, str]


def about(role: str, **others: str | None) -> dict[str, str]:
    return {ROLE: role, **{key: value for key, value in others.items() if value is not None}}
