"""Every family in every kernel leaves the posterior as it is: the short form. `make exactness` runs the long one.

Here every family meets the kernels that `sample` takes most, and every kernel some families; a few defects are put
back. Seeds are fixed; the limit is one that a table of so many tests exceeds once in a thousand.
"""

from __future__ import annotations

import harness
import numpy as np
import pytest
from defects import DEFECTS, score_with

from long_form import limit
from problems import Problem
from run import described, posteriors, replace_rows, run_posterior

POINTS = 1500
TESTS = 10_000  # in all, about
EVERY_FAMILY = {"columns": "joint, minibatch$|as chosen$", "groups": "sweep$|own move$"}
SOME = ("logistic", "Student-t", "Gaussian", "negative binomial", "zero-inflated", "own, Cauchy")


def _asked() -> list[tuple[str, str, str]]:
    found = []
    for where, name in posteriors():
        if name in SOME:
            found.append((where, name, ""))
        elif where in EVERY_FAMILY:
            found.append((where, name, EVERY_FAMILY[where]))
    return found


@pytest.mark.parametrize(("where", "name", "only"), _asked(), ids=lambda value: value or "every kernel")
def test_kernels_leave_the_posterior_as_it_is(where, name, only):
    lines = run_posterior(where, name, POINTS, only)
    wrong = [described(line) for line in lines if "error" in line or line["largest"] > limit(TESTS)]
    assert not wrong
    assert all(line["moved"] > 0.02 for line in lines)


QUICK = ("groups' own move knows the convex rows' curvature alone (once there)", "minibatches by another rate")


@pytest.mark.parametrize("name", QUICK)
def test_a_defect_is_found(name, tmp_path):
    assert score_with(DEFECTS[name], tmp_path, 4500) > limit(TESTS)


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


PAGE = """<!-- invariance: begin -->
4 cells, 40 tests.

| posterior | kernel | families | tests | largest z |
|---|---|---:|---:|---:|
| groups | sweep | 2 | 1,020 | 5.20 |
| slopes | sweep | 2 | 20 | 2.00 |

| a defect | noticed in | largest z |
<!-- invariance: end -->"""


def test_rows_that_were_run_again_replace_those_of_the_page(tmp_path):
    page, line = tmp_path / "exact.md", {"kernel": "sweep", "tests": 7, "largest": 3.0}
    page.write_text(PAGE)
    again = [line | {"where": "groups"}, line | {"where": "groups", "largest": 1.0}, line | {"where": "slopes"}]
    replace_rows(page, again, 3000)
    text = page.read_text()
    assert "| groups | sweep | 2 | 14 | 3.00 |" in text
    assert "| slopes | sweep | 2 | 20 | 2.00 |" in text  # one of its two families was not run
    assert "4 cells, 34 tests of 2,000 draws, 8 steps each. Largest score: 3.00;" in text
