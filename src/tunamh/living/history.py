"""How coefficients moved as data came in, and which rows are in a posterior: what a cache tells of its nights."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arguments import shown, whole_number
from .cache import Cache
from .errors import CacheError
from .journal import Journal


def journal_of(cache: Any, model: int | None = None) -> Journal:
    """Return the journal of the only model in a cache, or of the model with number ``model``."""
    opened = Cache(cache)
    if not opened.is_there:
        raise FileNotFoundError(f"there is no cache in {str(opened.path)!r}.")
    found = [one for one in map(Journal, opened.models()) if one.nights]
    if not found:
        raise CacheError(f"the cache {opened.path} has no model yet: call tunamh.regression with its rows first.")
    if model is None and len(found) > 1:
        named = "; ".join(f"{k}: {one.about.get('formula')} ({one.about.get('family')})" for k, one in enumerate(found))
        raise ValueError(f"the cache {opened.path} has {len(found)} models: set model= to one of {named}.")
    number = 0 if model is None else whole_number("model", model, 0)
    if number >= len(found):
        raise ValueError(f"model must be below {len(found)}, the number of models of this cache, got {number}.")
    return found[number]


def history(cache: Any, *, model: int | None = None) -> Any:
    """Return a table that shows how the coefficients changed when rows were added.

    A run of a script counts as an update if its rows differ from the rows of the run before. The table has one line for
    each coefficient and each update. ``mean`` and ``sd`` are the mean and the standard deviation of the coefficient in
    the Gaussian approximation of the posterior after this update. They are computed from sums over all rows.
    `tunamh.summary` of the draws of this run has nearly the same numbers if the posterior is nearly Gaussian.

    Parameters
    ----------
    cache : str or path
        The folder that you passed to `tunamh.open_rows`.
    model : int, optional
        The number of the model, if you have used the cache for several formulas. The first model has number 0; without
        ``model``, an error lists the models and their numbers.

    Returns
    -------
    pandas.DataFrame
        ``night``: the number of the update, from 0 on (data often arrive once a night). ``date``: when it was made.
        ``rows`` and ``files``: the numbers of rows and files that the posterior uses. ``rows_read``: the number of rows
        that the update read. ``centre``: the date when the centre of the Taylor expansions was chosen. ``coefficient``,
        ``mean`` and ``sd``: see above.

    Examples
    --------
    >>> table = tunamh.history("flights.tunamh")
    >>> table[table["coefficient"] == "distance"]
    """
    import pandas as pd

    found = [
        {
            "night": k,
            "date": night["date"],
            **{name: night[name] for name in ("rows", "files", "rows_read", "centre")},
            "coefficient": name,
            "mean": mean,
            "sd": sd,
        }
        for k, night in enumerate(journal_of(cache, model).nights)
        for name, mean, sd in zip(night["names"], night["mean"], night["sd"], strict=True)
    ]
    return pd.DataFrame(found)


def audit(cache: Any, *, night: int | None = None, model: int | None = None) -> Any:
    """Return a table of the rows that a posterior uses, with one line for each row group.

    A row group is a block of rows of a Parquet file.

    Parameters
    ----------
    cache : str or path
        The folder that you passed to `tunamh.open_rows`.
    night : int, optional
        The number of an update of the posterior, as in the column ``night`` of `tunamh.history` (data often arrive once
        a night). Default: the last update.
    model : int, optional
        The number of the model, if you have used the cache for several formulas. The first model has number 0; without
        ``model``, an error lists the models and their numbers.

    Returns
    -------
    pandas.DataFrame
        One line for each row group, with the columns

        - ``file`` and ``row_group``;
        - ``digest``: a checksum of the row group;
        - ``rows`` and ``forgotten``: the numbers of rows that the posterior uses, and that it leaves out
          (`tunamh.forget`);
        - ``first`` and ``last``: the first and the last update that used exactly these rows. If rows of the row group
          were forgotten, ``first`` is the first update without them.

        ``attrs`` has the ``date`` of the update, the number of ``rows``, ``data`` (the fingerprint of the data, which
        the result of this run also has), and the conditions of `tunamh.forget`.

    Examples
    --------
    >>> table = tunamh.audit("flights.tunamh")
    >>> table[["file", "rows", "forgotten"]]
    """
    import pandas as pd

    journal, opened = journal_of(cache, model), Cache(cache)
    number = len(journal.nights) - 1 if night is None else whole_number("night", night, 0)
    if number >= len(journal.nights):
        raise ValueError(f"night must be below {len(journal.nights)}, the number of nights, got {number}.")
    names = ["file", "row_group", "digest", "rows", "forgotten", "first", "last"]
    found = pd.DataFrame(journal.pieces_of(number), columns=names)
    of_night = journal.nights[number]
    found.attrs = {name: of_night[name] for name in ("date", "rows", "data")}
    found.attrs["forgotten"] = opened.rules()
    return found


def plot_history(cache: Any, *, coefficients: Any = None, model: int | None = None, axes: Any = None) -> Any:
    """Plot how the coefficients changed when rows were added: the means, with bands of two standard deviations.

    The function needs matplotlib (``pip install "tunamh[plot]"``).

    Parameters
    ----------
    cache : str or path
        The folder that you passed to `tunamh.open_rows`.
    coefficients : list of str, optional
        The coefficients to plot. Default: the first twelve.
    model : int, optional
        The number of the model, if you have used the cache for several formulas. The first model has number 0; without
        ``model``, an error lists the models and their numbers.
    axes : array of matplotlib axes, optional
        Where to plot, one Axes for each coefficient. Default: a new figure.

    Returns
    -------
    array of matplotlib Axes

    Examples
    --------
    >>> axes = tunamh.plot_history("flights.tunamh", coefficients=["distance"])
    """
    nights = journal_of(cache, model).nights
    known = list(dict.fromkeys(name for night in nights for name in night["names"]))
    if isinstance(coefficients, str):
        raise TypeError(f"coefficients must be a list of names, got {coefficients!r}: write [{coefficients!r}].")
    names = known[:_MOST_SHOWN] if coefficients is None else list(coefficients)
    unknown = [name for name in names if name not in known]
    if unknown:
        raise ValueError(f"there is no coefficient {shown(unknown[0])}; the coefficients are {', '.join(known)}.")
    axes = _axes(len(names)) if axes is None else np.ravel(axes)
    for axis, name in zip(axes, names, strict=False):
        _draw(axis, name, nights)
    return axes


_MOST_SHOWN = 12


def _axes(count: int) -> np.ndarray:
    import matplotlib.pyplot as plt

    columns = min(3, count)
    lines = -(-count // columns)
    figure, axes = plt.subplots(
        lines, columns, figsize=(3.6 * columns, 2.3 * lines), squeeze=False, sharex=True, layout="constrained"
    )
    for axis in axes.ravel()[count:]:
        axis.set_visible(False)
    figure.supxlabel("rows in the posterior", fontsize="medium")
    return axes.ravel()


def _draw(axis: Any, name: str, nights: list[dict[str, Any]]) -> None:
    """One coefficient against the number of rows; a mark on nights when every file was mapped again."""
    there = [night for night in nights if name in night["names"]]
    rows = np.array([night["rows"] for night in there], dtype=np.float64)
    at = [night["names"].index(name) for night in there]
    mean = np.array([night["mean"][k] for night, k in zip(there, at, strict=True)])
    sd = np.array([night["sd"][k] for night, k in zip(there, at, strict=True)])
    axis.fill_between(rows, mean - 2 * sd, mean + 2 * sd, alpha=0.25, linewidth=0)
    axis.plot(rows, mean, linewidth=1.2)
    moved = np.array([night["moved"] is not None for night in there])
    axis.plot(rows[moved], mean[moved], ".", markersize=5, color="black")
    axis.set_title(name, fontsize="medium")
    axis.tick_params(labelsize="small")
    axis.xaxis.set_major_locator(_few_ticks())
    axis.xaxis.set_major_formatter(_thousands)


def _few_ticks() -> Any:
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(4)


def _thousands(value: float, _: int) -> str:
    for size, letter in ((1e9, "G"), (1e6, "M"), (1e3, "k")):
        if abs(value) >= size:
            return f"{value / size:g}{letter}"
    return f"{value:g}"
