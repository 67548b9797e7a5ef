"""Surfaces of a formula in the report: the posterior mean by colours, as inline SVG with axes beside."""

from __future__ import annotations

import numpy as np
from markupsafe import Markup

from ..formula.curves import DrawnSurface
from .pictures import axis_of, nice_ticks, tick_text

_EVERY = 2  # of the grid's points
_UNSURE = 0.35  # opacity where the interval holds zero


def surface_svg(surface: DrawnSurface, level: float) -> tuple[Markup, list[tuple[float, str]], list[tuple[float, str]]]:
    """Return the picture of a surface and the ticks of both axes."""
    x, z = surface.at
    across, (low, high) = axis_of(float(x[0]), float(x[-1])), (float(z[0]), float(z[-1]))
    mean, sure = surface.mean[::_EVERY, ::_EVERY], surface.told_from_zero(level)[::_EVERY, ::_EVERY]
    most = float(np.abs(mean).max()) or 1.0
    left, right = 10 * across(float(x[0])), 10 * across(float(x[-1]))
    width, height = (right - left) / mean.shape[1], 100 / mean.shape[0]
    cells = []
    for i, j in np.ndindex(*mean.shape):
        colour = "high" if mean[i, j] > 0 else "low"
        share = abs(mean[i, j]) / most * (1.0 if sure[i, j] else _UNSURE)
        at = f'x="{left + j * width:.1f}" y="{100 - (i + 1) * height:.2f}"'
        cells.append(f'<rect class="{colour}" {at} width="{width:.1f}" height="{height:.2f}" opacity="{share:.2f}"/>')
    svg = Markup(
        '<svg class="surface" viewBox="0 0 1000 100" preserveAspectRatio="none" width="100%" height="200" '
        f'aria-hidden="true">{"".join(cells)}</svg>'
    )
    ticks = [tick for tick in nice_ticks(low, high, 4) if low <= tick <= high]
    step = ticks[1] - ticks[0] if len(ticks) > 1 else 1.0
    return svg, across.labels, [(100 * (high - tick) / (high - low), tick_text(tick, step)) for tick in ticks]


def surface_note(surface: DrawnSurface, level: float) -> str:
    x, z = surface.columns
    most = float(np.abs(surface.mean).max())
    return (
        f"{x} across, {z} upwards; the change of the linear predictor, at most {most:.2g}: "
        f"orange above zero, blue below; pale where the {100 * level:g} % interval holds zero"
    )
