"""The code of docs/nonlinear.md runs, in order, as a reader would paste it."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parent.parent.parent / "docs" / "nonlinear.md"


def test_code_blocks_run(capsys):
    names: dict = {}
    for block in re.findall(r"```python\n(.*?)```", PAGE.read_text(), flags=re.S):
        exec(block, names)
    found = names["tunamh"].summary(names["posterior"])["mean"]
    assert found["top_weight"] == pytest.approx(0.05, abs=0.01)
    assert found["log_ed50_Intercept"] == pytest.approx(1.0, abs=0.1)
    assert "elpd" in capsys.readouterr().out
