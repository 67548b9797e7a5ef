"""What lies where in the flat vectors ``hyper`` of targets, and in packed rows.

A target's own numbers come first, then those of an expansion, if there is one. The vector says itself where the latter
begin, so a target may have as many numbers of its own as it likes.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ..compiled import helper
from ..compiled.layouts import FLAG, NUMBER, WHOLE, Layout, float32, int32
from ..process.scratch import concatenated
from ..rows.packing import ROW

OWN = 1
"""Where a target's own numbers begin; before them, where the expansion's do (0: there is none)."""

RUNGS = 4
"""Of a ladder of trust radii."""


def pack_hyper(own: Sequence[float] | np.ndarray, expansion: np.ndarray | None = None) -> np.ndarray:
    """Return the vector ``hyper`` of a target from its own numbers and those of its expansion."""
    begins = 0.0 if expansion is None else OWN + len(own)
    found = concatenated([[begins], own, [] if expansion is None else expansion])  # in memory once
    found.flags.writeable = False
    return found


# ------------------------------------------------------------------------------------------------------- expansions


class Trust(NamedTuple):
    """Radii about the centre with factors (spec 5m): within the k-th radius a distance is multiplied by factor k.

    The last factor is for points beyond all radii. If it is infinite, no bound is known there, and all rows are read.
    """

    radii_squared: Any = (np.inf,) * RUNGS
    factors: Any = (1.0,) * (RUNGS + 1)


EXPANSION = Layout("Expansion", "d", order=NUMBER, radii_squared=(RUNGS,), factors=(RUNGS + 1,), centre=("d",))
"""What every expansion begins with; the centre is in the parameters' own coordinates."""

EXPANDED = Layout("Expanded", "d", **EXPANSION.fields, gradient=("d",), hessian=("d", "d"), root=("d", "d"))
"""An expansion in the parameters' own coordinates; ``root`` measures distances."""

WHITE = Layout(
    "White",
    "d",
    **EXPANSION.fields,
    centre_state=("d",),
    slope=("d",),
    curvature=("d",),
    origin=("d",),
    factor=("d", "d"),
)
"""An expansion in the coordinates ``z``, ``theta = origin + factor z``: offset ``slope.z + curvature.z^2 / 2``."""

_expansion_at, _expanded_at, _white_at = EXPANSION.reader(), EXPANDED.reader(), WHITE.reader()


@helper(inline=True)
def order_of(hyper):
    return hyper[int(hyper[0])]


@helper(inline=True)
def centre_of(hyper, d):
    return _expansion_at(hyper, int(hyper[0]), d).centre


@helper(inline=True)
def expanded_of(hyper, d):
    return _expanded_at(hyper, int(hyper[0]), d)


@helper(inline=True)
def white_of(hyper, d):
    return _white_at(hyper, int(hyper[0]), d)


# ------------------------------------------------------------------------------------------------------ regressions

TERM = Layout(
    "Term",
    predictor=WHOLE,
    stored=FLAG,  # else it is a column of ones
    single=FLAG,
    first=WHOLE,  # where the columns begin in a packed row
    columns=WHOLE,
    positions=WHOLE,
    valued=FLAG,
    offset=WHOLE,  # the column of an offset, -1 where there is none
    start=WHOLE,  # in theta
    curves=WHOLE,  # see `tunamh.targets.designs.curves`
    map=WHOLE,  # where the records of these begin in the table
)
"""A term of a design with several predictors; see `tunamh.targets.designs.multi_predictor`."""

TERM_SIZE = len(TERM.fields)

REGRESSION = Layout(
    "Regression",
    # where a packed row's features lie, see `tunamh.targets.designs.base.DesignNumbers`
    width=WHOLE,
    single=FLAG,
    columns=WHOLE,
    positions=WHOLE,
    valued=FLAG,
    shifted=FLAG,
    predictors=WHOLE,
    terms=WHOLE,
    known=WHOLE,  # columns of the data, behind the predictors
    curves=WHOLE,
    size=WHOLE,  # of the table
    # energies
    temper=NUMBER,
    weighted=FLAG,
    grain=NUMBER,  # of the family, see `tunamh.targets.glm_rows.scales`
    table=("size",),
)
"""A regression's own numbers. In the table are the terms of several predictors, and the records of curves."""

_regression_at, term_at = REGRESSION.reader(), TERM.reader()


@helper(inline=True)
def regression_of(hyper):
    return _regression_at(hyper, OWN)


# ------------------------------------------------------------------------------------------------------ packed rows

FEATURES = Layout(
    "Features", "columns", "positions", whole=("columns",), indices=int32("positions"), values=("positions",)
)
"""Features of a row: columns kept whole, then the indices of others (-1: none), then the values of these, if any."""

SINGLE_FEATURES = Layout("SingleFeatures", "columns", "positions", whole=float32("columns"))
"""The same where whole columns are in single precision; then there are no others."""

features_at, single_features_at = FEATURES.reader(), SINGLE_FEATURES.reader()

TAYLOR_ROW = Layout("TaylorRow", "width", **ROW.fields, eta=NUMBER, slope=NUMBER, curvature=NUMBER)
"""Of an expansion: the predictor, ``f'`` and ``f''`` at the centre."""

MULTI_PREDICTOR_ROW = Layout(
    "MultiPredictorRow",
    "width",
    "K",
    **ROW.fields,
    eta=("K",),
    gradient=("K",),
    hessian=("K * (K + 1) // 2",),
)
"""Of an expansion in K predictors, at the centre: these, the gradient, and the Hessian's lower triangle, row by row."""

FIREFLY_ROW = Layout(
    "FireflyRow", "width", **ROW.fields, anchor=NUMBER, curvature=NUMBER, slope=NUMBER, constant=NUMBER
)
"""Of a lower bound of the likelihood: ``curvature e^2 + slope e + constant``, ``e = eta - anchor``."""

ROW_AND_BOUND = Layout("RowAndBound", "width", numbers=("width",), bound=NUMBER)
"""A row of a target that is no regression."""

row_at, taylor_row_at, multi_predictor_row_at = ROW.reader(), TAYLOR_ROW.reader(), MULTI_PREDICTOR_ROW.reader()
firefly_row_at, row_and_bound_at = FIREFLY_ROW.reader(), ROW_AND_BOUND.reader()
