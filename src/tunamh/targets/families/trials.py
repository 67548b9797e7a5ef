"""Labels counted over trials: ``k`` successes of ``n``."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ...process.scratch import as_large
from ...rows.trials import fractions, shares_hint
from ..observations.observed import InMemory, Seal


def _checked(y: np.ndarray, trials: np.ndarray) -> None:
    for what, wrong in (
        ("trials must be whole numbers from 0 on", (trials < 0) | (trials != np.floor(trials))),
        ("successes in y must be whole numbers from 0 to trials", (y < 0) | (y > trials) | (y != np.floor(y))),
    ):
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"{what}, but row {row} has y = {y[row]:g} of {trials[row]:g} trials.{shares_hint(y, trials)}"
            )
    if not trials.any():
        raise ValueError("trials are all zero, so that no row counts: at least one must be positive.")


def as_fractions(found: InMemory, trials: np.ndarray) -> InMemory:
    """Return one row with weight ``n`` and response ``k / n``, for energies that are linear in the label."""
    _checked(found.y, trials)
    y, weights = fractions(found.y, trials, found.weights)
    return replace(found, y=as_large(y), weights=as_large(weights))


def as_two_rows(found: InMemory, trials: np.ndarray) -> InMemory:
    """Return two rows in place of one: weight ``k`` and label 1, weight ``n - k`` and label 0.

    Rows of weight 0 are left out.
    """
    _checked(found.y, trials)
    times = np.stack([found.y, trials - found.y], axis=1)
    index, label = np.nonzero(times)
    doubled: Any = found.take(index)
    weights = times[index, label]
    weights = weights if doubled.weights is None else weights * doubled.weights
    y = 1.0 - label
    seal = Seal({**doubled.design.arrays(), "y": y, "weights": weights}, {"X": found.names})  # these rows are a copy
    return replace(doubled, y=y, weights=weights, seal=seal, origin=(index, len(trials)))
