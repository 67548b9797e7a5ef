"""Ordered categories: the cumulative logit model."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np

from ..._arguments import shown
from ...compiled import CONTRACT, FamilyEnergy, FamilyRise, part
from ...compiled.vector import softplus, softplus_rise
from ...priors import Flat, StudentT
from ...priors.independent import IndependentPrior
from ...priors.laws import Laws
from ...process.scratch import as_large
from ...rows.source import Rows
from ...tables.columns import Factor
from ..coordinates.shared import Cutpoints
from ..designs.curved import CurvedBlock
from ..designs.indexed import NOWHERE, IndexedBlock
from ..designs.with_offset import BlockWithOffset
from ..observations.base import Observations
from ..observations.row_layout import Extra, RowLayout, column_names, two_cutpoints
from .base import BaseFamily, Responses
from .intervals import SIGMOID_THIRD, sigmoids
from .links import LOGIT
from .logistic import Logistic
from .multi_predictor import MultiPredictorLikelihood
from .responses import Parameters, ResponseDistribution


@part(FamilyEnergy, fastmath=CONTRACT)
def _ordinal_energy(n, eta, y, hyper, out):
    stride = eta.size // 2
    for b in range(n):
        upper, lower = softplus(eta[b]), softplus(-eta[stride + b])
        out[b] = (upper if y[b] < 0.5 else 0.0) + (lower if y[b] > -0.5 else 0.0)


@part(FamilyRise, fastmath=CONTRACT)
def _ordinal_rise(n, eta, eta_prop, y, hyper, out):
    stride = eta.size // 2
    for b in range(n):
        upper = softplus_rise(eta[b], eta_prop[b])
        lower = softplus_rise(-eta[stride + b], -eta_prop[stride + b])
        out[b] = (upper if y[b] < 0.5 else 0.0) + (lower if y[b] > -0.5 else 0.0)


class CumulativeLogit(MultiPredictorLikelihood):
    """The likelihood of ordered categories: ``f = log(1 + e^{eta_1}) + log(1 + e^{-eta_2})``.

    ``eta_1 = x.theta - c_y`` and ``eta_2 = x.theta - c_{y-1}``. The first term is absent in the highest category, the
    second in the lowest. Since ``s(a) - s(b) = s(a) s(-b) (1 - e^{-(a-b)})`` for the logistic function, the likelihood
    of a category is a product of two logistic likelihoods and of a factor that depends only on cutpoints. This factor
    is in `tunamh.targets.coordinates.shared.Cutpoints`.
    """

    predictors = 2
    energy = _ordinal_energy
    rise = _ordinal_rise
    convex = True
    separable = True

    def check(self, y: np.ndarray) -> None:
        """Do nothing: the responses are the codes -1, 0 and 1, which `Ordinal` has made."""

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        n = len(y)
        gradient, hessian, third = np.zeros((2, n)), np.zeros((2, 2, n)), np.zeros((2, 2, 2, n))
        for k, counts in enumerate((y < 0.5, y > -0.5)):
            p, q = sigmoids(eta[k])
            gradient[k] = counts * (p if k == 0 else -q)
            hessian[k, k], third[k, k, k] = counts * p * q, counts * p * q * (q - p)
        return gradient, hessian, third

    def contrasts(self, y: np.ndarray, predictors: np.ndarray) -> np.ndarray:
        """Return stacked rows: minus the first predictor, and the second one; zero if there is no such cutpoint."""
        upper, lower = np.where(y < 0.5, -1.0, 0.0), np.where(y > -0.5, 1.0, 0.0)
        return np.concatenate([upper[:, None] * predictors[0], lower[:, None] * predictors[1]])

    def cubic_bounds(self, y: np.ndarray, eta: np.ndarray, white: np.ndarray, radius: float) -> np.ndarray:
        """Return an array (n,), ``sum_k L_k |Y_k|^3`` with the logistic constants ``L_k`` of one predictor."""
        total = np.zeros(len(y))
        for k, counts in enumerate((y < 0.5, y > -0.5)):
            size = np.sqrt(np.einsum("ij,ij->i", white[k], white[k]))
            near = Logistic().suprema_near(0 * y, eta[k], radius * size).third if np.isfinite(radius) else SIGMOID_THIRD
            total += counts * near * size**3
        return total

    def __repr__(self) -> str:
        return "CumulativeLogit()"


_MOST_CATEGORIES = 200


@dataclass(frozen=True)
class Ordinal(BaseFamily):
    """Regression of ordered categories 1, ..., J: ``p(y <= k) = 1 / (1 + e^{x.theta - c_k})``.

    ``x`` are the columns of a row, and ``theta`` are the coefficients. The cutpoints ``c_1 < c_2 < ...`` are unknown.
    They replace the intercept, so do not include a column of ones.

    Categories can also be numbered from 0. They can be an ordered categorical of pandas, a polars Enum or an ordered
    dictionary of pyarrow; then their names label the cutpoints.

    Parameters
    ----------
    cutpoint : prior of coefficients, optional
        The prior of every cutpoint ``c_k``, such as ``Normal(scale=5)``. The default is a prior for a typical row
        ``o``: the cutpoints ``c_k - o.theta`` of this row have a Student-t prior with 3 degrees of freedom and scale
        2.5. In the typical row, a column has its mean or, if the column has only two values, the lower value (the
        reference level of a factor). So the default prior does not change if you shift a column.

    Examples
    --------
    >>> tunamh.GLM(X, y, tunamh.Ordinal(), prior=tunamh.Normal(scale=2.5))
    """

    cutpoint: Any = None

    responses = Responses.CLASSES
    word = "ordinal"
    link = LOGIT
    parameters = ("cutpoint",)
    own_intercepts = True
    real_parameters = ("cutpoint",)

    def __post_init__(self) -> None:
        if self.cutpoint is not None and not isinstance(self.cutpoint, IndependentPrior):
            raise TypeError(f"cutpoint must be a prior such as tunamh.Normal(scale=5), got {shown(self.cutpoint)}.")

    def class_codes(self, found: Factor) -> tuple[np.ndarray, tuple[str, ...]]:
        """Return the category of each row as a number, an array (n,), and the names of the categories.

        The names are in the order of the categories, from low to high.
        """
        if not found.ordered:
            listed = ", ".join(map(repr, found.levels[:3])) + ", ..." * (len(found.levels) > 3)
            raise TypeError(
                f"y holds {found.kind} without an order, and Ordinal() needs one: give an ordered categorical, such as "
                f"pandas.Categorical(y, categories=[{listed}], ordered=True) with the categories from low to high."
            )
        if found.absent:
            raise ValueError(
                f"no row of y has the category {found.absent[0]!r}, so that its cutpoints cannot be told apart: drop "
                "it (in pandas by y.cat.remove_unused_categories()), or join it with its neighbour."
            )
        return as_large(found.codes.astype(np.float64)), tuple(found.levels)

    def check(self, y: np.ndarray) -> None:
        wrong = (y < 0) | (y != np.floor(y)) | (y > _MOST_CATEGORIES)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(f"categories must be whole numbers 1, 2, 3, ..., but row {row} has {y[row]:g}.")

    def warnings(self, observations: Observations) -> list[str]:
        return [
            f"column {name} is constant: the cutpoints are the intercepts of Ordinal(), and only the differences are "
            "known, so that chains mix badly. Leave it out."
            for name in _constant_columns(observations)
        ]

    def arrange(self, observations: Observations, temper: float) -> RowLayout:
        counts, origin = _looked_at(observations, temper)
        if not (self.cutpoint is None or isinstance(self.cutpoint, Flat)):
            origin = np.zeros_like(origin)
        first = 0 if counts[0] > 0 else 1
        counts = np.trim_zeros(counts[first:], "b")
        if len(counts) < 2 or (counts == 0).any():
            missing = f"none has {first + int(np.argmin(counts))}" if len(counts) > 1 else "all rows have the same"
            raise ValueError(f"every category from {first} to {first + len(counts) - 1} must occur, but {missing}.")
        cuts = len(counts) - 1
        whole = np.arange(len(origin)) < _whole_columns(observations)
        origin, lean = np.where(whole, origin, 0.0), np.where(whole, 0.0, origin)
        rows = two_cutpoints(observations, cuts, first, origin, lean)
        called = observations.classes or [str(first + k) for k in range(cuts + 1)]
        labels = tuple(f"{low}|{high}" for low, high in pairwise(called))
        prior = StudentT(df=3.0, scale=2.5) if self.cutpoint is None else self.cutpoint
        laws: Laws = prior.laws(cuts)
        below = np.cumsum(counts)[:-1] / counts.sum()
        start = np.concatenate([np.zeros(len(origin)), np.log(below / (1 - below))])
        coordinates = Cutpoints(counts[1:-1], origin, lean)
        names = column_names(observations)
        return RowLayout(rows, CumulativeLogit(), names, coordinates, (Extra("cutpoint", labels),), (laws,), start)

    def response_distribution(self) -> ResponseDistribution:
        from .response_distributions import Classes

        return Classes(_probabilities)


def _probabilities(eta: np.ndarray, p: Parameters) -> np.ndarray:
    """``P(y <= k) = 1 / (1 + e^(eta - c_k))``, cutpoints (draws, 1, J - 1)."""
    below = LOGIT.mean(p["cutpoint"] - eta[..., None])
    ends = np.zeros((*eta.shape, 1)), np.ones((*eta.shape, 1))
    return np.diff(np.concatenate([ends[0], below, ends[1]], axis=-1), axis=-1)


def _constant_columns(observations: Observations) -> list[str]:
    """A column of ones beside cutpoints: only their difference would be known."""
    sample = observations.take(np.arange(min(observations.n_rows, 1000))).rows().X.dense()
    suspects = np.flatnonzero((np.ptp(sample, axis=0) == 0) & (sample[0] != 0))
    if len(suspects) == 0:
        return []
    constant = np.ones(len(suspects), bool)
    for same in observations.map(lambda rows: (rows.X.dense()[:, suspects] == sample[0, suspects]).all(axis=0)):
        constant &= same
    return [column_names(observations)[k] for k in suspects[constant]]


class _Look(NamedTuple):
    """What a block of rows tells: the weights of categories, and of each column its sum and extreme values.

    ``others`` says whether a column has values beside these two.
    """

    categories: np.ndarray
    total: np.ndarray
    low: np.ndarray
    high: np.ndarray
    others: np.ndarray

    def beside(self, more: _Look) -> _Look:
        low, high = np.minimum(self.low, more.low), np.maximum(self.high, more.high)
        others = self.others | more.others
        for values in (self.low, self.high, more.low, more.high):
            others = others | (np.isfinite(values) & (values != low) & (values != high))
        return _Look(self.categories + more.categories, self.total + more.total, low, high, others)


def _look(rows: Rows) -> _Look:
    weights = np.ones(len(rows.y)) if rows.weights is None else rows.weights
    categories = np.bincount(rows.y.astype(np.int64), weights=weights, minlength=_MOST_CATEGORIES + 1)
    block: Any = rows.X.block if isinstance(rows.X, BlockWithOffset) else rows.X
    gathered = isinstance(block, IndexedBlock)
    X, counts = block.whole if gathered else block.dense(), weights > 0
    some = X[counts]
    low, high = some.min(axis=0, initial=np.inf), some.max(axis=0, initial=-np.inf)
    found = _Look(categories, weights @ X, low, high, ((low != some) & (high != some)).any(axis=0))
    return _with_gathered(found, block, weights) if gathered else found


def _with_gathered(found: _Look, block: IndexedBlock, weights: np.ndarray) -> _Look:
    """With columns of which a row stores few: levels, which are 0 and 1, count as constant: their origin is zero.

    So is that of a plain curve, whose columns have the mean zero.
    """
    first = block.whole.shape[1]
    block = block.unfolded(plain=False) if isinstance(block, CurvedBlock) else block
    low, high, others = np.zeros(block.dim), np.zeros(block.dim), np.zeros(block.dim, bool)
    total = block.rmatvec(weights)
    if block.values.size:
        kept = (weights > 0)[:, None] & (block.positions != NOWHERE)
        at, values = block.positions[kept], block.values[kept]
        absent = np.bincount(at, minlength=block.dim) < np.count_nonzero(weights > 0)
        low, high = np.where(absent, 0.0, np.inf), np.where(absent, 0.0, -np.inf)
        np.minimum.at(low, at, values)
        np.maximum.at(high, at, values)
        others[at[(values != low[at]) & (values != high[at])]] = True
        others |= absent & (low < 0) & (high > 0)
    joined = ((own, more[first:]) for own, more in zip(found[1:], (total, low, high, others), strict=True))
    return _Look(found.categories, *(np.concatenate(pair) for pair in joined))


def _whole_columns(observations: Observations) -> int:
    """How many columns every row stores."""
    return int(observations.design.numbers.columns)


def _looked_at(observations: Observations, temper: float) -> tuple[np.ndarray, np.ndarray]:
    """The weights of the categories, and the columns' origins, in one pass."""
    found = reduce(_Look.beside, observations.map(_look))
    typical = np.where(found.others, found.total / max(found.categories.sum(), 1e-300), found.low)
    return temper * found.categories, np.where(found.high > found.low, typical, 0.0)
