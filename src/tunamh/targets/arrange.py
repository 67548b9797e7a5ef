"""From a user's data and family to rows as the compiled core sees them: columns, terms of predictors, responses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from ..data.source import Rows
from .designs.several import SeveralBlock, SeveralLayout, Term
from .observations import Arranged, Observations


class Arrangement(NamedTuple):
    """What a family makes of observations: rows, the family of their energies, and the names of the parameters."""

    observations: Observations
    family: Any
    names: list[str]


def column_names(observations: Observations) -> list[str]:
    dim = observations.design.dim
    return [str(j) for j in range(dim)] if observations.names is None else list(observations.names)


def arrange(observations: Observations, family: Any) -> Arrangement:
    """As the family says, or one predictor ``x.theta`` and nothing unknown but its coefficients."""
    if hasattr(family, "arrange"):
        return family.arrange(observations)
    return Arrangement(observations, family, column_names(observations))


def one_stretch_per_class(observations: Observations, family: Any, classes: Sequence[str]) -> Arrangement:
    """Predictors ``x.theta_k`` for every class but the first, all with the same columns (softmax)."""
    design = observations.design
    terms = [Term(k, 0, k * design.dim) for k in range(len(classes) - 1)]
    layout = SeveralLayout([(design.numbers, design.dim)], terms, len(terms))

    def several(rows: Rows) -> Rows:
        return rows._replace(X=SeveralBlock((rows.X,), layout, len(rows.y)))

    labels = [f"{name}[{label}]" for label in classes[1:] for name in column_names(observations)]
    return Arrangement(Arranged(observations, layout, several), family, labels)
