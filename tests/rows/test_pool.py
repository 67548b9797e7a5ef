"""Rows gathered ahead of the chain: their law, their order, and draws that are the same whatever is held in memory."""

import shutil

import numpy as np
import pytest
from made import CARRIER, LATE, N, X, write
from scipy import stats

import tunamh
from tunamh.chains.loop import advance, setup_of
from tunamh.chains.metropolis import joined
from tunamh.rows import gathered_rows as batches
from tunamh.rows.passes import ROWS_AT_ONCE
from tunamh.rows.servings import SERVING, Plan, Served, by_cumulated
from tunamh.sampling.run import ChainRun, Size
from tunamh.targets.expansion.one_predictor import OnePredictor

STEPS = {"test": tunamh.MHSS(floor=40, delayed=False), "proposal": tunamh.Autoregressive(rho=0.0)}
"""Forty rows a step, decided with noise: a wrong law of rows shows."""

COLUMNS = ["a", "b", "carrier"]


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    return write(tmp_path_factory.mktemp("pool"))


def target(path, memory="1MiB", **given):
    return tunamh.LogisticRegression(tunamh.open_rows(path, memory=memory)[COLUMNS], y="late", **given)


def draws(of, n=100, **given):
    return tunamh.sample(of, draws=n, **{"chains": 2, "rng": 1, **STEPS, **given})


def same(one, other):
    return (one.posterior["theta"].values == other.posterior["theta"].values).all()


# ------------------------------------------------------------------------------------------------------ the law


def drawn(c, length, servings, key=(0,)):
    """Numbers of rows by the law c, from blocks of so many rows."""
    starts = np.arange(0, len(c), length)
    sums = np.array([c[start : start + length].sum() for start in starts])
    plan = Plan(starts, sums, (Served(7, key),), 0, servings)
    found = np.empty(servings * SERVING, np.int64)
    for start in starts:
        _, places, uniforms = plan.of(start)
        if len(places):
            found[places] = start + by_cumulated(c[start : start + length], uniforms)
    return found


def distance(rows, c):
    """The p-value of a chi-squared test of the law c / C."""
    expected = len(rows) * c / c.sum()
    counts = np.bincount(rows, minlength=len(c))
    assert counts[c == 0].sum() == 0
    return stats.chisquare(counts[c > 0], expected[c > 0]).pvalue


def test_rows_have_their_law_in_whatever_blocks():
    c = np.random.default_rng(1).gamma(0.7, size=200)
    c[[0, 57, 199]] = 0.0
    c[100:120] = 0.0
    for length in (20, 64, 200):
        rows = drawn(c, length, 30)
        assert distance(rows, c) > 1e-3
        pairs = rows[:-1:2] % 2 * 2 + rows[1::2] % 2  # neighbours in the stream are independent
        odd = c[1::2].sum() / c.sum()
        wanted = len(pairs) * np.array([(1 - odd) ** 2, odd * (1 - odd), odd * (1 - odd), odd**2])
        assert stats.chisquare(np.bincount(pairs, minlength=4), wanted).pvalue > 1e-3


def test_another_law_would_be_noticed():
    """Negative control: rows by c inside blocks that are all alike."""
    c = np.random.default_rng(1).gamma(0.7, size=200)
    wrong = np.concatenate([c[k : k + 20] / c[k : k + 20].sum() for k in range(0, 200, 20)])
    assert distance(drawn(wrong, 20, 30), c) < 1e-9


def test_streams_of_chains_are_not_the_same():
    c = np.ones(1000)
    assert (drawn(c, 100, 1) == drawn(c, 100, 1)).all()
    assert (drawn(c, 100, 1) == drawn(c, 100, 1, key=(1,))).mean() < 0.01


# ---------------------------------------------------------------------------------------------------- the draws


