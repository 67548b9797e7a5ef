"""The pictures of a check with matplotlib."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arguments import explained, shown
from .check import FitCheck
from .panels import Panel, panels_of

_DATA, _MODEL, _BAND = "#14657f", "#b3541e", "#e9dccf"


@explained
def plot_check(check: Any, *, which: str | None = None, ax: Any = None) -> Any:
    """Draw pictures of the checks of a fit. The pictures depend on the family.

    For labels and classes there are calibration plots: observed shares against predicted probabilities. For counts
    there is a rootogram: the number of rows with each count, on a square root scale. For censored responses there is a
    Kaplan-Meier estimate together with the survival function of the model. For all responses except labels and classes
    there are pictures of the quantile residuals: their distribution (minus the normal quantiles), and their means along
    the linear predictor and along columns. For groups there is a plot of their means, in order of size.

    In every picture the line shows the model and the points show the data. If the model is correct, the band contains
    95 % of the points. The function needs matplotlib (``pip install "tunamh[plot]"``).

    Parameters
    ----------
    check : FitCheck
        The result of `tunamh.check`.
    which : str, optional
        The title of one picture, such as ``"Rootogram"``. Default: all.
    ax : matplotlib Axes, optional
        Where to draw one picture.

    Returns
    -------
    matplotlib Axes, or an array of Axes
        One Axes for one picture; an array of Axes for several.

    Examples
    --------
    >>> axes = tunamh.plot_check(tunamh.check(posterior, flights))
    >>> axes[0].figure.savefig("check.png")
    """
    if not isinstance(check, FitCheck):
        raise TypeError(f"plot_check needs the result of tunamh.check(posterior, data), got {shown(check)}.")
    panels = panels_of(check)
    titles = [one.title for one in panels]
    if which is not None:
        panels = [one for one in panels if one.title == which]
        if not panels:
            raise ValueError(f"there is no picture {which!r}: which= is one of {', '.join(map(repr, titles))}.")
    if not panels:
        raise ValueError("there is nothing to draw.")
    if ax is not None and len(panels) > 1:
        raise ValueError(f"one Axes has room for one picture: set which= to one of {', '.join(map(repr, titles))}.")
    axes = figure_of(len(panels)) if ax is None else [ax]
    for panel, where in zip(panels, axes, strict=True):
        draw(panel, where)
    return axes[0] if len(axes) == 1 else np.array(axes, dtype=object)


def figure_of(count: int) -> list[Any]:
    """Return the axes of a new figure, at most three side by side."""
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError('plots need matplotlib: pip install "tunamh[plot]".') from error
    across = min(count, 3)
    down = -(-count // across)
    _, axes = plt.subplots(down, across, figsize=(3.4 * across, 2.9 * down), layout="constrained", squeeze=False)
    for spare in axes.ravel()[count:]:
        spare.set_visible(False)
    return list(axes.ravel()[:count])


def draw(panel: Panel, ax: Any) -> None:
    """Draw one picture."""
    step = "mid" if panel.title == "Rootogram" else None
    ax.fill_between(panel.line_x, panel.low, panel.high, color=_BAND, lw=0, step=step)
    ax.plot(panel.line_x, panel.line, color=_MODEL, lw=1.2, drawstyle="steps-mid" if step else "default")
    if panel.joined:
        ax.step(panel.x, panel.points, where="post", color=_DATA, lw=1.4)
    else:
        ax.plot(panel.x, panel.points, "o", color=_DATA, ms=3.2)
    ax.set(xlabel=f"{panel.across}\n{panel.note}" if panel.note else panel.across, ylabel=panel.up)
    ax.set_title(panel.title, fontsize=10)
    if panel.names:
        ax.set_xticks(panel.x, panel.names, rotation=90, fontsize=6)
    ax.spines[["top", "right"]].set_visible(False)
