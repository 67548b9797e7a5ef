"""The README's code runs, in order, as a reader would paste it."""

import re
from pathlib import Path

import tunamh
from conftest import draws_of

DOCS = Path(__file__).parents[2] / "docs"
README = (Path(__file__).parents[2] / "README.md").read_text()


def blocks(text: str) -> list[str]:
    return re.findall(r"```python\n(.*?)```", text, flags=re.S)


def run_blocks(text: str) -> dict:
    names: dict = {}
    for block in blocks(text):
        exec(block, names)
    return names


def test_the_ten_lines_find_the_truth(capsys):
    assert len(blocks(README)) == 1
    names = run_blocks(README)
    assert names["model"].names == ["Intercept", "distance", "carrier[DL]", "carrier[UA]"]
    found = draws_of(names["posterior"], "Intercept", "distance", "carrier")
    off = (found.mean(axis=(0, 1)) - [-1.5, 1, 0, 0.3]) / found.std(axis=(0, 1))
    assert abs(off).max() < 4.5
    assert "\ncarrier[UA] " in capsys.readouterr().out


def test_the_summary_that_is_shown_is_what_comes_out():
    """Digits of means and standard deviations, which no machine changes."""
    rows = ["Intercept", "distance", "carrier[DL]", "carrier[UA]"]
    lines = [line.split() for line in README.splitlines() if line.startswith("    ")]
    shown = {words[0]: words[1:3] for words in lines if words[0] in rows}
    names = run_blocks(README.replace("print(", "str("))
    table = tunamh.summary(names["posterior"], round_to="none")
    assert list(shown) == table.index.tolist() == rows
    for name, (mean, sd) in shown.items():
        assert abs(float(mean) - table["mean"][name]) < 0.2 * table["sd"][name]
        assert abs(float(sd) - table["sd"][name]) < 0.1 * table["sd"][name]


def test_models_and_their_blocks():
    """docs/models.md, whose blocks run in order."""
    names = run_blocks((DOCS / "models.md").read_text())
    assert names["model"].variables[1] == ("scale", None)
    assert abs(float(names["grouped"].posterior["group_scale"].mean()) - 0.5) < 0.08
    assert "TweedieFamily" in repr(names["own"].user_family) or "tweedie" in repr(names["own"].user_family)
    assert names["walk"].posterior["theta"].shape == (4, 5000, 5)


def test_an_energy_of_ones_own(capsys):
    """docs/own-energy.md, whose blocks run in order."""
    names = run_blocks((DOCS / "own-energy.md").read_text())
    location = names["posterior"].posterior["theta"].values
    assert abs(location.mean() - 3) < 5 * (2 / 50_000) ** 0.5  # the information of a Cauchy row is 1/2
    assert "theta[location]" in capsys.readouterr().out


def test_the_two_commands_are_named():
    assert "make demo" in README
    assert "make test" in README
