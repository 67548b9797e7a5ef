"""A regression with groups in words that JSON knows: what its results need so that rows can be predicted from them."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..targets.description import formula_as_json, regression_as_json
from ..targets.families.base import Responses
from ..targets.glm import GLM

_MOST_LEVELS = 100_000
_APPROXIMATED = (Responses.COUNTS, Responses.PROPORTIONS)


def mixed_as_json(target: Any) -> dict[str, Any]:
    """Describe a `MixedModel` for its results. For a formula, the levels of groups are coordinates of the result."""
    named = target.keeps_effects and target.formula is None
    factors = None if target.formula is None else target.formula.factors
    origin = target.base.observations.origin or target.base.user_rows.origin
    groups = [
        {
            "name": one.name,
            "factor": one.name if factors is None else factors[k if one.given is None else one.given],
            "columns": list(one.columns),
            "levels": one.groups,
            **({} if one.label is None else {"predictor": one.predictor, "given": one.given, "class": one.label}),
            **({} if one.parameter is None else {"parameter": one.parameter}),
            "known": None if one.known is None else [float(size) for size in np.diag(one.known) ** -0.5],
            "squares": one.mean_squares(target.base.row_layout.unit),
            **({"rows": one.rows_by_level(origin)} if one.groups <= _MOST_LEVELS else {}),
            **({"df": one.df} if one.df else {}),
            **({"related": True} if one.related is not None else {}),
            **({"level_names": list(map(str, one.levels))} if named else {}),
        }
        for k, one in enumerate(target.groupings)
    ]
    return {**regression_as_json(target.base), **_mean(target.base), "groups": groups, **formula_as_json(target)}


def _mean(base: GLM) -> dict[str, Any]:
    """The mean of responses whose variance on the scale of the predictor is approximated at the mean."""
    if base.user_family.responses not in _APPROXIMATED:
        return {}
    total, weight = base.user_rows.sums(lambda rows: (rows.y @ base.weight(rows), base.weight(rows).sum()))
    return {"mean_response": float(f"{total / weight:.10g}")} if weight > 0 else {}
