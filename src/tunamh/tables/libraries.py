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
    """A table with more than one column of a name. ``problem`` says so without naming the table."""

    def __init__(self, names: Sequence[str]):
        twice = sorted(name for name, times in Counter(names).items() if times > 1)
        self.problem = f"more than one column of the name {listed(twice)}: rename or drop columns."
        self.names = list(names)
        super().__init__(f"a table has {self.problem}")


class LazyTable(TypeError):
    """A data frame whose rows are still to be computed, such as ``polars.LazyFrame``."""

    def __init__(self) -> None:
        super().__init__("a table is a lazy frame, which has no rows yet: pass table.collect().")


def listed(names: Sequence[str], most: int = 8) -> str:
    """Names one behind the other, the first of many."""
    more = len(names) - most
    return ", ".join(names[:most]) + (f" and {more:,} others" if more > 0 else "")


@runtime_checkable
class SparseMatrix(Protocol):
    """What the sparse matrices of SciPy and of other libraries have in common."""

    nnz: Any

    def tocsr(self) -> Any: ...


def is_sparse(X: Any) -> bool:
    return not isinstance(X, np.ndarray) and isinstance(X, SparseMatrix)


def narwhals() -> Any:
    """The module, by its interface that stays."""
    import narwhals.stable.v2 as nw

    return nw


def as_series(values: Any) -> Any:
    """A column of a data frame as a narwhals series; None of anything else."""
    found = _recognised(values)
    return found if found is not None and isinstance(found, narwhals().Series) else None


def as_frame(values: Any) -> Any:
    """A data frame as one of narwhals; None of anything else. Raises `RepeatedNames` and `LazyTable`."""
    found = _recognised(values)
    if found is not None and isinstance(found, narwhals().LazyFrame):
        raise LazyTable
    return found if found is not None and isinstance(found, narwhals().DataFrame) else None


def as_native(values: Any) -> Any:
    """A frame or a series of narwhals as its own library has it; anything else as it is."""
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
    """How many rows a data frame or a dict of arrays has."""
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
    """At most ``size`` rows at a time, without a copy where the library of the table can, and which they are."""
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
    """An arrow table that holds no part of a larger one; None of anything else."""
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
    """The columns of a pyarrow table that are numbers without gaps in one piece, as arrays, without a copy.

    A slice of an array costs next to nothing. To ask a slice of a table for its columns, in every block, took a third
    of the time that reading them took.
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
