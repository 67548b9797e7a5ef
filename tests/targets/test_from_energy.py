"""Families from one plain function: the same numbers as the built-in ones, proved bounds, and clear refusals."""

from __future__ import annotations

import math

import numba
import numpy as np
import pytest
from scipy import special
from scipy.special import expit, log_ndtr

import tunamh
import tunamh.compiled.scipy_overloads
from tunamh import GLM
from tunamh.compiled import fixed
from tunamh.jets import CannotBound
from tunamh.targets.families import Logistic, NegativeBinomial, Probit, StudentT
from tunamh.targets.families.energy_functions import MultiPredictorFunction, OneFunction, likelihood_of
from tunamh.targets.families.negative_binomial import NegativeBinomialWithDispersion
from tunamh.targets.families.user import arguments_of

R = 2.5
TABLE = {"slope": 2.0}


def family(energy, **more):
    """The likelihood of a function of predictors and ``y``."""
    return likelihood_of(energy, arguments_of(energy), **more)


def logistic(eta, y):
    return np.logaddexp(0, eta) - y * eta


def probit(eta, y):
    return -log_ndtr((2 * y - 1) * eta)


def student(eta, y):
    return 2.5 * np.log1p((y - eta) ** 2 / 4)


def negative_binomial(eta, y):
    return (y + R) * np.log(R + np.exp(eta)) - y * eta


def two(eta, lam, y):
    z = eta - lam
    return np.exp(lam) * np.logaddexp(0, z) + y * np.logaddexp(0, -z)


def three(eta, lam, zeta, y):
    return np.logaddexp(0, zeta) + two(eta, lam, y)


BUILT_IN = [
    (logistic, Logistic(), (0.0, 1.0)),
    (probit, Probit(), (0.0, 1.0)),
    (student, StudentT(4.0, scale=1.0), (-1.0, 0.3, 5.0)),
    (negative_binomial, NegativeBinomial(R), (0.0, 2.0, 7.0)),
]


def energies(made, eta, y):
    out = np.empty(y.size)
    made.energy(y.size, np.ravel(eta), y, fixed(made.hyper), out)
    return out


def rises(made, eta, eta_prop, y):
    out = np.empty(y.size)
    made.rise(y.size, np.ravel(eta), np.ravel(eta_prop), y, fixed(made.hyper), out)
    return out


