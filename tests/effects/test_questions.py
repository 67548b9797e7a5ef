"""What can be asked, how answers are named, and what is refused."""

import json

import narwhals
import numpy as np
import pandas as pd
import pytest
from drawn_results import drawn_result

import tunamh
from tunamh.errors import NotApplicable
from tunamh.formula import FormulaError
from tunamh.formula.model import FormulaModel

RNG = np.random.default_rng(8)
N = 80
TABLE = pd.DataFrame(
    {
        "x": RNG.normal(1, 1.5, N),
        "t": RNG.uniform(0.5, 3, N),
        "a": RNG.choice(["p", "q", "r"], N),
        "month": RNG.integers(1, 4, N),
        "b": RNG.random(N) < 0.3,
        "site": RNG.choice(["s1", "s2", "s3"], N),
        "y": RNG.integers(0, 2, N),
    }
)


@pytest.fixture(scope="module")
def result():
    target = tunamh.regression("y ~ x + log(t) + a + C(month) + b + (1 | site)", TABLE, family="logistic")
    return drawn_result(target, draws=40)


def test_typical_values_are_kept_by_results_and_learned_from_blocks(tmp_path):
    formula = "y ~ x + log(t) + a + C(month) + b"
    kept = tunamh.regression(formula, TABLE, family="logistic").formula
    typical = FormulaModel.from_json(json.loads(json.dumps(kept.to_json()))).typical
    assert typical == kept.typical
    assert typical["x"].value == pytest.approx(TABLE["x"].mean())
    assert typical["t"].sd == pytest.approx(TABLE["t"].std(ddof=0))
    assert (typical["t"].low, typical["t"].high) == (TABLE["t"].min(), TABLE["t"].max())
    assert typical["a"].value == TABLE["a"].value_counts().idxmax()
    assert typical["month"].value == str(TABLE["month"].value_counts().idxmax())
    assert typical["b"].labels
    assert not typical["x"].labels
    TABLE.to_parquet(tmp_path / "t.parquet", row_group_size=17)
    source = tunamh.open_rows(str(tmp_path / "*.parquet"), memory=1000)
    blocks = tunamh.regression(formula, source, family="logistic").formula.typical
    assert blocks.keys() == typical.keys()
    for name, one in blocks.items():
        assert one.value == pytest.approx(typical[name].value)
        assert one.labels == typical[name].labels


def test_rows_in_blocks_have_the_averages_of_a_table(tmp_path, result):
    TABLE.to_parquet(tmp_path / "t.parquet", row_group_size=17)
    source = tunamh.open_rows(str(tmp_path / "*.parquet"))
    ask = {"contrast": {"a": "sequential"}, "average_by": ["month", "site"], "weights": "t"}
    found, wanted = (tunamh.comparisons(result, rows, **ask) for rows in (source, TABLE))
    pd.testing.assert_frame_equal(pd.DataFrame(found), pd.DataFrame(wanted), rtol=1e-10)
    grids = [tunamh.predictions(result, rows, {"a": "all"}) for rows in (source, TABLE)]  # typical values of the rows
    np.testing.assert_allclose(*(grid["mean"] for grid in grids), rtol=1e-12)
    with pytest.raises(TypeError, match="weights must be the name of a column"):
        tunamh.predictions(result, source, average_by=True, weights=np.ones(N))


def test_lines_are_named_and_keep_their_draws(result):
    found = tunamh.comparisons(result, TABLE, {"a": "pairwise", "b": None, "x": "sd", "t": (1, 2)}, average_by=True)
    assert found["contrast"].tolist() == ["q - p", "r - p", "r - q", "1 - 0", "(x + 1 sd) - x", "2 - 1"]
    assert found["variable"].tolist() == ["a", "a", "a", "b", "x", "t"]
    assert found.draws.dims == ("chain", "draw", "line")
    np.testing.assert_allclose(found.draws.mean(("chain", "draw")), found["mean"])
    turned = found.sort_values("mean", ascending=False).head(2)
    np.testing.assert_allclose(turned.draws.mean(("chain", "draw")), turned["mean"])
    with pytest.raises(ValueError, match="index of this table has changed"):
        turned.reset_index(drop=True).draws
    assert narwhals.from_native(found).shape == (6, 7)
    assert "Averages of 80 rows." in repr(found)


