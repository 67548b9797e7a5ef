"""From a user's data and family to rows as the compiled core sees them: columns, terms of predictors, responses."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

import numpy as np

from ..data.source import Rows
from .designs.base import DesignNumbers, DesignParts
from .designs.several import SeveralBlock, SeveralLayout, Term
from .observations import Observations

Result = TypeVar("Result")


class Layout(NamedTuple):
    """How features are packed, and what compiled code makes of them."""

    dim: int
    numbers: DesignNumbers
    parts: DesignParts
    table: Sequence[float] = ()


class ArrangedRows:
    """Rows of other observations, each block turned into another by ``change``."""

    def __init__(self, base: Observations, design: Any, change: Callable[[Rows], Rows]):
        self.base, self.design, self.change = base, design, change
        self.n_rows, self.names, self.weighted = base.n_rows, base.names, base.weighted
        self.fingerprint = base.fingerprint

    def map(self, function: Callable[[Rows], Result]) -> Iterator[Result]:
        return self.base.map(lambda rows: function(self.change(rows)))


class Arrangement(NamedTuple):
    """What a family makes of observations: rows, the family of their energies, and the names of the parameters."""

    observations: Observations
    family: Any
    names: list[str]


def one_stretch_per_class(observations: Observations, family: Any, classes: Sequence[str]) -> Arrangement:
    """Predictors ``x.theta_k`` for every class but the first, all with the same columns (softmax)."""
    design = observations.design
    terms = [Term(k, 0, k * design.dim) for k in range(len(classes) - 1)]
    layout = SeveralLayout([(design.numbers, design.dim)], terms, len(terms))

    def several(rows: Rows) -> Rows:
        return rows._replace(X=SeveralBlock((rows.X,), layout, len(rows.y)))

    names = [str(j) for j in range(design.dim)] if observations.names is None else list(observations.names)
    labels = [f"{name}[{label}]" for label in classes[1:] for name in names]
    return Arrangement(ArrangedRows(observations, layout, several), family, labels)  # type: ignore[arg-type]
