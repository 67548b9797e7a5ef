"""Piecewise hazards against quadrature, against the same model by hand, and against Cox' partial likelihood.

Data: `veteran.csv`, the Veterans' Administration lung cancer trial (Kalbfleisch and Prentice 1980, appendix I), and
`heart.csv`, the Stanford heart transplants in rows of start and stop (Crowley and Hu 1977), both as in R's package
survival 3.5-3, ages and years rounded to three digits, one event on the day of entry half a day later.
"""

from pathlib import Path

import arviz_stats
import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

import tunamh
from tunamh import priors

HERE = Path(__file__).parent
VETERAN, HEART = (pd.read_csv(HERE / name) for name in ("veteran.csv", "heart.csv"))
FLAT = tunamh.Flat()
FEW = VETERAN[VETERAN["celltype"] == "squamous"].assign(k=lambda table: (table["karno"] - 60) / 20)


def sampled(target, draws=3000):
    return tunamh.sample(target, draws=draws, rng=1, progressbar=False)


def within(tree, name, mean, sd, errors=4.0):
    """Mean and standard deviation of the draws, by their Monte Carlo errors."""
    draws = tree["posterior"][name].values
    n = float(arviz_stats.ess(draws, method="mean"))
    assert abs(draws.mean() - mean) < errors * sd / np.sqrt(n)
    assert abs(draws.std() / sd - 1) < errors / np.sqrt(n) + 0.02


def moments(x, log_density):
    """Mean and standard deviation, by sums over an even grid."""
    p = np.exp(log_density - log_density.max())
    mean = (p @ x) / p.sum()
    return mean, np.sqrt(p @ (x - mean) ** 2 / p.sum())


def times_at_risk(table, cuts):
    """(rows, pieces)."""
    low, high = np.array([0.0, *cuts]), np.array([*cuts, np.inf])
    return np.clip(np.minimum(table["time"].to_numpy()[:, None], high) - low, 0, None)


def events(table, cuts):
    piece = np.searchsorted(cuts, table["time"])
    return np.array([table["status"].to_numpy()[piece == j].sum() for j in range(len(cuts) + 1)])


def test_flat_log_hazards_leave_a_marginal_in_closed_form():
    """``int e^{d a - R e^a} da = Gamma(d) / R^d``: that of a coefficient is ``e^{b sum d x} prod_j R_j(b)^{-d_j}``."""
    cuts = (50.0, 110.0, 250.0)
    target = tunamh.regression(
        "Surv(time, status) ~ k", FEW, family=tunamh.PiecewiseExponential(cuts, FLAT), prior=FLAT
    )
    b, x = np.linspace(-3, 2, 4001), FEW["k"].to_numpy()
    risk = np.exp(b[:, None] * x) @ times_at_risk(FEW, cuts)
    log_density = b * (FEW["status"] @ x) - np.log(risk) @ events(FEW, cuts)
    within(sampled(target), "k", *moments(b, log_density))


@pytest.mark.parametrize("scale", [0.3, 2.0])
def test_a_random_walk_of_log_hazards_against_quadrature(scale):
    """A coefficient and two hazards, on a grid."""
    family = tunamh.PiecewiseExponential((80.0,), priors.RandomWalk(scale, tunamh.Normal(mean=-5.0, scale=1.0)))
    target = tunamh.regression("Surv(time, status) ~ k", FEW, family=family, prior=tunamh.Normal(scale=0.5))
    b, x = np.linspace(-2.2, 1.2, 61), FEW["k"].to_numpy()
    first, second = np.linspace(-7.5, -3.0, 121), np.linspace(-8.5, -3.5, 121)
    d, risk = events(FEW, (80.0,)), np.exp(b[:, None] * x) @ times_at_risk(FEW, (80.0,))
    a1, a2 = first[None, :, None], second[None, None, :]
    log_density = d[0] * a1 + d[1] * a2 + (b * (FEW["status"] @ x) - 0.5 * (b / 0.5) ** 2)[:, None, None]
    log_density = log_density - risk[:, 0, None, None] * np.exp(a1) - risk[:, 1, None, None] * np.exp(a2)
    log_density = log_density - 0.5 * (a1 + 5.0) ** 2 - 0.5 * ((a2 - a1) / scale) ** 2
    tree = sampled(target)
    posterior = tree["posterior"].to_dataset()
    for j, name in enumerate(("first", "second")):
        posterior[name] = posterior["log_hazard"][..., j]
    tree["posterior"] = posterior
    for axes, grid, name in (((1, 2), b, "k"), ((0, 2), first, "first"), ((0, 1), second, "second")):
        within(tree, name, *moments(grid, special.logsumexp(log_density, axis=axes)))