def test_a_grid_of_all_values(result):
    found = tunamh.predictions(result, conditional=["x", "month"])
    assert len(found) == 150
    assert found["month"].unique().tolist() == [1, 2, 3]
    assert found["x"].min() == pytest.approx(TABLE["x"].min())
    assert "Effects of site are left out" in found.attrs["notes"][0]
    few = tunamh.predictions(result, conditional=["t", "x", "b"])
    assert few["x"].nunique() == 3
    assert few["b"].unique().tolist() == [0, 1]
    sites = tunamh.predictions(result, conditional={"site": "all", "x": [0]})
    assert sites["site"].tolist() == ["s1", "s2", "s3"]
    assert not sites.attrs["notes"]


def test_groups_that_are_new(result):
    other = TABLE.head(3).assign(site=["s1", "s9", "s9"])
    with pytest.raises(FormulaError, match="'s9', which the data of the fit did not have"):
        tunamh.predictions(result, other)
    drawn = tunamh.predictions(result, other, groups="draw", rng=1, scale="link").draws.values.reshape(-1, 3)
    typical = tunamh.predictions(result, other, groups="population", scale="link").draws.values.reshape(-1, 3)
    effects = drawn - typical
    np.testing.assert_allclose(effects[:, 1], effects[:, 2])  # one new group
    np.testing.assert_allclose(effects[:, 0], result.posterior["1|site"].sel(site__factor_dim="s1").values.ravel())
    spread = np.sqrt((result.posterior["1|site_sigma"].values ** 2).mean())
    assert 0.7 < effects[:, 1].std() / spread < 1.4


@pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
def test_new_groups_have_the_mean_of_the_population_without_a_link():
    """However large the standard deviation of their effects is."""
    large = TABLE.assign(y=1e4 * np.random.default_rng(3).standard_normal(N))
    found = tunamh.sample(tunamh.regression("y ~ x + (1 | site)", large), draws=50, rng=1, progressbar=False)
    assert float(found.posterior["1|site_sigma"].max()) > 20
    new, population = (tunamh.predictions(found, large, groups=one) for one in ("new", "population"))
    np.testing.assert_allclose(new["mean"], population["mean"])


def test_comparisons_of_two_numbers(result):
    ask = {"contrast": "a", "average_by": True}
    one, other = tunamh.predictions(result, TABLE, {"a": ["p", "q"]}, average_by=True).draws.values.reshape(-1, 2).T
    wanted = {
        "difference": other - one,
        "ratio": other / one,
        "odds ratio": other / (1 - other) / (one / (1 - one)),
        "lift": other / one - 1,
    }
    for name, values in wanted.items():
        found = tunamh.comparisons(result, TABLE, comparison=name, **ask)
        np.testing.assert_allclose(found.draws.values[..., 0].ravel(), values, rtol=1e-10)
        middle, column = (1, "p_above_1") if "ratio" in name else (0, "p_positive")
        assert found[column][0] == (values > middle).mean()


def test_elasticities(result):
    slope, elastic, semi = (
        tunamh.slopes(result, wrt="x", conditional={"x": [0.5, 2.0]}, slope=kind) for kind in ("dydx", "eyex", "eydx")
    )
    mean = tunamh.predictions(result, conditional={"x": [0.5, 2.0]}).draws.values
    np.testing.assert_allclose(elastic.draws.values, slope.draws.values * [0.5, 2.0] / mean, rtol=1e-8)
    np.testing.assert_allclose(semi.draws.values, slope.draws.values / mean, rtol=1e-8)
    logit = tunamh.slopes(result, wrt="t", conditional={"t": [0.5, 2.0]}, scale="link").draws.values
    np.testing.assert_allclose(logit, result.posterior["log(t)"].values[..., None] / [0.5, 2.0], rtol=1e-8)


