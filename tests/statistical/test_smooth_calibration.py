"""Simulation-based calibration of curves (Talts et al. 2018): ranks of curves, slopes, scales and other parameters.

Truths are drawn from the prior: with wide priors of scales curves are wiggly, with narrow ones they are lines, and with
narrow ones that have no line (cyclic curves) nothing. Surfaces, curves beside groups, `Grouped` and `Ridge` are there,
too.

`TUNAMH_SBC=200 pytest -s tests/statistical/test_smooth_calibration.py` runs so many data sets for each case, and prints
the least p-values.
"""

import os
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import tunamh
from tunamh import HalfStudentT, Normal

DATA_SETS = int(os.environ.get("TUNAMH_SBC", "25"))
DRAWS, BINS, N_ROWS = 99, 10 if DATA_SETS >= 100 else 5, 200
AT = [0.03, 0.4, 0.97]  # of the range, where curves are ranked
ACROSS = [0.2, 0.9, 0.5]  # of the range of the other column, where surfaces are
GROUPS = 12
_rng = np.random.default_rng(31)
TABLE = pd.DataFrame({"x": _rng.gamma(3, 1, N_ROWS), "z": _rng.uniform(0, 1, N_ROWS)})
TABLE["g"] = [f"g{k % GROUPS}" for k in range(N_ROWS)]

pytestmark = pytest.mark.slow


def logistic(rng, eta):
    return (rng.random(N_ROWS) < 1 / (1 + np.exp(-eta))).astype(float), {}


def negative_binomial(rng, eta):
    dispersion = np.exp(1.0 + 0.5 * rng.standard_normal())
    mean = np.exp(np.minimum(eta, 12.0))
    return rng.poisson(mean * rng.gamma(dispersion, 1 / dispersion, N_ROWS)).astype(float), {"alpha": dispersion}


def gaussian(rng, eta):
    scale = abs(rng.standard_normal())
    return eta + scale * rng.standard_normal(N_ROWS), {"sigma": scale}


@dataclass(frozen=True)
class Case:
    right: str
    family: Any
    respond: Any
    widths: dict[str, float]
    groups: float = 0.0  # the scale of the prior of a group scale


CASES = {
    "strong": Case("s(x, k=12)", tunamh.Logistic(), logistic, {"s(x)": 2.0}),
    "lines": Case("s(x)", tunamh.Logistic(), logistic, {"s(x)": 0.02}),
    "nothing": Case("s(z, cyclic=True)", tunamh.Logistic(), logistic, {"s(z)": 0.02}),
    "two curves": Case("s(x) + s(z, cyclic=True)", tunamh.Logistic(), logistic, {"s(x)": 1.0, "s(z)": 0.5}),
    "negative binomial": Case(
        "s(z, k=7)",
        tunamh.NegativeBinomial(tunamh.priors.LogNormal(mean=1.0, scale=0.5)),
        negative_binomial,
        {"s(z)": 0.5},
    ),
    "surface": Case("te(x, z)", tunamh.Logistic(), logistic, {"te(x, z)": 0.7}),
    "groups": Case("s(x) + (1 | g)", tunamh.Logistic(), logistic, {"s(x)": 0.7}, groups=0.8),
    "counts in groups": Case(
        "s(z, k=7) + (1 | g)",
        tunamh.NegativeBinomial(tunamh.priors.LogNormal(mean=1.0, scale=0.5)),
        negative_binomial,
        {"s(z)": 0.3},
        groups=0.4,
    ),
    "Gaussian": Case("s(x, k=8)", tunamh.Gaussian(tunamh.HalfNormal(1.0)), gaussian, {"s(x)": 1.0}),
}
INTERCEPT = 0.7


def ranks(case, wrong=1.0):
    """Of the truths among thinned draws; ``wrong`` times the width of the scales' priors is what the model believes."""
    rng, found = np.random.default_rng(32), []
    for _ in range(DATA_SETS):
        y0 = np.arange(N_ROWS) % 2.0
        prior = {"Intercept": Normal(scale=INTERCEPT)}
        prior |= {name: HalfStudentT(3, wrong * width) for name, width in case.widths.items()}
        if case.groups:
            prior["1|g"] = tunamh.HalfNormal(case.groups)
        side = tunamh.regression(f"y ~ {case.right}", TABLE.assign(y=y0), family=case.family, prior=prior).formula.side
        truth, eta = {}, np.full(N_ROWS, INTERCEPT * rng.standard_normal())
        slope = 1.0 if case.respond is gaussian else 2.5
        for curve in side.curves:
            shares = curve.shares
            scales = np.abs(stats.t.rvs(3, scale=case.widths[curve.name], size=shares.shape[1], random_state=rng))
            precision = shares @ scales**-2.0
            c = rng.standard_normal(curve.each) / np.sqrt(np.where(precision > 0, precision, slope**-2))
            points = at(curve, AT, ACROSS)
            truth[curve.name] = curve, points, points @ c, scales
            columns = [TABLE[str(one)].to_numpy() for one in curve.asked.columns]
            eta = eta + (curve.columns(*columns) if len(columns) == 1 else curve.at(*columns)) @ c
        of_groups = {}
        if case.groups:
            scale = case.groups * abs(rng.standard_normal())
            effects = scale * rng.standard_normal(GROUPS)
            eta = eta + effects[np.arange(N_ROWS) % GROUPS]
            of_groups = {"1|g_sigma": scale, "1|g": effects[0]}
        y, extras = case.respond(rng, eta)
        target = made(case, y, prior)
        tree = tunamh.sample(
            target, draws=DRAWS, tune=300, chains=1, cores=1, thin=4, rng=rng.integers(1 << 30), progressbar=False
        )
        row = [float((tree.posterior[name].values[0] < value).sum()) for name, value in extras.items()]
        for name, (_, points, values, scales) in truth.items():
            row += ((tree.posterior[name].values[0] @ points.T) < values).sum(axis=0).tolist()
            drawn = tree.posterior[f"{name}_sigma"].values[0].reshape(DRAWS, -1)
            row += (drawn < scales).sum(axis=0).tolist()
        for name, value in of_groups.items():
            row.append(float((tree.posterior[name].values[0].reshape(DRAWS, -1)[:, 0] < value).sum()))
        found.append(row)
    return np.array(found)


