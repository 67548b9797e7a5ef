"""Tables in blocks as columns in memory, where they fit: one map reads all that a model needs.

Group effects, further predictors, levels taken as groups and lists of all rows ask for rows in any order. A source
gives them so by this one way: its columns are read once and kept, and what follows is what follows for arrays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from ..errors import NotApplicable, SourceError
from ..process.scratch import folder_in_force
from ..tables.columns import Column, Factor, joined
from ..tables.frames import Frame
from ..tables.matrices import is_single
from .columns_in_files import GrowingColumn
from .named_columns import UsableColumns
from .pieces import every_block, scratch_of
from .table_source import Tables

_COPIES = 3  # of a column at most at once: as it is read, joined or in a matrix, and packed
_NOT_IN_FILES = 60  # bytes of a row beside its columns, where large arrays are in files
OF_COLUMNS_IN_FILES = 12
"""Bytes of a row where its columns are in files, too (measured: 2 to 8)."""
_BESIDE = 90  # bytes of a packed row besides: its bound, the centre's numbers, its law; both measured, 1 to 4 columns


def fits(
    tables: Tables,
    columns: Sequence[str],
    *,
    numbers: int = 0,
    more: int = 0,
    needed_by: str | None = None,
    in_files: int | None = None,
    as_read: int | None = None,
) -> bool:
    """Return True if these columns, as they are and packed, fit into the memory of the source.

    ``numbers`` is the length of a packed row, if it may exceed the number of columns; ``more`` are further bytes for
    each row of a model. ``in_files`` are the bytes per row that are needed in memory if the columns are in files (None:
    they cannot be in files). ``needed_by`` names a model that cannot work in blocks: if its rows do not fit, an error
    is raised. ``as_read`` are the bytes of the columns of a row (None: a block is read to find them).
    """
    if tables.memory is None:
        return True
    as_read = _as_read(tables, columns) if as_read is None else as_read
    size = _needed(tables, as_read, numbers, more)
    if size <= tables.memory:
        return True
    own = tables.n_rows * (_COPIES * as_read + _NOT_IN_FILES if in_files is None else in_files)
    if more and scratch_of(tables) is not None and own <= tables.memory:
        return True
    if needed_by is not None:
        raise NotApplicable(
            f"{needed_by} need all rows in memory: {tables.n_rows:,} rows of {len(columns)} columns take about "
            f"{size:,} bytes, as they are read and packed, and {tables.memory:,} are allowed. Give open_rows "
            f"memory='{-(-size // 10**6)}MB' (at the shell --memory {-(-size // 10**6)}MB) if the machine has it, or "
            f"fewer rows (change=) or columns.{_in_files(own) if more else ''}"
        )
    return False


def _in_files(own: int) -> str:
    return (
        f" With scratch='a folder on a fast disk' most of that goes into files, and memory='{-(-own // 10**6)}MB' "
        "will do, with a few hundred bytes more for every group."
    )


def folder_of_rows(
    tables: Tables, columns: Sequence[str], *, numbers: int = 0, more: int = 0, as_read: int | None = None
) -> str | None:
    """Return the folder for the large arrays of a model with groups, or None if they fit into memory."""
    folder, memory = scratch_of(tables), tables.memory
    if folder is None or memory is None:
        return None
    as_read = _as_read(tables, columns) if as_read is None else as_read
    return None if _needed(tables, as_read, numbers, more) <= memory else folder


def _needed(tables: Tables, as_read: int, numbers: int, more: int) -> int:
    return tables.n_rows * (_COPIES * max(as_read, 8 * numbers) + _BESIDE + more)


def _as_read(tables: Tables, columns: Sequence[str]) -> int:
    first = tables.first(columns).table
    return sum(4 if is_single(first[name]) else 8 for name in columns)


def load_columns(tables: Tables, columns: Sequence[str]) -> Frame:
    """Return columns, read in one pass: numbers as they are, text and categories as codes of sorted levels.

    The columns are in files if large arrays are. An error names the place of a value that cannot be used.
    """
    columns = list(dict.fromkeys(columns))
    read = every_block(tables, UsableColumns(tuple(columns)), columns)
    if folder_in_force() is not None:
        return _in_large_arrays(tables.n_rows, columns, read)
    blocks = list(read)
    return Frame({name: _joined(name, [block.pop(name) for block in blocks]) for name in columns}, tables.n_rows)


def _in_large_arrays(n_rows: int, names: Sequence[str], blocks: Iterator[dict[str, Column]]) -> Frame:
    """The same columns; no more than one block of them is in memory."""
    growing = {name: GrowingColumn(n_rows) for name in names}
    for block in blocks:
        for name, column in growing.items():
            try:
                column.add(block[name])
            except ValueError as error:
                raise _mixed(name, error) from None
    return Frame({name: _plain(column.column()) for name, column in growing.items()}, n_rows)


def _plain(column: Column) -> Column:
    """Levels without what a formula wants to know of them."""
    return Factor(column.codes, column.levels) if isinstance(column, Factor) else column


def _mixed(name: str, error: ValueError) -> SourceError:
    return SourceError(f"column {name} holds {error}: make them alike (change=).")


def _joined(name: str, parts: list[Column]) -> Column:
    try:
        found = joined(parts, lambda all_levels: sorted({level for levels in all_levels for level in levels}))
    except ValueError as error:
        raise _mixed(name, error) from None
    return _plain(found)
