"""The evidence: against quadrature, importance sampling and Savage-Dickey, and whether it tells its error."""

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

import tunamh
from tunamh import priors
from tunamh.errors import NotApplicable
from tunamh.marginal.estimate import AllRows, posterior_ordinate
from tunamh.marginal.pairs import MinibatchTest
from tunamh.marginal.proposal_law import NormalMixture
from tunamh.sampling.choice import expanded_about_mode

pytestmark = pytest.mark.filterwarnings("ignore")  # runs are short

RNG = np.random.default_rng(8)
N = 400
X = np.column_stack([np.ones(N), RNG.standard_normal(N)])
ETA = X @ [0.4, 0.6]
PRIOR = tunamh.Normal(scale=2.5)


def by_quadrature(log_joint, centre, sd, points=41, width=9.0):
    """The trapezoid rule, of which the error is that of the tails, about a centre."""
    grid = np.linspace(-width, width, points)
    at = np.stack(np.meshgrid(*[grid] * len(centre), indexing="ij"), axis=-1).reshape(-1, len(centre))
    values = log_joint(np.asarray(centre) + at * sd)
    return special.logsumexp(values) + np.log((grid[1] - grid[0]) * np.asarray(sd)).sum()


def of_coefficients(theta):
    return stats.norm.logpdf(theta, 0, 2.5).sum(axis=1)


LABELS = RNG.binomial(1, special.expit(ETA)).astype(float)
COUNTS = RNG.negative_binomial(3.0, 3.0 / (3.0 + np.exp(ETA))).astype(float)
REALS = ETA + 0.7 * RNG.standard_normal(N)


def logistic(theta):
    eta = theta @ X.T
    return (LABELS * eta - np.logaddexp(0, eta)).sum(axis=1) + of_coefficients(theta)


def poisson(theta):
    return stats.poisson.logpmf(COUNTS, np.exp(theta @ X.T)).sum(axis=1) + of_coefficients(theta)


def gaussian(theta):
    """In the logarithm of the scale."""
    scale = np.exp(theta[:, 2])
    rows = stats.norm.logpdf(REALS, theta[:, :2] @ X.T, scale[:, None]).sum(axis=1)
    return rows + of_coefficients(theta[:, :2]) + stats.halfnorm.logpdf(scale, 0, 2.0) + theta[:, 2]


def negative_binomial(theta):
    r, mean = np.exp(theta[:, 2:]), np.exp(theta[:, :2] @ X.T)
    rows = stats.nbinom.logpmf(COUNTS, r, r / (r + mean)).sum(axis=1)
    return rows + of_coefficients(theta[:, :2]) + stats.expon.logpdf(r[:, 0], 0, 3.0) + theta[:, 2]


def inflated(theta):
    p, mean = special.expit(theta[:, 2:]), np.exp(theta[:, :2] @ X.T)
    mass = (1 - p) * stats.poisson.pmf(COUNTS, mean) + p * (COUNTS == 0)
    return np.log(mass).sum(axis=1) + of_coefficients(theta[:, :2]) + np.log(p * (1 - p))[:, 0]


