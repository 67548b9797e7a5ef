"""Jets: numbers against contour integrals, intervals against brute force, constants against closed forms."""

from __future__ import annotations

import dataclasses
import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import special

from tunamh.jets import CannotBound, Interval, bounds, box_bound, derivatives, elementary, slope_constant, supremum_near
from tunamh.jets.elementary import power
from tunamh.jets.interval import RELATIVE
from tunamh.jets.jet import expand
from tunamh.jets.polygamma import polygamma_to
from tunamh.jets.special import GAMMALN, LOG_NDTR, NDTR
from tunamh.targets.families import Logistic, Probit

LINE, POSITIVE = (-6.0, 6.0), (0.05, 8.0)

FUNCTIONS = {  # the function, its complex extension, where it is tried, how far singularities are
    "exp": (elementary.EXP, np.exp, LINE, None),
    "expm1": (elementary.EXPM1, np.expm1, LINE, None),
    "log": (elementary.LOG, np.log, POSITIVE, np.abs),
    "log1p": (elementary.LOG1P, np.log1p, (-0.9, 8.0), lambda x: 1 + x),
    "sqrt": (elementary.SQRT, np.sqrt, POSITIVE, np.abs),
    "square": (elementary.SQUARE, np.square, LINE, None),
    "reciprocal": (elementary.RECIPROCAL, lambda z: 1 / z, POSITIVE, np.abs),
    "cube": (power(3.0), lambda z: z**3, LINE, None),
    "sixth power": (power(6.0), lambda z: z**6, LINE, None),
    "power -3": (power(-3.0), lambda z: z**-3, (-8.0, -0.1), np.abs),
    "power 2.5": (power(2.5), lambda z: z**2.5, POSITIVE, np.abs),
    "tanh": (elementary.TANH, np.tanh, LINE, None),
    "expit": (elementary.EXPIT, lambda z: 1 / (1 + np.exp(-z)), LINE, None),
    "softplus": (elementary.SOFTPLUS, lambda z: np.log1p(np.exp(z)), LINE, None),
    "arctan": (elementary.ARCTAN, np.arctan, LINE, None),
    "sin": (elementary.SIN, np.sin, LINE, None),
    "cos": (elementary.COS, np.cos, LINE, None),
    "gammaln": (GAMMALN, special.loggamma, POSITIVE, np.abs),
    "ndtr": (NDTR, special.ndtr, LINE, None),
    "log_ndtr": (LOG_NDTR, None, LINE, None),
}


def hazard(z):
    return np.sqrt(2 / np.pi) / special.erfcx(-z / np.sqrt(2))


def contour(function, x: np.ndarray, order: int, radius: np.ndarray) -> np.ndarray:
    """Cauchy's formula: ``g^(k)(x) = k! mean(g(x + r w) w^-k) / r^k`` over the roots of unity, to 1e-12 or so."""
    w = np.exp(2j * np.pi * np.arange(128) / 128)
    values = function(x[:, None] + radius[:, None] * w)
    return math.factorial(order) * (values * w**-order).mean(axis=1).real / radius**order


# ------------------------------------------------------------------------------------------ elementary functions


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "log_ndtr"])
def test_derivatives_at_numbers(name, rng):
    function, extension, (low, high), distance = FUNCTIONS[name]
    x = rng.uniform(low, high, 300)
    radius = np.full(x.shape, 0.7) if distance is None else 0.5 * distance(x)
    size = np.abs(extension(x[:, None] + radius[:, None] * np.exp(2j * np.pi * np.arange(64) / 64))).max(axis=1)
    for k, value in enumerate(function.values(x, 4)):
        error = np.abs(value - contour(extension, x, k, radius))
        assert (error <= 2e-12 * np.abs(value) + 1e-14 * math.factorial(k) * size / radius**k).all(), (name, k)


def test_derivatives_of_log_ndtr(rng):
    """The logarithm of a complex number has a branch; its derivative, phi/Phi, has not."""
    x = rng.uniform(-10, 6, 500)
    for k, value in enumerate(LOG_NDTR.values(x, 4)[1:]):
        np.testing.assert_allclose(value, contour(hazard, x, k, np.full(500, 0.7)), rtol=1e-10, atol=2e-13)
    x = np.array([-60.0, -30.0, -10.0])
    for k, value in enumerate(LOG_NDTR.values(x, 4)[1:]):
        np.testing.assert_allclose(value, contour(hazard, x, k, 0.4 * np.abs(x)), rtol=1e-11)


