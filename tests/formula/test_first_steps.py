"""What a newcomer tries first: words for families, no family, events, shares, priors as typed, typical groups."""

import warnings

import numpy as np
import pandas as pd
import pytest

import tunamh
from tunamh.formula.errors import FormulaError

RNG = np.random.default_rng(4)
N = 300
TABLE = pd.DataFrame(
    {
        "x": RNG.normal(size=N),
        "z": RNG.normal(size=N),
        "g": RNG.choice(["g1", "g2", "g3", "g4"], N),
        "h": RNG.choice(["h1", "h2", "h3"], N),
        "late": RNG.random(N) < 0.4,
        "count": RNG.poisson(2, N),
        "k": RNG.binomial(8, 0.3, N),
        "n": 8,
        "died": RNG.random(N) < 0.7,
        "class": RNG.choice(["low", "mid", "top"], N),
    },
    index=pd.Index([f"row {k}" for k in range(N)], name="who"),
)
TABLE["y"] = TABLE["x"] + RNG.normal(size=N)
TABLE["t"] = RNG.exponential(np.exp(TABLE["x"]))


def made(formula, **given):
    return tunamh.regression(formula, TABLE, **given)


def sampled(target, draws=100):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", tunamh.ConvergenceWarning)  # of chains this short
        return tunamh.sample(target, draws=draws, tune=100, chains=2, rng=1, progressbar=False)


# ----------------------------------------------------------------------------------------------------- families


@pytest.mark.parametrize(
    ("word", "family"),
    [
        ("logistic", tunamh.Logistic()),
        ("Bernoulli", tunamh.Logistic()),
        ("binomial", tunamh.Logistic()),
        ("poisson", tunamh.Poisson()),
        ("negative_binomial", tunamh.NegativeBinomial()),
        ("NegativeBinomial", tunamh.NegativeBinomial()),
        ("student t", tunamh.StudentT()),
        ("t", tunamh.StudentT()),
        ("normal", tunamh.Gaussian()),
        ("zero-inflated-poisson", tunamh.ZeroInflated(tunamh.Poisson())),
    ],
)
def test_families_by_their_words(word, family):
    response = "late" if isinstance(family, tunamh.Logistic) else "count"
    assert repr(made(f"{response} ~ x", family=word).user_family) == repr(family)
    assert repr(tunamh.GLM(TABLE[["x"]], TABLE[response], word).user_family) == repr(family)


@pytest.mark.parametrize(
    ("word", "meant"),
    [
        ("logit", "logistic"),
        ("NegBin", "negative-binomial"),
        ("negbinomial", "negative-binomial"),
        ("cox", "piecewise-exponential"),
        ("logistik", "logistic"),
    ],
)
def test_unknown_families_are_answered_with_the_one_that_is_meant(word, meant):
    with pytest.raises(ValueError, match=f"there is no family '{word}'. Is {meant} meant?"):
        made("y ~ x", family=word)


def test_numbers_without_a_family_are_gaussian():
    assert repr(made("y ~ x").user_family) == "Gaussian(scale=None)"
    assert repr(made("y ~ x + (1 | g)").user_family) == "Gaussian(scale=None)"


@pytest.mark.parametrize(
    ("formula", "given", "said"),
    [
        ("late ~ x", {}, 'two values, 0 and 1, and there is no family: set family="logistic"'),
        ("class ~ x", {}, 'text or categories, and you have not set a family: set family="logistic" .*, "categorical"'),
        ("k ~ x", {"trials": "n"}, 'set family="logistic"'),
        ("k ~ x", {"trials": TABLE["n"]}, 'set family="logistic"'),
    ],
)
def test_other_responses_without_a_family_are_refused_with_a_hint(formula, given, said):
    with pytest.raises(FormulaError, match=said):
        made(formula, **given)


def test_rows_that_are_not_held_need_a_family():
    blocks = tunamh.open_rows([TABLE[["y", "x"]].iloc[:150], TABLE[["y", "x"]].iloc[150:]], memory=2048)
    with pytest.raises(FormulaError, match="need a family"):
        tunamh.regression("y ~ x", blocks)


# ----------------------------------------------------------------------------------------------------- censoring


def test_events_are_what_is_not_censored():
    wanted = made("t ~ x", family="exponential", censored=1 - TABLE["died"])
    at = np.array([0.3, -0.2])
    for target in (
        made("t ~ x", family="exponential", event="died"),
        made("t ~ x", family="exponential", event=TABLE["died"]),
        made("t | event(died) ~ x", family="exponential"),
        made("t ~ x", family="exponential", event=TABLE["died"].astype(int).tolist()),
    ):
        np.testing.assert_array_equal(target.expansion(at).energy, wanted.expansion(at).energy)
    by_table = tunamh.GLM(TABLE[["x"]], TABLE["t"], "exponential", event=TABLE["died"][::-1])  # paired by its labels
    by_codes = tunamh.GLM(TABLE[["x"]], TABLE["t"], "exponential", censored=~TABLE["died"])
    np.testing.assert_array_equal(by_table.expansion(at[:1]).energy, by_codes.expansion(at[:1]).energy)
    grouped = tunamh.MixedModel(TABLE[["x"]], TABLE["t"], "exponential", TABLE["g"], event=TABLE["died"])
    assert grouped.remarks() == by_table.remarks()


