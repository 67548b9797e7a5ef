"""Influence of rows: leverage against closed forms, Pareto's k against leaving-one-out, and the row that matters."""

import numpy as np
import pandas as pd
import pytest
from own_data import sampled

import tunamh

pytestmark = pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
RNG = np.random.default_rng(5)
N = 300
TABLE = pd.DataFrame({"x": RNG.normal(size=N)})
TABLE["y"] = 1 + TABLE["x"] + RNG.normal(size=N)
TABLE["w"] = RNG.choice([0.5, 1.0, 2.0], N)
TABLE.loc[17, ["x", "y"]] = 6.0, -4.0


@pytest.fixture(scope="module")
def posterior():
    return sampled("y ~ x", TABLE, tunamh.Gaussian(1.0), draws=2000, prior=tunamh.Flat())


def test_leverage_is_that_of_the_hat_matrix(posterior):
    table = tunamh.influence(posterior, TABLE, rows=N, draws=4000).sort_values("row")
    X = np.column_stack([np.ones(N), TABLE["x"]])
    hat = np.einsum("ij,ij->i", X @ np.linalg.inv(X.T @ X), X)
    np.testing.assert_allclose(table["leverage"], hat, rtol=0.12)  # variances of 4,000 draws, 2 %
    assert abs(table["leverage"].sum() - 2) < 0.15
    np.testing.assert_array_equal(table["observed"], TABLE["y"])


def test_the_row_that_matters_comes_first(posterior):
    table = tunamh.influence(posterior, TABLE, rows=N)
    assert table["row"][0] == 17
    assert table["pareto_k"][0] > 0.5 > table["pareto_k"][10]
    assert table.loc[table["row"] == 17, "log_density"].item() == table["log_density"].min()


def test_rows_and_k_are_those_of_leaving_one_out(posterior):
    table = tunamh.influence(posterior, TABLE, rows=60, rng=3).sort_values("row")
    k = tunamh.loo(posterior, TABLE, rows=60, rng=3).pareto_k.values
    np.testing.assert_array_equal(np.flatnonzero(np.isfinite(k)), table["row"])
    np.testing.assert_allclose(table["pareto_k"], k[np.isfinite(k)], atol=0.15)
    assert table.attrs["rows"] == "60 of 300 rows, drawn at random"


def test_weights_count():
    weighted = sampled("y | weights(w) ~ x", TABLE, tunamh.Gaussian(1.0), draws=2000, prior=tunamh.Flat())
    table = tunamh.influence(weighted, TABLE, rows=N, draws=4000).sort_values("row")
    X, w = np.column_stack([np.ones(N), TABLE["x"]]), TABLE["w"].to_numpy()
    hat = w * np.einsum("ij,ij->i", X @ np.linalg.inv(X.T @ (w[:, None] * X)), X)
    np.testing.assert_allclose(table["leverage"], hat, rtol=0.12)
    np.testing.assert_array_equal(table["weight"], w)


def test_leverages_of_labels_add_up_to_the_coefficients():
    table = TABLE.assign(late=(RNG.random(N) < 1 / (1 + np.exp(-TABLE["x"]))).astype(int), kind=RNG.integers(3, size=N))
    labels = tunamh.influence(sampled("late ~ x", table, "logistic", draws=500), table, rows=N)
    assert abs(labels["leverage"].sum() - 2) < 0.3
    classes = tunamh.influence(sampled("kind ~ x", table, "categorical", draws=500), table, rows=N)
    assert abs(classes["leverage"].sum() - 4) < 0.5


def test_censored_rows_have_less_leverage():
    time, end = np.exp(TABLE["x"]) * RNG.weibull(1.5, N), RNG.exponential(1.0, N)
    table = pd.DataFrame({"x": TABLE["x"], "t": np.minimum(time, end), "c": (time > end).astype(int)})
    found = tunamh.influence(sampled("t | cens(c) ~ x", table, "weibull", draws=300), table, rows=N).sort_values("row")
    both = found.assign(c=table["c"].to_numpy()).groupby("c")["leverage"].mean()
    assert np.isfinite(found["pareto_k"]).all()
    assert both[1] < both[0]


def of_own(eta, y):
    return 0.5 * (y - eta) ** 2


def test_an_energy_alone_is_enough(posterior):
    family = tunamh.family(of_own, convex=True)
    own = sampled("y ~ x", TABLE, family, draws=2000, prior=tunamh.Flat())
    found = tunamh.influence(own, TABLE, rows=N, family=family).set_index("row").sort_index()
    wanted = tunamh.influence(posterior, TABLE, rows=N).set_index("row").sort_index()
    np.testing.assert_allclose(found["leverage"], wanted["leverage"], rtol=0.25)
    assert found["pareto_k"].idxmax() == 17
