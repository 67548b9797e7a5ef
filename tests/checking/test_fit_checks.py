"""Checks of fit: silent where the model is right, of every family; and every defect is found and named."""

import re

import numpy as np
import pandas as pd
import pytest
from own_data import FORMULA, families, of_one_draw, own_data, sampled

import tunamh
from tunamh.checking import advice
from tunamh.checking.panels import panels_of
from tunamh.errors import NotApplicable

pytestmark = pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
FAMILIES = families()
RNG = np.random.default_rng(7)
N = 2500
X, Z, G = RNG.normal(size=N), RNG.uniform(0, 2, N), RNG.integers(40, size=N)
E = RNG.normal(size=N)
EFFECTS = RNG.normal(size=40)
TABLE = pd.DataFrame({"x": X, "z": Z, "g": [f"g{k}" for k in G], "n": RNG.integers(3, 12, N)})
TABLE["c"] = 0
MU, SHARE = np.exp(0.3 + 0.4 * X), 1 / (1 + np.exp(0.5 - X))


def checked(y, formula="y ~ x", family="gaussian", columns=(), **given):
    table = TABLE.assign(y=y)
    return tunamh.check(sampled(formula, table, family, **given), table, columns=columns)


def found_by(check):
    return {one.name for one in check.wrong}


# ------------------------------------------------------------------------------------------- silent where it is right


@pytest.mark.parametrize("name", FAMILIES)
def test_no_family_alarms_on_data_of_its_own(name):
    family = FAMILIES[name]
    table = own_data(family, 400, np.random.default_rng(1))
    found = tunamh.check(sampled(FORMULA, table, family), table)
    assert found.ok, str(found)
    assert sum(one.p is not None for one in found.findings) >= 3
    assert "Nothing looks wrong" in str(found)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["Gaussian", "Logistic", "NegativeBinomial"])
def test_false_alarms_are_as_rare_as_is_said(name):
    """At most 1 in 100, by data from a result whose parameters are known: then nothing is cautious."""
    family, sets = FAMILIES[name], 80
    one = of_one_draw(sampled(FORMULA, own_data(family, 400, np.random.default_rng(1)), family))
    table, small = own_data(family, 300, np.random.default_rng(2)), []
    for seed in range(sets):
        y = tunamh.predict(one, table, kind="response", quantiles=None, rng=seed).values[0]
        found = tunamh.check(one, table.assign(y=y), rng=seed)
        p = np.array([finding.p for finding in found.findings if finding.p is not None])
        small.append((not found.ok, *(p < 0.05)))
    alarms, *by_check = np.array(small).sum(axis=0)
    assert alarms <= 5  # P(Poisson(0.8) > 5) < 1e-3
    assert max(by_check) <= 14  # of 80 with probability 0.05: P < 1e-4
    assert np.mean(by_check) / sets < 0.08


# -------------------------------------------------------------------------------------------------- defects are found

DEFECTS = {
    "overdispersed counts": (
        RNG.negative_binomial(2, 2 / (2 + MU)),
        {"family": "poisson"},
        "Spread",
        "NegativeBinomial",
    ),
    "too many zeros": (
        np.where(RNG.random(N) < 0.25, 0, RNG.poisson(2 * MU)),
        {"family": "poisson"},
        "Zeros",
        "ZeroInflated",
    ),
    "probabilities that bend": (
        RNG.random(N) < 1 / (1 + np.exp(1 - X - 0.6 * X * X)),
        {"family": "logistic"},
        "Calibration",
        "curved terms",
    ),
    "a column left out": (
        RNG.random(N) < 1 / (1 + np.exp(1 - X - 0.8 * Z)),
        {"family": "logistic", "columns": ["z"]},
        "Mean along a column",
        "Add z to the formula",
    ),
    "heavy tails": (X + RNG.standard_t(3, N), {}, "Tails", "StudentT"),
    "skewed errors": (X + RNG.gamma(2, 1, N), {}, "Skewness", "transform"),
    "a variance that grows": (X + np.exp(0.4 * X) * E, {}, "Spread along a column", '{"scale": "~ x"}'),
    "a curve": (X + 0.3 * X * X + E, {}, "Mean along a column", r"I(x ** 2)"),
    "groups left out": (X + 0.5 * EFFECTS[G] + E, {"columns": ["g"]}, "Means of levels", "Add (1 | g)"),
    "a group far off": (
        X + np.where(G == 7, 4.0, 0.3 * EFFECTS[G]) + E,
        {"formula": "y ~ x + (1 | g)"},
        "Law of group effects",
        "Student-t effects",
    ),
    "trials that are alike": (
        RNG.binomial(TABLE["n"], RNG.beta(4 * SHARE, 4 * (1 - SHARE))),
        {"formula": "y | trials(n) ~ x", "family": "logistic"},
        "Spread",
        "(1 | group)",
    ),
    "a scale that is too small": (X + E, {"family": tunamh.Gaussian(0.8)}, "Spread", "scale unknown"),
    "times of another law": (np.exp(0.5 * X) * RNG.weibull(1.5, N), {"family": "exponential"}, "Spread", "Weibull"),
}


