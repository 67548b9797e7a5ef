"""The roles of a sweep's moves: each is a part of its own, compiled by itself, and called by its address.

What crosses a pointer is the address of a `FactorTurn`.
"""

from __future__ import annotations

from numba import types

from ..compiled import KINDS, LogPrior
from ..compiled.layouts import Record
from ..compiled.references import bundle_at, part_at
from .conditionals import Given
from .kernel_common import CommonPrior, FactorTurn, Move
from .layout import COMMON, FACTOR

PROPOSE_COMMON, MOVE_COMMON, MOVE_EFFECTS, MOVE_SCALES, MOVE_MEANS, MOVE_PARENTS, MOVE_TOGETHER = range(7)
"""Places of the parts of a sweep in ``parts`` of a turn."""

_real, _whole, _flag, _vector, _matrix = KINDS.real, KINDS.whole, KINDS.flag, KINDS.vector, KINDS.matrix
_prior = types.NamedTuple([LogPrior, KINDS.fixed], CommonPrior)
_given = types.NamedTuple([_matrix, _matrix, _vector], Given)
_turn = types.NamedTuple(
    [
        *(Record(FACTOR, KINDS.fixed), Record(COMMON, KINDS.fixed), KINDS.model, KINDS.work, _vector, _vector),
        *(_matrix, _vector, _given, _vector, _flag, _real, KINDS.index, _vector, _prior),
    ],
    FactorTurn,
)
_move = types.NamedTuple([_real, _real, _whole, _real, _whole, _flag], Move)

ProposeCommon = types.FunctionType(types.Tuple([_real, _flag])(KINDS.generator, _whole, _matrix, _matrix))
"""``(rng, address, eps, Q)``: fills common parameters and scales of ``there`` in the turn at the address; returns the
log ratio of proposing back and forth, and whether it was the Laplace law."""

MoveRows = types.FunctionType(_move(KINDS.generator, _whole))
"""``(rng, address) -> Move``: a move that is decided on rows; ``there`` equals ``state`` before and after it."""

MoveScales = types.FunctionType(_whole(KINDS.generator, _whole))
"""``(rng, address) -> fault``: a move that no row decides on; of the scales, or of means of groups."""

turn_at = bundle_at(_turn)
propose_at, move_at, scales_at = part_at(ProposeCommon), part_at(MoveRows), part_at(MoveScales)
