"""The group ``observed_data`` of results, and the words of groups that have some of the rows only."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from .tree import library_attributes

if TYPE_CHECKING:
    from ..targets.observations.observed import SeenResponses


def attributes_of_rows(some: int, n_rows: int) -> dict[str, Any]:
    """Return attributes of a group: which library made it, and how many of the rows it contains."""
    told = f"all {n_rows:,} rows" if some == n_rows else f"{some:,} of {n_rows:,} rows, drawn at random"
    return {**library_attributes(), "rows": told}


def classes_told(names: Sequence[str]) -> dict[str, str]:
    """Return the attribute of a variable whose numbers 0, 1, ... stand for classes."""
    return {"classes": ", ".join(f"{k}: {name}" for k, name in enumerate(names))}


def free_name(name: str) -> str:
    """Return a name that a file can contain and that differs from the name of the dimension."""
    name = name.replace("/", "÷")
    return f"{name}_" if name == "row" else name


def observed_dataset(seen: SeenResponses) -> Any:
    """Return the responses as a data set with the dimension ``row``, the row number in the data."""
    import xarray

    told = {} if seen.classes is None else classes_told(seen.classes)
    return xarray.Dataset(
        {free_name(seen.name): ("row", np.asarray(seen.values), told)},
        {"row": np.asarray(seen.rows)},
        attributes_of_rows(len(seen.rows), seen.n_rows),
    )


def add_observed(tree: Any, seen: SeenResponses | None) -> None:
    """Add the group ``observed_data`` to a result, if responses are known and the result is a DataTree."""
    import xarray

    if seen is not None and isinstance(tree, xarray.DataTree):
        tree["observed_data"] = xarray.DataTree(observed_dataset(seen))
