"""Arguments in another order, or files that are not opened: the error says what to pass."""

from __future__ import annotations

import numpy as np
import pytest

import tunamh


def test_the_store_comes_first():
    target = tunamh.LogisticRegression(np.eye(4), np.array([0.0, 1.0, 0.0, 1.0]), prior=tunamh.Normal())
    with pytest.raises(TypeError, match=r"tunamh.resume\('run', target\)"):
        tunamh.resume(target, "run")


def test_predictions_from_a_path():
    with pytest.raises(tunamh.NotApplicable, match=r"xarray.open_datatree.*tunamh.read_store"):
        tunamh.predict("run", {"x": [1.0]})
    with pytest.raises(tunamh.NotApplicable) as error:
        tunamh.predict(3, {"x": [1.0]})
    assert "open_datatree" not in str(error.value)
