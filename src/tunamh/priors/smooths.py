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
    """Of the scale of a curve, in units of the predictor: half-Student-t with 3 degrees of freedom."""
    return HalfStudentT(DF, WIDTH * unit)


@dataclass(frozen=True)
class CurveColumns(IndependentPrior):
    """Of the columns of one term: ``fixed`` for the first ones of each curve; the others are placeholders."""

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
    """``others`` for all coefficients but those of wiggles, whose precisions are sums of ``share / scale^2``.

    ``share`` is (coefficients, scales), zero of coefficients that have no scale. Those of curves have one share each.
    It is that of one class, where classes without an order have coefficients and scales of their own.
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
        """Those of coefficients without a scale; the others have placeholders as wide as their scales' prior."""
        return self.others.laws(dim)

    def of_predictor(self, name: str) -> WithSmooths:
        """The same, of columns of a further predictor: its name is in front of the scales'."""
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
