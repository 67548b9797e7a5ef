"""The report in a browser: no errors, its tables sort and search, its pictures are there."""

from __future__ import annotations

import json
import re
import shutil
import subprocess

import numpy as np
import pytest
import xarray

import tunamh

CHROMIUM = next(filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None)

pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium on this machine")

ASK = """
<script>
const told = { errors: window.faults };
const names = (box) => [...box.querySelectorAll("tbody th")].map((cell) => cell.textContent);
const values = (box, k) => [...box.querySelectorAll(`tbody td:nth-child(${k})`)]
  .map((cell) => Number(cell.textContent.replace("\\u2212", "-")));
const table = document.querySelector("#parameters"), buttons = table.querySelectorAll("thead button");
told.before = names(table).slice(0, 3);
buttons[1].click(); told.falling = values(table, 2); told.sorted = table.querySelectorAll("th")[1].ariaSort;
buttons[1].click(); told.rising = values(table, 2);
const search = table.querySelector("input");
search.value = "x7"; search.dispatchEvent(new Event("input")); told.found = names(table);
search.value = "no such"; search.dispatchEvent(new Event("input"));
told.none = table.querySelector(".status").textContent;
const groups = document.querySelector("#groups");
groups.querySelector(".more").click(); told.more = names(groups).length;
told.pictures = [...document.querySelectorAll("figure svg")].map((svg) => {
  const box = svg.getBoundingClientRect(); return [box.width, box.height, svg.childElementCount];
});
told.wide = document.documentElement.scrollWidth - document.documentElement.clientWidth;
document.title = "TOLD" + JSON.stringify(told);
</script>
"""


def run_chromium(*options) -> subprocess.CompletedProcess:
    common = ("--headless", "--no-sandbox", "--disable-gpu", "--virtual-time-budget=5000", "--enable-logging=stderr")
    return subprocess.run([CHROMIUM, *common, *map(str, options)], capture_output=True, text=True, timeout=3600)


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    rng = np.random.default_rng(0)
    posterior = xarray.Dataset(
        {"theta": (("chain", "draw", "parameter"), rng.standard_normal((4, 200, 120)) + np.linspace(-5, 5, 120)),
         "group_effect": (("chain", "draw", "group_effect_parameter"), rng.standard_normal((4, 200, 1000)))},
        coords={"parameter": [f"x{j}<i onclick=alert(1)>" for j in range(120)],
                "group_effect_parameter": [f"town[{j}]" for j in range(1000)]},
        attrs={"exact": 1},
    )  # fmt: skip
    path = tmp_path_factory.mktemp("report") / "report.html"
    return tunamh.report(xarray.DataTree.from_dict({"posterior": posterior}), path)


def test_the_page_itself_has_no_errors(page):
    shown = run_chromium("--dump-dom", page.as_uri())
    assert "CONSOLE" not in shown.stderr
    assert 'class="data long alive"' in shown.stdout  # its script ran, which the page's policy allows by its hash


def test_no_other_script_runs(page, tmp_path):
    injected = tmp_path / "injected.html"
    injected.write_text(page.read_text().replace("<main>", "<main><script>document.title = 'taken'</script>"))
    shown = run_chromium("--dump-dom", injected.as_uri())
    assert "<title>taken" not in shown.stdout
    assert "Content Security Policy" in shown.stderr


@pytest.mark.parametrize("width", [1000, 500])
def test_tables_sort_and_search_and_pictures_are_there(page, tmp_path, width):
    text = re.sub(r'<meta http-equiv="Content-Security-Policy".*?>', "", page.read_text())  # for the test's own script
    text = text.replace("<main>", "<script>window.faults = []; onerror = (f) => { faults.push(f); };</script><main>")
    asked = tmp_path / "asked.html"
    asked.write_text(text.replace("</body>", ASK + "</body>"))
    shown = run_chromium(f"--window-size={width},900", "--dump-dom", asked.as_uri()).stdout
    found = re.search(r"<title>TOLD(.*?)</title>", shown, flags=re.S)
    told = json.loads(found[1].replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))
    assert told["errors"] == []
    assert told["before"] == [f"theta[x{j}<i onclick=alert(1)>]" for j in range(3)]
    assert told["falling"] == sorted(told["falling"], reverse=True)
    assert told["falling"][0] > 4
    assert told["sorted"] == "descending"
    assert told["rising"] == sorted(told["rising"])
    assert told["rising"][0] < -4
    assert {name[:8] for name in told["found"]} == {"theta[x7"}
    assert told["none"] == "No name contains this."
    assert told["more"] == 300
    assert len(told["pictures"]) >= 4
    assert all(wide > 100 and high > 10 and parts > 0 for wide, high, parts in told["pictures"])
    assert told["wide"] == 0  # nothing sticks out sideways


WIDE = """
<script>
const boxes = [...document.querySelectorAll(".scroll")].map((box) => box.scrollWidth - box.clientWidth);
document.title = "TOLD" + JSON.stringify(boxes);
</script>
"""


@pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
def test_tables_are_not_cut_on_a_screen_of_1280_pixels(tmp_path):
    """With long names, large numbers, and the column that Laplace's law adds."""
    rng = np.random.default_rng(1)
    n = 600
    table = {
        "yearly income of all persons of the household": 1e6 * rng.random(n),
        "g": rng.integers(8, size=n).astype(str),
    }
    table["y"] = 1e7 + 3 * table["yearly income of all persons of the household"] + 1e6 * rng.standard_normal(n)
    income = "`yearly income of all persons of the household`"
    formula = f"y ~ {income} + (1 + {income} | g)"
    tree = tunamh.sample(tunamh.regression(formula, table), draws=150, tune=150, rng=1, progressbar=False)
    page = tunamh.report(tree, tmp_path / "report.html").read_text()
    assert ">Shift from Laplace<" in page
    text = re.sub(r'<meta http-equiv="Content-Security-Policy".*?>', "", page)
    (tmp_path / "asked.html").write_text(text.replace("</body>", WIDE + "</body>"))
    shown = run_chromium("--window-size=1280,900", "--dump-dom", (tmp_path / "asked.html").as_uri()).stdout
    assert json.loads(re.search(r"<title>TOLD(.*?)</title>", shown)[1]) == [0, 0, 0]  # parameters, scales, groups
