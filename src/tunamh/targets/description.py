"""A regression in words that JSON knows: what its results need so that rows can be predicted from them."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from .glm import GLM

VERSION = 1


def family_as_json(family: Any) -> dict[str, Any]:
    """A family of the library by its name and the numbers in it that are known; of others nothing but their text."""
    if not type(family).__module__.startswith("tunamh.targets.families") or not is_dataclass(family):
        return {"name": None, "text": repr(family)[:200]}
    given = {one.name: getattr(family, one.name) for one in fields(family)}
    known = {
        name: float(value)
        for name, value in given.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }
    found: dict[str, Any] = {"name": type(family).__name__, "known": known, "text": repr(family)[:200]}
    if "counts" in given:
        found["counts"] = family_as_json(given["counts"])
    return found


def regression_as_json(target: GLM) -> dict[str, Any]:
    """Of results of `GLM`: family, columns and the levels of those that hold categories."""
    rows = target.given_rows
    design = rows.design
    inner = getattr(design, "design", design)
    names = getattr(rows, "described", ())
    return {
        "version": VERSION,
        "family": family_as_json(target.given_family),
        "columns": None if rows.names is None else [str(name) for name in rows.names],
        "dim": int(design.dim),
        "factors": getattr(inner, "factors", None),
        "offset": inner is not design,
        "weighted": getattr(rows, "weights", None) is not None,
        "predictors": {
            name: None if labels is None else list(labels)
            for name, labels in zip(names, getattr(rows, "other_names", ()), strict=True)
        },
        "classes": _classes(target),
        **_formula(target),
    }


def _classes(target: GLM) -> list[str] | None:
    """The names of classes, the reference first."""
    if not hasattr(target.given_family, "of_classes"):
        return None
    rows = target.given_rows
    given = getattr(rows, "classes", None)
    if given is not None:
        return list(given)
    values = np.unique(np.concatenate(list(rows.map(lambda block: np.unique(block.y)))))
    return [str(int(value)) for value in values]


def _formula(target: Any) -> dict[str, Any]:
    """What a formula learned, and whatever a front door wants to find again (`tunamh.cli`)."""
    formula, origin = getattr(target, "formula", None), getattr(target, "origin", None)
    found = {} if formula is None else {"formula": formula.to_json()}
    return found if origin is None else {**found, "origin": origin}


def mixed_as_json(target: Any) -> dict[str, Any]:
    """The same of `MixedModel`; a formula's results have the groups' levels as coordinates."""
    named = target.keeps_effects and target.formula is None
    groups = [
        {
            "name": one.name,
            "columns": list(one.columns),
            "levels": one.groups,
            "known": None if one.known is None else [float(size) for size in np.diag(one.known) ** -0.5],
            **({"level_names": list(map(str, one.levels))} if named else {}),
        }
        for one in target.groupings
    ]
    return {**regression_as_json(target.base), "groups": groups, **_formula(target)}
