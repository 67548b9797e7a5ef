"""A formula's results have a variable for every term, with the names that Bambi has."""

import warnings

import numpy as np
import pandas as pd
import pytest
import xarray

import tunamh
from tunamh.formula.errors import FormulaError
from tunamh.results.layout import Layout, layout_of

RNG = np.random.default_rng(3)
N = 300
TABLE = pd.DataFrame(
    {
        "x": RNG.normal(size=N),
        "z": RNG.normal(size=N),
        "a": RNG.choice(["p", "q", "r"], N),
        "b": RNG.choice(["u", "v"], N),
        "g": RNG.choice(["g1", "g2", "g3", "g4"], N),
        "h": RNG.choice(["h1", "h2", "h3"], N),
        "km/h": RNG.random(N),
        "draw": RNG.random(N),
        "sigma": RNG.random(N),
        "inflation_x": RNG.random(N),
        "late": RNG.random(N) < 0.4,
        "count": RNG.poisson(2, N),
        "positive": RNG.gamma(2, 1, N),
        "share": RNG.beta(2, 2, N),
        "class": RNG.choice(["low", "mid", "top"], N),
    }
)
TABLE["y"] = TABLE["x"] + RNG.normal(size=N)
TABLE["grade"] = pd.Categorical(TABLE["class"], ["low", "mid", "top"], ordered=True)
REAL, LABELS = tunamh.Gaussian(), tunamh.Logistic()


def made(formula, family=LABELS, **given):
    return tunamh.regression(formula, TABLE, family=family, **given)


def shapes(target):
    """The variables with their dimensions and labels."""
    found = layout_of(target, target.variables)
    return {one.name: {dim: list(found.labels[dim]) for dim in one.dimensions} for one in found.variables}


def sampled(target, draws=100, **given):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tunamh.ConvergenceWarning)  # of chains this short
        return tunamh.sample(target, draws=draws, tune=100, chains=2, rng=1, progressbar=False, **given)


G = {"g__factor_dim": ["g1", "g2", "g3", "g4"]}
A = {"a__expr_dim": ["q", "r"]}

