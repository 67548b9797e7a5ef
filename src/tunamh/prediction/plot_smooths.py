"""A picture of the curves of a formula, with bands, and of its surfaces."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arguments import explained
from ..errors import NotApplicable
from ..formula.curves import Curve, DrawnSurface, terms_of_result
from ..results.group_effects import interval_probability
from ..tables.libraries import listed

_COLOUR = "#14657f"
_IN_A_ROW = 3


@explained
def plot_smooths(
    posterior: Any, term: str | None = None, *, ci_prob: float | None = None, draws: int | None = None, axes: Any = None
) -> Any:
    """Draw the smooth curves of a model: the posterior mean of each curve, with bands of 50 % and ``ci_prob``.

    Each panel shows one curve over the range of the data: how the linear predictor changes with this column, if the
    other columns do not change. A curve ``s(x)`` has a mean of zero over the rows of the data; the intercept contains
    its level. A curve ``s(x, by=z)`` with a numeric column ``z`` is the slope of ``z``. The bands are pointwise
    intervals. A surface ``te(x, z)`` is shown by the colours and contours of its posterior mean; it is pale where the
    interval of ``ci_prob`` contains zero. The function needs matplotlib (``pip install "tunamh[plot]"``).

    Parameters
    ----------
    posterior : DataTree
        The result of `tunamh.sample` for a formula with ``s(x)``, ``te(x, z)``, ``bs(x, df)``, ``ns(x, df)`` or
        ``poly(x, n)``.
    term : str, optional
        One term, such as ``"s(x)"``, or ``"sigma_s(x)"`` of ``predictors={"scale": "~ s(x)"}``. Default: all.
    ci_prob : float, optional
        The probability of the wide band. Default: that of ArviZ, 0.89.
    draws : int, optional
        Number of posterior draws to use. Default: at most 1,000.
    axes : array of matplotlib Axes, optional
        Where to draw, one Axes for each curve. Default: a new figure.

    Returns
    -------
    array of matplotlib Axes

    Examples
    --------
    >>> axes = tunamh.plot_smooths(posterior)
    >>> axes[0].figure.savefig("curves.png")
    """
    probability = interval_probability(ci_prob)
    curves = _chosen(terms_of_result(posterior, draws), term)
    where = _panels(len(curves)) if axes is None else np.ravel(np.asarray(axes, dtype=object))
    if len(where) != len(curves):
        raise ValueError(f"there are {len(curves)} curves, and axes= has {len(where)} Axes.")
    for curve, ax in zip(curves, where, strict=True):
        if isinstance(curve, DrawnSurface):
            _draw_surface(ax, curve, probability)
        else:
            _draw(ax, curve, probability)
    own = [(one, ax) for one, ax in zip(curves, where, strict=True) if isinstance(one, Curve)]
    _share_heights([one for one, _ in own], [ax for _, ax in own])
    return where


def _chosen(curves: list[Curve | DrawnSurface], term: str | None) -> list[Curve | DrawnSurface]:
    if not curves:
        raise NotApplicable(
            "the result has no curves: it must be one of a formula with s(x), te(x, z), bs(x, df), "
            "ns(x, df) or poly(x, n)."
        )
    if term is None:
        return curves
    found = [one for one in curves if one.name.replace(" ", "") == str(term).replace(" ", "")]
    if not found:
        names = listed([repr(name) for name in dict.fromkeys(one.name for one in curves)])
        raise ValueError(f"the result has no curve {term!r}; its curves are {names}.")
    return found


def _panels(count: int) -> np.ndarray:
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError('plots need matplotlib: pip install "tunamh[plot]".') from error
    columns = min(count, _IN_A_ROW)
    rows = -(-count // columns)
    _, axes = plt.subplots(rows, columns, figsize=(3.6 * columns, 2.9 * rows), layout="constrained", squeeze=False)
    for unused in axes.ravel()[count:]:
        unused.set_visible(False)
    return axes.ravel()[:count]


def _draw(ax: Any, curve: Curve, probability: float) -> None:
    for share, alpha in ((probability, 0.18), (0.5, 0.3)):
        ends = curve.interval(share)
        ax.fill_between(curve.at, ends[:, 0], ends[:, 1], color=_COLOUR, alpha=alpha, lw=0)
    ax.plot(curve.at, curve.draws.mean(axis=0), color=_COLOUR, lw=1.6)
    ax.axhline(0.0, color="0.35", lw=0.8, ls="--", zorder=0)
    ax.set(title=curve.title, xlabel=curve.column, ylabel=curve.what)
    ax.margins(x=0.01)
    ax.spines[["top", "right"]].set_visible(False)


def _draw_surface(ax: Any, surface: DrawnSurface, probability: float) -> None:
    mean, (x, z) = surface.mean, surface.at
    most = float(np.abs(mean).max()) or 1.0
    levels = np.linspace(-most, most, 17)
    filled = ax.contourf(x, z, mean, levels=levels, cmap="PuOr")
    ax.contour(x, z, mean, levels=levels[::2], colors="0.25", linewidths=0.5)
    unsure = np.where(surface.told_from_zero(probability), np.nan, 1.0)
    ax.pcolormesh(x, z, unsure, cmap="gray", vmin=0.0, vmax=1.0, alpha=0.45, shading="nearest")
    ax.figure.colorbar(filled, ax=ax, shrink=0.85, label=surface.what)
    ax.set(title=surface.title, xlabel=surface.columns[0], ylabel=surface.columns[1])


def _share_heights(curves: list[Curve], axes: list[Any]) -> None:
    """Curves of one term have one scale, so that its levels can be compared."""
    for name in {one.name for one in curves if one.level is not None}:
        own = [ax for one, ax in zip(curves, axes, strict=True) if one.name == name]
        low, high = min(ax.get_ylim()[0] for ax in own), max(ax.get_ylim()[1] for ax in own)
        for ax in own:
            ax.set_ylim(low, high)
