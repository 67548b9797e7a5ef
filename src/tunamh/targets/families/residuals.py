"""What families of residuals ``y - eta``, measured in units of ``scale``, have in common."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from ..observations.base import Observations
from ..observations.row_layout import RowLayout
from .base import BaseFamily, Family, Responses
from .responses import Parameters
from .unknown_scale import with_unknown_scale

_ROUNDING = 1e15  # what is this many times larger than the scale is rounded by as much as the scale


class ErrorScale(BaseFamily):
    """A family whose errors have a ``scale``: a known number, a prior, or None (unknown, with the default prior)."""

    scale: Any

    @property
    def known_scale(self) -> float | None:
        return self.scale if isinstance(self.scale, float) else None

    def latent_variance(self, p: Parameters, mean: float | None) -> Any:
        """Return the variance of the errors: of ``y``, or of ``log y`` if the family models the logarithm."""
        found = self.response_distribution()
        return None if found is None or "scale" not in p else found.error_variance(p)

    def with_default_scale(self, prior: Any) -> BaseFamily | None:
        return replace(self, scale=prior) if self.scale is None else None  # type: ignore[type-var]


class ResidualFamily(ErrorScale, Family):
    """A family of real responses. The energy of a row depends only on its residual."""

    responses = Responses.REALS
    parameters: ClassVar[tuple[str, ...]] = ("scale",)
    of_residuals = True

    @abstractmethod
    def with_scale(self, scale: float) -> Any:
        """Return a copy of the family whose scale is the known number ``scale``."""

    @property
    def unknown_scale(self) -> bool:
        return not isinstance(self.scale, float)

    def arrange(self, observations: Observations, temper: float) -> RowLayout:
        if isinstance(self.scale, float):
            return super().arrange(observations, temper)
        return with_unknown_scale(observations, temper, self.scale, self.with_scale(1.0))

    def check(self, y: np.ndarray) -> None:
        if not isinstance(self.scale, float):
            return
        largest = int(np.abs(y).argmax())
        if abs(y[largest]) > _ROUNDING * self.scale:
            raise ValueError(
                f"y has {y[largest]:g} in row {largest}, more than {_ROUNDING:g} times the scale {self.scale:g} of the "
                "family: give a larger scale, or measure y in other units."
            )

    def guess(self, y: np.ndarray) -> np.ndarray:
        """Return a rough linear predictor for each row, an array (n,): the response ``y``."""
        return y

    def rises(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return for each row whether its energy grows without limit as ``eta`` goes to +/- infinity.

        The energy of a row is its negative log-likelihood. The result is two boolean arrays (n,), the first for
        +infinity and the second for -infinity. ``eta`` is the linear predictor. All values of both arrays are True,
        because the energy grows with the absolute residual.
        """
        return np.ones(y.shape, bool), np.ones(y.shape, bool)

    @property
    def precision(self) -> float:
        """Return ``1 / scale^2``, for a known scale."""
        return 1 / self.scale**2
