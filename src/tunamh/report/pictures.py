"""Pictures as inline SVG that keep their text size at any width: positions are percentages, labels are HTML beside.

Colours come from the page's style by class, so that a picture is right in the light, in the dark and on paper.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

ROW = 22  # pixels
_APART, _NARROW = 30.0, 50.0  # times as large, and times as wide as the interval: then an axis of its own
_MOST_PANELS = 4
_POINTS = 300  # of a chain's path
_MARGIN = 2.0  # per cent of the width


@dataclass(frozen=True)
class Interval:
    """One row in a picture of intervals."""

    label: str
    mean: float
    half: tuple[float, float]
    ends: tuple[float, float]
    factor: str = ""
    """Rows of one factor share an axis, so that its levels can be compared."""

    @property
    def extent(self) -> float:
        return max(abs(self.ends[0]), abs(self.ends[1]))

    def reads_beside(self, larger: Interval) -> bool:
        """Return True if both intervals can share an axis.

        They can if they are of similar size, or if this one is wide enough to be seen.
        """
        width = self.ends[1] - self.ends[0]
        return max(_APART * self.extent, _NARROW * width) >= larger.extent

    @property
    def clear(self) -> bool:
        """Return True if zero is outside the interval."""
        return self.ends[0] > 0 or self.ends[1] < 0


@dataclass(frozen=True)
class Panel:
    """Rows of a picture that share an axis: their intervals, the picture and the ticks."""

    rows: list[Interval]
    svg: Markup
    ticks: list[tuple[float, str]]
    height: int


def panels(rows: list[Interval], *, zero: bool) -> list[Panel]:
    """Return pictures of intervals. Rows that are much larger or smaller than others get their own axis."""
    rows = [row for row in rows if all(map(math.isfinite, (row.mean, *row.half, *row.ends)))]
    groups: list[list[Interval]] = []
    for own in sorted(_by_factor(rows), key=lambda own: -own[0].extent):
        if groups and (own[0].reads_beside(groups[-1][0]) or len(groups) == _MOST_PANELS):
            groups[-1] += own
        else:
            groups.append(own)
    order = {id(row): k for k, row in enumerate(rows)}
    return [_panel(sorted(group, key=lambda row: order[id(row)]), zero) for group in groups]


def _by_factor(rows: list[Interval]) -> list[list[Interval]]:
    """The rows of each factor, the largest first; other rows by themselves."""
    found: dict[Any, list[Interval]] = {}
    for k, row in enumerate(rows):
        found.setdefault(row.factor or k, []).append(row)
    return [sorted(own, key=lambda row: -row.extent) for own in found.values()]


def _panel(rows: list[Interval], zero: bool) -> Panel:
    low, high = min(row.ends[0] for row in rows), max(row.ends[1] for row in rows)
    if not high > low:
        low, high = low - max(abs(low), 1.0), high + max(abs(high), 1.0)
    span = high - low
    if zero and min(abs(low), abs(high)) < 2 * span:
        low, high = min(low, 0.0), max(high, 0.0)
    axis = _Axis(low, high)
    height = ROW * len(rows)
    parts = [
        f'<line class="{"zero" if value == 0 else "grid"}" x1="{x:.2f}%" x2="{x:.2f}%" y1="0" y2="{height}"/>'
        for x, value in ((axis(value), value) for value in axis.ticks)
    ]
    for k, row in enumerate(rows):
        y = ROW * k + ROW / 2
        kind = "clear" if row.clear or not zero else "unclear"
        (a, b), (c, d) = row.ends, row.half
        parts.append(
            f'<g class="{kind}"><line class="ends" x1="{axis(a):.2f}%" x2="{axis(b):.2f}%" y1="{y}" y2="{y}"/>'
            f'<line class="half" x1="{axis(c):.2f}%" x2="{axis(d):.2f}%" y1="{y}" y2="{y}"/>'
            f'<circle cx="{axis(row.mean):.2f}%" cy="{y}" r="3.5"/></g>'
        )
    svg = Markup(f'<svg class="intervals" width="100%" height="{height}" aria-hidden="true">{"".join(parts)}</svg>')
    return Panel(rows, svg, axis.labels, height)


class _Axis:
    """From values to per cent of the width."""

    def __init__(self, low: float, high: float):
        self.low, self.high = low, high
        self.ticks = nice_ticks(low, high)

    def __call__(self, value: float) -> float:
        share = (value - self.low) / (self.high - self.low)
        return _MARGIN + (100 - 2 * _MARGIN) * share

    @property
    def labels(self) -> list[tuple[float, str]]:
        step = self.ticks[1] - self.ticks[0] if len(self.ticks) > 1 else max(abs(self.ticks[0]), 1.0)
        return [(round(self(tick), 2), tick_text(tick, step)) for tick in self.ticks]


def axis_of(low: float, high: float) -> _Axis:
    """Return an axis between two numbers: its ticks, and positions in per cent of the width."""
    return _Axis(low, high)


def nice_ticks(low: float, high: float, wanted: int = 5) -> list[float]:
    """Return multiples of 1, 2 or 5 times a power of ten between two numbers."""
    raw = (high - low) / wanted
    power = 10.0 ** math.floor(math.log10(raw))
    step = min((m * power for m in (1, 2, 5, 10)), key=lambda s: abs(s - raw))
    first = math.ceil(low / step - 1e-9)
    ticks = [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]
    return ticks or [0.5 * (low + high)]


def tick_text(value: float, step: float) -> str:
    if value == 0:
        return "0"
    if abs(value) >= 1e6 or step < 1e-5:
        return f"{value:.3g}"
    return f"{value:.{max(0, -math.floor(math.log10(step) + 1e-9))}f}"


# ------------------------------------------------------------------------------------- all of many, in one picture


def finite(values: np.ndarray) -> np.ndarray:
    """Return the values with zero in place of numbers that are not finite and cannot be drawn."""
    return np.where(np.isfinite(values), values, 0.0)


@dataclass(frozen=True)
class InOrder:
    svg: Markup
    low: str
    high: str


def in_order(mean: np.ndarray, ends: np.ndarray, most: int = 1500) -> InOrder:
    """Return a picture of all intervals side by side, ordered by their means, for thousands of rows."""
    mean, ends = finite(mean), finite(ends)
    order = np.argsort(mean)
    if len(order) > most:
        order = order[np.linspace(0, len(order) - 1, most).astype(int)]
    mean, ends = mean[order], ends[order]
    low, high = float(min(ends.min(), 0.0)), float(max(ends.max(), 0.0))
    span = high - low or 1.0

    def y(value: float) -> float:
        return 100 - 100 * (value - low) / span

    width = 1000 / len(order)
    bars = "".join(f"M{(k + 0.5) * width:.1f} {y(a):.1f}V{y(b):.1f}" for k, (a, b) in enumerate(ends))
    dots = "".join(f"{'M' if k == 0 else 'L'}{(k + 0.5) * width:.1f} {y(value):.1f}" for k, value in enumerate(mean))
    thickness = min(4.0, max(0.6, 0.7 * 700 / len(order)))
    svg = Markup(
        '<svg class="in-order" viewBox="0 0 1000 100" preserveAspectRatio="none" width="100%" height="160" '
        f'aria-hidden="true"><path class="bars" style="stroke-width:{thickness:.1f}px" d="{bars}"/>'
        f'<line class="zero" x1="0" x2="1000" y1="{y(0.0):.1f}" y2="{y(0.0):.1f}"/>'
        f'<path class="means" d="{dots}"/></svg>'
    )
    return InOrder(svg, f"{low:.3g}", f"{high:.3g}")


# ---------------------------------------------------------------------------------------------------------- chains


def paths(chains: np.ndarray) -> Markup:
    """Return a picture of the draws of one parameter, with a line for each chain.

    Of long chains only some draws are used.
    """
    every = max(1, chains.shape[1] // _POINTS)
    chains = chains[:8, ::every]
    low, high = float(chains.min()), float(chains.max())
    span = high - low or 1.0
    lines = []
    for k, chain in enumerate(chains):
        points = " ".join(
            f"{1000 * j / max(1, len(chain) - 1):.0f},{100 - 100 * (value - low) / span:.1f}"
            for j, value in enumerate(chain)
        )
        lines.append(f'<polyline class="chain chain-{k % 4}" points="{points}"/>')
    return Markup(
        '<svg class="paths" viewBox="0 0 1000 100" preserveAspectRatio="none" width="100%" height="90" '
        f'aria-hidden="true">{"".join(lines)}</svg>'
    )


def strip(values: np.ndarray, limit: float) -> tuple[Markup, list[tuple[float, str]]]:
    """Return a picture of numbers as dots on a line about zero, and the labels of its axis.

    A band shows the numbers that are too small to matter.
    """
    farthest = max(1.3 * limit, 1.05 * float(np.abs(values).max(initial=0.0)))
    axis = _Axis(-farthest, farthest)
    band = f'<rect class="band" x="{axis(-limit):.2f}%" width="{axis(limit) - axis(-limit):.2f}%" y="0" height="44"/>'
    zero = f'<line class="zero" x1="{axis(0):.2f}%" x2="{axis(0):.2f}%" y1="0" y2="44"/>'
    dots = "".join(
        f'<circle class="{"off" if abs(v) > limit else "near"}" cx="{axis(v):.2f}%" cy="{8 + 28 * (k * 0.618 % 1):.0f}"'
        ' r="3"/>'
        for k, v in enumerate(values[:2000])
    )
    picture = Markup(f'<svg class="strip" width="100%" height="44" aria-hidden="true">{band}{zero}{dots}</svg>')
    return picture, axis.labels
