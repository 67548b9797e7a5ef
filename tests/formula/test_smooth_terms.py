"""Curves in formulas: their columns, what is learned of the data, priors, names, predictions, and what is refused."""

import re
import warnings

import numpy as np
import pandas as pd
import pytest

import tunamh
from tunamh import FormulaError
from tunamh.formula.curves import curves_of
from tunamh.formula.model import FormulaModel
from tunamh.formula.splines import penalty, raw_columns
from tunamh.priors.smooths import WithSmooths

rng = np.random.default_rng(5)
N = 3000
TABLE = pd.DataFrame(
    {
        "x": rng.gamma(3, 1, N),
        "hour": rng.uniform(0, 24, N),
        "z": rng.standard_normal(N),
        "c": rng.choice(["a", "b", "c"], N),
        "g": rng.choice(["u", "v"], N),
        "few": rng.choice([1.0, 2.0], N),
    }
)
TABLE["y"] = np.sin(TABLE["x"]) + 0.5 * np.sin(TABLE["hour"] * np.pi / 12) + 0.4 * rng.standard_normal(N)


def made(formula, table=TABLE, **more):
    return tunamh.regression(formula, table, family=tunamh.Gaussian(), **more)


def curve(target, k=0):
    return target.formula.side.curves[k]


def values(smooth, x):
    return smooth.columns(np.asarray(x, dtype=float))


# --------------------------------------------------------------------------------------------------------- columns


@pytest.mark.parametrize("kind", ["splines", "cyclic"])
def test_functions_add_up_to_one_and_are_smooth(kind):
    x = np.linspace(-1.0, 4.0, 5001)
    R = raw_columns(kind, x, 0.0, 3.0, 9)
    assert np.abs(R.sum(axis=1) - 1).max() < 1e-12
    second = np.diff(R, 2, axis=0) / (x[1] - x[0]) ** 2
    inside = slice(None) if kind == "cyclic" else slice(1010, 3990)  # lines begin at the ends
    assert np.abs(np.diff(second[inside], axis=0)).max() < 0.2  # no jump; those of a first derivative would be 1000
    if kind == "cyclic":
        assert np.allclose(R[x < 1], raw_columns(kind, x[x < 1] + 3.0, 0.0, 3.0, 9))


@pytest.mark.parametrize("cyclic", [False, True])
def test_the_penalty_is_the_integral_of_the_squared_second_derivative(cyclic):
    k = 8
    x = np.linspace(0, 1, 200_001)
    c = rng.standard_normal(k)
    f = raw_columns("cyclic" if cyclic else "splines", x, 0.0, 1.0, k) @ c
    h = 1 / (k if cyclic else k - 3)
    integral = np.trapezoid(np.square(np.gradient(np.gradient(f, x), x))[5:-5], x[5:-5])
    assert c @ penalty(k, cyclic=cyclic) @ c / h**3 == pytest.approx(integral, rel=2e-3)


TERMS_AND_NUMBERS = {"s(x, k=30)": 1, "s(hour, cyclic=True)": 1, "s(x, by=z)": 2, "s(x, by=c)": 2, "s(x) + s(z)": 2}
TERMS_AND_NUMBERS |= {"te(x, z)": 24, "bs(x, 6)": 6, "ns(x, 4)": 4, "poly(x, 3)": 3, "s(x, k=30) + bs(z, 4)": 33}


@pytest.mark.parametrize("terms", TERMS_AND_NUMBERS)
def test_a_row_holds_one_number_for_a_curve(terms):
    """And its level, or what multiplies it; of other terms all columns, and of curves in front of these."""
    target = made(f"y ~ {terms}")
    side, design = target.formula.side, target.user_rows.design
    assert design.numbers.width == 1 + TERMS_AND_NUMBERS[terms]
    if "+" not in terms:
        assert design.numbers.width == 1 + side.curves[0].asked.numbers
    columns = side.columns(target.formula.values(TABLE)).dense()
    assert design.block(slice(None)).dense() == pytest.approx(columns, abs=1e-12)


def test_wiggles_have_no_mean_and_no_slope_over_the_rows_and_the_size_of_their_scale():
    smooth = curve(made("y ~ s(x, k=12)"))
    columns = values(smooth, TABLE["x"])
    assert smooth.labels[:2] == ("linear", "1")
    assert np.abs(columns.mean(axis=0)).max() < 1e-8
    assert columns[:, 0].std() == pytest.approx(1)
    assert np.corrcoef(columns[:, 0], TABLE["x"])[0, 1] == pytest.approx(1)
    assert np.abs(columns[:, 1:].T @ columns[:, 0]).max() / N < 1e-8
    assert np.square(columns[:, 1:]).mean(axis=0).sum() == pytest.approx(1)


