"""Slopes of columns in other units: the centre of rows that are not convex is found as in any."""

from __future__ import annotations

import numpy as np
import pytest

import tunamh


@pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
def test_correlated_slopes_of_large_numbers():
    """Errors of Student's law, intercepts and slopes: with columns of 1e8 the search for a centre hardly moved."""
    rng = np.random.default_rng(5)
    x, group = rng.standard_normal(40), rng.choice(list("pqrs"), 40)
    y = 0.6 * x + 0.7 * rng.standard_t(4, 40)
    found = []
    for unit in (1.0, 1e8):
        target = tunamh.regression("y ~ x + (x | g)", {"y": y, "x": x * unit, "g": group}, family="student-t")
        posterior = tunamh.sample(target, draws=500, tune=500, rng=1, progressbar=False)
        found.append(float(posterior.sample_stats["acceptance_rate"].mean()))
    assert found[1] > 0.7 * found[0]
