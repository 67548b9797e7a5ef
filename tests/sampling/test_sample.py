"""The front door, as a user meets it."""

import json

import arviz_stats
import numba
import numpy as np
import pandas as pd
import pytest

import tunamh
from conftest import logistic_data
from tunamh import (
    MH,
    FiniteWalk,
    GaussianMixture,
    LogisticRegression,
    NeighbourWalk,
    Normal,
    NotApplicable,
    RandomWalk,
    TunaMH,
    sample,
)

X, Y = logistic_data(2000, 3)


@pytest.fixture(scope="module")
def target():
    return LogisticRegression(pd.DataFrame(X, columns=["a", "b", "c"]), Y)


def thetas(tree):
    return tree.posterior["theta"].values


def test_result_is_an_arviz_tree(target):
    tree = sample(target, test=TunaMH(), draws=60, tune=50, chains=3, rng=1)
    theta = tree.posterior["theta"]
    assert theta.dims == ("chain", "draw", "parameter")
    assert theta.shape == (3, 60, 3)
    assert list(theta.coords["parameter"].values) == ["a", "b", "c"]
    stats = tree.sample_stats
    assert set(stats.data_vars) == {
        "accepted", "acceptance_rate", "batch_size", "full_data_step", "bound_ratio", "step_size", "elapsed",
    }  # fmt: skip
    assert stats["accepted"].dtype == bool
    assert stats["full_data_step"].dtype == bool
    assert ((stats["acceptance_rate"] >= 0) & (stats["acceptance_rate"] <= 1)).all()
    assert stats["bound_ratio"].max() > 0.5
    assert (np.diff(stats["elapsed"].values, axis=1) >= 0).all()
    moved = np.any(np.diff(theta.values, axis=1) != 0, axis=2)
    assert np.array_equal(moved, stats["accepted"].values[:, 1:])
    attributes = tree.posterior.attrs
    assert attributes["inference_library"] == "tunamh"
    assert attributes["inference_library_version"] == tunamh.__version__
    assert attributes["exact"] == 1
    settings = json.loads(attributes["settings"])
    assert settings["seed"] == "1"
    assert settings["total_bound"] == target.total_bound


def test_summary_works_out_of_the_box(target):
    table = arviz_stats.summary(sample(target, draws=100, tune=100, rng=1))
    assert list(table.index) == ["theta[a]", "theta[b]", "theta[c]"]


def test_result_can_be_written_and_read(target, tmp_path):
    import xarray

    tree = sample(target, draws=20, tune=10, rng=1)
    tree.to_netcdf(tmp_path / "draws.nc")
    again = xarray.open_datatree(tmp_path / "draws.nc")
    assert np.array_equal(again.posterior["theta"].values, thetas(tree))


@pytest.mark.parametrize("test", [TunaMH(), MH()], ids=["TunaMH", "MH"])
def test_draws_depend_on_the_seed_alone(target, test):
    one = sample(target, test=test, draws=150, tune=70, rng=7, cores=1)
    for cores in (2, 4):
        other = sample(target, test=test, draws=150, tune=70, rng=7, cores=cores)
        assert np.array_equal(thetas(one), thetas(other))
        assert np.array_equal(one.sample_stats["batch_size"], other.sample_stats["batch_size"])
    assert not np.array_equal(thetas(one), thetas(sample(target, test=test, draws=150, tune=70, rng=8)))
    chains = thetas(one)
    assert not np.array_equal(chains[0], chains[1])


def test_more_draws_begin_with_the_same_draws(target):
    short, long = (sample(target, draws=n, tune=50, chains=2, rng=3) for n in (40, 400))
    assert np.array_equal(thetas(short), thetas(long)[:, :40])


def test_seeds_follow_spec_7(target):
    generator = np.random.default_rng(5)
    first, second = (thetas(sample(target, draws=10, tune=0, chains=1, rng=generator)) for _ in range(2))
    assert not np.array_equal(first, second)
    sequence = thetas(sample(target, draws=10, tune=0, chains=1, rng=np.random.SeedSequence(5)))
    assert np.array_equal(sequence, thetas(sample(target, draws=10, tune=0, chains=1, rng=5)))
    unseeded = [thetas(sample(target, draws=10, tune=0, chains=1)) for _ in range(2)]
    assert not np.array_equal(*unseeded)


def test_thinning_keeps_every_kth_step(target):
    settings = {
        "test": TunaMH(chi=0.01),
        "proposal": RandomWalk(0.05),
        "tune": 0,
        "chains": 2,
        "rng": 4,
        "init": np.zeros(3),
    }
    every = sample(target, draws=120, **settings)
    third = sample(target, draws=40, thin=3, **settings)
    assert np.array_equal(thetas(third), thetas(every)[:, 2::3])
    for name, merge in (
        ("batch_size", np.mean),
        ("acceptance_rate", np.mean),
        ("accepted", np.max),
        ("bound_ratio", np.max),
    ):
        steps = every.sample_stats[name].values.reshape(2, 40, 3)
        assert third.sample_stats[name].values == pytest.approx(merge(steps, axis=2))


