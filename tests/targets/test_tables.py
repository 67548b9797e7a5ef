"""Rows are paired by label, priors by name, and what only looks like a number is not read as one."""

import tracemalloc
from datetime import date
from decimal import Decimal

import numba
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tunamh
from conftest import logistic_data
from tunamh import GLM, EnergyTarget, FlyMC, LogisticRegression, Normal, Taylor, TunaMH, sample
from tunamh.tables import libraries
from tunamh.tables.frames import column_names, selected
from tunamh.tables.matrices import as_matrix
from tunamh.targets.observations.inputs import as_design

X, Y = logistic_data(200, 3)
NAMES = ["age", "dose", "weight"]
FRAME = pd.DataFrame(X, columns=NAMES, index=[f"patient {i}" for i in range(200)])
LABELS = pd.Series(Y, index=FRAME.index)
WEIGHTS = pd.Series(1.0 + np.arange(200) % 3, index=FRAME.index)
QUICK = {"draws": 20, "tune": 20, "chains": 1, "rng": 1}


@numba.njit
def square(theta, row):
    return (row[0] - theta[0]) ** 2


# ------------------------------------------------------------------------------------------------ rows by label


def test_pandas_objects_are_paired_by_label():
    shuffled = np.random.default_rng(1).permutation(200)
    straight = LogisticRegression(FRAME, LABELS, weights=WEIGHTS)
    target = LogisticRegression(FRAME, LABELS.iloc[shuffled], weights=WEIGHTS.iloc[shuffled[::-1]])
    assert np.array_equal(target.rows, straight.rows)
    assert np.array_equal(LogisticRegression(FRAME, LABELS.iloc[shuffled].to_frame()).rows[:, 3], Y)
    assert np.array_equal(LogisticRegression(X, LABELS.iloc[shuffled]).rows[:, 3], Y[shuffled])  # X has no labels


