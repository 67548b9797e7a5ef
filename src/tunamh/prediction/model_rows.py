"""Rows of the data of a fit as its model reads them: columns, responses, weights, and what was seen of responses."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..formula.model import FormulaModel
from ..formula.syntax import columns_in
from ..tables.frames import Frame
from .fitted import Fitted
from .new_rows import Chunk, NewRowExtras, NewRows
from .times import Seen


class ModelRows(NamedTuple):
    """Rows as columns of the model, with their weights, and with what was seen of their responses (censoring)."""

    chunk: Chunk
    weights: np.ndarray | None
    seen: Seen


def model_rows(fitted: Fitted, frame: Frame, size: int) -> list[ModelRows]:
    """Return complete rows as the model reads them, at most ``size`` rows in each entry of the list."""
    assert fitted.formula is not None
    weighted, found = fitted.formula.beside.get("weights"), []
    seen = Seen.of(fitted.formula, frame)
    for chunk in NewRows(fitted, frame, NewRowExtras(), with_response=True).chunks(size):
        weights, which = None, slice(chunk.first, chunk.first + chunk.n_rows)
        if weighted is not None:
            weights = fitted.formula.values(frame.take(which), list(columns_in(weighted))).numbers(weighted)
        found.append(ModelRows(chunk, weights, seen.part(which)))
    return found


def needed_columns(formula: FormulaModel) -> list[str]:
    """Return the names of the columns of predictors, response, trials and weights."""
    found = [*formula.predictor_columns, *columns_in(formula.response.node)]
    return [*found, *(name for node in formula.beside.values() for name in columns_in(node))]
