"""Simulation-based calibration of group effects: over many data sets, the truth's rank among the draws is uniform.

Few data sets in CI; `TUNAMH_SBC=200 pytest tests/groups/test_group_calibration.py` runs as many as it says.
"""

import os
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import stats

import tunamh
from tunamh import GroupEffects, MixedModel

DATA_SETS = int(os.environ.get("TUNAMH_SBC", "20"))
BINS = 10 if DATA_SETS >= 100 else 5
DRAWS, THIN = 99, 12


@dataclass(frozen=True)
class Case:
    """A family, how it responds, factors (groups, columns), the scale of the scales' priors, and what else is unknown.

    ``unknown`` is a variable of the posterior: a positive number under the prior `SCALE`, or cutpoints under `CUTS`.
    """

    family: Any
    respond: Any
    factors: tuple[tuple[int, int], ...]
    strength: float
    unknown: str | None = None
    rows: int = 120
    nested: bool = False  # groups of the first factor lie in those of the second
    df: float = 0.0  # of Student-t effects; 0: normal ones
    classes: int = 1  # without an order, but the reference: each has coefficients, scales and effects
    related: bool = False  # levels of the first factor have a known covariance, neighbours being alike
    further: str | None = None  # a parameter whose logarithm has coefficients, and the effects of the last factor


def _logistic(eta, noise, rng):
    return (rng.random(len(eta)) < 1 / (1 + np.exp(-eta))).astype(float)


def _poisson(eta, noise, rng):
    return rng.poisson(np.exp(np.minimum(eta, 8.0))).astype(float)


def _gaussian(eta, noise, rng):
    return eta + noise * rng.standard_normal(len(eta))


def _gaussian_of_log_scale(eta, log_scale, rng):
    return eta + np.exp(log_scale) * rng.standard_normal(len(eta))


def _student(eta, noise, rng):
    return eta + noise * rng.standard_t(4, len(eta))


def _negative_binomial(eta, dispersion, rng):
    return rng.poisson(rng.gamma(dispersion, np.exp(np.minimum(eta, 8.0)) / dispersion)).astype(float)


def _ordinal(eta, cutpoints, rng):
    latent = eta + rng.logistic(size=len(eta))
    return 1.0 + (latent[:, None] > cutpoints).sum(axis=1)


def _categorical(eta, noise, rng):
    from_zero = np.concatenate([np.zeros((len(eta), 1)), eta], axis=1)
    return (from_zero + rng.gumbel(size=from_zero.shape)).argmax(axis=1)


def _alike(n):
    return 0.6 ** np.abs(np.subtract.outer(np.arange(n), np.arange(n)))


SCALE, CUTS = tunamh.priors.LogNormal(0.0, 0.5), tunamh.Normal(scale=1.5)
CASES = {
    "intercepts": Case(tunamh.Logistic(), _logistic, ((12, 1),), 1.0),
    "weak intercepts": Case(tunamh.Logistic(), _logistic, ((12, 1),), 0.1),
    "few groups": Case(tunamh.Poisson(), _poisson, ((4, 1),), 0.5),
    "slopes": Case(tunamh.Logistic(), _logistic, ((10, 2),), 0.7),
    "crossed": Case(tunamh.Logistic(), _logistic, ((8, 1), (6, 1)), 0.7),
    "crossed counts with slopes": Case(tunamh.Poisson(), _poisson, ((8, 2), (6, 1)), 0.3),
    "Gaussian": Case(tunamh.Gaussian(SCALE), _gaussian, ((10, 1),), 1.0, unknown="scale"),
    "Gaussian slopes": Case(tunamh.Gaussian(SCALE), _gaussian, ((10, 2), (5, 1)), 1.0, unknown="scale"),
    "Student-t": Case(tunamh.StudentT(4, SCALE), _student, ((10, 1),), 1.0, unknown="scale"),
    "negative binomial": Case(
        tunamh.NegativeBinomial(SCALE), _negative_binomial, ((10, 1),), 0.5, unknown="dispersion"
    ),
    "ordinal": Case(tunamh.Ordinal(CUTS), _ordinal, ((10, 1),), 1.0, unknown="cutpoint"),
    "nested": Case(tunamh.Logistic(), _logistic, ((12, 1), (4, 1)), 0.7, nested=True),
    "nested, Gaussian": Case(tunamh.Gaussian(SCALE), _gaussian, ((12, 1), (4, 1)), 1.0, unknown="scale", nested=True),
    "Student-t effects": Case(tunamh.Logistic(), _logistic, ((12, 1),), 0.7, df=3.0),
    "Student-t slopes": Case(tunamh.Gaussian(SCALE), _gaussian, ((10, 2),), 1.0, unknown="scale", df=4.0),
    "classes": Case(tunamh.Categorical(), _categorical, ((8, 1),), 0.7, classes=2),
    "crossed classes with slopes": Case(tunamh.Categorical(), _categorical, ((8, 2), (6, 1)), 0.7, classes=2),
    "related levels": Case(tunamh.Logistic(), _logistic, ((12, 1), (6, 1)), 0.7, related=True),
    "related levels, Gaussian": Case(tunamh.Gaussian(SCALE), _gaussian, ((30, 1),), 1.0, "scale", 40, related=True),
    "groups of a scale": Case(tunamh.Gaussian(), _gaussian_of_log_scale, ((8, 1), (10, 2)), 0.7, further="scale"),
    "thin nested counts": Case(tunamh.Poisson(), _poisson, ((120, 1), (40, 1)), 0.5, nested=True),
    "many groups": Case(tunamh.Poisson(), _poisson, ((120, 1),), 0.7, rows=480),
}


