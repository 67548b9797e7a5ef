"""A caterpillar plot: the effects of all groups in the order of their means, with intervals."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arguments import explained, flag
from ..tables.libraries import listed
from .factors import Effects, GroupedResult
from .group_effects import Statistics, chosen_effects, interval_probability, statistics, with_coefficients

_MOST_NAMED = 60  # levels that have a line with a name each
_NAMED_ENDS = 4  # of more levels, those at each end that are named
_MOST_DRAWN = 3000  # intervals; of more levels, evenly spaced ones
_LONG = 28  # characters of a name
_CLEAR, _UNCLEAR = "#14657f", "#98a5ab"


@explained
def plot_group_effects(
    posterior: Any,
    group: str | None = None,
    *,
    term: str | None = None,
    coefficients: bool = False,
    ci_prob: float | None = None,
    ax: Any = None,
) -> Any:
    """Draw a caterpillar plot of the group effects: all levels in the order of their means, with intervals.

    With at most 60 levels, each level has a line with its name, the interval of 50 % (thick) and the interval of
    ``ci_prob`` (thin). With more levels, the intervals are drawn next to each other, and the plot names only the four
    smallest and the four largest. With more than 3,000 levels, the plot shows 3,000 evenly spaced levels. Intervals
    that do not contain zero are coloured. With `Categorical` every class has its own panels. This is
    ``dotplot(ranef(model))`` of lme4. The function needs matplotlib (``pip install "tunamh[plot]"``).

    Parameters
    ----------
    posterior, term, coefficients, ci_prob
        The same arguments as for `tunamh.group_effects`. With ``coefficients=True`` intervals are compared with the
        mean of the common coefficient, not with zero.
    group : str, optional
        The factor. You can leave it out if the model has only one factor.
    ax : matplotlib Axes, optional
        Where to draw one term. By default a new figure has one panel for each term.

    Returns
    -------
    matplotlib Axes, or an array of Axes
        One Axes for one term; an array of Axes for several terms.

    Examples
    --------
    >>> ax = tunamh.plot_group_effects(posterior, "airport")
    >>> ax.figure.savefig("airports.png")
    """
    probability = interval_probability(ci_prob)
    result = GroupedResult(posterior)
    if group is None and len(result.factors) > 1:
        names = listed([repr(name) for name in result.factors])
        raise ValueError(f"the result has several factors: set group= to one of {names}.")
    effects = chosen_effects(result, group, term)
    if ax is not None and len(effects) > 1:
        terms = listed([repr(one.term) for one in effects])
        raise ValueError(f"one Axes can show only one term: set term= to one of {terms}, or leave ax= out.")
    middles = [0.0] * len(effects)
    if flag("coefficients", coefficients):
        effects = with_coefficients(result, effects)
        middles = [0.0 if one.coefficient is None else float(one.coefficient.mean()) for one in effects]
    numbers = [statistics(one, probability, ranked=False) for one in effects]
    few = len(effects[0].levels) <= _MOST_NAMED
    axes = _panels(len(effects), len(effects[0].levels), few) if ax is None else [ax]
    order = np.argsort(numbers[0].mean, kind="stable")
    if few:
        axes[0].set_ylabel(effects[0].factor)
    for one, own, middle, where in zip(effects, numbers, middles, axes, strict=True):
        if few:
            _named_rows(where, one, own, middle, order)  # of several terms in the order of the first
        else:
            _side_by_side(where, one, own, middle)
    return axes[0] if len(axes) == 1 else np.array(axes, dtype=object)


def figure_axes(**settings: Any) -> list[Any]:
    """Return the axes of a new figure, row by row. Raise `ImportError` if matplotlib is not installed."""
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError('plots need matplotlib: pip install "tunamh[plot]".') from error
    _, axes = plt.subplots(layout="constrained", squeeze=False, **settings)
    return list(axes.ravel())


def _panels(terms: int, levels: int, few: bool) -> list[Any]:
    if few:
        size, shape = (2.2 + 3.3 * terms, 1.1 + 0.21 * levels), {"nrows": 1, "ncols": terms, "sharey": True}
    else:
        size, shape = (7.5, 0.4 + 3.0 * terms), {"nrows": terms, "ncols": 1}
    return figure_axes(figsize=size, **shape)


def _clear(own: Statistics, middle: float) -> np.ndarray:
    return (own.ends[:, 0] > middle) | (own.ends[:, 1] < middle)


def _short(level: str) -> str:
    return level if len(level) <= _LONG else f"{level[: _LONG - 1]}…"


def _named_rows(ax: Any, one: Effects, own: Statistics, middle: float, order: np.ndarray) -> None:
    """A row for each level, the largest mean on top."""
    at, colours = np.arange(len(order)), np.where(_clear(own, middle)[order], _CLEAR, _UNCLEAR)
    ends, half, mean = own.ends[order], own.half[order], own.mean[order]
    ax.axvline(middle, color="0.55", lw=0.8, ls="--", zorder=0)
    ax.hlines(at, ends[:, 0], ends[:, 1], colors=colours, lw=1.2)
    ax.hlines(at, half[:, 0], half[:, 1], colors=colours, lw=4, alpha=0.55)
    ax.scatter(mean, at, c=colours, s=18, zorder=3)
    ax.set_yticks(at, [_short(one.levels[k]) for k in order], fontsize=8)
    ax.set_ylim(-0.8, len(order) - 0.2)
    ax.set(title=one.heading, xlabel="effect" if middle == 0 else "coefficient")
    ax.spines[["top", "right", "left"]].set_visible(False)
    ax.tick_params(axis="y", length=0)


def _side_by_side(ax: Any, one: Effects, own: Statistics, middle: float) -> None:
    """Thin intervals from the smallest mean to the largest; the corners that stay empty name both ends."""
    order = np.argsort(own.mean, kind="stable")
    at = np.unique(np.linspace(0, len(order) - 1, min(len(order), _MOST_DRAWN)).round().astype(np.int64))
    clear, told = _clear(own, middle)[order[at]], f"{int(_clear(own, middle).sum()):,} of {len(order):,}"
    ends, mean = own.ends[order[at]], own.mean[order[at]]
    width = float(np.clip(400 / len(at), 0.3, 2.5))
    for which, colour, alpha in ((~clear, _UNCLEAR, 0.45), (clear, _CLEAR, 0.8)):
        ax.vlines(at[which], ends[which, 0], ends[which, 1], colors=colour, lw=width, alpha=alpha, rasterized=True)
    ax.axhline(middle, color="0.35", lw=0.8, ls="--")
    ax.plot(at, mean, color="0.1", lw=1.2)
    highest = ", ".join(_short(one.levels[k]) for k in order[::-1][:_NAMED_ENDS])
    lowest = ", ".join(_short(one.levels[k]) for k in order[:_NAMED_ENDS])
    ax.text(0.02, 0.97, f"highest: {highest}", transform=ax.transAxes, va="top", fontsize=8)
    ax.text(0.98, 0.03, f"lowest: {lowest}", transform=ax.transAxes, ha="right", va="bottom", fontsize=8)
    ax.margins(x=0.01, y=0.12)
    beside = f"{told} intervals lie on one side of the dashed line"
    ax.set(ylabel=one.heading, xlabel=f"{one.factor}, in the order of the means ({beside})")
    ax.spines[["top", "right"]].set_visible(False)
