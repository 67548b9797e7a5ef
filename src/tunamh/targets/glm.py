"""Regression: energies that see a row through its linear predictor ``eta_i = x_i . theta``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, TypeVar

import numpy as np

from .._arguments import shown
from .._linear import metric
from ..data.packed import packed_rows
from ..data.passes import over_blocks
from ..data.seal import Seal
from ..data.tables import aligned, as_matrix, as_vector, column_names
from ..errors import NotApplicable
from ..priors import UserPrior
from .base import Expansion, Parts, Target, checked_temper
from .families import Family, Logistic, StudentT
from .glm_rows import differences, energies, firefly_energies, taylor_differences, taylor_energies, taylor_scales
from .taylor import (
    LEAST_TIER,
    TaylorTarget,
    first_order_distance,
    mean_of_skewed,
    no_differences,
    original_distance,
    polynomial_offset,
    second_order_distance,
    tier_radius,
)

Result = TypeVar("Result")


class GLM(Target):
    """Regression with energies ``U_i = temper * weight_i * f(x_i . theta, y_i)``; no intercept is added.

    The bound is ``c_i = temper * weight_i * sup|f'| * |x_i|`` with the Euclidean distance (spec 3).

    Parameters
    ----------
    X : (N, d) table
        Array, memory map, or a pandas, polars or pyarrow table, whose column names label the draws. Not copied until
        rows are needed; a change after construction is noticed and raises. pandas objects are paired with ``y`` and
        ``weights`` by their row labels, all else by position. float32 features are kept in single precision: the same
        numbers in half the memory; sums over them are in double precision.
    y : (N,) responses
    family : Family
        Labels: `Logistic()`, `Probit()`. Reals: `StudentT(df)`, `Huber(delta)`, `Gaussian(scale)`. Counts:
        `NegativeBinomial(dispersion)`, `SoftplusPoisson()`. Or your own.
    prior : optional
        None (flat), `Normal`, or an ``@numba.njit`` function ``log_prior(theta)``.
    temper : float
        Multiplies every energy, not the prior.
    weights : (N,), optional
        Multiply the rows' energies; a weight of 2 is the row given twice.
    """

    def __init__(self, X: Any, y: Any, family: Family, *, prior: Any = None, temper: float = 1.0, weights: Any = None):
        if not hasattr(family, "suprema") or isinstance(family, type):
            hint = f"{family.__name__}(...)" if isinstance(family, type) else "tunamh.Logistic() or tunamh.StudentT(4)"
            raise TypeError(f"family must be a value such as {hint}, got {shown(family)}.")
        names = column_names(X)
        y, weights = aligned(X, "X", y=y, weights=weights)
        X = as_matrix(X, "X")
        n_rows, d = X.shape
        y = as_vector(y, "y", n_rows)
        family.check(y)
        temper = checked_temper(temper)
        self.family = family
        self._X, self._y = X, y
        self._y_column = (d + 1) // 2 if X.dtype == np.float32 else d
        self._weights = None if weights is None else _checked_weights(weights, n_rows, temper)
        parts = {"X": X, "y": y, "weights": self._weights}
        self._seal = Seal({name: part for name, part in parts.items() if part is not None}, names)
        super().__init__(
            rows=n_rows,
            bound_column=self._y_column + 1,
            hyper=[temper, weights is not None, self._y_column],
            family_hyper=family.hyper,
            parts=Parts(differences, energies, family_rise=family.rise, family_energy=family.energy),
            dim=d,
            names=names,
            prior=prior,
            temper=temper,
        )

    def _columns(self, block: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Features, responses and weights (temper included) of some rows."""
        y = self._y[block]
        weight = np.full(len(y), self.temper) if self._weights is None else self.temper * self._weights[block]
        return np.ascontiguousarray(self._X[block], dtype=np.float64), y, weight

    def _packed(
        self, extra: int, fill: Callable[[np.ndarray, slice], Result], take: Callable[[Result], Any] = lambda _: None
    ) -> np.ndarray:
        """Rows ``x, y, c``, ``extra`` columns and, if rows are weighted, the weight.

        ``fill(rows, block)`` writes ``c`` and the extra columns of a block, of which the rest is already there; what it
        returns is handed to ``take``, block after block.
        """
        y = self._y_column
        rows = packed_rows(self.n_rows, y + 2 + extra + (self._weights is not None))
        features = rows.view(np.float32) if y < self.dim else rows

        def pack(block: slice) -> Result:
            self._seal.check_block(block)
            features[block, : self.dim], rows[block, y] = self._X[block], self._y[block]
            if features is not rows:
                features[block, self.dim : 2 * y] = 0.0  # the other half of an odd feature
            if self._weights is not None:
                rows[block, y + 2 + extra] = self.temper * self._weights[block]
            return fill(rows[block], block)

        for result in over_blocks(pack, self.n_rows):
            take(result)
        return rows

    @property
    def fingerprint(self) -> str:
        """A short hash of the data: their shape and all numbers in ``X``, ``y`` and ``weights``."""
        return self._seal.digest

    def check_data(self) -> None:
        self._seal.check_some()

    def _pack(self) -> np.ndarray:
        c = self._y_column + 1

        def fill(rows: np.ndarray, block: slice) -> None:
            X, y, weight = self._columns(block)
            size = weight * np.sqrt(np.einsum("ij,ij->i", X, X))
            rows[:, c] = 0.0  # what does not move has bound zero, however steep the family
            np.multiply(self.family.suprema(y).first, size, out=rows[:, c], where=size > 0)

        return self._packed(0, fill)

    @property
    def weight(self) -> float:
        return self.temper * (self.n_rows if self._weights is None else float(self._weights.sum()))

    def samples(self) -> Iterator[Target]:
        """A hundredth and a tenth of the rows, where these are enough to look like all of them."""
        for share in (100, 10):
            n = self.n_rows // share
            if n >= max(1000, 20 * self.dim):
                index = np.sort(np.random.default_rng(share).integers(self.n_rows, size=n))
                weights = np.full(n, self.n_rows / n) * (1.0 if self._weights is None else self._weights[index])
                prior = None if isinstance(self.prior, UserPrior) else self.prior  # the search leaves it out anyway
                rows = self._X[index], self._y[index]
                yield GLM(*rows, self.family, prior=prior, temper=self.temper, weights=weights)

    def search_start(self) -> np.ndarray:
        """The prior's mean or, for real responses where that is better, least squares.

        Energies that are not convex (Student-t) have modes of their own far from the data.
        """
        start, scale = super().search_start(), getattr(self.family, "scale", None)
        if scale is None:
            return start
        P = self._prior.precision * scale**2
        gram, moment = self._sums(lambda X, y, weight: (X.T @ (weight[:, None] * X), X.T @ (weight * y)))
        factor = metric(gram + np.diag(P)).factor
        squares = factor @ (factor.T @ (moment + P * self._prior.mean))
        return squares if self.expansion(squares).energy < self.expansion(start).energy else start

    def _sums(self, terms: Callable[[np.ndarray, np.ndarray, np.ndarray], tuple]) -> list:
        """``terms(X, y, weight)`` of every block of rows, added up in the order of the blocks."""
        blocks = over_blocks(lambda block: terms(*self._columns(block)), self.n_rows)
        totals = list(next(blocks))
        for found in blocks:
            totals = [total + term for total, term in zip(totals, found, strict=True)]
        return totals

    def gradient(self, theta: np.ndarray) -> np.ndarray:
        """Of the data's energy at ``theta``."""
        return self._sums(lambda X, y, weight: ((weight * self.family.derivatives(X @ theta, y)[0]) @ X,))[0]

    def gram(self) -> np.ndarray:
        """``sum_i w_i x_i x_i'``, temper included: singular when columns depend on each other, whatever ``y`` is."""
        return self._sums(lambda X, y, weight: (X.T @ (weight[:, None] * X),))[0]

    def expansion(self, theta: np.ndarray) -> Expansion:
        """Energy, gradient and Hessian of the data at ``theta``, in one pass over blocks of rows."""

        def terms(X: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
            eta = X @ theta
            out = np.empty_like(eta)
            self.family.energy(eta.size, eta, y, self._family_hyper, out)
            first, second, _ = self.family.derivatives(eta, y)
            return float(weight @ out), (weight * first) @ X, X.T @ ((weight * second)[:, None] * X)

        return Expansion(*self._sums(terms))

    def taylor(
        self, order: int, centre: np.ndarray, at_centre: Expansion, *, whiten: bool, original_bounds: bool
    ) -> TaylorTarget:
        """The target with its Taylor part in the offset: ``c_i = weight_i L |A^-1/2 x_i|^{order+1}`` (spec 5a, 5d)."""
        d, c = self.dim, self._y_column + 1
        white = whiten and not original_bounds
        frame = metric(at_centre.hessian + np.diag(self._prior.precision))
        factor, root = (frame.factor, frame.inverse) if white else (np.eye(d), np.eye(d))
        near = getattr(self.family, "suprema_near", None) if white else None
        radius = np.inf if near is None else tier_radius(d)

        def fill(rows: np.ndarray, block: slice) -> tuple[float, np.ndarray]:
            X, y, weight = self._columns(block)
            eta = X @ centre
            supremum = self.family.suprema(y)[order]
            if not np.isfinite(supremum).all():
                row = block.start + int(np.argmax(~np.isfinite(supremum)))
                raise NotApplicable(
                    f"Taylor(order={order}) needs bounded derivatives; {self.family!r} has none in row {row}"
                )
            white_X = X @ factor
            size = np.abs(X).max(axis=1) if original_bounds else np.sqrt(np.einsum("ij,ij->i", white_X, white_X))
            local = supremum
            if near is not None:
                local = np.clip(near(y, eta, radius * size)[order], LEAST_TIER * supremum, supremum)
            rows[:, c] = weight * local * size ** (order + 1)
            rows[:, c + 1] = eta
            rows[:, c + 2], rows[:, c + 3], third = self.family.derivatives(eta, y)
            wider = float(np.max(supremum[supremum > 0] / local[supremum > 0], initial=1.0))
            return wider, (weight * third * size**2) @ white_X

        outside, thirds = 1.0, np.zeros(d)

        def take(of_block: tuple[float, np.ndarray]) -> None:
            nonlocal outside
            outside = max(outside, of_block[0])
            np.add(thirds, of_block[1], out=thirds)

        rows = self._packed(3, fill, take)
        distance = original_distance if original_bounds else (first_order_distance, second_order_distance)[order - 1]
        return TaylorTarget(
            self,
            order=order,
            centre=centre,
            gradient=at_centre.gradient,
            hessian=at_centre.hessian,
            root=root,
            base_hyper=list(self._hyper),
            white=white,
            skew=mean_of_skewed(thirds) if white else None,
            tier=(radius**2, outside),
            rows=rows,
            bound_column=c,
            parts=Parts(
                taylor_differences,
                taylor_energies,
                scales=taylor_scales,
                distance=distance,
                offset=polynomial_offset,
                family_rise=self.family.rise,
                family_energy=self.family.energy,
            ),
        )

    def firefly(self, centre: np.ndarray | None) -> TaylorTarget:
        """The target around lower bounds of its likelihood, tight at ``centre``; their sum is a quadratic in theta."""
        lower_bound = getattr(self.family, "lower_bound", None)
        if lower_bound is None:
            raise NotApplicable(f"FlyMC needs a lower bound of the likelihood; {self.family!r} offers none")
        d, c = self.dim, self._y_column + 1

        def fill(rows: np.ndarray, block: slice) -> tuple[np.ndarray, np.ndarray]:
            X, y, weight = self._columns(block)
            below = lower_bound(y, None if centre is None else X @ centre)
            rows[:, c] = 0.0
            rows[:, c + 1 : c + 5] = np.column_stack(below)
            return (weight * (2 * below.a * below.anchor - below.b)) @ X, X.T @ ((-2 * weight * below.a)[:, None] * X)

        slope, bend = np.zeros(d), np.zeros((d, d))

        def take(of_block: tuple[np.ndarray, np.ndarray]) -> None:
            np.add(slope, of_block[0], out=slope)
            np.add(bend, of_block[1], out=bend)

        rows = self._packed(4, fill, take)
        return TaylorTarget(
            self,
            order=2,
            centre=np.zeros(d),
            gradient=slope,
            hessian=bend,
            root=np.eye(d),
            base_hyper=list(self._hyper),
            rows=rows,
            bound_column=c,
            parts=Parts(
                no_differences,
                firefly_energies,
                offset=polynomial_offset,
                family_rise=self.family.rise,
                family_energy=self.family.energy,
            ),
            start=self.start,
        )

    def start(self, rng: np.random.Generator) -> np.ndarray:
        """A draw from the Laplace law of a random subsample, each chain its own: wider than the posterior.

        ``n = min(N/4, max(1000, 20 d))`` rows, and ``n/N`` of a Gaussian prior: the precision is about ``n/N`` that of
        the posterior. The mode is sought by fifty steps of ``theta -= (L X'X + P)^-1 gradient``: with L the supremum of
        f'' each goes downhill, whatever the data.
        """
        d, prior = self.dim, self._prior
        n = max(1, min(self.n_rows // 4, max(1000, 20 * d)))
        X, y, weight = self._columns(np.sort(rng.integers(self.n_rows, size=n)))
        P = np.diag(prior.precision * n / self.n_rows + 1e-3 * (weight @ (X * X)) + 1e-12)
        downhill = np.linalg.inv((X.T * weight * self.family.suprema(y).second) @ X + P)
        theta = prior.mean.copy()
        for _ in range(50):
            slope = self.family.derivatives(X @ theta, y)[0]
            theta -= downhill @ (X.T @ (weight * slope) + P @ (theta - prior.mean))
        bend = np.maximum(self.family.derivatives(X @ theta, y)[1], 0.0)
        root = np.linalg.cholesky((X.T * weight * bend) @ X + P)
        return theta + np.linalg.solve(root.T, rng.standard_normal(d))


class LogisticRegression(GLM):
    """Bayesian logistic regression with labels 0 and 1; see `GLM` for the parameters."""

    def __init__(self, X: Any, y: Any, *, prior: Any = None, temper: float = 1.0, weights: Any = None):
        super().__init__(X, y, Logistic(), prior=prior, temper=temper, weights=weights)


class RobustRegression(GLM):
    """Linear regression with Student-t noise of ``df`` degrees of freedom and known ``scale``; see `GLM`."""

    def __init__(
        self,
        X: Any,
        y: Any,
        df: float = 4.0,
        scale: float = 1.0,
        *,
        prior: Any = None,
        temper: float = 1.0,
        weights: Any = None,
    ):
        super().__init__(X, y, StudentT(df, scale), prior=prior, temper=temper, weights=weights)


_MOST_WEIGHT = 1e20  # with more, a posterior is narrower than the rounding of its parameters


def _checked_weights(weights: Any, n_rows: int, temper: float) -> np.ndarray:
    array = as_vector(weights, "weights", n_rows)
    if (array < 0).any():
        row = int(np.argmax(array < 0))
        raise ValueError(f"weights must not be negative, but row {row} has {array[row]:g}.")
    if temper * array.sum() > _MOST_WEIGHT:
        raise ValueError(f"weights add up to {array.sum():g}, too much to compute with: 1 is the weight of one row.")
    if not array.any():
        raise ValueError("weights are all zero, so that no row counts: at least one must be positive.")
    return array
