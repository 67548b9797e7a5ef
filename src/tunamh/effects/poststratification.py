"""Post-stratification: the mean of the response in a population that was not sampled, from the counts of its cells."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._arguments import explained
from .asking import Asking
from .averages import Question

if TYPE_CHECKING:
    from .table import EffectsTable


@explained
def poststratify(
    posterior: Any,
    cells: Any,
    weights: Any,
    *,
    by: Any = None,
    groups: str = "draw",
    draws: int | None = None,
    ci_prob: float | None = None,
    family: Any = None,
    rng: Any = None,
) -> EffectsTable:
    """Return the mean of the response in a population that is described by cells and their sizes.

    This is the second step of multilevel regression and post-stratification (MRP): ``sum_c N_c m_c / sum_c N_c``, with
    the predicted mean ``m_c`` of cell ``c``, for every draw.

    Parameters
    ----------
    posterior : DataTree
        The result of `tunamh.sample` for a target of `tunamh.regression`.
    cells : table
        The cells: one row for each combination of the formula's columns, such as age, sex and state. Tables in blocks
        (`tunamh.open_rows`) work too.
    weights : str or array
        The sizes ``N_c`` of the cells: a column of ``cells``, or one number per cell.
    by : str or list, optional
        Columns such as ``"state"``: one mean for each of their values. Default: one mean of all cells.
    groups : "draw", "known", "new" or "population"
        The same argument as for `tunamh.predictions`. By default, the effects of groups that are not in the data of the
        fit are drawn from their distribution. So the intervals include the uncertainty about these groups.
    draws, ci_prob, family, rng
        The same arguments as for `tunamh.predictions`.

    Returns
    -------
    EffectsTable
        A table with the same columns as the table of `tunamh.predictions`.

    Examples
    --------
    >>> tunamh.poststratify(posterior, census, "people", by="state")
    """
    average = True if by is None else by
    asking = Asking(posterior, cells, None, average, weights, "response", groups, draws, ci_prob, family, rng)
    return asking.answer(lambda columns, points, averaged: Question([{}], [{}]), "prediction", "{}", asking.above_zero)