def test_draws_have_the_law_of_rows_in_memory(path):
    """z-tests of means and standard deviations; one chain of independent proposals has as many draws as it has."""
    held, pooled = (
        tunamh.sample(target(path, memory), draws=4000, chains=2, rng=k, **STEPS)
        for k, memory in enumerate(("1GiB", "1MiB"))
    )
    assert float(pooled.sample_stats["batch_size"].mean()) == pytest.approx(40, rel=0.05)
    for statistic in (lambda x: x, lambda x: (x - x.mean((0, 1))) ** 2):
        values = [statistic(tree.posterior["theta"].values) for tree in (held, pooled)]
        means = [value.reshape(-1, 10, 400, value.shape[-1]).mean(2).reshape(-1, value.shape[-1]) for value in values]
        error = np.sqrt(sum(mean.var(axis=0, ddof=1) / len(mean) for mean in means))
        z = (means[0].mean(axis=0) - means[1].mean(axis=0)) / error
        assert np.abs(z).max() < 4.5


def two_slopes():
    """Short rows say one thing and long rows another: a law that is not c_i / C counts them otherwise."""
    rng = np.random.default_rng(3)
    x = np.where(np.arange(16_384) % 4 == 0, 3.0, 0.3) * rng.choice([-1.0, 1.0], 16_384)
    slope = np.where(np.abs(x) > 1, 0.2, 2.0)
    y = (rng.random(16_384) < 1 / (1 + np.exp(-slope * x))).astype(float)
    return [{"x": x[:8192], "y": y[:8192]}, {"x": x[8192:], "y": y[8192:]}]


def far_from_truth(memory):
    """The posterior mean of factorised Metropolis-Hastings from the mode, in posterior standard deviations."""
    of = tunamh.LogisticRegression(tunamh.open_rows(two_slopes(), memory=memory)[["x"]], y="y", temper=0.02)
    given = {"test": tunamh.FactorizedMH(truncation=np.inf), "proposal": tunamh.RandomWalk(0.05)}
    theta = tunamh.sample(of, draws=2000, chains=2, thin=3, rng=1, **given).posterior["theta"].values
    return abs(theta.mean() - of.modes[0].point[0]) / theta.std()


@pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
def test_rows_by_another_law_change_the_posterior(monkeypatch):
    """Without a control variate every row speaks. Negative control: uniform rows in the place of c_i / C."""
    assert far_from_truth("100KiB") < 0.5
    monkeypatch.setattr("tunamh.rows.servings.by_cumulated", lambda c, uniforms: (uniforms * len(c)).astype(int))
    assert far_from_truth("100KiB") > 3


@pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
@pytest.mark.parametrize("memory", ["200KiB", "2.5MiB"])
def test_draws_do_not_depend_on_how_many_rows_are_held(path, memory, monkeypatch):
    """Batches of other sizes, gathered at other moments: the stream of rows is the same."""
    before = draws(target(path))
    monkeypatch.setattr(batches, "FIRST_BATCH", 1)
    assert same(before, draws(target(path, memory)))
    assert same(before, draws(target(path, memory), cores=1))
    assert not same(before, draws(target(path), rng=2))


def test_all_rows_are_read_by_maps(path):
    """Steps that need all rows are the same, to rounding, as with rows in memory; they are counted."""
    control = tunamh.Taylor(centre=[0.58, -0.38, 0.01, 0.52, 0.0])  # where a search ends depends on where rows are
    pooled, held = (
        tunamh.sample(target(path, memory), draws=8, tune=5, chains=1, rng=1, test=tunamh.MH(), control=control)
        for memory in ("1MiB", "1GiB")
    )
    assert pooled.posterior["theta"].values == pytest.approx(held.posterior["theta"].values, abs=1e-9)
    assert (pooled.sample_stats["batch_size"].values == N).all()
    assert tunamh.check_bounds(target(path), pairs=2, rng=1) <= 1


def test_tests_that_need_rows_in_memory_say_so(path):
    for test in (tunamh.FlyMC(), tunamh.AustereMH(), tunamh.MHMinibatch()):
        with pytest.raises(tunamh.NotApplicable, match=r"packed, they take [\d,]+ bytes, and 1,048,576 are allowed"):
            tunamh.sample(target(path), test=test, draws=5)


def test_unknown_scales_and_mixture_priors_from_a_pool(path):
    rows = tunamh.open_rows(path, memory="1MiB")
    robust = tunamh.sample(tunamh.GLM(rows[["a", "b"]], "noisy", tunamh.StudentT(4)), draws=500, chains=2, rng=1)
    table = np.asarray(tunamh.open_rows(path).first(["noisy"]).table["noisy"])
    assert len(table) == ROWS_AT_ONCE
    assert float(robust.posterior["scale"].mean()) == pytest.approx(1.0, abs=0.05)
    shrunk = tunamh.GLM(rows[["a", "b", "c"]], "late", tunamh.Logistic(), prior=tunamh.priors.Horseshoe())
    theta = tunamh.sample(shrunk, draws=500, chains=2, rng=1).posterior["theta"].values
    assert np.abs(theta.mean((0, 1)) - [0.6, -0.4, 0.2]).max() < 0.06


