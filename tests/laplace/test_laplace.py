"""The distance from Laplace's approximation, beside quadrature in one and two dimensions."""

from __future__ import annotations

import json
import warnings

import numpy as np
import pytest
from scipy.special import expit

import tunamh
from tunamh.laplace.gaussian import LaplaceGaussian, laplace_gaussian, moments
from tunamh.sampling.laplace_measure import total_variation_bound


def data(n_rows: int, d: int, intercept: float) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(3)
    X = rng.standard_normal((n_rows, d))
    X[:, 0] = 1.0
    return X, rng.random(n_rows) < expit(X @ np.r_[intercept, np.full(d - 1, 0.7)])


def rare_events(n_rows: int, d: int, intercept: float) -> tunamh.LogisticRegression:
    return tunamh.LogisticRegression(*data(n_rows, d, intercept), prior=tunamh.Normal(scale=5))


class Quadrature:
    """Posterior and Laplace's law of a logistic regression on a grid about the mode, by nothing of the library."""

    def __init__(self, n_rows: int, d: int, intercept: float, points: int = 161, reach: float = 9.0):
        X, y = data(n_rows, d, intercept)
        mode = np.zeros(d)
        for _ in range(50):
            p = expit(X @ mode)
            hessian = (X * (p * (1 - p))[:, None]).T @ X + np.eye(d) / 25
            mode = mode - np.linalg.solve(hessian, X.T @ (p - y) + mode / 25)
        self.mode, self.covariance = mode, np.linalg.inv(hessian)
        factor = np.linalg.cholesky(self.covariance)
        axes = np.meshgrid(*[np.linspace(-reach, reach, points)] * d, indexing="ij")
        z = np.stack([axis.ravel() for axis in axes], axis=1)
        theta = mode + z @ factor.T
        log_density = np.zeros(len(theta))
        for x, label in zip(X, y, strict=True):
            eta = theta @ x
            log_density += label * eta - np.logaddexp(0.0, eta)
        log_density -= 0.5 * np.square(theta).sum(axis=1) / 25
        density, normal = np.exp(log_density - log_density.max()), np.exp(-0.5 * np.square(z).sum(axis=1))
        pi, q = density / density.sum(), normal / normal.sum()
        self.total_variation = 0.5 * float(np.abs(pi - q).sum())
        mean = pi @ theta
        sd = np.sqrt(pi @ np.square(theta - mean))
        self.shift, self.ratio = (mean - mode) / sd, sd / np.sqrt(np.diag(self.covariance))


def by_name(tree, key: str) -> np.ndarray:
    return np.array(list(json.loads(tree.posterior.attrs[f"laplace_{key}"]).values()))


@pytest.mark.parametrize(("n_rows", "d", "intercept"), [(40, 1, -2.0), (150, 2, -3.0), (3000, 2, -1.0)])
def test_bound_shift_and_ratio_are_those_of_quadrature(n_rows, d, intercept):
    target = rare_events(n_rows, d, intercept)
    truth = Quadrature(n_rows, d, intercept)
    tree = tunamh.sample(target, draws=5000, rng=1)
    bound = tree.posterior.attrs["laplace_total_variation_bound"]
    assert truth.total_variation <= bound
    assert bound < 2.5 * truth.total_variation + 0.02  # 2 TV for all rows, and what minibatches and chance add
    for key, exact in (("mean_shift", truth.shift), ("sd_ratio", truth.ratio)):
        error = by_name(tree, f"{key}_error")
        assert (error < 0.03).all()
        np.testing.assert_array_less(np.abs(by_name(tree, key) - exact), 5 * error)


def test_quadrature_finds_the_rare_events_off():
    """The test above would pass at a distance of nothing: it is not that."""
    truth = Quadrature(150, 2, -3.0)
    assert truth.total_variation > 0.08
    assert np.abs(truth.shift).max() > 0.2


