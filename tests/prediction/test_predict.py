"""Predictions against direct computation, and the laws of families against their energies."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest
import xarray
from scipy import special

import tunamh
from conftest import draws_of
from tunamh.errors import NotApplicable
from tunamh.formula import FormulaError
from tunamh.targets.families.registry import FAMILIES, family_as_json, family_from_json

pytestmark = pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")  # runs are short

RNG = np.random.default_rng(11)
N = 400
TABLE = pd.DataFrame(
    {
        "x": RNG.normal(1, 2, N),
        "t": RNG.uniform(1, 3, N),
        "a": RNG.choice(["p", "q", "r"], N),
        "site": RNG.choice([f"s{k}" for k in range(12)], N),
    }
)
TABLE["y"] = 1 + 0.5 * TABLE["x"] + (TABLE["a"] == "q") + RNG.standard_normal(N)
TABLE["n"] = RNG.poisson(np.exp(0.2 * TABLE["x"]))
TABLE["late"] = RNG.random(N) < special.expit(TABLE["y"] - 1)


def sampled(target, draws=60):
    return tunamh.sample(target, draws=draws, tune=200, chains=2, rng=1, progressbar=False)


# ------------------------------------------------------------------------------------------------ laws of families

KNOWN = [
    (tunamh.Logistic(), [0.0, 1, 1, 0, 1]),
    (tunamh.Probit(), [0.0, 1, 1, 0, 1]),
    (tunamh.Cloglog(), [0.0, 1, 1, 0, 1]),
    (tunamh.Gaussian(1.7), [0.3, -2, 1, 4, 0.1]),
    (tunamh.StudentT(3.0, 1.7), [0.3, -2, 1, 4, 0.1]),
    (tunamh.Huber(1.2, 1.7), [0.3, -2, 1, 4, 0.1]),
    (tunamh.LogisticErrors(1.7), [0.3, -2, 1, 4, 0.1]),
    (tunamh.LogNormal(0.7), [0.3, 2, 1, 4, 0.1]),
    (tunamh.LogLogistic(0.7), [0.3, 2, 1, 4, 0.1]),
    (tunamh.Weibull(1.7), [0.3, 2, 1, 4, 0.1]),
    (tunamh.Exponential(), [0.3, 2, 1, 4, 0.1]),
    (tunamh.Gamma(1.7), [0.3, 2, 1, 4, 0.1]),
    (tunamh.Poisson(), [0.0, 2, 1, 4, 7]),
    (tunamh.NegativeBinomial(1.7), [0.0, 2, 1, 4, 7]),
    (tunamh.SoftplusPoisson(), [0.0, 2, 1, 4, 7]),
]


@pytest.mark.parametrize(("family", "y"), KNOWN, ids=[type(family).__name__ for family, _ in KNOWN])
def test_densities_fall_as_energies_rise(family, y):
    """``log p(y | eta) - log p(y | eta') = f(eta') - f(eta)``: the normaliser does not depend on the predictor."""
    about = family_as_json(family)
    law, p = family_from_json(about).response_distribution(), about["known"]
    X, y = np.random.default_rng(0).standard_normal((5, 2)), np.array(y)
    target = tunamh.GLM(X, y, family)
    points = np.array([[0.3, -0.2], [-0.5, 0.4]])
    energies = [target.expansion(point).energy for point in points]
    densities = [law.log_density(y, (X @ point)[None], p).sum() for point in points]
    np.testing.assert_allclose(densities[0] - densities[1], energies[1] - energies[0], rtol=1e-9)


PARAMETERS = {"scale": 0.7, "df": 5.0, "delta": 1.3, "shape": 1.8, "dispersion": 2.5, "precision": 4.0, "positive": 0.6}
PARAMETERS |= {"inflation": 0.3, "cutpoint": np.array([[[-1.0, 0.2, 1.5]]])}


PARAMETERS |= {"log_hazard": np.array([[[-0.5, 0.3, -0.2, 0.1, 0.4, -1.0]]]), "stratum": 1}
OF_COUNTS = {"ZeroInflated": tunamh.NegativeBinomial(), "Hurdle": tunamh.Poisson()}


def distribution_of(name):
    given = [OF_COUNTS[name]] if name in OF_COUNTS else [(0.4, 1.5)] if name == "PiecewiseExponential" else []
    return FAMILIES[name](*given).response_distribution()


@pytest.mark.parametrize("name", FAMILIES)
def test_means_and_densities_agree_with_draws(name):
    law = distribution_of(name)
    p = {key: PARAMETERS[key] for key in PARAMETERS}
    p["scale"] = 0.3 if name == "LogLogistic" else p["scale"]
    rng, n = np.random.default_rng(3), 100_000
    eta = np.full((1, n), 0.4) if name != "Categorical" else np.broadcast_to([[0.4, -0.6]], (1, n, 2))
    draws, mean = law.draw(rng, eta, p)[0], law.mean(eta, p)[0]
    if law.of_classes:
        share = np.bincount(draws.astype(int), minlength=mean.shape[-1]) / n
        np.testing.assert_allclose(share, mean[0], atol=0.008)
        np.testing.assert_allclose(np.exp(law.log_density(np.array([1.0]), eta[:, :1], p))[0, 0], mean[0, 1])
        return
    np.testing.assert_allclose(draws.mean(), mean[0], atol=6 * draws.std() / np.sqrt(n))
    if (draws == np.round(draws)).all():
        values, counts = np.unique(draws, return_counts=True)
        mass = np.exp(law.log_density(values, np.full((1, len(values)), 0.4), p))[0]
        np.testing.assert_allclose(counts / n, mass, atol=0.008)
        return
    edges = np.quantile(draws, np.linspace(0.02, 0.98, 13))
    for low, high in itertools.pairwise(edges):
        at = np.linspace(low, high, 201)
        mass = np.trapezoid(np.exp(law.log_density(at, np.full((1, 201), 0.4), p))[0], at)
        np.testing.assert_allclose(mass, 0.08, atol=0.006)


# -------------------------------------------------------------------------------------------- rows from a formula


def test_linear_predictors_and_means_are_those_of_the_draws():
    target = tunamh.regression("late ~ x*a + offset(log(t))", TABLE, family=tunamh.Logistic())
    posterior = sampled(target)
    theta = draws_of(posterior).reshape(-1, target.dim)
    new = TABLE.head(9)
    X = np.column_stack(
        [
            np.ones(9),
            new["x"],
            new["a"] == "q",
            new["a"] == "r",
            new["x"] * (new["a"] == "q"),
            new["x"] * (new["a"] == "r"),
        ]
    )
    eta = theta @ X.T.astype(float) + np.log(new["t"].to_numpy())
    linear = tunamh.predict(posterior, new, kind="linear", quantiles=None)
    np.testing.assert_allclose(linear.values, eta, rtol=1e-10)
    found = tunamh.predict(posterior, new, quantiles=(0.1, 0.9))
    np.testing.assert_allclose(found["mean"], special.expit(eta).mean(axis=0))
    np.testing.assert_allclose(found["sd"], special.expit(eta).std(axis=0))
    np.testing.assert_allclose(found[["q10", "q90"]].to_array(), np.quantile(special.expit(eta), (0.1, 0.9), axis=0))
    assert tunamh.predict(posterior, new, draws=7, quantiles=None).shape == (7, 9)


def test_a_saved_result_and_a_store_predict(tmp_path):
    target = tunamh.regression("y ~ x + a", TABLE, family=tunamh.Gaussian())
    posterior = tunamh.sample(target, draws=60, tune=200, chains=2, rng=1, progressbar=False, store=tmp_path / "run")
    posterior.to_netcdf(tmp_path / "run.nc")
    wanted = tunamh.predict(posterior, TABLE.head(5), kind="response", rng=4)
    with xarray.open_datatree(tmp_path / "run.nc") as saved:
        xarray.testing.assert_equal(tunamh.predict(saved, TABLE.head(5), kind="response", rng=4), wanted)
    stored = tunamh.predict(tunamh.read_store(tmp_path / "run"), TABLE.head(5), kind="response", rng=4)
    xarray.testing.assert_equal(stored, wanted)


def test_responses_cover_new_rows():
    target = tunamh.regression("y ~ x + a", TABLE, family=tunamh.Gaussian())
    found = tunamh.predict(sampled(target, 200), TABLE, kind="response", quantiles=(0.1, 0.9), rng=1)
    inside = (TABLE["y"] >= found["q10"].values) & (TABLE["y"] <= found["q90"].values)
    assert abs(inside.mean() - 0.8) < 5 * np.sqrt(0.16 / N)


def test_chunks_do_not_change_predictions(monkeypatch):
    posterior = sampled(tunamh.regression("n ~ x + a", TABLE, family=tunamh.Poisson()))
    whole = tunamh.predict(posterior, TABLE)
    monkeypatch.setattr("tunamh.prediction.predictions._NUMBERS_AT_ONCE", 3000)
    xarray.testing.assert_allclose(tunamh.predict(posterior, TABLE), whole)


@pytest.mark.parametrize("kind", ["mean", "response"])
def test_rows_with_missing_values_stay_without_a_prediction(kind, monkeypatch, tmp_path):
    """In a chunk with others, in a chunk of their own, and in blocks; the others have their predictions."""
    tree = sampled(tunamh.regression("late ~ x + a + (1 | site)", TABLE, family="logistic"))
    new = TABLE.head(40).copy()
    new.loc[[3, *range(20, 30)], "x"] = np.nan
    new.loc[7, "a"] = None
    new.loc[8, "site"] = None
    whole = new[["x", "a", "site"]].notna().all(axis=1).to_numpy()
    with pytest.raises(FormulaError, match=r"column x has a missing value in row 3: .* missing='keep'"):
        tunamh.predict(tree, new)
    for at_once in (4_000_000, 2_400):
        monkeypatch.setattr("tunamh.prediction.predictions._NUMBERS_AT_ONCE", at_once)
        found = tunamh.predict(tree, new, kind=kind, missing="keep", rng=1)
        assert np.isfinite(found["mean"].values).tolist() == whole.tolist()
    monkeypatch.undo()
    wanted = tunamh.predict(tree, new[whole], kind=kind, rng=1)
    found = tunamh.predict(tree, new, kind=kind, missing="keep", rng=1)
    np.testing.assert_allclose(found["q50"].values[whole], wanted["q50"].values)
    draws = tunamh.predict(tree, tunamh.open_rows([new.head(9), new.tail(31)]), missing="keep", quantiles=None)
    assert np.isfinite(draws.values).all(axis=0).tolist() == whole.tolist()


def test_simulated_classes_of_rows_with_missing_values_are_missing():
    table = TABLE.assign(c=np.where(TABLE["x"] > 1, "high", "low"))
    tree = sampled(tunamh.regression("c ~ t", table, family="categorical"))
    new = table.head(4).assign(t=[1.0, np.nan, 2.0, 1.5])
    found = tunamh.predict(tree, new, kind="response", missing="keep", rng=1)["mode"].values.tolist()
    assert np.isnan(found[1])
    assert {found[0], *found[2:]} <= {"high", "low"}


def test_groups_known_and_new():
    target = tunamh.regression("y ~ x + (1 + x | site)", TABLE.assign(x=TABLE["x"] - 1), family=tunamh.Gaussian(1.0))
    posterior = tunamh.sample(target, draws=150, tune=300, chains=2, rng=1, progressbar=False)
    new = TABLE.head(3)
    theta = draws_of(posterior, "Intercept", "x").reshape(-1, 2)
    eta = theta @ np.column_stack([np.ones(3), new["x"]]).T
    for k, (site, x) in enumerate(zip(new["site"], new["x"], strict=True)):
        for column, value in (("1", 1.0), ("x", x)):
            own = posterior.posterior[f"{column}|site"].sel(site__factor_dim=site).values.ravel()
            eta[:, k] = eta[:, k] + value * own
    np.testing.assert_allclose(tunamh.predict(posterior, new, kind="linear", quantiles=None).values, eta, rtol=1e-9)

    other = new.assign(site=["s1", "nowhere", "elsewhere"])
    with pytest.raises(FormulaError, match="'elsewhere', 'nowhere'"):
        tunamh.predict(posterior, other)
    with pytest.raises(FormulaError, match=r"no column site, which names the groups: .*new_levels='population'"):
        tunamh.predict(posterior, other[["x"]])
    with pytest.raises(FormulaError, match=r"no columns x, site\."):
        tunamh.predict(posterior, other[["y"]])
    typical = tunamh.predict(posterior, other, kind="linear", quantiles=None, new_levels="population").values
    np.testing.assert_allclose(typical[:, 1:], (theta @ np.column_stack([np.ones(3), other["x"]]).T)[:, 1:])
    drawn = tunamh.predict(posterior, other, kind="linear", quantiles=None, new_levels="draw", rng=1).values
    scale, slope = (posterior.posterior[f"{column}|site_sigma"].values.ravel() for column in "1x")
    rho = posterior.posterior["1,x|site_corr"].values.ravel()
    x = other["x"].to_numpy()[1]
    variance = (scale**2 + x * x * slope**2 + 2 * x * rho * scale * slope).mean()
    np.testing.assert_allclose(np.var(drawn[:, 1] - typical[:, 1]), variance, rtol=0.5)


def test_classes_have_probabilities_by_name():
    target = tunamh.regression("a ~ x", TABLE, family=tunamh.Categorical())
    posterior = sampled(target)
    found = tunamh.predict(posterior, TABLE.head(4))
    assert found["mean"].dims == ("row", "class")
    assert found["class"].values.tolist() == ["p", "q", "r"]
    np.testing.assert_allclose(found["mean"].sum("class"), 1.0)
    theta = draws_of(posterior, "Intercept", "x").reshape(-1, 2, 2)
    eta = np.einsum("sdk,nd->snk", theta, np.column_stack([np.ones(4), TABLE["x"].head(4)]))
    wanted = special.softmax(np.concatenate([np.zeros((*eta.shape[:2], 1)), eta], axis=-1), axis=-1)
    np.testing.assert_allclose(found["mean"], wanted.mean(axis=0))


def test_ordered_classes():
    grade = pd.cut(TABLE["y"], [-99, 0, 2, 99], labels=["low", "middle", "high"])
    posterior = sampled(tunamh.regression("grade ~ x", TABLE.assign(grade=grade), family=tunamh.Ordinal()))
    assert list(posterior.posterior.data_vars) == ["x", "threshold"]  # cutpoints are the intercepts
    found = tunamh.predict(posterior, pd.DataFrame({"x": [-9.0, 9.0]}))
    assert found["mean"].sel({"class": "low"}).values[0] > 0.9 > found["mean"].sel({"class": "low"}).values[1]
    drawn = tunamh.predict(posterior, pd.DataFrame({"x": [-9.0, 9.0]}), kind="response", rng=1)
    assert list(drawn.data_vars) == ["mode", "q5", "q50", "q95"]
    assert drawn["q50"].values.tolist() == drawn["mode"].values.tolist() == ["low", "high"]
    each = tunamh.predict(posterior, TABLE.head(3), kind="response", quantiles=None, rng=1)
    assert set(each.values.ravel()) <= {"low", "middle", "high"}


def test_simulated_classes_are_those_of_the_data():
    """Numbers stay numbers, and names are names; the frequencies are the predicted probabilities."""
    score = np.digitize(TABLE["y"], [0, 2]) + 1
    table = TABLE.assign(score=score, kind=np.array(["c", "a", "b"])[score - 1])
    ordered = sampled(tunamh.regression("score ~ x", table, family="ordinal"), 1000)
    each = tunamh.predict(ordered, table.head(2), kind="response", quantiles=None, draws=2000, rng=1)
    assert each.dtype == np.int64
    wanted = tunamh.predict(ordered, table.head(2), draws=2000)["mean"].values
    shares = [[float((each[:, i] == k).mean()) for k in (1, 2, 3)] for i in (0, 1)]
    np.testing.assert_allclose(shares, wanted, atol=0.05)
    named = sampled(tunamh.regression("kind ~ x", table, family="categorical"))
    found = tunamh.predict(named, table.head(2), kind="response", rng=1)
    assert list(found.data_vars) == ["mode"]
    assert set(found["mode"].values) <= {"a", "b", "c"}
    plain = sampled(tunamh.GLM(table[["x"]], score, tunamh.Ordinal()))
    drawn = tunamh.predict(plain, table[["x"]].head(2), kind="response", quantiles=None, rng=1)
    assert set(drawn.values.ravel().tolist()) <= {1, 2, 3}
    numbers, names = tunamh.replicate(ordered, table, rows=20, rng=1), tunamh.replicate(named, table, rows=20, rng=1)
    observed = numbers["observed_data"]["score"]
    np.testing.assert_array_equal(observed, score[observed["row"].values])
    assert set(numbers["posterior_predictive"]["score"].values.ravel().tolist()) == {1, 2, 3}
    observed = names["observed_data"]["kind"]
    assert observed.attrs["classes"] == names["posterior_predictive"]["kind"].attrs["classes"] == "0: a, 1: b, 2: c"
    np.testing.assert_array_equal(np.array(["a", "b", "c"])[observed.values], table["kind"][observed["row"].values])


def test_an_ordinal_response_has_its_intercepts_already():
    grade = pd.cut(TABLE["y"], [-99, 0, 2, 99], labels=["low", "middle", "high"])
    table = TABLE.assign(grade=grade)
    for formula in ("grade ~ 0 + a", "grade ~ 0 + x + a", "grade ~ 0 + a:site"):
        with pytest.raises(FormulaError, match=r"this family has intercepts of its own.*leave 0 \+ out"):
            tunamh.regression(formula, table, family="ordinal")
    same = [tunamh.regression(f"grade ~ {one}", table, family="ordinal").names for one in ("0 + x", "x", "0 + x:a")]
    assert same[0] == same[1]
    assert len(same[2]) == 5


def test_trials_of_arrays_are_known_or_asked_for():
    k = RNG.integers(0, 11, N)
    one = sampled(tunamh.GLM(TABLE[["x"]], k, tunamh.Logistic(), trials=10))
    new = TABLE[["x"]].head(3)
    assert tunamh.predict(one, new, kind="response", quantiles=None, rng=1).max() > 1
    assert tunamh.predict(one, new, kind="response", quantiles=None, trials=1, rng=1).max() == 1
    each = sampled(tunamh.GLM(TABLE[["x"]], k, tunamh.Logistic(), trials=np.full(N, 10)))
    with pytest.raises(ValueError, match=r"fitted with trials=.*give the new rows' trials="):
        tunamh.predict(each, new, kind="response")
    assert tunamh.predict(each, new)["mean"].max() < 1  # a probability needs none
    assert tunamh.predict(each, new, kind="response", trials=10, quantiles=None, rng=1).max() > 1


def test_columns_of_a_scale():
    target = tunamh.regression("y ~ x", TABLE, family=tunamh.Gaussian(), predictors={"scale": "~ t"})
    posterior = sampled(target, 200)
    found = tunamh.predict(posterior, TABLE.head(2), kind="response", quantiles=None, draws=400, rng=1)
    gamma = draws_of(posterior, "sigma_Intercept", "sigma_t").reshape(-1, 2)
    wanted = np.exp(gamma @ np.array([1.0, TABLE["t"][0]])).mean()
    linear = tunamh.predict(posterior, TABLE.head(2), kind="linear", quantiles=None, draws=400)
    np.testing.assert_allclose((found - linear).values[:, 0].std(), wanted, rtol=0.15)


def test_trials():
    table = TABLE.assign(k=RNG.integers(0, 4, N), m=4)
    posterior = sampled(tunamh.regression("k | trials(m) ~ x", table, family=tunamh.Logistic()))
    found = tunamh.predict(posterior, table.head(2), kind="response", quantiles=None, rng=1)
    assert 1 < found.max() <= 4
    assert tunamh.predict(posterior, table.head(2))["mean"].max() < 1
    alone = tunamh.predict(posterior, table.head(2)[["x"]], kind="response", quantiles=None, trials=10, rng=1)
    assert 4 < alone.max() <= 10
    with pytest.raises(FormulaError, match=r"no column m, .*trials="):
        tunamh.predict(posterior, table.head(2)[["x"]], kind="response")
    assert tunamh.predict(posterior, table.head(2)[["x"]])["mean"].max() < 1


# ----------------------------------------------------------------------------------------------- rows from a matrix


def test_results_of_a_matrix_and_of_a_table():
    X = TABLE[["x", "t"]]
    posterior = sampled(tunamh.GLM(X, TABLE["n"], tunamh.Poisson(), offset=np.log(TABLE["t"])))
    theta = posterior.posterior["theta"].values.reshape(-1, 2)
    with pytest.raises(ValueError, match="fitted with offset"):
        tunamh.predict(posterior, X.head(3))
    found = tunamh.predict(posterior, X.head(3)[["t", "x"]], offset=1.0, quantiles=None)
    np.testing.assert_allclose(found, np.exp(theta @ X.head(3).to_numpy().T + 1.0))
    with pytest.raises(ValueError, match="3 columns, but the model was fitted to 2"):
        tunamh.predict(posterior, np.ones((4, 3)), offset=0.0)


def test_columns_of_categories_keep_their_reference():
    table = TABLE[["x"]].assign(one=1.0, a=TABLE["a"].astype("category"))
    posterior = sampled(tunamh.LogisticRegression(table, TABLE["late"]))
    theta = posterior.posterior["theta"].values.reshape(-1, 4)
    found = tunamh.predict(
        posterior, pd.DataFrame({"x": [2.0], "one": [1.0], "a": ["r"]}), kind="linear", quantiles=None
    )
    np.testing.assert_allclose(found.values[:, 0], 2 * theta[:, 0] + theta[:, 1] + theta[:, 3])
    with pytest.raises(FormulaError, match="'w'"):
        tunamh.predict(posterior, pd.DataFrame({"x": [2.0], "one": [1.0], "a": ["w"]}))


def test_your_own_likelihood_has_linear_predictors_only():
    def tweedie(eta, y):
        return 2 * y * np.exp(-0.5 * eta) + 2 * np.exp(0.5 * eta)

    posterior = sampled(tunamh.GLM(TABLE[["x"]], TABLE["t"], tunamh.family(tweedie, convex=True)), 30)
    assert tunamh.predict(posterior, TABLE[["x"]].head(2), kind="linear")["mean"].shape == (2,)
    with pytest.raises(NotApplicable, match="your own likelihood"):
        tunamh.predict(posterior, TABLE[["x"]].head(2))


# ------------------------------------------------------------------------------------------------ what is refused


@pytest.fixture(scope="module")
def fitted():
    return sampled(tunamh.regression("late ~ x + a", TABLE, family=tunamh.Logistic()), 30)


@pytest.mark.parametrize(
    ("new", "said"),
    [
        (TABLE[["x"]], "no column a"),
        (TABLE.assign(a="w"), "level 'w'"),
        (TABLE.assign(x=np.nan), "column x has a missing value in row 0"),
        (TABLE.assign(x="many"), "column x holds text"),
        (TABLE.head(0), "no rows"),
        (np.ones((3, 2)), "without column names"),
        (3, "must be a pandas"),
        (TABLE.iloc[0], r"got Series \(a single row of a pandas table stays a table as table\.iloc\[\[0\]\]\)"),
    ],
)
def test_new_rows_that_do_not_fit(fitted, new, said):
    with pytest.raises((FormulaError, TypeError), match=said):
        tunamh.predict(fitted, new)


@pytest.mark.parametrize("asked", [tunamh.predict, tunamh.replicate, tunamh.loo])
def test_a_target_or_draws_are_no_data(fitted, asked):
    target = tunamh.regression("late ~ x + a", TABLE, family=tunamh.Logistic())
    for wrong in (target, fitted):
        with pytest.raises(TypeError, match=f"must be a pandas, .* got {type(wrong).__name__}"):
            asked(fitted, wrong)


@pytest.mark.parametrize(
    "settings", [{"kind": "mode"}, {"quantiles": (2,)}, {"draws": 0}, {"new_levels": "maybe"}, {"offset": 1.0}]
)
def test_choices_that_are_none(fitted, settings):
    with pytest.raises((ValueError, TypeError)):
        tunamh.predict(fitted, TABLE.head(2), **settings)


def test_results_of_something_else_are_refused():
    with pytest.raises(NotApplicable, match=r"result of tunamh\.sample"):
        tunamh.predict({"posterior": 3}, TABLE)
    walk = tunamh.sample(tunamh.GaussianMixture(np.ones(50)), draws=5, tune=5, progressbar=False, rng=1)
    with pytest.raises(NotApplicable):
        tunamh.predict(walk, TABLE)


HOSTILE = [
    ("formula", "__import__('os').system('true')"),
    ("formula", {"version": 1}),
    ("formula", {"version": 99}),
    ("formula", [1, 2]),
    ("family", "os.system"),
    ("dim", -1),
    ("dim", "many"),
]


@pytest.mark.parametrize(("key", "value"), HOSTILE)
def test_what_a_stranger_wrote_into_a_result_is_read_and_never_run(fitted, key, value):
    model = json.loads(fitted.posterior.attrs["model"])
    tree = fitted.copy()
    tree["posterior"] = xarray.DataTree(
        fitted["posterior"].to_dataset().assign_attrs(model=json.dumps(model | {key: value}))
    )
    with pytest.raises((FormulaError, NotApplicable, TypeError)):
        tunamh.predict(tree, TABLE.head(2))


def test_a_formula_of_a_stranger_may_name_known_functions_only(fitted):
    model = json.loads(fitted.posterior.attrs["model"])
    model["formula"]["columns"]["terms"] = "1 + eval(x) + a"
    tree = fitted.copy()
    tree["posterior"] = xarray.DataTree(fitted["posterior"].to_dataset().assign_attrs(model=json.dumps(model)))
    with pytest.raises(FormulaError, match="eval is not known"):
        tunamh.predict(tree, TABLE.head(2))


VARIED = {
    "Beta": ({"precision": 4.0}, 0.3), "Categorical": None, "Ordinal": None, "Hurdle": ({"positive": 0.4}, 0.3),
    "LogLogistic": ({"scale": 0.15}, 0.3), "LogNormal": ({"scale": 0.3}, 0.3),
    "StudentT": ({"df": 9.0, "scale": 1.3}, 0.3),
}  # fmt: skip


@pytest.mark.parametrize("name", [name for name in FAMILIES if VARIED.get(name, ()) is not None])
def test_variances_are_those_of_draws(name):
    """Within five Monte Carlo errors, which come from the draws' own fourth moments."""
    law = distribution_of(name)
    usual = {"scale": 1.3, "df": 9.0, "delta": 1.2, "shape": 1.7, "dispersion": 2.5, "inflation": 0.3}
    usual["log_hazard"] = PARAMETERS["log_hazard"]
    numbers, at = VARIED.get(name, (usual, 0.3))
    eta = np.full((1, 100_000), at)
    drawn = law.draw(np.random.default_rng(5), eta, numbers)
    squares = np.square(drawn - drawn.mean())
    known = law.variance(eta[:, :1], numbers)[0, 0]
    assert abs(squares.mean() - known) < 5 * squares.std() / np.sqrt(squares.size)
    assert known > 0
