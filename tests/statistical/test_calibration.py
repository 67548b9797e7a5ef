"""Simulation-based calibration (Talts et al. 2018): over 200 data sets, the truth's rank among the draws is uniform.

Families with further parameters see few data sets in CI; `TUNAMH_SBC=200 pytest tests/statistical/test_calibration.py`
runs as many as it says.
"""

import os
import sys
import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from scipy import stats

import tunamh
from tunamh import GLM, Logistic, Normal, StudentT, priors, sample

DATA_SETS, DRAWS, BINS = 200, 99, 10
N_ROWS, DIM = 150, 3
DESIGN = np.random.default_rng(21).standard_normal((N_ROWS, DIM)) * [1.0, 0.5, 2.0]


def simulated(family, theta, rng):
    eta = DESIGN @ theta
    if isinstance(family, Logistic):
        return (rng.random(N_ROWS) < 1 / (1 + np.exp(-eta))).astype(float)
    return eta + rng.standard_t(family.df, N_ROWS)


def ranks(family, prior_scale):
    """Ranks of the true parameters and of their log density among thinned draws by the automatic choice."""
    rng = np.random.default_rng(22)
    found, minibatches = np.empty((DATA_SETS, DIM + 1)), 0
    for row in found:
        theta = rng.standard_normal(DIM)
        target = GLM(DESIGN, simulated(family, theta, rng), family, prior=Normal(scale=prior_scale))
        tree = sample(target, draws=DRAWS, tune=200, chains=1, cores=1, thin=4, rng=rng.integers(1 << 30))
        minibatches += float(tree.sample_stats["batch_size"].mean()) < 0.5 * N_ROWS
        draws = tree.posterior["theta"].values[0]
        row[:DIM] = (draws < theta).sum(axis=0)
        row[DIM] = ((draws**2).sum(axis=1) < (theta**2).sum()).sum()
    assert minibatches == DATA_SETS
    return found


def least_p_value(found):
    counts = [np.bincount((column * BINS / (DRAWS + 1)).astype(int), minlength=BINS) for column in found.T]
    return min(stats.chisquare(count).pvalue for count in counts)


@pytest.mark.parametrize("family", [Logistic(), StudentT(4.0, scale=1.0)], ids=["logistic", "Student-t"])
def test_ranks_are_uniform(family):
    assert least_p_value(ranks(family, 1.0)) > 1e-3


def test_a_wrong_prior_shows():
    """Negative control: the draws of a posterior that believes in smaller parameters."""
    assert least_p_value(ranks(Logistic(), 0.4)) < 1e-6


# ------------------------------------------------------------------------------------ families with further parameters

FEW = int(os.environ.get("TUNAMH_SBC", "25"))
FEW_BINS = 10 if FEW >= 100 else 5
FEW_ROWS = 80
COLUMNS = np.column_stack([np.ones(FEW_ROWS), np.random.default_rng(23).standard_normal(FEW_ROWS)])
ENDS = np.random.default_rng(24).uniform(0.5, 4.0, FEW_ROWS)


@dataclass(frozen=True)
class Unknown:
    """A family, a draw of its further parameters from their prior, and responses given these."""

    family: Any
    prior: Any
    respond: Any
    extras: tuple[str, ...]
    columns: int = 2
    classes: int = 1


def sorted_cutpoints(rng):
    """Independent normals, given that they increase."""
    return np.sort(1.5 * rng.standard_normal(2))


def to_categories(eta, extra, rng):
    return (eta + rng.logistic(size=len(eta)) > extra[:, None]).sum(axis=0).astype(float)


def to_classes(eta, extra, rng):
    whole = np.stack([np.zeros(FEW_ROWS), *eta])
    return np.argmax(whole + rng.gumbel(size=whole.shape), axis=0).astype(float)


def counts_of(eta, extra, rng):
    return rng.poisson(np.exp(eta) * rng.gamma(extra[0], 1 / extra[0], len(eta))).astype(float)


CUTS = np.array([0.4, 1.5])


def walk_of_log_hazards(rng):
    return np.cumsum(np.array([1.0, 0.8, 0.8]) * rng.standard_normal(3)) - 0.3


def times_to_event(eta, extra, rng):
    """Where the cumulative hazard, a line in each piece, meets an exponential number."""
    ends, rates = np.append(CUTS, 1e9), np.exp(extra)
    at_ends = np.concatenate([[0.0], np.cumsum(rates * np.diff(ends, prepend=0.0))])
    wanted = rng.exponential(size=len(eta)) / np.exp(eta)
    piece = np.minimum(np.searchsorted(at_ends, wanted, side="right") - 1, 2)
    return np.append(0.0, CUTS)[piece] + (wanted - at_ends[piece]) / rates[piece]


