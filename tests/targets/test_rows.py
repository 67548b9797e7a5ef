"""Families whose derivatives may grow without end, and the slope constants of all families."""

import warnings

import numpy as np
import pytest
from scipy.special import log_ndtr

from tunamh import jets
from tunamh.extend import fixed
from tunamh.targets.families import (
    Cloglog,
    Exponential,
    Gaussian,
    Huber,
    Logistic,
    NegativeBinomial,
    Poisson,
    Probit,
    SoftplusPoisson,
    StudentT,
)
from tunamh.targets.families.censored_logistic import CensoredLogistic
from tunamh.targets.families.censored_normal import CensoredNormal
from tunamh.targets.families.gamma import GammaOfKnownShape
from tunamh.targets.families.weibull import CensoredWeibull

EPS = np.finfo(float).eps

TRIALS = [Logistic(fractions=True), Cloglog(fractions=True)]
NEW = [
    *(Poisson(), Exponential(), GammaOfKnownShape(0.3), GammaOfKnownShape(25.0), Cloglog(), Cloglog(fractions=True)),
    *(CensoredWeibull(), CensoredLogistic(), CensoredNormal()),
]
OLD = [
    *(Logistic(), Logistic(fractions=True), Probit(), NegativeBinomial(2.5), NegativeBinomial(40.0)),
    *(SoftplusPoisson(), StudentT(4.0, scale=1.0), StudentT(1.0, 2.5), Gaussian(0.2)),
]
CODES = (CensoredWeibull, CensoredLogistic, CensoredNormal)
EXPONENTIALS = [family for family in NEW if isinstance(family, (Poisson, Exponential, GammaOfKnownShape))]


def name(family):
    return f"{family!r}{' of fractions' if getattr(family, 'fractions', False) else ''}"


new_family = pytest.mark.parametrize("family", NEW, ids=name)
smooth_family = pytest.mark.parametrize("family", NEW + OLD, ids=name)


def responses(family):
    match family:
        case Poisson() | SoftplusPoisson() | NegativeBinomial():
            return [0.0, 1.0, 7.0, 1e6]
        case Exponential() | GammaOfKnownShape():
            return [1e-3, 1.0, 1e6]
        case Logistic() | Probit() | Cloglog():
            return [0.0, 0.2, 0.9, 1.0] if family.fractions else [0.0, 1.0]
        case CensoredWeibull() | CensoredLogistic() | CensoredNormal():
            return [0.0, 1.0, -1.0]
    return [-3.0, 0.0, 2.5]


def compiled(family, part, *columns):
    out = np.empty_like(columns[0])
    getattr(family, part)(out.size, *columns, fixed(family.hyper), out)
    return out


# --------------------------------------------------------------------- the same energies, written down once more


def by_numpy(family):
    """``f(eta, y)`` in functions that jets know, one formula for all responses."""

    def hit(eta):
        return -np.log(-np.expm1(-np.exp(eta)))

    match family:
        case Poisson():
            return lambda eta, y: np.exp(eta) - y * eta
        case Exponential():
            return lambda eta, y: y * np.exp(-eta) + eta
        case GammaOfKnownShape(shape):
            return lambda eta, y: shape * (y * np.exp(-eta) + eta)
        case Logistic():
            return lambda eta, y: np.logaddexp(0, eta) - y * eta
        case Probit():
            return lambda eta, y: -log_ndtr((2 * y - 1) * eta)
        case Cloglog():
            return lambda eta, y: y * hit(eta) + (1 - y) * np.exp(eta)
        case CensoredWeibull():
            return lambda eta, y: (y >= 0) * 1.0 * np.exp(-eta) + (y == 0) * 1.0 * eta + (y < 0) * 1.0 * hit(-eta)
        case CensoredLogistic():
            return lambda eta, y: (y >= 0) * 1.0 * np.logaddexp(0, -eta) + (y <= 0) * 1.0 * np.logaddexp(0, eta)
        case CensoredNormal():
            return lambda eta, y: (
                (y == 0) * 0.5 * eta * eta - (y != 0) * 1.0 * log_ndtr(np.where(y < 0, -1.0, 1.0) * eta)
            )
        case NegativeBinomial(r):
            return lambda eta, y: r * np.logaddexp(0, eta - np.log(r)) + y * np.logaddexp(0, np.log(r) - eta)
        case SoftplusPoisson():
            return lambda eta, y: np.logaddexp(0, eta) - y * np.log(np.logaddexp(0, eta))
        case StudentT(df, scale):
            return lambda eta, y: 0.5 * (df + 1) * np.log1p((y - eta) * (y - eta) / (df * scale**2))
        case Gaussian(scale):
            return lambda eta, y: 0.5 * ((y - eta) / scale) * ((y - eta) / scale)


