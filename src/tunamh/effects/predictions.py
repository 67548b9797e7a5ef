"""Predictions: the mean of the response at given values, for each row, or averaged."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._arguments import explained
from .asking import Asking
from .averages import Question
from .columns import ModelColumns
from .grid import Point, fixed

if TYPE_CHECKING:
    from .table import EffectsTable


@explained
def predictions(
    posterior: Any,
    data: Any = None,
    conditional: Any = None,
    *,
    average_by: Any = None,
    weights: Any = None,
    scale: str = "response",
    groups: str | None = None,
    draws: int | None = None,
    ci_prob: float | None = None,
    family: Any = None,
    rng: Any = None,
) -> EffectsTable:
    """Return the predicted mean of the response at given values, for each row of a table, or averaged over its rows.

    Parameters
    ----------
    posterior : DataTree
        The result of `tunamh.sample` or `tunamh.read_store` for a target of `tunamh.regression`, or a result read from
        a file.
    data : table, optional
        The rows to predict: a data frame, a dict of arrays, or tables in blocks (`tunamh.open_rows`). Without ``data``,
        the predictions are for typical values of the columns in the data of the fit.
    conditional : dict, str or list, optional
        Values of columns, such as ``{"distance": [500, 1000], "carrier": "all"}``. All combinations are used. ``"all"``
        means all levels of a factor, or 50 values over the range of a numeric column (three values for the second
        numeric column with ``"all"``). A name, or a list of names, means ``"all"`` for these columns. Without
        ``average_by``, other columns have their typical value: the mean of a numeric column, the most frequent level of
        a factor. With ``average_by``, other columns have the values of the rows of ``data``.
    average_by : bool, str or list, optional
        True: average over all rows of ``data``. Names of columns: one average for each value of these columns. Default:
        no average.
    weights : str or array, optional
        Weights of the rows in averages: a column, or one number per row. Default: equal weights.
    scale : "response" or "link"
        ``"response"``: the mean of the response (a probability, a rate; for classes the probability of each class).
        ``"link"``: the linear predictor.
    groups : "known", "draw", "new" or "population", optional
        Which group effects are used. ``"known"`` (the default): the effects of the groups in the data of the fit; a new
        level raises an error. In a grid of values (``conditional`` without ``average_by``), the effects of a factor are
        left out if ``conditional`` does not name this factor, and a note reports this. ``"draw"``: as ``"known"``, but
        for a new level an effect is drawn from the distribution of group effects. ``"new"``: the mean over the
        distribution of the effects of new groups. ``"population"``: no group effects (a typical group).
    draws : int, optional
        Number of posterior draws to use, the same number from every chain. Default: at most 1000.
    ci_prob : float, optional
        The probability of the central intervals. Default: ArviZ's, 0.89.
    family : optional
        Your own family (`tunamh.family`) again, because a result does not contain code.
    rng : seed, optional
        The seed of the effects that ``groups="draw"`` draws, and of the sample of rows that is used for averages of
        many rows.

    Returns
    -------
    EffectsTable
        A pandas table with a line for each prediction: the values that define it (``class`` for classes), ``mean``,
        ``sd``, the ends of the interval (``eti89_lb``, ``eti89_ub``) and ``p_positive`` (not for probabilities and
        other means that are always positive). Its attribute ``draws`` is an `xarray.DataArray` (chain, draw, line).

    Examples
    --------
    >>> tunamh.predictions(posterior, conditional={"distance": [500, 1000], "carrier": "all"})
    >>> tunamh.predictions(posterior, flights, average_by="carrier")
    >>> tunamh.predictions(posterior, flights, {"carrier": "all"}, average_by=True)  # all flights by each carrier
    """
    asking = Asking(posterior, data, conditional, average_by, weights, scale, groups, draws, ci_prob, family, rng)
    return asking.answer(_question, "prediction", "{}", asking.above_zero)


def _question(columns: ModelColumns, points: list[Point], averaged: bool) -> Question:
    return Question([{}], [{}], points=[fixed(one) for one in points] if averaged else [{}])