def test_coefficients_of_wiggles_have_the_penalty_as_their_prior():
    """``c'c`` is the integral of the squared second derivative, times one number, for every curve."""
    smooth = curve(made("y ~ s(x, k=12)"))
    x = np.linspace(smooth.low, smooth.high, 40_001)
    ratios = []
    for _ in range(4):
        c = rng.standard_normal(smooth.each)
        f = values(smooth, x) @ c
        bent = np.gradient(np.gradient(f, x), x)[5:-5]
        ratios.append(np.square(c[1:]).sum() / np.trapezoid(np.square(bent), x[5:-5]))
    assert np.ptp(ratios) < 2e-3 * ratios[0]


def test_curves_go_on_as_lines_and_say_so():
    target = made("y ~ s(x)")
    smooth = curve(target)
    x = np.linspace(smooth.high, smooth.high + 3, 7)
    assert np.abs(np.diff(values(smooth, x), 2, axis=0)).max() < 1e-9
    new = TABLE.head(3).assign(x=[1.0, 50.0, -1.0])
    with pytest.warns(UserWarning, match=r"x is outside the range of the fitted data, .* in 2 rows: .*straight line"):
        target.formula.side.columns(target.formula.values(new))


def test_a_cyclic_curve_has_one_value_at_both_ends():
    smooth = curve(made("y ~ s(hour, cyclic=True, period=24)"))
    assert smooth.fixed == 0
    assert np.allclose(values(smooth, [0.5, 3.0]), values(smooth, [24.5, -21.0]))


def test_a_curve_by_levels_and_by_numbers():
    by_levels = made("y ~ c + s(x, by=c)")
    block = by_levels.formula.side.columns(by_levels.formula.values(TABLE)).dense()
    side, smooth = by_levels.formula.side, curve(by_levels)
    own = block[:, -smooth.size :].reshape(N, 3, smooth.each)
    for k, level in enumerate(side.levels["c"]):
        inside = (TABLE["c"] == level).to_numpy()
        assert np.allclose(own[inside, k], values(smooth, TABLE["x"][inside]))
        assert (own[~inside, k] == 0).all()
    by_numbers = made("y ~ s(x, by=z)")
    assert curve(by_numbers).labels[:2] == ("constant", "linear")
    columns = by_numbers.formula.side.columns(by_numbers.formula.values(TABLE)).dense()[:, 1:]
    assert np.allclose(columns[:, 0], TABLE["z"])
    assert np.allclose(columns, values(curve(by_numbers), TABLE["x"]) * TABLE["z"].to_numpy()[:, None])


def test_default_priors_of_a_curve_times_numbers_are_in_their_units():
    """Inches for metres change nothing but the unit of the curve."""

    def scales(factor):
        table = TABLE.assign(z=factor * (TABLE["z"] + 3.0))
        priors = tunamh.prior_summary(tunamh.regression("y ~ s(x, by=z)", table))["prior"]
        return [[float(word) for word in re.findall(r"[-+.e0-9]*[0-9]", priors.iloc[k])][-1] for k in (0, 1, 2, 3)]

    intercept, constant, line, wiggles = scales(1.0)
    assert scales(1000.0) == pytest.approx([intercept, constant / 1000, line / 1000, wiggles / 1000], rel=0.01)
    unit = TABLE["y"].std(ddof=0) / TABLE["z"].std(ddof=0)
    assert (constant, line, wiggles) == pytest.approx((2.5 * unit, 2.5 * unit, unit), rel=0.01)
    mean = float(TABLE["z"].mean()) + 3.0
    assert intercept == pytest.approx(np.hypot(10 * TABLE["y"].std(ddof=0), constant * mean), rel=0.01)


def test_plain_columns():
    for term, count in (("bs(x, 6)", 6), ("ns(x, df=4)", 4), ("poly(x, 3)", 3)):
        target = made(f"y ~ {term}")
        columns = values(curve(target), TABLE["x"])
        assert columns.shape[1] == count
        assert np.abs(columns.mean(axis=0)).max() < 1e-9
        assert np.linalg.matrix_rank(np.column_stack([np.ones(N), columns])) == count + 1
        assert "prior_scale" not in dict(target.variables)
    gram = columns.T @ columns / N
    assert np.allclose(gram, np.eye(3), atol=1e-8)
    assert np.linalg.matrix_rank(np.column_stack([np.vander(TABLE["x"], 4), columns]), tol=1e-6) == 4
    natural = curve(made("y ~ ns(x, df=4)"))
    h = (natural.high - natural.low) / 500
    ends = values(natural, [natural.low, natural.low + h, natural.low + 2 * h])
    assert np.abs(np.diff(ends, 2, axis=0)).max() / h**2 < 0.05 * np.abs(ends).max() / h