def exp_difference(a, b):
    with np.errstate(over="ignore"):
        return np.where(b > a, -np.exp(b) * np.expm1(a - b), np.exp(a) * np.expm1(b - a))


def hit_difference(a, b):
    """``-log((1 - e^-v) / (1 - e^-u))``, ``u = e^a``, ``v = e^b``, without cancellation: ``u`` the smaller one."""
    low, high = np.minimum(a, b), np.maximum(a, b)
    with np.errstate(over="ignore"):
        u = np.exp(low)
        size = -np.log1p(-np.exp(-u) * np.expm1(-exp_difference(low, high)) / -np.expm1(-u))
    return np.where(b > a, size, -size)


def softplus_difference(a, b):
    """``log1p((e^b - e^a) / (1 + e^a))`` with ``a`` the smaller one."""
    low, high = np.minimum(a, b), np.maximum(a, b)
    with np.errstate(over="ignore"):
        plain = np.log1p(exp_difference(low, high) / (1 + np.exp(low)))
    size = np.where(
        high - low > 2000, np.logaddexp(np.longdouble(0), high) - np.logaddexp(np.longdouble(0), low), plain
    )
    return np.where(b > a, size, -size)


def rise_terms(family, eta, eta_prop, y):
    """The terms of the rise in extended precision, and how far, in units of EPS, each may be off beside relatively."""
    a, b, y = (column.astype(np.longdouble) for column in (eta, eta_prop, y))
    one = np.ones(y.shape)
    match family:
        case Poisson():
            return [(exp_difference(a, b), 0.0), (-y * (b - a), 0.0)]
        case Exponential() | GammaOfKnownShape():
            shape = np.longdouble(family.shape)
            return [(shape * y * exp_difference(-a, -b), 0.0), (shape * (b - a), 0.0)]
        case Cloglog():
            miss = np.where(y < 1, exp_difference(a, np.where(y < 1, b, a)), 0)
            return [(y * hit_difference(a, b), y * hit_noise(a, b)), ((1 - y) * miss, 0.0)]
        case CensoredWeibull():
            late = [(np.where(y >= 0, exp_difference(-a, -b), 0), 0.0), (np.where(y == 0, b - a, 0), 0.0)]
            return [*late, (np.where(y < 0, hit_difference(-a, -b), 0), (y < 0) * hit_noise(-a, -b))]
        case CensoredLogistic():
            early = np.where(y <= 0, softplus_difference(a, b), 0)
            return [(early, one), (np.where(y >= 0, softplus_difference(-a, -b), 0), one)]


def hit_noise(a, b):
    """1 below zero, where energies are about 1; above it the slope of ``e^-u`` in ``log u``, which is rounded."""
    with np.errstate(over="ignore"):
        u = np.exp(np.clip(np.minimum(a, b), 0, 10))
        return np.where(np.minimum(a, b) >= 0, (1 + u) * np.exp(-u), 1.0)


def moves(family):
    """Predictors, others at every distance, and responses."""
    rng = np.random.default_rng(3)
    n = 20_000
    start = np.concatenate([rng.normal(0, 3, n), rng.uniform(-700, 700, n)])
    end = start + rng.choice([-1, 1], 2 * n) * 10 ** rng.uniform(-12, 3, 2 * n)
    end = np.clip(end, -700, 700)
    return start, end, rng.choice(responses(family), 2 * n)


def worst_rise(family, rise):
    """The largest error, in units of what rounding may do."""
    eta, eta_prop, y = moves(family)
    terms = rise_terms(family, eta, eta_prop, y)
    exact = sum(term for term, _ in terms)
    allowed = EPS * sum(np.abs(term) + noise for term, noise in terms)
    found = rise(eta, eta_prop, y)
    with np.errstate(invalid="ignore", over="ignore"):
        both = np.isinf(exact.astype(float)) & (found == exact.astype(float))
        error = np.where(both | (found == exact), 0, np.abs(found - exact) / np.maximum(allowed, 1e-300))
    assert not np.isnan(error).any()
    return float(error.max())


