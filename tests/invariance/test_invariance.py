"""Every family in every kernel leaves the posterior as it is: the short form. `make exactness` runs the long one.

Here every family meets the kernels that `sample` takes most, and every kernel some families; a few defects are put
back. Seeds are fixed; the limit is one that a table of so many tests exceeds once in a thousand.
"""

from __future__ import annotations

from zlib import crc32

import harness
import kept_draws
import numpy as np
import pytest
from defects import DEFECTS, Defect, score_with
from kept_draws import POINTS
from scipy import stats

from long_form import limit
from page import replace_rows
from problems import Problem
from run import described, run_posterior, short_form

TESTS = 10_000  # in all, about


VARIANTS = ("nested", "Student-t", "related", "known scale", "further predictor", "two predictors", "prior by shares")
VARIANTS += ("crossed", "slopes", "groups, weights, offset")
"""Structures that vary others. In `make test` each of them meets one family; in `make test-long` all of them."""


def marked():
    """The cells of the short form; those that only `make test-long` runs are marked so."""
    seen = set()
    for where, name, only in short_form():
        varied = any(word in where for word in VARIANTS) or where.endswith("grouped prior")
        marks = [pytest.mark.long] if varied and where in seen else []
        seen.add(where)
        yield pytest.param(where, name, only, marks=marks)


@pytest.mark.parametrize(("where", "name", "only"), marked(), ids=lambda value: value or "every kernel")
def test_kernels_leave_the_posterior_as_it_is(where, name, only):
    lines = run_posterior(where, name, POINTS, only)
    wrong = [described(line) for line in lines if "error" in line or line["largest"] > limit(TESTS)]
    assert not wrong
    assert all(line["moved"] > 0.02 for line in lines)


QUICK = {
    "the step of each group uses the curvature of the convex rows only (a former error of tunamh)": POINTS,
    "the acceptance ratio of a minibatch uses a wrong rate": 3 * POINTS,
}


@pytest.mark.long  # the code with the defect is compiled anew
@pytest.mark.parametrize("name", QUICK)
def test_a_defect_is_found(name, tmp_path):
    assert score_with(DEFECTS[name], tmp_path, QUICK[name]) > limit(TESTS)


@pytest.mark.long
def test_the_border_of_moves_in_shares_is_crossed_in_neither_direction(tmp_path):
    """Where it is drawn changes no law. It stands so far out that no test sees it; here it is put where draws are.

    With moves of the logit in the place of those that start beyond it, the score was 12.
    """
    nearer = Defect("groups/share.py", "_FARTHEST = 30.0", "_FARTHEST = 1.0", "groups | zero-inflated | common move")
    assert score_with(nearer, tmp_path, 2 * POINTS) < limit(TESTS)


def test_every_defect_is_one_line_of_the_sources():
    """So that the long form finds them where they are."""
    from defects import SOURCES

    for name, defect in DEFECTS.items():
        assert (SOURCES / defect.file).read_text().count(defect.right) == 1, name


def test_reference_draws_that_have_not_settled_are_noticed(monkeypatch):
    """After 50 steps from a pool that has few good points they still drift; they cannot blame a kernel."""
    problem = Problem("gamma, known", "slopes, known scales")
    monkeypatch.setattr(harness, "_STEPS_OF_WIDE", 25)
    monkeypatch.setattr(harness, "_MOST_STEPS", 50)
    with pytest.raises(harness.StillDrifting):
        harness.reference_draws(problem, POINTS, np.random.default_rng(0))


def test_the_file_has_draws_of_every_posterior_as_it_is_today():
    """Where this fails, a posterior has changed: `python tests/invariance/kept_draws.py` makes draws of it."""
    problems = [Problem(name, where) for where, name, _ in short_form()]
    assert [(problem.where, problem.name) for problem in problems if not kept_draws.is_that_of(problem)] == []
    assert len(kept_draws.read()) == 3 * len(problems)
    other = Problem("logistic", "columns")
    other.y = 1.0 - other.y
    assert not kept_draws.is_that_of(other)
    assert kept_draws.kept_draws(other) is None


def test_draws_in_the_file_are_those_that_its_script_makes():
    """Of one posterior; of another one where the file changes. Rounding may decide otherwise: that moves a point."""
    where, name, _ = short_form()[crc32(kept_draws.FILE.read_bytes()) % len(short_form())]
    problem = Problem(name, where)
    kept, made = kept_draws.read()[f"{where} | {name}"], kept_draws.made(problem)
    assert np.mean((kept == made).all(axis=1)) > 0.95, problem


def test_draws_in_the_file_have_the_law_of_draws_that_are_made_anew():
    """By two samples' ranks, of every parameter and of the likelihood; with another seed, so that all are others."""
    problem = Problem("Student-t", "groups")
    kept, anew = kept_draws.kept_draws(problem), harness.reference_draws(problem, POINTS, np.random.default_rng(1))
    wider = kept.mean(axis=0) + 1.3 * (kept - kept.mean(axis=0))

    def least_chance(draws):
        columns = [np.column_stack([points, problem.log_likelihood(points)]) for points in (draws, anew)]
        return min(stats.ks_2samp(one, other).pvalue for one, other in zip(*(c.T for c in columns), strict=True))

    assert least_chance(kept) > 1e-3
    assert least_chance(wider) < 1e-6


PAGE = """<!-- invariance: begin -->
4 cells, 40 tests.

| posterior | kernel | families | tests | largest z | run |
|---|---|---:|---:|---:|---|
| groups | sweep | 2 | 1,020 | 5.20 | 2026-01-01 |
| slopes | sweep | 2 | 20 | 2.00 | 2026-01-01 |

| a defect | noticed in | largest z | run |
|---|---|---:|---|
| the acceptance ratio of a minibatch uses a wrong rate | somewhere | 1.0 | 2026-01-01 |
| bright rows of FlyMC become dark half as often as they should | somewhere | 5.9 | 2026-01-01 |
| no such defect any more | somewhere | 9.0 | 2026-01-01 |
<!-- invariance: end -->"""


def test_rows_that_were_run_again_go_into_the_page(tmp_path, monkeypatch):
    page, line = tmp_path / "exact.md", {"kernel": "sweep", "tests": 7, "largest": 3.0}
    page.write_text(PAGE)
    monkeypatch.setattr("page.today", lambda: "2026-02-02")
    again = [line | {"where": where} for where in ("nested", "groups", "groups", "slopes")]
    replace_rows(
        page,
        [*again, line | {"where": "groups", "error": "none"}],
        {"the acceptance ratio of a minibatch uses a wrong rate": 7.4},
        3000,
    )
    text = page.read_text()
    of_groups, there, of_slopes, of_nested = [row for row in text.splitlines() if "| sweep |" in row]
    assert of_groups == "| groups | sweep | 2 | 14 | 3.00 | 2026-02-02 |"
    assert there == "| slopes | sweep | 2 | 20 | 2.00 | 2026-01-01 |"  # one of its two families was run again
    assert of_slopes == "| slopes | sweep | 1 | 7 | 3.00 | 2026-02-02 |"
    assert of_nested == "| nested | sweep | 1 | 7 | 3.00 | 2026-02-02 |"
    assert "The table has 6 cells with 48 tests. Each test uses 2,000 draws" in text
    assert "The largest score is 3.00." in text
    assert (
        "| the acceptance ratio of a minibatch uses a wrong rate | columns; logistic; walk, TunaMH | 7.4 | 2026-02-02 |"
        in text
    )
    assert "| 5.9 | 2026-01-01 |" in text
    assert "no such defect" not in text
