"""Normalised densities: priors integrate to one, and joint densities equal the chains' up to one constant."""

import numpy as np
import pandas as pd
import pytest
from scipy import integrate, special, stats

import tunamh
from tunamh import priors
from tunamh.errors import NotApplicable
from tunamh.priors.constants import log_density

RNG = np.random.default_rng(3)
N = 40
X = np.column_stack([np.ones(N), RNG.standard_normal(N), RNG.choice([0.0, 1.0], N)])
LABELS, COUNTS = RNG.integers(0, 2, N).astype(float), RNG.poisson(2.0, N).astype(float)
REALS, POSITIVE = RNG.standard_normal(N), RNG.gamma(2.0, 1.0, N)
SHARES, CLASSES = RNG.beta(2, 3, N), RNG.permutation(np.arange(N) % 3).astype(float)
CENSORED = RNG.choice([-1.0, 0.0, 1.0], N, p=[0.2, 0.6, 0.2])
TRIALS = COUNTS + RNG.integers(0, 5, N)
WEIGHTS = RNG.choice([0.5, 1.0, 3.0], N)
Z = np.column_stack([np.ones(N), RNG.standard_normal(N)])


def own_energy(eta, zeta, y):
    return 0.5 * ((y - eta) * np.exp(-zeta)) ** 2 + zeta + 0.9189385332046727


MODELS = {
    "logistic": (tunamh.Logistic(), LABELS, {}),
    "probit": (tunamh.Probit(), LABELS, {"weights": WEIGHTS}),
    "cloglog": (tunamh.Cloglog(), LABELS, {"offset": REALS}),
    "logistic trials": (tunamh.Logistic(), COUNTS, {"trials": TRIALS}),
    "probit trials": (tunamh.Probit(), COUNTS, {"trials": TRIALS, "weights": WEIGHTS}),
    "gaussian known": (tunamh.Gaussian(0.7), REALS, {}),
    "gaussian": (tunamh.Gaussian(), REALS, {"weights": WEIGHTS, "temper": 0.5}),
    "gaussian censored": (tunamh.Gaussian(), REALS, {"censored": CENSORED}),
    "gaussian by columns": (tunamh.Gaussian(), REALS, {"predictors": {"scale": Z}}),
    "student": (tunamh.StudentT(), REALS, {}),
    "student known df": (tunamh.StudentT(4.0), REALS, {}),
    "student known scale": (tunamh.StudentT(scale=0.5), REALS, {}),
    "huber": (tunamh.Huber(1.2), REALS, {}),
    "logistic errors": (tunamh.LogisticErrors(), REALS, {"censored": CENSORED}),
    "log-normal": (tunamh.LogNormal(), POSITIVE, {}),
    "log-logistic": (tunamh.LogLogistic(), POSITIVE, {"censored": CENSORED}),
    "weibull": (tunamh.Weibull(), POSITIVE, {"censored": CENSORED}),
    "weibull known": (tunamh.Weibull(1.3), POSITIVE, {}),
    "exponential": (tunamh.Exponential(), POSITIVE, {"censored": CENSORED}),
    "gamma": (tunamh.Gamma(), POSITIVE, {}),
    "gamma known": (tunamh.Gamma(2.0), POSITIVE, {}),
    "beta": (tunamh.Beta(), SHARES, {}),
    "beta by columns": (tunamh.Beta(), SHARES, {"predictors": {"precision": Z}}),
    "poisson": (tunamh.Poisson(), COUNTS, {"offset": REALS}),
    "negative binomial": (tunamh.NegativeBinomial(), COUNTS, {"weights": WEIGHTS}),
    "negative binomial known": (tunamh.NegativeBinomial(2.0), COUNTS, {}),
    "softplus": (tunamh.SoftplusPoisson(), COUNTS, {}),
    "zero-inflated": (tunamh.ZeroInflated(tunamh.Poisson()), COUNTS, {}),
    "zero-inflated by columns": (tunamh.ZeroInflated(tunamh.Poisson()), COUNTS, {"predictors": {"inflation": Z}}),
    "zero-inflated binomial": (tunamh.ZeroInflated(tunamh.NegativeBinomial()), COUNTS, {}),
    "hurdle": (tunamh.Hurdle(tunamh.Poisson()), COUNTS, {}),
    "classes": (tunamh.Categorical(), CLASSES, {"weights": WEIGHTS}),
    "ordinal": (tunamh.Ordinal(), CLASSES + 1, {}),
    "own": (tunamh.family(own_energy), REALS, {"predictors": {"zeta": Z}}),
    "own shared": (tunamh.family(own_energy), REALS, {}),
}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", MODELS)
def test_the_joint_density_is_that_of_the_chain_up_to_a_constant(name):
    """At four points; energies and closed forms are the chain's, the densities of responses and priors are not."""
    family, y, more = MODELS[name]
    columns = X[:, 1:] if isinstance(family, tunamh.Ordinal) else X
    target = tunamh.GLM(columns, y, family, prior=tunamh.Normal(mean=0.3, scale=1.5), **more)
    target.refuse_without_constants()
    start = target.row_layout.start
    about = np.zeros(target.dim) if start is None else target.to_chain(np.asarray(start, dtype=float))
    rng = np.random.default_rng(1)
    points = about + 0.1 * rng.standard_normal((4, target.dim)) * (1 + np.abs(about))
    joint = np.array([target.log_joint(point) for point in points])
    chain = -target.energies_at(points)
    assert np.ptp(joint) > 0.01
    np.testing.assert_allclose(joint - joint[0], chain - chain[0], atol=2e-6 * (1 + np.abs(joint[0])))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [name for name in MODELS if "known" not in name])
