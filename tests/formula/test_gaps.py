"""Curves between the data: in a gap, and between few different values, the law is that of the penalty, too."""

import numpy as np
import pandas as pd
import pytest

import tunamh
from tunamh import FormulaError
from tunamh.formula.model import FormulaModel
from tunamh.formula.splines import penalty

RNG = np.random.default_rng(3)
N = 400
TABLE = pd.DataFrame(
    {
        "gap": np.r_[RNG.uniform(0, 2, N // 2), RNG.uniform(8, 10, N // 2)],
        "few": RNG.integers(5, size=N).astype(float),
        "all": RNG.uniform(0, 1, N),
        "g": [f"g{k}" for k in RNG.integers(8, size=N)],
    }
)
TABLE["y"] = np.sin(TABLE["few"]) + 0.3 * RNG.standard_normal(N)


def made(formula, **how):
    return tunamh.regression(formula, TABLE, family="gaussian", **how)


def curve(formula):
    return made(formula).formula.side.curves[0]


@pytest.mark.parametrize("term", ["s(gap, k=20)", "s(few)", "s(few, k=15)", "s(all)", "s(gap, k=20, by=all)"])
def test_second_differences_have_the_covariance_of_the_penalty(term):
    """Whatever rows there are: lines and constants, which have no penalty, have no second differences."""
    smooth = curve(f"y ~ {term}")
    at = np.linspace(smooth.low, smooth.high, 60)
    R, wiggles = smooth.raw(at), smooth.T[:, smooth.fixed :]
    S = penalty(len(smooth.T), cyclic=False)
    unit = np.mean(np.einsum("ij,ik,kj->j", wiggles, S, wiggles))
    found, wanted = (
        np.diff(np.diff(R @ K @ R.T, 2, axis=0), 2, axis=1) for K in (wiggles @ wiggles.T, unit * np.linalg.pinv(S))
    )
    np.testing.assert_allclose(found, wanted, atol=1e-7 * np.abs(wanted).max())
    assert wiggles.shape[1] == len(S) - 2


def test_a_cyclic_curve_has_all_functions_too():
    smooth = curve("y ~ s(few, k=9, cyclic=True, period=5)")
    assert smooth.each == 8


def test_rows_see_nothing_of_unseen_functions():
    smooth = curve("y ~ s(few)")
    assert smooth.unseen == 5
    assert not smooth.columns(TABLE["few"].to_numpy())[:, -5:].any()
    assert np.abs(smooth.columns(np.array([1.5]))[:, -5:]).max() > 0.1
    told = made("y ~ s(few)").formula.to_json()
    again = FormulaModel.from_json(told).side.curves[0]
    assert again.unseen == 5
    told["columns"]["curves"][0]["unseen"] = 9
    with pytest.raises(FormulaError, match="do not fit its term"):
        FormulaModel.from_json(told)


@pytest.mark.filterwarnings("ignore")  # runs are short
@pytest.mark.parametrize("formula", ["y ~ s(few)", "y ~ s(few) + (1 | g)"])
def test_unseen_functions_are_drawn_from_their_prior(formula):
    target = made(formula)
    posterior = tunamh.sample(target, draws=1000, rng=2, progressbar=False)
    scale = posterior.posterior["s(few)_sigma"].values
    standard = posterior.posterior["s(few)"].values[..., -5:] / scale.reshape(*scale.shape[:2], 1)
    np.testing.assert_allclose(standard.mean(axis=(0, 1)), 0, atol=0.15)
    np.testing.assert_allclose(standard.var(axis=(0, 1)), 1, atol=0.15)
    between, at = (tunamh.predict(posterior, pd.DataFrame({"few": [x], "g": "g0"}), kind="linear") for x in (1.5, 2.0))
    assert between["sd"].item() > 1.4 * at["sd"].item()


def test_a_surface_between_the_data_says_that_its_intervals_are_too_narrow():
    model = made("y ~ te(all, few, k=9)").formula
    inside = TABLE.head(3)
    with pytest.warns(UserWarning, match=r"few is in a gap of the fitted data in 1 rows.*too narrow"):
        model.side.columns(model.values(inside.assign(few=[0.0, 1.0, 2.5])))


@pytest.mark.filterwarnings("error")
def test_a_surface_at_the_data_says_nothing():
    model = made("y ~ te(all, few, k=9)").formula
    model.side.columns(model.values(TABLE))


@pytest.mark.parametrize("keep", [True, False])
def test_draws_of_effects_without_groups_are_refused(keep):
    with pytest.raises(FormulaError, match=rf"keep_effects={keep}.*no group effects.*\(1 \| group\)"):
        made("y ~ all", keep_effects=keep)
    assert made("y ~ all + (1 | g)", keep_effects=keep).keeps_effects is keep
