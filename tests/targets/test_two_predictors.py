"""Row families of two and three predictors: derivatives, bounds and rises against differences and brute force."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product

import numpy as np
import pytest
from scipy.special import expit

from tunamh.compiled import fixed
from tunamh.jets import box_bound
from tunamh.rows.packing import ROW
from tunamh.targets.expansion.multi_predictor import MultiPredictor
from tunamh.targets.expansion.one_predictor import Ladder, Whitening
from tunamh.targets.families.beta import BetaWithPrecision
from tunamh.targets.families.cubic_bounds import cubic_roots, largest_cubic
from tunamh.targets.families.gamma import GammaWithShape
from tunamh.targets.families.gaussian import GaussianWithScale
from tunamh.targets.families.hurdle import HurdlePoisson
from tunamh.targets.families.multi_predictor import MultiPredictorLikelihood
from tunamh.targets.families.negative_binomial import NegativeBinomialWithDispersion
from tunamh.targets.families.student_t import StudentTWithDf
from tunamh.targets.families.zero_inflated import ZeroInflatedNegativeBinomial, ZeroInflatedPoisson
from tunamh.targets.layouts import RUNGS

long = np.longdouble


# ------------------------------------------------------------------------------- energies as they are defined


def S(z):
    return np.maximum(z, 0) + np.log1p(np.exp(-np.abs(z)))


def log_gamma(x):
    """Stirling's series at ``x + 30``, to the digits of a long double."""
    product_, z = np.zeros_like(x), x + 30
    for k in range(30):
        product_ = product_ + np.log(x + k)
    terms = (1 / long(12), -1 / long(360), 1 / long(1260), -1 / long(1680), 1 / long(1188), -691 / long(360360))
    series = sum(c / z ** (2 * k + 1) for k, c in enumerate(terms))
    return (z - 0.5) * np.log(z) - z + 0.5 * np.log(8 * np.arctan(long(1))) + series - product_


def negative_binomial(eta, lam, y):
    return np.exp(lam) * S(eta - lam) + y * S(lam - eta)


def student(q, kap, y):
    return (np.exp(kap) + 1) / 2 * np.log1p(q * q * np.exp(-kap))


def gaussian(m, s, y):
    return s + (y - m) ** 2 * np.exp(-2 * s) / 2


def gamma(eta, a, y):
    return np.exp(a) * (y * np.exp(-eta) + eta - np.log(y))


def centred_gamma(eta, a, y):
    return np.exp(a) * (np.expm1(np.log(y) - eta) + eta - np.log(y))


def beta(eta, lam, y):
    phi = np.exp(lam)
    a, b = phi / (1 + np.exp(-eta)), phi / (1 + np.exp(eta))
    return log_gamma(a) + log_gamma(b) - log_gamma(phi) - (a - 1) * np.log(y) - (b - 1) * np.log1p(-y)


def inflated(eta, zeta, y):
    pi = 1 / (1 + np.exp(-zeta))
    return np.where(y == 0, -np.log(pi + (1 - pi) * np.exp(-np.exp(eta))), -np.log1p(-pi) + np.exp(eta) - y * eta)


def hurdle(eta, zeta, y):
    mu, p = np.exp(eta), 1 / (1 + np.exp(-zeta))
    return np.where(y == 0, -np.log1p(-p), -np.log(p) + mu - y * eta + np.log(-np.expm1(-mu)))


def inflated_binomial(eta, lam, zeta, y):
    pi, zero = 1 / (1 + np.exp(-zeta)), np.exp(lam) * S(eta - lam)
    return np.where(y == 0, -np.log(pi + (1 - pi) * np.exp(-zero)), -np.log1p(-pi) + zero + y * S(lam - eta))


DEFINED = {
    NegativeBinomialWithDispersion(): negative_binomial,
    StudentTWithDf(): student,
    GaussianWithScale(): gaussian,
    GammaWithShape(): gamma,
    GammaWithShape(centred=True): centred_gamma,
    BetaWithPrecision(): beta,
    ZeroInflatedPoisson(): inflated,
    HurdlePoisson(): hurdle,
    ZeroInflatedNegativeBinomial(): inflated_binomial,
}
FAMILIES = pytest.mark.parametrize("family", list(DEFINED), ids=repr)


