"""Normal priors, independent or correlated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._arguments import settle
from .columns import covariance_in_columns, in_columns, per_coordinate, plain_covariance
from .correlated import ready_correlated
from .independent import LocatedPrior
from .laws import NORMAL
from .potential import Prior, ReadyPrior


@dataclass(frozen=True, kw_only=True)
class Normal(LocatedPrior):
    """Independent normal priors ``theta_j ~ N(mean_j, scale_j^2)``, or ``theta ~ N(mean, covariance)``.

    ``theta_j`` is the coefficient of column ``j``.

    Parameters
    ----------
    mean, scale : float, list, dict or pandas Series
        One number for all coefficients, a list in the order of the columns, or a dict or Series with a number for every
        column name, such as ``{"age": 1, "dose": 5}``. ``scale`` is the standard deviation.
    covariance : matrix, optional
        The covariance matrix of the coefficients, instead of ``scale``: an array in the order of the columns, or a
        pandas table or a dict of dicts with the names of the columns.

    Examples
    --------
    >>> tunamh.Normal(scale=2.5)
    >>> tunamh.Normal(mean={"age": 0, "dose": 1}, scale={"age": 1, "dose": 5})
    """

    covariance: Any = None

    word = "normal"
    word_numbers = ("mean", "scale")
    _kind = NORMAL
    _scales = (1e-100, 1e100)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.covariance is not None:
            if self.scale != 1.0:
                raise ValueError("Normal takes scale= or covariance=, not both: the covariance holds the scales.")
            settle(self, covariance=plain_covariance(self.covariance))

    def in_order(self, names: Sequence[str]) -> Prior:
        return replace(
            self,
            mean=in_columns(self.mean, names, "mean"),
            scale=in_columns(self.scale, names, "scale"),
            covariance=covariance_in_columns(self.covariance, names),
        )

    def by_column(self) -> dict[str, Any]:
        return {**super().by_column(), "covariance": self.covariance}

    def bind(self, dim: int) -> ReadyPrior:
        if self.covariance is None:
            return super().bind(dim)
        covariance = np.array(self.covariance)
        if len(covariance) != dim:
            raise ValueError(
                f"covariance of the prior must have {dim} rows and columns, one per column of X, got {len(covariance)}."
            )
        return ready_correlated(per_coordinate(self.mean, dim, "mean"), covariance)

    def __repr__(self) -> str:
        shape = f"scale={self.scale!r}" if self.covariance is None else f"covariance={self.covariance!r}"
        return f"Normal(mean={self.mean!r}, {shape})"
