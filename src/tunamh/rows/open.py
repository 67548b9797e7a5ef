"""`open_rows`: whatever holds tables, as one source of them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import Any

from .._arguments import shown
from .executors import Submits
from .pieces import InPieces, Reading

_UNITS = {"": 1, "kb": 10**3, "mb": 10**6, "gb": 10**9, "tb": 10**12, "kib": 2**10, "mib": 2**20, "gib": 2**30}
_UNITS |= {"tib": 2**40, "b": 1}


def open_rows(
    rows: Any,
    *,
    columns: Sequence[str] | None = None,
    change: Callable[[Any], Any] | None = None,
    reader: Callable[[Any], Any] | None = None,
    executor: Any = None,
    memory: Any = "2GiB",
) -> InPieces:
    """Tables that are read block by block, from files, from blocks of your own or from a cluster.

    Parameters
    ----------
    rows
        Parquet: a file, a folder, a pattern such as ``"flights/*.parquet"``, or a list of files (extra ``parquet``). A
        Dask data frame or array, whose partitions are read where they lie (extra ``dask``). Blocks of your own: a list,
        or anything with a length whose members can be asked for by number, of pandas, polars or pyarrow tables, dicts
        of vectors or matrices; or of whatever ``reader`` makes a table of.
    columns : sequence of str, optional
        Those that are read, and their order. None: all; a target reads those only that it needs.
    change : callable, optional
        Applied to every table as it is read: new columns, or rows that are dropped. It may be sent to other processes,
        and must treat each row by itself.
    reader : callable, optional
        From a member of ``rows`` (a file name, a query) to its table.
    executor : concurrent.futures.Executor, optional
        Where blocks are read and computed with: threads, processes, ``client.get_executor()`` of Dask, MPI's. None:
        threads of this process. Draws do not depend on it.
    memory : str or int
        Bytes that a run may hold of the rows. If all of them fit, packed, they are held; if not, the rows that
        chains draw are gathered ahead.

    Returns
    -------
    A source of tables. ``tables[["distance", "hour"]]`` are columns of it, to be given as ``X``, with ``y=``,
    ``weights=`` and the like by name.

    Examples
    --------
    >>> flights = tunamh.open_rows("flights/*.parquet")
    >>> tunamh.LogisticRegression(flights[["distance", "hour"]], y="late")
    """
    limit = as_bytes(memory)
    if executor is not None and not isinstance(executor, Submits):
        raise TypeError(f"executor must be a concurrent.futures.Executor, got {shown(executor)}.")
    for name, function in (("change", change), ("reader", reader)):
        if function is not None and not callable(function):
            raise TypeError(f"{name} must be a function, got {shown(function)}.")
    if isinstance(columns, str):
        raise TypeError(f"columns must be a list of names, got {columns!r}: write [{columns!r}].")
    reading = Reading(None if columns is None else tuple(columns), change)
    settings: dict[str, Any] = {"executor": executor, "memory": limit}
    if type(rows).__module__.partition(".")[0] in ("dask", "dask_expr"):
        from .dask_frames import dask_tables

        return dask_tables(rows, reading, **settings)
    if reader is None and _are_paths(rows):
        from .parquet import parquet_tables

        return parquet_tables(rows, reading, **settings)
    from .blocks import block_tables

    return block_tables(rows, reader, reading, **settings)


def _are_paths(rows: Any) -> bool:
    if isinstance(rows, str | os.PathLike):
        return True
    return isinstance(rows, list | tuple) and len(rows) > 0 and all(isinstance(row, str | os.PathLike) for row in rows)


def as_bytes(memory: Any) -> int | None:
    """``"2GiB"``, ``"500 MB"`` or a number of bytes; None is no limit."""
    if memory is None:
        return None
    text = str(memory).strip().lower() if isinstance(memory, str | int | float) else ""
    found = re.fullmatch(r"([0-9]*\.?[0-9]+(?:e\+?[0-9]+)?)\s*([kmgt]?i?b|)", text)
    size = float(found[1]) * _UNITS[found[2]] if found else 0.0
    if isinstance(memory, bool) or not 0 < size < 1e18:
        raise ValueError(f"memory must be a size such as '2GiB' or a number of bytes, got {shown(memory)}.")
    return int(size)
