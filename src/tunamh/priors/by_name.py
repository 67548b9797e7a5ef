"""A prior of its own for every coefficient, by the columns' names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from .._arguments import settle, shown
from .columns import refuse_names
from .flat import Flat
from .independent import IndependentPrior
from .laws import NORMAL, Laws, ready
from .mixtures import MixturePrior
from .potential import Prior, ReadyPrior
from .registry import independent_names


@dataclass(frozen=True)
class ByName(Prior):
    """A prior for each coefficient, by the name of its column.

    Parameters
    ----------
    priors : dict of priors
        The key is the name of a column, the value is the prior of its coefficient. Each prior is for one coefficient,
        so its arguments are single numbers. The columns of an array have the names 0, 1, and so on.
    others : prior, optional
        The prior of all other columns. It can also be a prior with unknown scales (`Horseshoe`, `Ridge`, `Grouped`);
        then the priors in ``priors`` must be `Flat` or `Normal`. Without ``others`` you must name every column.
    columns : tuple of str, optional
        The names of all columns. tunamh sets them when it makes a regression.

    Examples
    --------
    >>> ByName({"intercept": Cauchy(scale=10), "age": Flat()}, others=Normal(scale=2.5))
    """

    priors: Mapping[str, IndependentPrior]
    others: IndependentPrior | MixturePrior | None = None
    columns: tuple[str, ...] = field(default=(), repr=False, kw_only=True)

    def __post_init__(self) -> None:
        if not isinstance(self.priors, Mapping):
            raise TypeError(f'ByName takes a dict such as {{"age": tunamh.Normal(scale=1)}}, got {shown(self.priors)}.')
        settle(self, priors={str(name): _for_one(prior, f"for {name}") for name, prior in self.priors.items()})
        if self.others is not None and not isinstance(self.others, MixturePrior):
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
        if isinstance(self.others, MixturePrior):
            return self._beside_a_mixture(self.others)
        of_each = [self.priors.get(name, self.others) for name in self.columns]
        laws = [one.laws(1) for one in of_each if one is not None]
        return ready(Laws(*(np.concatenate(numbers) for numbers in zip(*laws, strict=True))))

    def _beside_a_mixture(self, others: MixturePrior) -> ReadyPrior:
        mixed = np.array([name not in self.priors for name in self.columns])
        laws = [self.priors[name].laws(1) if name in self.priors else Flat().laws(1) for name in self.columns]
        beside = Laws(*(np.concatenate(numbers) for numbers in zip(*laws, strict=True)))
        if (beside.kind > NORMAL).any():
            raise TypeError(f"with others={others!r}, only Flat and Normal priors are possible for named columns.")
        return others.bind_beside(beside, mixed, self.columns)


def _for_one(prior: IndependentPrior, where: str) -> IndependentPrior:
    """A prior whose numbers are single ones."""
    if isinstance(prior, type):
        raise TypeError(
            f"the prior {where} is the class {prior.__name__}: give a value, such as {prior.__name__}(...)."
        )
    if not isinstance(prior, IndependentPrior):
        raise TypeError(f"the prior {where} must be {independent_names()} of tunamh.priors, got {shown(prior)}.")
    for name, value in prior.by_column().items():
        if isinstance(value, tuple | dict):
            raise ValueError(
                f"{name} of the prior {where} must be one number, because this prior is for one coefficient."
            )
    return prior