@pytest.mark.parametrize("name", DEFECTS)
def test_every_defect_is_found_and_named(name):
    y, given, expected, advice = DEFECTS[name]
    found = checked(y, **given)
    named = [one for one in found.wrong if one.name == expected]
    assert named, str(found)
    assert named[0].z > 4
    assert advice in named[0].advice
    assert named[0].advice in str(found)


def test_advice_names_columns_and_families_as_they_are_written():
    zeros = tunamh.ZeroInflated(tunamh.Poisson())
    assert "tunamh.ZeroInflated(tunamh.NegativeBinomial())" in advice.of_tails(zeros)
    assert "tunamh.ZeroInflated(tunamh.NegativeBinomial())" in advice.of_spread(zeros, True)
    both = advice.of_skewness(tunamh.ZeroInflated(tunamh.NegativeBinomial()), True)
    assert "ZeroInflated" not in both
    assert "Hurdle(tunamh.NegativeBinomial())" in both
    assert "or tunamh.NegativeBinomial()" not in advice.of_zeros(tunamh.NegativeBinomial(), True)
    assert advice.of_trend("Monthly Charge", False, False) == "Add `Monthly Charge` to the formula."
    assert "I(`Monthly Charge` ** 2)" in advice.of_trend("Monthly Charge", True, False)
    assert "`Monthly Charge`:x" in advice.of_levels("Monthly Charge", False, True)


def test_codes_for_missing_values_are_told():
    coded = np.where(RNG.random(N) < 0.02, 99.0, 1.0 + RNG.integers(10, size=N))
    table = TABLE.assign(y=X + 0.1 * np.where(coded == 99, 0, coded) + E, my_rating=coded)
    found = tunamh.check(sampled("y ~ x + my_rating", table), table)
    assert "- my_rating: 99 (in " in str(found)
    trend = next(one for one in found.findings if one.about == "my_rating" and one.name == "Mean along a column")
    assert "may be codes" in trend.advice


def test_numbers_of_tails_explain_their_strength():
    table = TABLE.assign(y=X + E)
    posterior = sampled("y ~ x", table)

    def told(y):
        found = tunamh.check(posterior, table.assign(y=y), rows=N)
        return next(each.size for each in found.findings if each.name == "Tails")

    assert "residuals are larger than 3 in size (6.7 expected)" in told(X + RNG.standard_t(5, N))
    assert re.search(
        r"the largest of 2,500 residuals is \d+\.\d", told(X + np.clip(E, -2.9, 2.9) + 9.0 * (np.arange(N) == 7))
    )
    assert "% expected), and" in told(X + np.random.default_rng(1).uniform(-1.7, 1.7, N))


def test_a_wrong_mean_is_not_told_as_a_wrong_spread():
    y, given, *_ = DEFECTS["a curve"]
    assert found_by(checked(y, **given)) == {"Mean along a column"}


def test_better_models_of_the_same_data_pass():
    """The advice helps: what alarmed before is silent."""
    better = {
        "overdispersed counts": {"family": "negative-binomial"},
        "a curve": {"formula": "y ~ x + I(x ** 2)"},
        "groups left out": {"formula": "y ~ x + (1 | g)"},
        "a variance that grows": {"predictors": {"scale": "~ x"}},
    }
    for name, given in better.items():
        found = checked(DEFECTS[name][0], **given)
        assert found.ok, f"{name}: {found}"


