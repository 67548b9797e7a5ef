"""One chunk as a file: draws and statistics of a chain, and its state after the last of them.

The file is NumPy's ``.npz``, arrays of plain numbers one behind the other. Nothing in it is executed, unpickled or
unpacked to somewhere else, whoever wrote it. A checksum of all arrays, keyed by the run, tells a cut or changed file,
and one that belongs to another run.
"""

from __future__ import annotations

import hashlib
import io
import struct
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..chains.state import RunState
from ..results.tree import ChainResult
from .errors import StoreError
from .files import read_whole

_STATE, _CHECKSUM = "state.", "checksum"
_UNREADABLE = (
    *(ValueError, TypeError, LookupError, AttributeError, OSError, EOFError, MemoryError, ArithmeticError),
    *(NotImplementedError, RuntimeError, zipfile.BadZipFile, struct.error),
)  # whatever forged and cut files lead to
_ROOM = 1 << 26  # bytes of a file beside the draws and a state that takes no more than these


class Chunk(NamedTuple):
    """Draws of a chain from number ``first`` on.

    Parameters
    ----------
    result : ChainResult
        Draws in the coordinates of the chain, their record and times.
    natural : array
        The same draws as a user knows the parameters.
    state : RunState
        After the last of the draws and, it may be, some steps more.
    seconds : float
        That the chain took for all draws up to here.
    """

    first: int
    result: ChainResult
    natural: np.ndarray
    state: RunState
    seconds: float

    @property
    def stop(self) -> int:
        return self.first + len(self.result.draws)


def file_name(chain: int, first: int) -> str:
    return f"chain-{chain}-{first:012d}.npz"


def packed(chunk: Chunk, run: str, chain: int) -> bytes:
    """Return the bytes of the file of a chunk."""
    draws, record, elapsed, _ = chunk.result
    arrays = {"draws": draws, "record": record, "elapsed": elapsed, "seconds": np.array(chunk.seconds)}
    if chunk.natural is not draws:
        arrays["natural"] = chunk.natural
    arrays |= {_STATE + name: array for name, array in chunk.state.to_arrays().items()}
    file = io.BytesIO()
    checked = {**arrays, _CHECKSUM: _checksum(arrays, run, chain, chunk.first)}
    np.savez(file, allow_pickle=False, **checked)
    return file.getvalue()


def read_chunk(path: Path, run: str, chain: int, first: int, sizes: tuple[int, int, int], most: int) -> Chunk:
    """Read a chunk from a file and check every number.

    ``sizes`` are its numbers of columns, ``most`` is its largest length.
    """
    try:
        arrays = _arrays_in(read_whole(path, _ROOM + 16 * most * (sum(sizes) + 1)))
        checksum = arrays.pop(_CHECKSUM, None)
        if checksum is None or not np.array_equal(checksum, _checksum(arrays, run, chain, first)):
            raise ValueError("its checksum does not fit its numbers and its place in this run")
        return _chunk_of(arrays, first, sizes, most)
    except _UNREADABLE as error:
        raise StoreError(
            f"{path} is damaged or does not belong to this run ({str(error) or type(error).__name__}). Move it away. "
            f"Then tunamh.resume makes its draws again, bit for bit, from the file before it; tunamh.read_store "
            f"returns the draws before it.",
            path,
        ) from error


def _arrays_in(data: bytes) -> dict[str, np.ndarray]:
    """The arrays of an ``.npz``; only such as take no more room than the file itself."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        inside = archive.infolist()
        if any(member.compress_type != zipfile.ZIP_STORED for member in inside):
            raise ValueError("it is compressed, which no store writes")
        if sum(member.file_size for member in inside) > len(data):
            raise ValueError("its table of contents promises more than there is")
    with np.load(io.BytesIO(data), allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def _chunk_of(arrays: Mapping[str, np.ndarray], first: int, sizes: tuple[int, int, int], most: int) -> Chunk:
    draws, record, elapsed = (arrays[name] for name in ("draws", "record", "elapsed"))
    natural, n = arrays.get("natural", draws), len(draws)
    state = {name.removeprefix(_STATE): array for name, array in arrays.items() if name.startswith(_STATE)}
    shapes = [draws.shape, natural.shape, record.shape, elapsed.shape]
    kinds = {array.dtype for array in (draws, natural, record, elapsed)}
    if n > most or shapes != [(n, sizes[0]), (n, sizes[1]), (n, sizes[2]), (n,)] or kinds != {np.dtype(np.float64)}:
        raise ValueError("its arrays have other sizes than this run's")
    loaded = RunState.from_arrays(state)
    if loaded.kept != first + n:
        raise ValueError(f"its state has {loaded.kept} draws where {first + n} are kept")
    result = ChainResult(draws, record, elapsed, float(loaded.proposal_knobs[0]))
    return Chunk(first, result, natural, loaded, float(arrays["seconds"].item()))


def _checksum(arrays: Mapping[str, np.ndarray], run: str, chain: int, first: int) -> np.ndarray:
    digest = hashlib.blake2b(repr((run, chain, first)).encode(), digest_size=16)
    for name, array in sorted(arrays.items()):
        digest.update(repr((name, array.dtype.str, array.shape)).encode())
        digest.update(np.ascontiguousarray(array).data)
    return np.frombuffer(digest.digest(), np.uint8)
