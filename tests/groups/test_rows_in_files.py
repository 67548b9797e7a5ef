"""Models with groups whose rows do not fit into memory: large arrays in files, the same draws to the last bit."""

from __future__ import annotations

import os

import numpy as np
import pytest

import tunamh
from tunamh.process import scratch
from tunamh.process.scratch import large, large_arrays_in

ROWS = np.arange(1200)
RNG = np.random.default_rng(2)
TABLE = {"x": RNG.standard_normal(1200), "g": ROWS % 150, "h": ROWS // 300}
TABLE["y"] = (RNG.random(1200) < 1 / (1 + np.exp(-TABLE["x"]))).astype(float)
BLOCKS = [{name: values[part : part + 300] for name, values in TABLE.items()} for part in range(0, 1200, 300)]
RUN = {"chains": 1, "draws": 40, "tune": 20, "rng": 1, "progressbar": False}
GROUPS = [tunamh.GroupEffects("g"), tunamh.GroupEffects("h", ["x"])]

pytestmark = pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")


@pytest.fixture
def mapped(monkeypatch):
    """How many arrays were put into files, which arrays of any size are here."""
    made = []
    map_file = scratch.mmap.mmap
    monkeypatch.setattr(scratch, "_SMALL", 0)
    monkeypatch.setattr(scratch.mmap, "mmap", lambda *given: made.append(given) or map_file(*given))
    return made


def _draws(target):
    posterior = tunamh.sample(target, **RUN).posterior
    return {name: values.values for name, values in posterior.data_vars.items()}


def _same(one, other):
    for name, values in one.items():
        np.testing.assert_array_equal(other[name], values, err_msg=str(name))


def test_draws_are_those_of_rows_in_memory(mapped, tmp_path):
    def model(**given):
        rows = tunamh.open_rows(BLOCKS, **given)
        return tunamh.MixedModel(rows[["x"]], "y", tunamh.Logistic(), GROUPS)

    expected = _draws(model())
    assert not mapped
    _same(expected, _draws(model(memory="300kB", scratch=tmp_path)))
    assert len(mapped) > 10
    assert os.listdir(tmp_path) == []  # files have no names


def _in_a_file(array):
    while isinstance(array, np.ndarray):
        array = array.base
    return array is not None


def test_no_column_stays_in_memory(mapped, tmp_path):
    rows = tunamh.open_rows(BLOCKS, memory="300kB", scratch=tmp_path)
    model = tunamh.MixedModel(rows[["x"]], "y", tunamh.Logistic(), GROUPS)
    held = model.base.user_rows
    arrays = {"y": held.y, **held.design.arrays()}
    for one in model.groupings:
        arrays |= {f"codes of {one.name}": one.codes, f"columns of {one.name}": one.Z}
    assert [name for name, array in arrays.items() if not _in_a_file(array)] == []


def test_a_formula_takes_the_folder(mapped, tmp_path):
    def model(**given):
        return tunamh.regression("y ~ x + (1 | g)", tunamh.open_rows(BLOCKS, **given), family="logistic")

    expected = _draws(model())
    _same(expected, _draws(model(memory="250kB", scratch=tmp_path)))
    assert mapped


def test_rows_that_fit_stay_in_memory(mapped, tmp_path):
    rows = tunamh.open_rows(BLOCKS, scratch=tmp_path)
    tunamh.MixedModel(rows[["x"]], "y", tunamh.Logistic(), "g").factors
    assert not mapped


def test_too_little_memory_is_refused_with_both_ways_out(tmp_path):
    rows = tunamh.open_rows(BLOCKS, memory="10kB", scratch=tmp_path)
    with pytest.raises(tunamh.NotApplicable, match="With scratch='a folder on a fast disk'"):
        tunamh.MixedModel(rows[["x"]], "y", tunamh.Logistic(), "g")


def test_a_folder_that_is_none_is_refused(tmp_path):
    with pytest.raises(ValueError, match="make it first"):
        tunamh.open_rows(BLOCKS, scratch=tmp_path / "none")
    with pytest.raises(TypeError, match="must be a folder"):
        tunamh.open_rows(BLOCKS, scratch=3)


def test_an_array_in_a_file_is_one_like_any_other(mapped, tmp_path):
    with large_arrays_in(str(tmp_path)):
        found = large((300, 4))
    found[:] = np.arange(1200.0).reshape(300, 4)
    assert mapped
    assert found.flags.writeable
    assert found.flags.c_contiguous
    assert found.sum() == 1199 * 600
    assert large(5).base is None
