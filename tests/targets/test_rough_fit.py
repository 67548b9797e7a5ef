"""The rough fit from which the residuals of an unknown scale are measured: many columns are fitted step by step."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import tunamh
from tunamh.targets.observations import row_layout


def _target(unit: float = 1.0, noise: float = 1.0):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"g": rng.integers(0, 60, 3000), "x": rng.standard_normal(3000)})
    table["y"] = 0.1 * table["g"] + table["x"] + table["x"] ** 2 + noise * rng.standard_normal(3000)
    return tunamh.regression("y ~ C(g) + z + offset(x**2)", table.assign(z=unit * table["x"]))


def _fit(target):
    return row_layout.rough_fit(target.user_rows, lambda rows: rows.y)


def test_both_ways_agree(monkeypatch):
    for unit in (1.0, 1e8):
        target = _target(unit)
        direct = _fit(target)
        monkeypatch.setattr(row_layout, "_MANY_COLUMNS", 10)
        monkeypatch.setattr(row_layout, "refuse_tiny", None)  # of the dense matrix
        stepwise = _fit(target)
        monkeypatch.undo()
        assert not stepwise.exact
        np.testing.assert_allclose(stepwise.b0, direct.b0, rtol=1e-6, atol=1e-7)
        assert stepwise.scale == pytest.approx(direct.scale, rel=1e-6)


def test_many_columns_that_explain_every_response(monkeypatch):
    monkeypatch.setattr(row_layout, "_MANY_COLUMNS", 10)
    with pytest.raises(tunamh.ImproperPosterior, match="explain every response"):
        _target(noise=0.0)
