"""The code of docs/effects.md runs, and the command ``tunamh effects`` answers as Python does."""

import re
from pathlib import Path

import pandas as pd
import pytest
from drawn_results import drawn_result
from typer.testing import CliRunner

import tunamh
from tunamh.cli import app
from tunamh.report.load import opened
from tunamh.report.response_effects import response_effects

PAGE = Path(__file__).parents[2] / "docs" / "effects.md"
TABLE = pd.DataFrame({"x": [0.0, 1.0, 2.0, 4.0] * 5, "a": ["p", "q"] * 10, "y": [0, 1, 1, 0, 1] * 4})


@pytest.fixture(scope="module")
def result():
    return drawn_result(tunamh.regression("y ~ x + a", TABLE, family="logistic"))


@pytest.mark.slow
def test_the_page_runs(capsys):
    names = {}
    for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.S | re.M):  # docs/effects.md
        exec(block, names)
    assert "UA - AA" in capsys.readouterr().out


def run(*arguments):
    return CliRunner().invoke(app, ["effects", *arguments])


def test_the_command_answers_as_python_does(result, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result.to_netcdf("run.nc")
    TABLE.to_csv("rows.csv", index=False)
    assert run("run.nc", "rows.csv", "--compare", "a", "--compare", "x=2", "--by", "a", "--out", "e.csv").exit_code == 0
    wanted = tunamh.comparisons(result, TABLE, {"a": None, "x": 2}, average_by="a")
    pd.testing.assert_frame_equal(pd.read_csv("e.csv"), pd.DataFrame(wanted), check_dtype=False)
    shown = run("run.nc", "--at", "x=0,1", "--at", "a=all", "--plot", "e.png")
    assert shown.exit_code == 0
    assert Path("e.png").stat().st_size > 1000
    assert [line.split()[:2] for line in shown.stdout.splitlines()[2:6]] == [
        ["0", "p"],
        ["0", "q"],
        ["1", "p"],
        ["1", "q"],
    ]
    for arguments, told in {
        ("run.nc", "--average"): "the second argument",
        ("run.nc", "--slope", "x", "--compare", "a"): "two questions",
        ("run.nc", "--compare", "z"): "no column 'z'",
        ("run.nc", "--at", "x=0,", "--at", "a=all"): "write the values as",
    }.items():
        refused = run(*arguments)
        assert refused.exit_code == 2
        assert told in refused.output


def test_the_report_has_differences_at_typical_values(result):
    found = response_effects(opened(result), 0.95)
    wanted = tunamh.comparisons(result, contrast={"x": "sd", "a": "reference"}, ci_prob=0.95)
    rows = [row for panel in found.panels for row in panel.rows]
    assert [row.label for row in rows] == ["x: +1 sd", "a: q - p"]
    assert [row.mean for row in rows] == wanted["mean"].tolist()
    assert found.told == "difference of P(y)"
    assert response_effects(drawn_result(tunamh.regression("x ~ a", TABLE)), 0.95) is None
