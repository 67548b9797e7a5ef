"""The report: what it says, what it says is missing, and that nothing in a stranger's file gets out of its place."""

from __future__ import annotations

import html
import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest
import xarray

import tunamh
from conftest import logistic_data
from tunamh.report.costs import duration
from tunamh.report.numbers import text
from tunamh.report.pictures import Interval, nice_ticks, panels, tick_text

DOCS = Path(__file__).parents[2] / "docs"

EVIL = "</script><script>alert(1)</script><img src=x onerror=alert(2)>\" onmouseover='alert(3)'"


@pytest.fixture(scope="module")
def tree():
    import pandas as pd

    X, y = logistic_data(2000, 3)
    table = pd.DataFrame(X, columns=["age", EVIL, "Zürich & <b>co</b>"])
    return tunamh.sample(tunamh.LogisticRegression(table, y), draws=300, rng=1)


class Tags(HTMLParser):
    """Elements, attributes and texts of a page."""

    def __init__(self, page: str):
        super().__init__()
        self.tags: list[tuple[str, dict]] = []
        self.texts: list[str] = []
        self.feed(page)

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_data(self, data):
        self.texts.append(data)


def page_of(tree, path, **settings) -> str:
    return tunamh.report(tree, path / "report.html", **settings).read_text(encoding="utf-8")


def rows_in(page: str, which: int = 0) -> list[list[str]]:
    return json.loads(re.findall(r'<script type="application/json">(.*?)</script>', page, flags=re.S)[which])


def test_it_answers_judges_and_counts(tree, tmp_path):
    page = page_of(tree, tmp_path, title="Is <age> a risk?")
    said = " ".join(Tags(page).texts)
    table = tunamh.summary(tree, round_to="none")
    row = next(row for row in rows_in(page) if row[0] == "theta[age]")
    assert abs(float(row[1]) - table.loc["theta[age]", "mean"]) < 0.02 * table.loc["theta[age]", "sd"]
    assert float(row[6]) == round(table.loc["theta[age]", "ess_bulk"])
    assert abs(float(row[7]) - table.loc["theta[age]", "r_hat"]) < 0.001
    for part in ("Is <age> a risk?", "The answer", "Effective draws", "Distance from Laplace's", "Bounds of the rows"):
        assert part in said
    assert table.attrs["laplace"] in said
    assert "3 coefficients" in said
    assert "passes over the data" in said
    assert "set-up" in said  # its parts are shown where they took a millisecond, which is the machine's affair
    assert json.loads(tree.posterior.attrs["settings"])["why"][1:] in said
    assert page.count('<svg class="intervals"') == 1
    assert 'class="chain chain-3"' in page


def test_nothing_is_fetched_and_names_are_only_text(tree, tmp_path):
    page = page_of(tree, tmp_path, title=EVIL)
    found = Tags(page)
    assert not {"img", "link", "iframe", "object", "embed", "form"} & {tag for tag, _ in found.tags}
    attributes = [(name, value or "") for _, attrs in found.tags for name, value in attrs.items()]
    assert not [name for name, _ in attributes if name.startswith("on")]
    assert not [value for name, value in attributes if name in ("src", "href") and not value.startswith("#")]
    scripts = [attrs for tag, attrs in found.tags if tag == "script"]
    assert scripts == [{"type": "application/json"}, {}]
    policies = [attrs["content"] for _, attrs in found.tags if attrs.get("http-equiv") == "Content-Security-Policy"]
    assert policies[0].startswith("default-src 'none'")
    assert "script-src 'sha256-" in policies[0]
    assert [row[0] for row in rows_in(page)][1] == f"theta[{EVIL}]"
    assert EVIL in "".join(found.texts)


def test_files_folders_and_what_is_in_the_way(tree, tmp_path):
    tree.to_netcdf(tmp_path / "run.nc")
    from_file = page_of(str(tmp_path / "run.nc"), tmp_path)
    assert rows_in(from_file) == rows_in(page_of(tree, tmp_path))  # an older report is replaced
    (tmp_path / "notes.html").write_text("mine")
    with pytest.raises(FileExistsError, match="is not a report of tunamh"):
        tunamh.report(tree, tmp_path / "notes.html")
    assert (tmp_path / "notes.html").read_text() == "mine"
    tunamh.report(tree, tmp_path / "notes.html", overwrite=True)
    for name in ("run.pdf", "run.PNG", "run.md"):
        with pytest.raises(ValueError, match=r"a report is an HTML page.*: use run\.html"):
            tunamh.report(tree, tmp_path / name)
    with pytest.raises(IsADirectoryError, match="name a file in it"):
        tunamh.report(tree, tmp_path)
    with pytest.raises(FileNotFoundError, match="there is no folder"):
        tunamh.report(tree, tmp_path / "nowhere" / "report.html")
    with pytest.raises(FileNotFoundError, match="there is no file or folder"):
        tunamh.report(tmp_path / "missing.nc", tmp_path / "x.html")
    (tmp_path / "bad.nc").write_bytes(b"\x80\x04\x95pickle")
    with pytest.raises(ValueError, match="could not be read as a netCDF file"):
        tunamh.report(tmp_path / "bad.nc", tmp_path / "x.html")
    with pytest.raises(TypeError, match=r"must be what tunamh\.sample returned"):
        tunamh.report({"theta": 1}, tmp_path / "x.html")
    with pytest.raises(ValueError, match="level must lie between"):
        tunamh.report(tree, tmp_path / "x.html", level=95)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["bad.nc", "notes.html", "report.html", "run.nc"]


