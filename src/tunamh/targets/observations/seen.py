"""Some of the responses as a user gave them, for the group ``observed_data`` of results."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .observed import InMemory, Observations

MOST_ROWS = 10_000


class SeenResponses(NamedTuple):
    """A subsample of the responses: their name, values and row numbers, how many rows there are in all.

    ``classes`` are the names of classes 0, 1, ... where these are given by name.
    """

    name: str
    values: np.ndarray
    rows: np.ndarray
    n_rows: int
    classes: tuple[str, ...] | None = None


def some_rows(n_rows: int) -> np.ndarray:
    """Numbers of random rows, always the same ones: all rows, or ten thousand of them."""
    if n_rows <= MOST_ROWS:
        return np.arange(n_rows)
    return np.sort(np.random.default_rng(0).choice(n_rows, MOST_ROWS, replace=False))


def seen_responses(given: Observations, formula: Any, places: np.ndarray | None, family: Any) -> SeenResponses | None:
    """Of rows in memory; None of others, which a pass would have to read.

    ``places`` are the row numbers of `some_rows` in the user's table, where these differ.
    """
    if not isinstance(given, InMemory):
        return None
    y = given.y if given.counts is None else given.counts
    which = some_rows(len(y))
    name = "y" if formula is None else str(formula.response.node)
    values = y[which].astype(np.int64) if family.of_classes else np.array(y[which])
    return SeenResponses(name, values, which if places is None else places, len(y), given.classes)
