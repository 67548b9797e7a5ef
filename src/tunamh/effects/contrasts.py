"""Contrasts: which two settings are compared. Levels with a reference, in pairs or in order; steps of numbers."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any

import numpy as np

from .._arguments import number, shown
from ..formula.errors import FormulaError
from .columns import ModelColumns, column_name
from .grid import value_of
from .settings import Fixed, Moved, Setting

WAYS = ("reference", "pairwise", "sequential")


@dataclass(frozen=True)
class Contrast:
    """Two settings of one column that are compared: ``high`` and ``low``. ``names`` are the names of high and low."""

    variable: str
    low: Setting
    high: Setting
    names: tuple[str, str]

    def label(self, sign: str) -> str:
        return f"{self.names[0]} {sign} {self.names[1]}"


def contrasts_of(columns: ModelColumns, contrast: Any) -> list[Contrast]:
    """Return the contrasts that a user asks for.

    ``contrast`` is the name of a column, a list of names, or a dict from names to ways to compare (`tunamh.comparisons`
    describes them). Two settings are always a pair (from, to), for levels and for numbers. The effect is ``to - from``.
    """
    if isinstance(contrast, str):
        asked: dict[str, Any] = {column_name(contrast): None}
    elif isinstance(contrast, Mapping):
        asked = {column_name(name): how for name, how in contrast.items()}
    elif isinstance(contrast, Sequence) and contrast and all(isinstance(one, str) for one in contrast):
        asked = dict.fromkeys(map(column_name, contrast))
    else:
        raise TypeError(
            'contrast must be the name of a column, a list of names, or a dict such as {"carrier": "pairwise", '
            f'"distance": 100}}, got {shown(contrast)}.'
        )
    found = []
    for name, how in asked.items():
        columns.refuse_unknown(name, "contrast")
        levels = columns.levels(name)
        found += _of_numbers(columns, name, how) if levels is None else _of_levels(columns, name, levels, how)
    return found


def _of_levels(columns: ModelColumns, name: str, levels: tuple[str, ...], how: Any) -> list[Contrast]:
    if how is None or how == "reference":
        pairs = [(level, levels[0]) for level in levels[1:]]
    elif isinstance(how, str) and how == "pairwise":
        pairs = [(high, low) for low, high in combinations(levels, 2)]
    elif isinstance(how, str) and how == "sequential":
        pairs = [(high, low) for low, high in pairwise(levels)]
    else:
        pairs = _named_pairs(columns, name, how)
    if not pairs:
        raise FormulaError(f"contrast: the levels of {name} are not known: list the pairs, {{{name!r}: [(a, b)]}}.")
    return [
        Contrast(
            name,
            {name: Fixed(columns.as_written(name, low))},
            {name: Fixed(columns.as_written(name, high))},
            (high, low),
        )
        for high, low in pairs
    ]


def _named_pairs(columns: ModelColumns, name: str, how: Any) -> list[tuple[str, str]]:
    listed = [how] if _is_pair(how) else how
    if isinstance(listed, str) or not isinstance(listed, Sequence) or not all(map(_is_pair, listed)):
        raise ValueError(
            f"contrast: {name} takes {', '.join(map(repr, WAYS))}, or pairs of levels such as "
            f'[("UA", "DL")], from UA to DL, which is DL minus UA; got {shown(how)}.'
        )
    text = [[value_of(columns, name, level, "contrast") for level in pair] for pair in listed]
    return [(_text(high), _text(low)) for low, high in text]  # (from, to), as of numbers


def _text(value: float | str) -> str:
    return value if isinstance(value, str) else f"{value:g}"


def _is_pair(given: Any) -> bool:
    return isinstance(given, tuple | list) and len(given) == 2 and not any(isinstance(g, tuple | list) for g in given)


# ------------------------------------------------------------------------------------------------------- numbers


def _of_numbers(columns: ModelColumns, name: str, how: Any) -> list[Contrast]:
    """From x to x + 1; of 0 and 1 from 0 to 1."""
    if how is None:
        if name in columns.typical and columns.typical[name].labels:
            return [_between(name, 0.0, 1.0)]
        return [_step(name, 1.0)]
    if isinstance(how, str):
        return [_by_word(columns, name, how)]
    if isinstance(how, Sequence | np.ndarray) and len(how) == 2 and np.ndim(how) == 1:
        return [_between(name, *(number(f"contrast: {name}", float(end)) for end in how))]
    if np.ndim(how) == 0:
        return [_step(name, number(f"contrast: {name}", how.item() if isinstance(how, np.generic) else how))]
    return [one for pair in _pairs_of_numbers(name, how) for one in _of_numbers(columns, name, pair)]


def _pairs_of_numbers(name: str, how: Any) -> list[Any]:
    if not all(_is_pair(one) for one in how):
        raise ValueError(f"contrast: {name} takes a step such as 100, or two values (from, to), got {shown(how)}.")
    return list(how)


def _by_word(columns: ModelColumns, name: str, how: str) -> Contrast:
    ways: dict[str, Callable[[Any], Contrast]] = {
        "sd": lambda known: _step(name, known.sd, f"{name} + 1 sd"),
        "minmax": lambda known: _between(name, known.low, known.high),
    }
    if how not in ways:
        raise ValueError(
            f"contrast: {name} is a number, and takes a step such as 100, 'sd', 'minmax', or two values (from, to); "
            f"got {how!r}."
        )
    return ways[how](columns.known(name))


def _step(name: str, by: float, called: str | None = None) -> Contrast:
    if by == 0:
        raise ValueError(f"contrast: a step of {name} must not be zero.")
    called = f"{name} {'+' if by > 0 else '-'} {abs(by):g}" if called is None else called
    return Contrast(name, {}, {name: Moved(by)}, (f"({called})", name))


def _between(name: str, low: float, high: float) -> Contrast:
    return Contrast(name, {name: Fixed(low)}, {name: Fixed(high)}, (f"{high:g}", f"{low:g}"))
