"""Which responses are censored, as a user says it: codes or events, checked and told."""

from __future__ import annotations

from typing import Any

import numpy as np

from .base import Observations
from .observed import InMemory

_FEW_VALUES = 5  # of a column of events, that an error names


def censoring(censored: Any, event: Any) -> Any:
    """Return codes of censoring from the arguments ``censored`` and ``event``, of which a user passes at most one.

    An event of 1 means that the time is known, and 0 that the true time is larger.
    """
    if event is None:
        return censored
    if censored is not None:
        raise TypeError("censored= and event= have the same information: pass only one of them.")
    if isinstance(event, str):
        raise TypeError("event= is the name of a column in tunamh.regression only; here, give censored= by name.")
    told = event if hasattr(event, "index") and hasattr(event, "iloc") else np.asarray(event)
    return codes_of_events(told)


def codes_of_events(event: Any) -> Any:
    """Return ``1 - event`` in the same kind of container."""
    values = np.asarray(event)
    wrong = ~np.isin(values, (0, 1))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"event must be 1 (or True) if the event happened and 0 if the time is censored, but row {row} has "
            f"{values[row]}{_values_told(values)}"
        )
    return 1.0 - event.astype(np.float64)


def _values_told(values: np.ndarray) -> str:
    """What values there are, if they are few, and how the one that means an event is named."""
    found, counts = np.unique(values, return_counts=True)
    if len(found) > _FEW_VALUES:
        return "."
    told = ", ".join(f"{value:g} in {count:,} rows" for value, count in zip(found, counts, strict=True))
    return f" (there are {told}): say which value is the event, such as event == {found[-1]:g}."


def censoring_told(rows: Observations) -> list[str]:
    """Return in words how many responses are censored, and on which side."""
    codes = rows.censored if isinstance(rows, InMemory) else None
    if codes is None:
        return []
    larger, smaller = int((codes > 0).sum()), int((codes < 0).sum())
    sides = [(larger, "the true value is larger"), (smaller, "the true value is smaller")]
    told = "; ".join(f"{count:,} of {len(codes):,} responses are censored ({side})" for count, side in sides if count)
    return [told or f"none of {len(codes):,} responses is censored"]


def check_codes(censored: np.ndarray) -> None:
    wrong = ~np.isin(censored, (-1.0, 0.0, 1.0))
    if wrong.any():
        row = int(np.argmax(wrong))
        raise ValueError(
            f"censored must be 0 (observed), 1 (the response is larger) or -1 (smaller), but row {row} has "
            f"{censored[row]:g}."
        )