def test_a_model_is_printed_for_people():
    table = TABLE.assign(x=TABLE["x"].where(np.arange(N) > 8), plan=np.resize(["basic", "plus", "premium"], N))
    table["left"] = np.where(table["late"], "yes", "no")
    model = tunamh.regression("left ~ x + plan + (1 | g)", table, family="logistic", missing="drop")
    assert "\n" not in repr(model)
    first, *lines = str(model).splitlines()
    assert first == "left ~ x + plan + (1 | g)"
    assert lines[:6] == [
        "Family: Logistic regression; left: 'yes' counts as 1, 'no' as 0",
        "Rows: 291 (9 with missing values are left out)",
        "Reference levels: plan: basic",
        f"Groups: g ({TABLE['g'].nunique()} levels)",
        "Priors:",
        "  Intercept: normal, mean 0, standard deviation 10",
    ]
    assert "  plan: normal, mean 0, standard deviation 2.5" in lines
    assert "  1|g_sigma: half-normal, scale 1" in lines
    told = "9 of 300 rows have missing values and are left out; left: 'yes' counts as 1, 'no' as 0"
    assert model.remarks() == [told]
    plain = tunamh.regression("left ~ s(t) + plan", table, family="logistic")
    assert plain.remarks() == ["left: 'yes' counts as 1, 'no' as 0"]
    assert "  s(t)[1] to s(t)[8]: normal, mean 0, unknown standard deviation (half-Student-t" in str(plain)


def test_how_many_are_censored_is_told(capsys, monkeypatch):
    target = made("t ~ x", family="exponential", event="died")
    censored = int((~TABLE["died"]).sum())
    line = f"{censored} of 300 responses are censored (the true value is larger)"
    assert target.remarks() == [line]
    monkeypatch.delenv("CI", raising=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tunamh.sample(target, draws=10, tune=10, chains=1, rng=1)
    assert line in capsys.readouterr().err
    assert made("y ~ x").remarks() == []
    both = made("t ~ x", family="exponential", censored=np.where(TABLE["died"], 0, -1))
    assert "the true value is smaller" in both.remarks()[0]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"event": "count"}, "event must be 1 .* but row"),
        ({"event": "died", "censored": "died"}, "have the same information"),
    ],
)
def test_events_that_mean_nothing(given, said):
    with pytest.raises(FormulaError, match=said):
        made("t ~ x", family="exponential", **given)
    with pytest.raises(TypeError, match="give censored= by name"):
        tunamh.GLM(TABLE[["x"]], TABLE["t"], "exponential", event="died")


def test_replicas_of_censored_responses_are_refused():
    tree = sampled(made("t ~ x", family="exponential", event="died"), draws=5)
    with pytest.raises(tunamh.NotApplicable, match="censored"):
        tunamh.replicate(tree, TABLE)


# ------------------------------------------------------------------------------------------------ trials, priors


def test_shares_of_trials_are_refused_with_a_hint():
    for formula, given in (("k/n | trials(n) ~ x", {}), ("I(k/n) ~ x", {"trials": "n"})):
        with pytest.raises(ValueError, match="look like shares k/n: give the number of successes k"):
            made(formula, family="logistic", **given)
    blocks = tunamh.open_rows([TABLE[["k", "n", "x"]]], memory=2048)
    with pytest.raises(ValueError, match="look like shares k/n"):
        tunamh.sample(tunamh.regression("k/n | trials(n) ~ x", blocks, family="logistic"), draws=2)


def test_all_collinear_groups_are_named_together():
    table = TABLE.assign(x2=2 * TABLE["x"], z2=TABLE["z"] / 3)
    with pytest.raises(FormulaError, match=r"columns x, x2 are collinear.*columns z, z2 are collinear.*of each group"):
        tunamh.regression("y ~ x + x2 + z + z2", table)


@pytest.mark.parametrize(
    ("formula", "name"),
    [
        ("late ~ x + (h | g)", "(h | g)"),
        ("late ~ x + (1 + x || g)", "(1 + x || g)"),
        ("late ~ x + (x || g)", "(1 + x || g)"),
        ("late ~ x + (1|g)", "(1 | g)"),
    ],
)
def test_priors_of_scales_by_the_term_as_typed(formula, name):
    target = made(formula, family="logistic", prior={name: tunamh.HalfNormal(0.3)})
    for one in target.groupings:
        np.testing.assert_allclose(one.laws.scale, 0.3)


