"""A regression in words that JSON knows: what its results need so that rows can be predicted from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .designs.with_offset import DesignWithOffset
from .families.registry import family_as_json
from .observations.observed import InMemory

if TYPE_CHECKING:
    from .glm import GLM

VERSION = 1


def regression_as_json(target: GLM) -> dict[str, Any]:
    """Describe a `GLM` for its results: the family, the columns, and the levels of columns of categories."""
    rows = target.user_rows
    design = rows.design
    return {
        "version": VERSION,
        "family": family_as_json(target.user_family),
        "columns": None if rows.names is None else [str(name) for name in rows.names],
        "dim": int(design.dim),
        "factors": design.factors,
        "offset": isinstance(design, DesignWithOffset),
        "predictors": {
            name: None if labels is None else list(labels)
            for name, labels in zip(rows.described, rows.other_names, strict=True)
        },
        "classes": classes_of(target),
        **({"data_columns": list(columns)} if (columns := target.user_family.data_columns) else {}),
        **({"named_predictors": list(names)} if (names := target.user_family.named_predictors) else {}),
        **({"censored": True} if rows.has_censoring else {}),
        **({"strata": True} if isinstance(rows, InMemory) and rows.strata is not None else {}),
        **({"trials": target.given_trials} if target.given_trials and target.formula is None else {}),
        **formula_as_json(target),
    }


def classes_of(target: GLM) -> list[str] | None:
    """Return the names of the classes, the reference class first, or None if the response has no classes."""
    if not target.user_family.of_classes:
        return None
    rows = target.user_rows
    if rows.classes is not None:
        return list(rows.classes)
    values = np.unique(np.concatenate(list(rows.map(lambda block: np.unique(block.y)))))
    return [str(int(value)) for value in values]


def formula_as_json(target: Any) -> dict[str, Any]:
    """Return what a formula has learned, and what a caller such as `tunamh.cli` wants to find in the result."""
    found = {} if target.formula is None else {"formula": target.formula.to_json()}
    return found if target.origin is None else {**found, "origin": target.origin}
