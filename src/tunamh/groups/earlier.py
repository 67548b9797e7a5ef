"""Where the set-up of a model with groups ended, by names, so that the set-up of other rows may begin there.

Any start leads to an exact law; one that is near the end saves most of Newton's steps. Numbers are those that a user
knows, since the coordinates in which chains walk may be chosen by the rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .learned_law import At
from .parameters import correlation_names, effect_names, scale_names
from .sums import Point


class Ended(NamedTuple):
    """Where the set-up of a model with groups ended.

    ``laplace`` and ``learned`` (None: no law was learned) are parameters that all groups share, by name.
    """

    names: list[str]
    laplace: np.ndarray
    learned: np.ndarray | None
    labels: list[str]
    effects: np.ndarray

    def of_labels(self, labels: Sequence[str]) -> Ended:
        """Return the object without the effects of groups that no longer exist."""
        there = set(labels)
        stay = [k for k, label in enumerate(self.labels) if label in there]
        return self._replace(labels=[self.labels[k] for k in stay], effects=self.effects[stay])


def ended(model: Any) -> Ended:
    """Return where the set-up of a model ended."""
    laplace, centre = model.laplace_centre, model.centre
    n = model.effects
    effects = [np.asarray(one) for one in centre.at.effects]
    at = model.to_user(_state(model, centre.at.common, centre.scales, effects))
    first = model.to_user(_state(model, laplace.at.common, laplace.scales, effects))[: len(at) - n]
    learned = None
    if model.learned is not None and model.learned.at is not None:
        learned = model.to_user(_state(model, model.learned.at.common, model.learned.at.scales, effects))[: len(at) - n]
    return Ended(shared_names(model), first, learned, model.effect_labels, at[len(at) - n :])


def shared_names(model: Any) -> list[str]:
    """Return the names of the user's parameters without the effects, in the order of `GroupedParameters.to_user`."""
    unknown = [one for one in model.groupings if one.scales]
    mixture = model.base._prior.mixture
    variables = [*model.base.variables, *([] if mixture is None else mixture.variables)]
    found = [f"{name}[{label}]" for name, labels in variables for label in (labels or ("",))]
    found += [f"scale {name}" for one in unknown for name in scale_names(one)[: one.q]]
    return found + [f"correlation {name}" for one in unknown for name in correlation_names(one)]


def _state(model: Any, common: np.ndarray, scales: list[np.ndarray], effects: list[np.ndarray]) -> np.ndarray:
    own = [s[: one.scales] for s, one in zip(scales, model.groupings, strict=True)]
    return np.concatenate([common, *own, np.zeros(model.prior_scales), *(v.ravel() for v in effects)])


def begun(model: Any, before: Ended) -> Any:
    """Return the model with a set-up that begins where the set-up of another model ended.

    If that set-up does not have enough of the parameters, the model is returned as it is.
    """
    laplace = _at(model, before, before.laplace)
    if laplace is None or not np.isfinite(model.grouped.sums(laplace[0]).energy):
        return model
    point, scales = laplace
    learned = None if before.learned is None else _at(model, before, before.learned)
    start = None if learned is None else At(learned[0].common, learned[1])
    return model._with(search_start=point, search_scales=scales, learned_start=start)


def _at(model: Any, before: Ended, values: np.ndarray) -> tuple[Point, list[np.ndarray]] | None:
    """Return the point and the scales in the coordinates of chains.

    The result is None if a parameter is new and is no coefficient.
    """
    shared = _by_name(shared_names(model), before.names, values)
    new = [f"theta[{name}]" for name in dict(model.base.variables)["theta"] or ()]
    for k, name in enumerate(shared_names(model)):
        if np.isnan(shared[k]) and name not in new:
            return None
    effects = _by_name([label for one in model.groupings for label in effect_names(one)], before.labels, before.effects)
    with np.errstate(all="ignore"):
        state = model.to_chain(np.concatenate([np.nan_to_num(shared), np.nan_to_num(effects)]))
    if not np.isfinite(state).all():
        return None
    return _split(model, state)


def _split(model: Any, state: np.ndarray) -> tuple[Point, list[np.ndarray]]:
    common, rest = np.split(state, [model.p])
    sizes = [one.scales for one in model.groupings] + [model.prior_scales]
    parts = np.split(rest, np.cumsum([*sizes, *(one.groups * one.q for one in model.groupings)])[:-1])
    k = len(model.groupings)
    effects = [
        v.reshape(one.groups, one.q) * one.free[:, None] for v, one in zip(parts[k + 1 :], model.groupings, strict=True)
    ]
    return Point(common, effects), parts[:k]


def _by_name(names: list[str], known: list[str], values: np.ndarray) -> np.ndarray:
    """NaN where a name is new."""
    if names == known:
        return values
    place = {name: k for k, name in enumerate(known)}
    at = np.array([place.get(name, len(known)) for name in names], dtype=np.int64)
    return np.append(values, np.nan)[at]
