"""Survival, hazards and medians of new rows against the draws that they come from; pictures; leave-one-out."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, stats

import tunamh
from tunamh.errors import NotApplicable
from tunamh.formula import FormulaError
from tunamh.prediction.survival_plot import kaplan_meier
from tunamh.targets.families.piecewise_times import PiecewiseTimes

PAGE = Path(__file__).parents[2] / "docs" / "survival.md"
RNG = np.random.default_rng(8)
N = 400
TABLE = pd.DataFrame({"x": RNG.normal(size=N), "s": RNG.choice(["a", "b"], N)})
_TRUE = RNG.weibull(1.3, N) * np.exp(-0.4 * TABLE["x"]) * 3
TABLE["entry"] = np.where(RNG.random(N) < 0.3, 0.4 * _TRUE, 0.0)
TABLE["time"] = np.minimum(_TRUE, TABLE["entry"] + RNG.uniform(1, 8, N))
TABLE["dead"] = (TABLE["time"] >= _TRUE).astype(int)
NEW = pd.DataFrame({"x": [-1.0, 0.5, 2.0], "s": ["a", "b", "b"]})
TIMES = [0.2, 1.0, 2.5, 30.0]


@pytest.fixture(scope="module")
def fitted():
    target = tunamh.regression(
        "Surv(entry, time, dead) ~ x + strata(s)", TABLE, family=tunamh.PiecewiseExponential((1.0, 2.0, 4.0))
    )
    return tunamh.sample(target, draws=300, rng=1, progressbar=False)


def by_hand(fitted):
    """Linear predictors (draws, rows), and the hazards of each row at ``x = 0``, (draws, rows, pieces)."""
    own = fitted["posterior"].to_dataset().stack(sample=("chain", "draw")).transpose("sample", ...)
    eta = own["x"].values[:, None] * NEW["x"].to_numpy()
    hazards = np.exp(own["log_hazard"].values).reshape(len(eta), 2, 4)
    return eta, hazards[:, [0, 1, 1]]


def test_survival_and_hazard_are_those_of_the_draws(fitted):
    eta, hazards = by_hand(fitted)
    found = tunamh.predict(fitted, NEW, kind="survival", times=TIMES, draws=1200, quantiles=None)
    rates = tunamh.predict(fitted, NEW, kind="hazard", times=TIMES, draws=1200, quantiles=None)
    assert found.dims == ("sample", "row", "time")
    np.testing.assert_array_equal(found["time"], TIMES)
    for k, t in enumerate(TIMES):
        spent = np.clip(np.minimum(t, [1, 2, 4, np.inf]) - np.array([0, 1, 2, 4]), 0, None)
        np.testing.assert_allclose(found[:, :, k], np.exp(-np.exp(eta) * (hazards @ spent)), rtol=1e-10)
        np.testing.assert_allclose(rates[:, :, k], np.exp(eta) * hazards[:, :, np.sum(t > np.array([1, 2, 4]))])


def test_half_survive_the_median(fitted):
    eta, _ = by_hand(fitted)
    medians = tunamh.predict(fitted, NEW, kind="median", draws=1200, quantiles=None).values
    law = PiecewiseTimes((1.0, 2.0, 4.0))
    hazards = fitted["posterior"]["log_hazard"].values.reshape(1200, -1)
    for k in range(3):
        p = {"log_hazard": hazards[:, None, :], "stratum": np.array([int(NEW["s"][k] == "b")])}
        alive = [law.log_survival(np.array([t]), eta[[i], k : k + 1], {**p, "log_hazard": hazards[[i], None, :]})
                 for i, t in enumerate(medians[:40, k])]  # fmt: skip
        np.testing.assert_allclose(np.exp(np.ravel(alive)), 0.5)


def test_summaries_have_a_dimension_of_times(fitted):
    found = tunamh.predict(fitted, NEW, kind="survival", times=TIMES)
    assert found["mean"].dims == ("row", "time")
    assert (found["q5"] <= found["q50"]).all()
    assert float(tunamh.predict(fitted, NEW, kind="survival", times=[0.0])["mean"].min()) == 1.0


LAWS = [
    (tunamh.Exponential(), {}),
    (tunamh.Weibull(), {"shape": 1.7}),
    (tunamh.LogNormal(), {"scale": 0.8}),
    (tunamh.LogLogistic(), {"scale": 0.4}),
    (tunamh.Gamma(), {"shape": 1.7}),
    (tunamh.PiecewiseExponential((0.5, 2.0)), {"log_hazard": np.array([[[-0.5, 0.6, -0.1]]])}),
]


@pytest.mark.parametrize(("family", "p"), LAWS, ids=[type(one).__name__ for one, _ in LAWS])
def test_survival_is_the_integral_of_the_density(family, p):
    law, eta = family.response_distribution(), np.array([[0.3]])
    for t in (0.2, 0.5, 1.4, 3.0):
        density = lambda u: np.exp(law.log_density(np.array([u]), eta, p))[0, 0]  # noqa: E731
        before, _ = integrate.quad(density, 0, t, points=[0.5, min(2.0, t)] if t > 0.5 else None)
        alive = np.exp(law.log_survival(np.array([t]), eta, p))[0, 0]
        np.testing.assert_allclose(alive, 1 - before, rtol=1e-6)
        np.testing.assert_allclose(np.exp(law.log_hazard(np.array([t]), eta, p))[0, 0], density(t) / alive)
        np.testing.assert_allclose(law.quantile(1 - alive, eta, p)[0, 0], t, rtol=1e-9)


def test_leave_one_out_is_of_rows_and_not_of_pieces(fitted):
    """Densities of the rows as they were seen; PSIS with every draw against the mean over draws, by hand."""
    found = tunamh.loo(fitted, TABLE, rows=N, rng=1)
    assert found.rows == N
    assert found.numbers[7] == 7
    eta = fitted["posterior"]["x"].values.ravel() * TABLE["x"][7]
    hazards = np.exp(fitted["posterior"]["log_hazard"].values.reshape(-1, 2, 4)[:, int(TABLE["s"][7] == "b")])
    low, high = np.array([0, 1, 2, 4.0]), np.array([1, 2, 4, np.inf])
    entry, stop = TABLE["entry"][7], TABLE["time"][7]
    spent = np.clip(np.minimum(stop, high) - np.maximum(entry, low), 0, None)
    k = int(np.sum(stop > low[1:]))
    logp = TABLE["dead"][7] * (eta + np.log(hazards[:, k])) - np.exp(eta) * (hazards @ spent)
    by_importance = -np.log(np.mean(np.exp(-logp)))
    assert abs(found.pointwise[7] - by_importance) < 0.02


def test_replicas_are_refused_with_the_way_out(fitted):
    with pytest.raises(NotApplicable, match=r"censored.*kind='survival'"):
        tunamh.replicate(fitted, TABLE)


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"kind": "survival"}, "needs times="),
        ({"kind": "survival", "times": [-1.0]}, "times must be positive"),
        ({"kind": "hazard", "times": [0.0]}, "times must be positive"),
        ({"kind": "mean", "times": [1.0]}, "times= is for kind='survival'"),
    ],
)
def test_times_that_mean_nothing(fitted, arguments, told):
    with pytest.raises(ValueError, match=told):
        tunamh.predict(fitted, NEW, **arguments)


def test_strata_that_were_not_there(fitted):
    with pytest.raises(FormulaError, match=r"strata\(s\): row 1 is of the stratum 'c'"):
        tunamh.predict(fitted, NEW.assign(s=["a", "c", "b"]))


def test_other_responses_have_no_survival():
    target = tunamh.regression("dead ~ x", TABLE, family=tunamh.Logistic())
    logistic = tunamh.sample(target, draws=20, tune=20, chains=2, rng=1, progressbar=False)
    with pytest.raises(NotApplicable, match="for times to event"):
        tunamh.predict(logistic, NEW, kind="median")


def test_a_saved_result_predicts(fitted, tmp_path):
    import xarray

    fitted.to_netcdf(tmp_path / "run.nc")
    again = xarray.open_datatree(tmp_path / "run.nc")
    ours, theirs = (tunamh.predict(one, NEW, kind="survival", times=TIMES) for one in (fitted, again))
    np.testing.assert_array_equal(ours["mean"], theirs["mean"])


def test_the_prior_is_told_in_words():
    target = tunamh.regression("Surv(time, dead) ~ x", TABLE, family=tunamh.PiecewiseExponential((1.0, 2.0)))
    words = tunamh.prior_summary(target)["prior"]
    assert words["log_hazard[1 to 2]"] == "normal around the one before, standard deviation 1"
    assert words["log_hazard[0 to 1]"].startswith("normal, mean ")


# --------------------------------------------------------------------------------------------------------- pictures


def test_kaplan_and_meier():
    """Peto's rule of ties: rows that leave at the time of an event are still there; rows that enter then are not."""
    stop, happened = np.array([1.0, 2, 2, 3, 4]), np.array([True, True, False, True, False])
    found = kaplan_meier(stop, happened)
    np.testing.assert_allclose(found.survival, [1, 4 / 5, 4 / 5 * 3 / 4, 4 / 5 * 3 / 4 / 2])
    late = kaplan_meier(stop, happened, np.array([0.0, 0, 1, 2, 0]))
    np.testing.assert_allclose(late.survival, np.cumprod([1, 2 / 3, 2 / 3, 1 / 2]))
    whole = kaplan_meier(stop, np.ones(5, bool))
    np.testing.assert_allclose(whole.survival[1:], stats.ecdf(stop).sf.probabilities)


