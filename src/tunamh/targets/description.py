"""A regression in words that JSON knows: what its results need so that rows can be predicted from them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from .designs.with_offset import DesignWithOffset
from .families.base import Responses
from .families.registry import family_as_json
from .observations.observed import InMemory

if TYPE_CHECKING:
    from .glm import GLM

VERSION = 1


def regression_as_json(target: GLM) -> dict[str, Any]:
    """Of results of `GLM`: family, columns and the levels of those that hold categories."""
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
        **_formula(target),
    }


def classes_of(target: GLM) -> list[str] | None:
    """The names of classes, the reference first."""
    if not target.user_family.of_classes:
        return None
    rows = target.user_rows
    if rows.classes is not None:
        return list(rows.classes)
    values = np.unique(np.concatenate(list(rows.map(lambda block: np.unique(block.y)))))
    return [str(int(value)) for value in values]


def _formula(target: Any) -> dict[str, Any]:
    """What a formula learned, and whatever a front door wants to find again (`tunamh.cli`)."""
    found = {} if target.formula is None else {"formula": target.formula.to_json()}
    return found if target.origin is None else {**found, "origin": target.origin}


def mixed_as_json(target: Any) -> dict[str, Any]:
    """The same of `MixedModel`; a formula's results have the groups' levels as coordinates."""
    named = target.keeps_effects and target.formula is None
    factors = None if target.formula is None else target.formula.factors
    groups = [
        {
            "name": one.name,
            "factor": one.name if factors is None else factors[k if one.given is None else one.given],
            "columns": list(one.columns),
            "levels": one.groups,
            **({} if one.label is None else {"predictor": one.predictor, "given": one.given, "class": one.label}),
            **({} if one.parameter is None else {"parameter": one.parameter}),
            "known": None if one.known is None else [float(size) for size in np.diag(one.known) ** -0.5],
            "squares": _squares(one.Z * target.base.row_layout.unit * one.own_scales[one.codes, None]),
            **({"rows": _rows_by_level(target, one)} if one.groups <= _MOST_LEVELS else {}),
            **({"df": one.df} if one.df else {}),
            **({"related": True} if one.related is not None else {}),
            **({"level_names": list(map(str, one.levels))} if named else {}),
        }
        for k, one in enumerate(target.groupings)
    ]
    return {**regression_as_json(target.base), **_mean(target.base), "groups": groups, **_formula(target)}


_MOST_LEVELS = 100_000
_APPROXIMATED = (Responses.COUNTS, Responses.PROPORTIONS)


def _squares(Z: np.ndarray) -> list[list[float]]:
    """The mean of ``z z'`` over all rows: effects with covariance ``Sigma`` add ``trace(Sigma E[z z'])`` to a row."""
    return [[float(f"{value:.10g}") for value in row] for row in Z.T @ Z / max(1, len(Z))]


def _rows_by_level(target: Any, one: Any) -> list[int]:
    """How many of the user's rows each level has; a row of trials may have become two."""
    origin, codes = target.base.observations.origin or target.base.user_rows.origin, one.codes
    if origin is not None:
        codes = codes[np.unique(origin[0], return_index=True)[1]]
    return [int(count) for count in np.bincount(codes, minlength=one.groups)]


def _mean(base: GLM) -> dict[str, Any]:
    """The mean of responses whose variance on the scale of the predictor is approximated at the mean."""
    if base.user_family.responses not in _APPROXIMATED:
        return {}
    total, weight = base.user_rows.sums(lambda rows: (rows.y @ base.weight(rows), base.weight(rows).sum()))
    return {"mean_response": float(f"{total / weight:.10g}")} if weight > 0 else {}
