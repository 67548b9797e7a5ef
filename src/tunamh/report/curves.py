"""Curves of a formula in the report: a mean and two bands, as inline SVG with axes beside."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from markupsafe import Markup

from ..errors import TunaMHError
from ..formula.curves import Curve, DrawnSurface, terms_of_result
from .pictures import axis_of, nice_ticks, tick_text
from .surfaces import surface_note, surface_svg

_UNREADABLE = (TunaMHError, LookupError, TypeError, ValueError, AttributeError)  # what a stranger's file may lead to
_MOST = 24
_EVERY = 2  # of the grid's points


@dataclass(frozen=True)
class CurvePicture:
    heading: str
    note: str
    svg: Markup
    ticks: list[tuple[float, str]]
    heights: list[tuple[float, str]]
    """Ticks of the vertical axis, in per cent from the top."""


def curve_pictures(tree: Any, level: float) -> list[CurvePicture]:
    """Return pictures of all curves, or of the first 24. Curves of the same term share their vertical axis.

    The list is empty if the result has no curves.
    """
    try:
        terms = terms_of_result(tree)[:_MOST]
    except _UNREADABLE:
        return []
    found, curves = [], [one for one in terms if isinstance(one, Curve)]
    for curve in terms:
        if isinstance(curve, DrawnSurface):
            if np.isfinite(curve.mean).all():
                found.append(CurvePicture(curve.title, surface_note(curve, level), *surface_svg(curve, level)))
            continue
        ends = [one.interval(level) for one in curves if one.name == curve.name]
        low, high = min(float(one.min()) for one in ends), max(float(one.max()) for one in ends)
        if np.isfinite([low, high]).all():
            found.append(_picture(curve, level, min(low, 0.0), max(high, 0.0)))
    return found


def _picture(curve: Curve, level: float, low: float, high: float) -> CurvePicture:
    axis = axis_of(float(curve.at[0]), float(curve.at[-1]))
    span = (high - low) or 1.0
    low, high = low - 0.05 * span, high + 0.05 * span

    def y(value: float) -> float:
        return 100 * (high - value) / (high - low)

    x = [10 * axis(value) for value in curve.at[::_EVERY].tolist()]

    def points(values: np.ndarray) -> list[str]:
        return [f"{a:.0f},{y(b):.1f}" for a, b in zip(x, values[::_EVERY].tolist(), strict=True)]

    bands = []
    for name, share in (("wide", level), ("half", 0.5)):
        ends = curve.interval(share)
        bands.append(f'<polygon class="{name}" points="{" ".join(points(ends[:, 0]) + points(ends[:, 1])[::-1])}"/>')
    ticks = nice_ticks(low, high, 4)
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    lines = "".join(
        f'<line class="{"zero" if tick == 0 else "grid"}" x1="0" x2="1000" y1="{y(tick):.1f}" y2="{y(tick):.1f}"/>'
        for tick in ticks
    )
    mean = " ".join(points(curve.draws.mean(axis=0)))
    svg = Markup(
        '<svg class="curve" viewBox="0 0 1000 100" preserveAspectRatio="none" width="100%" height="200" '
        f'aria-hidden="true">{lines}{"".join(bands)}<polyline class="mean" points="{mean}"/></svg>'
    )
    note = f"over {curve.column}; " + (
        f"the change of the {curve.what}" if curve.multiplied is None else f"the {curve.what}"
    )
    return CurvePicture(curve.title, note, svg, axis.labels, [(y(tick), tick_text(tick, step)) for tick in ticks])