def test_a_picture_of_survival(fitted):
    pytest.importorskip("matplotlib").use("Agg")
    ax = tunamh.plot_survival(fitted, NEW, by="x", data=TABLE.assign(x=TABLE["x"].round()))
    labels = [text.get_text() for text in ax.get_legend().get_texts()]
    assert labels == ["-1", "0.5", "2"]
    assert sum(line.get_linestyle() == "--" for line in ax.lines) == 2  # no row of the data has 0.5
    assert ax.get_xlabel() == "time"
    rates = tunamh.plot_survival(fitted, NEW.head(1), kind="hazard", times=[0.5, 1.5])
    assert len(rates.lines) == 1
    with pytest.raises(ValueError, match="at most 12 curves"):
        tunamh.plot_survival(fitted, TABLE)
    with pytest.raises(FormulaError, match="which new_data does not have"):
        tunamh.plot_survival(fitted, NEW, by="hospital")


def test_the_page_about_times_to_event(tmp_path, monkeypatch):
    """The code of docs/survival.md runs, and finds what it put into the data."""
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.S)
    names: dict = {}
    for block in blocks:
        exec(block, names)
    treated = names["posterior"]["posterior"]["treated"]
    assert abs(float(treated.mean()) + 1.4 * 0.5) < 4 * float(treated.std())  # log times times the shape