def test_missing_values_are_left_out_and_counted(result):
    holes = TABLE.assign(x=np.where(np.arange(N) % 8 == 0, np.nan, TABLE["x"]))
    found = tunamh.predictions(result, holes, average_by=True)
    wanted = tunamh.predictions(result, TABLE[np.arange(N) % 8 != 0], average_by=True)
    assert found["mean"][0] == pytest.approx(wanted["mean"][0], rel=1e-12)
    assert "10 rows with missing values are left out." in found.attrs["notes"]
    each = tunamh.predictions(result, holes.set_axis([f"r{k}" for k in range(N)]).head(9))
    assert each["row"].tolist() == [f"r{k}" for k in range(1, 8)]


def test_poststratification_weighs_cells(result):
    cells = pd.DataFrame(
        {"x": [0.0, 1.0, 2.0], "t": 1.0, "a": "q", "month": 2, "b": False, "site": ["s1", "s2", "new"]}
    )
    cells["people"], cells["state"] = [10, 30, 60], ["A", "A", "B"]
    each = tunamh.predictions(result, cells, groups="draw", rng=3).draws.values
    found = tunamh.poststratify(result, cells, "people", rng=3)
    np.testing.assert_allclose(found.draws.values[..., 0], each @ [0.1, 0.3, 0.6], rtol=1e-10)
    by = tunamh.poststratify(result, cells, [10, 30, 60], by="state", rng=3)
    np.testing.assert_allclose(by.draws.values[..., 0], each @ [0.25, 0.75, 0.0], rtol=1e-10)
    assert by["state"].tolist() == ["A", "B"]


def test_hypotheses_are_read_and_not_evaluated(result):
    draws = {name: values.values for name, values in result.posterior.data_vars.items()}
    statements = {
        "x > 0": draws["x"],
        "a[q] - a[r] = 0.1": draws["a"][..., 0] - draws["a"][..., 1] - 0.1,
        "exp(log(t)) >= 2 * x ** 2": np.exp(draws["log(t)"]) - 2 * draws["x"] ** 2,
        "-C(month)[3] / 2 < (x + 1) * -b": -draws["C(month)"][..., 1] / 2 + (draws["x"] + 1) * draws["b"],
        "1|site[s2] > 1|site_sigma": draws["1|site"][..., 1] - draws["1|site_sigma"],
        "`a`[r]": draws["a"][..., 1],
    }
    found = tunamh.hypothesis(result, list(statements))
    for k, wanted in enumerate(statements.values()):
        np.testing.assert_allclose(found.draws.values[..., k], wanted, rtol=1e-12)
    assert found["probability"][0] == (draws["x"] > 0).mean()
    assert found["probability"][3] == (found.draws.values[..., 3] < 0).mean()
    assert np.isnan(found["probability"][1])
    assert "probability of an equality is zero" in repr(found)
    effects = tunamh.comparisons(result, TABLE, "a", average_by=True)
    both = tunamh.hypothesis(effects, "b1 > b0")
    np.testing.assert_allclose(both.draws.values[..., 0], effects.draws.values[..., 1] - effects.draws.values[..., 0])
    for wrong in ("x >", "z > 0", "a > 0", "a[zz] > 0", "x > 0 > 1", "(x > 0", "", "__import__('os')", "x.mean() > 0"):
        with pytest.raises(FormulaError):
            tunamh.hypothesis(result, wrong)


def test_pairs_are_from_and_to(result):
    """Of levels as of numbers, and at the shell: (from, to) is to minus from."""
    means = tunamh.predictions(result, TABLE, {"a": ["p", "q"]}, average_by=True).draws.values.reshape(-1, 2)
    for pairs in (("p", "q"), [("p", "q")]):
        found = tunamh.comparisons(result, TABLE, {"a": pairs}, average_by=True)
        assert found["contrast"].tolist() == ["q - p"]
        np.testing.assert_allclose(found.draws.values.ravel(), means[:, 1] - means[:, 0], rtol=1e-10)
    numbers = tunamh.comparisons(result, TABLE, {"x": (0, 1)}, average_by=True)
    assert numbers["contrast"].tolist() == ["1 - 0"]


