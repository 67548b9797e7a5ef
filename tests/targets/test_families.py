"""A family's energy, rise, derivatives and suprema must tell one story."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tunamh import Logistic, StudentT
from tunamh._jit import fixed

FAMILIES = [Logistic(), StudentT(4.0), StudentT(1.0), StudentT(30.0)]
eta_values = st.floats(-300, 300)


def responses(family, eta):
    return np.arange(eta.size) % 2.0 if isinstance(family, Logistic) else np.linspace(-3, 3, eta.size)


def energies(family, eta, y):
    out = np.empty_like(eta)
    family.energy(eta.size, eta, y, fixed(family.hyper), out)
    return out


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_energy_is_the_negative_log_likelihood(family):
    eta = np.linspace(-30, 30, 201)
    y = responses(family, eta)
    if isinstance(family, Logistic):
        expected = np.logaddexp(0, eta) - y * eta
    else:
        expected = 0.5 * (family.df + 1) * np.log1p((y - eta) ** 2 / family.df)
    assert energies(family, eta, y) == pytest.approx(expected, rel=1e-13, abs=1e-13)


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
@settings(max_examples=200, deadline=None)
@given(start=eta_values, step=st.floats(-20, 20), y=st.integers(0, 1))
def test_rise_is_a_difference_of_energies(family, start, step, y):
    eta, eta_prop, response = np.array([start]), np.array([start + step]), np.array([float(y)])
    rise, back = np.empty(1), np.empty(1)
    family.rise(1, eta, eta_prop, response, fixed(family.hyper), rise)
    family.rise(1, eta_prop, eta, response, fixed(family.hyper), back)
    assert rise == pytest.approx(energies(family, eta_prop, response) - energies(family, eta, response), abs=1e-11)
    assert rise[0] == pytest.approx(-back[0], abs=1e-12)


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_derivatives_match_finite_differences(family):
    eta = np.linspace(-6, 6, 101)
    y = responses(family, eta)
    h = 1e-5
    first, second, third = family.derivatives(eta, y)
    up, down = family.derivatives(eta + h, y), family.derivatives(eta - h, y)
    assert first == pytest.approx((energies(family, eta + h, y) - energies(family, eta - h, y)) / (2 * h), abs=1e-8)
    assert second == pytest.approx((up[0] - down[0]) / (2 * h), abs=1e-8)
    assert third == pytest.approx((up[1] - down[1]) / (2 * h), abs=1e-7)


@pytest.mark.parametrize("family", FAMILIES, ids=repr)
def test_suprema_hold_and_are_attained(family):
    eta = np.concatenate([np.linspace(-60, 60, 400_001), [-700.0, 700.0]])
    for y in (np.zeros_like(eta), np.ones_like(eta)):
        for derivative, supremum in zip(family.derivatives(eta, y), family.suprema(y), strict=True):
            assert np.abs(derivative).max() <= supremum[0] * (1 + 1e-12)
            assert np.abs(derivative).max() >= supremum[0] * (1 - 1e-6)


def test_student_constants_of_the_paper():
    first, second, third = (float(s[0]) for s in StudentT(4.0).suprema(np.zeros(1)))
    assert (first, second) == (1.25, 1.25)
    assert third == pytest.approx(0.910692, abs=1e-6)


@pytest.mark.parametrize("df", [0.0, -1.0, np.nan, np.inf])
def test_impossible_degrees_of_freedom(df):
    with pytest.raises(ValueError, match="df"):
        StudentT(df)
