"""Simulation-based calibration of a curve with three predictors (Talts et al. 2018): ranks of its parameters.

`TUNAMH_SBC=200 pytest -s tests/statistical/test_nonlinear_calibration.py` runs so many data sets for each case, and
prints the least p-values.
"""

import os
import warnings

import numpy as np
import pytest
from scipy import stats

import tunamh
from tunamh import Normal

DATA_SETS = int(os.environ.get("TUNAMH_SBC", "25"))
DRAWS, BINS, N_ROWS, GROUPS = 99, 10 if DATA_SETS >= 100 else 5, 80, 6
_rng = np.random.default_rng(41)
X = _rng.standard_normal(N_ROWS)
X -= X.mean()
DOSE = _rng.choice([0.3, 1.0, 3.0, 10.0], N_ROWS)
BATCH = np.arange(N_ROWS) % GROUPS

pytestmark = pytest.mark.slow


def hill(top, log_ed50, log_sigma, y, dose):
    curve = top * dose / (np.exp(log_ed50) + dose)
    return log_sigma + 0.5 * ((y - curve) * np.exp(-log_sigma)) ** 2


def hill_of_wrong_errors(top, log_ed50, log_sigma, y, dose):
    """The control: errors are believed to be twice as large as their scale says."""
    curve = top * dose / (np.exp(log_ed50) + dose)
    return log_sigma + 0.5 * ((y - curve) * np.exp(-log_sigma) / 2) ** 2


PRIOR = {"top": (3.0, 1.0), "top x": (0.0, 0.5), "log_ed50": (0.5, 0.5), "log_sigma": (-0.7, 0.4)}
NAMES = {"top": "top_Intercept", "top x": "top_x", "log_ed50": "log_ed50_Intercept", "log_sigma": "log_sigma_Intercept"}


def ranks(grouped, energy=hill):
    """Of the truths among thinned draws: coefficients and, with groups, their scale."""
    rng, found = np.random.default_rng(42), []
    prior = {name: Normal(mean=mean, scale=scale) for name, (mean, scale) in PRIOR.items()}
    formulas = {"top": "~ x", "log_ed50": "~ 1", "log_sigma": "~ 1"}
    if grouped:
        formulas["log_ed50"] = "~ 1 + (1 | batch)"
        prior["log_ed50 (1 | batch)"] = tunamh.HalfNormal(0.5)
    for _ in range(DATA_SETS):
        truth = {name: rng.normal(*numbers) for name, numbers in PRIOR.items()}
        tau = abs(0.5 * rng.standard_normal()) if grouped else 0.0
        log_ed50 = truth["log_ed50"] + (tau * rng.standard_normal(GROUPS))[BATCH]
        curve = (truth["top"] + truth["top x"] * X) * DOSE / (np.exp(log_ed50) + DOSE)
        y = curve + np.exp(truth["log_sigma"]) * rng.standard_normal(N_ROWS)
        table = {"y": y, "x": X, "dose": DOSE, "batch": np.array([f"b{k}" for k in BATCH])}
        target = tunamh.nonlinear(energy, table, formulas, prior=prior)
        tree = tunamh.sample(
            target, draws=DRAWS, tune=300, chains=1, cores=1, thin=4, rng=rng.integers(1 << 30), progressbar=False
        )
        row = [float((tree.posterior[NAMES[name]].values[0] < value).sum()) for name, value in truth.items()]
        if grouped:
            row.append(float((tree.posterior["log_ed50_1|batch_sigma"].values[0] < tau).sum()))
        found.append(row)
    return np.array(found)


def least_p_value(found):
    counts = [np.bincount((column * BINS / (DRAWS + 1)).astype(int), minlength=BINS) for column in found.T]
    return min(stats.chisquare(count).pvalue for count in counts)


@pytest.mark.parametrize("grouped", [False, True], ids=["three predictors", "groups in one of them"])
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_ranks_are_uniform(grouped):
    found = ranks(grouped)
    value = least_p_value(found)
    print(f"grouped={grouped}: {len(found)} data sets, {found.shape[1]} ranks each, least p-value {value:.3g}")
    assert value > 1e-3 / found.shape[1]


def test_wrong_errors_show():
    """Negative control."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert least_p_value(ranks(False, hill_of_wrong_errors)) < 1e-6