def test_given_numbers_are_never_adapted(target):
    tree = sample(target, test=TunaMH(chi=0.003), proposal=RandomWalk(0.0123), draws=20, tune=300, chains=2, rng=1)
    assert (tree.sample_stats["step_size"] == 0.0123).all()
    assert all(knobs[1] == 0.003 for knobs in json.loads(tree.posterior.attrs["settings"])["knobs"])


def test_numbers_left_open_are_adapted_and_frozen(target):
    tree = sample(target, test=TunaMH(), draws=2000, tune=1500, chains=2, rng=1)
    steps = tree.sample_stats["step_size"].values
    assert (steps == steps[:, :1]).all()
    assert steps[0, 0] != steps[1, 0]
    assert tree.sample_stats["acceptance_rate"].mean() == pytest.approx(0.25, abs=0.08)
    for knobs in json.loads(tree.posterior.attrs["settings"])["knobs"]:
        move_bound = tree.sample_stats["batch_size"].mean().item() / 2  # the two terms of the mean batch are equal
        assert knobs[1] * move_bound == pytest.approx(1.0, rel=0.35)


@pytest.mark.parametrize("acceptance", [0.15, 0.5])
def test_step_size_aims_at_the_wanted_acceptance(target, acceptance):
    tree = sample(target, test=MH(), proposal=RandomWalk(acceptance=acceptance), draws=3000, tune=2000, chains=2, rng=2)
    assert tree.sample_stats["acceptance_rate"].mean() == pytest.approx(acceptance, abs=0.06)


def test_tune_zero_keeps_every_step_from_init(target):
    start = np.array([0.1, 0.2, 0.3])
    tree = sample(target, proposal=RandomWalk(1e-3), tune=0, draws=5, chains=2, init=start, rng=1)
    first = thetas(tree)[:, 0]
    assert np.abs(first - start).max() < 0.01


def test_init_per_chain_and_its_errors(target):
    points = np.arange(6.0).reshape(2, 3) / 10
    tree = sample(target, proposal=RandomWalk(1e-9), tune=0, draws=1, chains=2, init=points, rng=1)
    assert thetas(tree)[:, 0] == pytest.approx(points, abs=1e-7)
    for bad, message in ((np.zeros(2), "shape"), (np.zeros((3, 3)), "shape"), ([0.0, np.nan, 0.0], "nan at position")):
        with pytest.raises(ValueError, match=message):
            sample(target, chains=2, init=bad)


def test_init_goes_by_name_where_it_has_names(target):
    values = {"c": 0.3, "a": 0.1, "b": 0.2}
    for init in (values, pd.Series(values)):
        tree = sample(target, proposal=RandomWalk(1e-9), tune=0, draws=1, chains=1, init=init, rng=1)
        assert thetas(tree)[0, 0] == pytest.approx([0.1, 0.2, 0.3], abs=1e-7)
    with pytest.raises(ValueError, match="init must name every parameter"):
        sample(target, init={"a": 0.1})


def test_chains_start_overdispersed(target):
    starts = np.array([target.start(np.random.default_rng(k)) for k in range(200)])
    long = thetas(sample(target, test=MH(), draws=4000, chains=2, rng=1)).reshape(-1, 3)
    assert (starts.std(axis=0) > 1.3 * long.std(axis=0)).all()
    assert (np.abs(starts.mean(axis=0) - long.mean(axis=0)) < starts.std(axis=0)).all()


@pytest.mark.parametrize("scale", [0.05, [0.05, 0.02, 0.1], 0.05 * np.array([[1, 0, 0], [0.5, 1, 0], [0, -0.5, 1]])])
def test_random_walk_steps_have_the_stated_covariance(target, scale):
    bound = RandomWalk(scale).bind(target)
    rng, theta, prop = np.random.default_rng(1), np.ones(3), np.empty(3)
    steps = np.empty((20_000, 3))
    for k in range(len(steps)):
        assert bound.propose(rng, theta, prop, bound.knobs) == 0.0
        steps[k] = prop - theta
    matrix = np.asarray(scale) if np.ndim(scale) == 2 else np.diag(np.broadcast_to(scale, 3))
    expected = matrix @ matrix.T
    error = np.sqrt(2 * np.outer(np.diag(expected), np.diag(expected)) / len(steps))
    assert (np.abs(np.cov(steps.T) - expected) < 4.5 * error).all()


@pytest.mark.parametrize("scale", [0.0, -1.0, np.nan, [1.0, 0.0, 1.0], [1.0, 2.0], np.eye(2)], ids=str)
def test_impossible_scales(target, scale):
    with pytest.raises(ValueError, match="scale"):
        sample(target, proposal=RandomWalk(scale))


