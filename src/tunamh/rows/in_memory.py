"""Tables in blocks as columns in memory, where they fit: one map reads all that a model needs.

Group effects, further predictors, levels taken as groups and lists of all rows ask for rows in any order. A source
gives them so by this one way: its columns are read once and kept, and what follows is what follows for arrays.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np

from ..errors import NotApplicable, SourceError
from .named_columns import coded, is_text, usable_numbers
from .passes import shown
from .pieces import rows_of
from .table_source import TableBlock, Tables

Result = TypeVar("Result")

_COPIES = 3  # of a column at most at once: as it is read, joined or in a matrix, and packed
_BESIDE = 90  # bytes of a packed row besides: its bound, the centre's numbers, its law; both measured, 1 to 4 columns


@dataclass(frozen=True, eq=False)
class Levels:
    """A column of text or categories, as data frames offer one: codes of the levels, which are sorted."""

    codes: np.ndarray
    categories: list[str]
    ordered: bool = False

    def __len__(self) -> int:
        return len(self.codes)


class HeldTable:
    """Columns by name, as a data frame offers them."""

    def __init__(self, held: dict[str, np.ndarray | Levels]):
        self._held, self.columns = held, list(held)

    def __len__(self) -> int:
        return len(next(iter(self._held.values())))

    def __getitem__(self, which: Any) -> Any:
        """A column by its name, or a table of several."""
        return self._held[which] if isinstance(which, str) else HeldTable({name: self._held[name] for name in which})

    def column(self, j: int) -> Any:
        return self._held[self.columns[j]]


def fits(
    tables: Tables, columns: Sequence[str], *, numbers: int = 0, more: int = 0, needed_by: str | None = None
) -> bool:
    """Whether these columns may be held, as they are and packed, in the memory that the source allows.

    ``numbers`` are those of a packed row, where they may be more than the columns; ``more`` are bytes of each row that
    a model needs besides. What is ``needed_by`` a model that knows no other way is refused where it is too large.
    """
    if tables.memory is None:
        return True
    first = tables.first(columns).table
    as_read = sum(4 if _is_single(first[name]) else 8 for name in columns)
    size = tables.n_rows * (_COPIES * max(as_read, 8 * numbers) + _BESIDE + more)
    if size <= tables.memory:
        return True
    if needed_by is not None:
        raise NotApplicable(
            f"{needed_by} need all rows in memory: {tables.n_rows:,} rows of {len(columns)} columns take about "
            f"{size:,} bytes, as they are read and packed, and {tables.memory:,} are allowed. Give open_rows "
            f"memory='{-(-size // 10**6)}MB' (at the shell --memory {-(-size // 10**6)}MB) if the machine has it, or "
            "fewer rows (change=) or columns."
        )
    return False


def _is_single(values: Any) -> bool:
    return str(getattr(values, "type", getattr(values, "dtype", ""))).lower() in ("float", "float32")


def every_block(tables: Tables, read: Callable[[TableBlock], Result], columns: Sequence[str]) -> Iterator[Result]:
    """``read`` of every block, with only these columns read; whoever waits is shown how far it is."""
    return shown(tables.map(_Counted(read), columns), tables.n_rows, "reading rows")


@dataclass(frozen=True)
class _Counted:
    """With the number of rows that are behind it."""

    read: Callable[[TableBlock], Any]

    def __call__(self, block: TableBlock) -> tuple[int, Any]:
        return block.start + rows_of(block.table), self.read(block)


def hold(tables: Tables, columns: Sequence[str]) -> HeldTable:
    """One map: numbers as they are, text and categories as codes. Values that are no use are refused by their place."""
    columns = list(dict.fromkeys(columns))
    blocks = list(every_block(tables, _Columns(tuple(columns)), columns))
    found: dict[str, np.ndarray | Levels] = {}
    for name in columns:
        found[name] = _joined(name, [block.pop(name) for block in blocks])
    return HeldTable(found)


@dataclass(frozen=True)
class _Columns:
    """Of a block: numbers, or levels and which of them a row has."""

    names: tuple[str, ...]

    def __call__(self, block: TableBlock) -> dict[str, Any]:
        return {
            name: coded(block, name) if is_text(block.table[name]) else usable_numbers(block, name)
            for name in self.names
        }


def _joined(name: str, parts: list[Any]) -> np.ndarray | Levels:
    texts = sum(isinstance(part, tuple) for part in parts)
    if texts == 0:
        return np.concatenate(parts)
    if texts < len(parts):
        raise SourceError(f"column {name} holds numbers in some blocks and text in others: make them alike (change=).")
    levels = sorted({level for present, _ in parts for level in present})
    place = {level: k for k, level in enumerate(levels)}
    codes = [np.array([place[level] for level in present], np.int64)[which] for present, which in parts]
    return Levels(np.concatenate(codes), levels)
