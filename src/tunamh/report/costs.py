"""What a run cost: rows read, passes over the data, time by stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from .metadata import Told, statistic


@dataclass(frozen=True)
class Stage:
    """A stage of a run with its share of the time."""

    name: str
    seconds: float
    share: float  # of the longest, in per cent
    part: bool = False  # of the stage above it

    @property
    def text(self) -> str:
        return duration(self.seconds)


@dataclass(frozen=True)
class Cost:
    facts: list[tuple[str, str, str]]  # a number, what it is, and a remark
    stages: list[Stage]
    missing: list[str]


def cost_of(stats: Any, told: Told, ess: float | None) -> Cost:
    facts, missing = [], []
    rows, n_rows = _rows_read(stats, told), told.number("rows")
    if rows is not None:
        facts.append((count(rows.sum()), "rows read by all kept draws", f"{_short(rows.mean())} per draw"))
        if n_rows:
            facts.append(
                (_short(rows.sum() / n_rows), "passes over the data", f"the rows read, divided by {count(n_rows)}")
            )
    else:
        missing.append("rows read")
    passes, set_up_rows = told.set_up_number("passes"), told.set_up_number("rows")
    if passes is not None:
        whole = (
            f"together they read {_short(set_up_rows / n_rows)} times all rows"
            if set_up_rows is not None and n_rows
            else ""
        )
        facts.append((count(passes), "passes during set-up", whole))
    sampling = _sampling_seconds(stats)
    if ess is not None and sampling:
        facts.append(
            (
                count(ess / sampling),
                "effective draws per second",
                "of the parameter that has the fewest; set-up and warm-up are not counted",
            )
        )
    stages = _stages(told, sampling)
    if not stages:
        missing.append("time by stage")
    return Cost(facts, stages, missing)


def _rows_read(stats: Any, told: Told) -> np.ndarray | None:
    """By draw."""
    rows = statistic(stats, "batch_size")
    return None if rows is None else np.nan_to_num(rows) * (told.number("thin") or 1.0)


def _sampling_seconds(stats: Any) -> float | None:
    elapsed = statistic(stats, "elapsed")
    if elapsed is None:
        return None
    longest = float(np.nan_to_num(elapsed).max())
    return longest if longest > 0 else None


def _stages(told: Told, sampling: float | None) -> list[Stage]:
    seconds, inner = told.seconds(), told.stages()
    if not seconds and sampling is not None:
        seconds = {"draws": sampling}
    longest = max([*seconds.values(), 1e-9])
    found = []
    for name, value in seconds.items():
        found.append(Stage(name, value, 100 * max(0.0, value) / longest))
        if name == "set-up":
            parts = [(stage, part) for stage, part in inner.items() if part >= 0.001]
            found += [Stage(stage, part, 100 * part / longest, part=True) for stage, part in parts]
    return found


def duration(seconds: float) -> str:
    if seconds < 0.0995:
        return f"{1000 * seconds:.2g} ms"
    if seconds < 99.5:
        return f"{seconds:.2g} s" if seconds < 9.95 else f"{seconds:.0f} s"
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes < 120 else f"{minutes / 60:.1f} h"


def count(value: float) -> str:
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"
