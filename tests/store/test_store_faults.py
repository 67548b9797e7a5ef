"""A full disk, cut and changed files, a stranger's store: nothing written is lost, nothing in it is executed."""

import errno
import io
import json
import os
import pickle
import zipfile

import numpy as np
import pytest
from test_store import SIZE, new_target, same

import tunamh
from tunamh.store import Store, StoreError
from tunamh.store.chunks import Chunk, packed

pytestmark = pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")  # a hundred draws are few


@pytest.fixture
def finished(path):
    return path, tunamh.sample(new_target(), **SIZE, store=path)


def chunks_of(path, chain):
    return sorted(path.glob(f"chain-{chain}-*.npz"))


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EDQUOT, errno.EIO])
def test_a_full_disk_is_told_and_nothing_is_lost(path, monkeypatch, code):
    synced, fsync = [], os.fsync

    def full(file):
        synced.append(file)
        if len(synced) > 12:
            raise OSError(code, os.strerror(code))
        fsync(file)

    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", full)
        with pytest.raises(
            StoreError, match=r"chain-\d-\d+.npz could not be written \(.*free some space or repair"
        ) as caught:
            tunamh.sample(new_target(), **SIZE, store=path)
    assert caught.value.path.parent == path
    assert not list(path.glob("*unfinished"))
    assert same(tunamh.resume(path, new_target()), tunamh.sample(new_target(), **SIZE))


def cut(data):
    return data[: len(data) // 2]


def flipped(data):
    at = data.index(b"\x93NUMPY") + 200
    return data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :]


DAMAGES = {
    "cut": cut,
    "empty": lambda data: b"",
    "flipped": flipped,
    "no zip": lambda data: b"x" * len(data),
}


@pytest.mark.parametrize("damage", DAMAGES)
@pytest.mark.parametrize("place", [0, 3, -1])
def test_a_damaged_chunk_is_named_and_drawn_again(finished, damage, place):
    path, whole = finished
    chunk = chunks_of(path, 1)[place]
    chunk.write_bytes(DAMAGES[damage](chunk.read_bytes()))
    for reading in (tunamh.read_store, lambda path: tunamh.resume(path, new_target())):
        with pytest.raises(StoreError, match=f"{chunk.name} is damaged .* Move it away") as caught:
            reading(path)
        assert caught.value.path == chunk
    chunk.unlink()
    if place != 0:
        assert tunamh.read_store(path).posterior.sizes["draw"] == 16 * (place if place > 0 else 6)
    others = {file: file.stat().st_mtime_ns for file in path.glob("*.npz")}
    assert same(tunamh.resume(path, new_target()), whole)
    changed = [file for file, time in others.items() if file.stat().st_mtime_ns != time]
    assert set(changed) <= {chunks_of(path, 0)[-1], chunks_of(path, 1)[-1]}  # the rest was not drawn again
    assert same(tunamh.read_store(path), whole)


def test_every_byte_of_the_numbers_is_watched(finished):
    """One byte in a thousand is changed; where that goes unnoticed, the numbers read are still the right ones."""
    path, _ = finished
    store, name = Store.open(path), chunks_of(path, 0)[2]
    good, wanted = name.read_bytes(), store.chunk(0, 32)
    noticed = 0
    for at in range(17, len(good), 997):
        name.write_bytes(good[:at] + bytes([good[at] ^ 64]) + good[at + 1 :])
        try:
            found = store.chunk(0, 32)
        except StoreError:
            noticed += 1
            continue
        assert np.array_equal(found.natural, wanted.natural)
        assert np.array_equal(found.state.chain.here, wanted.state.chain.here)
    assert noticed > 10


def test_missing_chunks_in_several_places_are_drawn_again(finished):
    path, whole = finished
    for chain, places in ((0, (0, 1, 4)), (1, (2, 6))):
        for place in sorted(places, reverse=True):
            chunks_of(path, chain)[place].unlink()
    assert same(tunamh.resume(path, new_target()), whole)
    assert same(tunamh.read_store(path), whole)


def test_a_chunk_of_another_place_or_run_is_refused(finished, tmp_path):
    path, _ = finished
    other = tmp_path / "other"
    tunamh.sample(new_target(), **SIZE, store=other)
    for source, goal in (
        (chunks_of(path, 0)[1], chunks_of(path, 0)[2]),
        (chunks_of(path, 0)[1], chunks_of(path, 1)[1]),
        (chunks_of(other, 0)[1], chunks_of(path, 0)[1]),
    ):
        kept = goal.read_bytes()
        goal.write_bytes(source.read_bytes())
        with pytest.raises(StoreError, match=f"{goal.name} is damaged or does not belong to this run"):
            tunamh.read_store(path)
        goal.write_bytes(kept)
    tunamh.read_store(path)


