"""The README's code runs, in order, as a reader would paste it."""

import re
from pathlib import Path

README = (Path(__file__).parents[2] / "README.md").read_text()


def test_code_blocks_run_and_find_the_truth(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", README, flags=re.S)
    assert len(blocks) == 9
    names: dict = {}
    for block in blocks:
        exec(block, names)
    location = names["posterior"].posterior["theta"].values
    assert abs(location.mean() - 3) < 5 * (2 / 50_000) ** 0.5  # the information of a Cauchy row is 1/2
    assert names["delays"].names == ["Intercept", "distance", "C(carrier)[DL]", "C(carrier)[UA]"]
    found = names["fitted"].posterior["theta"]
    off = (found.mean(("chain", "draw")) - [-1.5, 0.001, 0, 0.3]) / found.std(("chain", "draw"))
    assert abs(off).max() < 4.5
    assert names["model"].variables[1] == ("scale", None)
    assert abs(float(names["grouped"].posterior["group_scale"].mean()) - 0.5) < 0.08
    assert "TweedieFamily" in repr(names["own"].given_family) or "tweedie" in repr(names["own"].given_family)
    assert "Which airports are late?" in (tmp_path / "report.html").read_text(encoding="utf-8")
    assert names["scores"].mean() > 0.7
    assert names["walk"].posterior["theta"].shape == (4, 5000, 5)
    assert "theta[location]" in capsys.readouterr().out


def test_the_two_commands_are_named():
    assert "make demo" in README
    assert "make test" in README
