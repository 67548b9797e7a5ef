"""Distribution functions of families, scores of residuals and sums of them, against integrals and sums."""

import numpy as np
import pytest
from own_data import CUTPOINTS, families, parameters, predictors
from scipy import stats

from tunamh.checking.quantiles import between
from tunamh.checking.scores import THIRD, VARIANCE, Between, quantile, residual, scores
from tunamh.checking.statistics import Moments, by_level, normal_scores, smooth_weights, total, trend
from tunamh.checking.survival import kaplan_meier
from tunamh.prediction.times import Seen

FAMILIES, ALL_SEEN = families(), Seen(None, None)
X, A = np.array([-1.0, 0.3, 1.5]), np.array([0, 1, 2])


def law_of(name):
    family = FAMILIES[name]
    p = {**parameters(family), "cutpoint": CUTPOINTS}
    if family.of_labels:
        p["trials"] = np.array([1.0, 4.0, 7.0])
    return family.response_distribution(), predictors(family, X, A), p


@pytest.mark.parametrize("name", [name for name, one in FAMILIES.items() if one.response_distribution().discrete])
def test_distribution_functions_add_up_probabilities(name):
    law, eta, p = law_of(name)
    below = np.zeros(eta.shape[:2])
    for value in range(3 if law.of_classes else 8):
        y = np.full(3, float(value))
        with np.errstate(divide="ignore"):
            below = below + np.exp(law.log_density(y, eta, p))
        up_to, above = law.tails(y, eta, p)
        np.testing.assert_allclose(up_to, below, atol=1e-12)
        np.testing.assert_allclose(above, 1 - below, atol=1e-12)
    before = law.tails(np.full(3, -1.0), eta, p)
    np.testing.assert_array_equal(np.broadcast_to(before[0], eta.shape[:2]), 0.0)
    np.testing.assert_array_equal(np.broadcast_to(before[1], eta.shape[:2]), 1.0)


@pytest.mark.parametrize("name", [name for name, one in FAMILIES.items() if not one.response_distribution().discrete])
def test_distribution_functions_have_the_density_as_derivative(name):
    law, eta, p = law_of(name)
    for share in (0.02, 0.3, 0.6, 0.97):
        y = np.quantile(law.draw(np.random.default_rng(1), np.repeat(eta, 500, axis=0), p), share, axis=0)
        step = 1e-5 * y.std() + 1e-6
        (low, over_low), (high, over_high) = law.tails(y - step, eta, p), law.tails(y + step, eta, p)
        density = np.exp(law.log_density(y, eta, p))
        np.testing.assert_allclose((high - low) / (2 * step), density, rtol=1e-4)
        np.testing.assert_allclose((over_low - over_high) / (2 * step), density, rtol=1e-4)
        np.testing.assert_allclose(low + over_low, 1.0, atol=1e-12)


def test_far_tails_are_numbers():
    """Thirty standard deviations away a residual is still right: both tails are computed, each where it is small."""
    law = FAMILIES["Gaussian"].response_distribution()
    found = between(law, np.array([-30.0, 30.0]), np.zeros((1, 2)), {"scale": np.array([[1.0]])}, ALL_SEEN)
    np.testing.assert_allclose(found.low, [[-30.0, 30.0]], rtol=1e-9)


INTERVALS = [(-np.inf, -0.5), (-0.5, 0.2), (0.2, 1.7), (1.7, np.inf), (-6.0, -5.0), (5.0, 6.0), (-np.inf, np.inf)]


@pytest.mark.parametrize(("low", "high"), INTERVALS)
def test_scores_are_means_over_what_is_not_known(low, high):
    ends = (stats.norm.cdf(low), stats.norm.cdf(high)) if high <= 0 else (stats.norm.sf(high), stats.norm.sf(low))
    share = (np.arange(200_000) + 0.5) / 200_000
    u = ends[0] + share * (ends[1] - ends[0])
    r = stats.norm.ppf(u) if high <= 0 else stats.norm.isf(u)
    at_each = scores(Between(r, r))
    found = scores(Between(np.array([low]), np.array([high])))[:, 0]
    np.testing.assert_allclose(found, at_each.mean(axis=1), atol=2e-4)
    drawn = residual(Between(np.full(9, low), np.full(9, high)), np.linspace(0.05, 0.95, 9))
    wanted = np.quantile(r, np.linspace(0.05, 0.95, 9))
    np.testing.assert_allclose(drawn, wanted, atol=1e-3)