def one_data_set(case, rng):
    """Ranks of coefficients, scales, a correlation if there is one, and one effect of every factor."""
    n_rows = case.rows
    X = np.column_stack([np.ones(n_rows), rng.standard_normal(n_rows)])
    if case.unknown == "cutpoint":  # which are the intercepts
        X = X[:, 1:]
        unknown = np.sort(1.5 * rng.standard_normal(2))
    else:
        unknown = np.exp(0.5 * rng.standard_normal(1))
    theta = 0.7 * rng.standard_normal((case.classes, X.shape[1]))
    eta, groups, truth = X @ theta.T, [], list(theta.ravel())
    gamma = 0.7 * rng.standard_normal(2)
    second = X @ gamma if case.further else None
    scales, related, effects = [], [], []
    codes = np.zeros(n_rows, int)
    for groups_of, q in case.factors:
        if case.nested and groups:
            codes = codes * groups_of // case.factors[0][0]
        else:
            codes = rng.integers(groups_of, size=n_rows)
            codes[:groups_of] = np.arange(groups_of)
        Z = X[:, :q] if q > 1 else np.ones((n_rows, 1))
        for k in range(case.classes):
            s = case.strength * np.abs(rng.standard_normal(q))
            r = rng.uniform(-1, 1)  # LKJ(1) of two effects
            root = np.array([[1.0, 0.0], [r, np.sqrt(1 - r * r)]])[:q, :q]
            v = rng.standard_normal((groups_of, q)) @ (s[:, None] * root).T
            K = _alike(groups_of) if case.related and not groups else None
            if K is not None:
                v = np.linalg.cholesky(K) @ v
            if case.df:  # a chi-squared number for all effects of a group
                v /= np.sqrt(rng.chisquare(case.df, (groups_of, 1)) / case.df)
            added = np.einsum("ij,ij->i", Z, v[codes])
            of = case.further if len(groups) == len(case.factors) - 1 else None
            if of is None:
                eta[:, k] += added
            else:
                second = second + added
            scales += list(s)
            related += [r] if q > 1 else []
            effects.append(v[0, -1])
        prior, law = tunamh.HalfNormal(case.strength), tunamh.priors.StudentT(df=case.df) if case.df else None
        name = f"f{len(groups)}"
        Z_or_none = Z if q > 1 else None
        groups.append(GroupEffects(codes, Z_or_none, name=name, scale=prior, law=law, predictor=of, covariance=K))
    eta = eta if case.classes > 1 else eta[:, 0]
    y = case.respond(eta, unknown if second is None else second, rng)
    if (case.unknown == "cutpoint" or case.classes > 1) and len(np.unique(y)) < 3:
        return one_data_set(case, rng)
    family, more = case.family, {}
    if case.further:
        family, more = tunamh.Gaussian(tunamh.Normal(scale=0.7)), {"predictors": {case.further: X}}
    model = MixedModel(X, y, family, groups, prior=tunamh.Normal(scale=0.7), **more)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        tree = tunamh.sample(model, draws=DRAWS, tune=300, chains=1, cores=1, thin=THIN, rng=rng.integers(1 << 30))
    posterior = tree.posterior
    found = [posterior["theta"].values[0], posterior["group_scale"].values[0]]
    if case.further:
        found.insert(1, posterior[case.further].values[0])
        truth += list(gamma)
    truth += scales
    if related:
        found.append(posterior["group_correlation"].values[0])
        truth += related
    if case.unknown is not None:
        found.append(posterior[case.unknown].values[0].reshape(DRAWS, -1))
        truth += list(unknown)
    at = 0
    for groups_of, q in case.factors:
        for _ in range(case.classes):
            found.append(posterior["group_effect"].values[0][:, at + q - 1, None])
            at += groups_of * q
    truth += effects
    return (np.concatenate(found, axis=1) < np.array(truth)).sum(axis=0)


def p_values(case, data_sets=DATA_SETS, seed=31):
    rng = np.random.default_rng(seed)
    ranks = np.array([one_data_set(case, rng) for _ in range(data_sets)])
    counts = [np.bincount((column * BINS / (DRAWS + 1)).astype(int), minlength=BINS) for column in ranks.T]
    return np.array([stats.chisquare(count).pvalue for count in counts])


@pytest.mark.parametrize("name", CASES)
def test_ranks_are_uniform(name):
    assert p_values(CASES[name]).min() > 1e-4