def test_jacobians_are_those_of_differences(name):
    family, y, more = MODELS[name]
    columns = X[:, 1:] if isinstance(family, tunamh.Ordinal) else X
    target = tunamh.GLM(columns, y, family, **more)
    form = target.row_layout.form
    if form is None:
        return
    point = target.to_chain(np.asarray(target.row_layout.start, dtype=float))
    h = 1e-5
    columns = [(target.to_user(point + h * e) - target.to_user(point - h * e)) / (2 * h) for e in np.eye(len(point))]
    wanted = np.linalg.slogdet(np.array(columns))[1]
    np.testing.assert_allclose(form.log_jacobian(point), wanted, atol=1e-5)


def test_the_likelihood_has_all_constants():
    """Against SciPy, with trials, weights, and classes."""
    eta = X @ [0.2, -0.4, 0.1]
    wanted = stats.binom.logpmf(COUNTS, TRIALS, special.expit(eta)).sum()
    prior = stats.norm.logpdf([0.2, -0.4, 0.1], 0, 2).sum()
    for family, mean in ((tunamh.Logistic(), special.expit), (tunamh.Probit(), stats.norm.cdf)):
        wanted = WEIGHTS @ stats.binom.logpmf(COUNTS, TRIALS, mean(eta)) + prior
        target = tunamh.GLM(X, COUNTS, family, prior=tunamh.Normal(scale=2), trials=TRIALS, weights=WEIGHTS)
        np.testing.assert_allclose(target.log_joint(np.array([0.2, -0.4, 0.1])), wanted, rtol=1e-10)
    target = tunamh.GLM(X, COUNTS, tunamh.Poisson(), prior=tunamh.Normal(scale=2))
    wanted = stats.poisson.logpmf(COUNTS, np.exp(eta)).sum() + prior
    np.testing.assert_allclose(target.log_joint(np.array([0.2, -0.4, 0.1])), wanted, rtol=1e-12)


# ------------------------------------------------------------------------------------------------------------- priors

OF_COEFFICIENTS = [
    tunamh.Normal(mean=0.4, scale=1.7),
    priors.StudentT(df=3.0, mean=0.4, scale=1.7),
    priors.Laplace(mean=0.4, scale=1.7),
    priors.Logistic(mean=0.4, scale=1.7),
    priors.Cauchy(scale=0.8),
]
OF_SCALES = [
    tunamh.HalfNormal(1.3),
    tunamh.HalfStudentT(4.0, 1.3),
    tunamh.HalfCauchy(1.3),
    priors.Exponential(0.7),
    priors.Gamma(2.5, 0.7),
    priors.InverseGamma(2.5, 0.7),
    priors.LogNormal(0.3, 0.8),
    priors.Uniform(0.5, 3.0),
    priors.OnVariance(priors.InverseGamma(2.5, 0.7)),
    priors.OnPrecision(priors.Gamma(2.5, 0.7)),
]


@pytest.mark.parametrize("prior", OF_COEFFICIENTS, ids=repr)
def test_priors_of_coefficients_integrate_to_one(prior):
    laws = prior.laws(1)
    total = integrate.quad(lambda x: np.exp(log_density(laws, np.array([x]))), -np.inf, np.inf, limit=400)[0]
    assert total == pytest.approx(1, abs=1e-6)
    positive = integrate.quad(lambda x: np.exp(log_density(laws, np.array([x]), positive=True)), 0, np.inf)[0]
    assert positive == pytest.approx(1, abs=1e-6)


