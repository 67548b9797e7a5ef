"""Where the search for a mode begins."""

import numpy as np

import tunamh


def test_a_rough_fit_survives_columns_of_large_numbers():
    """Rows of unbounded curvature have a huge weight there, whose product with the squares of incomes overflowed."""
    rng = np.random.default_rng(0)
    income = np.exp(rng.normal(10, 1, 3000))
    X = np.column_stack([np.ones(3000), income, 1e9 * rng.standard_normal(3000)])
    target = tunamh.GLM(X, rng.poisson(2.0, 3000), tunamh.Poisson())
    assert abs(target.modes[0].point[0] - np.log(2)) < 0.1
