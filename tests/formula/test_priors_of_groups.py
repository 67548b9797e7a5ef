"""Priors of group effects by the names that results have, and by lists; factors that are the same groups."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tunamh
from tunamh import HalfNormal

ROWS = np.arange(48)
DATA = pd.DataFrame(
    {
        "y": np.sin(ROWS), "count": ROWS % 5, "x": np.cos(ROWS), "g": [f"g{k % 6}" for k in ROWS], "row": ROWS,
        "school": [f"s{k % 4}" for k in ROWS], "room": [f"s{k % 4}r{k % 12}" for k in ROWS],
    }
)  # fmt: skip
SMALL = [HalfNormal(0.1), HalfNormal(0.2)]
BY_NAME = [
    ("(1 + x | g)", {"x|g_sigma": HalfNormal(0.3), "1,x|g_corr": 3.0}, {"x|g_sigma": "0.3", "1,x|g_corr": "LKJ(3)"}),
    ("(1 + x | g)", {"x|g_sigma": SMALL[0], "(1 + x | g)": SMALL[1]}, {"1|g_sigma": "0.2", "x|g_sigma": "0.1"}),
    ("(1 + x || g)", {"(1 + x || g)": SMALL}, {"1|g_sigma": "0.1", "x|g_sigma": "0.2"}),
    ("(1 | school/room)", {"(1 | school/room)": SMALL}, {"1|school_sigma": "0.1", "1|school:room_sigma": "0.2"}),
    ("(1 | school/room)", {"(1 | school/room)": SMALL[1]}, {"1|school_sigma": "0.2", "1|school:room_sigma": "0.2"}),
]


@pytest.mark.parametrize(("term", "prior", "expected"), BY_NAME, ids=range(len(BY_NAME)))
def test_priors_are_named_as_in_results(term, prior, expected):
    table = tunamh.prior_summary(tunamh.regression(f"y ~ x + {term}", DATA, family="gaussian", prior=prior))
    for name, words in expected.items():
        assert words in table.loc[name, "prior"], name


def test_priors_of_groups_of_a_further_predictor_are_named_as_in_results():
    predictors, prior = {"scale": "~ 1 + (1 | g)"}, {"sigma_1|g_sigma": HalfNormal(0.2)}
    target = tunamh.regression("y ~ x", DATA, family="gaussian", predictors=predictors, prior=prior)
    assert "0.2" in tunamh.prior_summary(target).loc["sigma_1|g_sigma", "prior"]


def test_nesting_the_wrong_way_round_is_noticed():
    with pytest.warns(UserWarning, match="room and room:school are the same groups"):
        tunamh.regression("y ~ x + (1 | room/school)", DATA, family="gaussian")


@pytest.mark.filterwarnings("error")
def test_nesting_and_several_terms_of_one_factor_are_no_mistake():
    tunamh.regression("y ~ x + (1 | school/room)", DATA, family="gaussian")
    tunamh.regression("y ~ x + (1 | g) + (0 + x | g)", DATA, family="gaussian")


@pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
def test_effects_of_single_counts_are_part_of_a_row():
    target = tunamh.regression("count ~ x + (1 | g) + (1 | row)", DATA, family="poisson")
    posterior = tunamh.sample(target, chains=1, draws=60, rng=1, progressbar=False)
    table = tunamh.group_scales(posterior)
    shares = table.query("quantity == 'share'")
    assert list(shares["group"]) == ["g"]
    assert "has the effects of row" in table.attrs["notes"][0]
    draws, law = posterior.posterior, np.log1p(1 / DATA["count"].mean())
    own = draws["1|g_sigma"] ** 2
    expected = own / (own + draws["1|row_sigma"] ** 2 + law)
    assert float(shares["mean"].iloc[0]) == pytest.approx(float(expected.mean()), rel=1e-6)


@pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
def test_effects_of_single_counts_of_successes_are_part_of_a_row():
    target = tunamh.regression("count ~ x + (1 | g) + (1 | row)", DATA.assign(n=6), family="logistic", trials="n")
    posterior = tunamh.sample(target, chains=1, draws=60, rng=1, progressbar=False)
    table = tunamh.group_scales(posterior)
    shares = table.query("quantity == 'share'")
    assert list(shares["group"]) == ["g"]
    assert "logit link, and has the effects of row, one for every row" in table.attrs["notes"][0]
    own, of_row = (posterior.posterior[f"1|{name}_sigma"] ** 2 for name in ("g", "row"))
    expected = own / (own + of_row + np.pi**2 / 3)
    assert float(shares["mean"].iloc[0]) == pytest.approx(float(expected.mean()), rel=1e-6)


@pytest.mark.parametrize("given", [0.5, [0.5, 0.2], [0.5, HalfNormal(1)]])
def test_known_scales_of_correlated_effects_are_refused(given):
    """They would be effects without correlations, which the formula did not ask for."""
    with pytest.raises(tunamh.FormulaError, match=r"Write \|\| for effects without correlations"):
        tunamh.regression("y ~ x + (1 + x | g)", DATA, family="gaussian", prior={"(1 + x | g)": given})
    tunamh.regression("y ~ x + (1 + x || g)", DATA, family="gaussian", prior={"(1 + x || g)": 0.5})


def test_correlations_beside_known_scales_are_refused():
    X = np.column_stack([np.ones(48), DATA["x"]])
    effects = tunamh.GroupEffects(DATA["g"], X=X, scale=[0.5, 0.2], correlation=2.0)
    with pytest.raises(ValueError, match="correlation of g has no meaning beside known standard deviations"):
        tunamh.MixedModel(X, DATA["y"], tunamh.Gaussian(), effects)
