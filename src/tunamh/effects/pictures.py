"""Pictures of effects: lines with bands over a number, rows of intervals for levels and contrasts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from ..results.caterpillar import figure_axes
from .comparisons import comparisons
from .predictions import predictions
from .slopes import slopes

if TYPE_CHECKING:
    from .table import EffectsTable

_COLOURS = ("#14657f", "#d1742b", "#6b4c9a", "#4a8c3f", "#b23a48", "#98a5ab", "#8c6d1f", "#2b2b2b")
_OF_KIND = ("variable", "contrast", "slope")
_MOST_PANELS = 12


def plot_predictions(
    posterior: Any, data: Any = None, conditional: Any = None, *, ax: Any = None, **settings: Any
) -> Any:
    """Draw predictions with intervals: a curve with a band, or a point and an interval for each level of a factor.

    The first column of ``conditional`` (or of ``average_by``) is on an axis. If it is numeric (with more than four
    values), it is on the horizontal axis, and the predictions are curves; otherwise its levels are listed on the
    vertical axis. The levels of the second column have different colours. For further columns there is one panel for
    each combination of their values. The function needs matplotlib (``pip install "tunamh[plot]"``).

    Parameters
    ----------
    posterior : DataTree or EffectsTable
        A result, or a table that `tunamh.predictions` has returned.
    data, conditional
        The same arguments as for `tunamh.predictions`.
    ax : matplotlib Axes, optional
        Where to draw one panel. By default a new figure is made.
    settings
        Further arguments of `tunamh.predictions`.

    Returns
    -------
    matplotlib Axes, or an array of Axes
        One Axes for one panel; an array of Axes for several panels.

    Examples
    --------
    >>> tunamh.plot_predictions(posterior, conditional=["distance", "carrier"])
    """
    table = posterior if _is_table(posterior) else predictions(posterior, data, conditional, **settings)
    return _drawn(table, ax)


def plot_comparisons(
    posterior: Any, data: Any = None, contrast: Any = None, conditional: Any = None, *, ax: Any = None, **settings: Any
) -> Any:
    """Draw comparisons: an interval for each contrast, or curves over the first column of ``conditional``.

    The dashed line is "no difference". The function needs matplotlib (``pip install "tunamh[plot]"``).

    Parameters
    ----------
    posterior : DataTree or EffectsTable
        A result, or a table that `tunamh.comparisons` has returned.
    data, contrast, conditional
        The same arguments as for `tunamh.comparisons`.
    ax : matplotlib Axes, optional
        Where to draw one panel. By default a new figure is made.
    settings
        Further arguments of `tunamh.comparisons`.

    Returns
    -------
    matplotlib Axes, or an array of Axes
        One Axes for one panel; an array of Axes for several panels.

    Examples
    --------
    >>> tunamh.plot_comparisons(posterior, flights, "carrier", average_by=True)
    """
    table = posterior if _is_table(posterior) else comparisons(posterior, data, contrast, conditional, **settings)
    return _drawn(table, ax)


def plot_slopes(
    posterior: Any, data: Any = None, wrt: Any = None, conditional: Any = None, *, ax: Any = None, **settings: Any
) -> Any:
    """Draw slopes: one line with an interval for each slope, or curves over the first column of ``conditional``.

    The dashed line is "no slope". The function needs matplotlib (``pip install "tunamh[plot]"``).

    Parameters
    ----------
    posterior : DataTree or EffectsTable
        A result, or a table that `tunamh.slopes` has returned.
    data, wrt, conditional
        The same arguments as for `tunamh.slopes`.
    ax : matplotlib Axes, optional
        Where to draw one panel. By default a new figure is made.
    settings
        Further arguments of `tunamh.slopes`.

    Returns
    -------
    matplotlib Axes, or an array of Axes
        One Axes for one panel; an array of Axes for several panels.

    Examples
    --------
    >>> tunamh.plot_slopes(posterior, wrt="distance", conditional={"distance": "all", "carrier": "all"})
    """
    table = posterior if _is_table(posterior) else slopes(posterior, data, wrt, conditional, **settings)
    return _drawn(table, ax)


# ------------------------------------------------------------------------------------------------------- the drawing


def _is_table(given: Any) -> bool:
    from .table import EffectsTable

    return isinstance(given, EffectsTable)


def _drawn(table: EffectsTable, ax: Any) -> Any:
    across, colours, panels = _roles(table)
    keys = list(dict.fromkeys(_keys(table, panels)))
    if len(keys) > _MOST_PANELS:
        raise ValueError(f"the picture would have {len(keys)} panels, more than {_MOST_PANELS}: use fewer values.")
    if ax is not None and len(keys) > 1:
        raise ValueError("one Axes can show only one panel: leave ax= out, or use one contrast or fewer columns.")
    numbers = across is not None and _is_number(table, across)
    most = max(_keys(table, panels).count(key) for key in keys)
    axes = _new_axes(len(keys), 0 if numbers else most) if ax is None else [ax]
    for where, key in zip(axes, keys, strict=True):
        own = table[[one == key for one in _keys(table, panels)]]
        if numbers and across is not None:
            _lines(where, own, across, colours)
        else:
            _rows(where, own, across, colours)
        told = ", ".join(map(str, key))
        where.set_title(told, fontsize=10) if told else None
        where.spines[["top", "right"]].set_visible(False)
    return axes[0] if len(axes) == 1 else np.array(axes, dtype=object)


def _roles(table: EffectsTable) -> tuple[str | None, str | None, list[str]]:
    """The columns on the axis, with colours, and with panels. A column with one value in all lines has no role."""
    names = [name for name in table.attrs["of"] if table[name].nunique() > 1]
    own = [name for name in names if name in _OF_KIND]
    others = [name for name in names if name not in _OF_KIND and name != "class"]
    classes = [name for name in names if name == "class"]
    if others:
        colours, rest = [*others[1:], *classes][:1], [*others[1:], *classes][1:]
        return others[0], (colours[0] if colours else None), [*own, *rest]
    if own:
        across = "contrast" if "contrast" in own else own[-1]
        panels = [name for name in own if name != across]
        return across, (classes[0] if classes else None), panels
    return (classes[0] if classes else (table.attrs["of"][-1:] or [None])[0]), None, []


def _keys(table: EffectsTable, panels: list[str]) -> list[tuple[Any, ...]]:
    return list(zip(*(table[name].tolist() for name in panels), strict=True)) if panels else [()] * len(table)


def _is_number(table: EffectsTable, name: str) -> bool:
    return table[name].dtype.kind in "if" and table[name].nunique() > 4 and name != "row"


def _new_axes(panels: int, rows: int) -> list[Any]:
    columns = min(panels, 3 if rows == 0 else 2)
    lines = -(-panels // columns)
    height = 3.2 if rows == 0 else 1.0 + 0.26 * max(rows, 2)
    size = (1.0 + 4.6 * columns if columns == 1 else 4.2 * columns, height * lines)
    axes = figure_axes(figsize=size, nrows=lines, ncols=columns, sharex=True, sharey=rows == 0)
    for spare in axes[panels:]:
        spare.set_visible(False)
    return axes[:panels]


def _ends(table: EffectsTable) -> tuple[np.ndarray, np.ndarray]:
    low, high = (name for name in table.columns if name.startswith("eti"))
    return table[low].to_numpy(), table[high].to_numpy()


def _middle(table: EffectsTable) -> float | None:
    """Where "no effect" is."""
    if table.attrs["kind"] == "prediction":
        return None
    return 1.0 if "p_above_1" in table.columns else 0.0


def _by_colour(table: EffectsTable, colours: str | None) -> list[tuple[str, str, EffectsTable]]:
    if colours is None:
        return [("", _COLOURS[0], table)]
    values = list(dict.fromkeys(table[colours].tolist()))
    return [
        (f"{value:.4g}" if isinstance(value, float) else str(value), _COLOURS[k % len(_COLOURS)], own)
        for k, value in enumerate(values)
        if len(own := table[table[colours] == value])
    ]


def _lines(ax: Any, table: EffectsTable, across: str, colours: str | None) -> None:
    middle = _middle(table)
    if middle is not None:
        ax.axhline(middle, color="0.55", lw=0.8, ls="--", zorder=0)
    for label, colour, own in _by_colour(table, colours):
        own = own.sort_values(across)
        low, high = _ends(own)
        ax.fill_between(own[across], low, high, color=colour, alpha=0.2, lw=0)
        ax.plot(own[across], own["mean"], color=colour, lw=1.6, label=label)
    ax.set(xlabel=across, ylabel=_what(table))
    if colours is not None:
        ax.legend(title=colours, fontsize=8, title_fontsize=8, frameon=False)


def _rows(ax: Any, table: EffectsTable, across: str | None, colours: str | None) -> None:
    """A row for each level, the first on top; intervals that contain "no effect" are grey."""
    middle = _middle(table)
    if middle is not None:
        ax.axvline(middle, color="0.55", lw=0.8, ls="--", zorder=0)
    levels = [""] * len(table) if across is None else table[across].tolist()
    order = list(dict.fromkeys(levels))
    parts = _by_colour(table, colours)
    for k, (label, colour, own) in enumerate(parts):
        shift = 0.0 if len(parts) == 1 else 0.5 * (k / (len(parts) - 1) - 0.5)
        at = np.array([order.index(one) for one in ([""] * len(own) if across is None else own[across])]) + shift
        low, high = _ends(own)
        unclear = np.zeros(len(own), bool) if middle is None or colours else (low <= middle) & (middle <= high)
        shown = np.where(unclear, _COLOURS[5], colour)
        ax.hlines(at, low, high, colors=shown, lw=2.2 if len(parts) == 1 else 1.6)
        ax.scatter(own["mean"], at, c=shown, s=22, zorder=3, label=label)
    ax.set_yticks(range(len(order)), [str(one) for one in order], fontsize=8)
    ax.set_ylim(len(order) - 0.4, -0.6)
    ax.set(xlabel=_what(table), ylabel="" if across in (None, *_OF_KIND) else across)
    ax.spines["left"].set_visible(False)
    ax.tick_params(axis="y", length=0)
    if colours is not None:
        ax.legend(title=colours, fontsize=8, title_fontsize=8, frameon=False)


def _what(table: EffectsTable) -> str:
    return str(table.attrs["told"])