def test_names_may_be_in_backticks_everywhere(result):
    asked = [
        lambda x, a: tunamh.comparisons(result, TABLE, {x: 1}, average_by=a),
        lambda x, a: tunamh.comparisons(result, contrast=[a], conditional={x: [0, 1]}),
        lambda x, a: tunamh.slopes(result, wrt=x, conditional=[a]),
        lambda x, a: tunamh.predictions(result, conditional=a),
    ]
    for ask in asked:
        pd.testing.assert_frame_equal(pd.DataFrame(ask("`x`", "`a`")), pd.DataFrame(ask("x", "a")))


def test_a_mean_that_is_always_positive_has_no_probability_of_being_so(result):
    assert "p_positive" not in tunamh.predictions(result, conditional="a")
    assert "p_positive" in tunamh.predictions(result, conditional="a", scale="link")
    assert "p_positive" in tunamh.comparisons(result, contrast="a")


REFUSED = [
    (lambda r: tunamh.predictions(r, TABLE, average_by="nothing"), "no column nothing"),
    (lambda r: tunamh.predictions(r, average_by=True), "a result does not contain rows"),
    (lambda r: tunamh.predictions(r, TABLE, weights="t"), "average_by=True"),
    (lambda r: tunamh.predictions(r, TABLE, average_by=True, weights=-np.ones(N)), "must not be negative"),
    (lambda r: tunamh.predictions(r, TABLE, average_by=True, weights=np.zeros(N)), "all rows of an average are zero"),
    (lambda r: tunamh.predictions(r, conditional={"z": 1}), "no column 'z'"),
    (lambda r: tunamh.predictions(r, conditional={"a": "z"}), "no level 'z'"),
    (lambda r: tunamh.predictions(r, conditional={"x": "many"}), "x must be"),
    (lambda r: tunamh.predictions(r, conditional={"x": []}), "no values"),
    (lambda r: tunamh.predictions(r, conditional=3), "conditional must be"),
    (lambda r: tunamh.predictions(r, scale="odds"), "scale must be one of"),
    (lambda r: tunamh.predictions(r, groups="none"), "groups must be one of"),
    (lambda r: tunamh.comparisons(r), "contrast="),
    (lambda r: tunamh.comparisons(r, contrast={"a": "all"}), "pairs of levels"),
    (lambda r: tunamh.comparisons(r, contrast={"x": 0}), "must not be zero"),
    (lambda r: tunamh.comparisons(r, contrast={"x": "iqr"}), "'minmax'"),
    (lambda r: tunamh.comparisons(r, contrast="a", comparison="log"), "comparison must be one of"),
    (lambda r: tunamh.comparisons(r, contrast="a", comparison="ratio", scale="link"), "leave comparison= out"),
    (lambda r: tunamh.comparisons(r, contrast="a", conditional="a"), "leave it out of conditional"),
    (lambda r: tunamh.predictions(r, TABLE, {"a": "all"}, average_by="a"), "leave it out of average_by"),
    (lambda r: tunamh.predictions(r, conditional={"site": "all"}, groups="new"), "no result would depend on site"),
    (
        lambda r: tunamh.comparisons(r, TABLE, {"site": [("s1", "s2")]}, average_by=True, groups="population"),
        "no result would depend on site",
    ),
    (lambda r: tunamh.predictions(r, conditional={"site": ["s9"]}), "set groups='population'"),
    (lambda r: tunamh.slopes(r, wrt="a"), "use tunamh.comparisons"),
    (lambda r: tunamh.slopes(r, wrt="month"), "use tunamh.comparisons"),
    (lambda r: tunamh.slopes(r), 'wrt="distance"'),
    (lambda r: tunamh.hypothesis(3, "x > 0"), "a result|the result"),
    (lambda r: tunamh.hypothesis(r, "b + mont > 0"), r"Is C\(month\) meant"),
    (lambda r: tunamh.hypothesis(r, "b > aa"), r"Is a meant\?(.|\n)*\n    b > aa\n        \^"),
    (lambda r: tunamh.hypothesis(r, "a[Q] > 0"), "a has no entry Q. Is q meant"),
    (lambda r: tunamh.comparisons(r, contrast="sit"), "no column 'sit'. Is site meant"),
]


