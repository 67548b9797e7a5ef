"""The evidence of models with unknown scales: Ridge, curves, slopes, crossed factors, against truth of another kind.

Gaussian rows have a density in closed form given the scales, and a sum over a grid does the rest. Of other rows the
truth is the mean of the likelihood over 300,000 draws of the prior: with 14 rows that is enough.
"""

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

import tunamh
from tunamh import priors
from tunamh.errors import NotApplicable
from tunamh.marginal.bridge import bridged
from tunamh.marginal.joint import Joint
from tunamh.marginal.kernel_law import KernelLaw
from tunamh.marginal.lattice import lattice

pytestmark = pytest.mark.filterwarnings("ignore")  # runs are short

RNG = np.random.default_rng(0)
N = 60
X = np.c_[np.ones(N), RNG.standard_normal((N, 4))]
Y = X @ [1.0, 0.5, 0.0, 0.0, 0.3] + 0.2 * RNG.standard_normal(N)  # far from 1: scales are in units of the errors
RIDGE = priors.ByName({"0": tunamh.Normal(scale=5.0)}, others=priors.Ridge())
FIRST, SECOND, CODES = RNG.integers(3, size=N), RNG.integers(2, size=N), RNG.integers(6, size=N)
SLOPE = np.c_[np.ones(N), RNG.standard_normal(N)]
NESTED = 0.5 + (RNG.standard_normal((6, 2)) * [0.8, 0.5])[CODES] @ [1.0, 0.0] + 0.7 * RNG.standard_normal(N)
HALF = tunamh.HalfNormal(1.0)


def log_sum(values, *grids):
    return special.logsumexp(values) + sum(np.log(grid[1] - grid[0]) for grid in grids)


def of_scale(log_scale, width=1.0):
    return stats.halfnorm.logpdf(np.exp(log_scale), 0, width) + log_scale


def gaussian(y, covariance):
    return stats.multivariate_normal.logpdf(y, np.zeros(len(y)), covariance)


def ridge():
    """With an unknown scale of the errors."""
    target = tunamh.GLM(X, Y, tunamh.Gaussian(tunamh.HalfNormal(2.0)), prior=RIDGE)
    fixed, wide = 25 * np.outer(X[:, 0], X[:, 0]), X[:, 1:] @ X[:, 1:].T
    grid, errors = np.linspace(-9, 6, 160), np.linspace(np.log(0.12), np.log(0.35), 30)
    values = [
        gaussian(Y, np.exp(2 * b) * np.eye(N) + fixed + np.exp(2 * a) * wide)
        + np.log(2)
        + stats.t.logpdf(np.exp(a), 3, 0, 2.5)
        + a
        + of_scale(b, 2.0)
        for a in grid
        for b in errors
    ]
    return target, log_sum(values, grid, errors)


def crossed():
    factors = [
        tunamh.GroupEffects(codes, name=name, scale=HALF) for name, codes in (("first", FIRST), ("second", SECOND))
    ]
    y = NESTED
    target = tunamh.MixedModel(np.ones((N, 1)), y, tunamh.Gaussian(0.7), factors, prior=tunamh.Normal(scale=2.0))
    grid = np.linspace(-9, 2, 60)
    one, other = (codes[:, None] == codes[None, :] for codes in (FIRST, SECOND))
    values = [
        gaussian(y, 0.49 * np.eye(N) + 4 + np.exp(2 * a) * one + np.exp(2 * b) * other) + of_scale(a) + of_scale(b)
        for a in grid
        for b in grid
    ]
    return target, log_sum(values, grid, grid)


def slopes():
    groups = tunamh.GroupEffects(CODES, SLOPE, scale=[HALF, HALF], correlation=2.0)
    y = NESTED + 0.5 * SLOPE[:, 1]
    target = tunamh.MixedModel(SLOPE, y, tunamh.Gaussian(0.7), groups, prior=tunamh.Normal(scale=2.0))
    grid, turned, same = np.linspace(-7, 1.6, 30), np.linspace(-3.2, 3.2, 15), CODES[:, None] == CODES[None, :]
    values = []
    for a in grid:
        for b in grid:
            for w in turned:
                r = np.tanh(w)
                S = np.array([[np.exp(2 * a), np.exp(a + b) * r], [np.exp(a + b) * r, np.exp(2 * b)]])
                whole = 0.49 * np.eye(N) + 4 * SLOPE @ SLOPE.T + same * (SLOPE @ S @ SLOPE.T)
                values.append(gaussian(y, whole) + of_scale(a) + of_scale(b) + 2 * np.log1p(-r * r) - np.log(4 / 3))
    return target, log_sum(values, grid, grid, turned)