# ------------------------------------------------------------------------------------------------ store and resume


def test_a_stored_run_goes_on_bit_for_bit(path, tmp_path, monkeypatch):
    """Also with another amount of memory, and where many batches were used up before it stopped."""
    monkeypatch.setattr(batches, "FIRST_BATCH", 1)
    whole = draws(target(path), n=900)
    draws(target(path), n=350, store=tmp_path / "run")
    shutil.copytree(tmp_path / "run", tmp_path / "copy")
    for folder, memory in (("run", "1MiB"), ("copy", "2.5MiB")):
        more = tunamh.resume(tmp_path / folder, target(path, memory), draws=900, **STEPS)
        assert same(whole, more)


def test_rows_in_memory_do_not_go_on_with_a_pooled_run(path, tmp_path):
    draws(target(path), n=20, store=tmp_path / "run")
    with pytest.raises(tunamh.StoreError, match="has another memory="):
        tunamh.resume(tmp_path / "run", target(path, "4MiB"), draws=40, **STEPS)
    with pytest.raises(tunamh.StoreError, match="for open_rows, with the same memory="):
        tunamh.resume(tmp_path / "run", target(path, "1GiB"), draws=40, **STEPS)


# ---------------------------------------------------------------------------------------------------------- faults


def test_a_file_that_vanishes_before_a_gather_is_named_and_the_run_goes_on_later(path, tmp_path, monkeypatch):
    monkeypatch.setattr(batches, "FIRST_BATCH", 1)
    whole = draws(target(path), n=600)
    moved = tmp_path / "moved.parquet"
    shutil.copy2(path, moved)
    run, first = tmp_path / "run", target(moved)
    gather, times = batches.GatheredRows._gather, []

    def gone(self, k, wanting):
        times.append(k)
        if k == 2:
            moved.rename(tmp_path / "elsewhere")
        return gather(self, k, wanting)

    monkeypatch.setattr(batches.GatheredRows, "_gather", gone)
    with pytest.raises(tunamh.SourceError, match=r"moved.parquet does not exist any more, so its row group \d"):
        draws(first, n=600, store=run)
    monkeypatch.setattr(batches.GatheredRows, "_gather", gather)
    (tmp_path / "elsewhere").rename(moved)
    assert same(whole, tunamh.resume(run, target(moved), **STEPS))


def chain_of(path):
    made = target(path).taylor(2, *_centre(target(path)), whiten=True, original_bounds=False).whitened()
    test, proposal = STEPS["test"].bind(made), STEPS["proposal"].bind(made)
    return ChainRun(made, joined(proposal, test), np.random.SeedSequence(3), 0, None, Size(100, 0))


def _centre(of):
    mode = of.modes[0]
    return mode.point, mode.expansion


def test_a_violated_bound_names_the_row_of_the_data(path):
    run = chain_of(path)
    run.open()
    pool, column = run.setup.pool, run.target._packed.column
    run._advance(slice(0, 1), 1)
    pool.rows[:, column] *= 1e-6
    with pytest.raises(tunamh.BoundViolation) as caught:
        run._advance(slice(1, 50), 1)
    row = caught.value.row
    at = np.flatnonzero(pool.numbers == row)[0]
    assert pool.rows[at, 0] == X[row, 0]
    assert (pool.numbers[:SERVING] != np.arange(SERVING)).any()


def test_the_audit_names_the_row_too(path, monkeypatch):
    """A map over all rows: the row at fault comes back packed, with its number."""
    run = chain_of(path)
    pack, run.target.gathered.audited = run.target.gathered.pack, False

    def spoiled(block):
        rows = pack(block)
        if block.start == 16_384:
            rows[77, run.target._packed.column] = 1e-12
        return rows

    run.target.gathered.pack = spoiled
    run = ChainRun(run.target, run.setup.kernel, np.random.SeedSequence(3), 0, None, Size(100, 0))
    with pytest.raises(tunamh.BoundViolation, match="row 16461"):
        run.open()