@pytest.mark.parametrize("family", [family for family in NEW if family != CensoredNormal()], ids=name)
def test_rises_lose_nothing_but_roundings_of_their_terms(family):
    assert worst_rise(family, lambda *columns: compiled(family, "rise", *columns)) < 8


def test_a_difference_of_energies_would_not_pass():
    family = Poisson()

    def naive(eta, eta_prop, y):
        with np.errstate(over="ignore", invalid="ignore"):
            difference = compiled(family, "energy", eta_prop, y) - compiled(family, "energy", eta, y)
        return np.nan_to_num(difference)

    assert worst_rise(family, naive) > 1e6


def test_normal_rises():
    """Observed rows exactly, censored ones as the probit family."""
    eta, eta_prop, y = moves(CensoredNormal())
    rise = compiled(CensoredNormal(), "rise", eta, eta_prop, y)
    a, b = eta.astype(np.longdouble), eta_prop.astype(np.longdouble)
    seen = y == 0
    assert np.all(np.abs(rise - 0.5 * (b - a) * (b + a))[seen] <= 4 * EPS * np.abs(rise[seen]))
    labels = (y > 0).astype(float)
    assert np.array_equal(rise[~seen], compiled(Probit(), "rise", eta, eta_prop, labels)[~seen])


@new_family
def test_energies(family):
    eta = np.concatenate([np.linspace(-30, 30, 2001), np.linspace(-700, 700, 401)])
    if isinstance(family, (Cloglog, CensoredWeibull)):
        eta = eta[np.abs(eta) < 30]  # where the reference is no infinity
    for response in responses(family):
        y = np.full_like(eta, response)
        if isinstance(family, Cloglog) or (isinstance(family, CensoredWeibull) and response < 0):
            sign = np.longdouble(1 if isinstance(family, Cloglog) else -1)
            weight = np.longdouble(response if isinstance(family, Cloglog) else 1)
            u = np.exp(sign * eta)
            hit = np.where(u > 1, -np.log1p(-np.exp(-u)), -np.log(-np.expm1(-u)))
            expected, size = weight * hit + (1 - weight) * u, 1 + weight * hit + (1 - weight) * u
        else:
            with np.errstate(over="ignore"):
                expected = by_numpy(family)(eta if isinstance(family, CensoredNormal) else eta.astype(np.longdouble), y)
            expected = np.where(np.abs(expected) > np.finfo(float).max, np.inf, expected)
            size = 1 + np.abs(expected) + np.abs(getattr(family, "shape", 1) * eta) + np.abs(y * eta) * (y < 1e7)
        found = compiled(family, "energy", eta, y)
        infinite = np.isinf(found) | np.isinf(expected)
        assert np.array_equal(found[infinite], expected[infinite].astype(float))
        finite = ~infinite
        assert np.max(np.abs(found[finite] - expected[finite]) / size[finite]) < 6 * EPS


# ------------------------------------------------------------------------------------------------- derivatives


@smooth_family
def test_derivatives_are_those_of_the_energy(family):
    eta = np.linspace(-3, 3, 241) if isinstance(family, (Cloglog, CensoredWeibull)) else np.linspace(-25, 25, 1001)
    for response in responses(family):
        y = np.full_like(eta, response)
        true = jets.derivatives(by_numpy(family), [eta], y)
        mine = family.derivatives(eta, y)
        true = true.gradient[0], true.hessian[0, 0], true.third[0, 0, 0]
        for found, expected in zip(mine, true, strict=True):
            size = 1 + abs(response) + np.abs(expected) + np.abs(mine[1])
            assert np.max(np.abs(found - expected) / size) < 1e-11


