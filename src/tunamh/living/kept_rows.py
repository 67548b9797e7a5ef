"""Rows that chains draw, from those that were kept of every piece: a run reads no file, unless it needs more of them.

A row of a chain's stream is drawn by ``c_i / C`` in two steps: the piece by ``C_p / C``, then the next row kept of this
piece that nobody in this run has had. Rows kept of a piece are independent draws by ``c_i / C_p``
(`tunamh.living.piece_map`), and their order is shuffled by the run's seed, which knows nothing of them; so the rows of
all streams of a run are independent draws by ``c_i / C``. Where the rows kept of a piece are used up, it is read again,
and more are drawn.

Kept rows are dealt out to the streams: those of chain ``k`` are numbers ``k, k + S, k + 2 S, ...`` of the shuffled
list, with ``S`` the number of shares; the measure of Laplace's distance, which reads most, has several. The first 32
rows of a piece are not dealt out: by them it was decided whether the centre stays, and rows that had a say in that
would not be independent draws any more where it stayed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ..rows.gathered_rows import BlockWeights, GatheredRows
from ..rows.pool import Pool
from ..rows.servings import Served
from ..rows.source import Rows
from ..targets.expansion.foreseen import ROWS_OF_A_PIECE
from .sums import MappedPiece

SERVING = 1024
_SHARES_OF_THE_MEASURE = 4
_AT_LEAST = 2048  # rows that one more reading of a piece gives to a stream
_DEAL, _MORE = 0x6465616C, 0x6D6F7265  # in seeds: of the order of kept rows, and of rows drawn beside them


class KeptRows(GatheredRows):
    """Packed rows that were kept of every piece. Chains draw their rows from them.

    Parameters
    ----------
    map, pack
        Passes over all rows, for moves that are decided on all of them.
    pieces : sequence of MappedPiece
        The pieces with their kept rows.
    more : callable
        ``more(piece number, uniforms)`` reads a piece again and returns rows and their places in it.
    """

    serving, first_batch, growth = SERVING, 1, 1
    by_maps = False

    def __init__(
        self,
        map: Callable[[Callable[[Rows], Any]], Iterator[Any]],
        pack: Callable[[Rows], np.ndarray],
        column: int,
        pieces: Sequence[MappedPiece],
        more: Callable[[int, np.ndarray], tuple[np.ndarray, np.ndarray]],
        *,
        width: int,
        memory: int,
    ):
        lengths = [piece.sums.n_rows for piece in pieces]
        starts = np.concatenate([[0], np.cumsum(lengths)[:-1]]).astype(np.int64)
        totals = np.array([piece.total for piece in pieces])
        weights = BlockWeights(starts, totals, float(sum(piece.squares for piece in pieces)))
        settings: dict[str, Any] = {"width": width, "n_rows": int(sum(lengths)), "memory": memory}
        self.pieces, self.more = pieces, more
        super().__init__(map, pack, column, weights, **settings)
        self.audited = True

    def expect(self, chains: int) -> None:
        super().expect(chains)
        self._used: dict[Served, list[np.ndarray]] = {}
        self._dealt: dict[Any, list[np.ndarray]] = {}
        self._drawn: dict[tuple[Served, int], tuple[np.ndarray, np.ndarray]] = {}

    def most_servings(self) -> int:
        return 1

    def begin(self, *later: np.random.SeedSequence) -> None:
        """Do nothing: the rows are in memory, so none must be gathered ahead."""

    def ahead(self, k: int) -> None:
        """Do nothing: the rows are in memory, so none must be gathered ahead."""

    def take(self, k: int, pool: Pool) -> tuple[np.ndarray, np.ndarray]:
        served = pool.served
        with self._lock:
            before = self._used_before(served, k)
            dealt = self._order(served.entropy)
        wanted = self._pieces_of(served, k)
        return self._rows(served, wanted, before, dealt)

    def _pieces_of(self, served: Served, serving: int) -> np.ndarray:
        """The piece of every place of a serving."""
        ends = np.cumsum(self.sums)
        last = int(np.flatnonzero(self.sums > 0)[-1])
        uniforms = served.uniforms(serving)[0, :SERVING]
        return np.minimum(np.searchsorted(ends, uniforms * ends[-1], side="right"), last)

    def _used_before(self, served: Served, k: int) -> np.ndarray:
        """How many rows of every piece the stream has had before its serving ``k``."""
        known = self._used.setdefault(served, [np.zeros(len(self.sums), np.int64)])
        while len(known) <= k:
            counts = np.bincount(self._pieces_of(served, len(known) - 1), minlength=len(self.sums))
            known.append(known[-1] + counts)
        return known[k]

    def _order(self, entropy: Any) -> list[np.ndarray]:
        """The kept rows of every piece in the order in which this run deals them out."""
        if entropy not in self._dealt:
            rng = np.random.default_rng(np.random.SeedSequence(entropy, spawn_key=(_DEAL,)))
            self._dealt[entropy] = [
                ROWS_OF_A_PIECE + rng.permutation(max(0, len(piece.rows) - ROWS_OF_A_PIECE)) for piece in self.pieces
            ]
        return self._dealt[entropy]

    def _share(self, served: Served) -> tuple[list[int], int]:
        """Which shares are the stream's, and how many there are."""
        shares = self.chains + _SHARES_OF_THE_MEASURE
        chain = served.key[-2] if len(served.key) > 1 else -1
        if chain < 0 or chain == 2**32 - 1:
            return list(range(self.chains, shares)), shares
        return [chain % self.chains], shares

    def _rows(
        self, served: Served, wanted: np.ndarray, before: np.ndarray, dealt: list[np.ndarray]
    ) -> tuple[np.ndarray, np.ndarray]:
        rows, numbers = np.empty((SERVING, self.width)), np.empty(SERVING, np.int64)
        mine, shares = self._share(served)
        order = np.argsort(wanted, kind="stable")
        names, firsts = np.unique(wanted[order], return_index=True)
        for p, begin, end in zip(names.tolist(), firsts, [*firsts[1:], SERVING], strict=True):
            places, piece, used = order[begin:end], self.pieces[p], int(before[p])
            own = np.concatenate([dealt[p][share::shares] for share in mine])
            here = own[used : used + len(places)]
            rows[places[: len(here)]], numbers[places[: len(here)]] = piece.rows[here], piece.places[here]
            lacking = places[len(here) :]
            if len(lacking):
                first = max(0, used - len(own))
                rows[lacking], numbers[lacking] = self._drawn_beside(served, p, first, first + len(lacking))
            numbers[places] += int(self.starts[p])
        self.gathered += SERVING
        return rows, numbers

    def _drawn_beside(self, served: Served, p: int, first: int, stop: int) -> tuple[np.ndarray, np.ndarray]:
        """Rows number ``first`` to ``stop`` of those that a stream draws where kept rows are used up."""
        known = self._drawn.get((served, p))
        if known is None or len(known[1]) < stop:
            count = max(_AT_LEAST, 2 * stop)
            seed = np.random.SeedSequence(served.entropy, spawn_key=(*served.key, _MORE, p))
            known = self._drawn[served, p] = self.more(p, np.random.default_rng(seed).random(count))
        return known[0][first:stop], known[1][first:stop]