def test_a_stored_run_has_a_report_while_it_grows(path, tmp_path):
    X, y = logistic_data(2000, 2)
    tunamh.sample(tunamh.LogisticRegression(X, y), draws=150, rng=1, store=path)
    said = " ".join(Tags(page_of(path, tmp_path)).texts)
    assert "not measured" in said
    assert "passes during set-up" in said


def test_a_tree_of_strangers_is_shown_and_what_is_missing_is_named(tmp_path):
    rng = np.random.default_rng(0)
    posterior = xarray.Dataset(
        {
            "beta": (("chain", "draw", "city", "year"), rng.standard_normal((2, 200, 2, 3))),
            "sigma": (("chain", "draw"), np.exp(rng.standard_normal((2, 200)))),
            "label": (("chain", "draw"), np.full((2, 200), "a")),
            "broken": (("chain", "draw"), np.full((2, 200), np.nan)),
        },
        coords={"city": ["Bern", "Basel"]},
        attrs={"settings": '{"stopped": [1], "rows": 1' + "0" * 400 + ', "seconds": "soon", "why": {"a": 1}}',
               "laplace_mean_shift": "[1, 2", "laplace_sd_ratio": "{}", "laplace_mean_shift_error": "{}",
               "laplace_sd_ratio_error": "{}", "exact": "maybe"},
    )  # fmt: skip
    stats = xarray.Dataset({"batch_size": (("chain", "draw"), np.full((2, 200), "many"))})
    page = page_of(xarray.DataTree.from_dict({"posterior": posterior, "sample_stats": stats}), tmp_path)
    said = " ".join(Tags(page).texts)
    assert [row[0] for row in rows_in(page)][:3] == ["beta[Bern, 0]", "beta[Bern, 1]", "beta[Bern, 2]"]
    for part in ("label (no draws of numbers)", "rows read", "time by stage", "laplace_... (cannot be read)"):
        assert part in said
    assert "NaN or infinite draws, of broken" in said
    posterior.attrs.clear()
    others = xarray.DataTree.from_dict({"posterior": posterior[["beta", "sigma"]]})
    said = " ".join(Tags(page_of(others, tmp_path)).texts)
    assert "what was chosen and why" in said
    assert "Do not use" not in said


@pytest.mark.parametrize(
    ("model", "title"),
    [
        ({"formula": {"formula": "late ~ <x>"}}, "late ~ <x>"),
        ({"formula": [1]}, "one coefficient"),
        (3, "one coefficient"),
    ],
)
def test_a_formula_is_the_question(tmp_path, model, title):
    draws = np.random.default_rng(0).standard_normal((2, 100, 1))
    posterior = xarray.Dataset({"theta": (("chain", "draw", "parameter"), draws)}, attrs={"model": json.dumps(model)})
    page = page_of(xarray.DataTree.from_dict({"posterior": posterior}), tmp_path)
    heading = re.search(r"<h1>(.*?)</h1>", page)[1]
    assert title in heading.replace("&lt;", "<").replace("&gt;", ">")