NAMES = {
    "numbers and factors, as they are written": (
        "late ~ a + x",
        LABELS,
        {},
        {"Intercept": {}, "a": {"a_dim": ["q", "r"]}, "x": {}},
    ),
    "all levels": ("late ~ 0 + b", LABELS, {}, {"b": {"b_dim": ["u", "v"]}}),
    "products": (
        "late ~ x * a + a:b",
        LABELS,
        {},
        {
            "Intercept": {},
            "x": {},
            "a": {"a_dim": ["q", "r"]},
            "x:a": {"x:a_dim": ["q", "r"]},
            "a:b": {"a:b_dim": ["p, v", "q, v", "r, v"]},
        },
    ),
    "a product without its factors": (
        "late ~ a:b",
        LABELS,
        {},
        {"Intercept": {}, "b": {"b_dim": ["v"]}, "a:b": {"a:b_dim": ["q, u", "q, v", "r, u", "r, v"]}},
    ),
    "functions": ("late ~ I(x**2) + C(b)", LABELS, {}, {"Intercept": {}, "I(x**2)": {}, "C(b)": {"C(b)_dim": ["v"]}}),
    "a residual scale": ("y ~ x", REAL, {}, {"Intercept": {}, "x": {}, "sigma": {}}),
    "degrees of freedom": ("y ~ x", tunamh.StudentT(None), {}, {"Intercept": {}, "x": {}, "sigma": {}, "nu": {}}),
    "dispersion": ("count ~ x", tunamh.NegativeBinomial(), {}, {"Intercept": {}, "x": {}, "alpha": {}}),
    "shape": ("positive ~ x", tunamh.Gamma(), {}, {"Intercept": {}, "x": {}, "alpha": {}}),
    "precision": ("share ~ x", tunamh.Beta(), {}, {"Intercept": {}, "x": {}, "kappa": {}}),
    "hurdle": ("count ~ x", tunamh.Hurdle(tunamh.Poisson()), {}, {"Intercept": {}, "x": {}, "psi": {}}),
    "inflation": ("count ~ x", tunamh.ZeroInflated(tunamh.Poisson()), {}, {"Intercept": {}, "x": {}, "inflation": {}}),
    "cutpoints": (
        "grade ~ x",
        tunamh.Ordinal(),
        {},
        {"x": {}, "threshold": {"threshold_dim": ["low|mid", "mid|top"]}},
    ),
    "classes": (
        "class ~ x + b",
        tunamh.Categorical(),
        {},
        {
            "Intercept": {"class_dim": ["mid", "top"]},
            "x": {"class_dim": ["mid", "top"]},
            "b": {"b_dim": ["v"], "class_dim": ["mid", "top"]},
        },
    ),
    "a predictor of the scale": (
        "y ~ x",
        REAL,
        {"predictors": {"scale": "~ z + b"}},
        {
            "Intercept": {},
            "x": {},
            "sigma_Intercept": {},
            "sigma_z": {},
            "sigma_b": {"sigma_b_dim": ["v"]},
        },
    ),
    "a predictor of the inflation": (
        "count ~ x",
        tunamh.ZeroInflated(tunamh.Poisson()),
        {"predictors": {"inflation": "~ x"}},
        {"Intercept": {}, "x": {}, "inflation_Intercept": {}, "inflation_x": {}},
    ),
    "random intercepts": ("late ~ x + (1 | g)", LABELS, {}, {"Intercept": {}, "x": {}, "1|g_sigma": {}, "1|g": G}),
    "random slopes": (
        "late ~ x + (x | g)",
        LABELS,
        {},
        {
            "Intercept": {},
            "x": {},
            "1|g_sigma": {},
            "x|g_sigma": {},
            "1,x|g_corr": {},
            "1|g": G,
            "x|g": G,
        },
    ),
    "slopes without correlation": (
        "late ~ x + (x || g)",
        LABELS,
        {},
        {"Intercept": {}, "x": {}, "1|g_sigma": {}, "x|g_sigma": {}, "1|g": G, "x|g": G},
    ),
    "slopes of a factor": (
        "y ~ x + (1 + x + a | g)",
        REAL,
        {},
        {
            "Intercept": {},
            "x": {},
            "sigma": {},
            "1|g_sigma": {},
            "x|g_sigma": {},
            "a|g_sigma": A,
            "1,x|g_corr": {},
            "1,a|g_corr": A,
            "x,a|g_corr": A,
            "a,a|g_corr": {"a__pair_dim": ["q, r"]},
            "1|g": G,
            "x|g": G,
            "a|g": {**A, **G},
        },
    ),
    "crossed": (
        "late ~ 1 + (1 | g) + (1 | h)",
        LABELS,
        {},
        {
            "Intercept": {},
            "1|g_sigma": {},
            "1|h_sigma": {},
            "1|g": G,
            "1|h": {"h__factor_dim": ["h1", "h2", "h3"]},
        },
    ),
    "names that no file can have": ("late ~ `km/h`", LABELS, {}, {"Intercept": {}, "km÷h": {}}),
    "names that are taken": (
        "y ~ draw + sigma",
        REAL,
        {},
        {"Intercept": {}, "draw_": {}, "sigma_": {}, "sigma": {}},
    ),
    "a name that is free where no family takes it": ("late ~ sigma", LABELS, {}, {"Intercept": {}, "sigma": {}}),
    "a column with the name of another's coefficient": (
        "count ~ inflation_x",
        tunamh.ZeroInflated(tunamh.Poisson()),
        {"predictors": {"inflation": "~ x"}},
        {"Intercept": {}, "inflation_x": {}, "inflation_Intercept": {}, "inflation_x_": {}},
    ),
}


@pytest.mark.parametrize("name", NAMES)
def test_every_term_is_a_variable(name):
    formula, family, given, wanted = NAMES[name]
    assert shapes(made(formula, family, **given)) == wanted