def test_derivatives_far_out_keep_their_digits():
    tail = np.exp(-40.0)
    for k, value in enumerate(elementary.EXPIT.values(np.array([-40.0, 40.0]), 4)):
        np.testing.assert_allclose(value, [tail, 1.0 if k == 0 else -tail * (-1) ** k], rtol=1e-14)
    assert LOG_NDTR.values(np.array([38.0]), 1)[1] == pytest.approx(2.885e-314, rel=1e-3)
    p = np.float64(1e5)
    np.testing.assert_allclose(elementary.ARCTAN.values(p, 4)[4], -24 / p**5, rtol=1e-9)


def normal_cdf(z: np.ndarray) -> np.ndarray:
    """By its series, in long double."""
    term = total = z
    for n in range(1, 300):
        term = term * z * z / (2 * n + 1)
        total = total + term
    return np.longdouble(0.5) + total * np.exp(-z * z / 2) / np.sqrt(8 * np.arctan(np.longdouble(1)))


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name not in ("gammaln", "ndtr")])
def test_rounding_errors_are_below_the_slack(name, rng):
    """The images' ends are values in float64; here beside long double, near zeros of derivatives too."""
    function, _, (low, high), _ = FUNCTIONS[name]
    zeros = np.array([place for places in function.critical for place in places] or [1.0])
    x = np.concatenate([rng.uniform(low, high, 5000), rng.choice(zeros, 500) + rng.normal(0, 1e-9, 500)])
    values = function.values(x, 4)
    if name == "log_ndtr":
        x = x[x >= -2]
        values = function.values(x, 3)
        z = x.astype(np.longdouble)
        h = np.exp(-z * z / 2) / np.sqrt(8 * np.arctan(np.longdouble(1))) / normal_cdf(z)
        w = z + h
        exact = [np.where(z < 3, np.log(normal_cdf(z)), values[0]), h, -h * w, h * (w * w + h * w - 1)]
    else:
        exact = function.values(x.astype(np.longdouble), 4)
    noises = [0.0] * len(values) if function.noise is None else function.noise(x, values)
    for k, (value, reference, noise) in enumerate(zip(values, exact, noises, strict=True)):
        assert (np.abs(value - reference) <= RELATIVE * (np.abs(value) + noise)).all(), k


def random_intervals(low, high, n, rng):
    width = rng.lognormal(-1.5, 1.5, n).clip(0, 3)
    start = rng.uniform(low, high, n)
    return start, np.minimum(start + width, max(high, 8.0) if high > 0 else high)


def check_images(function, low, high, exact: bool, n_points: int = 161) -> None:
    """Every value inside lies in the image; and the image reaches hardly beyond them."""
    inside = low + (high - low) * np.linspace(0, 1, n_points)[:, None]
    values = function.values(inside.clip(low, high), 4)
    for k, image in enumerate(function.images(Interval(low, high), 4)):
        if type(image) is float:
            assert values[k] == image
            continue
        least, most = values[k].min(axis=0), values[k].max(axis=0)
        assert (image.low <= least).all(), (function.name, k)
        assert (image.high >= most).all(), (function.name, k)
        if exact or k < 4:
            room = 3e-3 * (most - least) + 1e-12 * (np.abs(values[k]).max(axis=0) + np.abs(values[1]).max(axis=0) + 1)
            assert (image.low >= least - room).all(), (function.name, k)
            assert (image.high <= most + room).all(), (function.name, k)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_images_contain_and_touch(name, rng):
    function, _, (low, high), _ = FUNCTIONS[name]
    check_images(function, *random_intervals(low, high, 2000, rng), exact=name != "log_ndtr")


@pytest.mark.parametrize("name", ["expit", "tanh", "arctan", "ndtr", "sixth power", "gammaln", "log_ndtr", "softplus"])
def test_forgotten_critical_points_are_seen(name, rng):
    """The control of the check above: a wrong image fails it."""
    function, _, (low, high), _ = FUNCTIONS[name]
    with pytest.raises(AssertionError):
        check_images(
            dataclasses.replace(function, critical=((),) * 5), *random_intervals(low, high, 2000, rng), exact=False
        )


