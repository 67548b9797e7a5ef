"""Every family in every kernel leaves the posterior as it is: the short form. `make exactness` runs the long one.

Here every family meets the kernels that `sample` takes most, and every kernel some families; a few defects are put
back. Seeds are fixed; the limit is one that a table of so many tests exceeds once in a thousand.
"""

from __future__ import annotations

import pytest
from defects import DEFECTS, score_with

from long_form import limit
from run import described, posteriors, run_posterior

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
