"""Averages of many rows from one pass: their stated error against the truth, and the sample of rows."""

import re

import numpy as np
import pandas as pd
import pytest
from drawn_results import drawn_result

import tunamh
from tunamh.effects import expansion, sampled_rows
from tunamh.effects.gradient import Gradient
from tunamh.effects.local import Centre, LocalCoordinates
from tunamh.effects.outcomes import Outcomes
from tunamh.effects.sampled_rows import Reservoir
from tunamh.formula.variables import as_columns, read
from tunamh.prediction.fitted import Fitted
from tunamh.tables.frames import Frame

RNG = np.random.default_rng(2)
N = 6000
TABLE = pd.DataFrame(
    {
        "x": RNG.normal(1, 1, N),
        "a": RNG.choice(["p", "q", "r"], N),
        "site": RNG.choice([f"s{k}" for k in range(9)], N),
        "w": RNG.uniform(0, 2, N),
        "label": RNG.integers(0, 2, N),
        "count": RNG.poisson(2.0, N),
        "grade": pd.Categorical(RNG.integers(0, 3, N), ordered=True),
        "kind": RNG.integers(0, 3, N),
        "time": RNG.gamma(2.0, size=N),
    }
)
MODELS = {
    "logistic": ("label ~ x*a", {}),
    "logistic, groups": ("label ~ x*a + (1 + x | site)", {}),
    "zero-inflated-poisson": ("count ~ x*a", {"predictors": {"inflation": "~ x"}}),
    "hurdle-poisson": ("count ~ x*a", {}),
    "ordinal": ("grade ~ x*a", {}),
    "categorical, groups": ("kind ~ x + a + (1 | site)", {}),
    "weibull": ("time ~ x*a", {}),
}


@pytest.fixture
def small_samples(monkeypatch):
    """What is done with millions of rows, for thousands."""
    monkeypatch.setattr(expansion, "MANY_ROWS", 1000)
    for module in (expansion, sampled_rows):
        monkeypatch.setattr(module, "FIRST_SAMPLE", 300)
    monkeypatch.setattr(sampled_rows, "_FEWEST", 60)
    monkeypatch.setattr(expansion, "LARGEST_ERROR", 0.3)


@pytest.fixture(scope="module", params=MODELS)
def result(request):
    formula, settings = MODELS[request.param]
    target = tunamh.regression(formula, TABLE, family=request.param.split(",")[0], **settings)
    return drawn_result(target, draws=50, spread=0.06)


def stated(table):
    (note,) = (note for note in table.attrs["notes"] if "estimated error" in note)
    return float(re.search(r"at most (\S+) posterior", note)[1])


def true_error(found, wanted):
    away = found.draws.values - wanted.draws.values
    return (np.sqrt(np.square(away).mean((0, 1))) / wanted.draws.values.std((0, 1))).max()


QUESTIONS = {
    "predictions": lambda p, seed: tunamh.predictions(p, TABLE, average_by="a", weights="w", rng=seed),
    "ratios": lambda p, seed: tunamh.comparisons(p, TABLE, ["a", "x"], average_by=True, comparison="ratio", rng=seed),
    "slopes": lambda p, seed: tunamh.slopes(p, TABLE, "x", average_by=True, rng=seed),
}
NEW = {
    "new groups": lambda p, seed: tunamh.predictions(p, TABLE, average_by="a", weights="w", groups="new", rng=seed),
    "differences in new groups": lambda p, seed: tunamh.comparisons(
        p, TABLE, "x", average_by=True, groups="new", rng=seed
    ),
}


def whole(ask, result, monkeypatch):
    with monkeypatch.context() as plain:
        plain.setattr(expansion, "MANY_ROWS", 10**9)
        return ask(result, 0)


@pytest.mark.parametrize("question", QUESTIONS)
def test_the_stated_error_is_that_of_the_answer(result, question, small_samples, monkeypatch):
    holds(QUESTIONS[question], result, monkeypatch)


@pytest.mark.parametrize("question", NEW)
@pytest.mark.parametrize(
    "name", ["logistic, groups", "crossed counts", pytest.param("categorical, groups", marks=pytest.mark.long)]
)
def test_means_over_new_groups_need_one_pass(name, question, small_samples, monkeypatch):
    """To evaluate all rows would take integrals over new effects for every row and draw."""
    formula, settings = {**MODELS, "crossed counts": ("count ~ x*a + (1 | site) + (x | a)", {})}[name]
    family = "poisson" if name == "crossed counts" else name.split(",")[0]
    target = tunamh.regression(formula, TABLE, family=family, **settings)
    holds(NEW[question], drawn_result(target, draws=20, spread=0.06), monkeypatch)


def holds(ask, result, monkeypatch):
    wanted = whole(ask, result, monkeypatch)
    found = [ask(result, seed) for seed in range(6)]
    true = np.array([true_error(one, wanted) for one in found])
    told = np.array([stated(one) for one in found])
    assert 0.3 < np.sqrt(np.square(true).mean() / np.square(told).mean()) < 2.5
    names = wanted.attrs["of"]
    assert found[0][names].to_numpy().tolist() == wanted[names].to_numpy().tolist()
    mean = np.mean([one.draws.values for one in found], axis=0)  # there is no bias: errors of samples average out
    assert np.sqrt(np.square(mean - wanted.draws.values).mean()) < 0.75 * np.sqrt(
        np.mean([np.square(one.draws.values - wanted.draws.values).mean() for one in found])
    )


