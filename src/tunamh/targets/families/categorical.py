"""Classes: softmax with a reference class."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ...compiled import FamilyEnergy, FamilyRise, helper, part
from ...process.scratch import as_large
from ...tables.columns import Factor
from ..observations.base import Observations
from ..observations.observed import TransformedRows
from ..observations.row_layout import RowLayout, one_stretch_per_class
from .base import BaseFamily, Responses
from .intervals import SIGMOID_THIRD
from .links import LOGIT
from .multi_predictor import MultiPredictorLikelihood
from .response_checks import first_wrong
from .responses import Parameters, ResponseDistribution

_MOST_CLASSES = 1000
_LARGEST = 2.0**53  # beyond, whole numbers are no longer told apart


@helper(inline=True)
def _log_total(eta, stride, b, classes):
    """``log(1 + sum_k e^eta_k)``, the reference class having the predictor 0."""
    largest = 0.0
    for k in range(classes):
        largest = max(largest, eta[k * stride + b])
    total = math.exp(-largest)
    for k in range(classes):
        total += math.exp(eta[k * stride + b] - largest)
    return largest + math.log(total)


@part(FamilyEnergy)
def _softmax_energy(n, eta, y, hyper, out):
    classes = int(hyper[0])
    stride = eta.size // classes
    for b in range(n):
        own = int(y[b])
        out[b] = _log_total(eta, stride, b, classes) - (eta[(own - 1) * stride + b] if own > 0 else 0.0)


@part(FamilyRise)
def _softmax_rise(n, eta, eta_prop, y, hyper, out):
    """By ``log(1 + sum_k p_k (e^(move_k) - 1))``, which keeps its digits when moves are short."""
    classes = int(hyper[0])
    stride = eta.size // classes
    for b in range(n):
        own = int(y[b])
        total, grown, far = _log_total(eta, stride, b, classes), 0.0, 0.0
        for k in range(classes):
            move = eta_prop[k * stride + b] - eta[k * stride + b]
            far = max(far, abs(move))
            grown += math.exp(eta[k * stride + b] - total) * math.expm1(move) if move < 700.0 else np.inf
        out[b] = math.log1p(grown) if far < 1.0 else _log_total(eta_prop, stride, b, classes) - total
        if own > 0:
            out[b] -= eta_prop[(own - 1) * stride + b] - eta[(own - 1) * stride + b]


@dataclass(frozen=True)
class Softmax(MultiPredictorLikelihood):
    """The likelihood of `Categorical`: ``f = log(1 + sum_k e^eta_k) - eta_y`` with ``eta_0 = 0``.

    The response ``y`` is 0, 1, ..., K.
    """

    predictors: int  # K, one less than there are classes

    energy = _softmax_energy
    rise = _softmax_rise
    convex = True
    bounded_everywhere = True

    @property
    def hyper(self) -> tuple[float, ...]:
        return (float(self.predictors),)

    def check(self, y: np.ndarray) -> None:
        wrong = (y < 0) | (y != np.floor(y)) | (y > self.predictors)
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(f"classes must be 0 to {self.predictors}, but row {row} has {y[row]:g}.")

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return three arrays: ``p - 1_y``, ``diag p - p p'`` and the third cumulants of the indicator of a class.

        ``p`` are the probabilities of the classes of each row.
        """
        K = self.predictors
        largest = np.maximum(eta.max(axis=0), 0.0)
        weight = np.exp(eta - largest)
        p = weight / (weight.sum(axis=0) + np.exp(-largest))
        one = np.eye(K)
        gradient = p - (y == np.arange(1, K + 1)[:, None])
        hessian = one[:, :, None] * p - p[:, None] * p
        same = one[:, :, None] * one[:, None, :]
        pairs = np.einsum("ab,ai,ci->abci", one, p, p)
        third = np.einsum("abc,ai->abci", same, p) + 2 * p[:, None, None] * p[:, None] * p
        third -= pairs + pairs.transpose(0, 2, 1, 3) + pairs.transpose(2, 0, 1, 3)
        return gradient, hessian, third

    def contrasts(self, y: np.ndarray, predictors: np.ndarray) -> np.ndarray:
        """Return by how much the predictor of a row's own class exceeds the others, an array of stacked rows.

        ``predictors`` (K, n, m) are the predictors of the classes.
        """
        whole = np.concatenate([np.zeros((1, *predictors.shape[1:])), predictors])
        own, rows = y.astype(np.int64), np.arange(len(y))
        others = (np.arange(1, self.predictors + 1)[:, None] + own) % (self.predictors + 1)
        return np.concatenate([whole[own, rows] - whole[other, rows] for other in others])

    def cubic_bounds(self, y: np.ndarray, eta: np.ndarray, white: np.ndarray, radius: float) -> np.ndarray:
        """Return an array (n,), ``b^3 / (6 sqrt 3)``: ``b`` is the largest distance between two of the rows ``Y_k``.

        The row of class 0 is zero.

        ``D^3 f[z, z, w] = Cov_p((z - mean)^2, w)`` is at most ``1 / (6 sqrt 3)`` for z and w in [0, 1] (spec 5n), and
        the predictors of a move of length ``|z|`` range over no more than ``b |z|``. It holds everywhere.
        """
        size = np.einsum("aij,aij->ai", white, white)
        cross = np.einsum("aij,bij->abi", white, white)
        between = (size[:, None] + size[None, :] - 2 * cross).max(axis=(0, 1))
        return SIGMOID_THIRD * np.maximum(size.max(axis=0), between) ** 1.5


