"""The normalised log likelihood of all rows at one point, from one map.

Every family has the density of a response with all its constants (`ResponseDistribution`). A censored response counts
by the probability that the true one lies beyond it. A row of weight ``w`` counts as ``w`` rows. Rows that count ``k``
successes in ``n`` trials have the binomial coefficient in their density, which no energy has.
"""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
from scipy.special import gammaln

from ...errors import NotApplicable
from ...rows.source import Rows
from ..families.base import BaseFamily
from ..observations.observed import InMemory


class RowDensity(NamedTuple):
    """What is needed to compute the log density of a block of rows.

    It is small, because it may be sent to other processes. ``coefficients`` contains one vector for each predictor.
    ``described`` has the coefficients of parameters that have columns, in the order of the rows' further blocks.
    ``first`` is the number of the first category.
    """

    family: BaseFamily
    coefficients: np.ndarray
    shared: dict[str, Any]
    described: tuple[tuple[str, np.ndarray], ...]
    first: float


def log_likelihood(target: Any, point: np.ndarray) -> float:
    """Return the log likelihood at ``point``, which is in the coordinates of a chain. It includes the temper."""
    density = row_density(target, point)
    (total,) = target.user_rows.sums(partial(of_block, density))
    return target.temper * (float(total) + of_trials(target))


def row_density(target: Any, point: np.ndarray) -> RowDensity:
    """Return the parameters at ``point`` in the form in which a block of rows needs them."""
    layout, rows, family = target.row_layout, target.user_rows, target.user_family
    natural = point if layout.form is None else layout.form.to_user(point)
    count, dim = len(layout.names), rows.design.dim
    shared: dict[str, Any] = dict(family.known_parameters())
    described, at = {}, count
    for extra in layout.extras:
        values, at = natural[at : at + extra.size], at + extra.size
        if extra.name in rows.described:
            described[extra.name] = values
        else:
            shared[extra.name] = values[None] if extra.labels is None else values[None, None]
    first = 0.0
    if "cutpoint" in family.parameters:
        first = min(rows.map(_smallest_response))
    in_order = tuple((name, described.get(name, np.ones(1))) for name in rows.described)
    coefficients = natural[:count].reshape(-1, dim) if dim else np.empty((1, 0))
    return RowDensity(family, coefficients, shared, in_order, first)


def of_block(density: RowDensity, rows: Rows) -> tuple[float]:
    """Return the sum of ``w_i log p(y_i)`` over the rows of a block."""
    family = density.family
    responses = family.response_distribution()
    if responses is None:
        raise NotApplicable(f"the evidence of {family!r} is not offered: the density of a response is not known.")
    predictors = np.stack([rows.X.matvec(theta) for theta in density.coefficients], axis=-1)[None]
    eta = predictors if family.coefficients_per_class else predictors[..., 0]
    each = _of_rows(family, responses, rows, eta, _parameters(density, rows), density.first)[0]
    if rows.weights is None:
        return (float(each.sum()),)
    counts = rows.weights > 0
    return (float(rows.weights[counts] @ each[counts]),)


def _parameters(density: RowDensity, rows: Rows) -> dict[str, Any]:
    family, p = density.family, dict(density.shared)
    for (name, gamma), block in zip(density.described, rows.others, strict=True):
        if name in family.data_columns:
            p[name] = block.dense()[None, :, 0]
            continue
        linear = block.matvec(gamma)[None]
        p[name] = family.parameter_links[name].mean(linear) if name in family.parameter_links else linear
    return p


def _of_rows(
    family: BaseFamily, responses: Any, rows: Rows, eta: np.ndarray, p: dict[str, Any], first: float
) -> np.ndarray:
    y = np.asarray(rows.y, dtype=np.float64)
    with np.errstate(divide="ignore"):
        if family.of_labels:  # a response may be a share of the trials
            success, failure = (responses.log_density(np.full(len(y), label), eta, p) for label in (1.0, 0.0))
            return np.where(y > 0, y * success, 0.0) + np.where(y < 1, (1 - y) * failure, 0.0)
        found = np.broadcast_to(responses.log_density(y - first, eta, p), (len(eta), len(y)))
        if rows.censored is None or not rows.censored.any():
            return found
        above, below = (responses.log_tail(y, eta, p, above=side) for side in (True, False))
        return np.where(rows.censored > 0, above, np.where(rows.censored < 0, below, found))


def _smallest_response(rows: Rows) -> float:
    return float(np.min(rows.y))


def of_trials(target: Any) -> float:
    """Return ``sum_i w_i log binomial(n_i, k_i)``, or 0 if there are no trials."""
    if target.given_trials is False and target.user_rows.origin is None and not _counts(target.user_rows):
        return 0.0
    rows = target.user_rows
    if not isinstance(rows, InMemory) or rows.counts is None or rows.weights is None:
        raise NotApplicable(
            "the evidence of trials whose rows do not fit into memory is not offered: the binomial coefficients need "
            "the trials of each row. Give open_rows a larger memory=, or read the columns into a data frame."
        )
    k = rows.counts
    successes, failures = _weights_of_labels(rows, len(k))
    some = (k > 0) & (successes > 0)
    weight = successes[some] / k[some]
    n = k[some] + failures[some] / weight
    return float(weight @ (gammaln(n + 1) - gammaln(k[some] + 1) - gammaln(n - k[some] + 1)))


def _counts(rows: Any) -> bool:
    return isinstance(rows, InMemory) and rows.counts is not None


def _weights_of_labels(rows: InMemory, given: int) -> tuple[np.ndarray, np.ndarray]:
    """For each given row, ``w k`` and ``w (n - k)``: rows are shares of trials, or two labels each."""
    weights: Any = rows.weights
    if rows.origin is None:
        return weights * rows.y, weights * (1 - rows.y)
    index, _ = rows.origin
    successes = np.bincount(index, weights * rows.y, minlength=given)
    return successes, np.bincount(index, weights, minlength=given) - successes
