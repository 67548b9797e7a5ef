"""A column is read once, as numbers or as levels: whatever its library, the same comes out, and what is missing."""

import subprocess
import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import tunamh
from tunamh.tables.columns import Factor, Numbers, joined
from tunamh.tables.frames import complete_rows, frame_of, frame_of_columns
from tunamh.tables.levels import every_level, read_column, read_factor
from tunamh.tables.libraries import cut
from tunamh.tables.numbers import Unreadable

NUMBERS = [1.5, 2.0, None, 4.0]
TEXTS = ["b", None, "a", "b"]


def masked(values):
    array = np.array([value if value is not None else type(values[0])() for value in values])
    return np.ma.masked_array(array, [value is None for value in values])


FORMS = {
    "list": list,
    "objects": lambda values: np.array(values, dtype=object),
    "masked": masked,
    "pandas": pd.Series,
    "pandas nullable": lambda values: pd.Series(values).convert_dtypes(),
    "pandas array": lambda values: pd.Series(values).convert_dtypes().array,
    "pandas arrow": lambda values: pd.Series(values, dtype=pd.ArrowDtype(pa.array(values).type)),
    "pandas objects": lambda values: pd.Series(values, dtype=object),
    "polars": pl.Series,
    "pyarrow": pa.array,
    "pyarrow, in chunks": lambda values: pa.chunked_array([values[:2], values[2:]]),
}
CATEGORIES = {
    "pandas": lambda values: pd.Series(values, dtype="category"),
    "pandas.Categorical": pd.Categorical,
    "polars": lambda values: pl.Series(values, dtype=pl.Categorical),
    "polars.Enum": lambda values: pl.Series(values, dtype=pl.Enum(["a", "b", "c"])),
    "pyarrow": lambda values: pa.array(values).dictionary_encode(),
    "pyarrow, in chunks": lambda values: pa.chunked_array([values[:2], values[2:]]).dictionary_encode(),
}


@pytest.mark.parametrize("form", FORMS)
def test_numbers_of_every_library(form):
    found = read_column(FORMS[form](NUMBERS), "column x")
    assert isinstance(found, Numbers)
    np.testing.assert_array_equal(found.values, [1.5, 2.0, np.nan, 4.0])
    assert found.missing.tolist() == [False, False, True, False]
    assert found.take(np.array([3, 2])).missing.tolist() == [False, True]


@pytest.mark.parametrize("form", FORMS)
def test_text_of_every_library(form):
    found = read_column(FORMS[form](TEXTS), "column x")
    assert isinstance(found, Factor)
    assert (found.codes.tolist(), found.levels) == ([1, -1, 0, 1], ("a", "b"))
    assert (found.kind, found.ordered) == ("text", False)
    assert found.take(slice(1, 3)).missing.tolist() == [True, False]


@pytest.mark.parametrize("form", CATEGORIES)
def test_categories_of_every_library(form):
    found = read_column(CATEGORIES[form](TEXTS), "column x")
    assert [None if code < 0 else found.levels[code] for code in found.codes] == TEXTS
    assert found.kind == "categories"
    assert found.ordered == (form == "polars.Enum")
    assert sorted(found.levels) == ["a", "b"]


def test_an_order_and_absent_levels_are_kept():
    column = pd.Series(pd.Categorical(["low", "high"], categories=["low", "mid", "high"], ordered=True))
    found = read_factor(column, "y")
    assert (found.codes.tolist(), found.levels, found.absent, found.ordered) == (
        [0, 1],
        ("low", "high"),
        ("mid",),
        True,
    )
    some = found.take(np.array([1])).packed()
    assert (some.codes.tolist(), some.levels, some.absent) == ([0], ("high",), ("low",))


def test_nan_in_a_dictionary_is_missing():
    found = read_column(pa.array([1.5, np.nan, 3.0]).dictionary_encode(), "column x")
    assert (found.missing.tolist(), found.levels) == ([False, True, False], ("1.5", "3.0"))


@pytest.mark.parametrize("form", ["pandas", "polars", "pyarrow"])
def test_a_column_without_any_value_holds_numbers(form):
    for values in (FORMS[form]([None, None]), FORMS[form](["a"])[:0]):
        found = read_column(values, "column x")
        assert isinstance(found, Numbers)
        assert found.missing.all()


@pytest.mark.parametrize("form", ["list", "objects", "pandas objects"])
def test_numbers_among_text_are_refused_not_read_as_text(form):
    with pytest.raises(Unreadable, match="text"):
        read_column(FORMS[form]([1.0, "2", None]), "column x")


@pytest.mark.parametrize(
    ("values", "levels"),
    [([3, 1, 3], "1 3"), ([2.0, 1.0, 2.0], "1 2"), ([2.5, 1.0, 2.5], "1.0 2.5"), (["b", "a", "b"], "a b")],
)
def test_every_value_may_be_a_level(values, levels):
    for form in (list, np.array, pd.Series, pl.Series, pa.array):
        found = every_level(form(values), "the codes of g")
        assert (found.codes.tolist(), found.levels) == ([1, 0, 1], tuple(levels.split()))


