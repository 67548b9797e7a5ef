"""Whatever a user calls a table: it works, or the error says what to do."""

import numba
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from conftest import logistic_data
from tunamh import (
    EnergyTarget,
    FiniteWalk,
    FlyMC,
    GaussianMixture,
    LogisticRegression,
    Normal,
    RobustRegression,
    TunaMH,
    sample,
)

X, Y = logistic_data(200, 3)
NAMES = ["age", "dose", "weight"]


def memory_map(tmp_path):
    path = tmp_path / "X.npy"
    np.save(path, X)
    return np.load(path, mmap_mode="r")


FORMS = {
    "float64": lambda tmp: X,
    "Fortran order": lambda tmp: np.asfortranarray(X),
    "strided view": lambda tmp: np.repeat(np.repeat(X, 2, axis=0), 2, axis=1)[::2, ::2],
    "reversed view": lambda tmp: X[::-1][::-1],
    "read-only": lambda tmp: np.frombuffer(X.tobytes()).reshape(X.shape),
    "memory map": memory_map,
    "list of lists": lambda tmp: X.tolist(),
    "pandas": lambda tmp: pd.DataFrame(X, columns=NAMES),
    "polars": lambda tmp: pl.DataFrame(X, schema=NAMES),
    "pyarrow": lambda tmp: pa.table({name: X[:, j] for j, name in enumerate(NAMES)}),
}


@pytest.mark.parametrize("form", FORMS)
def test_forms_of_X_give_the_same_target(form, tmp_path):
    target = LogisticRegression(FORMS[form](tmp_path), Y)
    assert np.array_equal(target.rows, LogisticRegression(X, Y).rows)
    assert target.rows.ctypes.data % 64 == 0
    named = form in ("pandas", "polars", "pyarrow")
    assert target.names == (NAMES if named else ["0", "1", "2"])


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.int64, np.int8, np.uint8, bool])
def test_number_types(dtype):
    table = (X > 0).astype(dtype)
    assert np.array_equal(LogisticRegression(table, Y).c, LogisticRegression(table.astype(float), Y).c)


@pytest.mark.parametrize("columns", [1, 2, 5])
@pytest.mark.parametrize("settings", [{}, {"test": TunaMH()}, {"test": FlyMC(q=0.1)}], ids=["auto", "TunaMH", "FlyMC"])
def test_single_precision_is_kept_and_changes_nothing(columns, settings):
    """The same numbers in half the memory: not a bit of the draws is different."""
    single = np.random.default_rng(1).standard_normal((400, columns)).astype(np.float32)
    y, weights = np.arange(400) % 2, 1.0 + np.arange(400) % 3
    kept, widened = (LogisticRegression(X, y, weights=weights, temper=0.5) for X in (single, single.astype(float)))
    assert kept.y_column == (columns + 1) // 2
    first, second = (sample(t, draws=40, tune=40, chains=1, rng=1, **settings) for t in (kept, widened))
    assert np.array_equal(first.posterior["theta"].values, second.posterior["theta"].values)


@pytest.mark.parametrize(
    "y",
    [Y.astype(bool), Y.astype(int), Y.tolist(), Y[:, None], pd.Series(Y), pl.Series(Y)],
    ids=lambda y: type(y).__name__,
)
def test_forms_of_y(y):
    assert np.array_equal(LogisticRegression(X, y).rows, LogisticRegression(X, Y).rows)


def test_nullable_and_mixed_pandas_columns():
    frame = pd.DataFrame({"a": pd.array([1, 2, 3], dtype="Int64"), "b": [0.5, 1.5, 2.5], "c": [True, False, True]})
    assert LogisticRegression(frame, [0, 1, 0]).rows[:, :3] == pytest.approx(
        np.array([[1, 0.5, 1], [2, 1.5, 0], [3, 2.5, 1]])
    )


def test_the_users_data_are_neither_changed_nor_locked():
    mine = X.copy()
    LogisticRegression(mine, Y)
    mine[0, 0] = 9.0
    assert mine.flags.writeable


def with_value(array, where, value):
    changed = np.array(array, dtype=float)
    changed[where] = value
    return changed


