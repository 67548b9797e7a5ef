"""What results call scales, correlations and effects."""

from __future__ import annotations

from .grouping import Grouping


def scale_names(one: Grouping) -> list[str]:
    """Of the coordinates of a factor's covariance."""
    if one.known is not None:
        return []
    own = [f"{one.name}: {column}" if column else one.name for column in one.columns]
    return [*own, *correlation_names(one)]


def correlation_names(one: Grouping) -> list[str]:
    return [f"{one.name}: {one.columns[i]}, {one.columns[j]}" for i in range(one.q) for j in range(i)]


def effect_names(one: Grouping) -> list[str]:
    return [
        f"{one.name}[{level}]: {column}" if column else f"{one.name}[{level}]"
        for level in one.levels
        for column in one.columns
    ]
