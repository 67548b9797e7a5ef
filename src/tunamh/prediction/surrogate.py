"""A cheap estimate of every row's leave-one-out predictive density, from one map over all rows.

Let ``f(eta)`` be minus the log density of a row of weight ``w``, as a function of its predictor ``eta``, and let the
posterior of ``eta`` be normal with mean ``m`` and variance ``v = x' V x``. About ``m``, ``f`` is nearly
``f0 + f1 u + f2 u^2 / 2``, and then for every number ``c``

    log E exp(c f) = c f0 + c^2 f1^2 v / (2 (1 - c f2 v)) - log(1 - c f2 v) / 2 = L(c).

Without the row the posterior has the factor ``exp(w f)``. So the row's density, averaged over the posterior without the
row, has the logarithm ``L(w - 1) - L(w)``. For ``w = 1`` this is ``-L(1)``: one Newton step without the row, in closed
form, with ``h = f2 v`` the leverage of the row. Of several predictors (classes), ``f1`` is a vector, ``f2`` and ``v``
are matrices.

Parameters that all rows share, such as a scale, are at their means. ``v`` is the variance over some draws, so that it
has the effects of groups in it. None of this has to be right: the estimate of `leave_one_out` is unbiased for any
surrogate, and the better this one is, the smaller is its standard error.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..tables.frames import Frame
from .fitted import Fitted
from .model_rows import model_rows
from .new_rows import Chunk
from .predictions import Predictor
from .times import Seen

_DRAWS = 100  # by which the variance of predictors is estimated
_LARGEST = 0.9  # of c f2 v, where the posterior is far from normal


class Surrogate(NamedTuple):
    """Approximate log densities of some rows: with the row left out and with it, each times the weight of the row."""

    left_out: np.ndarray
    within: np.ndarray


class SurrogateOfRows:
    """A function that computes the approximate leave-one-out densities of chunks of rows."""

    def __init__(self, fitted: Fitted):
        nobody = np.random.default_rng(0)  # levels that are not known are refused, so nothing is drawn
        self.fitted = fitted
        self.centre = Predictor(_at_mean(fitted), "error", nobody)
        picked = fitted.picked[np.linspace(0, len(fitted.picked) - 1, min(_DRAWS, len(fitted.picked))).astype(int)]
        self.spread = Predictor(replace(fitted, picked=picked), "error", nobody)

    @property
    def rows_at_once(self) -> int:
        return self.spread.rows_at_once

    def of(self, chunk: Chunk, weights: np.ndarray | None, seen: Seen) -> Surrogate:
        mean, draws = self.centre.linear(chunk)[0], self.spread.linear(chunk)
        p = self.centre.parameters(chunk)
        w = np.ones(chunk.n_rows) if weights is None else weights
        with np.errstate(all="ignore"):
            if mean.ndim == 2:
                expected: Any = self._of_classes(chunk, mean, draws, p)
            else:
                expected = self._of(chunk, seen, mean, draws, p)
            left_out, within = (
                w * (expected.log_mean(w - 1) - expected.log_mean(w)),
                w * expected.log_mean(-1.0 + 0 * w),
            )
        return Surrogate(_finite(left_out), _finite(within))

    def _of(self, chunk: Chunk, seen: Seen, mean: np.ndarray, draws: np.ndarray, p: dict[str, Any]) -> _Quadratic:
        """Derivatives by differences over one posterior standard deviation."""
        variance = draws.var(axis=0, ddof=1) if len(draws) > 1 else np.zeros(chunk.n_rows)
        step = np.sqrt(np.maximum(variance, 1e-300))

        assert chunk.y is not None
        y = chunk.y

        def energy(eta: np.ndarray) -> np.ndarray:
            return -np.broadcast_to(seen.log_density(self.fitted.responses, y, eta[None], p), (1, len(eta)))[0]

        here, above, below = energy(mean), energy(mean + step), energy(mean - step)
        moved = variance > 0  # by the rounding of the predictor, at least
        first = np.where(moved, 0.5 * (above - below), 0.0)  # times the step
        second = np.where(moved, above + below - 2.0 * here, 0.0)
        return _Quadratic(here, np.square(first), second)

    def _of_classes(self, chunk: Chunk, mean: np.ndarray, draws: np.ndarray, p: dict[str, Any]) -> _OfClasses:
        """``f = -log softmax``: its slope is ``p - e_y``, its curvature ``diag(p) - p p'``."""
        assert chunk.y is not None
        probability = self.fitted.responses.mean(mean[None], p)[0]
        here = -self.fitted.responses.log_density(chunk.y, mean[None], p)[0]
        slope = probability - np.eye(probability.shape[1])[chunk.y.astype(np.int64)]
        q = probability[:, 1:]
        curvature = np.einsum("nk,kl->nkl", q, np.eye(q.shape[1])) - np.einsum("nk,nl->nkl", q, q)
        away = draws - draws.mean(axis=0)
        variance = np.einsum("snk,snl->nkl", away, away) / max(len(draws) - 1, 1)
        return _OfClasses(here, slope[:, 1:], curvature, variance)


