"""Slope constants in compiled loops: no less than the quotients they bound, and no more than the plain formula."""

import numpy as np
import pytest

from tunamh.targets.families.intervals import SIGMOID_THIRD, SIGMOID_THIRD_PEAKS, sigmoids
from tunamh.targets.families.logistic import logistic_second_order
from tunamh.targets.families.remainder_constants import exponential_second_order, second_order_near

ETA = np.concatenate([np.linspace(-8, 8, 65), [0.0, 1.3169578969248166, 300.0, -800.0]])
RADII = [1e-6, 1e-3, 0.05, 0.7, 0.9999, 1.0, 3.0, 40.0]


def softplus_derivatives(eta):
    p, q = sigmoids(eta)
    return p, p * q, p * q * (q - p)


def steepest(eta, radius):
    """The largest quotient on a grid."""
    z = np.concatenate([-np.geomspace(0.02, 1, 400), np.geomspace(0.02, 1, 400)])[:, None] * radius
    p, second, _ = softplus_derivatives(eta)
    change = softplus_derivatives(eta + z)[0] - p - second * z
    return (2 * np.abs(change) / z**2).max(axis=0)


@pytest.mark.parametrize("radius", RADII[2:])
def test_logistic_constants_bound_the_quotient_closely(radius):
    found = logistic_second_order(ETA, radius)
    near = np.abs(ETA) < 100  # farther out the quotient is nothing but rounding
    assert (found[near] >= steepest(ETA[near], radius) * (1 - 1e-8)).all()
    assert (found[near] <= 6.0 * steepest(ETA[near], radius)).all()
    assert (found <= SIGMOID_THIRD).all()


@pytest.mark.parametrize("radius", RADII)
def test_the_logistic_loop_is_the_lesser_of_the_two_general_ones(radius):
    at = np.full(ETA.shape, radius)
    general = second_order_near(softplus_derivatives, ETA, at, SIGMOID_THIRD_PEAKS, SIGMOID_THIRD)
    size = np.abs(ETA)
    exponential = exponential_second_order(-size - 2 * np.log1p(np.exp(-size)), ETA, at)
    if radius < 1 / 8:  # instead of the supremum nearby
        general = np.minimum(np.abs(softplus_derivatives(ETA)[2]) + radius / 24, SIGMOID_THIRD)
    assert logistic_second_order(ETA, at) == pytest.approx(np.minimum(general, exponential), rel=1e-5, abs=1e-300)


def test_what_is_said_of_a_row_does_not_depend_on_its_neighbours():
    """Short ranges and long ones side by side, in strips and one by one."""
    rng = np.random.default_rng(0)
    eta, radius = 3 * rng.standard_normal(1000), 10 ** rng.uniform(-4, 1, 1000)
    alone = [logistic_second_order(eta[i : i + 1], radius[i : i + 1])[0] for i in range(1000)]
    assert (logistic_second_order(eta, radius) == alone).all()


def test_exponential_constants_are_exact():
    reach = np.array(RADII)
    exact = 2 * (np.expm1(reach) - reach) / reach**2
    found = exponential_second_order(np.zeros(len(reach)), np.zeros(len(reach)), reach)
    assert found[1:] == pytest.approx(exact[1:], rel=1e-7)
    assert (found[2:] >= exact[2:] * (1 - 1e-12)).all()


def test_without_end_the_supremum_serves_and_an_exponential_has_none():
    endless = np.array([np.inf, 1e60, 1e49])
    assert (logistic_second_order(np.array([0.0, 5.0, -700.0]), endless) == SIGMOID_THIRD).all()
    assert (exponential_second_order(np.zeros(2), np.zeros(2), endless[:2]) == np.inf).all()


def test_a_loop_takes_what_numpy_would():
    """Scalars, vectors that are views, matrices."""
    expected = float(logistic_second_order(np.array([0.3]), np.array([0.1]))[0])
    assert float(logistic_second_order(0.3, 0.1)) == expected
    assert (logistic_second_order(np.broadcast_to(0.3, (2, 3)), 0.1) == expected).all()


def test_nan_is_not_hidden():
    def broken(eta):
        return np.zeros(eta.shape), np.zeros(eta.shape), np.where(eta == 0.0, np.nan, 1.0)

    assert np.isnan(second_order_near(broken, np.zeros(2), np.ones(2), (), 5.0)).all()