def test_hit_derivatives_keep_their_digits():
    """Of ``g = -log(1 - e^-u)``: ``-1 + u/2``, ``u/2 - u^2/6`` far below zero, ``e^-u`` times a polynomial above."""
    family, eta = Cloglog(), np.linspace(-700, -12, 50)
    u = np.exp(eta)
    first, second, third = family.derivatives(eta, np.ones(50))
    assert first == pytest.approx(-1 + u / 2, rel=1e-9)
    assert second == pytest.approx(u / 2 - u * u / 6, rel=1e-10)
    assert third == pytest.approx(u / 2 - u * u / 3, rel=1e-10)
    eta = np.linspace(3.7, 6, 50)
    u = np.exp(eta)
    first, second, third = family.derivatives(eta, np.ones(50))
    assert first == pytest.approx(-u * np.exp(-u), rel=1e-12)
    assert second == pytest.approx(u * (u - 1) * np.exp(-u), rel=1e-12)
    assert third == pytest.approx(-u * (u * u - 3 * u + 1) * np.exp(-u), rel=1e-12)
    low, high = np.linspace(-1e-3, -1e-9, 50), np.linspace(1e-9, 1e-3, 50)  # where the formulas change
    for below, above in zip(family.derivatives(low, np.ones(50)), family.derivatives(high, np.ones(50)), strict=True):
        assert below[-1] == pytest.approx(above[0], abs=1e-8)


@new_family
def test_suprema_near_hold_and_are_sharp(family):
    """Intervals of every width about every point, against the largest value on a grid that is finer than they are."""
    step, n = 0.02, 1201
    grid = step * np.arange(-600, 601)
    for response in responses(family):
        y = np.full(n, response)
        values = np.abs(family.derivatives(grid, y))
        sharp = response in (0, 1) or not isinstance(family, Cloglog)
        for half in (1, 10, 40, 200):
            window = np.lib.stride_tricks.sliding_window_view(values, 2 * half + 1, axis=1).max(axis=2)
            inside = slice(half, n - half)
            near = family.suprema_near(y[inside], grid[inside], np.full(n - 2 * half, half * step))
            for local, overall, largest in zip(near, family.suprema(y[inside]), window, strict=True):
                assert np.all(largest <= local * (1 + 1e-14))
                assert np.all(local <= overall)
                if sharp:  # up to what a peak gains between two points of the grid
                    assert np.all(local <= largest * 1.0005 + 1e-10 * (1 + response))


def test_suprema_of_hits_are_attained_and_the_rest_is_infinite():
    eta = np.linspace(-40, 40, 400_001)
    for family, code in ((Cloglog(), 1.0), (CensoredWeibull(), -1.0)):
        y = np.full_like(eta, code)
        for derivative, supremum in zip(family.derivatives(eta, y), family.suprema(y), strict=True):
            assert supremum[0] * (1 - 1e-7) <= np.abs(derivative).max() <= supremum[0]
    for family in EXPONENTIALS:
        assert np.isinf(family.suprema(np.ones(2))).all()
    assert np.isinf(Cloglog(fractions=True).suprema(np.array([0.0, 0.99]))).all()
    assert np.isinf(CensoredWeibull().suprema(np.array([0.0, 1.0]))).all()
    assert [float(s[0]) for s in CensoredLogistic().suprema(np.zeros(1))][:2] == [1, 0.5]


# --------------------------------------------------------------------------------------------- slope constants

_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(80)
_NODES, _WEIGHTS = 0.5 * (1 + _NODES), 0.5 * _WEIGHTS


def quotients(family, y, eta, z):
    """``2 |f'(eta+z) - f'(eta) - f''(eta) z| / z^2`` as the mean of f''' that it is: nothing cancels."""
    at = eta[:, None] + z[:, None] * _NODES
    third = family.derivatives(at.ravel(), np.repeat(y, _NODES.size))[2].reshape(at.shape)
    return np.abs(third @ (2 * (1 - _NODES) * _WEIGHTS))


def huber_quotients(family, y, eta, z):
    """As written; less what it may have gained by cancelling."""
    first, second, _ = family.derivatives(eta, y)
    size = np.abs(family.derivatives(eta + z, y)[0] - first - second * z)
    noise = 8 * EPS * family.precision * (family.edge + np.abs(y) + np.abs(eta) + np.abs(z))
    return 2 * np.maximum(size - noise, 0) / z**2


def least_constants(family, y, eta, radius, points=60):
    """The largest quotient on a grid."""
    quotient = huber_quotients if isinstance(family, Huber) else quotients
    result = np.zeros_like(eta)
    for share in np.linspace(-1, 1, 2 * points + 1):
        if share:
            result = np.maximum(result, quotient(family, y, eta, share * radius))
    return result