@pytest.mark.parametrize("damage", [cut, lambda data: data.replace(b'"tune": 50', b'"tune": 51')])
def test_a_damaged_header_has_a_copy(finished, damage):
    path, whole = finished
    header = path / "header.json"
    header.write_bytes(damage(header.read_bytes()))
    with pytest.raises(StoreError, match=r"header.json is damaged .* replace the file by header.copy.json"):
        tunamh.read_store(path)
    os.replace(path / "header.copy.json", header)
    assert same(tunamh.read_store(path), whole)


# --------------------------------------------------------------------------------------------------------- strangers


SPRUNG = []


def spring(value):
    SPRUNG.append(value)


class Trap:
    def __reduce__(self):
        return spring, (1,)


def test_nothing_in_a_store_is_unpickled(finished):
    path, _ = finished
    trap = np.empty(1, object)
    trap[0] = Trap()
    pickle.loads(pickle.dumps(trap))
    assert SPRUNG.pop() == 1  # the trap works
    file = io.BytesIO()
    np.savez(file, draws=trap, allow_pickle=True)
    chunks_of(path, 0)[0].write_bytes(file.getvalue())
    with pytest.raises(StoreError, match="damaged"):
        tunamh.read_store(path)
    chunks_of(path, 0)[0].write_bytes(pickle.dumps(trap))
    with pytest.raises(StoreError, match="damaged"):
        tunamh.read_store(path)
    assert not SPRUNG


def test_a_file_that_unpacks_to_more_than_itself_is_refused(finished):
    path, _ = finished
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("draws.npy", b"\0" * 10_000_000)
    chunks_of(path, 0)[0].write_bytes(file.getvalue())
    with pytest.raises(StoreError, match="compressed, which no store writes"):
        tunamh.read_store(path)


def test_links_in_a_store_lead_nowhere(finished, tmp_path):
    path, _ = finished
    precious = tmp_path / "precious"
    precious.write_text("mine")
    last = chunks_of(path, 0)[-1]
    for name in (last.name + ".unfinished", "header.json.unfinished", f"chain-0-{112:012d}.npz.unfinished"):
        (path / name).symlink_to(precious)
    (path / f"chain-0-{128:012d}.npz.unfinished").symlink_to(tmp_path / "new")
    (path / "lock").unlink()
    (path / "lock").symlink_to(tmp_path / "new lock")
    with pytest.raises(StoreError, match="lock could not be opened"):
        tunamh.resume(path, new_target(), draws=200)
    (path / "lock").unlink()
    tunamh.resume(path, new_target(), draws=200)
    assert precious.read_text() == "mine"
    assert not (tmp_path / "new").exists()
    assert not (tmp_path / "new lock").exists()


@pytest.mark.parametrize("where", ["ring", "cursor", "lanes", "here", "kept", "memory"])
def test_a_state_that_points_outside_the_rows_does_not_reach_compiled_code(path, where):
    test = tunamh.FlyMC(q=0.1, tuned=True) if where == "memory" else tunamh.TunaMH()
    tunamh.sample(new_target(), **SIZE, test=test, store=path)
    store, name = Store.open(path), chunks_of(path, 0)[-1]
    first = int(name.stem.split("-")[-1])
    chunk: Chunk = store.chunk(0, first)
    stream = chunk.state.chain.stream
    if where == "ring":
        stream.ring[5] = 10**9
    elif where == "cursor":
        stream.cursor[0] = -7
    elif where == "lanes":
        chunk.state.chain.stream = stream._replace(lanes=stream.lanes[:1])
    elif where == "here":
        chunk.state.chain.here = np.zeros(1)
    elif where == "kept":
        chunk.state.kept = 10**9
    else:
        chunk.state.chain.memory[7] = 1e9
    name.write_bytes(packed(chunk, store.header.run, 0))
    told = r"chain 0 of the run in .* cannot continue from draw 100|its state has 1000000000 draws"
    with pytest.raises(StoreError, match=told):
        tunamh.resume(path, new_target(), test=test, draws=200)


def test_a_header_of_nonsense_is_refused(path, finished):
    header = path / "header.json"
    for text in ("[]", "3", "{}", '{"kind": "other"}', json.dumps({"kind": "tunamh store 1"}), "[" * 100_000):
        header.write_text(text)
        with pytest.raises(StoreError, match=r"header.json is damaged or written by another version"):
            tunamh.read_store(path)