@dataclass(frozen=True)
class Categorical(BaseFamily):
    """Softmax regression of classes 0, 1, ..., K: ``p(y = k)`` is proportional to ``e^{x.theta_k}``.

    The first class is the reference: ``theta_0 = 0``.

    ``x`` are the columns of a row, and ``theta_k`` are the coefficients of class ``k``. Results call the coefficient of
    column ``x`` for class ``k`` ``x[k]``. Classes can be integers, text or categories; the first class in their order
    is the reference.

    Examples
    --------
    >>> tunamh.GLM(X, y, tunamh.Categorical(), prior=tunamh.Normal(scale=2.5))
    """

    responses = Responses.CLASSES
    word = "categorical"
    link = LOGIT
    coefficients_per_class = True

    def class_codes(self, found: Factor) -> tuple[np.ndarray, tuple[str, ...]]:
        """Return the class of each row as a number 0, 1, ..., an array (n,), and the names of the classes, a tuple.

        Classes that no row has are left out.
        """
        return as_large(found.codes.astype(np.float64)), tuple(found.levels)

    def check(self, y: np.ndarray) -> None:
        wrong = (y != np.floor(y)) | (np.abs(y) > _LARGEST)
        if wrong.any():
            raise first_wrong(wrong, y, "be whole numbers 0, 1, 2, ...", "code the classes so", "classes")

    def arrange(self, observations: Observations, temper: float) -> RowLayout:
        values = np.unique(np.concatenate(list(observations.map(lambda rows: np.unique(rows.y)))))
        if len(values) < 2:
            raise ValueError("all rows of y have the same class: at least two classes are needed.")
        if len(values) > _MOST_CLASSES:
            raise ValueError(f"y has {len(values)} classes, more than the {_MOST_CLASSES} that are offered: join some.")
        given = observations.classes
        names = [str(int(value)) for value in values] if given is None else list(given)
        if not np.array_equal(values, np.arange(len(values))):
            codes = observations
            observations = TransformedRows(
                codes, codes.design, lambda rows: rows._replace(y=np.searchsorted(values, rows.y) * 1.0)
            )
        return one_stretch_per_class(observations, Softmax(len(values) - 1), names)

    def response_distribution(self) -> ResponseDistribution:
        from .response_distributions import Classes

        return Classes(_probabilities)


def _probabilities(eta: np.ndarray, p: Parameters) -> np.ndarray:
    from scipy.special import softmax

    return softmax(np.concatenate([np.zeros((*eta.shape[:-1], 1)), eta], axis=-1), axis=-1)
