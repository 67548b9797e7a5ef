"""The vectorised series against the C library and against extended precision."""

import math

import numpy as np
import pytest

from tunamh.compiled.vector import (
    exp_any,
    exp_negative,
    exp_rise,
    expm1_negative,
    log_quotient,
    normal_tail,
    softplus,
    softplus_rise,
)
from tunamh.extend import CONTRACT, helper

EPS = np.finfo(float).eps


def over(function, *columns):
    """Apply a scalar helper inside a loop, where the compiler vectorises it, as the library does."""
    if len(columns) == 1:

        @helper(fastmath=CONTRACT, cache=False)
        def loop(a, out):
            for i in range(out.size):
                out[i] = function(a[i])

    else:

        @helper(fastmath=CONTRACT, cache=False)
        def loop(a, b, out):
            for i in range(out.size):
                out[i] = function(a[i], b[i])

    out = np.empty(columns[0].size)
    loop(*columns, out)
    return out


@pytest.fixture(scope="module")
def numbers():
    rng = np.random.default_rng(1)
    return rng.standard_normal(100_001) * 10 ** rng.uniform(-6, 2, 100_001)


def softplus_long(z):
    return np.logaddexp(np.longdouble(0), z.astype(np.longdouble))


def test_exp_negative_is_exact_to_two_units(numbers):
    x = -np.abs(numbers)
    assert np.max(np.abs(over(exp_negative, x) / np.exp(x.astype(np.longdouble)) - 1)) < 2 * EPS


def test_exp_negative_far_out_is_negligible():
    assert np.all(over(exp_negative, np.array([-750.0, -1e6, -np.inf])) < 1e-300)


def test_exp_any_is_exact_to_two_units_on_the_whole_line(numbers):
    x = np.concatenate([numbers, np.linspace(-708, 709.7, 50_001)])
    x = x[np.abs(x) < 708]
    assert np.max(np.abs(over(exp_any, x) / np.exp(x.astype(np.longdouble)) - 1)) < 2 * EPS


def test_exp_any_far_out_is_zero_and_infinity():
    assert over(exp_any, np.array([-np.inf, -1e300, -800.0, 0.0, 709.9, 1e300, np.inf])).tolist() == [
        *(0, 0, 0, 1),
        *(np.inf, np.inf, np.inf),
    ]
    assert over(exp_any, np.array([-745.0, 709.78])) == pytest.approx(np.exp([-745.0, 709.78]), rel=1e-15)


def test_expm1_negative_keeps_its_digits(numbers):
    x = np.concatenate([-np.abs(numbers), -(10.0 ** np.linspace(-300, 3, 10_001))])
    assert np.max(np.abs(over(expm1_negative, x) / np.expm1(x.astype(np.longdouble)) - 1)) < 2.5 * EPS
    assert over(expm1_negative, np.array([0.0, -np.inf])).tolist() == [0, -1]


def test_exp_rise_keeps_its_digits_for_small_moves_and_large(numbers):
    rng = np.random.default_rng(4)
    other = numbers + rng.standard_normal(numbers.size) * 10 ** rng.uniform(-12, 2, numbers.size)
    a, b = numbers.astype(np.longdouble), other.astype(np.longdouble)
    exact = np.exp(a) * np.expm1(b - a)
    moved = other != numbers
    assert np.max(np.abs(over(exp_rise, numbers, other) / exact - 1)[moved]) < 6 * EPS
    ends = np.array([-800.0, 700.0, 0.0, 900.0, 800.0]), np.array([700.0, -800.0, 900.0, 0.0, 800.0])
    assert over(exp_rise, *ends) == pytest.approx([np.exp(700.0), -np.exp(700.0), np.inf, -np.inf, 0.0], rel=1e-15)


def test_log_quotient(numbers):
    rng = np.random.default_rng(2)
    top, bottom = np.exp(rng.uniform(-200, 200, (2, numbers.size)))
    exact = np.log(top.astype(np.longdouble)) - np.log(bottom.astype(np.longdouble))
    assert np.max(np.abs(over(log_quotient, top, bottom) - exact) / np.maximum(np.abs(exact), 1)) < 4 * EPS


def test_log_quotient_keeps_the_digits_of_small_changes():
    rng = np.random.default_rng(3)
    bottom = np.exp(rng.uniform(-5, 5, 10_000))
    top = bottom * (1 + 1e-9 * rng.standard_normal(bottom.size))
    exact = np.log1p((top.astype(np.longdouble) - bottom) / bottom)
    assert np.max(np.abs(over(log_quotient, top, bottom) / exact - 1)) < 4 * EPS


def test_softplus(numbers):
    assert np.max(np.abs(over(softplus, numbers) - softplus_long(numbers)) / np.maximum(np.abs(numbers), 1)) < 4 * EPS


def test_softplus_rise(numbers):
    rng = np.random.default_rng(4)
    other = numbers + rng.standard_normal(numbers.size) * 10 ** rng.uniform(-8, 1, numbers.size)
    exact = softplus_long(other) - softplus_long(numbers)
    scale = np.maximum(1, np.maximum(np.abs(numbers), np.abs(other)))
    assert np.max(np.abs(over(softplus_rise, numbers, other) - exact) / scale) < 4 * EPS


def test_normal_tail_near_zero():
    x = np.linspace(0, 3, 10_001)
    exact = [0.5 * math.erfc(v / math.sqrt(2)) * math.exp(0.5 * v * v) for v in x]
    assert np.max(np.abs(over(normal_tail, x) / exact - 1)) < 20 * EPS  # the reference rounds v^2 / 2 before exp


def test_normal_tail_from_one_to_infinity():
    """Laplace's continued fraction ``1 / (x + 1 / (x + 2 / (x + ...)))``, from its far end."""
    x = (10.0 ** np.linspace(0, 150, 20_001)).astype(np.longdouble)
    fraction = x
    for k in range(500, 0, -1):
        fraction = x + k / fraction
    exact = 1 / (fraction * np.sqrt(8 * np.arctan(np.longdouble(1))))
    assert np.max(np.abs(over(normal_tail, x.astype(float)) / exact - 1)) < 4 * EPS


def test_nan_is_not_hidden_by_families():
    from tunamh.extend import fixed
    from tunamh.targets import Gaussian, Huber, Logistic, NegativeBinomial, Probit, SoftplusPoisson, StudentT

    counts = SoftplusPoisson(), NegativeBinomial(2.0)
    for family in (Logistic(), Probit(), StudentT(4.0, scale=1.0), Huber(scale=1.0), Gaussian(scale=1.0), *counts):
        eta, bad, y, out = np.zeros(8), np.full(8, np.nan), np.zeros(8), np.zeros(8)
        family.rise(8, eta, bad, y, fixed(family.hyper), out)
        assert np.isnan(out).all()
        family.rise(8, bad, eta, y, fixed(family.hyper), out)
        assert np.isnan(out).all()
        family.energy(8, bad, y, fixed(family.hyper), out)
        assert np.isnan(out).all()
