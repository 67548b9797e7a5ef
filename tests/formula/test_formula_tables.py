"""Formulas of tables that come in blocks: the targets of the same rows in memory."""

import numpy as np
import pandas as pd
import pytest

import tunamh
from conftest import draws_of
from tunamh.errors import NotApplicable
from tunamh.formula import FormulaError

RNG = np.random.default_rng(3)
N = 20_000
TABLE = pd.DataFrame(
    {
        "x": RNG.normal(3, 2, N),
        "z": RNG.uniform(1, 2, N),
        "a": np.where(np.arange(N) < 9000, "p", RNG.choice(["p", "q", "r"], N)),  # levels that the first block lacks
        "b": RNG.choice([5, 11, 7], N),
    }
)
TABLE["late"] = np.where(RNG.random(N) < 1 / (1 + np.exp(1 - 0.3 * TABLE["x"])), "yes", "no")
TABLE["y"] = TABLE["x"] + 2 * RNG.standard_normal(N)
TABLE["k"], TABLE["m"] = RNG.integers(0, 4, N), 4


@pytest.fixture(scope="module", params=["parquet", "blocks", "held"])
def tables(request, tmp_path_factory):
    """Rows that are read block by block, from a file and from blocks, and rows that are read once."""
    memory = "2GiB" if request.param == "held" else "2.5MiB"
    if request.param != "parquet":
        return tunamh.open_rows([TABLE.iloc[:8192], TABLE.iloc[8192:16384], TABLE.iloc[16384:]], memory=memory)
    place = tmp_path_factory.mktemp("rows") / "t.parquet"
    TABLE.to_parquet(place, row_group_size=8192)
    return tunamh.open_rows(str(place), memory=memory)


def columns_of(target):
    return np.concatenate(list(target.user_rows.map(lambda rows: rows.X.dense())))


@pytest.mark.parametrize(
    ("formula", "family"),
    [
        ("late ~ x*a + C(b) + scale(z)", tunamh.Logistic()),
        ("late ~ a:C(b) + x:C(b) + offset(log(z))", tunamh.Logistic()),
        ("y ~ x + log(z) + (x > 3)", tunamh.Gaussian(2.0)),
        ("k | trials(m) ~ x + a", tunamh.Logistic()),
        ("a ~ x", tunamh.Categorical()),
    ],
)
def test_targets_are_those_of_the_same_rows_in_memory(tables, formula, family):
    ours, wanted = (tunamh.regression(formula, data, family=family) for data in (tables, TABLE))
    assert ours.names == wanted.names
    assert ours.formula.to_json()["columns"]["levels"] == wanted.formula.to_json()["columns"]["levels"]
    np.testing.assert_allclose(columns_of(ours), columns_of(wanted), rtol=1e-12)
    np.testing.assert_allclose(ours.coefficient_prior.laws.scale, wanted.coefficient_prior.laws.scale, rtol=1e-9)
    at = 0.1 * np.random.default_rng(0).standard_normal(ours.dim)
    np.testing.assert_allclose(ours.expansion(at).energy, wanted.expansion(at).energy, rtol=1e-10)


def test_draws_are_those_of_the_rows_in_memory(tables):
    settings = {"draws": 30, "tune": 100, "chains": 2, "rng": 1, "progressbar": False}
    found, wanted = (
        draws_of(tunamh.sample(tunamh.regression("late ~ x*a", data, family=tunamh.Logistic()), **settings))
        for data in (tables, TABLE)
    )
    np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_missing_values_weigh_nothing():
    holes = TABLE.assign(x=TABLE["x"].mask(TABLE["x"] > 6), a=TABLE["a"].mask(np.arange(N) % 100 == 3))
    holes.loc[:8191, "a"] = None  # a block without any row that is kept
    blocks = tunamh.open_rows([holes.iloc[:8192], holes.iloc[8192:]])
    with pytest.raises(FormulaError, match=r"values are missing in x \(.*, a \("):
        tunamh.regression("late ~ x*a", blocks, family=tunamh.Logistic())
    ours, wanted = (
        tunamh.regression("late ~ x*a", data, family=tunamh.Logistic(), missing="drop") for data in (blocks, holes)
    )
    assert ours.formula.dropped == wanted.formula.dropped > 8192
    at = np.full(ours.dim, 0.1)
    np.testing.assert_allclose(ours.expansion(at).energy, wanted.expansion(at).energy, rtol=1e-10)
    np.testing.assert_allclose(ours.expansion(at).gradient, wanted.expansion(at).gradient, rtol=1e-8)


def test_groups_are_read_into_memory():
    tables = tunamh.open_rows([TABLE.iloc[:8192], TABLE.iloc[8192:]])
    ours, wanted = (tunamh.regression("y ~ x + (1 | a)", data, family=tunamh.Gaussian(2.0)) for data in (tables, TABLE))
    np.testing.assert_array_equal(ours.groupings[0].codes, wanted.groupings[0].codes)
    assert ours.groupings[0].levels == wanted.groupings[0].levels
    small = tunamh.open_rows([TABLE], memory=1000)
    with pytest.raises(
        NotApplicable, match=r"group effects need all rows .* take about [\d,]+ bytes.*1,000 are allowed"
    ):
        tunamh.regression("y ~ x + (1 | a)", small, family=tunamh.Gaussian(2.0))


def test_trials_of_labels_that_are_no_fractions():
    """Two rows for one, block by block; missing values weigh nothing."""
    holes = TABLE.assign(x=TABLE["x"].mask(TABLE["x"] > 6))
    blocks = [holes.iloc[:8192], holes.iloc[8192:]]
    for family in (tunamh.Probit(), tunamh.Logistic()):
        targets = [
            tunamh.regression("k | trials(m) ~ x", data, family=family, missing="drop")
            for data in (tunamh.open_rows(blocks, memory="1MiB"), tunamh.open_rows(blocks), holes)
        ]
        energies = [target.expansion(np.full(2, 0.1)).energy for target in targets]
        np.testing.assert_allclose(energies[:2], energies[2], rtol=1e-10)


@pytest.mark.parametrize(
    ("formula", "said"),
    [
        ("late ~ nosuch", "no column nosuch"),
        ("late ~ x + I(2*x)", "collinear"),
        ("late ~ x + I(0*z + 3)", "is 3 in every row"),
        ("a ~ x", "3 levels"),
        ("late ~ log(x - 3)", "not a finite number in row"),
        ("late ~ log(a)", "column a holds text"),
    ],
)
def test_what_is_wrong_is_named(tables, formula, said):
    with pytest.raises((FormulaError, tunamh.SourceError), match=said):
        tunamh.regression(formula, tables, family=tunamh.Logistic())


def test_new_rows_may_come_in_blocks(tables):
    target = tunamh.regression("late ~ x*a", tables, family=tunamh.Logistic())
    posterior = tunamh.sample(target, draws=20, tune=50, chains=2, rng=1, progressbar=False)
    np.testing.assert_allclose(tunamh.predict(posterior, tables)["mean"], tunamh.predict(posterior, TABLE)["mean"])


def test_other_processes_are_asked():
    from concurrent.futures import ProcessPoolExecutor
    from multiprocessing import get_context

    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        blocks = tunamh.open_rows([TABLE.iloc[:8192], TABLE.iloc[8192:]], executor=pool)
        ours = tunamh.regression("late ~ x*a", blocks, family=tunamh.Logistic())
        wanted = tunamh.regression("late ~ x*a", TABLE, family=tunamh.Logistic())
        at = np.full(ours.dim, 0.1)
        np.testing.assert_allclose(ours.expansion(at).energy, wanted.expansion(at).energy, rtol=1e-10)
