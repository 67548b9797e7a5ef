"""Designs of formulas: their columns by hand, and their spans against designs with all indicators."""

import itertools
import json

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import tunamh
from tunamh.formula import FormulaError
from tunamh.formula.model import FormulaModel

RNG = np.random.default_rng(5)
N = 240
TABLE = pd.DataFrame(
    {
        "y": RNG.standard_normal(N),
        "x": RNG.normal(3, 2, N),
        "z": RNG.normal(0, 1, N),
        "a": RNG.choice(["p", "q", "r"], N),
        "b": RNG.choice(["u", "v"], N),
        "c": RNG.integers(1, 4, N),
    }
)


def target_of(formula, table=TABLE, **settings):
    return tunamh.regression(formula, table, family=tunamh.Gaussian(1.0), **settings)


def matrix(target):
    """The dense design of all rows."""
    return np.concatenate([block.X.dense() for block in [target.user_rows.rows()]])


def test_names_are_those_a_person_wrote():
    target = target_of("y ~ x*a + C(c) + log(x + 100)")
    assert target.formula.side.names == [
        "Intercept",
        "x",
        "log(x + 100)",
        "a[q]",
        "a[r]",
        "C(c)[2]",
        "C(c)[3]",
        "x:a[q]",
        "x:a[r]",
    ]
    assert target.names == target.formula.side.names


def test_columns_by_hand():
    target = target_of("y ~ x*a + center(z):x + (x > 3)")
    X, names = matrix(target), target.formula.side.names
    x, z, a = TABLE["x"].to_numpy(), TABLE["z"].to_numpy(), TABLE["a"].to_numpy()
    wanted = {
        "Intercept": np.ones(N),
        "x": x,
        "x > 3": x > 3,
        "center(z):x": (z - z.mean()) * x,
        "a[q]": a == "q",
        "a[r]": a == "r",
        "x:a[q]": x * (a == "q"),
        "x:a[r]": x * (a == "r"),
    }
    assert sorted(names) == sorted(wanted)
    for j, name in enumerate(names):
        np.testing.assert_allclose(X[:, j], wanted[name], atol=1e-14)


def test_reference_by_choice_and_full_coding_without_an_intercept():
    assert target_of("y ~ C(a, ref='r')").names == ["Intercept", 'C(a, ref="r")[p]', 'C(a, ref="r")[q]']
    assert target_of("y ~ 0 + a + b").names == ["a[p]", "a[q]", "a[r]", "b[v]"]
    assert target_of("y ~ a:x").names == ["Intercept", "a[p]:x", "a[q]:x", "a[r]:x"]
    assert target_of("y ~ a/b").names == ["Intercept", "a[q]", "a[r]", "a[p]:b[v]", "a[q]:b[v]", "a[r]:b[v]"]


PIECES = ["x", "z", "a", "b", "C(c)", "x:z", "a:b", "a:x", "b:x", "a:C(c)", "a:b:x", "a:b:C(c)"]


def redundant(formula):
    """All products of all indicators, and the numbers: what terms span."""
    indicator = {"a": "pqr", "b": "uv", "C(c)": (1, 2, 3)}
    columns = [] if formula.startswith("0") else [np.ones(N)]
    for term in formula.split(" + ")[1:]:
        parts = []
        for atom in term.split(":"):
            values = TABLE[atom.removeprefix("C(").removesuffix(")")].to_numpy()
            levels = indicator.get(atom)
            parts.append([values] if levels is None else [(values == level).astype(float) for level in levels])
        columns += [np.prod(chosen, axis=0).astype(float) for chosen in itertools.product(*parts)]
    return np.column_stack(columns)


@given(st.booleans(), st.lists(st.sampled_from(PIECES), min_size=1, max_size=5, unique=True))
@settings(max_examples=60, deadline=None)
def test_designs_span_what_terms_span_and_have_full_rank(intercept, pieces):
    formula = " + ".join(["1" if intercept else "0", *pieces])
    X, all_of_it = matrix(target_of(f"y ~ {formula}")), redundant(formula)
    assert np.linalg.matrix_rank(X) == X.shape[1]
    assert np.linalg.matrix_rank(all_of_it) == X.shape[1]
    assert np.linalg.matrix_rank(np.column_stack([X, all_of_it])) == X.shape[1]


def frames():
    import polars as pl
    import pyarrow as pa

    plain = {name: TABLE[name].to_numpy() for name in TABLE}
    yield "pandas", TABLE
    yield "categories", TABLE.assign(a=TABLE["a"].astype("category"), c=TABLE["c"].astype("Int64"))
    yield "dict", plain
    yield "lists", {name: column.tolist() for name, column in plain.items()}
    yield "polars", pl.DataFrame({name: column.tolist() for name, column in plain.items()})
    yield (
        "polars categories",
        pl.DataFrame({name: column.tolist() for name, column in plain.items()}).with_columns(
            pl.col("a").cast(pl.Categorical)
        ),
    )
    yield "pyarrow", pa.table({name: column.tolist() for name, column in plain.items()})
    yield "records", np.rec.fromarrays([plain[name] for name in plain], names=list(plain))