def test_wrong_waves_are_seen(monkeypatch, rng):
    monkeypatch.setattr(elementary, "_meets", lambda x, quarters: np.zeros(x.low.shape, dtype=bool))
    with pytest.raises(AssertionError):
        check_images(elementary.SIN, *random_intervals(-6.0, 6.0, 500, rng), exact=True)


@pytest.mark.parametrize("name", [name for name in FUNCTIONS if name != "power -3"])
@pytest.mark.parametrize("shape", ["halves", "line"])
def test_images_over_unbounded_intervals(name, shape, rng):
    function, _, (low, _high), _ = FUNCTIONS[name]
    start = np.array([0.3, 2.0]) if low >= -1 else np.array([-3.0, 2.0])
    if shape == "line":
        start = np.array([-np.inf, -np.inf])
    x = np.concatenate([np.linspace(max(-1e3, s), 1e3, 20_001) for s in start])
    with np.errstate(all="ignore"):
        values = function.values(x, 4)
    for value, image in zip(values, function.images(Interval(start, np.array([np.inf, np.inf])), 4), strict=True):
        if type(image) is float:
            continue
        seen = value.reshape(2, -1)
        seen = np.where(np.isnan(seen), 0.0, seen)
        assert (image.low <= seen.min(axis=1)).all()
        assert (image.high >= seen.max(axis=1)).all()


def test_the_fourth_derivative_of_log_ndtr_is_sharp_on_narrow_intervals(rng):
    x = rng.uniform(-30, 8, 2000)
    image = LOG_NDTR.images(Interval(x, x + 1e-4), 4)[4]
    value = LOG_NDTR.values(x, 4)[4]
    assert (image.magnitude() <= np.abs(value) * 1.1 + 2e-3).all()
    assert (image.magnitude() <= np.abs(value) * 1.1)[x < -4].all()


# ---------------------------------------------------------------------------------------------------- arithmetic

numbers = st.floats(-1e9, 1e9, allow_subnormal=False) | st.sampled_from([0.0, 1.0, -1.0, 1e-200, 1e200])
intervals = st.tuples(numbers, numbers).map(sorted)


def test_derivatives_of_log_gamma_to_the_last_digits():
    x = np.exp(np.linspace(-12, 12, 20_001))
    found = polygamma_to(x, 4)
    assert (np.abs(found[0] - special.psi(x)) < 3e-15 * (1 + np.abs(found[0]))).all()
    for k in (1, 2, 3):
        np.testing.assert_allclose(found[k], special.polygamma(k, x), rtol=3e-15)
    assert np.isnan(polygamma_to(np.array([0.0, -1.0]), 4)).all()


@settings(deadline=None, max_examples=300)
@given(intervals, intervals, st.fractions(0, 1), st.fractions(0, 1))
def test_arithmetic_contains_the_exact_result(a, b, p, q):
    x, y = Interval(*a), Interval(*b)
    u, v = (Fraction(ends[0]) * (1 - share) + Fraction(ends[1]) * share for ends, share in ((a, p), (b, q)))
    results = [
        (x + y, u + v),
        (x - y, u - v),
        (x * y, u * v),
        (x * x, u * u),
        (x**3, u**3),
        (2.5 - x, Fraction(5, 2) - u),
    ]
    if v:
        results.append((x / y, u / v))
    if b[0]:
        results.append((x / b[0], u / Fraction(b[0])))
    for interval, exact in results:
        low, high = float(interval.low), float(interval.high)
        assert low == -math.inf or Fraction(low) <= exact
        assert high == math.inf or Fraction(high) >= exact


def test_intervals_with_infinite_ends():
    line = Interval(-np.inf, np.inf)
    zero = line * 0.0
    assert abs(zero.low) < 1e-300
    assert abs(zero.high) < 1e-300
    for whole in (1 / Interval(-1.0, 1.0), Interval(1.0) / 0.0, line - line, line * line.negated(), Interval(np.nan)):
        assert (whole.low, whole.high) == (-np.inf, np.inf)
    beyond = np.exp(Interval(1000.0, 2000.0))
    assert np.isfinite(beyond.low)
    assert beyond.high == np.inf
    assert (np.log(Interval(-1.0, 2.0)).low, np.log(Interval(-1.0, 2.0)).high) == (-np.inf, np.inf)