def test_masked_values_are_missing_wherever_a_column_is_read():
    column = np.ma.masked_array([1.0, 2.0, 3.0], [False, True, False])
    with pytest.raises(tunamh.FormulaError, match=r"values are missing in x \(1 row\), the first in row 1"):
        tunamh.regression("y ~ x", {"y": [0.0, 1.0, 3.0], "x": column}, family=tunamh.Gaussian())
    rows = tunamh.open_rows([{"y": [0.0, 1.0, 3.0], "x": column}])
    with pytest.raises(tunamh.SourceError, match="column x has a missing value in row 1 of block 0"):
        tunamh.GLM(rows[["x"]], "y", tunamh.Gaussian())
    codes = np.ma.masked_array([1, 2, 1], [False, True, False])
    with pytest.raises(ValueError, match="the codes of group have a missing value in row 1"):
        tunamh.MixedModel(np.ones((3, 1)), [0.0, 1.0, 3.0], tunamh.Gaussian(), codes)


def test_an_error_of_a_formula_names_the_row_of_the_table():
    """Counted with the rows that have missing values."""
    table = {"y": [0.0, 1.0, 3.0], "x": [None, 1.0, np.inf]}
    with pytest.raises(tunamh.FormulaError, match="column x has inf in row 2: every value must be finite or missing"):
        tunamh.regression("y ~ x", table, family=tunamh.Gaussian(), missing="drop")


@pytest.mark.parametrize("make", [pd.DataFrame, pa.table])
def test_a_block_with_two_columns_of_one_name_is_refused(make):
    names = {"columns": ["x", "y", "x"]} if make is pd.DataFrame else {"names": ["x", "y", "x"]}
    table = make(np.ones((3, 3)), **names) if make is pd.DataFrame else make([pa.array([1.0, 2.0])] * 3, **names)
    with pytest.raises(
        tunamh.SourceError, match="block 0 has more than one column of the name x: rename or drop columns"
    ):
        tunamh.open_rows([table])


# --------------------------------------------------------------------------------------------------- rows of a table


COLUMNS = {"x": [1.0, None, 3.0, 4.0], "g": ["a", "b", None, "a"], "z": [1, 2, 3, 4]}
LIBRARIES = [pd.DataFrame, pl.DataFrame, pa.table, pa.RecordBatch.from_pydict]


@pytest.mark.parametrize("make", [*LIBRARIES, dict])
def test_rows_with_missing_values_are_left_out_once(make):
    table = frame_of_columns(COLUMNS, "it") if make is dict else frame_of(make(COLUMNS))
    read = {name: read_column(column, name) for name, column in table.columns.items()}
    found = complete_rows(read, table.n_rows)
    assert (found.holes, found.n_rows, found.lost) == ({"x": 1, "g": 1}, 2, 2)
    assert found.numbers.tolist() == [0, 3]
    assert found.columns["x"].values.tolist() == [1.0, 4.0]
    assert not any(column.missing.any() for column in found.columns.values())
    whole = complete_rows({"z": read["z"]}, 4)
    assert (whole.n_rows, whole.holes, whole.numbers) == (4, {}, None)
    assert whole.columns["z"] is read["z"]
    some = table.take(np.array([3, 0]), ["g", "z"])
    assert (some.names, some.n_rows) == (["g", "z"], 2)
    assert read_column(some.columns["z"], "z").values.tolist() == (read["z"].values[[3, 0]]).tolist()


@pytest.mark.parametrize("make", [*LIBRARIES, dict])
def test_tables_are_cut_into_blocks(make):
    table = make({"x": np.arange(10.0)})
    parts = list(cut(table, 4))
    assert [(which.start, which.stop) for which, _ in parts] == [(0, 4), (4, 8), (8, 10)]
    assert np.concatenate([np.asarray(part["x"]) for _, part in parts]).tolist() == list(range(10))
    assert next(cut(table, 10))[1] is table


def test_blocks_are_joined_with_the_levels_of_all():
    parts = [read_column(pd.Series(values), "g") for values in (["b", "a"], [None, "c"])]
    found = joined([*parts, Numbers(np.full(1, np.nan))], lambda levels: sorted({*levels[0], *levels[1]}))
    assert (found.codes.tolist(), found.levels) == ([1, 0, -1, 2, -1], ("a", "b", "c"))
    with pytest.raises(ValueError, match="numbers in some blocks and text in others"):
        joined([*parts, Numbers(np.ones(1))], lambda levels: levels[0])


def test_narwhals_is_imported_with_the_first_table():
    code = "import sys, tunamh; tunamh.LogisticRegression([[1.0], [2.0]], [0, 1]); print('narwhals' in sys.modules)"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "False"
