"""Priors of curves: coefficients of wiggles are normal with an unknown scale for each curve, the others have their own.

It is `Grouped` for some of the coefficients: ``c_j ~ N(0, sigma_g^2)``, ``sigma_g`` half-Student-t or half-Cauchy.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from .half_student_t import HalfStudentT
from .independent import IndependentPrior
from .laws import NORMAL, Laws
from .mixtures import MixturePrior, by_groups, by_shares
from .normal import Normal
from .positive import PositivePrior
from .potential import ReadyPrior

SCALES_OF_SMOOTHS = "smooth_scale"
"""The variable of a target's results; those of a formula have one for each curve."""

WIDTH, DF = 1.0, 3.0


def default_scale(unit: float) -> HalfStudentT:
    """Return the default prior of a curve's scale: half-Student-t, 3 degrees of freedom, unit of the predictor."""
    return HalfStudentT(DF, WIDTH * unit)


@dataclass(frozen=True)
class CurveColumns(IndependentPrior):
    """The prior of the columns of one term. ``fixed`` is the prior of the first ``n_fixed`` columns of each curve.

    The other columns have unknown scales, and their laws here are placeholders.
    """

    fixed: IndependentPrior
    n_fixed: int
    each: int
    scale: float

    def laws(self, dim: int) -> Laws:
        first = self.fixed.laws(self.n_fixed)
        others = Normal(scale=self.scale).laws(self.each - self.n_fixed)
        return Laws(*(np.tile(np.concatenate(pair), dim // self.each) for pair in zip(first, others, strict=True)))


@dataclass(frozen=True, eq=False)
class WithSmooths(MixturePrior):
    """The prior of a model with curves. ``others`` is the prior of all coefficients except those of wiggly columns.

    The precision of a wiggly column's coefficient is the sum of ``share / scale^2`` over the scales. ``share`` is an
    array (coefficients, scales), with zeros for coefficients without a scale. A coefficient of a curve has one share.
    In a family with unordered classes every class has its own coefficients and scales; then ``share`` is for one class.
    """

    others: IndependentPrior
    share: np.ndarray = field(repr=False)
    labels: tuple[str, ...]
    scales: tuple[PositivePrior, ...]

    def bind(self, dim: int) -> ReadyPrior:
        mixed, laws = np.asarray((self._shares(dim) > 0).any(axis=1)), self.others.laws(dim)
        if (laws.kind[~mixed] > NORMAL).any():
            raise TypeError(
                "in a model with s(x), only Normal and Flat priors are possible for other coefficients: write "
                "Normal(scale=...)."
            )
        return self.bind_beside(laws, mixed, self.columns or [str(j) for j in range(dim)])

    def laws(self, dim: int) -> Laws:
        """Return the laws of the coefficients.

        Coefficients with an unknown scale have placeholders, as wide as the prior of the scale.
        """
        return self.others.laws(dim)

    def of_predictor(self, name: str) -> WithSmooths:
        """Return the same prior for the columns of a further predictor.

        The name of this predictor then stands before the names of the scales.
        """
        return replace(self, labels=tuple(f"{name} {label}" for label in self.labels))

    def _shares(self, dim: int) -> np.ndarray:
        """Of all classes: each has scales of its own."""
        classes = dim // max(len(self.share), 1)
        if classes * len(self.share) != dim:
            raise TypeError(f"the prior of curves is for {len(self.share)} coefficients, but there are {dim}.")
        return np.kron(np.eye(classes), self.share)

    def kernel(self, dim: int, names: Sequence[str]) -> tuple:
        share, classes = self._shares(dim), dim // len(self.share)
        scales, labels = self.scales * classes, self.labels
        if classes > 1:
            labels = tuple(f"{label}, class {k + 1}" for k in range(classes) for label in self.labels)
        if ((share > 0).sum(axis=1) > 1).any():
            return by_shares(share, labels, scales, SCALES_OF_SMOOTHS)
        return by_groups(np.argmax(share, axis=1), labels, scales, SCALES_OF_SMOOTHS, always_labelled=True)

    def width(self, dim: int) -> np.ndarray:
        share = self._shares(dim)
        widths = np.tile([float(one.law().scale[0]) for one in self.scales], dim // len(self.share))
        return widths[np.argmax(share, axis=1)]
