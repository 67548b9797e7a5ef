"""``Surv(time, event) ~ x + strata(s)``: what it makes, and what it refuses."""

import numpy as np
import pandas as pd
import pytest

import tunamh
from tunamh.formula import FormulaError
from tunamh.formula.model import FormulaModel

RNG = np.random.default_rng(3)
N = 300
TABLE = pd.DataFrame(
    {
        "start": RNG.uniform(0.0, 1.0, N),
        "status": RNG.integers(1, 3, N),
        "x": RNG.normal(size=N),
        "s": RNG.choice(["a", "b"], N),
        "u": RNG.choice([1, 2, 3], N),
        "clinic": RNG.choice(list("pqrst"), N),
    }
)
TABLE["stop"] = TABLE["start"] + RNG.exponential(2.0, N)
TABLE["dead"] = TABLE["status"] == 2
TABLE["left"] = np.where(TABLE["dead"], "yes", "no")
FAMILY = tunamh.PiecewiseExponential(4)


def test_surv_is_event_for_families_of_times():
    for family in (tunamh.Weibull(), tunamh.LogNormal(), tunamh.LogLogistic(), tunamh.Exponential(), FAMILY):
        ours = tunamh.regression("Surv(stop, status == 2) ~ x", TABLE, family=family)
        twin = tunamh.regression("stop ~ x", TABLE, family=family, event="dead")
        assert ours.fingerprint == twin.fingerprint
        assert ours.names == twin.names


def test_surv_with_a_start_is_delayed_entry():
    ours = tunamh.regression("Surv(start, stop, dead) ~ x + strata(s)", TABLE, family=FAMILY, prior=tunamh.Normal())
    twin = tunamh.GLM(
        TABLE[["x"]],
        TABLE["stop"],
        FAMILY,
        event=TABLE["dead"],
        entry=TABLE["start"],
        strata=TABLE["s"],
        prior=tunamh.Normal(),
    )
    assert ours.names == twin.names
    assert ours.names[1].startswith("a, 0 to ")
    point = np.linspace(-0.5, 0.5, 9)
    assert ours.expansion(point).energy == twin.expansion(point).energy
    assert ours.user_family.pieces == twin.user_family.pieces


def test_strata_of_several_columns_are_those_that_occur():
    some = TABLE[~((TABLE["s"] == "a") & (TABLE["u"] == 3))]
    target = tunamh.regression("Surv(stop, dead) ~ x + strata(s, u)", some, family=FAMILY)
    assert target.formula.strata.levels == ("a, 1", "a, 2", "b, 1", "b, 2", "b, 3")
    assert target.dim == 1 + 5 * 4
    assert FormulaModel.from_json(target.formula.to_json()).strata == target.formula.strata
    assert set(target.formula.predictor_columns) == {"x", "s", "u"}


def test_a_model_in_words_counts_rows_pieces_of_rows_and_pieces_of_the_hazard():
    target = tunamh.regression("Surv(stop, dead) ~ x", TABLE, family=FAMILY)
    assert target.n_rows > N
    family, rows = str(target).splitlines()[1:3]
    assert family == "Family: Piecewise-exponential regression (4 pieces)"
    assert rows == f"Rows: {N:,}, split into {target.n_rows:,} pieces of time"


def test_the_intercept_is_in_the_log_hazards():
    target = tunamh.regression("Surv(stop, dead) ~ C(s)", TABLE, family=FAMILY)
    assert target.row_layout.names == ["C(s)[b]"]


def test_results_have_the_pieces_as_labels():
    target = tunamh.regression("Surv(stop, dead) ~ x + weights", TABLE.assign(weights=1.0 * TABLE["u"]), family=FAMILY)
    posterior = tunamh.sample(target, draws=50, tune=50, chains=2, rng=1, progressbar=False)["posterior"]
    labels = posterior["log_hazard_dim"].values
    assert labels[0].startswith("0 to ")
    assert labels[-1].endswith(" on")
    assert posterior["log_hazard"].sizes["log_hazard_dim"] == 4


@pytest.mark.parametrize(
    ("formula", "told"),
    [
        ("Surv(stop, status) ~ x", r"event must be 1 .* row 1 has .*there are 1 in .* 2 in .*such as event == 2"),
        ("Surv(stop, start, dead) ~ x", "entry must be before the time in y"),
        ("Surv(start, stop, status, x) ~ x", "it has 4 arguments"),
        ("Surv(start, stop, type='interval2') ~ x", "interval-censored.*cloglog"),
        ("Surv(stop, dead) | event(dead) ~ x", "only weights"),
        ("Surv(stop, x == 99) ~ s", "none of the 300 rows has an event"),
        ("Surv(stop, left) ~ x", r"event left holds text .*must be 1 where the event was seen.*\(left == \"yes\"\)"),
        ("stop ~ Surv(stop, dead)", "is the whole left side"),
        ("Surv(stop, dead) ~ x:strata(s)", "strata.* beside other terms"),
        ("Surv(stop, dead) ~ x - strata(s)", "a minus cannot remove offsets, strata"),
        ("Surv(stop, dead) ~ strata()", "strata takes columns"),
        ("Surv(stop, dead) ~ (strata(s) | clinic)", "there must be columns to the left of the bar"),
        ("Surv(stop, dead) ~ x + frailty(clinic)", r"frailties.*\(1 \| group\)"),
    ],
)
def test_what_means_nothing_is_refused(formula, told):
    with pytest.raises((FormulaError, ValueError), match=told):
        tunamh.regression(formula, TABLE, family=FAMILY)


def test_families_without_censoring_refuse_surv():
    with pytest.raises(TypeError, match=r"censored= is for .*PiecewiseExponential.*not for Gamma"):
        tunamh.regression("Surv(stop, dead) ~ x", TABLE, family=tunamh.Gamma())
    with pytest.raises(TypeError, match="strata= is for PiecewiseExponential"):
        tunamh.regression("Surv(stop, dead) ~ x + strata(s)", TABLE, family=tunamh.Weibull())


def test_a_formula_without_a_family_says_which_there_are():
    with pytest.raises(FormulaError, match=r"tunamh.PiecewiseExponential\(\)"):
        tunamh.regression("Surv(stop, dead) ~ x", TABLE)


def test_rows_in_files_that_are_held(tmp_path):
    TABLE.to_parquet(tmp_path / "rows.parquet")
    rows = tunamh.open_rows(tmp_path / "rows.parquet")
    ours = tunamh.regression("Surv(start, stop, dead) ~ x + strata(s)", rows, family=FAMILY)
    twin = tunamh.regression("Surv(start, stop, dead) ~ x + strata(s)", TABLE, family=FAMILY)
    assert ours.names == twin.names
    small = tunamh.open_rows(tmp_path / "rows.parquet", memory=1000)
    with pytest.raises((ValueError, tunamh.NotApplicable), match="strata and delayed entry"):
        tunamh.regression("Surv(start, stop, dead) ~ x + strata(s)", small, family=FAMILY)
    with pytest.raises(tunamh.NotApplicable, match="splits rows by the times of all events"):
        tunamh.regression("Surv(stop, dead) ~ x", small, family=FAMILY)
