"""Tables from files, and results to files that are not there yet. Nothing that is read is executed or unpickled."""

from __future__ import annotations

import contextlib
import os
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import numpy as np

from ..results.netcdf import as_bytes, read_saved
from .app import Refused

KINDS = ".parquet, .csv, .tsv (also .gz), .npy or .npz"


def read_table(path: Path, memory: str | None = None, cache: str | None = None, new_levels: str = "grow") -> Any:
    """Return a pandas or pyarrow table, or a dict of arrays. ``memory`` limits the memory for Parquet files."""
    parquet = path.is_dir() or path.suffix in _PARQUET
    if memory is not None and not parquet:
        raise Refused(f"--memory works only with Parquet files, and {path} is not one.")
    if cache is not None:
        if not parquet:
            raise Refused(f"--cache works only with Parquet files, and {path} is not one.")
        from ..rows.formats import open_rows

        return open_rows(str(path), memory=memory or "2GiB", cache=cache, new_levels=new_levels)
    if _in_blocks(path) or (memory is not None and path.exists()):
        from ..rows.formats import open_rows

        return open_rows(str(path)) if memory is None else open_rows(str(path), memory=memory)
    if not path.exists():
        raise Refused(f"there is no file {path}.")
    if path.is_dir():
        raise Refused(f"{path} is a folder without Parquet files; give data as {KINDS}.")
    if path.stat().st_size == 0:
        raise Refused(f"the file {path} is empty.")
    kind = "".join(path.suffixes[-2:]) if path.suffix == ".gz" else path.suffix
    readers = {".parquet": _parquet, ".pq": _parquet, ".csv": _csv, ".csv.gz": _csv, ".tsv": _tsv, ".tsv.gz": _tsv}
    readers |= {".npy": _arrays, ".npz": _arrays}
    reader = readers.get(kind.lower())
    if reader is None:
        raise Refused(
            f"{path} ends in {kind or 'nothing'!s}, which is not the ending of a file that tunamh reads: {KINDS}."
        )
    try:
        return reader(path)
    except (Refused, PermissionError, MemoryError):
        raise
    except Exception as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise Refused(f"{path} cannot be read as {kind}: {first}") from None


_PARQUET = (".parquet", ".pq")
_LARGE = 1 << 30  # bytes of a Parquet file, from which on it is read block by block


def _in_blocks(path: Path) -> bool:
    """A folder or pattern of Parquet files, or a large one."""
    if path.is_dir():
        return any(path.rglob("*.parquet"))
    if path.suffix not in _PARQUET:
        return False
    pattern = any(mark in path.name for mark in "*?[") and not path.exists()
    return pattern or (path.exists() and path.stat().st_size > _LARGE)


def _parquet(path: Path) -> Any:
    try:
        import pyarrow.parquet as parquet
    except ImportError:
        raise Refused("reading Parquet files needs pyarrow: pip install pyarrow.") from None
    return parquet.read_table(path)


def _csv(path: Path, separator: str = ",") -> Any:
    import pandas as pd

    table = pd.read_csv(path, sep=separator, low_memory=False)
    if table.shape[1] == 1 and any(mark in str(table.columns[0]) for mark in ";\t") and separator == ",":
        raise Refused(f"{path} has one column, {str(table.columns[0])[:60]!r}: are its columns separated by commas?")
    return table


def _tsv(path: Path) -> Any:
    return _csv(path, "\t")


def _arrays(path: Path) -> dict[str, np.ndarray]:
    """Of a matrix ``X`` the columns are ``X0``, ``X1``, ...; of a file of one array ``x0``, ``x1``, ..."""
    loaded = np.load(path, allow_pickle=False)
    arrays = {"x": loaded} if isinstance(loaded, np.ndarray) else {name: loaded[name] for name in loaded.files}
    found: dict[str, np.ndarray] = {}
    for name, array in arrays.items():
        if array.dtype.names:
            found |= {column: array[column] for column in array.dtype.names}
        elif array.ndim == 1:
            found[name] = array
        elif array.ndim == 2:
            found |= {f"{name}{j}": array[:, j] for j in range(array.shape[1])}
        else:
            raise Refused(f"{name} in {path} has shape {array.shape}: arrays must have one or two dimensions.")
    return found


# --------------------------------------------------------------------------------------------------------- results


def refuse_existing(out: Path, *endings: str) -> None:
    """Raise an error if the output file exists or cannot be written. This is called before long work."""
    if os.path.lexists(out):
        raise Refused(f"{out} exists already: choose another name. tunamh never overwrites a file.")
    if endings and out.suffix not in endings:
        raise Refused(f"{out} must end in {' or '.join(endings)}.")
    if not out.parent.is_dir():
        raise Refused(f"there is no folder {out.parent}: make it first.")
    if not os.access(out.parent, os.W_OK | os.X_OK):
        raise Refused(
            f"the folder {out.parent} cannot be written to: change its permissions, or choose another folder."
        )


def write_new(out: Path, write: Callable[[IO[bytes]], Any]) -> None:
    """Let ``write(file)`` fill a temporary file, then give it its name, unless a file with this name exists now."""
    handle, name = tempfile.mkstemp(dir=out.parent, prefix=f".{out.name}.", suffix=out.suffix)
    part = Path(name)
    try:
        with os.fdopen(handle, "wb") as file:
            write(file)
            file.flush()
            os.fsync(handle)
        part.chmod(0o666 & ~_umask())
        os.link(part, out)
    except FileExistsError:
        raise Refused(f"{out} exists now, because another program made it. tunamh never overwrites a file.") from None
    finally:
        with contextlib.suppress(FileNotFoundError):
            part.unlink()


def _umask() -> int:
    found = os.umask(0)
    os.umask(found)
    return found


def save(tree: Any, out: Path) -> Path:
    """Save a DataTree as netCDF. If this fails, save it in the folder of temporary files, so that no draws are lost."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of other libraries, which a filter may make errors
        data = as_bytes(tree)
    try:
        write_new(out, lambda file: file.write(data))
        return out
    except (OSError, Refused) as error:
        told = _reason(error)
    spare = Path(tempfile.mkdtemp(prefix="tunamh-")) / out.name
    try:
        write_new(spare, lambda file: file.write(data))
    except OSError as error:
        spare.parent.rmdir()
        raise Refused(
            f"{out} could not be written ({told}), and neither could a file in {tempfile.gettempdir()} "
            f"({_reason(error)}): the draws are lost, unless --store kept them. Make room and sample again."
        ) from None
    raise Refused(f"{out} could not be written ({told}): the draws are in {spare}.")


def _reason(error: Exception) -> str:
    return (isinstance(error, OSError) and error.strerror) or str(error)


def open_result(path: Path) -> Any:
    """Open a saved result or a stored run."""
    if not path.exists():
        raise Refused(f"there is no file or folder {path}.")
    if path.is_dir():
        from ..store import read_store

        return read_store(path)
    try:
        return read_saved(path)
    except (OSError, ValueError) as error:
        first = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise Refused(f"{path} cannot be read as a result of tunamh sample: {first}.") from None