# -------------------------------------------------------------------------------------------- users' own energies

ENERGIES = {
    "logaddexp": (lambda eta, y: np.logaddexp(0, eta) - y * eta, (1.01, 1.03, 1.04, 1.07)),
    "exp": (lambda eta, y: np.exp(eta) - y * eta, (1.01, 1.03, 1.04, 1.07)),
    "log_ndtr": (lambda eta, y: -special.log_ndtr(np.sign(y) * eta), (1.01, 1.03, 1.04, 1.07)),
    "Student-t": (lambda eta, y: 2.5 * np.log1p((eta - y) ** 2 / 4), (1.01, 1.02, 1.04, 1.09)),
    "log1p(exp)": (lambda eta, y: np.log1p(np.exp(eta)) - y * eta, (1.01, 1.03, 1.04, 1.07)),
    "log(1 + exp)": (lambda eta, y: np.log(1 + np.exp(eta)) - y / (1 + np.exp(-eta)), (1.01, 1.06, 1.2, 1.5)),
    "negative binomial": (lambda eta, y: (y * y + 2) * np.log(2 + np.exp(eta)) - y * y * eta, (1.01, 1.03, 1.04, 1.07)),
    "the same, unseen": (
        lambda eta, y: (y * y + 2) * np.log(2 + 1.0 * np.exp(eta)) - y * y * eta,
        (1.01, 1.05, 1.27, 2.1),
    ),
    "cloglog": (lambda eta, y: -np.log(-np.expm1(-np.exp(eta))), (1.01, 1.1, 1.55, 3.0)),
}
RADII = (0.05, 0.2, 0.5, 1.0)


def true_slope_constants(energy, eta, y, radius, n_points=201):
    """The mean of ``f'''`` with weight ``2 (1-v)`` over ``eta + z v``, by Gauss' rule, on a grid of z."""
    nodes, weights = np.polynomial.legendre.leggauss(24)
    v, weights = 0.5 * (nodes + 1), weights * (1 - 0.5 * (nodes + 1))
    best = np.zeros(eta.shape)
    for z in np.linspace(-radius, radius, n_points):
        third = derivatives(energy, [eta + z * v[:, None]], y).third[0, 0, 0]
        best = np.maximum(best, np.abs(weights @ third))
    return best


@pytest.mark.parametrize("name", ENERGIES)
def test_slope_constants_are_sharp_upper_bounds(name, rng):
    energy, ratios = ENERGIES[name]
    eta, y = rng.normal(0, 1.5, (2, 300))
    for radius, ratio in zip(RADII, ratios, strict=True):
        true = true_slope_constants(energy, eta, y, radius)
        eight = slope_constant(energy, eta, y, radius, pieces=8)
        for bound in (eight, slope_constant(energy, eta, y, radius), slope_constant(energy, eta, y, radius, pieces=1)):
            assert (bound >= true * (1 - 1e-12)).all()
        assert eight.sum() <= ratio * true.sum()


def test_wrong_enclosures_are_seen(monkeypatch, rng):
    """The control of the test above."""
    energy, _ = ENERGIES["exp"]
    eta, y = rng.normal(0, 1.5, (2, 50))
    monkeypatch.setattr(bounds, "_between", lambda first, last, least, most, width: np.minimum(first, last))
    assert (slope_constant(energy, eta, y, 0.5) < true_slope_constants(energy, eta, y, 0.5)).any()


def test_slope_constants_of_poisson_rows_come_near_the_exact_ones(rng):
    eta, radius = rng.normal(0, 1.5, 200), rng.choice([0.01, 0.1, 1.0, 2.0], 200)
    exact = np.exp(eta) * 2 * (np.expm1(radius) - radius) / radius**2
    bound = slope_constant(lambda eta, y: np.exp(eta) - y * eta, eta, 3.0, radius)
    assert (bound >= exact * (1 - 1e-12)).all()
    assert (bound <= 1.09 * exact).all()
    many = slope_constant(lambda eta, y: np.exp(eta) - y * eta, eta, 3.0, radius, pieces=400)
    assert (many >= exact * (1 - 1e-12)).all()
    assert (many <= 1.005 * exact).all()