@pytest.mark.parametrize(("energy", "known", "responses"), BUILT_IN, ids=[case[0].__name__ for case in BUILT_IN])
def test_one_predictor_is_what_the_library_has_built_in(energy, known, responses, rng):
    made = family(energy)
    assert isinstance(made, OneFunction)
    assert made.predictors == 1
    assert made.parameter_names == ("eta",)
    eta, y = 1.5 * rng.standard_normal(500), rng.choice(responses, 500)
    np.testing.assert_allclose(energies(made, eta, y), energies(known, eta, y), rtol=1e-12, atol=1e-14)
    far = eta + rng.standard_normal(500)
    np.testing.assert_allclose(rises(made, eta, far, y), rises(known, eta, far, y), rtol=1e-9, atol=1e-13)
    for ours, theirs in zip(made.derivatives(eta, y), known.derivatives(eta, y), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    radius = rng.uniform(0, 0.3, 500)
    near, sharp = made.suprema_near(y, eta, radius), known.suprema_near(y, eta, radius)
    for ours, theirs in zip(near, sharp, strict=True):
        assert (ours >= theirs * (1 - 1e-9)).all()
        assert ours.sum() <= 1.1 * theirs.sum()
    slope = made.second_order_constants(y, eta, radius)
    assert slope.sum() <= 1.05 * near.third.sum()  # in one piece, where the radius is small
    assert (slope >= np.abs(made.derivatives(eta, y)[2]) * (1 - 1e-9)).all()


def test_suprema_over_the_line_where_there_are_any():
    y = np.array([0.0, 1.0, 1.0, 0.0])
    for ours, theirs in zip(family(logistic).suprema(y), Logistic().suprema(y), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9)
    assert np.isinf(family(lambda eta, y: np.exp(eta) - y * eta).suprema(y).third).all()


def test_two_and_three_predictors(rng):
    made, known = family(two, name="counts"), NegativeBinomialWithDispersion()
    assert isinstance(made, MultiPredictorFunction)
    assert repr(made) == "family(counts)"
    assert made.parameter_names == ("eta", "lam")
    eta, y = rng.standard_normal((2, 300)), rng.poisson(1.5, 300) * 1.0
    np.testing.assert_allclose(energies(made, eta, y), energies(known, eta, y), rtol=1e-12)
    far = eta + 0.5 * rng.standard_normal((2, 300))
    np.testing.assert_allclose(rises(made, eta, far, y), rises(known, eta, far, y), rtol=1e-9, atol=1e-13)
    for ours, theirs in zip(made.derivatives(eta, y), known.derivatives(eta, y), strict=True):
        np.testing.assert_allclose(ours, theirs, rtol=1e-9, atol=1e-12)
    white = 0.05 * rng.standard_normal((2, 300, 6))
    ours, theirs = (each.cubic_bounds(y, eta, white, 2.0) for each in (made, known))
    assert (ours > 0).all()
    assert 0.8 * theirs.sum() < ours.sum() < 1.4 * theirs.sum()

    zeta = rng.standard_normal(300)
    more = family(three)
    assert more.predictors == 3
    both = np.array([*eta, zeta])
    np.testing.assert_allclose(energies(more, both, y), energies(known, eta, y) + np.logaddexp(0, zeta), rtol=1e-12)
    assert np.isfinite(more.third_bounds(y, both, np.full(both.shape, 0.1))).all()


def test_bounds_of_the_user_hold_over_boxes(rng):
    made = family(two)
    eta, y = rng.standard_normal((2, 200)), rng.poisson(1.5, 200) * 1.0
    for reach in (0.0, 0.1, 0.7):
        bounds = made.third_bounds(y, eta, np.full(eta.shape, reach))
        for _ in range(50):
            third = made.derivatives(eta + reach * rng.uniform(-1, 1, eta.shape), y)[2]
            assert (np.abs(third) <= bounds * (1 + 1e-9) + 1e-13).all()
    assert np.isinf(made.third_bounds(y, eta, np.full(eta.shape, np.inf))).any()


def test_a_regression_with_an_energy_of_its_own(rng):
    X = rng.standard_normal((400, 3))
    y = (rng.random(400) < expit(X @ [0.5, -1.0, 0.2])) * 1.0
    ours, theirs = GLM(X, y, family(logistic, convex=True)), GLM(X, y, Logistic())
    theta = rng.standard_normal(3)
    np.testing.assert_allclose(ours.expansion(theta).hessian, theirs.expansion(theta).hessian, rtol=1e-9)
    means = [
        tunamh.sample(target, draws=2000, chains=2, rng=1)["posterior"]["theta"].values.mean(axis=(0, 1))
        for target in (ours, theirs)
    ]
    np.testing.assert_allclose(*means, atol=0.05)


# ------------------------------------------------------------------------------------------ constants and copies


def test_constants_are_those_of_now():
    """Python looks variables up at every call, compiled code never again: both must mean the same number."""
    made = [family(lambda eta, y: 0.5 * ((y - eta) / scale) ** 2) for scale in (1.0, 3.0)]  # noqa: B023
    eta, y = np.array([0.5, 1.0]), np.zeros(2)
    for each, scale in zip(made, (1.0, 3.0), strict=True):
        np.testing.assert_allclose(energies(each, eta, y), 0.5 * (eta / scale) ** 2)
        np.testing.assert_allclose(each.derivatives(eta, y)[1], 1 / scale**2)


def test_the_same_function_is_compiled_once_until_a_constant_changes(monkeypatch):
    first = family(negative_binomial)
    assert family(negative_binomial).energy is first.energy
    monkeypatch.setitem(negative_binomial.__globals__, "R", 4.0)
    second = family(negative_binomial)
    assert second.energy is not first.energy
    y = np.ones(1)
    assert energies(second, np.zeros(1), y) == pytest.approx(5 * math.log(5))
    assert energies(first, np.zeros(1), y) == pytest.approx(3.5 * math.log(3.5))


def test_functions_that_call_functions():
    def plain(x):
        return np.logaddexp(0, x)

    compiled = numba.njit(lambda x: np.logaddexp(0, x))
    eta, y = np.linspace(-2, 2, 7), np.ones(7)
    for inner in (plain, compiled):
        made = family(lambda eta, y: inner(eta) - y * eta)  # noqa: B023
        np.testing.assert_allclose(energies(made, eta, y), logistic(eta, y))
        np.testing.assert_allclose(made.derivatives(eta, y)[1], expit(eta) * expit(-eta))
    np.testing.assert_allclose(energies(family(numba.njit(logistic)), eta, y), logistic(eta, y))


@pytest.mark.parametrize("name", ["expit", "log_expit", "ndtr", "log_ndtr"])
def test_special_functions_compiled_are_those_of_scipy(name):
    function = getattr(special, name)
    compiled = numba.njit(lambda x: function(x))
    for x in [*np.linspace(-37, 9, 500), -1e3, -1e8, 0.0, 1e3]:
        assert compiled(x) == pytest.approx(function(x), rel=1e-13, abs=1e-300)


def test_special_functions_of_two_arguments():
    compiled = numba.njit(lambda x, y: special.xlogy(x, y) + special.xlog1py(x, y) + special.gammaln(y))
    for x, y in ((0.0, 0.5), (2.0, 3.0), (-1.5, 0.1)):
        assert compiled(x, y) == pytest.approx(special.xlogy(x, y) + special.xlog1py(x, y) + special.gammaln(y))


# ----------------------------------------------------------------------------------------------------- refusals


REFUSED = {
    "absolute": (lambda eta, y: np.abs(y - eta), CannotBound, "absolute.*sqrt"),
    "math": (lambda eta, y: math.exp(eta), CannotBound, "np.exp, not math.exp"),
    "where": (lambda eta, y: np.where(y > 0, eta, -eta), CannotBound, "where"),
    "branch on the predictor": (lambda eta, y: eta if eta > 0 else -eta, CannotBound, "branch"),
    "branch on y": (lambda eta, y: eta if y > 0 else -eta, TypeError, r"branches on y.*\(y == 0\) \* a"),
    "NaN": (lambda eta, y: np.log(eta) - y, ValueError, r"energy\(eta, y\) is .* every real predictor"),
    "wrong shape": (lambda eta, y: (eta - y) * np.ones((2, 1)), ValueError, "one number per row.*shape"),
    "a sum": (lambda eta, y: np.sum(eta), CannotBound, "sum"),
    "nothing": (lambda eta, y: None, TypeError, "must return a number"),
    "no predictor": (lambda eta, y: y * 2, TypeError, "depends on its predictors"),
    "one parameter": (lambda y: y, TypeError, "one to eight predictors"),
    "nine predictors": (lambda a, b, c, d, e, f, g, h, i, y: a + b, TypeError, "one to eight predictors"),
    "a default": (lambda eta, y=1.0: eta, TypeError, "plain parameters"),
    "no function": ("energy", TypeError, "plain Python function"),
    "not for Numba": (lambda eta, y: eta * TABLE["slope"], TypeError, r"energy\(eta, y\) does not compile"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_is_no_energy_is_refused_with_advice(case):
    energy, error, words = REFUSED[case]
    with pytest.raises(error, match=words):
        family(energy)


def test_compiled_code_must_agree():
    """A function that counts its calls is not one of its arguments alone; `np.random` is the way to be found out."""
    with pytest.raises(ValueError, match="once compiled"):
        family(lambda eta, y: eta * (1 + np.random.random()))  # noqa: NPY002


def test_check_and_convex_are_the_users(rng):
    def check(y):
        if (y < 0).any():
            raise ValueError("y must not be negative.")

    made = family(logistic, convex=True, check=check)
    assert made.convex
    assert not family(logistic).convex
    with pytest.raises(ValueError, match="must not be negative"):
        made.check(np.array([-1.0]))
    with pytest.raises(TypeError, match="check must be a function"):
        family(logistic, check=3)
    with pytest.raises(TypeError, match="convex must be True or False"):
        family(logistic, convex="yes")