def some_rows(family, n=400, widest=0.5):
    rng = np.random.default_rng(8)
    y = rng.choice([value for value in responses(family) if value < 1e5], n)
    eta = rng.normal(0, 2, n)
    return y, eta, 10 ** rng.uniform(-3, widest, n)


SHARP = {SoftplusPoisson(): 1.4, Cloglog(fractions=True): 1.3}
"""How far the sum of the constants may lie above the sum of the least ones; 15% where nothing is said."""


OF_LOGISTIC = (Logistic, CensoredLogistic, NegativeBinomial, SoftplusPoisson)
"""Families whose constants in short ranges need no exponential (`families.logistic`): they are 4 % larger at most."""


@smooth_family
def test_slope_constants_hold_and_are_nearly_the_least(family):
    y, eta, radius = some_rows(family)
    found, least = family.second_order_constants(y, eta, radius), least_constants(family, y, eta, radius)
    assert found.shape == eta.shape
    assert np.all(found >= least * (1 - 1e-11))
    most = 1.04 if isinstance(family, OF_LOGISTIC) else 1 + 1e-11
    assert np.all(found <= family.suprema_near(y, eta, radius).third * most + 1e-300)
    if family in EXPONENTIALS:
        assert found == pytest.approx(least, rel=1e-9)
    elif family != Gaussian(0.2):
        assert found.sum() <= SHARP.get(family, 1.15) * least.sum()


@smooth_family
def test_slope_constants_against_interval_arithmetic(family):
    """Two proofs of one bound: jets know nothing of peaks or of monotone quotients."""
    y, eta, radius = some_rows(family, widest=0.0)
    found = family.second_order_constants(y, eta, radius)
    proved = jets.slope_constant(by_numpy(family), eta, y, radius)
    least = least_constants(family, y, eta, radius, points=20)
    assert np.all(proved >= least * (1 - 1e-9) - 1e-9)
    if family != Gaussian(0.2):
        assert np.mean(found <= 1.2 * proved) > (0.9 if family == Cloglog(fractions=True) else 0.97)
        assert found.sum() <= 1.05 * proved.sum()


@pytest.mark.parametrize("family", [*NEW, *OLD, Huber(scale=1.0), Huber(0.3, 2.0)], ids=name)
def test_slope_constants_bound_what_the_kernel_subtracts(family):
    """``|R(b) - R(a)| <= L/6 |b^3 - a^3|``, R the energy less its expansion of order 2, by the compiled rise."""
    rng = np.random.default_rng(6)
    y, eta, radius = some_rows(family, n=20_000)
    a, b = radius * rng.uniform(-1, 1, (2, radius.size))
    start, end = eta + a, eta + b
    a, b = start - eta, end - eta
    first, second, _ = family.derivatives(eta, y)
    rise = compiled(family, "rise", start, end, y)
    rest = rise - first * (b - a) - 0.5 * second * (b - a) * (b + a)
    size = 1 + np.abs(y) + np.abs(rise) + np.abs(first * (b - a)) + np.abs(second * (b - a) * (b + a))
    bound = family.second_order_constants(y, eta, radius) / 6 * np.abs(b**3 - a**3)
    assert np.all(np.abs(rest) <= bound * (1 + 1e-9) + 1e-13 * size)
    if not isinstance(family, Gaussian):
        large = bound > 1e-6 * size
        assert np.max(np.abs(rest[large]) / bound[large]) > 0.8  # and not by much


def test_slope_constants_that_are_too_small_are_found_out():
    for family in (Poisson(), Logistic(), Cloglog(), Huber(scale=1.0)):
        y, eta, radius = some_rows(family)
        if isinstance(family, Huber):
            eta = eta + 0.01
        least = least_constants(family, y, eta, radius)
        wrong = 0.9 * family.second_order_constants(y, eta, radius)
        assert np.any(wrong < least * (1 - 1e-11))
        at_centre = np.abs(family.derivatives(eta, y)[2])
        assert np.any(at_centre < least * (1 - 1e-11))


