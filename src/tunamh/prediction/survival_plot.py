"""A picture of survival: curves of rows with bands, beside what the data say without a model (Kaplan and Meier)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .._arguments import explained, number_between, shown
from ..errors import NotApplicable
from ..formula import FormulaModel
from ..formula.errors import FormulaError
from ..formula.evaluation import as_factor
from ..formula.syntax import columns_in
from ..formula.variables import as_columns, read
from ..tables.frames import Frame, complete_rows
from .fitted import Fitted
from .predictions import predict
from .times import AT_TIMES, Seen

_MOST_CURVES = 12
_POINTS = 200
_BAND = 0.89


@explained
def plot_survival(
    posterior: Any,
    new_data: Any,
    *,
    kind: str = "survival",
    times: Sequence[float] | None = None,
    by: str | None = None,
    data: Any = None,
    ci_prob: float = _BAND,
    new_levels: str = "error",
    ax: Any = None,
) -> Any:
    """Draw survival curves or hazards of some rows, with bands.

    The function needs matplotlib (``pip install "tunamh[plot]"``).

    Parameters
    ----------
    posterior : DataTree
        The result of a regression of times to event, made by `tunamh.regression`.
    new_data : table
        Up to 12 rows, with the columns of the formula: a curve for each.
    kind : "survival" or "hazard"
        The probability that the event has not happened yet, or the rate of events.
    times : sequence, optional
        Where the curves are computed. Default: 200 times from 0 to the last time in the data.
    by : str, optional
        A column of ``new_data`` whose values name the curves. Default: the curves are named by the numbers of the rows.
    data : table, optional
        The data of the fit. If you pass them, the plot also shows the Kaplan-Meier estimate (dashed). If ``by`` is set,
        it shows one estimate for each value of the column ``by``.
    ci_prob : float
        Probability of the bands.
    new_levels : "error", "population" or "draw"
        What to do with groups that are not in the data of the fit; the same argument as for `tunamh.predict`.
    ax : matplotlib Axes, optional
        Where to draw. By default a new figure is made.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> ax = tunamh.plot_survival(posterior, {"karno": [30, 80], "trt": [1, 1]}, by="karno", data=veteran)
    """
    if kind not in AT_TIMES:
        raise ValueError(f"kind must be 'survival' or 'hazard', got {shown(kind)}.")
    half = 0.5 * number_between("ci_prob", ci_prob, 0.0, 1.0)
    fitted = Fitted.open(posterior, 1)
    if fitted.formula is None:
        raise NotApplicable(
            "tunamh.plot_survival needs the result of a model that tunamh.regression made from a formula."
        )
    table = as_columns(new_data)
    if table.n_rows > _MOST_CURVES:
        raise ValueError(f"new_data has {table.n_rows:,} rows, and a picture can have at most {_MOST_CURVES} curves.")
    at: Any = _default_times(posterior, kind) if times is None else times
    found = predict(
        posterior, new_data, kind=kind, times=at, quantiles=(0.5 - half, 0.5 + half), new_levels=new_levels, rng=0
    )
    low, high = (found[name].values for name in list(found.data_vars)[2:])
    names = _names(table, by)
    ax = _axes() if ax is None else ax
    curves = [
        ax.plot(found["time"].values, one, lw=1.8, label=name)[0]
        for one, name in zip(found["mean"].values, names, strict=True)
    ]
    for below, above, curve in zip(low, high, curves, strict=True):
        ax.fill_between(found["time"].values, below, above, color=curve.get_color(), alpha=0.2, lw=0)
    if data is not None and kind == "survival":
        for steps, name in _without_model(fitted.formula, as_columns(data), by, names):
            colour = curves[names.index(name)].get_color() if by is not None else "0.3"
            ax.step(steps.times, steps.survival, where="post", color=colour, lw=1.0, ls="--")
    _dressed(ax, kind, fitted.formula, by, ci_prob, len(names))
    return ax


def _default_times(posterior: Any, kind: str) -> np.ndarray:
    try:
        (seen,) = posterior["observed_data"].data_vars.values()
    except (KeyError, ValueError):
        raise ValueError("the result does not contain the responses: set the times of the picture, times=.") from None
    last = float(np.max(seen.values))
    return np.linspace(0.0 if kind == "survival" else last / _POINTS, last, _POINTS)


def _names(table: Frame, by: str | None) -> list[str]:
    if by is None:
        return [f"row {k}" for k in range(table.n_rows)]
    if by not in table.columns:
        raise FormulaError(f"by names the column {by!r}, which new_data does not have.")
    factor = as_factor(read(table, [by])[by])
    return [factor.levels[code] for code in factor.codes]


class Steps(NamedTuple):
    """The share of rows without an event, as a step function: times, and the share from each time on."""

    times: np.ndarray
    survival: np.ndarray


def kaplan_meier(stop: np.ndarray, happened: np.ndarray, entry: np.ndarray | None = None) -> Steps:
    """Return the Kaplan-Meier estimate ``prod_{t_k <= t} (1 - d_k / n_k)``.

    ``d_k`` is the number of events at time ``t_k``, and ``n_k`` the number of rows under observation at this time.
    """
    times, events = np.unique(stop[happened], return_counts=True)
    left = np.searchsorted(np.sort(stop), times, side="left")
    came = len(stop) if entry is None else np.searchsorted(np.sort(entry), times, side="left")
    survival = np.cumprod(1.0 - events / (came - left))
    return Steps(np.append(0.0, times), np.append(1.0, survival))


def _without_model(formula: FormulaModel, table: Frame, by: str | None, names: list[str]) -> list[tuple[Steps, str]]:
    needed = [
        *columns_in(formula.response.node),
        *(name for node in formula.beside.values() for name in columns_in(node)),
    ]
    needed = list(dict.fromkeys([*needed, *([] if by is None else [by])]))
    rows = complete_rows(read(table, needed), table.n_rows)
    some = Frame(rows.columns, rows.n_rows)
    seen, stop = Seen.of(formula, some), formula.values(some, needed).numbers(formula.response.node)
    happened = np.ones(len(stop), bool) if seen.codes is None else seen.codes == 0
    parts = {"": np.ones(len(stop), bool)}
    if by is not None:
        factor = as_factor(rows.columns[by])
        level = np.asarray(factor.levels)[factor.codes]
        parts = {name: level == name for name in names}
    found = []
    for name, which in parts.items():
        if which.any():
            entry = None if seen.entry is None else seen.entry[which]
            found.append((kaplan_meier(stop[which], happened[which], entry), name))
    return found


def _axes() -> Any:
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError('plots need matplotlib: pip install "tunamh[plot]".') from error
    return plt.subplots(figsize=(6.5, 4.0), layout="constrained")[1]


def _dressed(ax: Any, kind: str, formula: FormulaModel, by: str | None, ci_prob: float, curves: int) -> None:
    told = "share without the event" if kind == "survival" else "rate of events"
    ax.set(xlabel=str(formula.response.node), ylabel=f"{told}, with {100 * ci_prob:.3g} % bands")
    ax.set_ylim(0.0, 1.0 if kind == "survival" else None)
    ax.set_xlim(left=0.0)
    if curves > 1:
        ax.legend(title=by, frameon=False)
    ax.spines[["top", "right"]].set_visible(False)
