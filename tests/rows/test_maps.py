"""How often a set-up reads the rows, and what one map does for several."""

import numpy as np
import pytest
from made import LATE, N, X, write

import tunamh
from tunamh.rows.pieces import InPieces
from tunamh.sampling.run import ChainRun, Size
from tunamh.sampling.session import Choices
from tunamh.targets.search.newton import corrected, find_mode


@pytest.fixture
def maps(monkeypatch):
    """Counts maps over the tables that the test opens; an earlier test's may still be read in the background."""
    begun, opened, whole, make = [], [], InPieces.map, InPieces.__init__

    def made(self, *given, **named):
        opened.append(self)
        make(self, *given, **named)

    def counted(self, function, columns=None):
        if any(self is one for one in opened):
            begun.append(columns)
        return whole(self, function, columns)

    monkeypatch.setattr(InPieces, "__init__", made)
    monkeypatch.setattr(InPieces, "map", counted)
    return begun


def test_a_set_up_reads_the_rows_four_times(tmp_path, maps):
    """A look with samples, the search, its last step with bounds and audit; then the first rows of the chains."""
    rows = tunamh.open_rows(write(tmp_path), memory="1MiB")
    target = tunamh.LogisticRegression(rows[["a", "b", "c"]], y="late")
    assert len(maps) == 1
    made = Choices(target, None, None, None).sampler()
    assert len(maps) == 3
    made.target.gathered.expect(1)
    run = ChainRun(made.target, made.ready, np.random.SeedSequence(1), 0, None, Size(50, 20))
    made.target.gathered.begin()
    assert made.target.gathered.gathered == 0
    run.open()
    run._advance(slice(0, 1), 1)
    assert len(maps) == 4
    assert made.target.gathered.gathered > 0


def test_rows_that_no_audit_asked_for_are_gathered_when_they_are_needed(tmp_path, maps):
    rows = tunamh.open_rows(write(tmp_path), memory="1MiB")
    target = tunamh.LogisticRegression(rows[["a", "b", "c"]], y="late")
    made = Choices(target, None, None, None).sampler()
    run = ChainRun(made.target, made.ready, np.random.SeedSequence(1), 0, None, Size(50, 20))
    run.open()
    before, gathered = len(maps), made.target.gathered
    gathered.begin()
    found = gathered.take(0, run.setup.pool)
    assert len(maps) == before + 1
    gathered.expect(1)
    again = gathered._gather(0, [run.setup.pool.served])[run.setup.pool.served]
    assert all((one == other).all() for one, other in zip(found, again, strict=True))


def test_a_correction_that_leaves_nothing_is_not_looked_at(tmp_path, maps):
    """From the mode of a sample: one gradient of all rows, if the sample is said to be large."""
    rows = tunamh.open_rows(write(tmp_path), memory="1MiB")
    target = tunamh.LogisticRegression(rows[["a", "b", "c"]], y="late")
    (sample,) = target.samples()
    found, before = find_mode(sample), len(maps)
    far = corrected(target, found, 1000)
    assert len(maps) - before == 2
    near = corrected(target, found, 10**9)
    assert len(maps) - before == 3
    assert near == pytest.approx(far, abs=5e-3)


def test_samples_for_the_mode_come_with_those_of_the_columns(tmp_path, maps):
    rows = tunamh.open_rows(write(tmp_path), memory="1MiB")
    target = tunamh.LogisticRegression(rows[["a", "b"]], y="late")
    assert target.columns.frame is None
    sizes = [sample.n_rows for sample in target.samples()]
    assert sizes == [N // 10]
    assert len(maps) == 1
    again = [sample.observations.y for sample in target.samples()]  # the first ones are not kept
    assert len(maps) == 2
    index = np.sort(np.random.default_rng(10).integers(N, size=N // 10))
    assert (again[0] == LATE[index]).all()


@pytest.mark.parametrize(("formula", "looks"), [("late ~ a + b + carrier", 1), ("late ~ carrier:kind + scale(a)", 2)])
def test_a_formula_looks_once_where_one_look_will_do(tmp_path, maps, formula, looks):
    """What is learned, every number, and samples: those for the mode come with those of the columns."""
    table = {"a": X[:, 0], "b": X[:, 1], "late": LATE, "carrier": np.arange(N) % 3, "kind": np.arange(N) % 2}
    parts = [{name: values[k : k + 10_000] for name, values in table.items()} for k in range(0, N, 10_000)]
    for part in parts:
        part["carrier"], part["kind"] = part["carrier"].astype(str), part["kind"].astype(str)
    target = tunamh.regression(formula, tunamh.open_rows(parts, memory="1MiB"), family="logistic")
    assert len(maps) == looks + 1
    sizes = [sample.n_rows for sample in target.samples()]
    assert sizes == [N // 10]
    assert len(maps) == looks + 1
    whole = {name: np.concatenate([one[name] for one in parts]) for name in parts[0]}
    held = tunamh.regression(formula, whole, family="logistic")
    assert target.names == held.names
    for name, typical in held.formula.typical.items():
        found = target.formula.typical[name]
        assert (found.value, found.sd) == (typical.value, 0.0) or found.sd == pytest.approx(typical.sd, rel=1e-9)
    np.testing.assert_allclose(target._prior.precision, held._prior.precision, rtol=1e-9)


def test_samples_are_not_those_of_other_rows_or_columns(tmp_path):
    rows = tunamh.open_rows(write(tmp_path), memory="1MiB")
    target = tunamh.LogisticRegression(rows[["a", "b"]], y="late").knowing_columns()
    assert len(target._samples_ahead) == 1
    (sample,) = target.on_columns(np.array([True, False])).samples()
    assert sample.dim == sample.observations.design.dim == 1
    few = target.on_rows(np.arange(20_000))
    assert [one.n_rows for one in few.samples()] == [2_000]


def test_rows_are_taken_in_the_order_that_is_asked_for(tmp_path):
    rows = tunamh.open_rows(write(tmp_path), memory="1MiB")
    target = tunamh.LogisticRegression(rows[["a", "carrier"]], y="late", weights="weights")
    index = np.array([39_999, 3, 17_000, 3, 8192])
    taken = target.observations.take(index)
    assert (taken.y == LATE[index]).all()
    assert (taken.rows().X.dense()[:, 0] == X[index, 0]).all()


def test_columns_in_several_chunks_or_with_gaps_are_read_too(tmp_path):
    """`change` may return such tables: then a block's columns are asked of the table."""
    import pyarrow as pa

    def cut(table):
        half = table.num_rows // 2
        return pa.concat_tables([table.slice(0, half), table.slice(half)])

    path = write(tmp_path)
    plain, changed = (
        tunamh.LogisticRegression(tunamh.open_rows(path, memory="1MiB", change=change)[["a", "b"]], y="late")
        for change in (None, cut)
    )
    assert (plain.expansion(np.zeros(2)).hessian == changed.expansion(np.zeros(2)).hessian).all()