def test_equal_labels_may_repeat():
    twice = pd.Index(np.arange(200) // 2)
    assert np.array_equal(LogisticRegression(FRAME.set_index(twice), LABELS.set_axis(twice)).rows[:, 3], Y)


def test_row_labels_that_do_not_match_are_refused():
    with pytest.raises(ValueError, match=r"row labels .* of X and y differ \(label 'patient 0' of X is not in y\)"):
        LogisticRegression(FRAME, LABELS.reset_index(drop=True))
    with pytest.raises(ValueError, match="y has 199 entries"):
        LogisticRegression(FRAME, LABELS.iloc[1:])


def test_bounds_of_an_own_energy_are_paired_by_label():
    c = pd.Series(1.0 + np.arange(200), index=FRAME.index)
    assert np.array_equal(EnergyTarget(square, FRAME, c.iloc[::-1], dim=1).c, c)


# -------------------------------------------------------------------------------------------------- prior by name


@pytest.mark.parametrize("kind", [dict, pd.Series])
def test_a_prior_goes_by_the_names_of_the_columns(kind):
    scale, mean = kind({"weight": 3.0, "age": 1.0, "dose": 2.0}), kind({"dose": 0.2, "weight": 0.3, "age": 0.1})
    target = LogisticRegression(FRAME, LABELS, prior=Normal(mean=mean, scale=scale))
    assert target._prior.mean == pytest.approx([0.1, 0.2, 0.3])
    assert target._prior.precision == pytest.approx([1, 1 / 4, 1 / 9])
    assert target.prior == Normal(mean=[0.1, 0.2, 0.3], scale=(1.0, 2.0, 3.0))
    assert sample(target, **QUICK).posterior["theta"].shape == (1, 20, 3)


def test_a_prior_that_names_numbered_columns():
    assert LogisticRegression(X, Y, prior=Normal(scale=pd.Series([1.0, 2.0, 4.0])))._prior.precision[2] == 1 / 16


def test_a_prior_that_names_a_column_twice():
    with pytest.raises(ValueError, match="names the column age more than once"):
        Normal(scale=pd.Series([1.0, 2.0], index=["age", "age"]))


# ---------------------------------------------------------------------------------------------- read-only arrays

FAMILIES = {
    "logistic": (tunamh.Logistic(), Y),
    "probit": (tunamh.Probit(), Y),
    "student": (tunamh.StudentT(4.0, scale=1.0), X[:, 0]),
    "huber": (tunamh.Huber(scale=1.0), X[:, 0]),
    "gaussian": (tunamh.Gaussian(scale=1.0), X[:, 0]),
    "binomial": (tunamh.NegativeBinomial(2.0), 3 * Y),
    "poisson": (tunamh.SoftplusPoisson(), 3 * Y),
}


def locked(array):
    array = np.array(array, dtype=np.float64)
    array.flags.writeable = False
    return array


@pytest.mark.parametrize("family", FAMILIES)
def test_read_only_arrays_can_be_sampled(family):
    family, y = FAMILIES[family]
    given = locked(X), locked(y)
    plain = sample(GLM(X, np.array(y), family, weights=np.ones(200)), **QUICK)
    for data in (given, (pd.DataFrame(given[0]), pd.Series(given[1]))):
        tree = sample(GLM(*data, family, weights=locked(np.ones(200))), **QUICK)
        assert np.array_equal(tree.posterior["theta"], plain.posterior["theta"])


def test_a_float_column_of_a_frame_is_a_response():
    """pandas 3 hands out columns that must not be written to."""
    table = FRAME.assign(y=Y)
    for settings in ({}, {"test": TunaMH()}, {"test": FlyMC(tuned=True)}, {"control": Taylor(order=1)}):
        sample(LogisticRegression(table[NAMES], table["y"]), **settings, **QUICK)


# ----------------------------------------------------------------------------------- what is a number, and what not

AS_NUMBERS = {
    "pandas nullable": pd.DataFrame({"a": pd.array([1, 2], "Int64"), "b": pd.array([True, False], "boolean")}),
    "pandas arrow": pd.DataFrame({"a": pd.array([1, 2], "int64[pyarrow]"), "b": pd.array([1, 0], "double[pyarrow]")}),
    "pandas objects": pd.DataFrame({"a": pd.Series([1, 2.0], dtype=object), "b": [True, False]}),
    "pandas decimals": pd.DataFrame({"a": [Decimal(1), Decimal(2)], "b": [1, 0]}),
    "pandas arrow decimals": pd.DataFrame({"a": pd.array([1, 2], pd.ArrowDtype(pa.decimal128(5, 2))), "b": [1, 0]}),
    "pandas sparse": pd.DataFrame({"a": pd.arrays.SparseArray([1.0, 2.0]), "b": [1, 0]}),
    "polars": pl.DataFrame({"a": [1, 2], "b": [True, False]}),
    "polars decimals": pl.DataFrame({"a": [Decimal(1), Decimal(2)], "b": [1, 0]}),
    "arrow": pa.table({"a": pa.array([1, 2], pa.int8()), "b": [True, False]}),
    "arrow decimals": pa.table({"a": [Decimal(1), Decimal(2)], "b": [1.0, 0.0]}),
    "arrow batch": pa.RecordBatch.from_pydict({"a": [1, 2], "b": [True, False]}),
    "long double": np.array([[1, 1], [2, 0]], dtype=np.longdouble),
    "big-endian": np.array([[1, 1], [2, 0]], dtype=">f8"),
    "objects": np.array([[1, True], [Decimal(2), 0.0]], dtype=object),
}  # fmt: skip


@pytest.mark.parametrize("form", AS_NUMBERS)
def test_numbers_of_every_kind_are_read(form):
    rows = LogisticRegression(AS_NUMBERS[form], [0, 1]).rows
    assert np.array_equal(rows[:, :3], [[1, 1, 0], [2, 0, 1]])


NOT_NUMBERS = {
    "text": ["1", "2"],
    "dates": [date(2020, 1, 1), date(2020, 1, 2)],
    "categories": ["a", "b"],
}


@pytest.mark.parametrize("kind", NOT_NUMBERS)
@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow", "numpy"])
def test_text_dates_and_categories_are_refused(library, kind):
    values = NOT_NUMBERS[kind]
    column = {
        "pandas": lambda: pd.Series(values, dtype="category" if kind == "categories" else None),
        "polars": lambda: pl.Series(values, dtype=pl.Categorical if kind == "categories" else None),
        "pyarrow": lambda: pa.array(values).dictionary_encode() if kind == "categories" else pa.array(values),
        "numpy": lambda: np.array(values, dtype=object),
    }[library]()
    make = {"pandas": pd.DataFrame, "polars": pl.DataFrame, "pyarrow": pa.table}.get(library)
    expected = "text" if (library, kind) == ("numpy", "categories") else kind
    if make is not None and kind != "categories":  # these are coded, see test_designs.py
        with pytest.raises(TypeError, match=f"X holds {expected}.* in column code"):
            LogisticRegression(make({"age": [1.0, 2.0], "code": column}), [0, 1])
    with pytest.raises(TypeError, match=f"y holds {expected}"):
        LogisticRegression([[1.0], [2.0]], column)


# ----------------------------------------------------------------------------------------------------- no copies


def shares(table, source):
    return np.shares_memory(as_matrix(table, "X"), source)


def test_plain_numbers_are_not_copied():
    for dtype in (np.float64, np.float32, np.int64, bool):
        array = X.astype(dtype)
        assert shares(array, array)
        assert shares(array[::2, ::-1], array)
        assert shares(pd.DataFrame(array, columns=NAMES, copy=False), array)
    assert LogisticRegression(X, Y).observations.y is Y


def test_no_library_of_tables_is_asked_of_plain_arrays(monkeypatch):
    """They are what they look like, whatever libraries there are."""
    asked = []
    monkeypatch.setattr(libraries, "_recognised", lambda values: asked.append(type(values)))
    X, y, groups = np.arange(12.0).reshape(6, 2), np.array([0.0, 1, 1, 0, 1, 0]), np.array([0, 0, 1, 1, 2, 2])
    GLM(X, y, tunamh.Logistic(), weights=np.ones(6), offset=np.zeros(6))
    tunamh.MixedModel(X.astype(np.float32), y.astype(int), tunamh.Logistic(), [groups, groups % 2])
    assert asked == []
    as_design(np.ma.masked_array(X))  # such an array says itself what is missing
    with pytest.raises(TypeError, match="text"):
        as_matrix(np.array([["1", "2"]]), "X")


def test_single_precision_of_a_frame_is_kept():
    columns = {name: X[:, j].astype(np.float32) for j, name in enumerate(NAMES)}
    for table in (pd.DataFrame(columns), pl.DataFrame(columns), pa.table(columns)):
        assert as_matrix(table, "X").dtype == np.float32
    assert as_matrix(pl.DataFrame({**columns, "more": X[:, 0]}), "X").dtype == np.float64


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
def test_a_frame_of_mixed_columns_costs_one_copy(library):
    """With one nullable column pandas would make a Python object of every number."""
    columns = {f"c{j}": np.full(20_000, float(j)) for j in range(39)}
    frame = pd.DataFrame(columns).assign(n=pd.array(np.arange(20_000), dtype="Int64"))
    table = frame if library == "pandas" else pl.from_pandas(frame) if library == "polars" else pa.table(frame)
    tracemalloc.start()
    matrix = as_matrix(table, "X")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert np.array_equal(matrix[7, [0, 38, 39]], [0, 38, 7])
    assert peak < 1.25 * 20_000 * 40 * 8


@pytest.mark.parametrize("make", [pl.DataFrame, pd.DataFrame, pa.table])
def test_tables_of_many_columns_are_not_asked_once_for_each(make, monkeypatch):
    """To ask for the columns of a table costs some libraries as much for one as for all."""
    table, asked = make({f"x{j}": np.arange(3.0) for j in range(300)}), []
    opened = libraries._recognised
    monkeypatch.setattr(libraries, "_recognised", lambda values: asked.append(values is table) or opened(values))
    for read in (lambda one: as_matrix(one, "X"), as_design, lambda one: selected(one, column_names(one))):
        asked.clear()
        read(table)
        assert sum(asked) < 10