# ----------------------------------------------------------------------------------------------- priors and names


def test_priors_of_scales_are_in_the_units_of_the_curve():
    unit = TABLE["y"].std()
    prior = made("y ~ z + s(x) + s(hour, cyclic=True, period=24)").prior
    assert isinstance(prior, WithSmooths)
    assert prior.labels == ("s(x)", "s(hour)")
    assert [float(one.law().scale[0]) for one in prior.scales] == pytest.approx([unit, unit], rel=1e-3)
    own = made("y ~ z + s(x)", prior={"s(x)": tunamh.HalfCauchy(0.3), "z": tunamh.Normal(scale=7.0)})
    assert own.prior.scales == (tunamh.HalfCauchy(0.3),)
    for formula, typed in (
        ("y ~ z + s(x, k=6)", "s(x, k=6)"),
        ("y ~ z + s(x, k=6)", "s(x)"),
        ("y ~ z + s(x, k=6)", "s( x,k = 6 )_sigma"),
        ("y ~ z + s(x, by=g, k=6)", "s(x, k=6, by=g)"),
    ):
        same = made(formula, prior={typed: tunamh.HalfCauchy(0.3), "z": tunamh.Normal(scale=7.0)})
        assert set(same.prior.scales) == {tunamh.HalfCauchy(0.3)}
    words = tunamh.prior_summary(own)["prior"]
    assert "unknown standard deviation (half-Cauchy, scale 0.3)" in words["s(x)[1]"]
    assert words["z"] == "normal, mean 0, standard deviation 7"
    flat = made("y ~ z + s(x)", prior=tunamh.Flat())
    assert tunamh.prior_summary(flat)["prior"]["s(x)[linear]"] == "flat"


@pytest.fixture(scope="module")
def fitted():
    target = made("y ~ c + s(x) + s(hour, cyclic=True, period=24) + s(z, k=6, by=g)")
    return target, tunamh.sample(target, draws=500, rng=1, progressbar=False)


def test_variables_of_results(fitted):
    _, tree = fitted
    names = ["Intercept", "c", "s(x)", "s(hour)", "s(z, by=g)", "sigma", "s(x)_sigma", "s(hour)_sigma"]
    assert list(tree.posterior.data_vars) == [*names, "s(z, by=g)_sigma"]
    assert tree.posterior["s(x)"].attrs["term"] == "s(x)"
    assert list(tree.posterior["s(x)_dim"].values[:2]) == ["linear", "1"]
    assert list(tree.posterior["s(z, by=g)_sigma_dim"].values) == ["u", "v"]
    assert tree.posterior["s(z, by=g)_dim"].values[0] == "u, linear"


def test_the_curves_are_found(fitted):
    _, tree = fitted
    new = TABLE.head(200)
    found = tunamh.predict(tree, new, kind="linear")
    truth = np.sin(new["x"]) + 0.5 * np.sin(new["hour"] * np.pi / 12)
    inside = ((new["x"] > 0.3) & (new["x"] < 8)).to_numpy()
    assert np.abs(found["mean"].values - truth)[inside].max() < 0.15
    assert tree.sample_stats["accepted"].mean() > 0.7


def test_a_stored_formula_makes_the_same_columns(fitted):
    target, _ = fitted
    model = FormulaModel.from_json(target.formula.to_json())
    ours, theirs = (one.side.columns(one.values(TABLE.head(50))).dense() for one in (target.formula, model))
    assert np.array_equal(ours, theirs)
    told = target.formula.to_json()
    told["columns"]["curves"][0]["T"] = [[1.0]]
    with pytest.raises(FormulaError, match="do not fit its term"):
        FormulaModel.from_json(told)


def test_files_learn_the_same_columns(tmp_path):
    pytest.importorskip("pyarrow")
    for k in range(2):
        TABLE.iloc[k * 1500 : (k + 1) * 1500].to_parquet(tmp_path / f"{k}.parquet")
    formula = "y ~ s(x) + s(z, k=6, by=g)"
    of_files = made(formula, tunamh.open_rows(str(tmp_path / "*.parquet"), memory=60_000))
    assert of_files.observations.memory is not None
    for ours, theirs in zip(of_files.formula.side.curves, made(formula).formula.side.curves, strict=True):
        assert np.allclose(ours.T, theirs.T, atol=1e-8)
        assert (ours.low, ours.high) == (theirs.low, theirs.high)