@pytest.mark.parametrize(("name", "frame"), list(frames()), ids=[name for name, _ in frames()])
def test_every_kind_of_table_makes_the_same_design(name, frame):
    formula = "y ~ x*a + C(c) + scale(z)"
    ours, wanted = target_of(formula, frame), target_of(formula)
    assert ours.names == wanted.names
    np.testing.assert_array_equal(matrix(ours), matrix(wanted))


def test_the_stored_formula_makes_the_same_columns_of_any_rows():
    model = target_of("y ~ x*a + a:b + scale(z) + `x` + offset(log(c)) + (z > 0)").formula
    again = FormulaModel.from_json(json.loads(json.dumps(model.to_json())))
    assert again.side.names == model.side.names
    some = TABLE.iloc[[3, 100, 7]]
    np.testing.assert_array_equal(
        again.side.columns(again.values(some)).dense(), model.side.columns(model.values(TABLE)).dense()[[3, 100, 7]]
    )


def test_combinations_that_no_row_has_get_no_coefficient_and_are_refused_later():
    table = TABLE[~((TABLE["a"] == "r") & (TABLE["b"] == "v"))]
    model = target_of("y ~ a*b", table).formula
    assert model.side.names == ["Intercept", "a[q]", "a[r]", "b[v]", "a[q]:b[v]"]
    row = TABLE[(TABLE["a"] == "r") & (TABLE["b"] == "v")].head(1)
    with pytest.raises(FormulaError, match=r"a = 'r', b = 'v'\. No row of the fitted data"):
        model.side.columns(model.values(row))


def test_a_response_may_be_an_expression():
    y = target_of("log(x + 100) ~ z").user_rows.y
    np.testing.assert_allclose(y, np.log(TABLE["x"] + 100))
    late = tunamh.regression("(x > 3) ~ z", TABLE, family=tunamh.Logistic())
    np.testing.assert_array_equal(late.user_rows.y, TABLE["x"] > 3)
    named = tunamh.regression("b ~ z", TABLE, family=tunamh.Logistic())
    np.testing.assert_array_equal(named.user_rows.y, TABLE["b"] == "v")
    assert named.formula.response.told == "b: 'v' counts as 1, 'u' as 0"
    one = tunamh.regression("(a == 'q') ~ z", TABLE, family=tunamh.Logistic())
    np.testing.assert_array_equal(one.user_rows.y, TABLE["a"] == "q")


def test_trials_weights_and_censoring_by_name_and_in_brms_words():
    table = TABLE.assign(k=RNG.integers(0, 5, N), n=5, w=RNG.random(N), t=RNG.exponential(size=N), over=TABLE["c"] > 2)
    by_name = tunamh.regression("k ~ x", table, family=tunamh.Logistic(), trials="n", weights="w")
    by_bar = tunamh.regression("k | trials(n) + weights(w) ~ x", table, family=tunamh.Logistic())
    by_array = tunamh.regression("k ~ x", table, family=tunamh.Logistic(), trials=5, weights=table["w"])
    assert by_name.fingerprint == by_bar.fingerprint == by_array.fingerprint
    lives = tunamh.regression("t | cens(over) ~ x", table, family=tunamh.Weibull())
    assert lives.fingerprint == tunamh.regression("t ~ x", table, family=tunamh.Weibull(), censored="over").fingerprint


def test_rows_with_missing_values_are_refused_or_left_out():
    table = TABLE.copy()
    table.loc[[4, 9], "x"] = np.nan
    table.loc[9, "a"] = None
    with pytest.raises(FormulaError, match=r"x \(2 rows\), a \(1 row\), the first in row 4.*2 of 240 rows"):
        target_of("y ~ x + a", table)
    kept = target_of("y ~ x + a", table, missing="drop", weights=np.arange(N) + 1.0)
    wanted = target_of("y ~ x + a", TABLE.drop(index=[4, 9]), weights=np.delete(np.arange(N) + 1.0, [4, 9]))
    assert kept.fingerprint == wanted.fingerprint
    assert kept.formula.dropped == 2
    assert target_of("y ~ z", table).n_rows == N  # other columns may have holes


@pytest.mark.parametrize("formula", ["y ~ x + (1 | a)", "y ~ (x | a/b)", "y ~ (1 + x || a)", "y ~ (b | a)"])
def test_group_effects_reach_the_mixed_model(formula):
    target = target_of(formula, TABLE.assign(x=TABLE["x"] - 3))
    assert isinstance(target, tunamh.MixedModel)
    found = [(one.name, one.columns, one.groups) for one in target.groupings]
    assert (
        found
        == {
            "y ~ x + (1 | a)": [("a", [""], 3)],
            "y ~ (x | a/b)": [("a", ["Intercept", "x"], 3), ("a:b", ["Intercept", "x"], 6)],
            "y ~ (1 + x || a)": [("Intercept | a", [""], 3), ("x | a", ["x"], 3)],
            "y ~ (b | a)": [("a", ["Intercept", "b[v]"], 3)],
        }[formula]
    )
    codes = target.groupings[0].codes
    assert [target.groupings[0].levels[code] for code in codes] == TABLE["a"].tolist()