def test_radii_of_nothing_and_of_everything():
    eta = np.array([-1.0, 0.5, 40.0])
    logistic = ENERGIES["logaddexp"][0]
    third = np.abs(derivatives(logistic, [eta], 1.0).third[0, 0, 0])
    np.testing.assert_allclose(slope_constant(logistic, eta, 1.0, 0.0), third, rtol=1e-10)
    np.testing.assert_allclose(slope_constant(logistic, eta, 1.0, np.inf), 1 / (6 * np.sqrt(3)), rtol=1e-12)
    assert (slope_constant(ENERGIES["exp"][0], eta, 1.0, np.inf) == np.inf).all()
    np.testing.assert_allclose(supremum_near(logistic, eta, 1.0, 1e6, 2), 0.25, rtol=1e-12)
    assert (slope_constant(lambda eta, y: eta * y, eta, 1.0, 1e300) < 1e-300).all()
    assert (supremum_near(lambda eta, y: np.log(eta), np.array([1.0]), 1.0, [0.5, 2.0], 1) == np.inf).tolist() == [
        False,
        True,
    ]


@pytest.mark.parametrize("order", [1, 2, 3])
def test_suprema_near(order, rng):
    eta, radius = rng.normal(0, 2, 300), rng.lognormal(-1, 1, 300)
    y = rng.integers(0, 2, 300).astype(float)
    for family, name in ((Logistic(), "logaddexp"), (Probit(), "log_ndtr")):
        known = family.suprema_near(y, eta, radius)[order - 1]
        bound = supremum_near(ENERGIES[name][0], eta, y if name == "logaddexp" else 2 * y - 1, radius, order)
        assert (bound >= known * (1 - 1e-10)).all()  # the families go 1e-12 beyond the radius
        assert (bound <= known * (1 + 1e-9)).all()


# -------------------------------------------------------------------------------------------- several predictors


def heteroscedastic(mean, log_sd, y):
    return log_sd + 0.5 * (y - mean) ** 2 * np.exp(-2 * log_sd)


def student(q, kappa, y):
    nu = np.exp(kappa)
    return (nu + 1) / 2 * np.log1p((q - y) ** 2 / nu)


def three(a, b, c, y):
    return np.logaddexp(a * b, c) * y + np.tanh(a - c)


def test_partial_derivatives_in_closed_form(rng):
    mean, log_sd, y = rng.normal(size=(3, 50))
    found = derivatives(heteroscedastic, [mean, log_sd], y)
    r, e = y - mean, np.exp(-2 * log_sd)
    np.testing.assert_allclose(found.energy, heteroscedastic(mean, log_sd, y), rtol=1e-14)
    np.testing.assert_allclose(found.gradient, [-r * e, 1 - r * r * e], rtol=1e-12, atol=1e-14)
    np.testing.assert_allclose(found.hessian, [[e, 2 * r * e], [2 * r * e, 2 * r * r * e]], rtol=1e-12)
    expected = {0: 0 * r, 1: -2 * e, 2: -4 * r * e, 3: -4 * r * r * e}
    for axes in np.ndindex(2, 2, 2):
        np.testing.assert_allclose(found.third[axes], expected[sum(axes)], rtol=1e-12, atol=1e-13)
    nu, q = np.exp(log_sd), mean - y
    third = derivatives(student, [mean, log_sd], y).third
    d = nu + q * q
    np.testing.assert_allclose(third[0, 0, 0], -2 * (nu + 1) * q * (3 * nu - q * q) / d**3, rtol=1e-9)
    np.testing.assert_allclose(
        third[0, 1, 0], nu * (-(q**4) + 3 * nu * q**2 + 3 * q**2 - nu) / d**3, rtol=1e-9, atol=1e-12
    )
    np.testing.assert_allclose(third[1, 0, 1], nu * q * (q * q - 1) * (q * q - nu) / d**3, rtol=1e-9, atol=1e-12)


def test_a_predictor_shared_by_all_rows(rng):
    mean, y = rng.normal(size=(2, 5))
    shared = derivatives(heteroscedastic, [mean, 0.3], y)
    np.testing.assert_array_equal(shared.third, derivatives(heteroscedastic, [mean, np.full(5, 0.3)], y).third)


