"""Pieces are mapped with one BLAS thread each: sums have the same bits on any number of cores, and no thread waits."""

from days import living, write_day

from tunamh.living.piece_map import PieceMap
from tunamh.living.pieces import RowsOfPieces
from tunamh.process import blas


def test_whoever_reads_or_maps_a_piece_holds_blas(tmp_path, monkeypatch):
    held, mapped, read = [], PieceMap.__call__, RowsOfPieces.__init__

    def watched(self, given, *others):
        held.append(blas._process.inside + blas._thread.hold.inside)
        return mapped(self, given, *others)

    def reading(self, pieces, lengths, rows, *others, **settings):
        def watched_rows(piece):
            for block in rows(piece):
                held.append(blas._process.inside + blas._thread.hold.inside)
                yield block

        read(self, pieces, lengths, watched_rows, *others, **settings)

    monkeypatch.setattr(PieceMap, "__call__", watched)
    monkeypatch.setattr(RowsOfPieces, "__init__", reading)
    (tmp_path / "days").mkdir()
    for day in range(2):
        write_day(tmp_path / "days", day)
    living(tmp_path / "days", tmp_path / "c.tunamh")
    assert len(held) > 4
    assert min(held) > 0
