"""The command line, as run by a user."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import tunamh
from tunamh.cli.demo.mixture import GRID
from tunamh.cli.demo.paper_mixture import mixture_data, true_density


def tunamh_command(*arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "tunamh.cli", *arguments]
    return subprocess.run(command, capture_output=True, text=True, env={**os.environ, "COLUMNS": "100"})


def paper_command(*arguments: str) -> subprocess.CompletedProcess:
    command = [sys.executable, "-m", "paper", *arguments]
    root = Path(__file__).parents[2]
    return subprocess.run(command, capture_output=True, text=True, cwd=root, env={**os.environ, "COLUMNS": "100"})


def test_demo_prints_a_table_and_draws_a_picture(tmp_path):
    result = tunamh_command("demo", "--rows", "20000", "--seconds", "1", "--out", str(tmp_path))
    assert result.returncode == 0, result.stderr
    for words in (
        "set-up",
        "effective draws",
        "TunaMH",
        "full-data MH",
        "in passes over",
        "distance to the true density",
    ):
        assert words in result.stdout
    assert (tmp_path / "regression.png").stat().st_size > 10_000
    regression = json.loads((tmp_path / "regression.json").read_text())
    assert regression["effective"] > 0.5 * regression["draws"]
    assert regression["rows_touched"] < 50 * regression["draws"]
    assert (tmp_path / "mixture.png").stat().st_size > 10_000
    tuna, full = json.loads((tmp_path / "mixture.json").read_text())["contenders"]
    assert tuna["rows_per_step"] < full["rows_per_step"] <= 20_000
    assert 0 < tuna["distance"] < 1  # how near depends on the machine


def test_version():
    assert tunamh_command("--version").stdout.strip() == tunamh.__version__


def test_no_arguments_show_the_help():
    assert "demo" in tunamh_command().stdout


def test_true_density_is_the_posterior():
    """The binned quadrature against the energies of all rows at a few cells."""
    x = mixture_data(2000, seed=3)
    target = tunamh.GaussianMixture(x, temper=0.05)
    edges = np.linspace(-3, 3, GRID + 1)
    mass = true_density(target, x, edges)
    assert mass.sum() == 1 or abs(mass.sum() - 1) < 1e-12
    middle = 0.5 * (edges[1:] + edges[:-1])

    def log_density(t1, t2):
        return 0.05 * np.logaddexp(-((x - t1) ** 2) / 4, -((x - t1 - t2) ** 2) / 4).sum()

    rows = np.random.default_rng(1).choice(np.argwhere(mass > 0.2 * mass.max()), 10)
    ratios = [log_density(middle[i], middle[j]) - np.log(mass[i, j]) for i, j in rows]
    assert np.ptp(ratios) < 0.05  # cells are averaged, midpoints are not


def test_reproduce_lists_the_experiments():
    from paper.run import EXPERIMENTS

    shown = paper_command("--help").stdout
    for name in [*EXPERIMENTS, "all", "--quick", "--out"]:
        assert name in shown


@pytest.mark.long
def test_reproduce_writes_results_and_a_page(tmp_path):
    result = paper_command("theory", "--quick", "--out", str(tmp_path))
    assert result.returncode == 0, result.stderr
    assert {"theory.json", "theory.png", "theory.svg", "index.html"} <= {path.name for path in tmp_path.iterdir()}


def test_reproduce_refuses_what_it_does_not_know():
    result = paper_command("figure-9")
    assert result.returncode == 2
    assert "figure-1" in result.stderr


def test_reproduce_says_where_the_experiments_are():
    result = tunamh_command("reproduce")
    assert result.returncode != 0
    assert "make reproduce" in result.stderr
