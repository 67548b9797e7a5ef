"""What data looked like when a target was made, so that a later change is noticed.

Targets read the user's own arrays, without a copy. A seal holds one whole number per block of rows: the bits of its
numbers, read as whole numbers, times an odd factor for each row, added up modulo a power of two. A change of a single
number always changes it, and every machine finds the same.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..tables.matrices import refuse_non_finite
from .passes import ROWS_AT_ONCE, over_blocks

_FACTORS = 2 * np.random.default_rng(0).integers(1 << 62, size=ROWS_AT_ONCE, dtype=np.uint64) + np.uint64(1)
_SPREAD = 1000


class Seal:
    """Checksums of arrays with the same number of rows; making one refuses numbers that are no use.

    ``names`` are those of the columns, by array, where there are any.
    """

    def __init__(self, arrays: dict[str, np.ndarray], names: Mapping[str, Sequence[str] | None]):
        self._arrays = arrays
        self._n_rows = len(next(iter(arrays.values())))
        self._some = slice(None, None, max(1, self._n_rows // _SPREAD))

        def look(block: slice) -> tuple[int, list[bytes]]:
            for what, array in arrays.items():
                labels = names.get(what)
                refuse_non_finite(array[block], what, block.start, None if labels is None else list(labels))
            return block.start, self._of_block(block)

        self._sums = dict(over_blocks(look, self._n_rows))
        self._few = self._of_few()

    @property
    def digest(self) -> str:
        """A short hash of all that is sealed."""
        shapes = [array.shape for array in self._arrays.values()]
        digest = hashlib.blake2b(repr((shapes, ROWS_AT_ONCE)).encode(), digest_size=8)
        for sums in self._sums.values():
            digest.update(b"".join(sums))
        return digest.hexdigest()

    def check_block(self, block: slice) -> None:
        """Raise unless these rows are as they were."""
        self._compare(self._of_block(block), self._sums[block.start], f" in rows {block.start} to {block.stop - 1}")

    def check_around(self, first: int, last: int) -> None:
        """`check_block` for all blocks that hold rows from ``first`` to ``last``."""
        for start in range(first - first % ROWS_AT_ONCE, last + 1, ROWS_AT_ONCE):
            self.check_block(slice(start, min(start + ROWS_AT_ONCE, self._n_rows)))

    def check_some(self) -> None:
        """Raise unless a thousand rows, spread over the data, and all of the vectors are as they were."""
        self._compare(self._of_few(), self._few)

    def _of_block(self, block: slice) -> list[bytes]:
        return [_checksum(array[block]) for array in self._arrays.values()]

    def _of_few(self) -> list[bytes]:
        few = (array[self._some] if array.ndim > 1 else array for array in self._arrays.values())
        return [hashlib.blake2b(np.ascontiguousarray(part).tobytes(), digest_size=8).digest() for part in few]

    def _compare(self, now: list[bytes], before: list[bytes], where: str = "") -> None:
        for what, one, other in zip(self._arrays, now, before, strict=True):
            if one != other:
                raise ValueError(
                    f"{what} was changed{where} after the target was made from it: make a new target, or give this "
                    f"one a copy of {what}."
                )


def _checksum(array: np.ndarray) -> bytes:
    bits = array.view(f"u{array.dtype.itemsize}")
    factors = _FACTORS[: len(array)].astype(bits.dtype if bits.dtype.itemsize >= 4 else np.uint64)
    return np.einsum("i,ij->" if bits.ndim == 2 else "i,i->", factors, bits).tobytes()


# ---------------------------------------------------------------------------------------------- blocks of a source


def digest_of(arrays: Sequence[Any]) -> int:
    """A whole number of the arrays of a block (None: not there), to be found again whenever the block is read.

    The bits of the numbers in single precision, read as whole numbers, times an odd factor for each place, added up
    modulo ``2^32``: a change of one number in its first seven digits always changes it, of several almost always. What
    workers of unlike machines round otherwise hardly ever does.
    """
    total = 0
    for array in arrays:
        if array is None:
            continue
        array = np.asarray(array)
        short = array.dtype.kind in "biu" and array.dtype.itemsize <= 4
        with np.errstate(over="ignore"):
            single = np.asarray(array, dtype=np.int32 if short else np.float32)
        total = total * 0x9E3779B97F4A7C15 + _sum_of_bits(single)
    return total % (1 << 64)


def _sum_of_bits(single: np.ndarray) -> int:
    """The factors are those of places in rows one behind the other, however the numbers lie in memory."""
    if single.ndim == 2 and single.shape[1] > 1 and single.flags.f_contiguous:
        columns = single.T.view(np.uint32)
        return int(np.einsum("i,i->", columns.ravel(), _odd_by_columns(*single.shape)))
    bits = np.ascontiguousarray(single).view(np.uint32).ravel()
    return int(np.einsum("i,i->", bits, _odd(bits.size)))


@functools.lru_cache(maxsize=16)
def _odd(size: int) -> np.ndarray:
    """Odd factors, the same for every block of a size."""
    return 2 * np.random.default_rng(1).integers(1 << 31, size=size, dtype=np.uint32) + np.uint32(1)


@functools.lru_cache(maxsize=16)
def _odd_by_columns(n_rows: int, columns: int) -> np.ndarray:
    """The same, column by column."""
    return np.ascontiguousarray(_odd(n_rows * columns).reshape(n_rows, columns).T).ravel()
