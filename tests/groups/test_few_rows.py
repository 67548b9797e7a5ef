"""Ordered categories of few rows in few groups: 72 ratings of wine by 9 judges, simulated."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

import tunamh
import tunamh.groups.soundness as sound
from conftest import draws_of
from tunamh.groups.sums import Point
from tunamh.targets.search.newton import find_mode

NODES, WEIGHTS = np.polynomial.hermite_e.hermegauss(25)
JUDGE = np.repeat(np.arange(9), 8)
COLUMNS = np.column_stack([np.tile([0, 0, 0, 0, 1, 1, 1, 1], 9), np.tile([0, 0, 1, 1], 18)]).astype(float)


def ratings(seed):
    rng = np.random.default_rng(seed)
    latent = COLUMNS @ [3.06, 1.83] + 1.13 * rng.normal(size=9)[JUDGE] + rng.logistic(size=72)
    return np.digitize(latent, [-1.62, 1.51, 4.23, 6.09])


def wine(seed):
    y = ratings(seed)
    temp, contact = (np.where(COLUMNS[:, j] > 0, "yes", "no") for j in range(2))
    table = pd.DataFrame({"y": pd.Categorical(y, ordered=True), "temp": temp, "contact": contact, "judge": JUDGE})
    return tunamh.regression("y ~ temp + contact + (1 | judge)", table, family=tunamh.Ordinal())


def log_posterior(points, y, width):
    """Of (slopes, cutpoints, log scale), effects integrated out by quadrature."""
    cuts, scale = points[:, 2:-1], np.exp(points[:, -1])
    ends = np.pad(cuts, ((0, 0), (1, 1)), constant_values=((0, 0), (-np.inf, np.inf)))
    eta = points[:, :2] @ COLUMNS.T
    rows = []
    with np.errstate(divide="ignore", invalid="ignore"):
        for z in NODES:
            at = eta + (scale * z)[:, None]
            p = special.expit(ends[:, y + 1] - at) - special.expit(ends[:, y] - at)
            rows.append(np.log(p).reshape(len(points), 9, 8).sum(axis=2))
        groups = special.logsumexp(np.array(rows) + np.log(WEIGHTS / WEIGHTS.sum())[:, None, None], axis=0)
    prior = stats.norm(0, 2.5).logpdf(points[:, :2]).sum(axis=1) + stats.t(3, scale=2.5).logpdf(cuts).sum(axis=1)
    prior += stats.norm(0, width).logpdf(scale) + points[:, -1]
    return np.where((np.diff(cuts, axis=1) > 0).all(axis=1), groups.sum(axis=1) + prior, -np.inf)


@pytest.mark.parametrize("seed", [3, 5, 21])
def test_draws_are_those_of_quadrature(seed):
    """Importance sampling about the draws' own moments, the density by quadrature over the judges' effects."""
    model = wine(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of chains this short
        posterior = tunamh.sample(model, draws=2000, rng=seed, progressbar=False)
    parts = [draws_of(posterior, "temp", "contact", "threshold"), draws_of(posterior, "1|judge_sigma")]
    parts[1] = np.log(parts[1])
    draws = np.concatenate(parts, axis=-1)
    flat = draws.reshape(-1, draws.shape[-1])
    proposal = stats.multivariate_t(flat.mean(axis=0), 1.5 * np.cov(flat.T), df=4, seed=seed)
    points = proposal.rvs(8000)
    log_w = log_posterior(points, ratings(seed), model.groupings[0].laws.scale[0]) - proposal.logpdf(points)
    w = special.softmax(log_w)
    points[:, -1], draws[..., -1] = np.exp(points[:, -1]), np.exp(draws[..., -1])
    mean = w @ points
    sd = np.sqrt(w @ (points - mean) ** 2)
    ess = np.array([tunamh.results.convergence.diagnose(one[None])[1][0] for one in np.moveaxis(draws, -1, 0)])
    off = (draws.mean(axis=(0, 1)) - mean) / sd
    assert ess.min() > 100
    assert np.abs(off / np.sqrt(1 / ess + (w**2).sum())).max() < 4.5
    np.testing.assert_allclose(draws.std(axis=(0, 1)) / sd, 1.0, atol=0.25)


def test_no_law_is_wider_than_the_prior():
    for seed in range(22):
        model = wine(seed)
        sd = np.linalg.norm(model.factors[0].root, axis=1)
        assert (sd[:2] < 2.5).all()
        assert (sd > 0.05).all()


def test_a_search_that_went_astray_is_made_again(monkeypatch):
    right = wine(1).centre
    honest, calls = sound.find_centre, []

    def astray(rows, priors, start, *effects):
        found = honest(rows, priors, start, *effects)
        calls.append(start)
        vanished = [np.full_like(scales, -25.0) for scales in found.scales]
        return found._replace(scales=vanished) if len(calls) == 1 else found

    monkeypatch.setattr(sound, "find_centre", astray)
    again = wine(1).centre
    assert len(calls) == 2
    assert isinstance(calls[1], Point)
    np.testing.assert_allclose(again.at.common, right.at.common, atol=0.05)
    np.testing.assert_allclose(again.scales[0], right.scales[0], atol=0.05)


def test_a_mode_with_an_impossible_law_is_looked_for_again(monkeypatch):
    """Of a plain regression: one whose curvature was lost."""
    model = tunamh.GLM(COLUMNS, ratings(1), tunamh.Ordinal(), prior=tunamh.Normal(scale=2.5))
    right = find_mode(model)
    lost = right.posterior._replace(hessian=1e-4 * right.posterior.hessian)
    monkeypatch.setattr("tunamh.targets.glm.searched", lambda target: [right._replace(posterior=lost)])
    assert model.modes[0].posterior.hessian == pytest.approx(right.posterior.hessian, rel=0.05)


def test_an_inflation_near_zero_with_groups_mixes():
    """In the shape of R's Salamanders, simulated: 12 effective draws of 8,000 before it had walks of its own."""
    rng = np.random.default_rng(8)
    site = np.repeat(np.arange(23), 28)
    mined, kind = (site < 11).astype(float), np.tile(np.arange(7), 92)
    effect = np.array([0.0, -0.5, -0.4, -1.4, -0.2, -0.8, -2.0])
    mean = np.exp(1.4 - 2.3 * mined + effect[kind] + 0.6 * rng.normal(size=23)[site])
    counts = rng.poisson(mean * rng.gamma(1.1, 1 / 1.1, size=644)) * (rng.random(644) > 0.05)
    table = pd.DataFrame({"count": counts, "mined": mined, "kind": kind.astype(str), "site": site})
    family = tunamh.ZeroInflated(tunamh.NegativeBinomial())
    model = tunamh.regression("count ~ mined + kind + (1 | site)", table, family=family)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of chains this short
        posterior = tunamh.sample(model, draws=1000, rng=2, progressbar=False)  # six seeds: 17 to 326, median 214
    effective = tunamh.summary(posterior, var_names=["inflation"]).ess_bulk["inflation"]
    assert effective > 80