@pytest.mark.parametrize("name", ["I(x^2)", "I(x**2)", "I( x ^ 2 )"])
def test_priors_of_powers_by_the_term_as_typed(name):
    target = made("late ~ x + I(x^2)", family="logistic", prior={name: tunamh.Normal(scale=0.3)})
    assert "'I(x**2)': Normal(mean=0.0, scale=0.3)" in repr(target.prior)


@pytest.mark.parametrize("parameter", ["scale", "sigma"])
@pytest.mark.parametrize("name", ["scale z", "sigma_z", "sigma z"])
def test_parameters_by_the_names_of_results(parameter, name):
    target = made("y ~ x", predictors={parameter: "~ z"}, prior={name: tunamh.Normal(scale=0.123)})
    laws = target.row_layout.laws[0]
    assert 0.123 in np.round(laws.scale, 6)


# ------------------------------------------------------------------------------------------------- predictions


@pytest.fixture(scope="module")
def grouped():
    return sampled(made("y ~ x + (1 | g) + (1 | h)"))


def test_typical_groups_need_no_columns(grouped):
    new = TABLE[["x"]].head(4)
    with pytest.raises(FormulaError, match="g, h"):
        tunamh.predict(grouped, new)
    typical = tunamh.predict(grouped, new, new_levels="population", kind="linear", quantiles=None)
    posterior = grouped.posterior.to_dataset().stack(sample=("chain", "draw"))
    wanted = posterior["Intercept"].values[:, None] + np.outer(posterior["x"], new["x"])
    np.testing.assert_allclose(typical, wanted)
    one_known = tunamh.predict(grouped, new.assign(g="g2"), new_levels="population", kind="linear", quantiles=None)
    effect = posterior["1|g"].sel(g__factor_dim="g2").values[:, None]
    np.testing.assert_allclose(one_known, wanted + effect)


def test_effects_of_known_groups_can_be_left_out(grouped):
    without = tunamh.predict(grouped, TABLE.head(4), include_group_specific=False, kind="linear", quantiles=None)
    typical = tunamh.predict(grouped, TABLE[["x"]].head(4), new_levels="population", kind="linear", quantiles=None)
    np.testing.assert_array_equal(without, typical)
    mixed = sampled(tunamh.MixedModel(TABLE[["x"]], TABLE["y"], "gaussian", TABLE["g"]), draws=20)
    alone = tunamh.predict(mixed, TABLE[["x"]].head(3), include_group_specific=False, kind="linear", quantiles=None)
    theta = mixed.posterior["theta"].values.reshape(-1, 1)
    np.testing.assert_allclose(alone, theta @ TABLE[["x"]].head(3).to_numpy().T)


def test_a_table_of_predictions_has_a_line_for_each_row(grouped):
    found = tunamh.predict(grouped, TABLE.head(4)).to_dataframe()
    assert found.columns.tolist() == ["mean", "sd", "q5", "q50", "q95"]
    assert found.index.tolist() == [f"row {k}" for k in range(4)]
    some = tunamh.predict(grouped, TABLE.head(4), quantiles=(0.025,)).to_dataframe()
    assert some.columns.tolist() == ["mean", "sd", "q2.5"]
    plain = tunamh.predict(grouped, {name: TABLE[name].to_numpy()[:4] for name in "xgh"}).to_dataframe()
    assert plain.index.tolist() == [0, 1, 2, 3]


def test_trials_have_probabilities_and_counts():
    tree = sampled(made("k | trials(n) ~ x", family="logistic"), draws=20)
    assert tunamh.predict(tree, TABLE.head(5))["mean"].max() < 1
    counts = tunamh.predict(tree, TABLE.head(5), kind="response", quantiles=None, rng=1).values
    assert counts.max() > 1
    assert (counts == np.round(counts)).all()


# ---------------------------------------------------------------------------------------------- a table from a file


@pytest.mark.parametrize(
    ("data", "said"),
    [("flights.csv", "read the file first"), ("y ~ x", "the formula comes first")],
)
def test_a_text_is_no_table(data, said):
    with pytest.raises(TypeError, match=said):
        tunamh.regression("y ~ x", data)


def test_open_rows_says_how_a_csv_file_is_read(tmp_path):
    TABLE.to_csv(tmp_path / "table.csv")
    with pytest.raises(tunamh.SourceError, match=r"table\.csv is not a Parquet file: read it with pandas\.read_csv"):
        tunamh.open_rows(tmp_path / "table.csv")


def test_what_to_do_with_the_logarithm_of_zero():
    with pytest.raises(FormulaError, match=r"is not a finite number in row .*, where count is 0: log1p\(x\)"):
        made("y ~ log(count)")


