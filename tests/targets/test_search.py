"""Where the search for a mode ends, and where chains start: priors, rare columns, units, far and flat starts."""

import numba
import numpy as np
import pytest
from scipy.stats import beta

import tunamh
from conftest import quantile_scores
from tunamh import GLM, Gaussian, ImproperPosterior, LogisticRegression, NegativeBinomial, Normal, sample
from tunamh.targets.search.newton import find_mode


@numba.njit
def student_prior(theta):
    """Student-t with 7 degrees of freedom and scale 2.5 in every coordinate: what brms users write."""
    total = 0.0
    for j in range(theta.size):
        total -= 4.0 * np.log1p((theta[j] / 2.5) ** 2 / 7.0)
    return total


@numba.njit
def far_prior(theta):
    return -0.5 * np.sum(((theta - 30.0) / 0.05) ** 2)


@numba.njit
def correlated_prior(theta):
    return -0.5 * (theta[0] ** 2 + theta[1] ** 2 - 1.8 * theta[0] * theta[1]) / 0.19


@numba.njit
def laplace_prior(theta):
    return -np.sum(np.abs(theta)) / 0.1


def design(n, seed=1):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.standard_normal((n, 3))])
    return X, (rng.random(n) < 1 / (1 + np.exp(1 - X[:, 1]))).astype(float), rng


# ------------------------------------------------------------------------------------------------------- priors


def test_an_own_prior_and_a_rare_column():
    """One row in a dummy: without the prior in the search its coefficient went to a million."""
    X, y, _ = design(20_000)
    dummy = np.zeros(20_000)
    dummy[7] = 1
    tree = sample(LogisticRegression(np.column_stack([X, dummy]), y, prior=student_prior), draws=2000, rng=1)
    assert tree.sample_stats["acceptance_rate"].mean() > 0.6
    grid = np.linspace(-40, 40, 8001)
    eta = float(X[7] @ tree.posterior["theta"].mean(("chain", "draw")).values[:4]) + grid
    log_density = -4.0 * np.log1p((grid / 2.5) ** 2 / 7) + y[7] * eta - np.logaddexp(0, eta)
    cdf = np.cumsum(np.exp(log_density))
    cdf /= cdf[-1]
    draws = tree.posterior["theta"].values[:, :, 4]
    assert np.abs(quantile_scores(draws, lambda theta: np.interp(theta, grid, cdf))).max() < 4.5


def test_gaussian_responses_under_an_own_prior_far_from_the_data():
    """The expansion knows the prior; without, independent draws of the data's Gaussian were accepted once in 1000."""
    X, _, rng = design(20_000)
    y = X[:, 1] + rng.standard_normal(20_000)
    tree = sample(GLM(X, y, Gaussian(scale=1.0), prior=far_prior), draws=2000, rng=1)
    assert tree.sample_stats["acceptance_rate"].mean() > 0.85  # a share of steps are dilations
    precision = X.T @ X + np.eye(4) / 0.05**2
    mean = np.linalg.solve(precision, X.T @ y + 30 / 0.05**2)
    theta = tree.posterior["theta"].values.reshape(-1, 4)
    assert np.abs((theta.mean(axis=0) - mean) * np.sqrt(np.diag(precision) * len(theta) / 4)).max() < 4.5
    assert np.cov(theta.T) @ precision == pytest.approx(np.eye(4), abs=0.15)


