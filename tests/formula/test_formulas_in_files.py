"""Formulas over tables with ``scratch=``: what a target keeps of the rows is in files, and draws are the same."""

from __future__ import annotations

import gc
import os
import tracemalloc

import numpy as np
import pandas as pd
import pytest

import tunamh
from tunamh.formula import evaluation
from tunamh.formula.needed_rows import read_formula
from tunamh.formula.tables import in_files, in_memory
from tunamh.process import scratch
from tunamh.process.scratch import is_in_file, large_arrays_in
from tunamh.tables.frames import complete_rows

N, PART = 1200, 150
RNG = np.random.default_rng(7)
DAYS = np.array(["mon", "tue", "wed", "thu"], dtype=object)
RUN = {"chains": 1, "draws": 30, "tune": 20, "rng": 1, "progressbar": False}

pytestmark = [
    pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore:.*the chains move slowly"),
]


def _table():
    """Text with other levels in every block, one of them in an incomplete row only; holes in numbers and in text."""
    rows = np.arange(N)
    x, z = RNG.standard_normal(N), RNG.uniform(1, 5, N)
    day = DAYS[(RNG.integers(0, 2, N) + rows // 300) % 4].copy()
    site = np.array([f"s{k}" for k in rows % 40], dtype=object)
    hours, w = RNG.uniform(0.5, 2, N), RNG.integers(1, 3, N).astype(float)
    person = (rows % 60).astype(float)
    kind = RNG.integers(1, 4, N)
    y = RNG.poisson(np.exp(0.2 * x + 0.3 * RNG.standard_normal(40)[rows % 40]) * hours).astype(float)
    x[[3, 500, 501]], z[900], person[77], w[8], hours[9], y[10] = (np.nan,) * 6
    day[[0, 450]], site[1100] = None, None
    day[700], x[700] = "sun", np.nan
    x[300:450] = np.nan  # a whole block
    day[150:300] = None
    names = ("x", "z", "day", "site", "hours", "w", "person", "kind", "y")
    return dict(zip(names, (x, z, day, site, hours, w, person, kind, y), strict=True))


TABLE = _table()
BLOCKS = [{name: column[part : part + PART] for name, column in TABLE.items()} for part in range(0, N, PART)]
FORMULAS = {
    "intercepts": "y ~ x + day + offset(log(hours)) + (1 | person)",
    "slopes": "y ~ log(z) + x:day + C(kind):day + offset(hours) + (1 + x + log(z) | site) + (1 | person)",
    "products": "y ~ center(x) + C(kind) + (1 | site:kind) + (x || person)",
    "curves": "y ~ s(x) + s(z, by=day) + day + poly(hours, 2) + (1 | person)",
}


@pytest.fixture(autouse=True)
def small_stretches(monkeypatch):
    monkeypatch.setattr(scratch, "_SMALL", 0)
    monkeypatch.setattr(scratch, "_AT_ONCE", 64)
    monkeypatch.setattr(evaluation, "_AT_ONCE", 50)


def _model(formula, rows, family="poisson", **given):
    return tunamh.regression(formula, rows, family=family, missing="drop", **given)


def _held(given, rows, where="", seen=None):
    """Every array with an entry for each row that something keeps, by the way to it."""
    seen = {} if seen is None else seen
    if id(given) in seen:
        return {}
    seen[id(given)] = given
    if where == ".kept_rows":  # of ten thousand rows at most
        return {}
    if isinstance(given, np.ndarray):
        return {where: given} if given.size >= rows else {}
    if isinstance(given, dict):
        parts = given.items()
    elif isinstance(given, list | tuple):
        parts = enumerate(given)
    elif type(given).__module__.startswith("tunamh"):
        parts = getattr(given, "__dict__", {}).items()
    else:
        return {}
    return {name: array for key, one in parts for name, array in _held(one, rows, f"{where}.{key}", seen).items()}


@pytest.mark.parametrize("name", FORMULAS)
def test_draws_are_those_of_columns_in_memory(name, tmp_path):
    def draws(**given):
        model = _model(FORMULAS[name], tunamh.open_rows(BLOCKS, **given), weights="w")
        posterior = tunamh.sample(model, **RUN).posterior
        return model, {of: values.values for of, values in posterior.data_vars.items()}

    one, expected = draws()
    other, found = draws(memory="250kB", scratch=tmp_path)
    assert one.scratch is None
    assert other.scratch is not None
    assert other.formula.to_json() == one.formula.to_json()
    assert other.fingerprint == one.fingerprint
    for of, values in expected.items():
        np.testing.assert_array_equal(found[of], values, err_msg=str(of))
    np.testing.assert_array_equal(other.kept_rows, one.kept_rows)
    assert os.listdir(tmp_path) == []


@pytest.mark.parametrize("name", FORMULAS)
def test_no_array_of_the_rows_stays_in_memory(name, tmp_path):
    model = _model(FORMULAS[name], tunamh.open_rows(BLOCKS, memory="250kB", scratch=tmp_path), weights="w")
    held = _held(model, model.data_rows)
    assert len(held) >= 5  # responses, weights, columns, codes, columns of effects
    assert [of for of, array in held.items() if not is_in_file(array)] == []


SIDES = {
    "labels": ("(y > 1) ~ x + (1 | person)", "logistic", {}),
    "labels of text": ("late ~ x + (1 | person)", "logistic", {}),
    "classes": ("day ~ x + (1 | person)", "categorical", {}),
    "trials": ("kind | trials(tries) ~ x + (1 | person)", "logistic", {}),
    "censored": ("z ~ x + (1 | person)", "weibull", {"event": "late_at"}),
    "scale": ("x ~ z + (1 | person)", "gaussian", {"predictors": {"scale": "~ z + day + (1 | site)"}}),
    "strata": ("Surv(start, z, late_at) ~ x + strata(day) + (1 | person)", "piecewise-exponential", {}),
}


@pytest.mark.parametrize("name", SIDES)
def test_other_responses(name, tmp_path):
    formula, family, given = SIDES[name]
    more = {"late": np.where(TABLE["y"] > 1, "yes", "no"), "late_at": (TABLE["y"] > 0).astype(int)}
    more |= {"tries": TABLE["kind"] + 2, "start": np.full(N, 0.2)}
    table = {**TABLE, **more}
    blocks = [{of: column[part : part + PART] for of, column in table.items()} for part in range(0, N, PART)]

    def model(**of):
        return _model(formula, tunamh.open_rows(blocks, **of), family, **given)

    one, other = model(), model(memory="250kB", scratch=tmp_path)
    assert one.scratch is None
    assert other.scratch is not None
    assert other.formula.to_json() == one.formula.to_json()
    expected, found = (_held(model, model.data_rows) for model in (one, other))
    assert list(found) == list(expected)
    for of, array in expected.items():
        np.testing.assert_array_equal(found[of], array, err_msg=of)
    assert [of for of, array in found.items() if not is_in_file(array)] == [] or name == "strata"  # rows in pieces


def _columns(blocks, formula="y ~ x + day", folder=None):
    """The complete rows of both ways to read blocks."""
    tables = tunamh.open_rows(blocks)
    asked = read_formula(formula, list(tables.names), {}, None)
    joined = in_memory(asked, tables)
    expected = complete_rows(joined.columns, joined.n_rows)
    with large_arrays_in(str(folder)):
        return expected, in_files(asked, tables)


def _categories(levels, ordered):
    table = pd.DataFrame({name: TABLE[name] for name in ("x", "y")})
    parts = [table[part : part + 400].copy() for part in range(0, N, 400)]
    for part, own in zip(parts, levels, strict=True):
        days = np.resize(np.array(own, dtype=object), len(part))
        days[::7] = None
        part["day"] = pd.Categorical(days, categories=own, ordered=ordered)
    return parts


MORE, FEWER = ["wed", "tue", "mon", "thu", "sun"], ["thu", "mon"]


@pytest.mark.parametrize(
    "blocks",
    [
        pytest.param(BLOCKS, id="text"),
        pytest.param(_categories([MORE, MORE, MORE], True), id="ordered"),
        pytest.param(_categories([FEWER, MORE, ["tue", "wed"]], False), id="categories"),
        pytest.param(_categories([FEWER, ["tue"], ["wed"]], False), id="no block has all"),
        pytest.param(_categories([FEWER, FEWER[::-1], FEWER[::-1]], False), id="two orders"),
    ],
)
def test_columns_are_those_of_blocks_joined_in_memory(blocks, tmp_path):
    expected, found = _columns(blocks, folder=tmp_path)
    assert found.holes == expected.holes
    np.testing.assert_array_equal(found.keep, expected.keep)
    np.testing.assert_array_equal(found.numbers, np.flatnonzero(expected.keep))
    for name in ("y", "x"):
        np.testing.assert_array_equal(found.columns[name].values, expected.columns[name].values)
    one, other = expected.columns["day"], found.columns["day"]
    assert (other.levels, other.ordered, other.kind) == (one.levels, one.ordered, one.kind)
    np.testing.assert_array_equal(other.codes, one.codes)


@pytest.mark.parametrize("order", [1, -1])
@pytest.mark.parametrize("y", [1.0, np.nan])
def test_numbers_and_text_in_one_column_are_refused(tmp_path, order, y):
    text = {"x": np.array(["a", "b"]), "y": np.ones(2)}
    blocks = [{"x": np.arange(2.0), "y": np.full(2, y)}, text][::order]
    with pytest.raises(tunamh.FormulaError, match="column x holds numbers in some"):
        _columns(blocks, "y ~ x", tmp_path)
    tables = tunamh.open_rows(blocks)
    with large_arrays_in(str(tmp_path)), pytest.raises(tunamh.FormulaError, match="column x holds numbers in some"):
        in_files(read_formula("y ~ x", ["x", "y"], {}, None), tables)


@pytest.mark.parametrize(
    ("formula", "given"),
    [
        ("y ~ x + (1 | person)", {}),
        ("y ~ log(x) + (1 | person)", {"missing": "drop"}),
        ("y ~ z + (1 | person) + offset(log(z - 2))", {"missing": "drop"}),
        ("kind ~ log(later) + (1 | fives)", {}),
        ("y ~ log(later) + (1 | fives)", {"missing": "drop"}),
        ("y ~ z + z:kind + I(2 * z) + (1 | person)", {"missing": "drop"}),
    ],
)
def test_errors_name_the_same_rows(formula, given, tmp_path):
    told, start = [], range(0, N, PART)
    more = {"later": 900.0 - np.arange(N), "fives": np.arange(N) % 5}
    blocks = [
        block | {of: one[k : k + PART] for of, one in more.items()} for k, block in zip(start, BLOCKS, strict=True)
    ]
    for more in ({}, {"memory": "250kB", "scratch": tmp_path}):
        with pytest.raises(tunamh.FormulaError) as error:
            tunamh.regression(formula, tunamh.open_rows(blocks, **more), family="poisson", **given)
        told.append(str(error.value))
    assert told[0] == told[1]


def test_files_go_with_the_target(tmp_path):
    """Those that a process has mapped; they have no names in the folder."""

    def mapped():
        with open("/proc/self/maps") as maps:
            return sum(str(tmp_path) in line for line in maps)

    model = _model(FORMULAS["intercepts"], tunamh.open_rows(BLOCKS, memory="250kB", scratch=tmp_path))
    assert mapped() > 0
    assert os.listdir(tmp_path) == []
    del model
    gc.collect()
    assert mapped() == 0
    assert os.listdir(tmp_path) == []


def test_memory_does_not_grow_with_the_rows(tmp_path, monkeypatch):
    """The peak of arrays in memory: of eight times as many rows it is that of a few blocks, and few bytes of a row."""
    monkeypatch.setattr(evaluation, "_AT_ONCE", 1 << 12)
    monkeypatch.setattr(scratch, "_AT_ONCE", 1 << 12)

    def peak(times):
        rows = tunamh.open_rows(BLOCKS * times, memory=f"{N * times * 30}B", scratch=tmp_path)
        tracemalloc.start()
        try:
            model = _model(FORMULAS["intercepts"], rows, weights="w")
            assert model.scratch is not None
            return tracemalloc.get_traced_memory()[1]
        finally:
            tracemalloc.stop()

    peak(1)
    few, many = 20, 160
    assert (peak(many) - peak(few)) / ((many - few) * N) < 20  # bytes of a row; in memory more than a hundred


def _line(level, log_sigma, z, x):
    return log_sigma + 0.5 * ((x - level * z) * np.exp(-log_sigma)) ** 2


def test_a_model_that_is_not_linear(tmp_path):
    def model(**given):
        rows, sides = tunamh.open_rows(BLOCKS, **given), {"level": "~ day + (1 | person)", "log_sigma": "~ 1"}
        return tunamh.nonlinear(_line, rows, sides, response="x", missing="drop")

    expected, other = model(), model(memory="250kB", scratch=tmp_path)
    assert other.scratch is not None
    assert other.fingerprint == expected.fingerprint
    held = _held(other, other.data_rows)
    assert [of for of, array in held.items() if not is_in_file(array)] == []
