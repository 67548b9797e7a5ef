"""Unknown scales of a prior beside group effects: posteriors by quadrature, names, and what is refused."""

import itertools

import arviz_stats
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import tunamh
from tunamh import GroupEffects, MixedModel, priors
from tunamh.formula.curves import curves_of

rng = np.random.default_rng(21)
N, G, SIGMA, OF_GROUPS = 40, 5, 1.2, 0.8
CODES = np.arange(N) % G
X = rng.standard_normal((N, 4)) * [1.0, 0.5, 1.0, 1.5]
Y = X @ [1.0, -0.5, 0.1, 0.0] + 0.8 * rng.standard_normal(G)[CODES] + SIGMA * rng.standard_normal(N)
PARTS = ("a", "a", "b", "b")
LOG_SCALE = np.linspace(-7, 4, 56)


def model(**more):
    prior = priors.Grouped(PARTS, tunamh.HalfStudentT(3, 1.0))
    return MixedModel(X, Y, tunamh.Gaussian(SIGMA), GroupEffects(CODES, scale=OF_GROUPS), prior=prior, **more)


def by_quadrature(power=0.0):
    """Means and deviations of both log scales; ``power`` of the scales makes another posterior."""
    plain = SIGMA**2 * np.eye(N) + OF_GROUPS**2 * (CODES[:, None] == CODES)
    kernels = [X[:, k : k + 2] @ X[:, k : k + 2].T for k in (0, 2)]
    value = np.empty((len(LOG_SCALE),) * 2)
    for (i, a), (j, b) in itertools.product(enumerate(LOG_SCALE), repeat=2):
        V = plain + np.exp(2 * a) * kernels[0] + np.exp(2 * b) * kernels[1]
        prior = sum(stats.t.logpdf(np.exp(s), 3) + (1 + power) * s for s in (a, b))
        value[i, j] = prior - 0.5 * np.linalg.slogdet(V)[1] - 0.5 * Y @ np.linalg.solve(V, Y)
    weight = np.exp(value - value.max())
    each = weight.sum(axis=1), weight.sum(axis=0)
    mean = np.array([w @ LOG_SCALE / w.sum() for w in each])
    return mean, np.sqrt([w @ (LOG_SCALE - m) ** 2 / w.sum() for w, m in zip(each, mean, strict=True)])


@pytest.fixture(scope="module")
def drawn():
    return tunamh.sample(model(), draws=8000, chains=2, cores=1, rng=1, progressbar=False)


def test_scales_have_their_law(drawn):
    log_scale = np.log(drawn.posterior.prior_scale)
    effective = np.array([arviz_stats.ess(log_scale.values[..., g]) for g in range(2)])
    mean, deviation = by_quadrature()
    ours, spread = log_scale.values.mean(axis=(0, 1)), log_scale.values.std(axis=(0, 1))
    error = deviation / np.sqrt(effective)
    assert effective.min() > 2000
    assert (np.abs(ours - mean) < 4.5 * error).all()
    assert (np.abs(spread / deviation - 1) < 0.1).all()
    other = by_quadrature(power=0.3)[0]  # negative control
    assert (np.abs(ours - other) > 8 * error).any()


def test_scales_and_coefficients_move_together(drawn):
    """Proposals at new scales are accepted as those under a known prior are; in turn alone, scales near zero stick."""
    assert np.nanmean(drawn.sample_stats.laplace_acceptance.values) > 0.6


def test_a_point_there_and_back():
    target = MixedModel(X, Y, tunamh.Gaussian(), GroupEffects(CODES), prior=priors.Ridge())
    state = target.start(np.random.default_rng(2))
    assert np.allclose(target.to_chain(target.to_user(state)), state)
    assert len(target.recorded) == len(state)
    names = [name for name, _ in target.variables]
    assert names == ["theta", "scale", "prior_scale", "group_scale", "group_effect"]


def test_a_horseshoe_is_refused():
    with pytest.raises(tunamh.NotApplicable, match=r"Horseshoe has a scale for each coefficient.*priors\.Grouped"):
        MixedModel(X, Y, tunamh.Gaussian(), GroupEffects(CODES), prior=priors.Horseshoe(0.1))


# ---------------------------------------------------------------------------------------------------------- curves

ROWS = 1500
TABLE = pd.DataFrame(
    {"x": rng.uniform(0, 6, ROWS), "z": rng.uniform(0, 1, ROWS), "g": rng.choice([f"g{k}" for k in range(30)], ROWS)}
)
EFFECTS = 0.7 * rng.standard_normal(30)
CURVE = np.sin(TABLE["x"]) - 0.5 + EFFECTS[TABLE["g"].str[1:].astype(int)]
TABLE["late"] = (rng.random(ROWS) < 1 / (1 + np.exp(-CURVE))).astype(int)


@pytest.fixture(scope="module")
def curves():
    target = tunamh.regression("late ~ s(x) + s(z) + (1 | g)", TABLE, family="logistic")
    return target, tunamh.sample(target, draws=1000, chains=2, cores=1, rng=1, progressbar=False)


def test_curves_beside_groups(curves):
    target, posterior = curves
    wanted = {"Intercept", "s(x)", "s(z)", "s(x)_sigma", "s(z)_sigma", "1|g", "1|g_sigma"}
    assert set(posterior.posterior.data_vars) == wanted
    drawn, flat = curves_of(posterior)
    off = drawn.draws - (np.sin(drawn.at) - np.sin(TABLE["x"]).mean())
    assert (np.abs(off.mean(axis=0)) / drawn.draws.std(axis=0) < 4).mean() > 0.9
    assert np.abs(flat.draws.mean(axis=0)).max() < 0.4
    told = str(tunamh.prior_summary(target))
    assert "s(x)_sigma" in told
    assert "half-Student-t" in told


def test_what_follows_from_a_result_with_curves_beside_groups(curves):
    _, posterior = curves
    new = TABLE.iloc[:5]
    mean = tunamh.predict(posterior, new)["mean"].values
    eta = CURVE[:5].to_numpy()
    assert np.abs(mean - 1 / (1 + np.exp(-eta))).max() < 0.2
    assert len(tunamh.plot_smooths(posterior)) == 2
    assert np.isfinite(tunamh.loo(posterior, TABLE, rows=200, rng=1).elpd)
    with pytest.raises(tunamh.NotApplicable):
        tunamh.laplace(curves[0])