@pytest.mark.parametrize("prior", [student_prior, correlated_prior, laplace_prior], ids=["t", "correlated", "laplace"])
def test_differences_of_an_own_prior_agree_with_its_derivatives(prior):
    from tunamh.priors import UserPrior

    d, point = (2, np.array([0.3, -0.7]))
    bound = UserPrior(prior).bind(d)
    found = bound.expansion(point, np.full(d, 0.05))
    h = 1e-5 * np.eye(d)
    slope = [-(prior(point + e) - prior(point - e)) / 2e-5 for e in h]
    assert found.energy == pytest.approx(-prior(point))
    assert found.gradient == pytest.approx(slope, rel=0.02)
    bend = [[-(prior(point + a + b) - prior(point + a) - prior(point + b) + prior(point)) * 1e10 for a in h] for b in h]
    assert found.hessian == pytest.approx(np.array(bend), rel=0.05, abs=0.01)
    rest = bound.without(point, found)
    move = np.array([0.01, 0.02])
    away = point + move
    quadratic = found.gradient @ move + 0.5 * move @ found.hessian @ move
    assert rest.log_prior(away, rest.hyper) == pytest.approx(prior(away) + quadratic)


def test_a_kink_bends_as_seen_from_the_posteriors_width():
    from tunamh.priors import UserPrior

    found = UserPrior(laplace_prior).bind(1).expansion(np.zeros(1), np.array([0.01]))
    assert found.hessian[0, 0] == pytest.approx(2 / (0.1 * 0.01))


def test_outside_an_own_priors_support_the_energy_is_infinite():
    @numba.njit
    def positive(theta):
        return -np.sum(theta) if np.all(theta > 0) else -np.inf

    X, y, _ = design(2000)
    mode = find_mode(LogisticRegression(X[:, :2] * [-1, 1], y, prior=positive))
    assert (mode.point > 0).all()
    assert mode.posterior.energy < np.inf


# ------------------------------------------------------------------------------------------------- rare columns


@pytest.mark.parametrize("k", [4, 10, 20, 40, 100])
def test_a_rare_column_under_a_flat_prior(k):
    """An intercept and a dummy with k ones: both groups' log odds have closed-form posteriors, logits of betas."""
    n = 100_000
    for seed in range(3):
        rng = np.random.default_rng([k, seed])
        y, dummy = (rng.random(n) < 0.3).astype(float), np.zeros(n)
        rows = rng.choice(n, size=k, replace=False)
        dummy[rows], y[rows[:2]] = 1, [0, 1]
        tree = sample(LogisticRegression(np.column_stack([np.ones(n), dummy]), y), rng=seed)
        theta, ones = tree.posterior["theta"].values, y[rows].sum()
        rare, others = beta(ones, k - ones), beta(y.sum() - ones, n - k - y.sum() + ones)
        for eta, law in ((theta.sum(axis=2), rare), (theta[:, :, 0], others)):
            assert np.abs(quantile_scores(1 / (1 + np.exp(-eta)), law.cdf)).max() < 4.5


def test_starts_know_the_scale_of_a_rare_column():
    rng = np.random.default_rng(1)
    n = 100_000
    dummy = np.zeros(n)
    dummy[rng.choice(n, size=8, replace=False)] = 1
    y = (rng.random(n) < 0.5).astype(float)
    y[np.flatnonzero(dummy)] = [0, 1] * 4
    target = LogisticRegression(np.column_stack([np.ones(n), dummy]), y)
    starts = np.array([target.start(np.random.default_rng(k)) for k in range(100)])
    assert 0.5 < starts[:, 1].std() < 5
    assert 0.003 < starts[:, 0].std() < 0.03


# ------------------------------------------------------------------------------------------- units and collinearity


def test_a_convex_posterior_is_not_called_indefinite():
    """An intercept, a year, seconds since 1970 and two columns of unit size."""
    for seed in range(10):
        rng = np.random.default_rng(seed)
        n = 2000
        year, seconds = rng.integers(1990, 2021, n), 1.6e9 + rng.integers(0, 3600, n)
        X = np.column_stack([np.ones(n), year, seconds, rng.standard_normal((n, 2))])
        y = rng.random(n) < 1 / (1 + np.exp(-X[:, 3]))
        tree = sample(LogisticRegression(X, y), draws=250, rng=seed)
        assert tree.sample_stats["acceptance_rate"].mean() > 0.8


