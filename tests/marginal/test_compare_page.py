"""The page docs/compare.md, block by block."""

import re
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[2] / "docs/compare.md"


@pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
def test_the_page_on_comparing_models_runs(capsys):
    names = {}
    for block in re.findall(r"^```python\n(.*?)^```", PAGE.read_text(), flags=re.S | re.M):
        exec(block, names)
    printed = capsys.readouterr().out
    assert "negative binomial predicts better than poisson" in printed
    factor = names["a"].log_evidence - names["b"].log_evidence
    assert (
        abs(factor - names["table"]["elpd_diff"].iloc[1]) < 0.1 * factor
    )  # the same sign and size, not the same number