@pytest.mark.parametrize(
    "family", [Huber(scale=1.0), Huber(0.3, scale=1.0), Huber(1.345, 0.4), Huber(5.0, 3.0)], ids=repr
)
def test_huber_slope_constants_are_the_least(family):
    rng = np.random.default_rng(2)
    y, eta = rng.normal(0, 1, 600), rng.normal(0, 4 * family.edge, 600)
    radius = 10 ** rng.uniform(-2, 1.5, 600)
    found, least = family.second_order_constants(y, eta, radius), least_constants(family, y, eta, radius, points=2000)
    assert np.all(found >= least * (1 - 1e-9) - 1e-9 * family.precision)
    clear = np.abs(np.abs(y - eta) - family.edge) > 0.02 * radius  # else the grid is too coarse
    assert np.all(found[clear] <= least[clear] * 1.02 + 1e-9 * family.precision)
    assert np.mean(found == 0) > 0.1


def test_huber_slope_constants_by_hand():
    """Edges at -1 and 1: from 0, both at 1; from 0.5, at 0.5 and 1.5; from 3, at 2 and 4; from 5, at 4 and 6."""
    eta, radius = np.array([0.0, 0, 0, 0.5, 3, 3, 5, 5, 1]), np.array([1.0 - 1e-9, 1.5, 9, 9, 3, 9, 9, 1, 1])
    expected = [0, 2 * 0.5 / 1.5**2, 1 / 2, 1, 2 / 9, 1 / 4, 2 * 2 / 36, 0, np.inf]
    assert Huber(1.0, scale=1.0).second_order_constants(np.zeros(9), eta, radius) == pytest.approx(expected, rel=1e-9)


@pytest.mark.parametrize("family", [*NEW, *OLD, Huber(scale=1.0)], ids=name)
def test_radii_of_every_size(family):
    """Constants grow with the radius, are never NaN, and end at the global supremum."""
    radii = np.array([0.0, 1e-300, 1e-12, 1e-3, 1.0, 30.0, 1e3, 1e30, 1e60, np.inf])
    for response in responses(family):
        for at in (-700.0, -30.0, -1.0, 0.0, 2.0, 30.0, 700.0):
            y, eta = np.full(radii.size, response), np.full(radii.size, at)
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                found = family.second_order_constants(y, eta, radii)
            assert not np.isnan(found).any()
            assert np.all(found >= 0)
            finite = found[np.isfinite(found)]
            assert np.all(np.diff(finite) >= -1e-9 * (1e-300 + finite[1:]))
            assert not np.isinf(found[:-1][np.isinf(found[1:]).cumsum() == 0]).any()
            if not isinstance(family, (Huber, Gaussian)):
                assert found[-1] >= family.suprema(y).third[0] * (1 - 1e-12)
                expected = np.abs(family.derivatives(eta[:1], y[:1])[2])
                if isinstance(family, Cloglog) and 0 < response < 1:  # a sum of two parts' constants
                    expected = np.minimum(found[0], 1.5 * expected)
                assert found[:2] == pytest.approx(np.repeat(expected, 2), rel=1e-9, abs=1e-11 * (1 + abs(response)))


@new_family
def test_far_predictors(family):
    """Nothing is NaN; infinities only where the truth is beyond all numbers."""
    at = np.array([-1e4, -750.0, -700.0, 0.0, 700.0, 750.0, 1e4])
    start, end = (side.ravel() for side in np.meshgrid(at, at))
    for response in responses(family):
        y = np.full(start.size, response)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            values = compiled(family, "energy", start, y)
            rise = compiled(family, "rise", start, end, y)
            derivatives = family.derivatives(start, y)
            near = family.suprema_near(y, start, np.full(start.size, 2.0))
            endless = family.suprema_near(y, start, np.full(start.size, np.inf))
        assert not np.isnan([values, *derivatives, *near, *endless]).any()
        known = np.isfinite(values) & (np.abs(start - end) < 1e9)
        assert not np.isnan(rise[known]).any()
        assert np.all(rise[start == end] == 0)


@new_family
def test_nan_is_not_hidden(family):
    for response in responses(family):
        eta, bad, y = np.zeros(8), np.full(8, np.nan), np.full(8, response)
        assert np.isnan(compiled(family, "rise", eta, bad, y)).all()
        assert np.isnan(compiled(family, "rise", bad, eta, y)).all()
        assert np.isnan(compiled(family, "energy", bad, y)).all()


# ---------------------------------------------------------------------------------------------------- responses


