"""The code of docs/smooths.md runs, in order, as a reader would paste it."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent.parent / "docs" / "smooths.md"


def test_code_blocks_run(tmp_path, monkeypatch, capsys):
    pytest.importorskip("matplotlib").use("Agg")
    monkeypatch.chdir(tmp_path)
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.S):
        exec(block, names)
    assert (tmp_path / "curves.png").exists()
    found = names["tunamh"].summary(names["posterior"])["mean"]
    assert found["s(distance)_sigma"] < 0.2 < found["s(hour)_sigma"]
    assert "s(hour)" in capsys.readouterr().out


def test_pictures_of_curves_say_what_is_wrong(tmp_path):
    import tunamh

    plain = tunamh.sample(tunamh.LogisticRegression([[1.0], [2.0], [3.0]], [0, 1, 0]), draws=20, tune=20, rng=1)
    with pytest.raises(tunamh.NotApplicable, match="the result has no curves"):
        tunamh.plot_smooths(plain)
