"""Comparisons: by how much the mean of the response differs between two settings."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arguments import explained, shown
from ..prediction.fitted import Fitted
from ..tables.frames import Frame
from ..targets.families.base import Responses
from .asking import Asking
from .averages import Question, Values
from .columns import ModelColumns
from .contrasts import contrasts_of
from .grid import Point, fixed
from .settings import Setting

if TYPE_CHECKING:
    from .table import EffectsTable


def _odds(p: np.ndarray) -> np.ndarray:
    return p / (1 - p)


Compare = Callable[[np.ndarray, np.ndarray], np.ndarray]
COMPARISONS: dict[str, tuple[Compare, str, float]] = {
    "difference": (lambda high, low: high - low, "-", 0.0),
    "ratio": (lambda high, low: high / low, "/", 1.0),
    "odds ratio": (lambda high, low: _odds(high) / _odds(low), "/", 1.0),
    "lift": (lambda high, low: (high - low) / low, "/", 0.0),
}
"""The function, its sign in names of contrasts, and the value of "no effect"."""


@explained
def comparisons(
    posterior: Any,
    data: Any = None,
    contrast: Any = None,
    conditional: Any = None,
    *,
    comparison: str = "difference",
    average_by: Any = None,
    weights: Any = None,
    scale: str = "response",
    groups: str | None = None,
    draws: int | None = None,
    ci_prob: float | None = None,
    family: Any = None,
    rng: Any = None,
) -> EffectsTable:
    """Return by how much the mean of the response changes if one column changes and the other columns do not.

    Parameters
    ----------
    posterior, data, conditional, average_by, weights, scale, groups, draws, ci_prob, family, rng
        The same arguments as for `tunamh.predictions`.
    contrast : str, list or dict
        The column that changes, or several columns (each one is changed separately). A dict says how:

        - for a factor: ``"reference"`` (each level is compared with the reference level; the default), ``"pairwise"``
          (every pair of levels), ``"sequential"`` (each level with the level before it), or pairs (from, to): ``[("DL",
          "UA")]`` is UA minus DL;
        - for a numeric column: a step, such as ``100`` (from x to x + 100; the default is 1), ``"sd"`` (a step of one
          standard deviation), ``"minmax"``, or two values (from, to): ``(500, 1000)`` is 1000 minus 500. A column of
          zeros and ones is compared at 1 and 0 by default.
    comparison : "difference", "ratio", "odds ratio" or "lift"
        How two means ``a`` and ``b`` are compared: ``a - b``, ``a / b``, ``(a / (1 - a)) / (b / (1 - b))`` or ``(a - b)
        / b``. With ``average_by``, the means are first averaged and then compared. So a ratio is the ratio of two
        averages (the standardised risk ratio).

    Returns
    -------
    EffectsTable
        A table as `tunamh.predictions` returns it; in addition, the columns ``variable`` and ``contrast`` say what is
        compared. For ratios, the column ``p_above_1`` replaces ``p_positive``.

    Notes
    -----
    A difference on the scale of the link (``scale="link"``) is the coefficient, or a sum of coefficients.

    Examples
    --------
    >>> tunamh.comparisons(posterior, flights, "carrier", average_by=True)
    >>> tunamh.comparisons(posterior, flights, {"carrier": [("DL", "UA")]}, comparison="ratio", average_by="month")
    >>> tunamh.comparisons(posterior, contrast={"distance": 100}, conditional={"carrier": "all"})
    """
    if comparison not in COMPARISONS:
        raise ValueError(f"comparison must be one of {', '.join(map(repr, COMPARISONS))}, got {shown(comparison)}.")
    if contrast is None:
        raise TypeError('comparisons need the name of the column that changes: contrast="carrier".')
    asking = Asking(posterior, data, conditional, average_by, weights, scale, groups, draws, ci_prob, family, rng)
    _refuse_odd(asking.fitted, comparison, scale)

    def question(columns: ModelColumns, points: list[Point], averaged: bool) -> Question:
        return _question(columns, points, averaged, contrast, comparison)

    return asking.answer(question, "comparison", f"{comparison} of {{}}", COMPARISONS[comparison][2])


def _refuse_odd(fitted: Fitted, comparison: str, scale: str) -> None:
    if comparison != "difference" and scale == "link":
        raise ValueError("with scale='link' only differences are possible: leave comparison= out.")
    family = fitted.family
    if comparison != "odds ratio" or family is None or family.responses is None:
        return
    if not (family.of_labels or family.of_classes or family.responses is Responses.PROPORTIONS):
        raise ValueError(
            f"odds need a probability, and the mean of {type(family).__name__}() is not a probability: use "
            "'difference' or 'ratio'."
        )


def _question(columns: ModelColumns, points: list[Point], averaged: bool, contrast: Any, comparison: str) -> Question:
    """In averages the means at the settings are averaged, and compared then."""
    function, sign, _ = COMPARISONS[comparison]
    contrasts = contrasts_of(columns, contrast)
    for one in contrasts:
        _refuse_both(one.variable, one.low, points)
    settings: list[Setting] = []
    for one in contrasts:
        settings += [setting for setting in (one.low, one.high) if setting not in settings]
    pairs = [(settings.index(one.high), settings.index(one.low)) for one in contrasts]

    def compared(values: Values) -> Values:
        with np.errstate(divide="ignore", invalid="ignore"):
            return [function(values[high], values[low]) for high, low in pairs]

    def of_rows(values: Values, rows: Frame) -> Values:
        return values if averaged else compared(values)

    labels = [{"variable": one.variable, "contrast": one.label(sign)} for one in contrasts]
    every = [fixed(one) for one in points] if averaged else [{}]
    return Question(settings, labels, of_rows, compared if averaged else lambda lines: lines, every)


def _refuse_both(variable: str, low: Setting, points: list[Point]) -> None:
    if variable in points[0] and variable in low:
        raise ValueError(f"{variable} is in contrast=, which sets its values: leave it out of conditional=.")
