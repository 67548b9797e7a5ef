"""What results and summaries say of Laplace's approximation, and where they say nothing."""

from __future__ import annotations

import sys
import warnings

import numpy as np
import pytest
import xarray

import tunamh
from conftest import logistic_data
from tunamh.laplace.distance import LaplaceDistance

KEYS = ("total_variation_bound", "mean_shift", "mean_shift_error", "sd_ratio", "sd_ratio_error")


def logistic(n_rows: int) -> tunamh.LogisticRegression:
    return tunamh.LogisticRegression(*logistic_data(n_rows, 2), prior=tunamh.Normal(scale=5))


@pytest.mark.parametrize(
    "settings",
    [
        {"proposal": tunamh.RandomWalk()},
        {"test": tunamh.TunaMH()},
        {"control": tunamh.Taylor(2), "test": tunamh.MHSS()},
    ],
    ids=["walk", "TunaMH", "walk on an expansion"],
)
@pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
def test_without_proposals_from_the_law_nothing_is_said(settings):
    tree = tunamh.sample(logistic(200), draws=100, rng=1, **settings)
    assert not any(key.startswith("laplace") for key in tree.posterior.attrs)
    assert "Laplace" not in repr(tunamh.summary(tree))


def test_several_modes_mixture_priors_and_inexact_tests_say_nothing():
    X = np.random.default_rng(0).standard_normal((400, 2))
    bad = np.r_[np.full(20, -10.0), np.full(20, 10.0)] + 0.1 * X[:40, 0]
    robust = tunamh.RobustRegression(np.ones((40, 1)), bad, df=2, scale=1.0)
    shrunk = tunamh.LogisticRegression(X, X[:, 0] + X[:, 1] ** 3 > 0, prior=tunamh.priors.Horseshoe(0.1))
    inexact = {"test": tunamh.AustereMH(0.05, 50), "proposal": tunamh.Autoregressive()}
    for target, settings in ((robust, {}), (shrunk, {}), (logistic(400), inexact)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = tunamh.sample(target, draws=200, rng=1, **settings)
        assert not any(key.startswith("laplace") for key in tree.posterior.attrs)


def test_the_line_survives_a_file_and_the_table_stays_a_table(tmp_path):
    tree = tunamh.sample(logistic(3000), rng=1)
    tree.to_netcdf(tmp_path / "posterior.nc")
    table = tunamh.summary(xarray.open_datatree(tmp_path / "posterior.nc"))
    assert repr(table).splitlines()[-1] == table.attrs["laplace"] == tunamh.summary(tree).attrs["laplace"]
    assert "<p>Laplace&#x27;s approximation: total variation distance at most" in table._repr_html_()
    assert "Laplace" not in repr(table[["mean", "sd"]])
    assert list(table.index) == ["theta[0]", "theta[1]"]
    assert not any(key.startswith("laplace") for key in tree.sample_stats.attrs)


def test_draws_are_the_same_without_it_and_a_failure_costs_none(monkeypatch):
    target = logistic(300)
    before = tunamh.sample(target, draws=200, rng=1).posterior

    def broken(*_):
        raise MemoryError("no room")

    monkeypatch.setattr(sys.modules["tunamh.sampling.session"], "laplace_attributes", broken)
    with pytest.warns(UserWarning, match=r"could not be measured \(MemoryError: no room\)"):
        after = tunamh.sample(target, draws=200, rng=1).posterior
    assert after["theta"].equals(before["theta"])
    assert {f"laplace_{key}" for key in KEYS} == set(before.attrs) - set(after.attrs)


def distance(shift: float, error: float, bound: float | None, ratio: float = 1.0) -> LaplaceDistance:
    both = np.array([0.0, shift]), np.full(2, error), np.array([1.0, ratio]), np.full(2, error)
    return LaplaceDistance(["theta[0]", "theta[age]"], bound, *both)


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (distance(0.02, 0.01, 0.04), "It is accurate enough here."),
        (distance(0.12, 0.02, 0.04), "It is accurate enough here."),  # 0.12 may be 0.1
        (distance(-0.2, 0.02, 0.04), "It is not accurate enough here."),
        (distance(0.0, 0.02, 0.04, ratio=0.8), "It is not accurate enough here."),
        (distance(0.02, 0.01, 0.3), "It is accurate enough for means and standard deviations."),
        (distance(0.02, 0.01, None), "It is accurate enough for means and standard deviations."),
        (distance(0.1, 0.08, 0.04), "More draws are needed to see whether it is accurate enough."),
    ],
)
def test_the_verdict_knows_monte_carlo_error(found, said):
    assert found.line.endswith(said)
    again = LaplaceDistance.from_attributes(found.attributes())
    assert again is not None
    assert again.line == found.line
    beside = found.beside_draws  # below a summary of exact draws nothing speaks against them
    assert beside.startswith("These draws are exact") if found.off else beside == found.line
    assert "It is not accurate" not in beside
    off = "not" in said or (found.total_variation or 0.0) > 0.1
    assert (found.complaint is not None) == off