@pytest.mark.parametrize("case", [ridge, crossed, pytest.param(slopes, marks=pytest.mark.slow)])
def test_gaussian_rows_agree_with_quadrature(case):
    target, wanted = case()
    found = tunamh.evidence(target, rng=2, proposals=1000)
    assert found.se < 0.05
    assert abs(found.log_evidence - wanted) < 4 * found.se + 1e-3


@pytest.mark.slow
@pytest.mark.parametrize("case", [ridge, crossed])
def test_the_stated_error_is_the_error(case):
    """Over 100 seeds: runs of their own, and proposals of their own."""
    target, wanted = case()
    z = []
    for seed in range(100):
        posterior = tunamh.sample(target, draws=400, rng=1000 + seed, progressbar=False)
        found = tunamh.evidence(target, posterior, rng=seed, proposals=400)
        z.append((found.log_evidence - wanted) / found.se)
    assert 0.75 < np.std(z) < 1.3
    assert abs(np.mean(z)) < 0.4
    assert np.mean(np.abs(z) < 2) > 0.88


# ------------------------------------------------------------------------------------- rows that are not Gaussian

FEW, DRAWS = 14, 300_000
AT, A, B = np.linspace(-1, 1, FEW), np.arange(FEW) % 4, (np.arange(FEW) // 2) % 3
W = np.c_[np.ones(FEW), AT]
LABELS = (RNG.random(FEW) < special.expit(0.3 + AT)).astype(float)
COUNTS, CLASSES = RNG.poisson(np.exp(0.3 + 0.5 * AT)).astype(float), RNG.integers(3, size=FEW)
REALS, COLUMNS = 0.3 + 0.5 * AT + 0.6 * RNG.standard_normal(FEW), np.c_[np.ones(FEW), RNG.standard_normal((FEW, 3))]
STANDARD = tunamh.Normal(scale=1.0)
KINSHIP = 0.5 * np.eye(4) + 0.5
SHRUNK = priors.ByName({"0": STANDARD}, others=priors.Ridge(priors.HalfCauchy(0.5)))
HORSE = priors.ByName({"0": STANDARD}, others=priors.Horseshoe(0.5))


class Prior:
    """Draws of it."""

    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def normal(self, *shape):
        return self.rng.standard_normal((DRAWS, *shape))

    def half(self, width):
        return np.abs(self.normal(1)) * width

    def half_cauchy(self, width, *shape):
        return np.abs(self.rng.standard_cauchy((DRAWS, *shape))) * width

    def line(self):
        return self.normal(2) @ W.T

    def effects(self, codes, width=0.7):
        return (self.half(width) * self.normal(codes.max() + 1))[:, codes]


def labels(eta):
    return (LABELS * eta - np.logaddexp(0, eta)).sum(axis=1)


def counts(eta):
    return (COUNTS * eta - np.exp(eta) - special.gammaln(COUNTS + 1)).sum(axis=1)


def reals(eta, scale):
    return stats.norm.logpdf(REALS, eta, scale).sum(axis=1)


def mixed(y, family, *groups, columns=W, prior=STANDARD):
    return tunamh.MixedModel(columns, y, family, list(groups), prior=prior)


def factor(codes, name="a", width=0.7, **how):
    return tunamh.GroupEffects(codes, name=name, scale=tunamh.HalfNormal(width), **how)


def crossed_labels(prior):
    target = mixed(LABELS, tunamh.Logistic(), factor(A), factor(B, "b"))
    return target, labels(prior.line() + prior.effects(A) + prior.effects(B))


def slopes_of_counts(prior):
    groups = tunamh.GroupEffects(A, W, scale=[tunamh.HalfNormal(0.7)] * 2, correlation=3.0)
    r, z = 2 * prior.rng.beta(3, 3, (DRAWS, 1)) - 1, prior.normal(2, 4)
    first, second = prior.half(0.7) * z[:, 0], prior.half(0.7) * (r * z[:, 0] + np.sqrt(1 - r * r) * z[:, 1])
    return mixed(COUNTS, tunamh.Poisson(), groups), counts(prior.line() + first[:, A] + second[:, A] * AT)


def student_effects(prior):
    target = mixed(COUNTS, tunamh.Poisson(), factor(A, law=priors.StudentT(df=4)))
    return target, counts(prior.line() + (prior.half(0.7) * prior.rng.standard_t(4, (DRAWS, 4)))[:, A])


def related(prior):
    effects = (prior.half(0.7) * (prior.normal(4) @ np.linalg.cholesky(KINSHIP).T))[:, A]
    return mixed(COUNTS, tunamh.Poisson(), factor(A, covariance=KINSHIP)), counts(prior.line() + effects)


def known_and_unknown(prior):
    """Beside errors of unknown scale, in whose units effects are walked."""
    target = mixed(REALS, tunamh.Gaussian(HALF), tunamh.GroupEffects(A, name="a", scale=0.7), factor(B, "b"))
    eta = prior.line() + 0.7 * prior.normal(4)[:, A] + prior.effects(B)
    return target, reals(eta, prior.half(1.0))


def classes(prior):
    eta = np.stack([np.zeros((DRAWS, FEW)), *(prior.line() + prior.effects(A) for _ in range(2))], axis=-1)
    own = np.take_along_axis(eta, np.broadcast_to(CLASSES[None, :, None], (DRAWS, FEW, 1)), 2)[..., 0]
    return mixed(CLASSES, tunamh.Categorical(), factor(A)), (own - special.logsumexp(eta, axis=-1)).sum(axis=1)


def ridge_of_labels(prior):
    eta = prior.normal(1) + (prior.half_cauchy(0.5, 1) * prior.normal(3)) @ COLUMNS[:, 1:].T
    return tunamh.GLM(COLUMNS, LABELS, tunamh.Logistic(), prior=SHRUNK), labels(eta)


def horseshoe(prior):
    scales = prior.half_cauchy(0.5, 1) * prior.half_cauchy(1.0, 3)
    eta = prior.normal(1) + (scales * prior.normal(3)) @ COLUMNS[:, 1:].T
    return tunamh.GLM(COLUMNS, REALS, tunamh.Gaussian(HALF), prior=HORSE), reals(eta, prior.half(1.0))


def ridge_beside_groups(prior):
    target = mixed(LABELS, tunamh.Logistic(), factor(A), columns=COLUMNS, prior=SHRUNK)
    eta = prior.normal(1) + (prior.half_cauchy(0.5, 1) * prior.normal(3)) @ COLUMNS[:, 1:].T
    return target, labels(eta + prior.effects(A))


CASES = [
    crossed_labels, slopes_of_counts, student_effects, related, known_and_unknown, classes, ridge_of_labels, horseshoe,
    ridge_beside_groups,
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_few_rows_agree_with_draws_of_the_prior(case):
    target, values = case(Prior(5))
    wanted = special.logsumexp(values) - np.log(DRAWS)
    error = np.exp(values - wanted).std() / np.sqrt(DRAWS)
    posterior = tunamh.sample(target, draws=1500, rng=1, progressbar=False)
    found = tunamh.evidence(target, posterior, rng=1, proposals=1000)
    assert found.se < 0.05
    assert abs(found.log_evidence - wanted) < 4 * np.hypot(found.se, error)


# ----------------------------------------------------------------------------------------------- the parts of it


@pytest.mark.parametrize("case", [ridge_of_labels, known_and_unknown, horseshoe])
def test_the_joint_density_has_one_constant(case):
    """What chains leave out does not depend on where it is found."""
    target = case(Prior(5))[0]
    joint, found = Joint(target), []
    for seed in range(3):
        common = np.random.default_rng(seed).uniform(0.3, 1.5, joint.rows.p)
        joint.settle(common)
        found.append(joint.constant)
    np.testing.assert_allclose(found, found[0], rtol=0, atol=1e-8)


def test_a_lattice_is_the_same_set_from_each_of_its_points():
    for size, q in ((16, 1), (34, 2), (101, 3)):
        points = lattice(size, q)
        again = (points + points[5]) % 1.0
        order = [np.lexsort(np.round(one, 9).T % 1.0) for one in (points, again)]
        np.testing.assert_allclose(np.round(points[order[0]], 9) % 1, np.round(again[order[1]], 9) % 1, atol=1e-8)


def test_the_law_of_scales_is_normalised():
    draws = np.log(RNG.gamma(0.7, 1.0, (400, 1)))
    law, grid = KernelLaw(draws), np.linspace(-30, 20, 20_001)
    assert abs(log_sum(law.log_density(grid[:, None]), grid)) < 1e-6
    drawn = law.draws(20_000, np.random.default_rng(2))
    assert abs(drawn.mean() - draws.mean()) < 0.1
    assert abs(drawn.std() / draws.std() - 1.1) < 0.1


def test_a_bridge_of_normal_laws():
    """``p`` is three times a normal density, a little away from that of ``q``."""
    z, rng = [], np.random.default_rng(4)
    for _ in range(200):
        here, there = 0.5 + rng.standard_normal((4, 100)), 1.3 * rng.standard_normal(400)
        log_w = [np.log(3) + stats.norm.logpdf(x, 0.5) - stats.norm.logpdf(x, 0, 1.3) for x in (here, there)]
        found = bridged(*log_w)
        z.append((found.log_z - np.log(3)) / found.se)
    assert abs(np.mean(z)) < 0.3
    assert 0.85 < np.std(z) < 1.15
    with pytest.raises(NotApplicable, match="too far"):
        bridged(rng.standard_normal((4, 100)) + 40, rng.standard_normal(400) - 40)


def test_minibatches_find_the_same_evidence_as_all_rows(monkeypatch):
    rng, n = np.random.default_rng(6), 4000
    table = pd.DataFrame({"x": rng.uniform(-2, 2, n), "z": rng.standard_normal(n)})
    table["y"] = (rng.random(n) < special.expit(np.sin(2 * table["x"]) + 0.3 * table["z"])).astype(float)
    target = tunamh.regression("y ~ s(x) + z", table, family=tunamh.Logistic())
    posterior = tunamh.sample(target, draws=1000, rng=1, progressbar=False)
    wanted = tunamh.evidence(target, posterior, rng=1, proposals=500)
    monkeypatch.setattr("tunamh.sampling.evidence._MOST_PASSES", 0)
    found = tunamh.evidence(target, posterior, rng=2, proposals=1000)
    assert found.rows < 0.3 * n <= n == wanted.rows
    assert abs(found.log_evidence - wanted.log_evidence) < 4 * np.hypot(found.se, wanted.se)
    assert tunamh.evidence(posterior) == found


def test_curves_of_rows_in_files_have_their_evidence(tmp_path):
    rng, n = np.random.default_rng(6), 3000
    table = pd.DataFrame({"x": rng.uniform(-2, 2, n)})
    table["y"] = np.sin(2 * table["x"]) + 0.5 * rng.standard_normal(n)
    table.to_parquet(tmp_path / "a.parquet")
    rows = tunamh.open_rows(str(tmp_path / "*.parquet"), memory=60_000)
    here, there = (tunamh.regression("y ~ s(x)", data, family=tunamh.Gaussian()) for data in (table, rows))
    wanted, posterior = tunamh.evidence(here, rng=1, proposals=500), tunamh.sample(there, rng=2, progressbar=False)
    by_all = tunamh.evidence(there, posterior, rng=2, proposals=200)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tunamh.sampling.evidence._MOST_PASSES", 0)
        by_few = tunamh.evidence(there, posterior, rng=3, proposals=500)
    for one in (by_all, by_few):
        assert abs(one.log_evidence - wanted.log_evidence) < 4 * np.hypot(one.se, wanted.se)


def test_what_is_missing_is_told():
    target, _ = crossed()
    posterior = tunamh.sample(target, draws=50, rng=1, progressbar=False)
    with pytest.raises(NotApplicable, match="at least 100 draws"):
        tunamh.evidence(target, posterior)
    flat = priors.ByName({"0": priors.Flat()}, others=priors.Ridge())
    with pytest.raises(NotApplicable, match="prior of 0 is flat"):
        tunamh.evidence(tunamh.GLM(X, Y, tunamh.Gaussian(), prior=flat))