def test_rows_in_blocks_are_read_once(small_samples, monkeypatch, tmp_path):
    result = drawn_result(tunamh.regression("label ~ x*a", TABLE, family="logistic"), draws=50, spread=0.06)
    TABLE.drop(columns="grade").to_parquet(tmp_path / "t.parquet", row_group_size=900)
    found = tunamh.predictions(result, tunamh.open_rows(str(tmp_path / "*.parquet")), average_by="a", weights="w")
    wanted = whole(QUESTIONS["predictions"], result, monkeypatch)
    assert 0 < stated(found) < 0.3
    assert true_error(found, wanted) < 4 * stated(found)


def test_linear_predictors_need_no_sample(result, small_samples, monkeypatch):
    ask = lambda p, seed: tunamh.predictions(p, TABLE, {"x": [0, 2]}, average_by=["a"], scale="link", rng=seed)  # noqa: E731
    found = ask(result, 1)
    assert stated(found) == 0
    np.testing.assert_allclose(found.draws.values, whole(ask, result, monkeypatch).draws.values, atol=1e-10)


def test_a_wrong_gradient_is_not_hidden_by_the_stated_error(small_samples, monkeypatch):
    """The tests above can fail: a gradient that is off by a tenth is far from the truth."""
    result = drawn_result(tunamh.regression("label ~ x*a", TABLE, family="logistic"), draws=50, spread=0.06)
    wanted = whole(QUESTIONS["predictions"], result, monkeypatch)
    before = Gradient.at_draws
    monkeypatch.setattr(
        Gradient, "at_draws", lambda self: 1.1 * before(self) - 0.1 * before(self).mean(2, keepdims=True)
    )
    found = QUESTIONS["predictions"](result, 1)
    assert true_error(found, wanted) > 5 * stated(found)


def test_far_draws_and_few_rows_are_evaluated_whole(small_samples, monkeypatch):
    result = drawn_result(tunamh.regression("label ~ x*a", TABLE, family="logistic"), draws=20, spread=3.0)
    monkeypatch.setattr(expansion, "LARGEST_ERROR", 1e-4)
    found = QUESTIONS["ratios"](result, 1)
    assert not any("estimated error" in note for note in found.attrs["notes"])
    np.testing.assert_array_equal(found.draws.values, whole(QUESTIONS["ratios"], result, monkeypatch).draws.values)


def test_local_coordinates_make_the_mean(result):
    fitted = Fitted.open(result, None, by_chain=True)
    outcomes = Outcomes(fitted, "response", "known", np.random.default_rng(1))
    rows = Frame(read(as_columns(TABLE.head(7)), outcomes.columns), 7)
    local = LocalCoordinates(outcomes)
    chunk = outcomes.chunk(rows)
    np.testing.assert_allclose(local.mean(local.at(chunk), chunk), outcomes.values(rows), rtol=1e-13)


@pytest.mark.parametrize("groups", ["known", "new"])
@pytest.mark.parametrize("name", ["logistic, groups", "categorical, groups"])
def test_the_gradient_makes_the_linear_part_of_every_draw(name, groups):
    """Also where draws are far from their mean, and the mean covariance is not that of the mean scales."""
    formula, settings = MODELS[name]
    target = tunamh.regression(formula, TABLE, family=name.split(",")[0], **settings)
    outcomes = Outcomes(
        Fitted.open(drawn_result(target, draws=5, spread=0.5), None, by_chain=True),
        *("response", groups, np.random.default_rng(1)),
    )
    local, centre = LocalCoordinates(outcomes), Centre(outcomes)
    rows, weights = Frame(read(as_columns(TABLE.head(7)), outcomes.columns), 7), np.arange(1.0, 8.0)
    expanded, gradient = centre.expand(rows), Gradient(local, centre, 1)
    gradient.add(0, expanded, weights, np.zeros(7, int), 1)
    wanted = local.mean(local.at(expanded.chunk), expanded.chunk) - expanded.remainder(local)
    np.testing.assert_allclose(gradient.at_draws()[0, 0], np.einsum("i,dio->do", weights, wanted), rtol=1e-9, atol=1e-9)


def test_the_sample_estimates_sums_without_bias():
    rng = np.random.default_rng(3)
    sizes, codes = rng.gamma(0.5, size=400) + 1e-3, rng.integers(0, 3, 400)
    values = sizes * rng.uniform(0.5, 1.5, 400)
    truth = np.bincount(codes, values)
    found = []
    for _ in range(600):
        reservoir = Reservoir(rng, times=0.01)  # 20 rows of each average
        reservoir.keys = 3
        for part in np.array_split(np.arange(400), 5):
            rows = Frame(read(as_columns({"v": values[part]}), ["v"]), len(part))
            reservoir.add(rows, codes[part], sizes[part], np.ones(len(part)), 3)
        sample = reservoir.sample()
        assert np.bincount(sample.codes).max() <= reservoir.each
        found.append(np.bincount(sample.codes, sample.rows.columns["v"].values * sample.counts))
    found = np.array(found)
    z = (found.mean(axis=0) - truth) / (found.std(axis=0) / np.sqrt(len(found)))
    assert np.abs(z).max() < 4
