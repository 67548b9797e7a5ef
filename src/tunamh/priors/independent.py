"""Priors under which coefficients are independent: one law for all, its numbers for all, for each, or by name."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np

from .._arguments import moderate_number, settle
from .columns import each, in_columns, per_coordinate, plain
from .laws import Laws, ready
from .potential import Prior, ReadyPrior


class IndependentPrior(Prior):
    """A prior under which coefficients are independent."""

    @abstractmethod
    def laws(self, dim: int) -> Laws:
        """Return the priors of ``dim`` coefficients in the form that compiled code reads: four arrays (dim,).

        The arrays are the kind of distribution (as a number), the mean, the scale and the degrees of freedom.
        """

    def bind(self, dim: int) -> ReadyPrior:
        return ready(self.laws(dim))


@dataclass(frozen=True, kw_only=True)
class LocatedPrior(IndependentPrior):
    """A prior with numbers ``mean`` and ``scale``.

    Each is one number for all coefficients, a list in the order of the columns, or a dict by name.
    """

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