def surrogate_of(of: SurrogateOfRows, frame: Frame) -> Surrogate:
    """Return the approximate log densities of all rows of a table."""
    found = [of.of(*part) for part in model_rows(of.fitted, frame, of.rows_at_once)]
    return Surrogate(*map(np.concatenate, zip(*found, strict=True)))


class _Quadratic(NamedTuple):
    """``f0``, ``f1^2 v`` and ``f2 v`` of rows with one predictor."""

    value: np.ndarray
    slope: np.ndarray
    leverage: np.ndarray

    def log_mean(self, c: np.ndarray) -> np.ndarray:
        """Return ``L(c)``, the log of the mean of ``f^c`` by the formula of this file."""
        left = 1.0 - np.minimum(c * self.leverage, _LARGEST)
        return c * self.value + 0.5 * c * c * self.slope / left - 0.5 * np.log(left)


class _OfClasses(NamedTuple):
    """The same of rows with several predictors."""

    value: np.ndarray
    slope: np.ndarray
    curvature: np.ndarray
    variance: np.ndarray

    def log_mean(self, c: np.ndarray) -> np.ndarray:
        """Return the log mean for several predictors.

        It is ``c f0 + c^2 f1' (I - c V F)^-1 V f1 / 2 - log|I - c V F| / 2``.
        """
        pull = np.einsum("nkl,nlm->nkm", self.variance, self.curvature)
        most = np.maximum(np.abs(np.trace(pull, axis1=1, axis2=2) * c), 1e-300)  # no eigenvalue is larger
        c = c * np.minimum(1.0, _LARGEST / most)
        left = np.eye(pull.shape[1]) - c[:, None, None] * pull
        moved = np.linalg.solve(left, np.einsum("nkl,nl->nk", self.variance, self.slope)[..., None])[..., 0]
        quadratic = 0.5 * c * c * np.einsum("nk,nk->n", self.slope, moved)
        return c * self.value + quadratic - 0.5 * np.linalg.slogdet(left)[1]


def _finite(values: np.ndarray) -> np.ndarray:
    """A surrogate may be any number, but it must be one."""
    return np.where(np.isfinite(values), values, 0.0)


def _at_mean(fitted: Fitted) -> Fitted:
    """The result as if it had one draw, the mean of the picked ones."""
    import xarray

    posterior = fitted.posterior
    data = posterior.to_dataset() if isinstance(posterior, xarray.DataTree) else posterior
    stacked = data.stack(picked_draw=("chain", "draw")).isel(picked_draw=fitted.picked)
    mean = stacked.mean("picked_draw", keep_attrs=True).expand_dims({"chain": 1, "draw": 1})
    return replace(fitted, posterior=mean, picked=np.zeros(1, dtype=np.int64))
