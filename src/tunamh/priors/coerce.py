"""Whatever a user gives as ``prior=``, as a prior."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numba.core.dispatcher import Dispatcher

from .._arguments import shown
from .flat import Flat
from .positive import FamilyLike
from .potential import Prior
from .user import UserPrior


def as_prior(prior: Any, names: Sequence[str]) -> Prior:
    """Return ``prior`` as a prior object.

    None becomes a flat prior, and a compiled function becomes a `UserPrior`. If the prior has numbers by column name,
    they are put in the order of ``names``. Raises TypeError for anything else that is not a prior.
    """
    if prior is None:
        return Flat()
    if isinstance(prior, Dispatcher):
        return UserPrior(prior)
    if isinstance(prior, Prior):
        return prior.in_order(names)
    if isinstance(prior, type):
        raise TypeError(f"prior is the class {prior.__name__}: give a value, such as {prior.__name__}(...).")
    if isinstance(prior, dict):
        raise TypeError("prior is a dict: priors by column name are tunamh.priors.ByName({...}).")
    if isinstance(prior, FamilyLike):
        raise TypeError(f"prior is the family {shown(prior)}: priors are tunamh.Normal and those in tunamh.priors.")
    if callable(prior):
        raise TypeError("prior is a plain Python function: compile it first with @numba.njit.")
    raise TypeError(
        "prior must be None, tunamh.Normal(...), another of tunamh.priors or an @numba.njit function, got "
        f"{shown(prior)}."
    )
