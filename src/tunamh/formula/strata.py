"""Strata of a formula, ``strata(x)``: rows with log hazards of their own, and no coefficient."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..tables.columns import Factor
from .errors import FormulaError, listed
from .evaluation import Values, as_factor
from .parser import parse_expression
from .syntax import Node, columns_in, label


@dataclass(frozen=True)
class Strata:
    """The columns that define strata, and the levels that occur.

    Levels of several columns are combinations (``a, b``).
    """

    by: tuple[Node, ...]
    levels: tuple[str, ...]

    @classmethod
    def learned(cls, by: tuple[Node, ...], values: Values) -> Strata | None:
        """Return the strata of a formula, or None if it has no strata."""
        return cls(by, _labels(by, values).levels) if by else None

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns that define the strata."""
        return [name for node in self.by for name in columns_in(node)]

    def factor(self, values: Values) -> Factor:
        """Return the stratum of every row. Raise `FormulaError` for a stratum that was not in the data of the fit."""
        found = _labels(self.by, values)
        codes = found.recoded(self.levels)
        if (codes < 0).any():
            row = int(np.argmax(codes < 0))
            raise FormulaError(
                f"strata({', '.join(map(label, self.by))}): row {values.row(row)} is of the stratum "
                f"{found.levels[found.codes[row]]!r}, which the fitted data did not have. The strata are "
                f"{listed([repr(one) for one in self.levels])}."
            )
        return Factor(codes, self.levels)

    def to_json(self) -> dict[str, Any]:
        return {"by": [str(node) for node in self.by], "levels": list(self.levels)}

    @classmethod
    def from_json(cls, found: dict[str, Any] | None) -> Strata | None:
        if found is None:
            return None
        return cls(tuple(parse_expression(str(text)) for text in found["by"]), tuple(map(str, found["levels"])))


def _labels(by: tuple[Node, ...], values: Values) -> Factor:
    """The levels that occur, those of the first column slowest."""
    factors = [as_factor(values.value(node)) for node in by]
    found = factors[0].packed()
    for one in factors[1:]:
        used, codes = np.unique(found.codes * len(one.levels) + one.codes, return_inverse=True)
        pairs = [divmod(int(k), len(one.levels)) for k in used]
        found = Factor(codes.astype(np.int64), tuple(f"{found.levels[a]}, {one.levels[b]}" for a, b in pairs))
    return found
