"""Whether the model fits: the checks of `tunamh.check` as lines and pictures of the page."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from markupsafe import Markup

from ..checking.check import FitCheck
from ..checking.finding import FINE, WRONG, Finding
from ..checking.panels import Panel, panels_of
from .checks import GOOD, LOOK, UNKNOWN, Check
from .pictures import finite, nice_ticks, tick_text

_MOST_PICTURES = 6
_HEIGHT = 170  # pixels


@dataclass(frozen=True)
class Chart:
    """A picture with two axes. The positions of the labels are in per cent, from the left and from the top."""

    title: str
    axes: str
    svg: Markup
    across: list[tuple[float, str]]
    up: list[tuple[float, str]]


@dataclass(frozen=True)
class Fit:
    told: str
    verdict: str
    checks: list[Check]
    charts: list[Chart]


def fit_of(found: FitCheck) -> Fit:
    told = f"{found.rows_told}, {found.draws} posterior draws."
    order = sorted(found.findings, key=lambda one: (one.state != WRONG, one.p if one.p is not None else 2.0))
    charts = [chart(panel) for panel in panels_of(found)[:_MOST_PICTURES]]
    return Fit(told[:1].upper() + told[1:], found.verdict, [_line(one) for one in order], charts)


def _line(one: Finding) -> Check:
    state = {FINE: GOOD, WRONG: LOOK}.get(one.state, UNKNOWN)
    value = "not judged" if one.z is None else f"z = {one.z:.1f}"
    text = f"{one.text} {one.advice}" if one.state == WRONG else one.text
    return Check(state, one.what, value, text[:1].upper() + text[1:])


def chart(panel: Panel) -> Chart:
    """Return a picture with the points of the data over the band and the line of the model."""
    heights = [finite(part) for part in (panel.points, panel.line, panel.low, panel.high)]
    x, y = _Scale(np.concatenate([panel.x, panel.line_x])), _Scale(np.concatenate(heights))
    points, line, low, high = heights
    band = _path(x(panel.line_x), 100 - y(high)) + _path(x(panel.line_x)[::-1], 100 - y(low)[::-1]).replace("M", "L", 1)
    grid = "".join(f"M0 {100 - y.at(tick):.1f}H100" for tick in y.ticks)
    if panel.joined:
        seen = f'<path class="steps" d="{_steps(x(panel.x), 100 - y(points))}"/>'
    else:
        dots = "".join(f"M{a:.2f} {b:.2f}h0" for a, b in zip(x(panel.x), 100 - y(points), strict=True))
        seen = f'<path class="dots" d="{dots}"/>'
    svg = Markup(
        '<svg class="chart" viewBox="0 0 100 100" preserveAspectRatio="none" width="100%" '
        f'height="{_HEIGHT}" aria-hidden="true"><path class="lines" d="{grid}"/><path class="band" d="{band}Z"/>'
        f'<path class="model" d="{_path(x(panel.line_x), 100 - y(line))}"/>{seen}</svg>'
    )
    axes = f"{panel.up}, by {panel.across}" + (f" ({panel.note})" if panel.note else "")
    across = [(round(x.at(tick), 2), text) for tick, text in x.labels]
    up = [(round(100 - y.at(tick), 2), text) for tick, text in y.labels]
    return Chart(panel.title, axes, svg, across, up)


class _Scale:
    """From values to 0 to 100, with room at both ends."""

    def __init__(self, values: np.ndarray):
        low, high = float(values.min()), float(values.max())
        if not high > low:
            low, high = low - 0.5, high + 0.5
        self.low, self.high = low - 0.04 * (high - low), high + 0.04 * (high - low)
        self.ticks = nice_ticks(low, high, 4)

    def __call__(self, values: np.ndarray) -> np.ndarray:
        return 100 * (values - self.low) / (self.high - self.low)

    def at(self, value: float) -> float:
        return 100 * (value - self.low) / (self.high - self.low)

    @property
    def labels(self) -> list[tuple[float, str]]:
        step = self.ticks[1] - self.ticks[0] if len(self.ticks) > 1 else max(abs(self.ticks[0]), 1.0)
        return [(tick, tick_text(tick, step)) for tick in self.ticks]


def _path(x: np.ndarray, y: np.ndarray) -> str:
    return "".join(f"{'M' if k == 0 else 'L'}{a:.2f} {b:.2f}" for k, (a, b) in enumerate(zip(x, y, strict=True)))


def _steps(x: np.ndarray, y: np.ndarray) -> str:
    return f"M{x[0]:.2f} {y[0]:.2f}" + "".join(f"H{a:.2f}V{b:.2f}" for a, b in zip(x[1:], y[1:], strict=True))