def test_under_another_title_a_page_still_says_which_model_it_is(tmp_path):
    """Its formula, the rows that were left out, and the class that counts as 1; a file that has others, none."""
    formula = {
        "formula": "left ~ x",
        "response": {"text": "left", "levels": ["no", "<yes>"], "labels": True},
        "dropped": 1200,
    }
    model = {"family": {"name": "Logistic", "known": {}, "text": "Logistic()"}, "formula": formula}
    draws = np.random.default_rng(0).standard_normal((2, 100, 1))

    def line(model, **given):
        attributes = {"model": json.dumps(model), "settings": json.dumps({"rows": 5000})}
        posterior = xarray.Dataset({"theta": (("chain", "draw", "parameter"), draws)}, attrs=attributes)
        page = page_of(xarray.DataTree.from_dict({"posterior": posterior}), tmp_path, **given)
        return html.unescape(re.search(r'<p class="model"><code>(.*?)</code>', page)[1])

    known = "Logistic regression, 5,000 rows (1,200 with missing values left out); left: '<yes>' counts as 1"
    assert line(model, title="Who leaves?") == f"left ~ x; {known}"
    assert line(model) == known  # the formula is the title
    for wrong in ({"levels": "ab", "labels": True}, {"levels": ["a"], "labels": True}, [1], {"levels": ["a", "b"]}):
        assert (
            line({**model, "formula": {**formula, "response": wrong, "dropped": "x"}})
            == "Logistic regression, 5,000 rows"
        )


def test_chains_that_failed_are_not_recommended(tmp_path):
    rng = np.random.default_rng(0)
    apart = rng.standard_normal((4, 200, 1)) + 5 * np.arange(4)[:, None, None]
    for draws, wanted in ((apart, "R-hat"), (np.zeros((4, 200, 1)), "never moved")):
        posterior = xarray.Dataset({"theta": (("chain", "draw", "parameter"), draws)}, attrs={"exact": 1})
        said = " ".join(Tags(page_of(xarray.DataTree.from_dict({"posterior": posterior}), tmp_path)).texts)
        assert "Do not use these draws yet" in said
        assert wanted in said


def test_thousands_of_effects_have_one_picture_and_a_search(tmp_path):
    rng = np.random.default_rng(0)
    draws = rng.standard_normal((2, 100, 3000)) + 2 * rng.standard_normal(3000)
    posterior = xarray.Dataset(
        {"theta": (("chain", "draw", "parameter"), rng.standard_normal((2, 100, 2))),
         "group_effect": (("chain", "draw", "group_effect_parameter"), draws)},
        coords={"group_effect_parameter": [f"town[{j}]" for j in range(3000)]},
    )  # fmt: skip
    tree = xarray.DataTree.from_dict({"posterior": posterior})
    page = page_of(tree, tmp_path)
    effects = rows_in(page, 1)
    assert len(effects) == 3000
    sizes = [abs(float(row[1])) for row in effects]
    assert sizes[0] == max(sizes)
    assert page.count("<tr>") < 200
    summed = xarray.Dataset({name: (("chain", "group_effect_parameter"), np.full((2, 3000), value))
                             for name, value in (("mean", 0.5), ("sd", 0.1))})  # fmt: skip
    kept_not = xarray.DataTree.from_dict({"posterior": posterior[["theta"]], "group_effects": summed})
    page = page_of(kept_not, tmp_path)
    assert rows_in(page, 1)[0][3:5] == ["0.304", "0.696"]
    assert "Their draws were not kept" in page
    assert "3,000 group effects" in repr(tunamh.summary(kept_not))
    table = tunamh.summary(tree)
    assert list(table.index) == ["theta[0]", "theta[1]"]
    assert "3,000 group effects are left out" in repr(table)
    assert "3,000 group effects are left out" in table._repr_html_()
    assert "ess_bulk" in repr(table)
    few = xarray.DataTree.from_dict({"posterior": posterior.isel(group_effect_parameter=slice(20))})
    assert len(tunamh.summary(few, var_names=["group_effect"])) == 20


def test_rows_of_other_sizes_have_axes_of_their_own():
    rows = [
        Interval(str(k), size, (0.9 * size, 1.1 * size), (0.8 * size, 1.2 * size)) for k, size in enumerate((1, 900, 2))
    ]
    found = panels(rows, zero=True)
    assert [[row.label for row in panel.rows] for panel in found] == [["1"], ["0", "2"]]
    assert nice_ticks(-0.13, 0.31) == pytest.approx([-0.1, 0.0, 0.1, 0.2, 0.3])
    assert tick_text(0.15, 0.05) == "0.15"
    assert [text(1234.5678, 2.0), text(0.0123456, 0.0004), text(float("nan"), 1.0)] == [
        "1234.57",
        "0.012346",
        "\N{EN DASH}",
    ]
    assert [duration(s) for s in (0.0042, 0.5, 42.0, 125.0, 9000.0)] == [
        "4.2 ms",
        "0.5 s",
        "42 s",
        "2 min 5 s",
        "2.5 h",
    ]


