"""Priors as a user writes them: one law for all coefficients, its numbers for all, for each, or by name."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from .._arguments import moderate_number, settle
from .columns import covariance_in_columns, each, in_columns, per_coordinate, plain, plain_covariance
from .correlated import ready_correlated
from .laws import FLAT, LAPLACE, LOGISTIC, NORMAL, STUDENT_T, Laws, ready
from .potential import Prior, ReadyPrior


class IndependentPrior(Prior):
    """A prior under which coefficients are independent."""

    @abstractmethod
    def laws(self, dim: int) -> Laws:
        """The priors of ``dim`` coefficients as arrays: kind, mean, scale and degrees of freedom."""

    def bind(self, dim: int) -> ReadyPrior:
        return ready(self.laws(dim))


@dataclass(frozen=True)
class Flat(IndependentPrior):
    """A flat prior: the posterior is the normalised likelihood."""

    def laws(self, dim: int) -> Laws:
        return Laws(np.full(dim, FLAT), np.zeros(dim), np.ones(dim), np.ones(dim))


@dataclass(frozen=True, kw_only=True)
class _Located(IndependentPrior):
    """Numbers ``mean`` and ``scale``, each one for all coefficients, a list in the order of the columns, or by name."""

    mean: Any = 0.0
    scale: Any = 1.0

    _kind: ClassVar[int]
    _scales: ClassVar[tuple[float, float]] = (1e-50, 1e50)
    _order: ClassVar[tuple[str, ...]] = ("mean", "scale")

    def _numbers(self) -> dict[str, Any]:
        """What may differ from column to column, by name."""
        return {"mean": self.mean, "scale": self.scale}

    def by_column(self) -> dict[str, Any]:
        return self._numbers()

    def __new__(cls, *numbers: Any, **named: Any) -> Self:
        """Whether a lone number is a mean or a scale is anyone's guess."""
        if numbers:
            order = cls._order if len(numbers) > 1 else [*cls._order[:-2], "scale"]
            meant = ", ".join(f"{name}={value!r}" for name, value in zip(order, numbers, strict=False))
            raise TypeError(f"{cls.__name__} takes its numbers by name, such as {cls.__name__}({meant}).")
        return super().__new__(cls)

    def __post_init__(self) -> None:
        settle(self, **{name: plain(value, name) for name, value in self._numbers().items()})
        for value in each(self.scale):
            moderate_number("scale of the prior", value, *self._scales)

    def in_order(self, names: Sequence[str]) -> Prior:
        found = {name: in_columns(value, names, name) for name, value in self._numbers().items()}
        return replace(self, **found)

    def laws(self, dim: int) -> Laws:
        numbers = {name: per_coordinate(value, dim, name) for name, value in self._numbers().items()}
        return Laws(np.full(dim, self._kind), **{"df": np.ones(dim), **numbers})


@dataclass(frozen=True, kw_only=True)
class Normal(_Located):
    """Independent normal priors ``theta_j ~ N(mean_j, scale_j^2)``, or ``theta ~ N(mean, covariance)``.

    ``mean`` and ``scale`` are each one number for all coefficients, a list in the order of the columns, or a dict or
    pandas Series with a number for every column name. ``covariance`` is a matrix in the order of the columns, or a
    pandas table or a dict of dicts with their names.
    """

    covariance: Any = None

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


@dataclass(frozen=True, kw_only=True)
class StudentT(_Located):
    """Independent Student-t priors: ``(theta_j - mean_j) / scale_j`` has ``df_j`` degrees of freedom."""

    df: Any

    _kind = STUDENT_T
    _order = ("df", "mean", "scale")

    def _numbers(self) -> dict[str, Any]:
        return {"df": self.df, **super()._numbers()}

    def __post_init__(self) -> None:
        super().__post_init__()
        for value in each(self.df):
            moderate_number("df of the prior", value, 1e-2, 1e10)


@dataclass(frozen=True, kw_only=True)
class Cauchy(_Located):
    """Independent Cauchy priors: Student-t with one degree of freedom."""

    _kind = STUDENT_T


@dataclass(frozen=True, kw_only=True)
class Logistic(_Located):
    """Independent logistic priors: exponential tails as for the Laplace prior, but smooth at the mean."""

    _kind = LOGISTIC


@dataclass(frozen=True, kw_only=True)
class Laplace(_Located):
    """Independent Laplace (double exponential) priors with density ``exp(-|theta_j - mean_j| / scale_j)``."""

    _kind = LAPLACE
