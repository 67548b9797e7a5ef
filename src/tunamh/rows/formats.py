"""`open_rows`: whatever holds tables, as one source of them."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from typing import Any

from .._arguments import shown
from ..errors import NotApplicable
from .executors import Submits
from .pieces import CacheAsked, InPieces, Reading

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
    cache: Any = None,
    new_levels: str = "grow",
    scratch: Any = None,
) -> InPieces:
    """Open tables that are read block by block: files, a list of blocks, or the data of a cluster.

    Parameters
    ----------
    rows
        Where the rows are:

        - Parquet files: a file, a folder, a pattern such as ``"flights/*.parquet"``, or a list of files (``pip install
          "tunamh[parquet]"``);
        - Dask: a data frame or an array; each partition is processed on the worker that has it (``pip install
          "tunamh[dask]"``);
        - your own blocks: a list of pandas, polars or pyarrow tables, of dicts of vectors, or of matrices. Any object
          with ``len`` and numbered elements works. With ``reader`` the elements can be anything.
    columns : sequence of str, optional
        The columns to read, in this order. Default: all columns. A target reads only the columns that it needs.
    change : callable, optional
        A function that changes every table after it is read: it can add columns or drop rows. It may run in other
        processes, and must treat each row separately.
    reader : callable, optional
        A function that gets an element of ``rows``, such as a file name or a query, and returns its table.
    executor : concurrent.futures.Executor, optional
        The object that runs the work on blocks: threads, processes, ``client.get_executor()`` of Dask, or MPI. Default:
        threads of this process. The draws do not depend on the executor.
    memory : str or int
        The largest memory that rows may use: a number of bytes, or a text such as ``"2GiB"``. If not all rows fit into
        this memory, the rows that the chains will draw next are read in advance (docs/tall-data.md).
    cache : str or path, optional
        A folder, such as ``"flights.tunamh"``; it is created if it does not exist. `tunamh.regression` saves in this
        folder what it computes from the Parquet files. So the next run of the same script reads only files that are new
        or changed (docs/living-data.md).
    new_levels : "grow" or "refuse"
        With ``cache``: what to do if a new file has a level of a factor that no earlier file had. ``"grow"`` adds a
        coefficient for this level, ``"refuse"`` raises an error.
    scratch : str or path, optional
        A folder on a fast disk. If the rows of a model with groups do not fit into ``memory``, the model keeps its
        large arrays in files in this folder. The files are deleted together with the model (docs/tall-data.md).

    Returns
    -------
    A source of tables, for `tunamh.regression` and other models. For `GLM` and similar targets, pass some of its
    columns as ``X``, such as ``tables[["distance", "hour"]]``, and pass ``y=``, ``weights=`` and the other columns by
    name.

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
    folder = None if scratch is None else _folder(scratch)
    kept = None if cache is None else cache_asked(rows, reader, change, cache, new_levels)
    if type(rows).__module__.partition(".")[0] in ("dask", "dask_expr"):
        from .dask_frames import dask_tables

        return dask_tables(rows, reading, **settings).with_scratch(folder)
    if reader is None and _are_paths(rows):
        from .parquet import parquet_tables

        return parquet_tables(rows, reading, **settings).with_cache(kept).with_scratch(folder)
    from .blocks import block_tables

    return block_tables(rows, reader, reading, **settings).with_scratch(folder)


def _folder(scratch: Any) -> str:
    if not isinstance(scratch, str | os.PathLike):
        raise TypeError(f"scratch must be a folder, got {shown(scratch)}.")
    folder = os.path.abspath(os.fspath(scratch))
    if not os.path.isdir(folder) or not os.access(folder, os.W_OK):
        raise ValueError(f"scratch must be a folder that you can write to, but {folder!r} is not: make it first.")
    return folder


def cache_asked(rows: Any, reader: Any, change: Any, cache: Any, new_levels: str) -> CacheAsked:
    """Return what a user asks of a cache. Raise an error if tunamh cannot notice when the rows change."""
    if new_levels not in ("grow", "refuse"):
        raise ValueError(f"new_levels must be 'grow' or 'refuse', got {shown(new_levels)}.")
    if reader is not None or not _are_paths(rows):
        raise NotApplicable(
            "cache= is for Parquet files, because their footers and dates show whether they changed; tunamh would "
            "have to read your own blocks for that. Write each block to a Parquet file."
        )
    if change is not None:
        raise NotApplicable(
            "cache= and change= together are not offered: the cache cannot tell when your function changes. Write the "
            "changed tables as Parquet files, or write the change in the formula."
        )
    folder = os.path.abspath(os.fspath(rows)) if isinstance(rows, str | os.PathLike) else ""
    if os.path.isdir(folder) and os.path.abspath(os.fspath(cache)).startswith(os.path.join(folder, "")):
        raise ValueError(
            f"the cache {os.fspath(cache)!r} would lie inside {os.fspath(rows)!r}, all of whose files are opened: give "
            "it a place beside that folder."
        )
    paths = [rows] if isinstance(rows, str | os.PathLike) else list(rows)
    return CacheAsked(
        cache, new_levels, [os.path.abspath(os.fspath(one)) if "://" not in str(one) else str(one) for one in paths]
    )


def _are_paths(rows: Any) -> bool:
    if isinstance(rows, str | os.PathLike):
        return True
    return isinstance(rows, list | tuple) and len(rows) > 0 and all(isinstance(row, str | os.PathLike) for row in rows)


def as_bytes(memory: Any) -> int | None:
    """Return ``"2GiB"``, ``"500 MB"`` or a number as a number of bytes. None means that there is no limit."""
    if memory is None:
        return None
    text = str(memory).strip().lower() if isinstance(memory, str | int | float) else ""
    found = re.fullmatch(r"([0-9]*\.?[0-9]+(?:e\+?[0-9]+)?)\s*([kmgt]?i?b|)", text)
    size = float(found[1]) * _UNITS[found[2]] if found else 0.0
    if isinstance(memory, bool) or not 0 < size < 1e18:
        raise ValueError(f"memory must be a size such as '2GiB' or a number of bytes, got {shown(memory)}.")
    return int(size)