def test_what_a_run_costs_is_written_down(tree):
    settings = json.loads(tree.posterior.attrs["settings"])
    assert set(settings["seconds"]) == {"compiling", "set-up", "warm-up and draws"}
    assert all(value >= 0 for value in settings["seconds"].values())
    assert settings["set_up"]["passes"] >= 2
    assert settings["set_up"]["rows"] >= 2 * 2000
    assert "looking for the mode" in settings["set_up"]["stages"]
    assert sum(settings["set_up"]["stages"].values()) <= settings["seconds"]["set-up"] + 0.01


def test_the_documentation_runs(tmp_path, monkeypatch):
    (block,) = re.findall(r"```python\n(.*?)```", (DOCS / "report.md").read_text(encoding="utf-8"), flags=re.S)
    monkeypatch.chdir(tmp_path)
    exec(block, {})
    shown = {"report": "Does the model fit?", "flights": "Which carriers", "stored": "late ~ distance"}
    for name, told in shown.items():
        assert told in (tmp_path / f"{name}.html").read_text(encoding="utf-8")


# ------------------------------------------------------------------------------------------------------ formulas


def flights(draws=150):
    import pandas as pd

    rng = np.random.default_rng(2)
    n = 800
    table = pd.DataFrame({"x": rng.normal(size=n), "a": rng.choice(["p", "q", "r"], n), "g": rng.integers(6, size=n)})
    table["y"] = 0.01 * table["x"] + 3 * (table["a"] == "q") + 0.02 * (table["a"] == "r") + rng.normal(size=n)
    return table, {"draws": draws, "tune": 200, "chains": 2, "rng": 1, "progressbar": False}


@pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
def test_terms_of_a_formula_have_pictures_by_what_they_are(tmp_path):
    table, settings = flights()
    tree = tunamh.sample(tunamh.regression("y ~ x + a + (1 + x | g)", table), **settings)
    page = page_of(tree, tmp_path)
    said = " ".join(" ".join(Tags(page).texts).split())
    for part in (
        "Coefficients",
        "Each level is compared with the reference level, which has no coefficient (a: p).",
        "Standard deviations of group effects",
        "Correlations of group effects",
        "Gaussian regression, 800 rows",
        "How much groups differ",
        "g: Intercept All 6 effects.",
        "g: x All 6 effects.",
    ):
        assert part in said
    assert "theta" not in said
    names = [row[0] for row in rows_in(page)]
    assert names == ["Intercept", "x", "a[q]", "a[r]", "sigma", "1|g_sigma", "x|g_sigma", "1,x|g_corr"]
    assert "x|g[5]" in [row[0] for row in rows_in(page, 1)]


@pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
def test_groups_have_scales_shares_ranks_and_a_caterpillar_each(tmp_path):
    table, settings = flights()
    table["h"] = np.arange(len(table)) % 40
    tree = tunamh.sample(tunamh.regression("y ~ x + (1 + x | g) + (1 | h)", table), **settings)
    page = page_of(tree, tmp_path, level=0.9)
    said = [text.strip() for text in Tags(page).texts if text.strip()]
    scales = tunamh.group_scales(tree, ci_prob=0.9)
    share = scales[(scales["group"] == "h") & (scales["quantity"] == "share")].iloc[0]
    at = said.index("share of variance", said.index("h: Intercept"))
    shares = [said[k + 1] for k, text in enumerate(said) if text == "share of variance"]
    assert len(shares) == 3  # g, h, and both
    assert float(shares[1]) == pytest.approx(share["mean"], abs=0.01 * share["sd"])
    assert said[at - 1] == "g"
    assert said[said.index("h") + 1] == "share of variance"
    own = tunamh.group_effects(tree, "h").set_index("level")
    row = next(row for row in rows_in(page, 1) if row[0] == "1|h[7]")
    assert float(row[6]) == pytest.approx(own.loc["7", "rank"], abs=0.051)
    assert float(row[7]) == pytest.approx(own.loc["7", "p_best"], abs=0.00051)
    assert "The 30 largest of 40 effects." in said
    assert page.count('class="in-order"') == 1  # of 40 levels, not of 6