def at(curve, first, second):
    """The columns of a curve at these shares of its range; of a surface, of both ranges."""
    if len(curve.asked.columns) == 1:
        return curve.columns(curve.low + np.array(first) * (curve.high - curve.low))
    return curve.at(
        *(one.low + np.array(of) * (one.high - one.low) for one, of in zip(curve.margins, (first, second), strict=True))
    )


def made(case, y, prior):
    """The default prior of a line is in units of real responses: the target is given one that does not know them."""
    target = tunamh.regression(f"y ~ {case.right}", TABLE.assign(y=y), family=case.family, prior=prior)
    if case.respond is not gaussian:
        return target
    columns = target.prior.others.priors["s(x)"]
    own = target.prior.others
    lines = replace(own, priors={**own.priors, "s(x)": replace(columns, fixed=Normal(scale=1.0))})
    X = target.formula.side.columns(target.formula.values(TABLE)).dense()
    frame = pd.DataFrame(X, columns=target.formula.side.names)
    plain = tunamh.GLM(frame, y, case.family, prior=replace(target.prior, others=lines))
    return plain.from_formula(target.formula)


def least_p_value(found):
    counts = [np.bincount((column * BINS / (DRAWS + 1)).astype(int), minlength=BINS) for column in found.T]
    return min(stats.chisquare(count).pvalue for count in counts)


def hold_uniform(name, found):
    value = least_p_value(found)
    print(f"{name}: {len(found)} data sets, {found.shape[1]} ranks each, least p-value {value:.3g}")
    assert value > 1e-3 / found.shape[1]


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_ranks_are_uniform(name):
    hold_uniform(name, ranks(CASES[name]))


GROUPED = {"Ridge": tunamh.priors.Ridge(HalfStudentT(3, 0.5))}
GROUPED["Grouped"] = tunamh.priors.Grouped(("a",) * 3 + ("b",) * 5, tunamh.HalfCauchy(0.4))


def ranks_of_grouped(prior):
    """Of all coefficients and scales, of a logistic regression on eight columns."""
    rng, found = np.random.default_rng(34), []
    X = np.random.default_rng(33).standard_normal((N_ROWS, 8)) * np.linspace(0.5, 1.5, 8)
    group = [0] * 8 if prior is GROUPED["Ridge"] else [0] * 3 + [1] * 5
    for _ in range(DATA_SETS):
        own = {"Ridge": 0.5 * stats.t.rvs(3, size=1, random_state=rng), "Grouped": 0.4 * rng.standard_cauchy(2)}
        scales = np.abs(own["Ridge" if prior is GROUPED["Ridge"] else "Grouped"])
        beta = scales[group] * rng.standard_normal(8)
        y, _ = logistic(rng, X @ beta)
        if len(np.unique(y)) < 2:  # as rare as it is, it says nothing of the kernel
            continue
        target = tunamh.GLM(X, y, tunamh.Logistic(), prior=prior)
        tree = tunamh.sample(
            target, draws=DRAWS, tune=300, chains=1, cores=1, thin=4, rng=rng.integers(1 << 30), progressbar=False
        )
        drawn = tree.posterior["theta"].values[0], tree.posterior["prior_scale"].values[0].reshape(DRAWS, -1)
        found.append((np.hstack(drawn) < np.append(beta, scales)).sum(axis=0))
    return np.array(found)


@pytest.mark.parametrize("name", GROUPED)
@pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
@pytest.mark.filterwarnings("ignore::UserWarning")
def test_ranks_under_grouped_priors_are_uniform(name):
    hold_uniform(name, ranks_of_grouped(GROUPED[name]))


@pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
def test_a_wrong_prior_of_the_scale_shows():
    """Negative control: the model believes in scales that are thirty times smaller."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert least_p_value(ranks(CASES["strong"], wrong=1 / 30)) < 1e-6