CENSORED = ("censored Weibull", "piecewise hazards")
UNKNOWN = {
    "scale of Student-t": Unknown(
        tunamh.StudentT(4, tunamh.HalfNormal(1.0)),
        lambda rng: np.abs(rng.standard_normal(1)),
        lambda eta, extra, rng: eta + extra[0] * rng.standard_t(4, len(eta)),
        ("scale",),
    ),
    "degrees of freedom": Unknown(
        tunamh.StudentT(priors.Gamma(2, 4), priors.LogNormal(0, 0.5)),
        lambda rng: np.array([rng.lognormal(0, 0.5), rng.gamma(2, 4)]),
        lambda eta, extra, rng: eta + extra[0] * rng.standard_t(extra[1], len(eta)),
        ("scale", "df"),
    ),
    "dispersion": Unknown(
        tunamh.NegativeBinomial(priors.LogNormal(0.5, 0.7)),
        lambda rng: np.array([rng.lognormal(0.5, 0.7)]),
        counts_of,
        ("dispersion",),
    ),
    "cutpoints": Unknown(tunamh.Ordinal(Normal(scale=1.5)), sorted_cutpoints, to_categories, ("cutpoint",), columns=1),
    "classes": Unknown(tunamh.Categorical(), lambda rng: np.empty(0), to_classes, (), classes=2),
    "censored Weibull": Unknown(
        tunamh.Weibull(priors.Gamma(4, 0.4)),
        lambda rng: np.array([rng.gamma(4, 0.4)]),
        lambda eta, extra, rng: np.exp(eta) * rng.weibull(extra[0], len(eta)),
        ("shape",),
    ),
    "piecewise hazards": Unknown(
        tunamh.PiecewiseExponential(tuple(CUTS), priors.RandomWalk(0.8, Normal(mean=-0.3))),
        walk_of_log_hazards,
        times_to_event,
        ("log_hazard",),
        columns=1,
    ),
}


def ranks_of_all_parameters(name, believed=1.0):
    """Ranks of every parameter's true value; coefficients are drawn from N(0, 1), the model believes in another."""
    model, rng = UNKNOWN[name], np.random.default_rng(25)
    X = COLUMNS[:, -model.columns :]
    found = []
    while len(found) < FEW:
        theta = rng.standard_normal((model.classes, X.shape[1]))
        extra = model.prior(rng)
        y = model.respond(theta @ X.T if model.classes > 1 else X @ theta[0], extra, rng)
        more = {}
        if name in CENSORED:
            more["censored"], y = (y > ENDS).astype(float), np.clip(np.minimum(y, ENDS), 1e-12, None)
        seed = int(rng.integers(1 << 30))
        if name in ("cutpoints", "classes") and len(np.unique(y)) < 3:
            continue  # it is refused; ranks are uniform given any data, so also given that all categories occur
        target = GLM(X, y, model.family, prior=Normal(scale=believed), **more)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # one chain of a hundred draws has not converged by any standard
            tree = sample(target, draws=DRAWS, tune=300, chains=1, cores=1, thin=10, rng=seed, progressbar=False)
        draws = [tree.posterior[key].values[0].reshape(DRAWS, -1) for key in ("theta", *model.extras)]
        truth = np.concatenate([theta.ravel(), extra])
        found.append((np.concatenate(draws, axis=1) < truth).sum(axis=0))
    return np.array(found)


def p_values(found):
    """Of the ranks' uniformity, by counts in bins and by the largest gap of their distribution function."""
    counts = [np.bincount((column * FEW_BINS // (DRAWS + 1)).astype(int), minlength=FEW_BINS) for column in found.T]
    gaps = [stats.kstest((column + 0.5) / (DRAWS + 1), "uniform").pvalue for column in found.T]
    return np.array([[stats.chisquare(count).pvalue for count in counts], gaps])


@pytest.mark.parametrize("name", UNKNOWN)
def test_ranks_of_all_parameters_are_uniform(name):
    values = p_values(ranks_of_all_parameters(name))
    if FEW > 25:
        print(f"{name}: chi-square {values[0].round(3)}, Kolmogorov {values[1].round(3)}", file=sys.__stderr__)
    assert values.min() > 1e-3


def test_a_wrong_prior_of_coefficients_shows_in_few_data_sets():
    """Negative control."""
    assert p_values(ranks_of_all_parameters("cutpoints", believed=0.1)).min() < 1e-3


# --------------------------------------------------------------------------------------------------- the horseshoe


def ranks_of_the_horseshoe(data_sets, believed, seed=27):
    """Ranks of two coefficients and of the global scale: their logarithms have tails like a Cauchy law's own."""
    rng, found = np.random.default_rng(seed), []
    X = np.random.default_rng(28).standard_normal((FEW_ROWS, 4))
    while len(found) < data_sets:
        overall = 0.3 * abs(rng.standard_cauchy())
        theta = overall * np.abs(rng.standard_cauchy(4)) * rng.standard_normal(4)
        y = (rng.random(FEW_ROWS) < 1 / (1 + np.exp(-np.clip(X @ theta, -700, 700)))).astype(float)
        seed_of_chain = int(rng.integers(1 << 30))
        target = GLM(X, y, Logistic(), prior=priors.Horseshoe(believed))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = sample(target, draws=DRAWS, tune=500, chains=1, cores=1, thin=60, rng=seed_of_chain)
        posterior = tree.posterior
        draws = np.column_stack([posterior["theta"].values[0, :, :2], posterior["global_scale"].values[0]])
        found.append((draws < [*theta[:2], overall]).sum(axis=0))
    return np.array(found)


def test_ranks_under_the_horseshoe_are_uniform():
    values = p_values(ranks_of_the_horseshoe(FEW, 0.3))
    if FEW > 25:
        print(f"horseshoe: chi-square {values[0].round(3)}, Kolmogorov {values[1].round(3)}", file=sys.__stderr__)
    assert values.min() > 1e-3