@pytest.mark.parametrize("what", ["seconds", "cubic"])
def test_uncentred_columns_agree_with_centred_ones(what):
    """Draws in the user's units, against the same regression on centred and scaled columns, transformed."""
    rng = np.random.default_rng(4)
    n = 5000
    t = rng.integers(0, 3600, n) if what == "seconds" else rng.integers(1990, 2021, n).astype(float)
    z = (t - t.mean()) / t.std()
    y = (rng.random(n) < 1 / (1 + np.exp(-z + 0.3 * z**2))).astype(float)
    if what == "seconds":
        raw, centred = np.column_stack([np.ones(n), 1.6e9 + t]), np.column_stack([np.ones(n), z])
    else:
        raw, centred = t[:, None] ** np.arange(4), z[:, None] ** np.arange(4)
    from tunamh.sampling.choice import choose

    given, nice = (choose(LogisticRegression(X, y), None, None, None).target for X in (raw, centred))
    # the map between the two parametrisations, from predictors: raw @ theta = centred @ phi
    to_nice = np.linalg.lstsq(centred, raw @ given.metric.factor)[0]
    assert to_nice @ to_nice.T == pytest.approx(nice.metric.factor @ nice.metric.factor.T, rel=1e-3, abs=1e-6)
    tree = sample(LogisticRegression(raw, y), rng=1)
    assert tree.sample_stats["acceptance_rate"].mean() > 0.85  # years repeat: few rows, hence a share of wide steps
    phi = np.linalg.lstsq(centred, raw @ tree.posterior["theta"].values.reshape(-1, raw.shape[1]).T)[0]
    reference = sample(LogisticRegression(centred, y), rng=2).posterior["theta"].values.reshape(-1, raw.shape[1])
    sd = reference.std(axis=0)
    assert phi.mean(axis=1) / sd == pytest.approx(reference.mean(axis=0) / sd, abs=0.12)
    assert phi.std(axis=1) == pytest.approx(sd, rel=0.1)


def test_every_collinear_group_is_named_by_itself():
    X, y, _ = design(20_000)
    dependent = np.column_stack([X, X[:, 1] + X[:, 2], 3 * X[:, 0], np.zeros(len(X))])
    with pytest.raises(ImproperPosterior) as error:
        sample(LogisticRegression(dependent, y))
    message = str(error.value)
    assert "columns 0, 5 are collinear" in message
    assert "columns 1, 2, 4 are collinear" in message
    assert "column 6 is zero in every row" in message


@pytest.mark.parametrize("seed", range(6))
def test_a_copy_of_a_column_that_a_sample_does_not_contain_is_collinear(seed):
    """Sixteen uneven levels: eigenvalues of sums of squares alone are too inexact to tell zero from rounding."""
    sizes = [17294, 31947, 709, 54049, 47658, 51108, 681, 3175, 342, 25037, 29, 57782, 19831, 5116, 12044, 544]
    rng = np.random.default_rng(seed)
    level = np.repeat(np.arange(16), sizes)
    rng.shuffle(level)
    X = np.column_stack([np.ones(len(level)), *(level == k for k in range(1, 16))])
    for copy, group in ((X[:, 10], [10, 16]), (X[:, 10] + X[:, 8], [8, 10, 16])):
        target = LogisticRegression(np.column_stack([X, copy]), rng.random(len(X)) < 0.24)
        assert [found.tolist() for found in target.dependent_columns()] == [group]


def test_starts_are_found_in_a_support_that_ends_before_the_mode():
    @numba.njit
    def beyond(theta):
        return -np.inf if theta[1] < 0.15 else -0.5 * theta[1] ** 2

    rng = np.random.default_rng(5)
    x = rng.normal(size=2000)
    y = rng.random(2000) < 1 / (1 + np.exp(-(0.3 + 0.1 * x)))
    tree = sample(LogisticRegression(np.column_stack([np.ones(2000), x]), y, prior=beyond), draws=1000, rng=1)
    assert (tree.posterior["theta"].values[:, :, 1] >= 0.15).all()


