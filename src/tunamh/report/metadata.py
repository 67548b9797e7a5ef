"""What a run wrote down about itself: attributes, read without trust. A file may come from anyone."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..laplace.distance import LaplaceDistance


@dataclass(frozen=True)
class Told:
    """The attributes of a posterior. ``settings`` is empty if there are none or if they cannot be read."""

    attributes: dict[str, Any]
    settings: dict[str, Any]
    model: dict[str, Any]
    laplace: LaplaceDistance | None
    unreadable: list[str]

    def text(self, name: str) -> str | None:
        """Return an attribute as text, cut if it is very long, or None if it does not exist."""
        value = self.attributes.get(name)
        return None if value is None else _plain(value)[:2000]

    def number(self, name: str) -> float | None:
        """Return a number of the settings, or None."""
        return _number(self.settings.get(name))

    def seconds(self) -> dict[str, float]:
        return _numbers(self.settings.get("seconds"))

    def stages(self) -> dict[str, float]:
        """Return the seconds of every stage of the set-up."""
        return _numbers(self.set_up().get("stages"))

    def set_up(self) -> dict[str, Any]:
        found = self.settings.get("set_up")
        return found if isinstance(found, dict) else {}

    def set_up_number(self, name: str) -> float | None:
        return _number(self.set_up().get(name))

    @property
    def formula(self) -> str | None:
        """Return the formula that the user wrote, or None."""
        found = self._of_formula("formula")
        return found[:300] if isinstance(found, str) else None

    @property
    def success(self) -> str | None:
        """Return in words which of two classes with names counts as 1, or None."""
        found = self._of_formula("response")
        levels = found.get("levels") if isinstance(found, dict) and found.get("labels") is True else None
        if not isinstance(levels, list) or len(levels) != 2:
            return None
        return f"{str(found.get('text'))[:100]}: {str(levels[1])[:100]!r} counts as 1"

    @property
    def dropped(self) -> int:
        """Return the number of rows that were left out because of missing values."""
        found = _number(self._of_formula("dropped"))
        return 0 if found is None else int(found)

    def _of_formula(self, name: str) -> Any:
        found = self.model.get("formula")
        return found.get(name) if isinstance(found, dict) else None

    @property
    def factors(self) -> dict[str, list[str]]:
        """Return the levels of the columns of categories, the reference level first."""
        found = self.model.get("factors")
        if not isinstance(found, dict):
            return {}
        return {str(name): [str(one) for one in levels] for name, levels in found.items() if isinstance(levels, list)}

    @property
    def exact(self) -> bool | None:
        value = self.attributes.get("exact")
        try:
            return None if value is None else bool(int(value))
        except (TypeError, ValueError):
            return None


def told_by(posterior: Any) -> Told:
    attributes = {str(name): value for name, value in posterior.attrs.items()}
    unreadable: list[str] = []
    settings, model = (_object(attributes, name, unreadable) for name in ("settings", "model"))
    return Told(attributes, settings, model, _laplace(attributes, unreadable), unreadable)


def _object(attributes: dict[str, Any], name: str, unreadable: list[str]) -> dict[str, Any]:
    """An attribute that is a JSON object; empty where there is none."""
    try:
        found = json.loads(_plain(attributes.get(name, "{}")))
    except (ValueError, RecursionError):
        unreadable.append(name)
        return {}
    return found if isinstance(found, dict) else {}


def _laplace(attributes: dict[str, Any], unreadable: list[str]) -> LaplaceDistance | None:
    try:
        found = LaplaceDistance.from_attributes(attributes)
        if found is None:
            return None
        found.line  # noqa: B018 - whether its numbers are numbers
        sizes = {len(found.names), *(len(v) for v in (found.shift, found.shift_error, found.ratio, found.ratio_error))}
        return found if len(sizes) == 1 else None
    except (ValueError, TypeError, AttributeError, IndexError, RecursionError):
        unreadable.append("laplace_...")
        return None


def _plain(value: Any) -> str:
    return value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)


def _number(value: Any) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        found = float(value)
    except OverflowError:
        return None
    return found if math.isfinite(found) else None


def _numbers(value: Any) -> dict[str, float]:
    if not isinstance(value, dict):
        return {}
    found = ((str(name), _number(number)) for name, number in value.items())
    return {name: number for name, number in found if number is not None}


def statistic(stats: Any, name: str) -> np.ndarray | None:
    """Return a statistic of the sampler (chain, draw), or None if there is no such array of numbers."""
    if stats is None or name not in stats:
        return None
    values = stats[name]
    if set(values.dims) != {"chain", "draw"} or values.dtype.kind not in "biuf" or not values.size:
        return None
    return values.transpose("chain", "draw").values.astype(np.float64)