def test_classes_are_checked_one_by_one():
    eta = np.column_stack([np.zeros(N), X + 0.7 * X * X, -0.5 * X])
    y = np.argmax(eta + RNG.gumbel(size=(N, 3)), axis=1)
    names = np.array(["bus", "car", "foot"])[y]
    found = checked(names, family="categorical")
    assert "Calibration" in found_by(found)
    assert {one.about for one in found.findings if one.name == "Calibration"} == {"bus", "car", "foot"}
    assert set(found.rows["observed"]) == {"bus", "car", "foot"}
    assert checked(names, "y ~ x + I(x ** 2)", family="categorical").ok


# -------------------------------------------------------------------------- weights, offsets, censoring, files, own


def test_a_row_of_weight_w_counts_as_w_rows():
    """Labels that were counted: equal to the rows that they stand for, and wrong if weights were not looked at."""
    long = pd.DataFrame({"x": np.round(X, 1), "y": (RNG.random(N) < SHARE).astype(int)})
    short = long.groupby(["x", "y"]).size().rename("w").reset_index()
    posterior = sampled("y | weights(w) ~ x", short, "logistic")
    assert tunamh.check(posterior, short).ok
    assert not tunamh.check(posterior, short.assign(w=1)).ok  # the negative control
    bent = long.assign(y=(RNG.random(N) < 1 / (1 + np.exp(1 - X - 0.6 * X * X))).astype(int))
    short = bent.groupby(["x", "y"]).size().rename("w").reset_index()
    assert "Calibration" in found_by(tunamh.check(sampled("y | weights(w) ~ x", short, "logistic"), short))


def test_offsets_are_taken_into_account():
    table = TABLE.assign(y=RNG.poisson((0.5 + Z) * MU), e=0.5 + Z)
    assert tunamh.check(sampled("y ~ x + offset(log(e))", table, "poisson"), table).ok
    without = tunamh.check(sampled("y ~ x", table, "poisson"), table, columns=["e"])
    assert "Mean along a column" in found_by(without)


@pytest.mark.parametrize(("family", "right"), [("weibull", True), ("exponential", False)])
def test_censored_responses(family, right):
    time, end = np.exp(0.5 + 0.5 * X) * np.random.default_rng(3).weibull(1.6, N), RNG.exponential(4, N)
    table = TABLE.assign(y=np.minimum(time, end), c=(time > end).astype(int))
    found = tunamh.check(sampled("y | cens(c) ~ x", table, family), table)
    assert found.ok is right
    assert 0.2 < table["c"].mean() < 0.6


def test_rows_that_come_late():
    """Given that nothing happened before; without that the same rows look wrong."""
    rng = np.random.default_rng(4)
    start, time = rng.uniform(0, 1.0, N), np.exp(-0.3 * X) * rng.exponential(1.0, N)
    table = TABLE.assign(start=start, stop=np.minimum(time, 2.5), event=(time < 2.5).astype(int))[time > start]
    posterior = sampled("Surv(start, stop, event) ~ x", table, tunamh.PiecewiseExponential(pieces=3))
    assert tunamh.check(posterior, table).ok
    assert "Survival" not in [one.title for one in panels_of(tunamh.check(posterior, table))]
    assert np.isfinite(tunamh.influence(posterior, table)["pareto_k"]).all()
    assert not tunamh.check(posterior, table.assign(start=0.0)).ok  # the negative control


def test_left_censored_responses():
    y = X + E
    table = TABLE.assign(y=np.maximum(y, -0.5), c=-(y < -0.5).astype(int))
    assert tunamh.check(sampled("y | cens(c) ~ x", table), table).ok


def test_rows_from_files_are_those_of_memory(tmp_path):
    table = TABLE.assign(y=DEFECTS["overdispersed counts"][0], w=1 + G % 3)
    table.to_parquet(tmp_path / "rows.parquet", row_group_size=400)
    rows = tunamh.open_rows(str(tmp_path / "rows.parquet"))
    posterior = sampled("y ~ x + (1 | g)", table, "poisson")
    memory, files = tunamh.check(posterior, table), tunamh.check(posterior, rows)
    assert str(files) == str(memory)
    assert files.rows["row"].tolist() == memory.rows["row"].tolist()
    weighted = sampled("y | weights(w) ~ x", table, "poisson")
    memory, files = tunamh.check(weighted, table), tunamh.check(weighted, rows)
    assert files.rows["row"].tolist() == memory.rows["row"].tolist()