CASES = {
    "logistic": (tunamh.Logistic(), LABELS, logistic, lambda point: point),
    "poisson": (tunamh.Poisson(), COUNTS, poisson, lambda point: point),
    "gaussian": (tunamh.Gaussian(tunamh.HalfNormal(2.0)), REALS, gaussian, lambda p: np.append(p[:2], np.log(p[2]))),
    "negative binomial": (
        tunamh.NegativeBinomial(priors.Exponential(3.0)),
        COUNTS,
        negative_binomial,
        lambda p: np.append(p[:2], np.log(p[2])),
    ),
    "zero-inflated": (
        tunamh.ZeroInflated(tunamh.Poisson()),
        COUNTS,
        inflated,
        lambda p: np.append(p[:2], special.logit(p[2])),
    ),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_the_evidence_is_that_of_quadrature(name):
    family, y, log_joint, free = CASES[name]
    target = tunamh.GLM(X, y, family, prior=PRIOR)
    posterior = tunamh.sample(target, draws=2000, rng=1, progressbar=False)
    draws = posterior.posterior
    natural = np.column_stack(
        [draws["theta"].values.reshape(-1, 2), *(draws[v].values.reshape(-1, 1) for v in draws if v != "theta")]
    )
    at = np.array([free(point) for point in natural])
    points = 41 if at.shape[1] == 2 else 21
    wanted = by_quadrature(log_joint, at.mean(axis=0), at.std(axis=0), points, 8.0)
    found = tunamh.evidence(target, posterior, rng=2)
    assert found.se < 0.02
    assert abs(found.log_evidence - wanted) < 4 * found.se + 1e-3
    assert tunamh.evidence(posterior) == found  # it is kept in the result


# ------------------------------------------------------------------------------------- the estimate is exact in parts


def test_the_ordinate_of_a_normal_law_is_exact():
    """If the proposal is the posterior, every acceptance probability is 1, and there is no error."""
    target = tunamh.GLM(X, REALS, tunamh.Gaussian(0.7), prior=PRIOR)
    precision = X.T @ X / 0.49 + np.eye(2) / 6.25
    mean = np.linalg.solve(precision, X.T @ REALS / 0.49)
    law = NormalMixture.of_one(mean, np.linalg.inv(np.linalg.cholesky(precision)).T)
    draws = law.draws(2000, RNG).reshape(2, 1000, 2)
    found = posterior_ordinate(draws, law, AllRows(target), 1000, RNG)
    assert found.se < 1e-9
    covariance = 6.25 * X @ X.T + 0.49 * np.eye(N)
    wanted = stats.multivariate_normal.logpdf(REALS, np.zeros(N), covariance)
    np.testing.assert_allclose(target.log_joint(mean) - found.log_density, wanted, rtol=1e-9)


@pytest.mark.parametrize("minibatch", [True, False])
def test_any_proposal_gives_the_same_ordinate(minibatch):
    """A poor law, shifted and too wide, costs accuracy and is no bias; without one of the means it would be one."""
    target = tunamh.GLM(X, LABELS, tunamh.Logistic(), prior=PRIOR)
    mode = target.modes[0]
    factor = mode.posterior.metric().factor
    draws = tunamh.sample(target, draws=4000, rng=3, progressbar=False).posterior["theta"].values
    expanded = expanded_about_mode(target, 2)[0]
    test = MinibatchTest(expanded, 20.0, np.random.SeedSequence(1)) if minibatch else AllRows(target)
    wanted = by_quadrature(logistic, mode.point, np.diag(factor @ factor.T) ** 0.5)
    law = NormalMixture.of_one(mode.point + 0.7 * factor[:, 0], 1.4 * factor)
    found = posterior_ordinate(draws, law, test, 8000, np.random.default_rng(4))
    estimate = target.log_joint(law.centre) - found.log_density
    assert abs(estimate - wanted) < 4 * found.se
    assert found.se < 0.02
    assert abs(np.log(found.acceptance[0])) > 10 * found.se  # negative control: both means count
    assert abs(np.log(found.acceptance[1])) > 10 * found.se


def test_the_stated_error_is_the_error():
    """Over 40 seeds; benchmarks/evidence.py has 200 of several models."""
    target = tunamh.GLM(X, LABELS, tunamh.Logistic(), prior=PRIOR)
    mode = target.modes[0]
    wanted = by_quadrature(logistic, mode.point, np.linalg.norm(mode.posterior.metric().factor, axis=1), 61)
    found = [tunamh.evidence(target, rng=seed, proposals=1000) for seed in range(40)]
    z = np.array([(one.log_evidence - wanted) / one.se for one in found])
    assert abs(z.mean()) < 4 / np.sqrt(40)
    assert 0.7 < z.std() < 1.4


def test_the_evidence_of_many_columns_is_that_of_importance_sampling():
    """On all rows, with 12 columns and weights."""
    rng = np.random.default_rng(5)
    more = np.column_stack([np.ones(3000), rng.standard_normal((3000, 11))])
    y = rng.poisson(np.exp(0.3 * more[:, 1] - 0.2 * more[:, 2])).astype(float)
    weights = rng.choice([0.5, 2.0], 3000)
    target = tunamh.GLM(more, y, tunamh.Poisson(), prior=priors.StudentT(df=4.0, scale=1.0), weights=weights)
    mode = target.modes[0]
    law = NormalMixture.of_one(mode.point, 1.1 * mode.posterior.metric().factor)
    points = law.draws(4000, rng)
    log_weights = np.array([target.log_joint(point) for point in points[:1]])
    constant = log_weights[0] + target.energies_at(points[:1])[0]
    values = constant - np.concatenate([target.energies_at(part) for part in np.split(points, 40)])
    ratio = np.exp(values - law.log_density(points) - values.max())
    wanted = np.log(ratio.mean()) + values.max()
    found = tunamh.evidence(target, rng=1)
    error = np.hypot(found.se, ratio.std() / ratio.mean() / np.sqrt(4000))
    assert abs(found.log_evidence - wanted) < 4 * error
    assert error < 0.02


def test_nested_models_agree_with_savage_and_dickey():
    """The Bayes factor of a coefficient is its posterior density at 0 over its prior density there."""
    table = pd.DataFrame({"x": X[:, 1], "u": RNG.standard_normal(N), "y": LABELS})
    both = tunamh.regression("y ~ x + u", table, family=tunamh.Logistic(), prior=PRIOR)
    without = tunamh.regression("y ~ x", table, family=tunamh.Logistic(), prior=PRIOR)
    posterior = tunamh.sample(both, draws=10_000, rng=1, progressbar=False)
    factor, se = tunamh.evidence(without, rng=1).bayes_factor(tunamh.evidence(both, posterior, rng=2))
    u = posterior.posterior["u"].values.ravel()
    z = (0 - u.mean()) / u.std()  # the posterior of a coefficient of 400 rows is nearly normal
    wanted = stats.norm.pdf(z) / u.std() / stats.norm.pdf(0, 0, 2.5)
    assert abs(factor - wanted) < 4 * se + 0.05 * wanted


def test_several_modes_share_the_evidence():
    """A robust regression with two modes: proposals come from both, decided on all rows."""
    x = np.column_stack([np.ones(40), np.zeros(40)])
    x[:, 1] = RNG.standard_normal(40)
    y = np.where(np.arange(40) % 2 == 0, -6.0, 6.0) + 0.3 * RNG.standard_normal(40)
    family = tunamh.StudentT(1.5, 0.3)
    target = tunamh.GLM(x[:, :1], y, family, prior=tunamh.Normal(scale=5.0))
    grid = np.linspace(-12, 12, 4001)
    rows = stats.t.logpdf((y[:, None] - grid) / 0.3, 1.5).sum(axis=0) - 40 * np.log(0.3)
    wanted = special.logsumexp(rows + stats.norm.logpdf(grid, 0, 5)) + np.log(grid[1] - grid[0])
    found = tunamh.evidence(target, rng=1)
    assert len(target.modes) == 2
    assert abs(found.log_evidence - wanted) < 4 * found.se + 1e-3


# ---------------------------------------------------------------------------------------------------- what is refused


def test_what_has_no_evidence_is_refused(tmp_path):
    table = pd.DataFrame({"x": X[:, 1], "y": LABELS})
    with pytest.raises(NotApplicable, match="improper"):
        tunamh.evidence(tunamh.GLM(X, LABELS, tunamh.Logistic()))
    target = tunamh.regression("y ~ x", table, family=tunamh.Logistic())
    posterior = tunamh.sample(target, draws=100, rng=1, progressbar=False)
    with pytest.raises(NotApplicable, match="does not contain its evidence"):
        tunamh.evidence(posterior)
    other = tunamh.regression("y ~ 1", table, family=tunamh.Logistic())
    with pytest.raises(ValueError, match=r"other data|another model"):
        tunamh.evidence(other, posterior)
    with pytest.raises(TypeError, match="regression"):
        tunamh.evidence(3)


def test_rows_that_are_not_in_memory_have_their_evidence(tmp_path):
    table = pd.DataFrame({"x": np.tile(X[:, 1], 10), "y": np.tile(LABELS, 10)})
    table["x"] += 0.01 * RNG.standard_normal(len(table))
    table.to_parquet(tmp_path / "a.parquet")
    here = tunamh.regression("y ~ x", table, family=tunamh.Logistic(), prior=PRIOR)
    there = tunamh.regression(
        "y ~ x", tunamh.open_rows(str(tmp_path / "*.parquet"), memory=60_000), family=tunamh.Logistic(), prior=PRIOR
    )
    wanted, found = tunamh.evidence(here, rng=1), tunamh.evidence(there, rng=2, proposals=1000)
    assert abs(found.log_evidence - wanted.log_evidence) < 4 * np.hypot(found.se, wanted.se)
