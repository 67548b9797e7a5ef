"""A run that stops by a rule about its draws: the same seed stops at the same draw."""

import json

import arviz_stats
import numpy as np
import pytest

import tunamh
from conftest import logistic_data
from tunamh import Until
from tunamh.sampling import destination as stored
from tunamh.sampling.run import ChainRun
from tunamh.store import folder

SLOW = {"test": tunamh.MH(), "proposal": tunamh.RandomWalk()}


def new_target():
    return tunamh.LogisticRegression(*logistic_data(500, 3))


def run(until, **settings):
    return tunamh.sample(new_target(), **SLOW, **({"draws": 20_000, "rng": 3, "until": until} | settings))


def stopped(tree):
    return json.loads(tree.posterior.attrs["settings"])["stopped"]


@pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
def test_it_stops_at_the_first_look_at_which_the_rule_holds():
    tree = run(Until(ess=600))
    n, theta = tree.posterior.sizes["draw"], tree.posterior["theta"]
    looks = list(Until(ess=600).looks(20_000))
    assert stopped(tree) == "until"
    assert n in looks[:-1]
    before = looks[looks.index(n) - 1]
    assert arviz_stats.ess(tree.posterior)["theta"].min() >= 600
    assert arviz_stats.ess(tree.posterior.isel(draw=slice(before)).to_dataset())["theta"].min() < 600
    whole = tunamh.sample(new_target(), **SLOW, draws=20_000, rng=3)
    assert np.array_equal(theta, whole.posterior["theta"][:, :n])


@pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
def test_an_r_hat_alone_and_both():
    loose, strict = run(Until(r_hat=1.05)), run(Until(r_hat=1.005))
    assert loose.posterior.sizes["draw"] < strict.posterior.sizes["draw"]
    assert arviz_stats.rhat(strict.posterior)["theta"].max() <= 1.005
    both = run(Until(ess=600, r_hat=1.05))
    assert both.posterior.sizes["draw"] >= max(
        loose.posterior.sizes["draw"], run(Until(ess=600)).posterior.sizes["draw"]
    )


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore:interrupted")
def test_cores_a_store_and_a_stop_on_the_way_change_nothing(path, tmp_path, monkeypatch):
    monkeypatch.setattr(stored, "chunk_draws_for", lambda *sizes: 100)
    wanted = run(Until(ess=400), draws=6000)
    assert np.array_equal(run(Until(ess=400), draws=6000, cores=1).posterior["theta"], wanted.posterior["theta"])
    in_a_store = run(Until(ess=400), draws=6000, store=tmp_path / "other")
    assert np.array_equal(in_a_store.posterior["theta"], wanted.posterior["theta"])
    keep = ChainRun._keep

    def fail(run):
        if run.kept > 150:
            raise RuntimeError("out of order")
        return keep(run)

    with monkeypatch.context() as patch:
        patch.setattr(ChainRun, "_keep", fail)
        with pytest.raises(RuntimeError, match="out of order"):
            run(Until(ess=400), draws=6000, store=path)
    resumed = tunamh.resume(path, new_target(), **SLOW)
    assert stopped(resumed) == "until"
    assert np.array_equal(resumed.posterior["theta"], wanted.posterior["theta"])
    again = tunamh.resume(path, new_target(), **SLOW)  # the rule is the store's, and holds where it held
    assert np.array_equal(again.posterior["theta"], wanted.posterior["theta"])
    stricter = tunamh.resume(path, new_target(), **SLOW, until=Until(ess=700))
    assert np.array_equal(stricter.posterior["theta"], run(Until(ess=700), draws=6000).posterior["theta"])
    lifted = tunamh.resume(path, new_target(), **SLOW, draws=6001)
    assert lifted.posterior.sizes["draw"] == 6001


@pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
def test_too_few_draws_for_the_rule_are_told():
    with pytest.warns(
        UserWarning, match=r"Until\(ess=5000.0, r_hat=None\) is not reached after draws=500, the maximum"
    ):
        tree = run(Until(ess=5000), draws=500)
    assert stopped(tree) == "finished"
    assert tree.posterior.sizes["draw"] == 500
    with pytest.warns(UserWarning, match="is not reached after draws=50"):
        run(Until(r_hat=1.5), draws=50)  # too few to judge


def test_the_store_hands_over_what_memory_would(path):
    tree = tunamh.sample(new_target(), draws=500, chains=3, rng=1, store=path)
    store, theta = folder.Store.open(path), tree.posterior["theta"].values
    for n, every, which in ((500, 1, slice(None)), (333, 7, slice(None)), (480, 16, np.array([0, 2])), (10, 3, [1])):
        assert np.array_equal(store.take(slice(0, n, every), which), theta[:, :n:every][:, :, which])
    assert np.array_equal(store.take(slice(120, 400, 3), slice(None)), theta[:, 120:400:3])


@pytest.mark.parametrize(
    ("settings", "match"),
    [
        ({}, "needs a number of effective draws"),
        ({"ess": 0}, "ess must lie between 0 and 200000"),
        ({"ess": 1e6}, "ess must lie between 0 and 200000"),
        ({"r_hat": 1.0}, "r_hat must be above 1"),
    ],
)
def test_rules_that_say_nothing_are_refused(settings, match):
    with pytest.raises(ValueError, match=match):
        Until(**settings)


def test_a_rule_is_no_number():
    with pytest.raises(TypeError, match=r"until must be a rule such as Until\(ess=1000\), got 1000"):
        run(1000)