def test_variances_and_third_moments_of_scores():
    r = stats.norm.ppf((np.arange(1_000_000) + 0.5) / 1_000_000)
    found = scores(Between(r, r))
    np.testing.assert_allclose(found.mean(axis=1), 0.0, atol=1e-4)
    np.testing.assert_allclose((found**2).mean(axis=1), VARIANCE, rtol=1e-3)
    np.testing.assert_allclose((found**3).mean(axis=1), THIRD, rtol=3e-3, atol=1e-4)


@pytest.mark.parametrize("shift", [0.0, 0.1])
def test_scores_of_counts_have_mean_zero_under_their_law(shift):
    """And not under another one: the negative control."""
    law, counts = stats.poisson(1.7), np.arange(60.0)
    ends = [quantile(law.cdf(at), law.sf(at)) for at in (counts - 1, counts)]
    mean = scores(Between(*ends)) @ stats.poisson(1.7 + shift).pmf(counts)
    assert (np.abs(mean) < 1e-9).all() if shift == 0 else np.abs(mean).max() > 0.03


# -------------------------------------------------------------------------------------------------- sums of scores


def test_sums_of_skewed_scores_have_the_right_tails():
    """A Poisson number of 20 events: tails that a normal law misses by a factor of 10 are met within a half."""
    n = 1000
    rows = Moments(np.zeros(n), np.full(n, 0.02), np.full(n, 0.02))
    for events in (35, 40, 8, 5):
        found = total(rows._replace(score=np.full(n, (events - 20) / n)))
        wanted = stats.poisson.sf(events - 0.5, 20) if events > 20 else stats.poisson.cdf(events + 0.5, 20)
        tail = stats.norm.sf(abs(found))
        assert 0.5 < tail / wanted < 2
    plain = stats.norm.sf((40 - 20) / np.sqrt(20))
    assert stats.poisson.sf(39, 20) > 8 * plain


def test_weights_are_orthonormal_under_the_variances():
    rng = np.random.default_rng(3)
    x, v = rng.integers(9, size=500).astype(float), rng.gamma(0.5, size=500)
    W = smooth_weights(x, v, 3, True)
    np.testing.assert_allclose(W.T @ (v[:, None] * W), np.eye(4), atol=1e-10)
    assert smooth_weights(np.zeros(500), v, 3, True).any(axis=0).sum() == 1
    assert trend(np.zeros(500), Moments(v, v, v)) == 1.0
    z = normal_scores(W, Moments(rng.normal(size=500) * np.sqrt(v), v, 0 * v))
    assert np.abs(z).max() < 4


def test_levels_with_few_rows_are_left_out():
    codes = np.repeat([0, 1, 2], [3, 40, 40])
    rows = Moments(np.where(codes == 2, 1.0, 0.0), np.ones(83), np.zeros(83))
    found = by_level(codes, rows, fewest=5, least=0.0)
    assert found.levels.tolist() == [1, 2]
    np.testing.assert_allclose(found.z, [0.0, np.sqrt(40)])
    assert found.p < 1e-8


def test_kaplan_and_meier_by_hand():
    """Six patients: 1, 2+, 2, 4+, 5, 5 survive by 5/6, 5/6 * 4/5, then 0."""
    time, seen = np.array([1.0, 2, 2, 4, 5, 5]), np.array([True, False, True, False, True, True])
    estimate, error = kaplan_meier(time, seen, np.array([0.5, 1.0, 2.0, 4.5, 5.0]))
    np.testing.assert_allclose(estimate, [1.0, 5 / 6, 2 / 3, 2 / 3, 0.0], atol=1e-12)
    np.testing.assert_allclose(error[:3], [0.0, np.sqrt(1 / 30), np.sqrt(1 / 30 + 1 / 20)])