@pytest.mark.parametrize(("energy", "size"), [(heteroscedastic, 2), (student, 2), (three, 3)])
def test_box_bounds(energy, size, rng):
    etas, y = rng.normal(size=(size, 60)), rng.normal(size=60)
    reach = rng.uniform(0, 0.3, (size, 60))
    points = [derivatives(energy, etas + reach * rng.uniform(-1, 1, (size, 60)), y).third for _ in range(300)]
    corners = [
        derivatives(energy, etas + reach * (2 * np.array(c)[:, None] - 1), y).third for c in np.ndindex((2,) * size)
    ]
    seen = np.abs(points + corners).max(axis=0)
    whole, halves = box_bound(energy, etas, y, reach), box_bound(energy, etas, y, reach, pieces=2)
    assert (whole >= seen).all()
    assert (halves >= seen).all()
    assert (halves <= whole * (1 + 1e-10) + 1e-300).all()
    assert (box_bound(energy, etas, y, 0.5 * reach) < seen).any()  # the control
    if energy is heteroscedastic:
        assert whole.sum() <= 1.02 * seen.sum()
    tiny = box_bound(energy, etas, y, 1e-9)
    np.testing.assert_allclose(tiny, np.abs(derivatives(energy, etas, y).third), rtol=1e-6, atol=1e-6)


@pytest.mark.parametrize("names", [("a", "b"), ("a", "c"), ("b", "b")])
def test_compositions_agree_with_contours(names, rng):
    parts = {
        "a": lambda x: np.sqrt(1 + x * x) / (2 + np.cos(x)),
        "b": lambda x: np.arctan(x) ** 3 - np.exp(-x / 3) * x**4,
        "c": lambda x: 2**x + np.power(1 + x**2, 0.3) + np.log10(3 + np.sin(x)),
    }
    one, two = (parts[name] for name in names)
    x = rng.uniform(-1, 1, 50)
    jet = expand(lambda eta, y: one(two(eta) / 4) * y, [x], np.array(2.0), 4)
    over = expand(lambda eta, y: one(two(eta) / 4) * y, [Interval(x - 1e-3, x + 1e-3)], np.array(2.0), 4)
    for k in range(5):
        value = contour(lambda z: 2 * one(two(z) / 4), x, k, np.full(50, 0.3))
        np.testing.assert_allclose(jet.derivative((k,)), value, rtol=1e-9, atol=1e-9)
        assert (over.derivative((k,)).low <= value + 1e-10).all()
        assert (over.derivative((k,)).high >= value - 1e-10).all()


# -------------------------------------------------------------------------------------------------- what is refused

REFUSED = {
    "log_ndtr": lambda x, y: -np.log(special.ndtr(x)),
    r"absolute.*sqrt\(x\*x \+ e\*e\)": lambda x, y: np.abs(x),
    "maximum.*smooth": lambda x, y: np.maximum(0, x),
    "where.*branch": lambda x, y: np.where(y > 0, x, 2 * x),
    "greater.*branch": lambda x, y: x if x > 0 else -x,
    "uses if.*branch": lambda x, y: x if x else y,
    "float.*NumPy": lambda x, y: math.exp(x),
    "indexing": lambda x, y: x[0],
    "len": lambda x, y: len(x),
    "conversion": lambda x, y: np.asarray(x),
    "sum": lambda x, y: np.sum(x),
    "erf.*ndtr": lambda x, y: special.erf(x),
    "arcsinh.*known are": lambda x, y: np.arcsinh(x),
    "add with": lambda x, y: np.add.reduce(x),
    "exp with": lambda x, y: np.exp(x, where=y > 0),
}


@pytest.mark.parametrize("message", REFUSED)
def test_what_cannot_be_bounded_is_refused(message):
    y = np.ones(3)
    with pytest.raises(CannotBound, match=message):
        derivatives(REFUSED[message], [np.zeros(3)], y)
    with pytest.raises(CannotBound, match=message):
        slope_constant(REFUSED[message], np.zeros(3), y, 1.0)


def test_wrong_radii_are_refused():
    energy = ENERGIES["exp"][0]
    with pytest.raises(ValueError, match="negative"):
        slope_constant(energy, 0.0, 1.0, -1.0)
    with pytest.raises(ValueError, match="pieces"):
        slope_constant(energy, 0.0, 1.0, 1.0, pieces=0)
    with pytest.raises(ValueError, match="order"):
        supremum_near(energy, 0.0, 1.0, 1.0, 4)