def test_numbers_are_those_that_chains_have_side_by_side():
    """Coefficients of a predictor that were known by their places before."""
    target = made("y ~ a + x + (1 + x + a | g)", REAL)
    layout = layout_of(target, target.variables)
    point = np.arange(layout.size, dtype=float)
    found = layout.dataset(point[None, None], {"chain": [0], "draw": [0]}).isel(chain=0, draw=0)
    reported = dict(zip(target.reported, point, strict=True))
    wanted = {
        "theta[Intercept]": found["Intercept"],
        "theta[x]": found["x"],
        "theta[a[q]]": found["a"].sel(a_dim="q"),
        "scale": found["sigma"],
        "group_scale[g: x]": found["x|g_sigma"],
        "group_scale[g: a[r]]": found["a|g_sigma"].sel(a__expr_dim="r"),
        "group_correlation[g: x, Intercept]": found["1,x|g_corr"],
        "group_correlation[g: a[r], Intercept]": found["1,a|g_corr"].sel(a__expr_dim="r"),
        "group_correlation[g: a[q], x]": found["x,a|g_corr"].sel(a__expr_dim="q"),
        "group_correlation[g: a[r], a[q]]": found["a,a|g_corr"].sel(a__pair_dim="q, r"),
        "group_effect[g[g2]: Intercept]": found["1|g"].sel(g__factor_dim="g2"),
        "group_effect[g[g3]: x]": found["x|g"].sel(g__factor_dim="g3"),
        "group_effect[g[g4]: a[r]]": found["a|g"].sel(g__factor_dim="g4", a__expr_dim="r"),
    }
    assert {name: float(value) for name, value in wanted.items()} == {name: reported[name] for name in wanted}
    np.testing.assert_array_equal(layout.flat(found), point)
    assert layout.names[0] == "Intercept"
    assert layout.names[int(found["x|g"].sel(g__factor_dim="g3"))] == "x|g[g3]"


def test_a_layout_comes_back_from_json():
    target = made("y ~ a + (1 + x | g)", REAL)
    layout = layout_of(target, target.variables)
    again = Layout.from_json(layout.to_json())
    assert again.names == layout.names
    assert [(one.name, one.dimensions, dict(one.attributes)) for one in again.variables] == [
        (one.name, one.dimensions, dict(one.attributes)) for one in layout.variables
    ]


@pytest.fixture(scope="module")
def grouped():
    return sampled(made("y ~ x * a + (1 + x | g)", REAL))


def test_variables_say_what_they_are(grouped):
    posterior = grouped.posterior
    assert posterior["a"].attrs == {"role": "coefficient", "term": "a", "reference": "p"}
    assert posterior["sigma"].attrs == {"role": "parameter of the family", "term": "scale"}
    assert posterior["x|g"].attrs == {"role": "group effect", "term": "x", "group": "g"}
    products = sampled(made("late ~ a * b"), draws=5).posterior["a:b"]
    assert products.attrs["reference"] == "a = p, b = u"


def test_summaries_warnings_and_lines_have_the_names(grouped, capsys, monkeypatch):
    table = tunamh.summary(grouped)
    rows = ["Intercept", "x", "a[q]", "a[r]", "x:a[q]", "x:a[r]", "sigma", "1|g_sigma", "x|g_sigma", "1,x|g_corr"]
    assert table.index.tolist() == rows
    assert table.attrs["notes"][0] == (
        '8 group effects are left out: tunamh.summary(posterior, var_names=["1|g", "x|g"]) shows them, '
        "tunamh.group_effects(posterior) ranks them."
    )
    assert tunamh.summary(grouped, var_names=["x|g"]).index.tolist() == [f"x|g[g{k}]" for k in (1, 2, 3, 4)]
    monkeypatch.delenv("CI", raising=False)
    with pytest.warns(
        tunamh.ConvergenceWarning, match=r"effective draws of (x|Intercept|a\[.\]),|R-hat .* for (x|a\[)"
    ):
        tunamh.sample(made("late ~ x + a"), test=tunamh.MH(), proposal=tunamh.RandomWalk(0.01), draws=100, rng=1)
    assert "theta[" not in capsys.readouterr().err


def test_distances_from_laplace_have_the_names(grouped):
    names = tunamh.results.tree.LaplaceDistance.from_attributes(grouped.posterior.attrs).names
    assert sorted(names) == sorted(tunamh.summary(grouped).index)
    approximation = tunamh.laplace(made("late ~ a + x"), check=False)
    assert approximation.names == ["Intercept", "x", "a[q]", "a[r]"]
    assert list(approximation.sample(5, rng=1).posterior.data_vars) == ["Intercept", "a", "x"]