@pytest.mark.parametrize(
    ("family", "right", "wrong"),
    [
        (Poisson(), [0.0, 1e6], [-1.0, 0.5, np.nan]),
        (Exponential(), [1e-9, 1e6], [0.0, -1.0, np.inf, np.nan]),
        (GammaOfKnownShape(2.0), [1e-9, 1e6], [0.0, -1.0, np.inf, np.nan]),
        (Cloglog(), [0.0, 1.0], [2.0, 0.5, np.nan]),
        (Logistic(), [0.0, 1.0], [2.0, 0.5, np.nan]),
        (Cloglog(fractions=True), [0.0, 0.3, 1.0], [2.0, -0.5, np.nan]),
        (Logistic(fractions=True), [0.0, 0.3, 1.0], [2.0, -0.5, np.nan]),
        *((family(), [0.0, 1.0, -1.0], [2.0, 0.5, np.nan]) for family in CODES),
    ],
    ids=lambda x: name(x) if hasattr(x, "check") else "",
)
def test_wrong_responses_are_named(family, right, wrong):
    family.check(np.array(right))
    for value in wrong:
        with pytest.raises(ValueError, match=f"row {len(right)} has {value:g}"):
            family.check(np.array([*right, value, value]))


@pytest.mark.parametrize("value", [0.0, -1.0, np.nan, np.inf])
def test_impossible_shape(value):
    with pytest.raises(ValueError, match="shape"):
        GammaOfKnownShape(value)


@new_family
def test_rises_and_guesses(family):
    """Which ends are high is what the energy says; a guess has less energy than predictors far from it."""
    assert family.convex
    y = np.array(responses(family))
    up, down = family.rises(y)
    far, farther = np.full(y.shape, 300.0), np.full(y.shape, 305.0)
    assert np.array_equal(compiled(family, "rise", far, farther, y) > 1e-9, up)
    assert np.array_equal(compiled(family, "rise", -far, -farther, y) > 1e-9, down)
    guess = family.guess(y)
    slope = family.derivatives(guess, y)[0]
    assert np.all(np.abs(slope) <= 1.6)
    if family in EXPONENTIALS:
        assert np.all(np.abs(slope) <= 0.5 + 1e-9 * y)


def test_self_concordant_families_are():
    for family in (Poisson(), Exponential(), GammaOfKnownShape(25.0), CensoredLogistic(), *OLD[:2], *OLD[3:5]):
        assert family.self_concordant
        for response in responses(family):
            eta = np.linspace(-50, 50, 1001)
            _, second, third = family.derivatives(eta, np.full_like(eta, response))
            assert np.all(np.abs(third) <= second * (1 + 1e-12))
    for family in (Cloglog(), CensoredWeibull(), CensoredNormal()):
        assert not getattr(family, "self_concordant", False)


@pytest.mark.parametrize("family", TRIALS, ids=name)
def test_trials_are_so_many_labels(family):
    """A row of 3 successes in 10 trials, ten times its fraction's energy, is the sum of ten labels'."""
    labels = type(family)()
    eta = np.linspace(-6, 3, 101)
    zero, one, some = np.zeros(101), np.ones(101), np.full(101, 0.3)
    together = 10 * compiled(family, "rise", eta, eta + 0.7, some)
    apart = 3 * compiled(labels, "rise", eta, eta + 0.7, one) + 7 * compiled(labels, "rise", eta, eta + 0.7, zero)
    assert together == pytest.approx(apart, rel=1e-13, abs=1e-13)
    assert repr(family) == repr(labels)
    assert family != labels


def test_lower_bound_of_fractions():
    family, at, away = Logistic(fractions=True), np.linspace(-5, 5, 101), np.linspace(-7, 3, 101)
    y = np.linspace(0, 1, 101)
    for centre in (None, at):
        anchor, a, b, k = family.lower_bound(y, centre)
        below = a * (away - anchor) ** 2 + b * (away - anchor) + k
        assert np.all(below <= -compiled(family, "energy", away, y) + 1e-12)
    assert a * (at - anchor) ** 2 + b * (at - anchor) + k == pytest.approx(
        -compiled(family, "energy", at, y), abs=1e-12
    )


def test_exponential_is_gamma_of_shape_one():
    eta, y = np.linspace(-5, 5, 101), np.full(101, 3.0)
    assert np.array_equal(compiled(Exponential(), "energy", eta, y), compiled(GammaOfKnownShape(1.0), "energy", eta, y))
    assert (Exponential().grain, GammaOfKnownShape(0.3).grain, GammaOfKnownShape(25.0).grain) == (1, 1, 25)