def test_a_column_that_a_sample_does_not_contain_is_not_collinear():
    X, y, _ = design(200_000)
    rare = np.zeros((len(X), 2))
    rare[::20_000, 0], rare[5::40_000, 1] = 1, 1
    y[::20_000] = np.arange(10) % 2
    y[5::40_000] = [0, 1, 0, 1, 1]
    target = LogisticRegression(np.column_stack([X, rare]), y)
    assert target.columns.open_directions.shape[1] > 0
    assert target.dependent_columns() == []
    assert target.modes[0].found
    assert np.abs(target.modes[0].point[4:]).max() < 5


# ---------------------------------------------------------------------------------------------------- far starts


@pytest.mark.parametrize(("mean", "dispersion"), [(1000, 100.0), (1e6, 1e6), (0.01, 0.5), (30, 1e4)])
def test_counts_far_from_one(mean, dispersion):
    y = np.random.default_rng(1).negative_binomial(dispersion, dispersion / (dispersion + mean), size=5000)
    mode = find_mode(GLM(np.ones((5000, 1)), y, NegativeBinomial(dispersion)), tolerance=1e-8)
    assert mode.found
    assert mode.point[0] == pytest.approx(np.log(y.mean()), rel=1e-5)


def test_a_search_from_a_flat_place_comes_back():
    """Where every row is certain the Hessian vanishes, and Newton's step is longer than any double."""
    X, y, _ = design(5000)
    target = LogisticRegression(X, y)
    mode = find_mode(target, start=np.array([40.0, 0, 0, 0]), patient=True, tolerance=1e-8)
    assert mode.point == pytest.approx(find_mode(target, tolerance=1e-8).point, abs=1e-3)


# --------------------------------------------------------------------------------------------------- known scales


@pytest.mark.parametrize("factor", [44.0, 2.5, 0.4, 0.01])
@pytest.mark.parametrize("family", [tunamh.Gaussian, tunamh.Huber, tunamh.StudentT])
def test_a_known_scale_far_from_the_residuals_is_reported(family, factor):
    X, _, rng = design(3000)
    y = X[:, 1] + factor * rng.standard_normal(3000)
    with pytest.warns(UserWarning, match=f"too {'small' if factor > 1 else 'large'}. Set scale="):
        sample(GLM(X, y, family(scale=1.0)), draws=10, tune=10, rng=1)


@pytest.mark.parametrize("factor", [0.6, 1.0, 1.7])
def test_a_known_scale_near_the_residuals_is_not(factor, recwarn):
    X, _, rng = design(3000)
    sample(GLM(X, X[:, 1] + factor * rng.standard_normal(3000), Gaussian(scale=1.0)), draws=10, tune=10, rng=1)
    assert not [w for w in recwarn if "scale" in str(w.message)]


def test_a_normal_prior_is_part_of_the_search():
    X, y, _ = design(500)
    mode = find_mode(LogisticRegression(X, y, prior=Normal(mean=3.0, scale=0.01)))
    assert mode.point == pytest.approx(np.full(4, 3.0), abs=0.05)


def test_a_prior_that_ends_does_not_hold_the_coefficients():
    """The shape's step led out of its support, far from the mode: no step was taken, and chains stayed there."""
    rng = np.random.default_rng(10)
    X, y = np.column_stack([np.ones(25), rng.standard_normal(25)]), 1e6 * rng.gamma(0.3, 1.0, 25)
    prior = tunamh.Normal(mean=[13.0, 0.0], scale=[1.0, 0.1])
    mode = find_mode(tunamh.GLM(X, y, tunamh.Gamma(shape=tunamh.priors.Uniform(0.25, 0.35)), prior=prior))
    assert mode.found
    assert abs(mode.point[0] - 12.5) < 0.5
