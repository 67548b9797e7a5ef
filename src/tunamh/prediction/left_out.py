"""Predictive densities of rows that are left out one at a time: exact for a random subsample, a surrogate for the rest.

The difference estimator of Magnusson et al. (2020). With ``e_i`` the log predictive density of row ``i`` by Pareto
smoothed importance sampling, ``a_i`` the surrogate (`tunamh.prediction.surrogate`) and ``S`` a simple random sample of
``m`` of ``N`` rows,

    sum_i e_i  is estimated by  sum_i a_i + N/m sum_{i in S} (e_i - a_i),

without bias, whatever ``a`` is. Its sampling variance is ``N^2 (1 - m/N) s^2 / m`` with ``s^2`` the variance of the
differences ``e_i - a_i`` in the sample, not of the ``e_i``. The variance between rows, which says how far the sum would
be from that of other data, is ``N sigma^2``; ``sigma^2``, the variance of ``e_i`` over all rows, is estimated in the
same way from squares.

All of this is linear in ``e`` and ``a``, so it holds for differences of models as well: with a contrast ``c`` over
models, in the place of ``e_i`` stands ``sum_k c_k e_ki``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from ..errors import NotApplicable
from ..formula.model import FormulaModel
from ..formula.syntax import Name
from ..process.stages import announce
from ..tables.columns import Numbers
from ..tables.frames import Frame
from .exact_rows import exact_rows
from .fitted import MOST_DRAWS, Fitted
from .group_rows import Sample
from .model_rows import needed_columns
from .replication import refuse_lost_array
from .subsample import RandomRows, complete_blocks
from .surrogate import SurrogateOfRows, surrogate_of

MOST_KEPT = 10_000_000
"""Rows whose surrogates are kept, all of them; with more rows only sums are."""


class LeftOut(NamedTuple):
    """Predictive densities of ``K`` models.

    Columns ``0 ... K - 1`` are for rows that are left out, and columns ``K ... 2 K - 1`` for the same rows not left
    out.
    """

    n_rows: int
    numbers: np.ndarray  # of the sampled rows in the data
    places: np.ndarray  # of the sampled rows among the complete ones
    exact: np.ndarray  # (columns, sample)
    surrogate: np.ndarray  # (columns, sample)
    total: np.ndarray  # (columns,), the surrogate's sum over all rows
    products: np.ndarray  # (columns, columns), sums of products over all rows, about the centre
    centre: np.ndarray  # (columns,)
    pareto_k: np.ndarray  # (K, sample)
    weights: np.ndarray | None  # of the sampled rows
    kept: np.ndarray | None  # (K, rows), the surrogates of all rows; None where there are too many

    @property
    def models(self) -> int:
        return len(self.total) // 2

    @property
    def whole(self) -> bool:
        """Return True if the sample is all rows."""
        return len(self.numbers) == self.n_rows

    def contrast(self, model: int, other: int | None = None) -> np.ndarray:
        """Return the contrast of one model, or of the difference of two models: a vector of 0, 1 and -1."""
        c = np.zeros(len(self.total))
        c[model] = 1.0
        if other is not None:
            c[other] -= 1.0
        return c

    def contrast_of_parameters(self, model: int) -> np.ndarray:
        """Return the contrast of the effective number of parameters.

        This is the difference between the log densities of rows that are not left out and of rows that are left out.
        """
        return self.contrast(self.models + model, model)

    def estimate(self, c: np.ndarray) -> float:
        """Return the estimate of the sum over all rows for a contrast."""
        off = c @ (self.exact - self.surrogate)
        return float(c @ self.total + self.n_rows * off.mean())

    def sampling_error(self, c: np.ndarray) -> float:
        """Return the part of the standard error that exists because only some rows are computed exactly."""
        m, n = len(self.numbers), self.n_rows
        if m == n:
            return 0.0
        if m == 1:
            return np.inf
        return float(n * np.std(c @ (self.exact - self.surrogate), ddof=1) * np.sqrt((1 - m / n) / m))

    def error_between_rows(self, c: np.ndarray) -> float:
        """Return the part of the standard error that exists because the rows themselves are a sample.

        This would be the standard error of the sum if all rows were computed exactly.
        """
        n, exact = self.n_rows, c @ (self.exact - self.centre[:, None])
        squares = np.square(exact) - np.square(c @ (self.surrogate - self.centre[:, None]))
        mean = self.estimate(c) / n - c @ self.centre
        square = c @ self.products @ c / n + squares.mean()
        variance = square - mean**2 + (self.sampling_error(c) / n) ** 2 if len(exact) > 1 else np.nan
        if not variance > 0:  # rounding, or a sample that says little of squares
            variance = np.var(exact)
        return float(np.sqrt(n * variance))

    def error(self, c: np.ndarray) -> float:
        """Return the standard error of the estimate, from both parts."""
        return float(np.hypot(self.sampling_error(c), self.error_between_rows(c)))


_MOST_NUMBERS = 1_000_000
"""Draws times rows of the data, up to which all draws are used: with few draws, Pareto k does not see a long tail."""


def opened_to_leave_out(tree: Any, draws: int | None, family: Any) -> Fitted:
    """Return a result with ``draws`` draws; None: at most 1000, and more of them if the data have fewer than 1000 rows.

    The number does not depend on the size of a subsample, so that subsamples have the estimates of all rows.
    """
    fitted = Fitted.open(tree, draws, family, by_chain=True)
    if draws is not None or fitted.data_rows is None:
        return fitted
    many = _MOST_NUMBERS // max(1, fitted.data_rows)
    return fitted if many <= MOST_DRAWS else Fitted.open(tree, many, family, by_chain=True)


def left_out(fits: Mapping[str, Fitted], data: Any, rows: int, rng: np.random.Generator) -> LeftOut:
    """Compute the densities of left-out rows.

    One pass over all rows computes an approximation for every model; then the sampled rows are computed by importance
    sampling.
    """
    formulas = [_formula(fitted) for fitted in fits.values()]
    sample, surrogates = RandomRows(rows, rng), [SurrogateOfRows(fitted) for fitted in fits.values()]
    sums, kept = _Sums(2 * len(surrogates)), _Kept()
    announce("leaving rows out: an approximation for all rows")
    names = list(dict.fromkeys(name for one in formulas for name in needed_columns(one)))
    for block in complete_blocks(data, names):
        sample.offer(block)
        for part in block.parts(min(one.rows_at_once for one in surrogates)):
            values = np.concatenate(list(zip(*(surrogate_of(one, part) for one in surrogates), strict=True)))
            sums.add(values)
            kept.add(values[: len(surrogates)])
    frame, numbers, places = sample.taken()
    _refuse_other_rows(fits, sample.offered)
    for fitted in fits.values():
        _refuse_other_responses(fitted, frame, numbers)
    taken = Sample(frame, places, sample.offered, data, names)
    exact = [exact_rows(fitted, taken) for fitted in fits.values()]
    order = np.argsort(places)
    return LeftOut(
        n_rows=sample.offered,
        numbers=numbers[order],
        places=places[order],
        exact=np.stack([*(one.left_out for one in exact), *(one.within for one in exact)])[:, order],
        surrogate=np.concatenate(list(zip(*(surrogate_of(one, frame) for one in surrogates), strict=True)))[:, order],
        total=sums.total,
        products=sums.products,
        centre=sums.centre,
        pareto_k=np.stack([one.pareto_k for one in exact])[:, order],
        weights=None if exact[0].weights is None else exact[0].weights[order],
        kept=kept.values,
    )


def _formula(fitted: Fitted) -> FormulaModel:
    """The fit's formula. Raises for fits whose rows cannot be left out."""
    for name in ("weights", "trials", "event", "censored"):
        refuse_lost_array(fitted, name)
    if fitted.formula is None:
        raise NotApplicable("tunamh.loo needs the result of a model that tunamh.regression made from a formula.")
    _ = fitted.responses  # of a family of the user's own, which must be given again
    return fitted.formula


