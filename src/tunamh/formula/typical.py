"""What the columns of the data were like: the mean and the range of numbers, the most frequent level of factors.

Results keep these few numbers, so that effects "at typical values" need no data (`tunamh.predictions`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any, NamedTuple

import numpy as np

from ..tables.columns import Factor
from .data_summaries import Moments
from .evaluation import Values, as_factor
from .right_side import Block, RightSide
from .smooths import columns_of_smooth
from .syntax import Call, Name, Node, columns_in
from .terms import Terms

_MOST_LEVELS = 200  # of a factor that has no coefficients of its own, such as that of (carrier == "UA")


@dataclass(frozen=True)
class Typical:
    """What one column of the data was like.

    ``value`` is the mean of numbers, or the name of the most frequent level of a factor. ``sd``, ``low`` and ``high``
    describe numbers. ``labels`` is True if all numbers are 0 or 1. ``levels`` are the levels of a factor, if the
    formula does not contain them already.
    """

    value: float | str
    sd: float = 0.0
    low: float = 0.0
    high: float = 0.0
    labels: bool = False
    levels: tuple[str, ...] = ()

    @property
    def is_factor(self) -> bool:
        return isinstance(self.value, str)

    @classmethod
    def of_moments(cls, found: Moments) -> Typical:
        """Return the typical value of a column of numbers from its moments.

        In [0, 1], ``x^2 <= x``, with equality only at 0 and 1. So the variance shows whether all numbers are 0 or 1.
        """
        inside = found.low == 0.0 and found.high == 1.0
        labels = inside and math.isclose(found.sd**2, found.mean * (1 - found.mean), rel_tol=1e-9)
        return cls(found.mean, found.sd, found.low, found.high, labels)

    def to_json(self) -> dict[str, Any]:
        if self.is_factor:
            return {"level": self.value, **({"levels": list(self.levels)} if self.levels else {})}
        return {"mean": self.value, "sd": self.sd, "low": self.low, "high": self.high, "labels": self.labels}

    @classmethod
    def from_json(cls, found: Mapping[str, Any]) -> Typical:
        if "level" in found:
            return cls(str(found["level"]), levels=tuple(map(str, found.get("levels", ()))))
        mean, sd, low, high = (float(found[key]) for key in ("mean", "sd", "low", "high"))
        return cls(mean, sd, low, high, bool(found["labels"]))


class ColumnsLook(NamedTuple):
    """What one block says of columns: how often each level of a factor occurs, and moments of numbers.

    Numbers that are a term of their own are left out; their moments are in the terms.
    """

    counts: dict[str, dict[str, int]]
    moments: dict[str, Moments]

    def __add__(self, other: ColumnsLook) -> ColumnsLook:  # type: ignore[override]
        counts = {name: dict(own) for name, own in self.counts.items()}
        for name, more in other.counts.items():
            own = counts.setdefault(name, {})
            for level, count in more.items():
                own[level] = own.get(level, 0) + count
        moments = dict(self.moments)
        for name, one in other.moments.items():
            moments[name] = moments[name] + one if name in moments else one
        return ColumnsLook(counts, moments)


def _atoms(sides: Iterable[Terms]) -> Iterator[Node]:
    for terms in sides:
        for fixed in (terms.fixed, *(group.columns.fixed for group in terms.groups)):
            yield from (atom for term in fixed for atom in term)
        yield from (*terms.offsets, *terms.strata)
        yield from (one for curve in terms.curves for one in columns_of_smooth(curve))


def columns_look(
    common: Terms, further: Iterable[Terms], values: Values, *, offsets: Sequence[Node] | None = None
) -> ColumnsLook:
    """Return what some rows say of the columns.

    Numbers that are a term of ``common`` are left out, because their moments are known from the terms. If ``offsets``
    are passed, the moments of the terms are not known, and no numbers are left out.
    """
    known = {atom.name for term in common.fixed for atom in term if isinstance(atom, Name)}
    alone = known if offsets is None else set()
    counts: dict[str, dict[str, int]] = {}
    moments: dict[str, Moments] = {}
    for atom in dict.fromkeys([*_atoms([common, *further]), *(offsets or ())]):
        coded = isinstance(atom, Call) and atom.function == "C"
        for name in columns_in(atom):
            found = values.variables[name]
            if name in counts:
                continue
            if isinstance(found, Factor) or coded:
                counts[name] = _counts(as_factor(found))
            elif name not in moments and name not in alone:
                moments[name] = Moments.of(found.values)
    return ColumnsLook(counts, moments)


def _counts(factor: Factor) -> dict[str, int]:
    found = np.bincount(factor.codes, minlength=len(factor.levels)) if len(factor.codes) else np.zeros(0, np.int64)
    return {level: int(count) for level, count in zip(factor.levels, found.tolist(), strict=False) if count}


def typical_columns(
    looks: Iterable[ColumnsLook], side: RightSide, alone: list[Moments | None] | None
) -> dict[str, Typical]:
    """Return the typical value of every column.

    A column that is both a number and a factor, as in ``x + C(x)``, has its most frequent value. ``alone`` contains the
    moments of the numbers in each span of the side's columns; it is None if ``looks`` contains all numbers.
    """
    found = reduce(ColumnsLook.__add__, looks)
    moments = dict(found.moments)
    spans = [] if alone is None else side.parts
    for part, own in zip(spans, alone or (), strict=True):
        if isinstance(part, Block) and len(part.numbers) == 1 and isinstance(part.numbers[0], Name) and own is not None:
            moments[part.numbers[0].name] = own
    typical = {name: Typical.of_moments(own) for name, own in moments.items()}
    for name, counts in found.counts.items():
        levels = () if name in side.levels or len(counts) > _MOST_LEVELS else tuple(counts)
        typical[name] = Typical(max(counts, key=lambda level: counts[level]), levels=levels)
    return typical
