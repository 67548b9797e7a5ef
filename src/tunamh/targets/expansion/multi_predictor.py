"""What blocks of rows with K predictors each contribute to sums, and how their remainders are bounded (spec 5n)."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..._linear import Frame
from ...compiled import fixed
from ...errors import NotApplicable
from ...rows.packing import ROW, columns_by_name
from ..designs import Block
from ..families.multi_predictor import MultiPredictorLikelihood
from ..glm_rows import differences, energies, scales
from ..layouts import MULTI_PREDICTOR_ROW, Trust
from ..multi_predictor_rows import multi_predictor_differences, multi_predictor_energies, multi_predictor_scales
from .bounds import Bounds, bounds_of_multi_predictor, bounds_of_regression
from .one_predictor import RowSums, Whitening


class MultiPredictor:
    """Sums and bounds for a family of K predictors with energies ``w f(X_i theta, y)``.

    Arrays of predictors have the shape (K, n). If the family also reads columns of the data, the result of ``X.matvec``
    has these columns after the K predictors; derivatives are only with respect to the predictors.
    """

    plain_parts = differences, energies, scales
    taylor_parts = multi_predictor_differences, multi_predictor_energies, multi_predictor_scales

    def __init__(self, family: MultiPredictorLikelihood):
        self.family, self._hyper = family, fixed(family.hyper)
        self.centre_columns = MULTI_PREDICTOR_ROW.places(width=0, K=family.predictors).end - ROW.places(width=0).end

    def energies(self, eta: np.ndarray, y: np.ndarray) -> np.ndarray:
        out = np.empty_like(y)
        self.family.energy(y.size, np.ravel(eta), y, self._hyper, out)
        return out

    def energies_at(self, X: Block, points: np.ndarray, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        return np.array([weight @ self.energies(eta, y) for eta in X.matvecs(points)])

    def slope(self, X: Block, theta: np.ndarray, y: np.ndarray, weight: np.ndarray) -> tuple[float, np.ndarray]:
        eta = X.matvec(theta)
        (gradient,) = self.family.derivatives_to(1, eta, y)
        return float(weight @ self.energies(eta, y)), X.rmatvec(weight * gradient)

    def expansion(
        self, X: Block, theta: np.ndarray, y: np.ndarray, weight: np.ndarray, frame: Frame | None
    ) -> tuple[float, np.ndarray, np.ndarray]:
        eta = X.matvec(theta)
        gradient, hessian = self.family.derivatives_to(2, eta, y)
        energy = float(weight @ self.energies(eta, y))
        return energy, X.rmatvec(weight * gradient), X.sandwich(weight * hessian, frame)

    def first_bounds(self, X: Block, y: np.ndarray, weight: np.ndarray) -> np.ndarray:
        """Return infinite bounds: these energies are sampled with a control variate, or on all rows."""
        return np.full(len(y), np.inf)

    @property
    def known_order(self) -> int | None:
        return 2

    def highest_order(self, y: np.ndarray) -> int:
        return 2

    def local(self) -> bool:
        return not self.family.bounded_everywhere

    def bounds(self, order: int, trust: Trust) -> Bounds:
        return bounds_of_regression(order, trust) if self.family.separable else bounds_of_multi_predictor(trust)

    def columns(self, rows: np.ndarray, width: int) -> Any:
        """Return the columns of packed rows by name. The features use ``width`` columns."""
        return columns_by_name(MULTI_PREDICTOR_ROW, rows, width=width, K=self.family.predictors)

    def at_centre(self, columns: Any, centre: np.ndarray, X: Block, y: np.ndarray) -> None:
        """Fill the columns of packed rows that describe the centre."""
        eta = X.matvec(centre)
        gradient, hessian = self.family.derivatives_to(2, eta, y)
        columns.eta[:], columns.gradient[:] = eta[: len(gradient)].T, gradient.T
        columns.hessian[:] = hessian[np.tril_indices(len(gradient))].T

    def remainders(
        self, columns: Any, at: Whitening, X: Block, y: np.ndarray, weight: np.ndarray, start: int
    ) -> RowSums:
        """Fill the bounds ``c_i`` of spec 5n, times the weights, and the columns that describe the centre."""
        if at.order != 2 or at.original:
            raise NotApplicable(f"{self.family!r} has {self.family.predictors} predictors: only Taylor(order=2) works")
        eta = X.matvec(at.centre)
        gradient, hessian, third = self.family.derivatives(eta, y)
        white = X.matmat(at.factor)
        everywhere = self.family.cubic_bounds(y, eta, white, np.inf) if self.family.bounded_everywhere else None
        bound, factors = at.ladder.constants(
            lambda r: self.family.cubic_bounds(y, eta, white, r),
            everywhere,
            None if self.family.rough_bounds is None else lambda r: self.family.rough_bounds(y, eta, white, r),
        )
        if not np.isfinite(bound).all():
            row = start + int(np.argmax(~np.isfinite(bound)))
            i = row - start
            reach = at.ladder.radii[0] * np.linalg.norm(white[:, i], axis=1)
            lost = self.family.where_lost(y[i], eta[:, i], reach)
            raise NotApplicable(f"{self.family!r} has no bounded third derivatives near the centre in row {row}{lost}")
        columns.bound[:] = weight * bound
        columns.eta[:], columns.gradient[:] = eta[: len(gradient)].T, gradient.T
        columns.hessian[:] = hessian[np.tril_indices(len(gradient))].T
        overlaps = np.einsum("bij,cij->bci", white, white)
        thirds = np.einsum("abci,bci->ai", third, overlaps, optimize=True) * weight
        sizes = np.sqrt(np.einsum("aai->i", overlaps))
        curvature = np.einsum("abi,abi->i", np.abs(hessian), np.abs(overlaps))
        skew = np.einsum("ai,aij->j", thirds, white)
        return RowSums(factors, float(np.max(weight * curvature)), float(sizes.max()), skew)