def test_a_near_name_with_spaces_is_shown_as_it_is_written():
    with pytest.raises(FormulaError, match="Is `monthly charge` meant"):
        tunamh.regression("y ~ monthly_charge", TABLE.rename(columns={"x": "monthly charge"}))


def test_where_rows_are_left_out_an_error_says_how_it_counts():
    table = TABLE.assign(x=TABLE["x"].where(np.arange(N) > 2))
    with pytest.raises(
        FormulaError, match=r"has .*: .*\. \(The row is counted without the rows that were left out\.\)$"
    ):
        tunamh.regression("y ~ x", table, family="gamma", missing="drop")


def test_counts_by_a_column_whose_squares_add_up_near_the_largest_float():
    """Least squares of counts weigh rows by up to 1e300: these rows near 50 come to 1.5e308, which fits once."""
    x = np.full(60_000, 51.0)
    x[::2] = 49.0
    table = pd.DataFrame({"x": x, "n": np.random.default_rng(1).poisson(1.0, x.size)})
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        assert np.isfinite(tunamh.regression("n ~ x", table, family="poisson").modes[0].point).all()


DAYS = pd.date_range("2024-02-27", periods=100)


@pytest.mark.parametrize(
    "written",
    [
        DAYS.strftime("%Y-%m-%d"),
        DAYS.strftime("%d.%m.%Y"),
        DAYS.strftime("%m/%d/%y"),
        DAYS.strftime("%Y-%m-%dT%H:%M:%SZ"),
        DAYS.strftime("%Y/%m/%d %H:%M"),
        pd.date_range("2024-01-01", periods=100, freq="7min").strftime("%H:%M"),
    ],
    ids=lambda days: days[0],
)
def test_dates_as_text_are_refused_with_a_way_out(written):
    table = TABLE.assign(day=np.resize(written, N))
    with pytest.raises(FormulaError, match=r"column day has dates or times as text \(100 different ones, such as"):
        tunamh.regression("y ~ x + day", table)
    assert "C(day)[" in tunamh.regression("y ~ x + C(day)", table).names[-2]  # said so
    assert tunamh.regression("y ~ x + (1 | day)", table).groupings[0].groups == 100
    blocks = tunamh.open_rows([table.iloc[:150], table.iloc[150:]], memory=1)
    with pytest.raises(FormulaError, match=r"write C\(day\); for group effects write \(1 \| day\)"):
        tunamh.regression("y ~ x + day", blocks, family="gaussian")


def test_numbers_as_text_are_refused_with_a_way_out():
    """Its first value that is not a number is named by its row; all numbers would be levels in a wrong order."""
    texts = [f"{value:.2f}" for value in np.random.default_rng(2).normal(size=N)]
    odd = TABLE.assign(
        charge=[*texts[:3], "12,5", *texts[4:]],
        grade=[f"{k % 10 + 1}.0" for k in range(N)],
        month=[str(k % 10 + 1) for k in range(N)],
    )
    for data in (odd, tunamh.open_rows([odd.iloc[:2], odd.iloc[2:]], memory=1)):
        with pytest.raises(FormulaError, match=r"looks like numbers; .* '12,5' in row 3\. .*pandas\.to_numeric"):
            tunamh.regression("y ~ charge", data, family="gaussian")
        with pytest.raises(FormulaError, match=r"numbers as text: .* 10 levels, .*'1.0', '10.0', '2.0'.*C\(grade\)"):
            tunamh.regression("y ~ grade", data, family="gaussian")
        with pytest.warns(UserWarning, match=r"whole numbers as text: .* 10 levels .*'1', '10', '2'.*C\(month\)"):
            assert len(tunamh.regression("y ~ month", data, family="gaussian").names) == 11
    assert len(tunamh.regression("y ~ C(grade)", odd).names) == 11
    assert len(tunamh.regression("y ~ grade", odd.astype({"grade": "category"})).names) == 11


def test_a_few_dates_are_a_factor():
    table = TABLE.assign(day=np.resize(DAYS[:5].strftime("%Y-%m-%d"), N))
    assert len(tunamh.regression("y ~ x + day", table).names) == 7


def test_text_with_a_level_for_most_rows_is_refused():
    table = TABLE.assign(name=[f"person {k}" for k in range(N)], town=[f"town {k % 100}" for k in range(N)])
    with pytest.raises(FormulaError, match=r"column name holds text with 300 levels in 300 rows.*write C\(name\)"):
        tunamh.regression("y ~ x + name", table)
    assert len(tunamh.regression("y ~ x + town", table).names) == 102
    assert len(tunamh.regression("y ~ C(name)", table).names) == 301
    few = table.head(15)
    assert len(tunamh.regression("y ~ name", few, redundant="keep").names) == 16
