"""The libraries of data frames (by narwhals) and of sparse matrices, recognised at this one place; tables in blocks.

narwhals is imported when the first table is read; pandas, polars and pyarrow are never imported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from typing import Any, Protocol, runtime_checkable

import numpy as np

_PLAIN = (np.ndarray, np.generic, list, tuple, dict, str, bytes, int, float, type(None))


class RepeatedNames(ValueError):
    """An error for a table with several columns of the same name. ``problem`` says so without the name of the table."""

    def __init__(self, names: Sequence[str]):
        twice = sorted(name for name, times in Counter(names).items() if times > 1)
        self.problem = f"more than one column of the name {listed(twice)}: rename or drop columns."
        self.names = list(names)
        super().__init__(f"a table has {self.problem}")


class LazyTable(TypeError):
    """An error for a data frame whose rows are not computed yet, such as ``polars.LazyFrame``."""

    def __init__(self) -> None:
        super().__init__("a table is a lazy frame, which has no rows yet: pass table.collect().")


def listed(names: Sequence[str], most: int = 8) -> str:
    """Return names as a list in words, with the first ``most`` names if there are many."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} others" if more > 0 else "")


@runtime_checkable
class SparseMatrix(Protocol):
    """What sparse matrices of SciPy and of other libraries have in common."""

    nnz: Any

    def tocsr(self) -> Any: ...


def is_sparse(X: Any) -> bool:
    return not isinstance(X, np.ndarray) and isinstance(X, SparseMatrix)


def narwhals() -> Any:
    """Return the module narwhals with its stable interface."""
    import narwhals.stable.v2 as nw

    return nw


def as_series(values: Any) -> Any:
    """Return a column of a data frame as a narwhals series, or None for other objects."""
    found = _recognised(values)
    return found if found is not None and isinstance(found, narwhals().Series) else None


def as_frame(values: Any) -> Any:
    """Return a data frame as a narwhals frame, or None for other objects. Raise `RepeatedNames` or `LazyTable`."""
    found = _recognised(values)
    if found is not None and isinstance(found, narwhals().LazyFrame):
        raise LazyTable
    return found if found is not None and isinstance(found, narwhals().DataFrame) else None


def as_native(values: Any) -> Any:
    """Return the original object of a narwhals frame or series. Other objects are returned as they are."""
    return values if isinstance(values, _PLAIN) else narwhals().to_native(values, pass_through=True)


def _recognised(values: Any) -> Any:
    """A frame or a series of narwhals; None where narwhals does not know the kind of ``values``."""
    if isinstance(values, _PLAIN):
        return None
    nw = narwhals()
    values = _completed(nw.dependencies, values)
    if isinstance(values, nw.DataFrame | nw.LazyFrame | nw.Series):
        return values
    from narwhals.exceptions import DuplicateError

    try:
        found = nw.from_native(values, allow_series=True, pass_through=True)
    except DuplicateError:
        names = values.column_names if nw.dependencies.is_pyarrow_table(values) else values.columns
        raise RepeatedNames([str(name) for name in names]) from None
    return found if isinstance(found, nw.DataFrame | nw.LazyFrame | nw.Series) else None


def _completed(libraries: Any, values: Any) -> Any:
    """Arrays of pandas and pyarrow as series, and batches of pyarrow as tables: narwhals knows these only."""
    pandas, pyarrow = libraries.get_pandas(), libraries.get_pyarrow()
    if pandas is not None and isinstance(values, pandas.Index | pandas.api.extensions.ExtensionArray):
        return pandas.Series(values)
    if pyarrow is not None and isinstance(values, pyarrow.Array):
        return pyarrow.chunked_array([values])
    if pyarrow is not None and isinstance(values, pyarrow.RecordBatch):
        return pyarrow.Table.from_batches([values])
    return values


# ------------------------------------------------------------------------------------------------- tables as they are


def count_rows(table: Any) -> int:
    """Return the number of rows of a data frame or of a dict of arrays."""
    if isinstance(table, dict):
        return len(next(iter(table.values()))) if table else 0
    known = getattr(table, "num_rows", None)  # of pyarrow, at once: this is asked for every block
    if isinstance(known, int):
        return known
    frame = as_frame(table)
    if frame is None:
        raise TypeError(f"a block must be a table with columns by name or a dict of arrays, not {type(table)}.")
    return len(frame)


def cut(table: Any, size: int) -> Iterator[tuple[slice, Any]]:
    """Yield parts of a table with at most ``size`` rows, each with its slice. If possible, nothing is copied."""
    n_rows, frame = count_rows(table), None if isinstance(table, dict) else as_frame(table)
    for first in range(0, n_rows, size):
        which = slice(first, min(first + size, n_rows))
        if n_rows <= size:
            yield which, table
        elif frame is None:
            yield which, {name: values[which] for name, values in table.items()}
        elif frame.implementation.is_pandas_like():
            yield which, frame.to_native().iloc[which]
        else:
            yield which, frame.to_native().slice(first, which.stop - first)  # narwhals takes ten times as long


def copied(table: Any) -> Any:
    """Return a copy of an arrow table that does not share memory with a larger table; None for other objects."""
    frame = as_frame(table)
    if frame is None or not frame.implementation.is_pyarrow():
        return None
    native = frame.to_native()
    return native.take(list(range(native.num_rows))).combine_chunks()


def is_text(kind: Any) -> bool:
    """Whether a type of pyarrow is one of text."""
    types = narwhals().dependencies.get_pyarrow().types
    return bool(types.is_string(kind) or types.is_large_string(kind))


def numbers_at_once(table: Any) -> dict[str, np.ndarray]:
    """Return the columns of a pyarrow table that are one piece of numbers without missing values, as arrays.

    They are not copied. To slice an array costs almost nothing. If every block asked a slice of the table for its
    columns, this took a third of the time of reading them.
    """
    frame = as_frame(table)
    if frame is None or not frame.implementation.is_pyarrow():
        return {}
    native, types = frame.to_native(), narwhals().dependencies.get_pyarrow().types
    return {
        name: column.chunk(0).to_numpy()
        for name, column in zip(native.column_names, native.columns, strict=True)
        if (types.is_integer(column.type) or types.is_floating(column.type))
        and column.null_count == 0
        and column.num_chunks == 1
    }
