"""``tunamh compile``: what first calls need is compiled before, and a folder of it spares another installation."""

import os
import subprocess
import sys

import pytest
from typer.testing import CliRunner

from tunamh.cli import app


def test_an_unknown_family_is_refused_before_anything_is_compiled():
    done = CliRunner().invoke(app, ["compile", "logistic", "poison"])
    assert done.exit_code == 2
    assert "there is no family 'poison'" in done.output


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    into = tmp_path_factory.mktemp("shipped")
    done = CliRunner().invoke(app, ["compile", "logistic", "--processes", "1", "--into", str(into)])
    assert done.exit_code == 0, done.output
    assert "logistic: " in done.output
    return into


FIRST_CALL = """
import sys
from pathlib import Path
from tunamh.compiled import cache
cache._SHIPPED = Path(sys.argv[1])
import numpy as np, tunamh
X = np.random.default_rng(0).standard_normal((2000, 4))
y = X[:, 0] + X[:, 1] > np.random.default_rng(1).standard_normal(2000)
tunamh.sample(tunamh.LogisticRegression(X, y), draws=200, tune=50, rng=1, progressbar=False)
print(*cache.folder().glob("*.nbc"))
"""


def test_with_the_folder_a_first_call_compiles_nothing(folder, tmp_path):
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", FIRST_CALL, str(folder)],
        env=environment,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == []


def test_files_that_are_damaged_there_are_compiled_again_elsewhere(folder, tmp_path):
    for file in folder.glob("*.nbc"):
        (tmp_path / file.name).write_bytes(file.read_bytes()[:50] if "run_chain" in file.name else file.read_bytes())
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
    done = subprocess.run(
        [sys.executable, "-c", FIRST_CALL, str(tmp_path)], env=environment, capture_output=True, text=True, check=True
    )
    assert "run_chain" in done.stdout
    assert "cannot be read" in done.stderr
