"""One record as a file: arrays of plain numbers and a few words about them. Nothing in it is executed or unpickled.

The bytes are a magic word, a checksum of all that follows, the length of a JSON text, the text (words, and the type
and shape of every array), and the arrays one behind the other.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

_MAGIC = b"tunamh-record-1\n"
_DIGEST = 16
_KINDS = ("<f8", "<f4", "<i8", "<i4", "<i2", "|i1", "|b1")


class Record(NamedTuple):
    """Arrays by name, and words about them that JSON can store."""

    words: dict[str, Any]
    arrays: dict[str, np.ndarray]


def as_bytes(record: Record) -> bytes:
    arrays = {name: np.ascontiguousarray(array) for name, array in sorted(record.arrays.items())}
    about = {name: [array.dtype.newbyteorder("<").str, list(array.shape)] for name, array in arrays.items()}
    text = json.dumps({"words": record.words, "arrays": about}, sort_keys=True).encode()
    body = len(text).to_bytes(8, "little") + text + b"".join(array.tobytes() for array in arrays.values())
    return _MAGIC + hashlib.blake2b(body, digest_size=_DIGEST).digest() + body


def from_bytes(data: bytes) -> Record | None:
    """Return the record, or None if the bytes are incomplete, changed or something else."""
    begin = len(_MAGIC) + _DIGEST
    body = memoryview(data)[begin:]
    if (
        data[: len(_MAGIC)] != _MAGIC
        or hashlib.blake2b(body, digest_size=_DIGEST).digest() != data[len(_MAGIC) : begin]
    ):
        return None
    try:
        at = 8 + int.from_bytes(body[:8], "little")
        found = json.loads(bytes(body[8:at]))
        arrays = {}
        for name, (kind, shape) in found["arrays"].items():
            if kind not in _KINDS:
                return None
            count = int(np.prod(shape, dtype=np.int64))
            arrays[name] = np.frombuffer(body, kind, count, at).reshape(shape).copy()  # aligned, and writeable
            at += arrays[name].nbytes
        return Record(found["words"], arrays)
    except (ValueError, TypeError, LookupError, AttributeError):
        return None


def read(path: Path) -> Record | None:
    """Return the record in a file, or None if there is no complete record."""
    try:
        return from_bytes(path.read_bytes())
    except OSError:
        return None


def numbers_of(record: Record, names: Mapping[str, int]) -> bool:
    """Return True if the record has arrays with these names and numbers of dimensions."""
    return all(name in record.arrays and record.arrays[name].ndim == ndim for name, ndim in names.items())