def test_frailties_are_those_of_the_same_rows_by_hand():
    """Group effects of split rows against Poisson counts that were split by hand."""
    cuts = (50.0, 150.0)
    prior = {"k": tunamh.Normal(), "(1 | celltype)": tunamh.HalfNormal(1.0)}
    table = VETERAN.assign(k=(VETERAN["karno"] - 60) / 20)
    family = tunamh.PiecewiseExponential(cuts, tunamh.Normal(mean=-5, scale=2))
    ours = tunamh.regression("Surv(time, status) ~ k + (1 | celltype)", table, family=family, prior=prior)
    time, piece = times_at_risk(table, cuts), np.searchsorted(cuts, table["time"])
    parts = [table.assign(risk=time[:, j], d=table["status"] * (piece == j), j=str(j)) for j in range(3)]
    long = pd.concat(parts).query("risk > 0").reset_index(drop=True)
    twin = tunamh.regression(
        "d ~ 0 + j + k + offset(log(risk)) + (1 | celltype)",
        long,
        family=tunamh.Poisson(),
        prior={**prior, "j": tunamh.Normal(mean=-5, scale=2)},
    )
    assert ours.n_rows == twin.n_rows
    found, other = (sampled(target, 2000)["posterior"] for target in (ours, twin))
    for name in ("k", "1|celltype_sigma"):
        assert abs(found[name].mean() - other[name].mean()) < 0.15 * other[name].std()
    levels = abs(found["1|celltype"].mean(("chain", "draw")) - other["1|celltype"].mean(("chain", "draw")))
    assert (levels < 0.15 * other["1|celltype"].std(("chain", "draw"))).all()


# R 4.2.2, survival 3.5-3: coxph(..., ties="breslow"), coefficients and standard errors
COX = {
    "Surv(time, status) ~ karno + age + trt": {
        "karno": (-0.034230539566, 0.005228318),
        "age": (-0.003762137587, 0.009193479),
        "trt": (0.185459775976, 0.185459967),
    },
    "Surv(time, status) ~ karno + age + strata(trt)": {
        "karno": (-0.033940178351, 0.005407075),
        "age": (-0.003256338232, 0.009206833),
    },
    "Surv(start, stop, event) ~ age + year + surgery + transplant": {
        "age": (0.02715257148, 0.013721268),
        "year": (-0.14610181496, 0.070465602),
        "surgery": (-0.63582533499, 0.367213630),
        "transplant": (-0.01189201700, 0.313644645),
    },
}


def log_partial_likelihood(table, names, strata, points):
    """Breslow's: ``sum_k (sum of x.b of the events at t_k - d_k log of the sum of e^{x.b} at risk then)``."""
    start, stop, event = (
        table.get("start", 0 * table.iloc[:, 0]),
        *(table[name].to_numpy() for name in (("stop", "event") if "stop" in table else ("time", "status"))),
    )
    eta = points @ table[names].to_numpy(float).T
    total = np.zeros(len(points))
    for s in np.unique(strata):
        for t in np.unique(stop[(event == 1) & (strata == s)]):
            risk = (strata == s) & (start.to_numpy() < t) & (stop >= t)
            now = (strata == s) & (event == 1) & (stop == t)
            total += eta[:, now].sum(axis=1) - now.sum() * special.logsumexp(eta[:, risk], axis=1)
    return total