def test_every_row_is_held_against_its_bound_when_bounds_are_added_up(path, monkeypatch):
    """By the search, which goes on without bounds, and by the pass of their own, which says which row it is."""
    whole = OnePredictor.remainders_of

    def spoiled(self, seen, columns, at, X, y, weight, start):
        said = whole(self, seen, columns, at, X, y, weight, start)
        if start == 16_384:
            columns.bound[70:80] = 1e-14
        return said

    monkeypatch.setattr(OnePredictor, "remainders_of", spoiled)
    made = target(path)
    mode = made.modes[0]
    assert mode.expansion.bounds is None
    with pytest.raises(tunamh.BoundViolation, match=r"row 164[56]\d"):
        made.taylor(2, mode.point, mode.expansion, whiten=True, original_bounds=False)


@pytest.mark.parametrize("columns", [("a", "b", "c"), ("a", "b", "carrier")])
def test_kept_bounds_give_the_rows_that_bounds_found_anew_give(path, columns):
    """The same rows in the same order; what is packed of them agrees up to rounding."""
    rows = tunamh.open_rows(path, memory="1MiB")
    of = tunamh.LogisticRegression(rows[list(columns)], y="late")
    expanded = of.taylor(2, *_centre(of), whiten=True, original_bounds=False)
    gathered, stream = expanded.gathered, Served.by(np.random.SeedSequence(5))
    gathered.expect(1)
    assert gathered.some is not None
    assert gathered.audited
    rows, numbers = gathered._gather(0, [stream])[stream]
    gathered.some = None
    again, same_numbers = gathered._gather(0, [stream])[stream]
    assert (numbers == same_numbers).all()
    assert np.allclose(rows, again, rtol=1e-12, atol=0)
    column = gathered.column
    assert (rows[:, column] == again[:, column]).all()


def test_bounds_ahead_are_those_of_a_metric_of_before(path):
    """The rows' bounds differ by the metric alone, and the distance makes up for it: no bound is lost."""
    of = target(path)
    mode = of.modes[0]
    ahead = of.taylor(2, mode.point, mode.expansion, whiten=True, original_bounds=False)
    own = mode.expansion._replace(bounds=None)
    plain = of.taylor(2, mode.point, own, whiten=True, original_bounds=False)
    assert mode.expansion.bounds is not None
    assert ahead.total_bound == pytest.approx(plain.total_bound, rel=0.2)
    assert ahead.total_bound != plain.total_bound
    assert ahead.skew == pytest.approx(plain.skew, abs=0.02)
    between = mode.expansion.bounds.inverse @ ahead.metric.factor
    kappa = np.linalg.svd(between, compute_uv=False)[0]
    ratio = np.array(ahead.trust.factors)[1:] / np.array(plain.trust.factors)[1:]
    assert ahead.trust.factors[0] == pytest.approx(kappa**3)
    assert (ratio > 0.5).all()
    assert 0 < tunamh.check_bounds(ahead.whitened(), pairs=3, rng=1) <= 1


def test_changed_numbers_are_noticed_by_the_sum_of_their_bounds(path):
    run = chain_of(path)
    run.target.gathered.some, run.target.gathered.audited = None, False
    run.target.gathered.sums[1] *= 1.001
    run.target.gathered.begin()  # by the map of the audit
    with pytest.raises(tunamh.SourceError, match="rows from 16384 on have other bounds"):
        run.open()


def test_a_chain_takes_its_rows_in_order_and_once(path):
    run = chain_of(path)
    run.open()
    setup, record = run.setup, run.setup.new_record(400)
    pool, seen = setup.pool, []
    for _ in range(4):
        advance(run.state.chain, run.state.in_force(setup), np.empty((100, run.target.dim)), record[:100])
        seen.append(int(run.state.chain.stream.cursor[1]))
    assert seen == sorted(seen)
    assert seen[-1] - 1024 <= 40 * 400 * 1.05
    assert pool.numbers[: pool.capacity].min() >= 0
    assert setup_of(run.target, setup.kernel, np.random.SeedSequence(9)).pool is not pool
    assert len(CARRIER) == len(LATE) == N