def rows_of(family, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Predictors and responses over wide ranges, which the family has not been fitted to."""
    rng = np.random.default_rng(seed)
    eta = rng.normal(0.3, 1.0, (family.predictors, n))
    if isinstance(family, BetaWithPrecision):
        eta[1] = rng.uniform(-1, 6, n)
        return eta, np.clip(rng.beta(2.0, 3.0, n), 1e-4, 1 - 1e-4)
    if isinstance(family, GammaWithShape):
        return eta, rng.gamma(2.0, 1.5, n)
    if isinstance(family, GaussianWithScale | StudentTWithDf):
        eta[0] *= 3.0
        return eta, 2 * rng.standard_normal(n)
    return eta, rng.poisson(2.0, n) * (rng.random(n) < 0.7) * 1.0


def energies(family, eta, y):
    out = np.empty(y.size)
    family.energy(y.size, np.ravel(eta), y, fixed(family.hyper), out)
    return out


def rises(family, eta, eta_prop, y):
    out = np.empty(y.size)
    family.rise(y.size, np.ravel(eta), np.ravel(eta_prop), y, fixed(family.hyper), out)
    return out


def brute(family, eta, y, reach, m=7):
    best = np.zeros((*(len(eta),) * 3, y.size))
    for shift in product(np.linspace(-1, 1, m), repeat=len(eta)):
        third = family.derivatives(eta + np.array(shift)[:, None] * reach, y)[2]
        np.maximum(best, np.abs(third), out=best)
    return best


# ------------------------------------------------------------------------------------------------------- tests


@FAMILIES
def test_energies_are_what_is_defined(family):
    eta, y = rows_of(family, 300)
    np.testing.assert_allclose(
        energies(family, eta, y),
        DEFINED[family](*eta.astype(long), y.astype(long)).astype(float),
        rtol=1e-13,
        atol=1e-13,
    )


@FAMILIES
def test_derivatives_are_differences_of_each_other(family):
    eta, y = rows_of(family, 200)
    values = family.derivatives(eta, y)
    h = 1e-5
    for a in range(len(eta)):
        move = h * np.eye(len(eta))[a][:, None]
        up, down = family.derivatives(eta + move, y), family.derivatives(eta - move, y)
        below = energies(family, eta + move, y), energies(family, eta - move, y)
        pairs = [(below[0], below[1], values[0][a]), *((up[k], down[k], values[k + 1][a]) for k in (0, 1))]
        for after, before, slope in pairs:
            size = np.abs(after) + np.abs(slope) + 1
            assert (np.abs((after - before) / (2 * h) - slope) <= 3e-8 * size.max()).all()


@FAMILIES
@pytest.mark.parametrize("reach", [0.0, 0.02, 0.2, 1.0])
def test_bounds_are_never_below_brute_force(family, reach):
    eta, y = rows_of(family, 60)
    reaches = np.full(eta.shape, reach)
    reaches[0] *= 0.5
    most = brute(family, eta, y, reaches, 7 if len(eta) == 2 else 5)
    bounds = family.third_bounds(y, eta, reaches)
    assert (bounds >= most * (1 - 1e-11) - 1e-13).all()
    if reach <= 0.2:  # and near them
        weight = np.einsum("ai,bi,ci->abci", reaches, reaches, reaches) if reach else 1.0
        assert (weight * bounds).sum() <= 1.6 * (weight * most).sum()


@pytest.mark.parametrize("family", [NegativeBinomialWithDispersion(), StudentTWithDf(), GaussianWithScale()], ids=repr)
def test_closed_forms_are_below_bounds_by_jets(family):
    """Which are bounds too, of the same derivatives: closed forms take the two ranges apart, so not of every one."""
    eta, y = rows_of(family, 500)
    reach = np.full(eta.shape, 0.1)
    formulas = {
        NegativeBinomialWithDispersion: lambda e, k, y: np.exp(k) * np.logaddexp(0, e - k) + y * np.logaddexp(0, k - e),
        StudentTWithDf: lambda q, k, y: (np.exp(k) + 1) / 2 * np.log1p(q * q * np.exp(-k)),
        GaussianWithScale: lambda m, s, y: s + (y - m) ** 2 * np.exp(-2 * s) / 2,
    }
    ours, jets = family.third_bounds(y, eta, reach), box_bound(formulas[type(family)], eta, y, reach, 3)
    assert ours.sum() <= 1.1 * jets.sum()
    assert (jets >= brute(family, eta, y, reach) * (1 - 1e-11) - 1e-13).all()


def test_bounds_hold_at_the_edges():
    """Counts of 0, tiny and huge dispersions, tails: where critical points leave the range or come together."""
    values = np.array([-25.0, -6.0, -1.0, 0.0, 1.0, 6.0, 25.0])
    eta = np.array(list(product(values, repeat=2))).T
    for family, responses in ((NegativeBinomialWithDispersion(), (0.0, 1.0, 1e6)), (StudentTWithDf(), (0.0,))):
        for response in responses:
            y = np.full(eta.shape[1], response)
            for reach in (0.1, 3.0):
                reaches = np.full(eta.shape, reach)
                most = brute(family, eta, y, reaches, 15)
                assert (family.third_bounds(y, eta, reaches) >= most * (1 - 1e-9)).all()


@FAMILIES
def test_bounds_without_a_radius_are_infinite_at_worst(family):
    """And hold, where they are not."""
    eta, y = rows_of(family, 20)
    with np.errstate(all="raise", under="ignore"):
        bounds = family.third_bounds(y, eta, np.full(eta.shape, np.inf))
    assert not np.isnan(bounds).any()
    most = brute(family, eta, y, np.full(eta.shape, 4.0), 3)
    assert (bounds >= most * (1 - 1e-9) - 1e-13).all()


@FAMILIES
@pytest.mark.parametrize("size", [1e-9, 1e-4, 0.1, 3.0])
def test_rises_are_differences_of_energies(family, size):
    eta, y = rows_of(family, 300)
    eta_prop = eta + size * np.random.default_rng(1).standard_normal(eta.shape)
    exact = DEFINED[family]
    before, after = (exact(*each.astype(long), y.astype(long)) for each in (eta, eta_prop))
    gradient = family.derivatives(eta, y)[0]
    scale = np.abs(eta_prop - eta).max(axis=0) * (1 + np.abs(gradient).max(axis=0)) + np.abs(after - before)
    scale = scale + 20 * (size if size < 1 else np.abs(after) + np.abs(before))
    if not isinstance(family, StudentTWithDf | GaussianWithScale | GammaWithShape):
        scale = scale + 10  # numbers of this size cancel, whatever the move (or round the difference of predictors)
    if isinstance(family, BetaWithPrecision):
        scale = scale + 20 + np.exp(eta[1]) * np.abs(eta_prop - eta).max(axis=0)
    error = np.abs(rises(family, eta, eta_prop, y) - (after - before))
    noise = 1e-18 * (5 + np.abs(before) + 1000 * isinstance(family, BetaWithPrecision))  # of the long doubles
    assert (error <= 1e-15 * scale + noise).all(), (error / scale).max()


@FAMILIES
def test_no_move_no_rise_and_huge_moves_no_nan(family):
    eta, y = rows_of(family, 50)
    np.testing.assert_array_equal(rises(family, eta, eta, y), 0.0)
    for sign in (-1.0, 1.0):
        there = eta + sign * 60.0
        found = rises(family, eta, there, y)
        assert not np.isnan(found).any()
        np.testing.assert_allclose(found, energies(family, there, y) - energies(family, eta, y), rtol=1e-12, atol=1e-9)


class DenseBlock:
    """Rows ``X`` (K, n, d), for `MultiPredictor`."""

    def __init__(self, X):
        self.X = X

    def matvec(self, theta):
        return self.X @ theta

    def matmat(self, matrix):
        return self.X @ matrix


def share_of_bound(family, seed=0, radius=3.0) -> np.ndarray:
    """``|R_i(v) - R_i(u)| / (c_i M)`` over pairs within the radius, by the packed rows of `MultiPredictor`."""
    rng = np.random.default_rng(seed)
    n, K, d = 300, family.predictors, 4
    y = rows_of(family, n, seed)[1]
    X = np.zeros((K, n, K * d))
    for k in range(K):  # every predictor has columns of its own; one more is shared
        X[k, :, k * d : (k + 1) * d] = rng.standard_normal((n, d))
    X[1, :, 0] = X[0, :, 0]
    theta = np.linspace(-0.3, 0.3, K * d)
    factor = np.eye(K * d) * 0.03
    terms = MultiPredictor(family)
    columns = terms.columns(np.empty((n, ROW.places(width=0).end + terms.centre_columns)), 0)
    sums = terms.remainders(
        columns,
        Whitening(2, theta, factor, Ladder(radius * 2.0 ** np.arange(RUNGS)), False),
        DenseBlock(X),
        y,
        np.ones(n),
        0,
    )
    assert np.isfinite(sums.thirds).all()
    c, centre, gradient, lower = columns.bound, columns.eta.T, columns.gradient.T, columns.hessian.T
    hessian = np.empty((K, K, n))
    for position, (a, b) in enumerate(zip(*np.tril_indices(K), strict=True)):
        hessian[a, b] = hessian[b, a] = lower[position]
    worst = np.zeros(n)
    for _ in range(40):
        u, v = rng.standard_normal((2, K * d))
        u, v = (radius * rng.random() ** 0.2 * each / np.linalg.norm(each) for each in (u, v))
        near, far = (X @ (theta + factor @ each) for each in (u, v))
        move, middle = far - near, 0.5 * (far + near) - centre
        polynomial = (move * gradient).sum(axis=0) + np.einsum("ai,abi,bi->i", move, hessian, middle)
        M = np.linalg.norm(v - u) * (u @ u + u @ v + v @ v) / 6
        worst = np.maximum(worst, np.abs(rises(family, near, far, y) - polynomial) / (c * M + 1e-13))
    return worst


@FAMILIES
def test_remainders_are_bounded(family):
    worst = share_of_bound(family)
    assert worst.max() <= 1.0
    assert worst.max() > 0.1  # no empty promise


@dataclass(frozen=True)
class _TooSmall(StudentTWithDf):
    """A wrong bound must be found out by the test above."""

    def third_bounds(self, y, eta, reach):
        return 0.1 * super().third_bounds(y, eta, reach)


def test_wrong_bounds_are_found():
    assert share_of_bound(_TooSmall()).max() > 1.0


# --------------------------------------------------------------------------------------- the largest cubic form


@pytest.mark.parametrize("size", [2, 3])
def test_largest_cubic_is_above_every_direction_and_below_the_box(size, rng):
    n, d = 200, 5
    Y = rng.standard_normal((size, n, d)) * rng.exponential(1.0, (size, n, 1))
    Y[1, :50] = 2 * Y[0, :50]  # collinear
    Y[0, 50:60] = 0.0  # does not move
    third = rng.exponential(1.0, (size,) * 3 + (n,))
    third = sum(
        third.transpose(*axes, 3) for axes in [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
    )
    lengths, overlaps = np.linalg.norm(Y, axis=2), np.einsum("aij,bij->abi", Y, Y)
    bound = largest_cubic(third, lengths, overlaps)
    z = rng.standard_normal((20_000, d))
    z /= np.linalg.norm(z, axis=1)[:, None]
    most = np.zeros(n)
    for i in range(n):
        v = np.abs(Y[:, i] @ z.T)
        most[i] = np.einsum("abc,az,bz,cz->z", third[..., i], v, v, v, optimize=True).max()
    box = np.einsum("abci,ai,bi,ci->i", third, lengths, lengths, lengths)
    assert (bound >= most).all()
    assert (bound <= box * (1 + 1e-9)).all()
    if size == 2:
        assert (bound <= 1.05 * most + 1e-9).all()


def test_what_does_not_move_has_no_bound_to_break(rng):
    infinite = np.full((2, 2, 2, 3), np.inf)
    lengths = np.array([[1.0, 0.0, 0.0], [1.0, 1.0, 0.0]])
    overlaps = np.einsum("ai,bi->abi", lengths, lengths)
    np.testing.assert_array_equal(largest_cubic(infinite, lengths, overlaps), [np.inf, np.inf, 0.0])


def test_roots_of_cubics(rng):
    roots = np.sort(rng.standard_normal((3, 500)), axis=0)
    a = rng.uniform(0.5, 3, 500)
    r, s, t = roots
    found = np.sort(cubic_roots(a, -a * (r + s + t), a * (r * s + s * t + r * t), -a * r * s * t), axis=0)
    np.testing.assert_allclose(found, roots, atol=1e-6)
    single = cubic_roots(a, -a * r, a, -a * r)  # (x - r)(x^2 + 1)
    np.testing.assert_allclose(single, np.broadcast_to(r, (3, 500)), atol=1e-9)


# ---------------------------------------------------------------------------------------------------- responses


@pytest.mark.parametrize(
    ("family", "wrong"),
    [
        (NegativeBinomialWithDispersion(), -1.0),
        (GammaWithShape(), 0.0),
        (BetaWithPrecision(), 1.0),
        (ZeroInflatedPoisson(), 0.5),
        (HurdlePoisson(), -2.0),
        (ZeroInflatedNegativeBinomial(), np.inf),
    ],
    ids=repr,
)
def test_responses_that_make_no_sense_are_refused(family: MultiPredictorLikelihood, wrong):
    with pytest.raises(ValueError, match="row 1 has"):
        family.check(np.array([0.5 if isinstance(family, BetaWithPrecision) else 1.0, wrong]))


def test_beta_far_out():
    """Large precisions, where log-gammas of 1e7 cancel, and shares of precision 1e-8."""
    eta, y = np.array([[0.3, 0.3, -40.0], [14.0, -18.0, 1.0]]), np.array([expit(0.3), 0.4, 0.2])
    exact = beta(*eta.astype(long), y.astype(long)).astype(float)
    np.testing.assert_allclose(energies(BetaWithPrecision(), eta, y), exact, rtol=1e-9)