@pytest.mark.parametrize("formula", COX)
def test_many_pieces_have_the_law_of_cox_partial_likelihood(formula):
    """Means and standard deviations of the law that is proportional to the partial likelihood, by importance.

    R's coefficients are where our partial likelihood has its maximum. Pieces are 25 and not infinitely many, and in
    strata they have a wide random walk, as some have no event: both move a mean by a tenth or two of a standard error.
    """
    table = HEART if "start" in formula else VETERAN
    names, known = list(COX[formula]), np.array(list(COX[formula].values()))
    strata = table["trt"].to_numpy() if "strata" in formula else np.zeros(len(table))
    step = 1e-3 * np.diag(known[:, 1])
    sides = [log_partial_likelihood(table, names, strata, known[:, 0] + sign * step) for sign in (1, -1)]
    assert np.abs(sides[0] - sides[1]).max() < 2e-3 * 1e-3  # a slope of 0.001 per standard error

    rng = np.random.default_rng(0)
    z = rng.standard_t(5, (5_000, len(names))) * 1.3
    points = known[:, 0] + z * known[:, 1]
    log_weights = log_partial_likelihood(table, names, strata, points) - stats.t(5, scale=1.3).logpdf(z).sum(axis=1)
    weights = np.exp(log_weights - special.logsumexp(log_weights))
    mean = weights @ points
    sd = np.sqrt(weights @ (points - mean) ** 2)

    prior = priors.RandomWalk(3.0) if "strata" in formula else FLAT
    target = tunamh.regression(formula, table, family=tunamh.PiecewiseExponential(25, prior), prior=FLAT)
    tree = sampled(target, 4000)
    for name, m, s in zip(names, mean, sd, strict=True):
        draws = tree["posterior"][name].values
        error = 4 / np.sqrt(float(arviz_stats.ess(draws, method="mean")))
        assert abs(draws.mean() - m) < ((0.2 if "strata" in formula else 0.1) + error) * s
        assert abs(draws.std() / s - 1) < 0.03 + error


def test_one_piece_is_not_the_model_of_cox():
    """The test above can fail: with a constant hazard, transplants seem to matter."""
    formula = "Surv(start, stop, event) ~ age + year + surgery + transplant"
    tree = sampled(tunamh.regression(formula, HEART, family=tunamh.PiecewiseExponential(1, FLAT), prior=FLAT), 1000)
    mean, error = COX[formula]["transplant"]
    assert abs(float(tree["posterior"]["transplant"].mean()) - mean) > 0.5 * error


@pytest.mark.parametrize("formula", ["Surv(time, status) ~ 1", "Surv(time, status) ~ strata(trt)"])
def test_hazards_without_columns_are_gamma(formula):
    """Under flat log hazards ``e^a`` is gamma: events over time at risk, ``E a = digamma(d) - log E``."""
    cuts = (30.0, 100.0)
    tree = sampled(tunamh.regression(formula, VETERAN, family=tunamh.PiecewiseExponential(cuts, FLAT)))
    parts = [VETERAN] if formula.endswith("1") else [VETERAN[VETERAN["trt"] == k] for k in (1, 2)]
    d = np.concatenate([events(part, cuts) for part in parts])
    risk = np.concatenate([times_at_risk(part, cuts).sum(axis=0) for part in parts])
    draws = tree["posterior"]["log_hazard"].values
    for j in range(len(d)):
        error = 4 / np.sqrt(float(arviz_stats.ess(draws[..., j].copy(), method="mean")))
        sd = np.sqrt(special.polygamma(1, d[j]))
        assert abs(draws[..., j].mean() - special.digamma(d[j]) + np.log(risk[j])) < error * sd
        assert abs(draws[..., j].std() / sd - 1) < error + 0.02
