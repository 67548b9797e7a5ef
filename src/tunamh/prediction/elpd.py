"""ArviZ's class for an elpd, with words. Imported when one is made: ArviZ takes its time."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from arviz_stats.utils import ELPDData

from .reliability import MOST_UNRELIABLE, two_digits

_SHOWN = 5


@dataclass(repr=False)
class LooEstimate(ELPDData):
    """The result of `tunamh.loo`: the expected log predictive density (elpd) and its standard error.

    It has the fields of ArviZ's ``ELPDData``, and those below.

    Attributes
    ----------
    numbers : array
        The numbers of the rows that were left out, one at a time.
    pointwise, pointwise_k : arrays
        The log predictive density and the Pareto k of each of these rows.
    own_family : bool
        True if the family is your own; then the densities may lack constants.
    """

    numbers: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    pointwise: np.ndarray = field(default_factory=lambda: np.empty(0))
    pointwise_k: np.ndarray = field(default_factory=lambda: np.empty(0))
    own_family: bool = False
    """Whether the family is a user's own, which may leave constants out."""

    @property
    def n_rows(self) -> int:
        """Return the number of rows of the data."""
        return int(self.n_data_points)

    @property
    def rows(self) -> int:
        """Return how many rows were left out, one at a time."""
        return len(self.pointwise)

    @property
    def large_k(self) -> np.ndarray:
        """Return the numbers of the rows whose Pareto k is too large, the row with the largest first."""
        bad = np.flatnonzero(self.pointwise_k > self.good_k)
        return self.numbers[bad[np.argsort(-self.pointwise_k[bad])]]

    @property
    def bad(self) -> int:
        """Return how many rows have a Pareto k that is too large."""
        return len(self.large_k)

    def __str__(self) -> str:
        exactly = "all" if self.rows == self.n_rows else f"{self.rows:,} of"
        by = "" if self.rows == self.n_rows else f" ({two_digits(self.subsampling_se)} by subsampling)"
        found = (
            f"elpd {self.elpd:,.1f}, standard error {self.se:,.1f}{by}: {exactly} {self.n_rows:,} rows left out one at "
            f"a time. Effective number of parameters: {self.p:,.1f}."
        )
        own = _OF_OWN if self.own_family else ""
        said = (found, own, unreliable(self.large_k, self.good_k))
        return " ".join([*filter(None, said), *([_TOO_MANY] if self.bad > MOST_UNRELIABLE * self.rows else [])])

    __repr__ = __str__


_TOO_MANY = (
    "These are too many: elpd itself is unreliable. Fit the model to nine tenths of the rows and compute the log "
    "density of the rest instead."
)

_OF_OWN = (
    "The family is your own: if its energy leaves constants out, elpd does so too, and can only be compared with "
    "models of the same energy."
)


def unreliable(large: np.ndarray, limit: float) -> str:
    """Return in words which rows have a large Pareto k; the text is empty if no row has."""
    if len(large) == 0:
        return ""
    shown = ", ".join(f"{number}" for number in large[:_SHOWN])
    more = "" if len(large) <= _SHOWN else f" and {len(large) - _SHOWN:,} more"
    rows = "row" if len(large) == 1 else "rows"
    return (
        f"Pareto k is above {limit:.2g} for {rows} {shown}{more}: a single such row has much influence, and its value "
        "is unreliable."
    )
