"""What a stranger met with only the README: each of these was a wrong number, a false refusal or a riddle once."""

import numpy as np
import pytest

import tunamh
from tunamh import GLM, priors, sample

pandas = pytest.importorskip("pandas")
rng = np.random.default_rng(0)
N = 2000
X = pandas.DataFrame({"one": 1.0, "a": rng.normal(size=N), "b": rng.normal(size=N)})
Y = pandas.Series(X.values @ [1, 0.5, -0.5] + np.exp(0.3 + 0.4 * X.a) * rng.normal(size=N))


def test_columns_of_a_second_predictor_are_paired_by_their_labels():
    straight = GLM(X, Y, tunamh.Gaussian(), predictors={"scale": X[["one", "a"]]})
    shuffled = GLM(X, Y, tunamh.Gaussian(), predictors={"scale": X[["one", "a"]].sample(frac=1, random_state=5)})
    assert shuffled.modes[0].point == pytest.approx(straight.modes[0].point, abs=1e-6)
    with pytest.raises(ValueError, match="row labels"):
        GLM(X, Y, tunamh.Gaussian(), predictors={"scale": X[["one", "a"]].set_index(np.arange(N) + 7)})


def test_numbers_by_position_are_refused_where_categories_change_places():
    frame = pandas.DataFrame({"sex": pandas.Categorical(rng.choice(["f", "m"], 200)), "age": rng.normal(size=200)})
    y = 1.0 * (frame.sex == "m") + frame.age + rng.normal(size=200)
    with pytest.raises(ValueError, match="columns of categories after all other columns"):
        GLM(frame, y, tunamh.Gaussian(), prior=tunamh.Normal(scale=[10, 0.01]))
    GLM(frame, y, tunamh.Gaussian(), prior=tunamh.Normal(scale={"sex[m]": 10, "age": 0.01}))
    GLM(frame[["age", "sex"]], y, tunamh.Gaussian(), prior=tunamh.Normal(scale=[0.01, 10]))


def test_few_rows_that_any_response_fits_have_a_posterior():
    few = rng.normal(size=(20, 30))
    y = few[:, 0] + 0.3 * rng.normal(size=20)
    tree = sample(GLM(few, y, tunamh.Gaussian(), prior=tunamh.Normal(scale=1)), draws=200, rng=1, progressbar=False)
    assert np.isfinite(tree.posterior["scale"].values).all()
    limited = GLM(X[:50], np.zeros(50), tunamh.Gaussian(), censored=-np.ones(50), prior=tunamh.Normal(scale=1))
    assert limited.dim == 4


def test_a_constant_column_beside_cutpoints_is_named():
    target = GLM(X, rng.integers(1, 4, N), tunamh.Ordinal(), prior=tunamh.Normal(scale=1))
    assert [said for said in target.model_warnings() if "column one is constant" in said]


@pytest.mark.parametrize("family", [tunamh.Gamma(2), tunamh.Exponential(), tunamh.Gamma(), tunamh.LogNormal()])
def test_a_family_in_the_place_of_a_prior_is_called_one(family):
    with pytest.raises(TypeError, match="scale is the family"):
        tunamh.Gaussian(scale=family)


def test_the_next_run_starts_from_the_means_of_the_last():
    target = GLM(X, Y, tunamh.Gaussian())
    tree = sample(target, draws=100, rng=1, progressbar=False)
    again = sample(target, draws=10, tune=0, init=tree.posterior.mean(("chain", "draw")), rng=2, progressbar=False)
    assert set(again.posterior.data_vars) == {"theta", "scale"}


def test_coefficients_that_are_not_shrunk_have_no_local_scale():
    y = (rng.random(N) < 0.5).astype(float)
    beside = priors.ByName({"one": tunamh.Flat()}, others=priors.Horseshoe(0.5))
    tree = sample(tunamh.LogisticRegression(X, y, prior=beside), draws=100, rng=1, progressbar=False)
    assert list(tree.posterior["local_scale_parameter"].values) == ["a", "b"]


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_a_family_of_ones_own_makes_no_noise():
    counts = rng.poisson(np.exp(0.3 * X.a))
    own = tunamh.family(lambda eta, y: np.exp(eta) - y * eta)
    sample(GLM(X, counts, own), draws=50, rng=1, progressbar=False)