def _refuse_other_rows(fits: Mapping[str, Fitted], n_rows: int) -> None:
    """Rows that a model was not fitted to are not left out of it, and other models predict other rows."""
    for name, fitted in fits.items():
        if fitted.data_rows not in (None, n_rows):
            model = f"the model {name!r}" if name else "the model"
            same = (
                " Models are compared on the same rows: if only one of them needs a column with missing values, fit "
                "all of them without these rows."
            )
            raise NotApplicable(
                f"{model} was fitted to {fitted.data_rows:,} rows, and these data have {n_rows:,} without missing "
                f"values in the columns that are needed: give the data of the fit.{same * (len(fits) > 1)}"
            )


def _refuse_other_responses(fitted: Fitted, frame: Frame, numbers: np.ndarray) -> None:
    """Responses of the sampled rows against those that the result keeps, where the response is a column of numbers."""
    assert fitted.formula is not None
    response = fitted.formula.response.node
    if fitted.kept is None or not isinstance(response, Name) or response.name != fitted.kept.name:
        return
    column = frame.columns[response.name]
    if not isinstance(column, Numbers):
        return
    rows, here, there = np.intersect1d(numbers, fitted.kept["row"].values, return_indices=True)
    now, then = column.values[here], fitted.kept.values[there]
    other = np.flatnonzero(~np.isclose(now, then, rtol=1e-6, atol=0.0))
    if len(other):
        k = other[0]
        raise NotApplicable(
            f"the model was fitted to other values of {response}: row {rows[k]:,} has {now[k]:g} in these data, and "
            f"had {then[k]:g} in the fit. Pass the data of the fit, with the same rows in the same order."
        )


class _Sums:
    """Sums of columns and of their products, about a centre near their means, so that no digits are lost."""

    def __init__(self, columns: int):
        self.total, self.products = np.zeros(columns), np.zeros((columns, columns))
        self.centre: np.ndarray | Any = None

    def add(self, values: np.ndarray) -> None:
        if self.centre is None:
            self.centre = values.mean(axis=1)
        about = values - self.centre[:, None]
        self.total += values.sum(axis=1)
        self.products += about @ about.T


class _Kept:
    """The columns themselves, as long as there is room for them."""

    def __init__(self) -> None:
        self._parts: list[np.ndarray] | None = []
        self._rows = 0

    def add(self, values: np.ndarray) -> None:
        self._rows += values.shape[1]
        if self._rows > MOST_KEPT:
            self._parts = None
        elif self._parts is not None:
            self._parts.append(values)

    @property
    def values(self) -> np.ndarray | None:
        return None if self._parts is None else np.concatenate(self._parts, axis=1)