def test_what_a_file_says_of_its_groups_is_not_trusted(tmp_path):
    """The page falls back on effects without factors."""
    rng = np.random.default_rng(0)
    for model in (
        '{"groups": 3}',
        '{"groups": [{"name": "town", "columns": [""], "levels": 7}]}',
        '{"groups": [{"name": "town", "columns": [""], "levels": "x"}], "family": {}}',
        '{"groups": [{"name": "town", "columns": ["", "y"], "levels": 10, "known": [1], "squares": [[1]]}]}',
    ):
        posterior = xarray.Dataset(
            {"theta": (("chain", "draw", "parameter"), rng.standard_normal((2, 50, 1))),
             "group_effect": (("chain", "draw", "group_effect_parameter"), rng.standard_normal((2, 50, 20)))},
            coords={"group_effect_parameter": [f"town[{j}]" for j in range(20)]},
            attrs={"model": model},
        )  # fmt: skip
        page = page_of(xarray.DataTree.from_dict({"posterior": posterior}), tmp_path)
        assert "town[19]" in page
    model = '{"formula": {}, "family": {}, "groups": [{"name": "town", "columns": [""], "levels": 10}]}'
    about = {"role": "group effect", "group": "town"}
    two = (("chain", "draw", "kind", "town"), rng.standard_normal((2, 50, 2, 10)), about)
    posterior = posterior[["theta"]].assign(effects=two).assign_attrs(model=model)
    assert "effects[1, 9]" in page_of(xarray.DataTree.from_dict({"posterior": posterior}), tmp_path)


@pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
def test_effects_whose_draws_are_not_kept_are_named(tmp_path):
    table, settings = flights()
    tree = tunamh.sample(tunamh.regression("y ~ x + (1 | g)", table, keep_effects=False), **settings)
    page = page_of(tree, tmp_path)
    assert "Their draws were not kept" in page
    assert "1|g[5]" in [row[0] for row in rows_in(page, 1)]


def test_levels_of_one_factor_share_an_axis():
    """By itself the second level would have an axis of its own, on which it could not be compared."""
    large, small = (100.0, (99.9, 100.1), (99.0, 101.0)), (0.01, (0.009, 0.011), (0.008, 0.012))
    apart = panels([Interval("q", *large), Interval("r", *small)], zero=True)
    assert [[row.label for row in panel.rows] for panel in apart] == [["q"], ["r"]]
    together = panels([Interval("q", *large, "a"), Interval("r", *small, "a"), Interval("x", *small)], zero=True)
    assert [[row.label for row in panel.rows] for panel in together] == [["q", "r"], ["x"]]


def test_a_table_has_its_reference_levels(tmp_path):
    import pandas as pd

    table, settings = flights()
    columns = pd.DataFrame({"one": 1.0, "x": table["x"], "a": table["a"].astype("category")})
    tree = tunamh.sample(tunamh.GLM(columns, table["y"], "gaussian"), **settings)
    assert "no coefficient (a: p)." in " ".join(Tags(page_of(tree, tmp_path)).texts)


@pytest.mark.parametrize(
    ("family", "words"),
    [
        (tunamh.Logistic(), "Logistic regression"),
        (tunamh.StudentT(4), "Student-t regression (df = 4)"),
        (tunamh.NegativeBinomial(), "Negative-binomial regression"),
        (tunamh.ZeroInflated(tunamh.Poisson()), "Zero-inflated Poisson regression"),
    ],
)
def test_families_are_told_in_words(family, words):
    from tunamh.targets.families.registry import family_as_json, family_in_words

    assert family_in_words(family_as_json(family)) == words


@pytest.mark.parametrize(
    ("label", "wanted"),
    [
        ("plan[plus]", ("plan", "[plus]")),
        ("Monthly Charge: +1 sd", ("Monthly Charge", ": +1 sd")),
        ("a: q - p (late)", ("a", ": q - p (late)")),
        ("x", ("x", "")),
    ],
)
def test_labels_are_cut_in_the_name_and_not_in_the_level(label, wanted):
    from tunamh.report.page import ends

    assert ends(label) == wanted


def test_it_says_whether_the_model_fits(tmp_path):
    """With the data; names in them are text on the page, and without data the page has no such section."""
    import pandas as pd

    rng = np.random.default_rng(1)
    table = pd.DataFrame({EVIL: rng.normal(size=500), "y": rng.negative_binomial(1, 0.3, 500)})
    target = tunamh.regression(f"y ~ `{EVIL}`", table, family="poisson")
    tree = tunamh.sample(target, draws=400, rng=1, progressbar=False)
    page = page_of(tree, tmp_path, data=table)
    assert "Does the model fit?" in page
    assert "all 500 rows, 100 posterior draws" in page.lower()
    assert "Responses vary more than the model predicts" in page
    assert page.count('class="chart"') >= 3
    assert "residuals of some rows" in page
    assert len([tag for tag, _ in Tags(page).tags if tag == "img"]) == 0
    verdict = re.search(r'<p class="verdict (\w+)">(.*?)</p>', page)
    assert verdict is not None
    assert verdict[1] == "look"  # the banner speaks of the whole page
    assert 'href="#fit"' in verdict[2]
    assert "look at the fit of the model" in verdict[2]
    assert "checks look wrong" in verdict[2]
    assert "Does the model fit?" not in page_of(tree, tmp_path)