BAD = {
    "one dimension": (lambda: LogisticRegression(X[:, 0], Y), ValueError, "two dimensions"),
    "three dimensions": (lambda: LogisticRegression(X[None], Y), ValueError, "two dimensions"),
    "no rows": (lambda: LogisticRegression(X[:0], Y[:0]), ValueError, "no rows"),
    "no columns": (lambda: LogisticRegression(X[:, :0], Y), ValueError, "no columns"),
    "y too short": (lambda: LogisticRegression(X, Y[:-1]), ValueError, "199 entries.*200 rows"),
    "y two columns": (lambda: LogisticRegression(X, np.column_stack([Y, Y])), ValueError, "one dimension"),
    "labels": (lambda: LogisticRegression(X, with_value(Y, 17, 2.0)), ValueError, "row 17 has 2"),
    "labels -1": (lambda: LogisticRegression(X, 2 * Y - 1), ValueError, "0 or 1"),
    "NaN in X": (
        lambda: LogisticRegression(with_value(X, (123, 1), np.nan), Y),
        ValueError,
        "nan in row 123, column 1",
    ),
    "infinity in X": (
        lambda: RobustRegression(with_value(X, (5, 2), np.inf), Y, scale=1.0),
        ValueError,
        "inf in row 5, column 2",
    ),
    "NaN in y": (lambda: RobustRegression(X, with_value(Y, 4, np.nan), scale=1.0), ValueError, "y has nan in row 4"),
    "text": (lambda: LogisticRegression(np.array([["a", "b"]]), [0]), TypeError, "text"),
    "mixed frame": (
        lambda: LogisticRegression(pd.DataFrame({"a": [1.0], "b": ["x"]}), [0]),
        TypeError,
        "text in column b",
    ),
    "complex": (lambda: LogisticRegression(X + 1j, Y), TypeError, "complex numbers"),
    "dates": (lambda: LogisticRegression(np.full((2, 1), "2020-01-01", "M8[D]"), [0, 1]), TypeError, "dates"),
    "temper 0": (lambda: LogisticRegression(X, Y, temper=0.0), ValueError, "temper"),
    "negative weight": (lambda: LogisticRegression(X, Y, weights=with_value(np.ones(200), 3, -1)), ValueError, "row 3"),
    "weights too short": (lambda: LogisticRegression(X, Y, weights=[1.0]), ValueError, "weights has 1 entries"),
    "prior of another size": (lambda: LogisticRegression(X, Y, prior=Normal(scale=[1, 2])), ValueError, "3 entries"),
    "prior scale": (lambda: LogisticRegression(X, Y, prior=Normal(scale=-1)), ValueError, "positive"),
    "prior not compiled": (lambda: LogisticRegression(X, Y, prior=lambda t: 0.0), TypeError, "numba.njit"),
    "prior a string": (lambda: LogisticRegression(X, Y, prior="normal"), TypeError, "prior must be"),
    "mixture NaN": (lambda: GaussianMixture([0.0, np.nan]), ValueError, "nan in row 1"),
    "mixture empty": (lambda: GaussianMixture([]), ValueError, "no rows"),
    "mixture box": (lambda: GaussianMixture([0.0], box=0.0), ValueError, "box"),
    "mixture variance": (lambda: GaussianMixture([0.0], variance=np.nan), ValueError, "variance"),
    "walk without states": (lambda: FiniteWalk([1.0]), ValueError, "two states"),
    "walk with both": (lambda: FiniteWalk([1.0], 3, table=np.ones((1, 3))), TypeError, "either"),
    "walk NaN": (lambda: FiniteWalk(table=[[0.0, np.nan]]), ValueError, "nan in row 0, column 1"),
    "walk states differ": (lambda: FiniteWalk(table=np.ones((1, 3)), states=4), ValueError, "3 columns"),
}


@pytest.mark.parametrize("name", BAD)
def test_bad_input_is_named(name):
    make, error, message = BAD[name]
    with pytest.raises(error, match=message):
        make()


def test_row_numbers_in_errors_count_over_blocks():
    big = np.zeros((40_000, 1))
    big[33_333] = np.nan
    with pytest.raises(ValueError, match="row 33333"):
        LogisticRegression(big, np.zeros(40_000))


def test_one_row_works():
    tree = sample(LogisticRegression(X[:1], Y[:1], prior=Normal(scale=1.0)), draws=50, tune=50, chains=1, rng=1)
    assert np.isfinite(tree.posterior["theta"].values).all()


def test_a_row_of_zeros_is_never_drawn():
    table = X.copy()
    table[10] = 0.0
    target = LogisticRegression(table, Y)
    assert target.c[10] == 0
    sample(target, draws=50, tune=0, chains=1, rng=1)


def test_all_rows_zero_leaves_the_prior():
    target = LogisticRegression(np.zeros((5, 2)), [0, 1, 0, 1, 1], prior=Normal(scale=0.5))
    theta = sample(target, draws=4000, tune=500, chains=2, rng=1).posterior["theta"].values
    assert theta.std() == pytest.approx(0.5, rel=0.15)


@numba.njit
def square(theta, row):
    return (row[0] - theta[0]) ** 2


BAD_ENERGIES = {
    "not compiled": (lambda: EnergyTarget(lambda t, r: 0.0, X, 1.0, dim=1), TypeError, "numba.njit"),
    "no dim": (lambda: EnergyTarget(square, X, 1.0, dim=0), ValueError, "dim"),
    "c negative": (lambda: EnergyTarget(square, X, -1.0, dim=1), ValueError, "negative"),
    "c NaN": (
        lambda: EnergyTarget(square, X, with_value(np.ones(200), 7, np.nan), dim=1),
        ValueError,
        "c has nan in row 7",
    ),
    "c too short": (lambda: EnergyTarget(square, X, np.ones(3), dim=1), ValueError, "c has 3 entries"),
    "rows NaN": (
        lambda: EnergyTarget(square, with_value(X, (9, 0), np.nan), 1.0, dim=1),
        ValueError,
        "row 9, column 0",
    ),
    "names": (lambda: EnergyTarget(square, X, 1.0, dim=1, names=["a", "b"]), ValueError, "names"),
    "distance": (lambda: EnergyTarget(square, X, 1.0, dim=1, distance=abs), TypeError, "distance must be compiled"),
}


@pytest.mark.parametrize("name", BAD_ENERGIES)
def test_bad_user_energies_are_named(name):
    make, error, message = BAD_ENERGIES[name]
    with pytest.raises(error, match=message):
        make()


def test_an_energy_that_does_not_compile_says_so_at_once():
    @numba.njit
    def wrong(theta, row):
        return "energy"

    with pytest.raises(TypeError, match="does not compile"):
        EnergyTarget(wrong, X, 1.0, dim=1)


def test_vector_of_rows_and_frames_of_rows():
    assert EnergyTarget(square, X[:, 0], 1.0, dim=1).rows[:, 0] == pytest.approx(X[:, 0])
    frame = pl.DataFrame(X, schema=NAMES)
    assert EnergyTarget(square, frame, 1.0, dim=1).rows[:, :3] == pytest.approx(X)
