"""``tunamh check-fit``: the checks of a saved run, and in its report."""

import numpy as np
import pandas as pd
import pytest
from test_cli import tunamh_command

import tunamh


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("run")
    rng = np.random.default_rng(1)
    table = pd.DataFrame({"x": rng.normal(size=400), "y": rng.negative_binomial(1, 0.3, 400)})
    table.to_csv(folder / "rows.csv", index=False)
    tree = tunamh.sample(tunamh.regression("y ~ x", table, family="poisson"), draws=50, rng=1, progressbar=False)
    tree.to_netcdf(folder / "run.nc", engine="h5netcdf")
    return folder


def test_it_says_what_looks_wrong(folder):
    run, rows = str(folder / "run.nc"), str(folder / "rows.csv")
    shown = tunamh_command("check-fit", run, rows, "--plot", str(folder / "check.png"))
    assert shown.returncode == 0, shown.stderr
    assert "Responses vary more than the model predicts" in shown.stdout
    assert (folder / "check.png").stat().st_size > 10_000
    again = tunamh_command("check-fit", run, rows, "--plot", str(folder / "check.png"))
    assert again.returncode == 2
    assert "exists already" in again.stderr


def test_the_report_has_it(folder):
    run, rows, page = str(folder / "run.nc"), str(folder / "rows.csv"), folder / "page.html"
    shown = tunamh_command("report", run, "--data", rows, "--out", str(page))
    assert shown.returncode == 0, shown.stderr
    assert "Does the model fit?" in page.read_text()
