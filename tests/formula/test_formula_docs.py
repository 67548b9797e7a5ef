"""The code of docs/formula.md and docs/predict.md runs, in order, as a reader would paste it."""

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).parent.parent.parent / "docs"


@pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
@pytest.mark.parametrize("page", ["formula", "predict"])
def test_code_blocks_run(page, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", (DOCS / f"{page}.md").read_text(), flags=re.S)
    assert len(blocks) >= 3
    names: dict = {}
    for block in blocks:
        exec(block, names)
    if page == "predict":
        assert names["drawn"]["sd"].item() > 2 * names["typical"]["sd"].item()
        low, high = (names["intervals"][name].values for name in ("q5", "q95"))
        assert (high - low > 2.5).all()
    assert capsys.readouterr().out


def test_every_function_is_in_the_table():
    from tunamh.formula.functions import ELEMENTWISE, LEARNED

    text = (DOCS / "formula.md").read_text()
    for name in (*ELEMENTWISE, *LEARNED):
        assert f"`{name}`" in text or f"`{name}(x)`" in text, name
