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
    """Rows of features, responses and, maybe, weights and offsets; ``design`` says how features are packed."""

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
        """Whether rows say if their response is known only to be larger or smaller."""
        return False

    @property
    def has_entry(self) -> bool:
        """Whether rows say when they come under observation."""
        return False

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """A short hash of the data: their shape and all numbers in them."""

    @abstractmethod
    def map(self, function: Callable[[Rows], Result]) -> Iterator[Result]:
        """``function`` of every block of rows, in their order; ``X`` of a block is one of the design's."""

    def sums(self, terms: Callable[[Rows], tuple]) -> list:
        """``terms`` of every block, added up in the order of the blocks."""
        return added_up(self.map(terms))

    @abstractmethod
    def take(self, index: np.ndarray) -> Sample:
        """The rows with these numbers, in this order."""

    def take_each(self, indices: list[np.ndarray]) -> Iterator[Sample]:
        """Several samples; where each would need a map, all of them in one."""
        return map(self.take, indices)

    @abstractmethod
    def on_columns(self, which: np.ndarray) -> Observations:
        """With some of the columns only, a mask."""

    @abstractmethod
    def check(self, rows: Rows) -> None:
        """Raise unless these rows are as they were when the target was made."""

    @abstractmethod
    def check_some(self) -> None:
        """The same for a few rows, spread over the data."""


class Sample(Observations):
    """Observations that are in memory as a whole."""

    @abstractmethod
    def rows(self) -> Rows:
        """All of them."""

    @abstractmethod
    def weighted_up(self, factor: float) -> Sample:
        """With all weights multiplied by ``factor``."""
