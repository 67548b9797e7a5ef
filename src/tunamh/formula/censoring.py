"""Censored responses of a formula: by codes of censoring, or by events."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..targets.observations.censored import codes_of_events
from .errors import FormulaError


def censoring_of(beside: Mapping[str, np.ndarray]) -> np.ndarray | None:
    """Return the codes of censoring: 0 for a seen response, 1 if the true value is larger, -1 if it is smaller.

    The result is None if no response is censored.
    """
    event = beside.get("event")
    if event is None:
        return beside.get("censored")
    if beside.get("censored") is not None:
        raise FormulaError("censored= and event= have the same information: pass only one of them.")
    try:
        return codes_of_events(event)
    except ValueError as error:
        raise FormulaError(str(error)) from None