@pytest.mark.parametrize("chi", [0.0, -1.0, np.nan, np.inf])
def test_impossible_chi(chi):
    with pytest.raises(ValueError, match="chi"):
        TunaMH(chi=chi)


@pytest.mark.parametrize(
    "wrong",
    [{"draws": 0}, {"draws": 1.5}, {"tune": -1}, {"chains": 0}, {"thin": 0}, {"cores": 0}, {"max_seconds": 0}],
    ids=str,
)
def test_impossible_counts(target, wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        sample(target, **wrong)


def test_a_table_is_not_a_target():
    with pytest.raises(TypeError, match="LogisticRegression"):
        sample(X)


def test_proposals_that_do_not_fit(target):
    with pytest.raises(NotApplicable, match="RandomWalk"):
        sample(target, proposal=NeighbourWalk())
    with pytest.raises(NotApplicable, match="NeighbourWalk"):
        sample(FiniteWalk([1.0], 3), proposal=RandomWalk())
    with pytest.raises(TypeError, match=r"numba\.njit"):
        sample(target, proposal=lambda rng, theta, prop: 0.0)


def test_full_data_steps_where_they_are_cheaper(target):
    always = sample(target, test=TunaMH(chi=1.0), proposal=RandomWalk(0.2), tune=0, draws=50, chains=1, rng=1)
    assert always.sample_stats["full_data_step"].all()
    assert (always.sample_stats["batch_size"] == target.n_rows).all()
    never = sample(target, test=TunaMH(chi=1e-4), proposal=RandomWalk(1e-3), tune=0, draws=50, chains=1, rng=1)
    assert not never.sample_stats["full_data_step"].any()
    full = sample(target, test=MH(), tune=0, draws=20, chains=1, rng=1)
    assert full.sample_stats["full_data_step"].all()
    assert np.isnan(full.sample_stats["bound_ratio"]).all()


def test_full_data_tuna_makes_the_same_decisions_as_mh(target):
    """Same seed, same moves: where TunaMH falls back on all rows it is MH."""
    settings = {"proposal": RandomWalk(0.1), "tune": 0, "draws": 200, "chains": 1, "rng": 9, "init": np.zeros(3)}
    tuna = sample(target, test=TunaMH(chi=1.0, full_share=0.0), **settings)
    assert thetas(tuna) == pytest.approx(thetas(sample(target, test=MH(), **settings)))


def test_outside_the_box_no_row_is_read():
    mixture = GaussianMixture(np.linspace(-2, 3, 500))
    tree = sample(
        mixture, proposal=RandomWalk(100.0), test=TunaMH(chi=1.0), tune=0, draws=200, chains=1, rng=1, init=[0.0, 0.0]
    )
    assert (tree.sample_stats["batch_size"] == 0).mean() > 0.9
    assert np.abs(thetas(tree)).max() <= 3
    with pytest.raises(ValueError, match="outside"):
        sample(mixture, init=[4.0, 0.0])


def test_control_maps_the_target(target):
    """A control variate is any map from target to target."""
    seen = []

    def identity(given):
        seen.append(given)
        return given

    plain = sample(target, test=MH(), draws=10, tune=0, chains=1, rng=1)
    assert np.array_equal(
        thetas(sample(target, test=MH(), control=identity, draws=10, tune=0, chains=1, rng=1)), thetas(plain)
    )
    assert seen == [target]


def test_a_users_prior_with_bounded_support():
    @numba.njit
    def half_normal(theta):
        return -0.5 * np.sum(theta**2) if np.all(theta > 0) else -np.inf

    positive = LogisticRegression(np.zeros((10, 2)), np.zeros(10), prior=half_normal)
    theta = thetas(sample(positive, draws=4000, tune=500, chains=2, rng=1, init=[1.0, 1.0]))
    assert (theta > 0).all()
    assert theta.mean() == pytest.approx(np.sqrt(2 / np.pi), abs=0.1)


def test_max_seconds_returns_what_exists(target, seconds_are_draws):
    tree = sample(target, draws=100_000_000, tune=10, chains=3, max_seconds=20, rng=1)
    n = thetas(tree).shape[1]
    assert 20 <= n < 100_000_000
    assert tree.sample_stats["batch_size"].shape == (3, n)
    assert np.array_equal(thetas(tree)[:, :20], thetas(sample(target, draws=20, tune=10, chains=3, rng=1)))


def test_a_thinned_draw_may_take_longer_than_a_chunk(target, monkeypatch):
    """Then its steps are spread over several chunks, with the same result, and max_seconds is honoured."""
    module = __import__("sys").modules["tunamh.sampling.run"]
    settings = {"test": MH(), "draws": 4, "thin": 500, "tune": 20, "chains": 2, "rng": 5}
    whole = sample(target, **settings)
    monkeypatch.setattr(module, "_SECONDS_PER_CHUNK", 1e-3)
    pieces = sample(target, **settings)
    assert np.array_equal(thetas(whole), thetas(pieces))
    for name in ("acceptance_rate", "batch_size", "accepted", "full_data_step"):
        assert np.array_equal(pieces.sample_stats[name], whole.sample_stats[name]), name
    with pytest.raises(tunamh.NoDraws):  # and not draws of a thousand million steps
        sample(target, test=MH(), thin=10**9, tune=0, max_seconds=0.3, rng=1)


def test_how_a_run_ended_is_recorded(target, seconds_are_draws):
    def stopped(tree):
        return json.loads(tree.posterior.attrs["settings"])["stopped"]

    assert stopped(sample(target, draws=10, tune=0, rng=1)) == "finished"
    assert stopped(sample(target, draws=10**8, tune=0, max_seconds=5, rng=1)) == "max_seconds"


@pytest.mark.parametrize(
    "wrong",
    [{"test": MH}, {"test": "MH"}, {"proposal": RandomWalk}, {"control": 3}, {"rng": np.random.RandomState(1)}],
    ids=lambda wrong: next(iter(wrong)),
)
def test_slips_of_the_pen_get_a_hint(target, wrong):
    with pytest.raises(TypeError, match=next(iter(wrong))):
        sample(target, **wrong)


def test_max_seconds_too_short_for_a_single_draw(target):
    with pytest.raises(tunamh.NoDraws, match="max_seconds"):
        sample(target, tune=1_000_000_000, max_seconds=0.2, rng=1)


def test_max_seconds_too_short_to_open_every_chain(target):
    with pytest.raises(tunamh.NoDraws, match="max_seconds"):
        sample(target, tune=1_000_000_000, max_seconds=0.3, rng=1, chains=50, cores=1)


def test_ctrl_c_returns_what_exists(target, ctrl_c_when):
    ctrl_c_when(lambda run: run.kept >= 10, chains=2)
    with pytest.warns(UserWarning, match="interrupted"):
        tree = sample(target, draws=100_000_000, tune=10, chains=2, rng=1)
    assert 10 <= thetas(tree).shape[1] < 100_000_000
    assert np.array_equal(thetas(tree)[:, :10], thetas(sample(target, draws=10, tune=10, chains=2, rng=1)))


def test_ctrl_c_in_warm_up_raises(target, ctrl_c_when):
    ctrl_c_when(lambda run: run.steps_done > 0, chains=2)
    with pytest.raises(KeyboardInterrupt):
        sample(target, tune=1_000_000_000, chains=2, rng=1)


def test_the_state_of_a_chain_survives_a_pickle(target):
    """Saved and loaded, a chain goes on with the same draws: room for resuming after a kill."""
    import pickle

    from tunamh.chains.guard import new_work
    from tunamh.chains.loop import ChainSetup, ChainState, advance
    from tunamh.chains.metropolis import joined
    from tunamh.rows.supply import open_stream

    test, proposal = TunaMH(chi=0.01).bind(target), RandomWalk(0.01).bind(target)
    setup = ChainSetup(target.model(), joined(proposal, test), new_work())
    stream = open_stream(np.random.SeedSequence(2))
    state = ChainState(np.zeros(3), np.random.default_rng(1), stream, test.memory.copy())
    draws, record = np.empty((50, 3)), setup.new_record(50)
    advance(state, setup, draws, record)
    copy = pickle.loads(pickle.dumps(state))
    again, again_record = np.empty((50, 3)), setup.new_record(50)
    advance(state, setup, draws, record)
    advance(copy, setup, again, again_record)
    assert np.array_equal(draws, again)
    assert np.array_equal(record, again_record, equal_nan=True)


def test_prior_alone_without_data_information():
    target = LogisticRegression(1e-9 * X, Y, prior=Normal(scale=2.0))
    theta = thetas(sample(target, draws=5000, chains=2, rng=3))
    assert theta.std() == pytest.approx(2.0, rel=0.15)


def test_progress_is_plain_lines_without_a_terminal(target, capsys, monkeypatch, seconds_are_draws):
    from tunamh.process import progress

    monkeypatch.delenv("CI")
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.0)
    sample(target, draws=100_000_000, tune=100, chains=2, max_seconds=60, rng=1)
    lines = capsys.readouterr().err.splitlines()
    assert lines
    assert "2 chains" in lines[-3]
    assert "rows per step" in lines[-3]
    assert lines[-2].startswith("max_seconds=60 ran out")
    sample(target, draws=100_000_000, tune=100, chains=2, max_seconds=60, rng=1, progressbar=False)
    assert capsys.readouterr().err == ""
