"""A prior of its own for every coefficient, by the columns' names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from .._arguments import settle, shown
from .columns import refuse_names
from .independent import IndependentPrior
from .laws import Laws, ready
from .potential import Prior, ReadyPrior


@dataclass(frozen=True)
class ByName(Prior):
    """``ByName({"intercept": Cauchy(scale=10), "age": Flat()}, others=Normal(scale=2.5))``.

    Each prior serves one coefficient, so its numbers are single ones; ``others`` serves every column that is not named.
    Without it every column must be. Columns of an array go by their positions, 0, 1, and so on.
    """

    priors: Mapping[str, IndependentPrior]
    others: IndependentPrior | None = None
    columns: tuple[str, ...] = field(default=(), repr=False, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.priors, Mapping):
            raise TypeError(f'ByName takes a dict such as {{"age": tunamh.Normal(scale=1)}}, got {shown(self.priors)}.')
        settle(self, priors={str(name): _for_one(prior, f"for {name}") for name, prior in self.priors.items()})
        if self.others is not None:
            _for_one(self.others, "for others")

    def in_order(self, names: Sequence[str]) -> Prior:
        unknown = [name for name in self.priors if name not in names]
        missing = [] if self.others is not None else [name for name in names if name not in self.priors]
        if self.others is not None and unknown:
            raise ValueError(f"ByName names {', '.join(unknown)}; the columns of the data are {', '.join(names)}.")
        refuse_names("ByName", unknown, missing, names)
        return replace(self, columns=tuple(names))

    def bind(self, dim: int) -> ReadyPrior:
        if len(self.columns) != dim:
            raise ValueError(f"ByName knows {len(self.columns)} columns, but there are {dim} parameters.")
        of_each = [self.priors.get(name, self.others) for name in self.columns]
        laws = [one.laws(1) for one in of_each if one is not None]
        return ready(Laws(*(np.concatenate(numbers) for numbers in zip(*laws, strict=True))))


def _for_one(prior: IndependentPrior, where: str) -> IndependentPrior:
    """A prior whose numbers are single ones."""
    if isinstance(prior, type):
        raise TypeError(
            f"the prior {where} is the class {prior.__name__}: give a value, such as {prior.__name__}(...)."
        )
    if not isinstance(prior, IndependentPrior):
        raise TypeError(
            f"the prior {where} must be Flat, Normal, StudentT, Laplace or Cauchy of tunamh.priors, got {shown(prior)}."
        )
    for name, value in vars(prior).items():
        if isinstance(value, tuple | dict):
            raise ValueError(
                f"{name} of the prior {where} must be one number, since it serves one coefficient at a time."
            )
    return prior