def of_own(eta, y):
    return 0.5 * (y - eta) ** 2


def draw_own(rng, eta):
    return rng.normal(eta, 1.0)


def mean_own(eta):
    return eta


def test_own_families_say_what_they_can():
    curved = TABLE.assign(y=X + 0.3 * X * X + E)
    plain = TABLE.assign(y=X + E)
    whole, mean, bare = (
        tunamh.family(of_own, convex=True, **given) for given in ({"draw": draw_own}, {"mean": mean_own}, {})
    )
    right, wrong = sampled("y ~ x", plain, whole), sampled("y ~ x", curved, whole)
    for family, least in ((whole, 4), (mean, 1)):
        assert tunamh.check(right, plain, family=family, draws=1000).ok
        assert "Mean along a column" in found_by(tunamh.check(wrong, curved, family=family, draws=1000))
        assert len(tunamh.check(right, plain, family=family).findings) >= least
    tails = TABLE.assign(y=X + RNG.standard_t(3, N))
    found = tunamh.check(sampled("y ~ x", tails, whole), tails, family=whole, draws=1000)
    assert {"Spread", "Tails"} <= found_by(found)
    with pytest.raises(NotApplicable, match=r"an energy alone .* draw\(rng, eta\)"):
        tunamh.check(right, plain, family=bare)
    with pytest.raises(NotApplicable, match="pass the family again, family="):
        tunamh.check(right, plain)


# -------------------------------------------------------------------------------------------------- answers, refusals


def test_answers_are_tables_and_text():
    y, given, *_ = DEFECTS["overdispersed counts"]
    found = checked(y, **given)
    text = str(found)
    assert text.splitlines()[0] == "Does the model fit? 1,000 of 2,500 rows, drawn at random, 100 posterior draws."
    assert "times that of the model. (z = " in text
    assert "<li>" in found._repr_html_()
    assert "&lt;" not in checked(y, columns=["z"], **given)._repr_html_()
    table = found.table
    assert set(table["state"]) <= {"fine", "wrong", "not judged"}
    assert (table["state"] == "wrong").sum() == len(found.wrong)
    assert (table.loc[table["state"] == "wrong", "p"] < 0.01).all()
    np.testing.assert_array_equal(found.rows["observed"], y[found.rows["row"]])
    again = checked(y, **given)
    assert str(again) == text  # the seed is 0


def test_few_rows_and_rare_events_are_not_judged():
    few = TABLE.head(20).assign(y=E[:20])
    found = tunamh.check(sampled("y ~ x", few), few)
    assert found.ok
    assert "too few rows among 20." in str(found)  # all there are
    some = tunamh.check(sampled("y ~ x", few), few, rows=15)
    assert "too few rows among 15; set a larger rows=." in str(some)
    rare = TABLE.assign(y=(np.arange(N) % 900 == 5).astype(int))
    found = tunamh.check(sampled("y ~ x", rare, "logistic"), rare)
    assert "too few responses of each kind" in str(found)
    assert str(found).splitlines()[1] == "No check could be made."


def test_what_cannot_be_checked_is_refused():
    table = TABLE.assign(y=X + E)
    plain = tunamh.sample(tunamh.GLM(table[["x"]], table["y"], "gaussian"), draws=20, tune=50, progressbar=False)
    with pytest.raises(NotApplicable, match="made from a formula"):
        tunamh.check(plain, table)
    lost = sampled("y ~ x", table, weights=np.ones(N))
    with pytest.raises(NotApplicable, match='weights="w"'):
        tunamh.check(lost, table)
    with pytest.raises(TypeError, match="columns must be a list"):
        tunamh.check(lost, table, columns="z")
    many = sampled("y ~ x + (1 | g)", table, keep_effects=False)
    with pytest.raises(NotApplicable, match="keep_effects"):
        tunamh.check(many, table)