# --------------------------------------------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("formula", "told"),
    [
        ("y ~ s(x, z)", r"a surface over two columns is written te\(x, z\), two curves s\(x\) \+ s\(z\)"),
        ("y ~ te(x)", r"te takes two columns, as in te\(x, z\)"),
        ("y ~ te(x, z, by=c)", "te has no argument by=; known are k="),
        ("y ~ te(x, few)", "few has too few different values"),
        ("y ~ ti(x, z)", r"a surface is written te\(x, z\)"),
        ("y ~ s(x):z", r"s\(x\) is in a product.*s\(x, by=z\)"),
        ("y ~ s(x) * z", r"s\(x\) is in a product"),
        ("y ~ (z + s(x)):c", r"s\(x\) is in a product"),
        ("y ~ z - s(x)", "a minus cannot remove"),
        ("y ~ s(x) + s(x, k=8)", r"s\(x\) is in the formula twice"),
        ("y ~ s(x, k=3)", "k= is a whole number from 5"),
        ("y ~ s(x, k=7.5)", "k= is a whole number"),
        ("y ~ s(x, bs=4)", "s has no argument bs=; known are k, by, cyclic, period="),
        ('y ~ s(hour, bs="cc")', r"no argument bs=.*s\(x, cyclic=True\) for a cyclic curve"),
        ("y ~ s(x, fx=True)", r"no argument fx=.*bs\(x, df\)"),
        ("y ~ s(x, cyclic=maybe)", "cyclic= is True or False"),
        ("y ~ s(x, period=24)", "add cyclic=True"),
        ("y ~ s()", "s takes a column"),
        ("y ~ bs(x)", "write how many columns"),
        ("y ~ (s(x) | g)", r"a curve for every group is not possible: write s\(x\) \+ \(1 \+ x \| group\)"),
        ("y ~ mo(x)", r"monotonic effects are not offered: C\(x\)"),
        ("y ~ s(few)", "few has too few different values for a curve"),
        ("y ~ x + s(x)", r"collinear.*A curve s\(x\) contains the straight line in x"),
        ("y ~ s(c)", "holds text or categories"),
    ],
)
def test_what_is_refused(formula, told):
    with pytest.raises((FormulaError, tunamh.NotApplicable), match=told):
        made(formula)


def test_priors_that_do_not_fit_are_refused():
    with pytest.raises(TypeError, match=r"the prior of s\(x\) is the prior of its scale"):
        made("y ~ s(x)", prior={"s(x)": tunamh.Normal(scale=1)})
    with pytest.raises(TypeError, match="must be HalfStudentT or HalfCauchy"):
        made("y ~ s(x)", prior={"s(x)_sigma": tunamh.HalfNormal(1)})
    with pytest.raises(FormulaError, match=r"Ridge.* beside s\(x\) is not offered"):
        made("y ~ z + s(x)", prior=tunamh.priors.Ridge())
    with pytest.raises(TypeError, match=r"in a model with s\(x\), only Normal and Flat priors"):
        made("y ~ z + s(x)", prior={"z": tunamh.priors.Laplace(scale=1)})


# ------------------------------------------------------------------------------------------ new rows and derivatives

TERMS = {"s(x)": "x", "bs(z, 5)": "z", "ns(w, 4)": "w", "poly(v, 3)": "v", "s(hour, cyclic=True, period=24)": "hour"}


@pytest.fixture(scope="module")
def every_kind():
    table = TABLE.assign(w=rng.uniform(0, 1, N), v=rng.uniform(-1, 1, N))
    target = made(f"y ~ {' + '.join(TERMS)}", table)
    return table, tunamh.sample(target, draws=300, chains=2, cores=1, rng=2, progressbar=False)


@pytest.mark.parametrize("term", TERMS)
def test_slopes_are_derivatives_of_curves(every_kind, term):
    table, posterior = every_kind
    rows, column = table.iloc[[5, 40, 77]], TERMS[term]
    found = tunamh.slopes(posterior, rows, column)["mean"].to_numpy()
    h = 1e-3 * table[column].std()
    up, down = (tunamh.predict(posterior, rows.assign(**{column: rows[column] + d}))["mean"].values for d in (h, -h))
    assert found == pytest.approx((up - down) / (2 * h), rel=1e-3, abs=1e-3 * np.abs(found).max())