@pytest.mark.parametrize(
    "settings",
    [
        {"proposal": tunamh.Autoregressive(rho=0.97, robust_share=0.0)},
        {"proposal": tunamh.Autoregressive(rho=0.0, robust_share=0.9)},
        {"proposal": tunamh.Autoregressive(), "test": tunamh.MH()},
        {"proposal": tunamh.Autoregressive(), "test": tunamh.TunaMH()},
        {"proposal": tunamh.Autoregressive(), "control": tunamh.Taylor(order=1)},
    ],
    ids=["small steps", "other kinds", "all rows", "TunaMH", "order 1"],
)
def test_the_bound_does_not_depend_on_the_proposals_of_the_run(settings):
    target = rare_events(150, 2, -3.0)
    truth = Quadrature(150, 2, -3.0).total_variation
    tree = tunamh.sample(target, draws=5000, rng=2, **settings)
    assert truth <= tree.posterior.attrs["laplace_total_variation_bound"] < 2.5 * truth + 0.03
    if settings["proposal"].rho == 0.97:  # the run's own acceptance bounds nothing
        assert 1 - float(tree.sample_stats["acceptance_rate"].mean()) < truth


def test_a_law_that_is_far_off_has_a_bound_near_one():
    """A negative control: the same draws, held against laws that are moved by five standard deviations, or too wide."""
    target = rare_events(3000, 2, -1.0)
    expanded = tunamh.Taylor(order=2)(target)
    law, white = laplace_gaussian(expanded), expanded.whitened()
    walked = law.draws(400, np.random.default_rng(0)).reshape(4, 100, 2)
    kernel = tunamh.MetropolisHastings(tunamh.Autoregressive(), tunamh.MHSS(delayed=False)).bind(white)

    def bound(other: LaplaceGaussian) -> float:
        return total_variation_bound(white, other, kernel, walked, 50, np.random.SeedSequence(0))

    near = bound(law)
    assert near < 0.1
    assert bound(law._replace(mean=law.mean + 5 * law.factor[:, 0])) > 0.95
    assert bound(law._replace(factor=2 * law.factor)) > 0.4  # TV(N(0, I), N(0, 4 I)) in two dimensions is 0.47


def test_a_gaussian_posterior_is_its_own_approximation():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((500, 3))
    tree = tunamh.sample(tunamh.GLM(X, X.sum(axis=1) + rng.standard_normal(500), tunamh.Gaussian(scale=1.0)), rng=1)
    assert tree.posterior.attrs["laplace_total_variation_bound"] < 1e-9
    assert "It is accurate enough here." in repr(tunamh.summary(tree))


def test_with_many_rows_it_would_have_done():
    target = rare_events(200_000, 4, -1.0)
    tree = tunamh.sample(target, draws=2000, rng=1)
    assert tree.posterior.attrs["laplace_total_variation_bound"] < 0.05
    assert "It is accurate enough here." in repr(tunamh.summary(tree))


def test_unknown_scales_are_compared_in_natural_units():
    """Beside the same posterior on a grid of the coefficient and the scale."""
    rng = np.random.default_rng(5)
    X, n = np.ones((25, 1)), 25
    y = 1.0 + 2.0 * rng.standard_normal(n)
    target = tunamh.GLM(X, y, tunamh.Gaussian(scale=tunamh.HalfNormal(5.0)), prior=tunamh.Normal(scale=10))
    beta, scale = np.meshgrid(np.linspace(-3, 5, 801), np.linspace(0.8, 5, 801), indexing="ij")
    log_density = -n * np.log(scale) - 0.5 * (n * (beta - y.mean()) ** 2 + n * y.var()) / scale**2
    log_density -= 0.5 * (beta / 10) ** 2 + 0.5 * (scale / 5) ** 2
    weight = np.exp(log_density - log_density.max())
    weight /= weight.sum()
    approximation = tunamh.laplace(target, check=False)
    mean = np.array([(weight * beta).sum(), (weight * scale).sum()])
    sd = np.sqrt([(weight * (beta - mean[0]) ** 2).sum(), (weight * (scale - mean[1]) ** 2).sum()])
    tree = tunamh.sample(target, draws=5000, rng=1)
    for key, exact in (("mean_shift", (mean - approximation.mean) / sd), ("sd_ratio", sd / approximation.sd)):
        np.testing.assert_array_less(np.abs(by_name(tree, key) - exact), 5 * by_name(tree, f"{key}_error"))
    assert list(json.loads(tree.posterior.attrs["laplace_mean_shift"])) == ["theta[0]", "scale"]


