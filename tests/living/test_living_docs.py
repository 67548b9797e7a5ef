"""The code of docs/living-data.md runs, in a folder with such files; so does the command of the shell."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

PAGE = Path(__file__).parents[2] / "docs" / "living-data.md"


@pytest.fixture
def flights(tmp_path, monkeypatch):
    """Three files, in a folder that is the current one's."""
    monkeypatch.chdir(tmp_path)
    Path("flights").mkdir()
    for day in range(3):
        rng = np.random.default_rng(day)
        n = 1500
        table = {
            "distance": rng.gamma(2, 0.5, n),
            "carrier": rng.choice(["AA", "DL", "UA"], n),
            "person": rng.integers(4700, 4720, n),
        }
        late = rng.random(n) < 1 / (1 + np.exp(1.5 - table["distance"]))
        pq.write_table(pa.table({**table, "late": late}), f"flights/{day}.parquet")
    return tmp_path


def test_code_blocks_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pytest.importorskip("matplotlib").use("Agg")
    names = {}
    for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.S | re.M):
        exec(block, names)
    assert "the old centre is kept" in names["posterior"].posterior.attrs["choice"]
    assert len(names["rows"]) == 3


def test_every_night_from_the_shell(flights):
    command = [
        "sample",
        "flights/*.parquet",
        "late ~ distance + carrier",
        "--family",
        "logistic",
        "--cache",
        "c.tunamh",
    ]
    for night in ("one.nc", "two.nc"):
        run = [sys.executable, "-m", "tunamh.cli", *command, "--out", night, "--draws", "200", "--seed", "1"]
        result = subprocess.run(run, capture_output=True, text=True, env={**os.environ, "COLUMNS": "200"})
        assert result.returncode == 0, result.stderr
    assert "0 new files of 3 mapped; centre of" in result.stdout + result.stderr
    assert Path("two.nc").exists()