@pytest.mark.parametrize("term", TERMS)
def test_new_rows_beyond_the_data_go_on_as_the_term_says(every_kind, term):
    """As a line, as the polynomial, or round; with a warning but of what goes round."""
    table, posterior = every_kind
    column = TERMS[term]
    width = table[column].max() - table[column].min()
    beyond = table.iloc[[0] * 4].assign(**{column: table[column].max() + width * np.array([0.1, 0.2, 0.3, 0.4])})
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        found = tunamh.predict(posterior, beyond)["mean"].values
    said = [str(one.message) for one in told if "outside the range" in str(one.message)]
    second = np.abs(np.diff(found, 2)).max()
    if "cyclic" in term:
        again = tunamh.predict(posterior, beyond.assign(hour=beyond["hour"] - 24))["mean"].values
        assert said == []
        assert found == pytest.approx(again, abs=1e-9)
    elif "poly" in term:
        assert "polynomial continues" in said[0]
        assert np.abs(np.diff(found, 4)).max(initial=0.0) < 1e-9
        assert second > 1e-6
    else:
        assert "straight line" in said[0]
        assert second < 1e-9


def test_plain_curves_describe_a_scale():
    table = TABLE.assign(y=np.exp(0.5 * np.sin(TABLE["x"])) * rng.standard_normal(N))
    target = made("y ~ 1", table, predictors={"scale": "~ bs(x, 6)"})
    posterior = tunamh.sample(target, draws=300, chains=2, cores=1, rng=1, progressbar=False)
    columns = target.formula.others["scale"].curves[0].columns(np.array([1.5, 4.5]))
    low, high = (posterior.posterior["sigma_bs(x, 6)"].values @ columns.T).mean(axis=(0, 1))
    assert low - high == pytest.approx(0.5 * (np.sin(1.5) - np.sin(4.5)), abs=0.15)


def test_every_class_has_a_curve_and_its_scale():
    eta = np.column_stack([np.zeros(N), 1.5 * np.sin(TABLE["x"]), -0.3 + 0 * TABLE["x"]])
    classes = np.array(["a", "b", "c"])[np.argmax(eta + rng.gumbel(size=eta.shape), axis=1)]
    target = tunamh.regression("k ~ s(x) + z", TABLE.assign(k=classes), family=tunamh.Categorical())
    posterior = tunamh.sample(target, draws=500, chains=2, cores=1, rng=1, progressbar=False)
    found = posterior.posterior
    assert found["s(x)_sigma"].dims == ("chain", "draw", "k_dim")
    assert found["s(x)"].dims == ("chain", "draw", "s(x)_dim", "k_dim")
    scale = found["s(x)_sigma"].median(("chain", "draw")).values
    assert scale[0] > 3 * scale[1]
    assert posterior.sample_stats["accepted"].mean() > 0.5
    wavy, flat = curves_of(posterior)
    assert (wavy.title, flat.title) == ("s(x), b", "s(x), c")
    inside = (wavy.at > 0.5) & (wavy.at < 7)
    truth = 1.5 * (np.sin(wavy.at) - np.sin(TABLE["x"]).mean())
    assert np.abs(wavy.draws.mean(axis=0) - truth)[inside].max() < 0.6
    assert tunamh.predict(posterior, TABLE.head(3))["mean"].shape == (3, 3)


def test_the_line_of_a_curve_has_a_prior_by_name_and_a_wiggle_has_none_of_its_own():
    prior = {
        "s(x)[linear]": tunamh.Normal(scale=0.25),
        "s(x)": tunamh.HalfStudentT(3, 0.5),
        "z": tunamh.Normal(scale=3),
    }
    target = made("y ~ z + s(x, k=6)", prior=prior)
    mixture = target.coefficient_prior.mixture
    assert np.sqrt(mixture.fixed_variance[1:3]) == pytest.approx([3.0, 0.25])
    assert mixture.mixed.tolist() == [False] * 3 + [True] * 4
    by_default = made("y ~ z + s(x, k=6)").coefficient_prior
    assert mixture.fixed_variance[0] == pytest.approx(by_default.mixture.fixed_variance[0])
    by_level = made("y ~ s(x, by=c, k=6)", prior={"s(x, by=c)[b, linear]": tunamh.Normal(scale=7)})
    told = tunamh.prior_summary(by_level)["prior"]
    assert told["s(x, by=c)[b, linear]"] == "normal, mean 0, standard deviation 7"
    assert told["s(x, by=c)[a, linear]"] != told["s(x, by=c)[b, linear]"]
    with pytest.raises(FormulaError, match=r"prior names 's\(x\)\[2\]', one of the coefficients of s\(x\)"):
        made("y ~ s(x)", prior={"s(x)[2]": tunamh.Normal(scale=1)})
