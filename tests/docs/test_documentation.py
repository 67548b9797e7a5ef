"""The documentation's code runs: executed pages in `make docs`, blocks of other pages here or in tests of their own."""

import os
import re
from pathlib import Path

import numpy as np
import pytest

import tunamh

DOCS = Path(__file__).parents[2] / "docs"
PAGES = sorted(page for page in DOCS.rglob("*.md") if "_build" not in page.parts)
RUN_HERE = ["choose.md", "index.md", "priors.md", "report.md", "sklearn.md", "store.md"]
RUN_ELSEWHERE = {"extend.md": "tests/test_extend.py"}  # and tests that name a page


def blocks(page: Path) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", page.read_text(), flags=re.S | re.M)


@pytest.fixture
def at_hand(tmp_path, monkeypatch):
    """What the pages take for granted: some rows, and a folder to write to."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2000, 3))
    y = rng.random(2000) < 1 / (1 + np.exp(-X[:, 0]))
    target = tunamh.LogisticRegression(X, y)
    return {"tunamh": tunamh, "np": np, "os": os, "X": X, "y": y, "target": target}


@pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")  # recipes of random walks, a thousand draws each
@pytest.mark.parametrize("name", RUN_HERE)
def test_code_blocks_run(name, at_hand):
    found = blocks(DOCS / name)
    assert found
    for block in found:
        exec(block, at_hand)
    if name == "store.md":
        assert at_hand["posterior"].posterior["theta"].shape[1] < 1_000_000  # the last block stops by its rule


def test_every_code_block_is_run_by_someone():
    """A page with plain Python blocks is run here or by a test that names it; other code is in executed cells."""
    for page in PAGES:
        name = str(page.relative_to(DOCS))
        if blocks(page):
            assert name in RUN_HERE or name in RUN_ELSEWHERE or _named_in_a_test(name), f"nobody runs docs/{name}"
    for name, test in RUN_ELSEWHERE.items():
        assert name in (DOCS.parent / test).read_text()


def _named_in_a_test(name: str) -> bool:
    tests = (DOCS.parent / "tests").rglob("test_*.py")
    return any(f"docs/{name}" in test.read_text() for test in tests)


def test_every_public_name_is_in_the_reference():
    reference = "".join(page.read_text() for page in (DOCS / "api").glob("*.md"))
    errors = vars(__import__("tunamh.errors", fromlist=["errors"]))  # documented as a module
    modules = {"priors", "theory", "__version__"}
    missing = [
        name
        for name in tunamh.__all__
        if name not in modules
        and name not in errors
        and not re.search(rf":: (tunamh\.)?{name}$", reference, flags=re.M)
    ]
    assert not missing, f"not in docs/api: {', '.join(missing)}"


def test_the_gallery_links_every_page():
    text = (DOCS / "gallery" / "index.md").read_text()
    for page in (DOCS / "gallery").glob("*.md"):
        assert page.name == "index.md" or f"]({page.name})" in text


def test_no_table_is_left_empty():
    for page in PAGES:
        assert not re.search(r"<!-- table [\w-]+ -->\n<!-- end -->", page.read_text()), page