def test_moments_in_natural_units_are_those_of_many_draws():
    rng = np.random.default_rng(6)
    X = rng.standard_normal((60, 2))
    approximation = tunamh.laplace(
        tunamh.GLM(X, X.sum(axis=1) + rng.standard_normal(60), tunamh.Gaussian()), check=False
    )
    mean, covariance = moments(approximation.target, approximation.law)
    draws = approximation.target.to_user(approximation.law.draws(400_000, rng))
    np.testing.assert_array_less(np.abs(draws.mean(axis=0) - mean) / approximation.sd, 0.01)
    np.testing.assert_allclose(draws.std(axis=0), np.sqrt(np.diag(covariance)), rtol=0.01)


# ------------------------------------------------------------------------------------------------ tunamh.laplace


def test_the_approximation_is_mode_and_hessian():
    target = rare_events(3000, 2, -1.0)
    truth = Quadrature(3000, 2, -1.0, points=3)
    approximation = tunamh.laplace(target)
    np.testing.assert_allclose(approximation.mode, truth.mode, atol=1e-3 * approximation.sd.min())
    np.testing.assert_allclose(approximation.covariance, truth.covariance, rtol=0.02)
    assert approximation.distance is not None
    assert approximation.names == ["theta[0]", "theta[1]"]


def test_its_draws_look_like_those_of_sample_and_are_marked():
    rng = np.random.default_rng(1)
    X = rng.standard_normal((300, 2))
    target = tunamh.GLM(X, X.sum(axis=1) + rng.standard_t(4, 300), tunamh.StudentT(df=4))
    approximation, exact = tunamh.laplace(target), tunamh.sample(target, draws=50, rng=1)
    tree = approximation.sample(50, rng=1)
    assert {k: v.shape for k, v in tree.posterior.items()} == {k: v.shape for k, v in exact.posterior.items()}
    assert tree.posterior["theta"].dims == exact.posterior["theta"].dims
    assert (tree.posterior["scale"] > 0).all()
    assert tree.posterior.attrs["exact"] == 0
    assert list(approximation.summary().index) == ["theta[0] (inexact)", "theta[1] (inexact)", "scale (inexact)"]
    again = approximation.sample(50, rng=1).posterior
    assert again["theta"].equals(tree.posterior["theta"])


def test_it_warns_where_it_is_off_and_only_there():
    with pytest.warns(
        tunamh.LaplaceOff, match=r"may be as large as 0\.\d\d; the mean of theta\[0\] is 0\.\d\d .* below"
    ):
        off = tunamh.laplace(rare_events(150, 2, -3.0))
    assert off.distance.total_variation > 0.1
    assert "It is not accurate enough here." in repr(off)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        tunamh.laplace(rare_events(20_000, 2, -1.0))
        tunamh.laplace(rare_events(150, 2, -3.0), check=False)


def test_where_there_is_none_it_says_so():
    X = np.random.default_rng(0).standard_normal((400, 2))
    with pytest.raises(tunamh.ImproperPosterior, match="separable"):
        tunamh.laplace(tunamh.LogisticRegression(X, X[:, 0] > 0))
    bad = np.r_[np.full(20, -10.0), np.full(20, 10.0)] + 0.1 * X[:40, 0]
    robust = tunamh.RobustRegression(np.ones((40, 1)), bad, df=2, scale=1.0)
    with pytest.warns(UserWarning, match="modes|residual"), pytest.raises(tunamh.NotApplicable, match="2 modes"):
        tunamh.laplace(robust)
    with pytest.raises(tunamh.NotApplicable, match="no reliable Laplace approximation"):
        tunamh.laplace(tunamh.FiniteWalk(X[:, 0], states=5))
    with pytest.raises(TypeError, match="must be a tunamh target"):
        tunamh.laplace(X)
