"""A picture of the responses that a prior predicts, beside those of the data."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arguments import explained, shown

_LEVELS = (0.5, 0.9)
_QUANTILES = np.linspace(0.01, 0.99, 99)
_MOST_CLASSES = 20
_LARGEST = 1e250  # beyond, differences are no numbers


@explained
def plot_prior_predictive(tree: Any, *, ax: Any = None) -> Any:
    """Draw the responses that the prior predicts, together with the responses of the data.

    For each draw from the prior, the quantiles of the responses of all rows are computed. The plot shows the median of
    these quantiles and bands that contain 50 % and 90 % of the draws; dots show the quantiles of the data. Large
    numbers are on a logarithmic scale, because a model with a log link and a wide prior predicts very large responses.
    If there are at most 20 different responses (labels, classes), the plot shows the share of each. The function needs
    matplotlib (``pip install "tunamh[plot]"``).

    Parameters
    ----------
    tree : DataTree
        The result of `tunamh.prior_predictive`.
    ax : matplotlib Axes, optional
        Where to draw. By default a new figure is made.

    Returns
    -------
    matplotlib Axes

    Examples
    --------
    >>> ax = tunamh.plot_prior_predictive(tunamh.prior_predictive(model, flights))
    """
    try:
        (name,) = tree["prior_predictive"].data_vars
        drawn = np.asarray(tree["prior_predictive"][name].values)
        seen = np.asarray(tree["observed_data"][name].values)
    except (KeyError, TypeError, ValueError, AttributeError):
        raise TypeError(
            f"plot_prior_predictive needs the result of tunamh.prior_predictive(model, data), got {shown(tree)}."
        ) from None
    drawn = np.clip(drawn.reshape(-1, drawn.shape[-1]), -_LARGEST, _LARGEST)
    values = np.unique(seen)
    if len(values) <= _MOST_CLASSES and np.isin(drawn, values).all():
        x, of_draws = values, np.stack([(drawn == one).mean(axis=1) for one in values], axis=1)
        of_data = np.array([(seen == one).mean() for one in values])
        classes = tree["observed_data"][name].attrs.get("classes")
        labels, logarithmic = (f"{name} ({classes})" if classes else str(name), "share of rows"), False
    else:
        x, of_draws, of_data = _QUANTILES, np.quantile(drawn, _QUANTILES, axis=1).T, np.quantile(seen, _QUANTILES)
        labels, logarithmic = ("probability", f"quantile of {name}"), _is_wide(of_draws, of_data)
    ax = _axes() if ax is None else ax
    for level, alpha in zip(reversed(_LEVELS), (0.25, 0.45), strict=True):
        low, high = np.quantile(of_draws, [0.5 - level / 2, 0.5 + level / 2], axis=0)
        if labels[1] == "share of rows":
            ax.vlines(x, low, high, color="#b3541e", lw=14, alpha=alpha)
        else:
            ax.fill_between(x, low, high, color="#b3541e", alpha=alpha, lw=0)
    ax.plot(x, np.median(of_draws, axis=0), "_" if labels[1] == "share of rows" else "-", color="#b3541e", ms=14)
    ax.plot(x, of_data, "o", color="#14657f", ms=3.2)
    if logarithmic:
        ax.set_yscale("symlog", linthresh=max(float(np.quantile(np.abs(of_data), 0.5)), 1e-12))
    ax.set(xlabel=labels[0], ylabel=labels[1])
    if labels[1] == "share of rows":
        ax.set_xticks(x)
        ax.set_ylim(-0.02, 1.02)
    ax.set_title("Prior (bands: 50 % and 90 % of the draws)\nand data (dots)", fontsize=10)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _is_wide(of_draws: np.ndarray, of_data: np.ndarray) -> bool:
    """Whether the prior goes so far that the data would be a line at zero."""
    return float(np.quantile(np.abs(of_draws), 0.95)) > 30 * max(float(np.abs(of_data).max()), 1e-300)


def _axes() -> Any:
    try:
        from matplotlib import pyplot as plt
    except ImportError as error:
        raise ImportError('plots need matplotlib: pip install "tunamh[plot]".') from error
    return plt.subplots(figsize=(6.0, 4.0), layout="constrained")[1]
