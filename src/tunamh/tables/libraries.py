"""The libraries of data frames and of sparse matrices, recognised at this one place; data frames by narwhals.

narwhals is imported when the first table is read; pandas, polars and pyarrow are never imported.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
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