@pytest.mark.parametrize("prior", OF_SCALES, ids=repr)
def test_priors_of_scales_integrate_to_one(prior):
    laws = prior.law()

    def density(x):
        return np.exp(log_density(laws, np.array([x]), positive=True))

    total = sum(integrate.quad(density, a, b, limit=400)[0] for a, b in ((0, 0.5), (0.5, 3.0), (3.0, np.inf)))
    assert total == pytest.approx(1, abs=1e-6)


def test_correlated_priors_have_their_determinant():
    covariance = np.array([[2.0, 0.6, 0.1], [0.6, 1.0, 0.2], [0.1, 0.2, 0.5]])
    prior = tunamh.Normal(mean=[0.1, 0.2, 0.3], covariance=covariance)
    target = tunamh.GLM(X, COUNTS, tunamh.Poisson(), prior=prior)
    theta = np.array([0.5, -0.2, 0.4])
    likelihood = stats.poisson.logpmf(COUNTS, np.exp(X @ theta)).sum()
    wanted = likelihood + stats.multivariate_normal.logpdf(theta, [0.1, 0.2, 0.3], covariance)
    np.testing.assert_allclose(target.log_joint(theta), wanted, rtol=1e-12)


def test_cutpoints_have_one_order_of_many():
    target = tunamh.GLM(X[:, 1:], CLASSES + 1, tunamh.Ordinal(cutpoint=tunamh.Normal(scale=2.0)))
    target = tunamh.GLM(
        X[:, 1:], CLASSES + 1, tunamh.Ordinal(cutpoint=tunamh.Normal(scale=2.0)), prior=tunamh.Normal(scale=1.0)
    )
    theta, cuts = np.array([0.3, -0.2]), np.array([-0.5, 0.9])
    below = special.expit(cuts[None] - (X[:, 1:] @ theta)[:, None])
    mass = np.diff(np.column_stack([np.zeros(N), below, np.ones(N)]), axis=1)[np.arange(N), CLASSES.astype(int)]
    wanted = np.log(mass).sum() + stats.norm.logpdf(theta).sum() + stats.norm.logpdf(cuts, 0, 2).sum() + np.log(2)
    np.testing.assert_allclose(target.log_joint(target.to_chain(np.append(theta, cuts))), wanted, rtol=1e-10)


def test_what_has_no_constant_is_refused():
    flat = tunamh.GLM(X, COUNTS, tunamh.Poisson())
    with pytest.raises(NotApplicable, match=r"prior of 0 is flat.*improper"):
        flat.refuse_without_constants()
    horseshoe = tunamh.GLM(X, REALS, tunamh.Gaussian(), prior=priors.Horseshoe(1.0))
    with pytest.raises(NotApplicable, match="unknown scales"):
        horseshoe.log_joint(np.ones(horseshoe.dim))  # of the coefficients alone; with their scales there is one
    table = pd.DataFrame({"x": X[:, 1], "t": POSITIVE})
    with pytest.raises(NotApplicable, match="PiecewiseExponential, or for delayed entry"):
        tunamh.regression("t ~ x", table, family=tunamh.PiecewiseExponential()).refuse_without_constants()
    improper = tunamh.Gaussian(priors.FlatPositive())
    with pytest.raises(NotApplicable, match="prior of scale is flat"):
        tunamh.GLM(X, REALS, improper, prior=tunamh.Normal(scale=2)).refuse_without_constants()
    cutpoint = tunamh.Ordinal(cutpoint=tunamh.Normal(mean=[-1.0, 1.0], scale=2.0))
    with pytest.raises(NotApplicable, match="one prior for all"):
        tunamh.GLM(X[:, 1:], CLASSES + 1, cutpoint, prior=tunamh.Normal(scale=2)).refuse_without_constants()


def test_rows_of_files_have_the_same_joint_density(tmp_path):
    table = pd.DataFrame({"x": X[:, 1], "y": COUNTS, "w": WEIGHTS})
    table.iloc[:25].to_parquet(tmp_path / "a.parquet")
    table.iloc[25:].to_parquet(tmp_path / "b.parquet")
    family = tunamh.NegativeBinomial(tunamh.HalfNormal(3.0))
    here = tunamh.regression("y ~ x", table, family=family, weights="w")
    there = tunamh.regression(
        "y ~ x", tunamh.open_rows(str(tmp_path / "*.parquet"), memory=1000), family=family, weights="w"
    )
    point = np.array([0.1, 0.2, 0.3])
    np.testing.assert_allclose(there.log_joint(point), here.log_joint(point), rtol=1e-9)