@pytest.mark.parametrize("ask", REFUSED, ids=lambda one: one[1])
def test_what_cannot_be_asked_is_refused_with_the_way_out(result, ask):
    with pytest.raises((TypeError, ValueError, FormulaError, NotApplicable), match=ask[1]):
        ask[0](result)


def test_jumps_odds_of_numbers_and_plain_targets_are_refused():
    jump = drawn_result(tunamh.regression("y ~ x + (x > 1)", TABLE, family="logistic"))
    with pytest.raises(FormulaError, match="compares x with a number"):
        tunamh.slopes(jump, wrt="x")
    with pytest.raises(ValueError, match="odds need a probability"):
        tunamh.comparisons(drawn_result(tunamh.regression("x ~ a", TABLE)), contrast="a", comparison="odds ratio")
    plain = drawn_result(tunamh.GLM(TABLE[["x", "t"]], TABLE["y"], tunamh.Logistic()))
    with pytest.raises(NotApplicable, match="columns of a formula, and this result has no formula"):
        tunamh.predictions(plain)


def test_columns_with_the_names_of_the_answers_keep_theirs():
    table = TABLE.rename(columns={"a": "class", "month": "contrast"}).assign(y=pd.Categorical(RNG.integers(0, 3, N)))
    found = drawn_result(tunamh.regression("y ~ x + class", table, family="categorical"))
    each = tunamh.predictions(found, conditional="class")
    assert each["class_"].tolist() == ["p"] * 3 + ["q"] * 3 + ["r"] * 3
    assert each["class"].tolist() == ["0", "1", "2"] * 3
    apart = tunamh.comparisons(found, table, {"x": 1}, average_by="contrast")
    assert apart["contrast_"].tolist() == [1, 1, 1, 2, 2, 2, 3, 3, 3]
    assert set(apart["contrast"]) == {"(x + 1) - x"}


def test_numbers_that_are_not_finite_are_told(result):
    far = result.copy(deep=True)
    far["posterior"]["Intercept"] = far["posterior"]["Intercept"] * 0 - 900
    found = tunamh.comparisons(far, TABLE, "a", average_by=True, comparison="ratio")
    assert "2 of 2 lines have draws that are not finite" in found.attrs["notes"][-1]


@pytest.mark.filterwarnings("error")
def test_slopes_of_curves_at_the_ends_of_the_data_do_not_warn():
    found = drawn_result(tunamh.regression("y ~ s(x, k=5)", TABLE, family="logistic"))
    ends = [TABLE["x"].min(), TABLE["x"].max()]
    assert np.isfinite(tunamh.slopes(found, wrt="x", conditional={"x": ends})["mean"]).all()
    with pytest.warns(UserWarning, match="outside the range of the fitted data"):
        tunamh.predictions(found, conditional={"x": [ends[1] + 0.1]})


def test_pictures_have_a_panel_for_each_question(result):
    pyplot = pytest.importorskip("matplotlib.pyplot")
    one = tunamh.plot_predictions(result, conditional=["x", "a"])
    assert [line.get_label() for line in one.get_lines()] == ["p", "q", "r"]
    assert one.get_ylabel() == "P(y)"
    several = tunamh.plot_comparisons(result, TABLE, {"a": "pairwise", "b": None}, average_by=True)
    assert [ax.get_title() for ax in several] == ["a", "b"]
    assert [label.get_text() for label in several[0].get_yticklabels()] == ["q - p", "r - p", "r - q"]
    table = tunamh.slopes(result, wrt="x", conditional={"x": "all", "month": "all"})
    assert tunamh.plot_slopes(table).get_ylabel() == "slope of P(y)"
    axes = tunamh.plot_predictions(result, TABLE, average_by="site", ax=pyplot.figure().gca())
    assert [label.get_text() for label in axes.get_yticklabels()] == ["s1", "s2", "s3"]
    with pytest.raises(ValueError, match="one Axes can show only one panel"):
        tunamh.plot_comparisons(result, TABLE, ["a", "b"], average_by=True, ax=axes)
    pyplot.close("all")
