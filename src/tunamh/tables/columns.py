"""One column of a table that was read: numbers or codes of levels, and which of its values are missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import compress

import numpy as np

from ..process.scratch import large, stretches


def squares(values: np.ndarray) -> float:
    """Return the sum of squares, which is NaN if a number is NaN. This is faster than a test of every number.

    BLAS is not used, because it starts threads for long columns.
    """
    return float(np.einsum("i,i->", values, values))


@dataclass(frozen=True, eq=False)
class Numbers:
    """A column of numbers, NaN where a value is missing.

    ``nulls`` marks the rows for which the table itself says that they have no value (None: there are none). In other
    rows NaN may be a computed value. A plain array may be a matrix.
    """

    values: np.ndarray
    nulls: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.values)

    @cached_property
    def squares(self) -> float:
        """Return the sum of squares. If these rows were taken from more rows, it may be the sum over those.

        It is NaN if one of the numbers is NaN.
        """
        return squares(self.values)

    @property
    def missing(self) -> np.ndarray:
        return np.isnan(self.values) if self.values.dtype.kind == "f" else np.zeros(len(self), bool)

    @property
    def has_missing(self) -> bool:
        """Return True if a value is missing."""
        if self.values.dtype.kind != "f" or self.values.ndim != 1:
            return bool(self.missing.any())
        return bool(np.isnan(self.squares))

    def take(self, which: slice | np.ndarray) -> Numbers:
        """Return some rows, chosen by a slice, a mask or row numbers."""
        found = Numbers(self.values[which], None if self.nulls is None else self.nulls[which])
        known = vars(self).get("squares", np.nan)
        if isinstance(which, slice) and np.isfinite(known):
            vars(found)["squares"] = known
        return found


@dataclass(frozen=True, eq=False)
class Factor:
    """A column of levels: a code in every row, -1 where it is missing, and the names of the levels.

    ``ordered`` says whether the order of the levels has a meaning. ``absent`` are levels that no row had when the
    column was read. ``kind`` says what the column contains, ``text`` or ``categories``.
    """

    codes: np.ndarray
    levels: tuple[str, ...]
    ordered: bool = False
    absent: tuple[str, ...] = ()
    kind: str = "categories"

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def missing(self) -> np.ndarray:
        return self.codes < 0

    @property
    def has_missing(self) -> bool:
        """Return True if a value is missing."""
        return len(self) > 0 and bool(self.codes.min() < 0)

    def take(self, which: slice | np.ndarray) -> Factor:
        """Return some rows, chosen by a slice, a mask or row numbers."""
        return replace(self, codes=self.codes[which])

    def recoded(self, levels: Sequence[str]) -> np.ndarray:
        """Return the codes of the values among other levels, and -1 for values that are not among them."""
        place = {level: code for code, level in enumerate(levels)}
        new = np.array([place.get(level, -1) for level in self.levels] + [-1], dtype=np.int64)
        return _looked_up(new, self.codes)

    def packed(self) -> Factor:
        """Return the factor with only the levels that occur."""
        occurs = np.zeros(len(self.levels) + 1, bool)
        for rows in stretches(len(self)):
            occurs[self.codes[rows]] = True  # that of missing values, -1, is the last
        occurs = occurs[:-1]
        if occurs.all():
            return self
        used, absent = (tuple(compress(self.levels, which.tolist())) for which in (occurs, ~occurs))
        place = np.append(np.where(occurs, np.cumsum(occurs) - 1, -1), -1)
        return replace(self, codes=_looked_up(place, self.codes), levels=used, absent=absent)


def _looked_up(new: np.ndarray, codes: np.ndarray) -> np.ndarray:
    """``new[codes]``, a large array."""
    found = large(len(codes), new.dtype)
    for rows in stretches(len(codes)):
        found[rows] = new[codes[rows]]
    return found


Column = Numbers | Factor


def joined(parts: Sequence[Column], levels_of: Callable[[list[tuple[str, ...]]], Sequence[str]]) -> Column:
    """Return columns of several blocks as one column. ``levels_of`` returns its levels from those of the blocks.

    Raise `ValueError` if some blocks contain numbers and others text.
    """
    factors = [part for part in parts if isinstance(part, Factor)]
    others = [part for part in parts if isinstance(part, Numbers)]
    if not factors:
        return Numbers(np.concatenate([part.values for part in others]))
    if any(not part.missing.all() for part in others):
        raise ValueError("numbers in some blocks and text in others")
    levels = tuple(levels_of([part.levels for part in factors]))
    codes = [part.recoded(levels) if isinstance(part, Factor) else np.full(len(part), -1) for part in parts]
    return Factor(np.concatenate(codes), levels, all(part.ordered for part in factors), kind=factors[0].kind)