def test_arviz_finds_terms(grouped):
    plots = pytest.importorskip("arviz_plots")
    for names in (["x"], ["a", "1|g"]):
        plots.plot_forest(grouped, var_names=names, backend="none")


def test_files_and_stores_keep_names_and_predictions(grouped, tmp_path):
    grouped.to_netcdf(tmp_path / "run.nc", engine="h5netcdf")
    wanted = tunamh.predict(grouped, TABLE.head(5), new_levels="draw", rng=1)
    with xarray.open_datatree(tmp_path / "run.nc", engine="h5netcdf") as saved:
        assert list(saved.posterior.data_vars) == list(grouped.posterior.data_vars)
        assert saved.posterior["a"].attrs["reference"] == "p"
        xarray.testing.assert_equal(tunamh.predict(saved, TABLE.head(5), new_levels="draw", rng=1), wanted)
    target = made("y ~ x * a + (1 + x | g)", REAL)
    sampled(target, draws=60, store=tmp_path / "run")
    resumed = tunamh.resume(tmp_path / "run", target, draws=100, progressbar=False)
    xarray.testing.assert_equal(resumed.posterior.to_dataset(), grouped.posterior.to_dataset())
    stored = tunamh.read_store(tmp_path / "run")
    xarray.testing.assert_equal(stored.posterior.to_dataset(), grouped.posterior.to_dataset())
    assert stored.posterior["x|g"].attrs == grouped.posterior["x|g"].attrs


def test_predictions_of_every_kind_of_variable():
    """New groups have effects by the covariance of draws, whose correlations lie in several variables."""
    target = made("y ~ x + (1 + x + a | g)", REAL)
    tree = sampled(target, draws=50)
    from tunamh.prediction.fitted import Fitted

    covariance = Fitted.open(tree, None).groups[0].covariance
    posterior = tree.posterior.to_dataset().stack(sample=("chain", "draw"))
    sd = np.vstack([posterior["1|g_sigma"], posterior["x|g_sigma"], posterior["a|g_sigma"].transpose(..., "sample")])
    np.testing.assert_allclose(np.sqrt(np.einsum("saa->as", covariance)), sd)
    rho = posterior["x,a|g_corr"].sel(a__expr_dim="r").values
    np.testing.assert_allclose(covariance[:, 1, 3], rho * sd[1] * sd[3])
    rho = posterior["a,a|g_corr"].sel(a__pair_dim="q, r").values
    np.testing.assert_allclose(covariance[:, 3, 2], rho * sd[2] * sd[3])


def test_draws_that_start_a_run(grouped):
    target = made("y ~ x * a + (1 + x | g)", REAL)
    start = grouped.posterior.to_dataset().isel(chain=0, draw=0)
    again = tunamh.sample(target, init=start, draws=2, tune=0, chains=1, rng=1, progressbar=False)
    assert again.posterior.sizes["draw"] == 2
    with pytest.raises(ValueError, match=r"no variable sigma"):
        tunamh.sample(target, init=start.drop_vars("sigma"), draws=2, rng=1, progressbar=False)


def test_effects_that_are_summed_up():
    tree = sampled(made("y ~ x + (1 + x | g)", REAL, keep_effects=False))
    kept = sampled(made("y ~ x + (1 + x | g)", REAL))
    found = tree["group_effects"]["x|g"]
    assert found.dims == ("chain", "statistic", "g__factor_dim")
    np.testing.assert_allclose(found.sel(statistic="mean"), kept.posterior["x|g"].mean("draw"), rtol=1e-9)
    assert "8 group effects" in tunamh.summary(tree).attrs["notes"][0]


def test_results_whose_attributes_are_lost():
    tree = sampled(made("late ~ x"), draws=5)
    del tree.posterior["x"].attrs["term"]
    with pytest.raises(FormulaError, match="no variable whose attributes say that it is the coefficient 'x'"):
        tunamh.predict(tree, TABLE.head(2))


def test_a_formula_prints_as_it_was_typed():
    assert str(made("late ~ x*a+z").formula) == "late ~ x*a+z"
    assert repr(made("late ~ x").formula) == "FormulaModel('late ~ x')"
