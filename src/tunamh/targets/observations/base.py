"""What is asked of the rows of a regression: a map over blocks, samples in memory, whether they have changed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

import numpy as np

from ...rows.passes import added_up
from ...rows.source import Rows
from ..designs import Design
from ..value import Value

Result = TypeVar("Result")


class Observations(Value, ABC):
    """The rows of a regression: features, responses, and possibly weights and offsets.

    ``design`` says how features are packed.
    """

    n_rows: int
    design: Design
    names: Sequence[str] | None
    weighted: bool

    memory: int | None = None
    """Bytes that may be held of the rows, packed; None: as many as they take."""

    in_process: bool = True
    """Whether functions of blocks run in this process and its threads, on rows that are in its memory."""

    most_at_once: int | None = None
    """Rows of a sample at most; None: as many as there are."""

    examined: bool = False
    """Whether weights and numbers were looked at before, piece by piece."""

    classes: Sequence[str] | None = None
    """The names of responses 0, 1, ..., where a user gave these by name."""

    factor_names: Sequence[str] = ()
    """The columns of categories, whose coefficients come behind those of the other columns."""

    others: tuple[Design, ...] = ()
    """Designs of further predictors."""

    described: tuple[str, ...] = ()
    """The parameters that further predictors describe."""

    other_names: tuple[Sequence[str] | None, ...] = ()
    """Of the columns of further predictors."""

    other_priors: tuple[Any, ...] = ()
    """Of their coefficients, where the family has none."""

    other_origins: tuple[np.ndarray | None, ...] = ()
    """What was subtracted from the columns of further predictors."""

    origin: tuple[np.ndarray, int] | None = None
    """Of which given row each row is a part, and how many were given: where one became two."""

    @property
    def has_censoring(self) -> bool:
        """Return True if the rows say which responses are censored."""
        return False

    @property
    def has_entry(self) -> bool:
        """Return True if the rows have times of entry, at which their observation begins."""
        return False

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Return a short hash of the data: of their shape and of all numbers in them."""

    @abstractmethod
    def map(self, function: Callable[[Rows], Result]) -> Iterator[Result]:
        """Yield ``function(block)`` for every block of rows, in the order of the rows.

        The ``X`` of a block is a block of the design.
        """

    def sums(self, terms: Callable[[Rows], tuple]) -> list:
        """Return the sums of ``terms(block)`` over all blocks, added in the order of the blocks."""
        return added_up(self.map(terms))

    @abstractmethod
    def take(self, index: np.ndarray) -> Sample:
        """Return the rows with these numbers, in this order."""

    def take_each(self, indices: list[np.ndarray]) -> Iterator[Sample]:
        """Yield several samples of rows. If reading a sample needs a pass over all rows, one pass reads all samples."""
        return map(self.take, indices)

    @abstractmethod
    def on_columns(self, which: np.ndarray) -> Observations:
        """Return the observations with some of the columns; ``which`` is a boolean mask."""

    @abstractmethod
    def check(self, rows: Rows) -> None:
        """Raise an error if these rows have changed since the target was made."""

    @abstractmethod
    def check_some(self) -> None:
        """Check a few rows, spread over the data, for changes."""


class Sample(Observations):
    """Observations whose rows are all in memory."""

    @abstractmethod
    def rows(self) -> Rows:
        """Return all rows."""

    @abstractmethod
    def weighted_up(self, factor: float) -> Sample:
        """Return the observations with all weights multiplied by ``factor``."""
