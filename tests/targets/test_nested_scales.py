"""Scales of a prior proposed with the coefficients: their law, the proposal, and posteriors by quadrature."""

import arviz_stats
import numpy as np
import pytest
from scipy import stats

import tunamh
from tunamh import GLM, priors, sample
from tunamh.proposals.nested import knobs_of, nested
from tunamh.proposals.nested_law import NestedLaw, ScalePrior, not_negative
from tunamh.proposals.scale_tables import TABLES, drawn_from, log_density_of, tables
from tunamh.sampling.choice import choose
from tunamh.targets.scale_mixtures.nested import NestedTarget

rng = np.random.default_rng(11)

# ------------------------------------------------------------------------------------------------------ the tables

NODES = np.array([[-4.0, -1.0, 0.0, 0.5, 2.0]])
LOGS = np.array([[-3.0, -0.5, 0.0, 0.0, -2.5]])


def test_a_table_is_a_density_and_draws_have_it():
    found = tables(NODES, LOGS)
    one = TABLES.views(TABLES.pack(**found))
    fine = np.linspace(-60, 60, 400_001)
    density = np.exp([log_density_of.py_func(x, one, 0) for x in fine])
    assert np.trapezoid(density, fine) == pytest.approx(1, abs=1e-4)
    generator = np.random.default_rng(1)
    draws = [drawn_from.py_func(generator, one, 0) for _ in range(4000)]
    distribution = np.cumsum(density) * (fine[1] - fine[0])
    assert stats.kstest(draws, lambda x: np.interp(x, fine, distribution)).pvalue > 1e-3
    assert stats.kstest(draws, lambda x: np.interp(x + 0.15, fine, distribution)).pvalue < 1e-3  # negative control


# --------------------------------------------------------------------------------------------------------- the law

D, GROUP = 5, np.array([-1, 0, 0, 1, -1])
SHARE = (GROUP[:, None] == [0, 1]).astype(float)
OF_BOTH = np.array([[0.0, 0.0], [1.0, 0.5], [2.0, 0.0], [0.3, 1.0], [0.0, 0.0]])  # as tensor products have it
ROOT = rng.standard_normal((9, D)) * np.array([1.0, 2.0, 0.5, 1.5, 1.0])
H, MOMENT, MEAN = ROOT.T @ ROOT, rng.standard_normal(D) * 3, np.array([0.0, 0.2, -0.1, 0.0, 0.0])
TWO = ScalePrior(np.array([3.0, 1.0]), np.array([0.7, 1.5]))
LAWS = {"groups": NestedLaw(H, MOMENT, SHARE, MEAN, TWO), "of both": NestedLaw(H, MOMENT, OF_BOTH, MEAN, TWO)}
LAW, SHARES = LAWS["groups"], {"groups": SHARE, "of both": OF_BOTH}


def log_q(lam, share=SHARE):
    """From the whole matrices, without Schur complements or eigenvalues."""
    precision = share @ np.exp(-lam)
    P, h = H + np.diag(precision), MOMENT + precision * MEAN
    quadratic = 0.5 * h @ np.linalg.solve(P, h) - 0.5 * (precision * MEAN**2).sum()
    known = precision > 0
    prior = sum(float(LAW.prior.log_density(np.array(lam[g]), g)) for g in range(2))
    return prior + 0.5 * np.log(precision[known]).sum() - 0.5 * np.linalg.slogdet(P)[1] + quadratic


@pytest.mark.parametrize("which", LAWS)
def test_the_law_of_one_scale_given_the_others(which):
    law = LAWS[which]
    grid, other = np.linspace(-6, 5, 12), 0.4
    for g in range(2):
        points = [np.where(np.arange(2) == g, at, other) for at in grid]
        whole = np.array([log_q(lam, SHARES[which]) for lam in points])
        parts = law._log_law(g, law._of_one(g, np.full(2, other)), grid)
        assert np.ptp(whole - parts) < 1e-9


def test_the_prior_of_a_log_variance_is_that_of_its_scale():
    grid = np.linspace(-3, 2, 9)
    scale = np.exp(grid / 2)
    theirs = stats.t.logpdf(scale, 3.0, scale=0.7) + np.log(scale / 2)
    assert np.ptp(LAW.prior.log_density(grid, 0) - theirs) < 1e-9


def test_one_scale_has_its_law_as_a_table():
    law = NestedLaw(H, MOMENT, SHARE.sum(axis=1, keepdims=True), MEAN, ScalePrior(np.array([3.0]), np.array([0.7])))
    one = TABLES.views(TABLES.pack(**law.tables()))
    fine = np.linspace(-12, 8, 4001)
    exact = law._log_law(0, law._of_one(0, law.lam), fine)
    exact -= np.log(np.trapezoid(np.exp(exact), fine))
    ours = np.array([log_density_of.py_func(x, one, 0) for x in fine])
    heavy = exact > exact.max() - 6
    assert np.abs(ours - exact)[heavy].max() < 0.02


@pytest.mark.parametrize("which", LAWS)
def test_the_proposals_ratio_is_that_of_one_density(which):
    """``log f(here) - log f(there)``, of dilations a quarter of it: they have passed a step for that power."""
    knobs = np.array(knobs_of(LAWS[which]))
    one = TABLES.views(TABLES.pack(**LAWS[which].tables()))

    def log_f(state):
        theta, lam = state[:D], np.log(state[D:])
        precision = SHARES[which] @ np.exp(-lam)
        P, h = H + np.diag(precision), MOMENT + precision * MEAN
        off = theta - np.linalg.solve(P, h)
        at_scales = sum(log_density_of.py_func(lam[g], one, g) - lam[g] for g in range(2))
        return at_scales + 0.5 * np.linalg.slogdet(P)[1] - 0.5 * off @ P @ off

    generator, here, there = np.random.default_rng(3), np.append(np.zeros(D), [0.5, 2.0]), np.empty(D + 2)
    kept = moved = dilated = 0
    for innovation in (1.0, 0.3):
        knobs[0] = innovation
        for _ in range(200):
            ratio = nested(generator, here, there, knobs)
            if ratio == -np.inf:  # a dilation that stays
                continue
            if (there[:D] == here[:D])[GROUP < 0].all():
                assert ratio == pytest.approx(0.25 * (log_f(here) - log_f(there)), abs=1e-7)
                dilated += 1
                here[:] = there
                continue
            assert ratio == pytest.approx(log_f(here) - log_f(there), abs=1e-7)
            kept, moved = kept + (there[D:] == here[D:]).all(), moved + (there[D:] != here[D:]).all()
            here[:] = there
    assert kept > 10
    assert moved > 200
    assert dilated > 3


# ------------------------------------------------------------------------------------- posteriors, by quadrature

X = rng.standard_normal((60, 2)) * np.array([1.0, 0.6])
Y = (rng.random(60) < 1 / (1 + np.exp(-(X @ [0.9, -0.2])))).astype(float)
COEFFICIENTS = np.stack(np.meshgrid(np.linspace(-3, 4, 141), np.linspace(-4, 4, 141), indexing="ij"), axis=-1)
LOG_SCALE = np.linspace(-8, 5, 261)


def by_quadrature(power=0.0):
    """Mean and deviation of both coefficients and of the log scale; ``power`` of the scale makes another posterior."""
    eta = COEFFICIENTS @ X.T
    likelihood = (eta * Y - np.logaddexp(0, eta)).sum(axis=-1)
    squares, scale = np.square(COEFFICIENTS).sum(axis=-1), np.exp(LOG_SCALE)
    mass, first, second = np.empty(len(scale)), np.empty((len(scale), 2)), np.empty((len(scale), 2))
    for k, s in enumerate(scale):
        value = np.exp(likelihood - likelihood.max() - 0.5 * squares / s**2 - 2 * np.log(s))
        if s < 0.15:  # narrower than the grid: by draws that are a grid of quantiles
            at = s * stats.norm.ppf((np.arange(40) + 0.5) / 40)
            points = np.stack(np.meshgrid(at, at, indexing="ij"), axis=-1)
            inside = points @ X.T
            value = np.exp((inside * Y - np.logaddexp(0, inside)).sum(axis=-1) - likelihood.max())
            cell = 2 * np.pi / 1600
        else:
            points, cell = COEFFICIENTS, 0.05 * (8 / 140)
        mass[k] = value.sum() * cell
        first[k] = (value[..., None] * points).sum(axis=(0, 1)) * cell / mass[k]
        second[k] = (value[..., None] * points**2).sum(axis=(0, 1)) * cell / mass[k]
    weight = mass * stats.t.pdf(scale, 3, scale=1.5) * scale ** (1 + power)
    weight /= weight.sum()
    mean, log_scale = weight @ first, weight @ LOG_SCALE
    deviation = np.sqrt(weight @ second - mean**2)
    return np.append(mean, log_scale), np.append(deviation, np.sqrt(weight @ (LOG_SCALE - log_scale) ** 2))


@pytest.fixture(scope="module")
def draws():
    target = GLM(X, Y, tunamh.Logistic(), prior=priors.Ridge(tunamh.HalfStudentT(3, 1.5)))
    tree = sample(target, draws=8000, rng=2, progressbar=False)
    assert "coefficients and the scales of the prior are proposed together" in tree.posterior.attrs["choice"]
    return np.concatenate([tree.posterior["theta"].values, np.log(tree.posterior["prior_scale"].values)[..., None]], -1)


def scores(draws, truth):
    found = []
    for j in range(3):
        own = draws[..., j]
        ess = float(arviz_stats.ess(own))
        found.append((own.mean() - truth[0][j]) / (own.std() / np.sqrt(ess)))
        squares = (own - truth[0][j]) ** 2
        found.append((squares.mean() - truth[1][j] ** 2) / (squares.std() / np.sqrt(float(arviz_stats.ess(squares)))))
    return np.abs(found)


def test_one_scale_and_two_coefficients_by_quadrature(draws):
    assert scores(draws, by_quadrature()).max() < 4


def test_another_power_of_the_scale_shows(draws):
    assert scores(draws, by_quadrature(power=0.3)).max() > 6


def test_rows_are_few_and_scales_move_freely():
    """A strong, a linear (no scale to speak of) and a flat truth: no funnel, and as few rows as under a known prior."""
    features = rng.standard_normal((20_000, 15))
    for size in (0.5, 0.02, 0.0):
        y = (rng.random(20_000) < 1 / (1 + np.exp(-features @ (size * rng.standard_normal(15))))).astype(float)
        tree = sample(GLM(features, y, tunamh.Logistic(), prior=priors.Ridge()), draws=1000, rng=1, progressbar=False)
        assert float(arviz_stats.ess(np.log(tree.posterior["prior_scale"].values))) > 2000
        assert tree.sample_stats["accepted"].mean() > 0.85
        assert tree.sample_stats["batch_size"].mean() < 200


def test_more_scales_than_serve_are_drawn_in_turn():
    features, y = rng.standard_normal((300, 40)), rng.standard_normal(300)
    for groups, together in ((["a", "b"] * 20, True), ([str(j) for j in range(40)], False)):
        target = GLM(features, y, tunamh.Gaussian(scale=1.0), prior=priors.Grouped(groups))
        assert isinstance(choose(target, None, None, None).target, NestedTarget) == together


def test_ridge_takes_two_laws_of_its_scale():
    with pytest.raises(TypeError, match="scale of Ridge must be HalfStudentT or HalfCauchy"):
        priors.Ridge(tunamh.HalfNormal(1))


@pytest.mark.parametrize("negative", [1e-14, 0.3])
def test_curvatures_are_made_positive_in_any_units(negative):
    """With columns of 1e8 beside columns of 1, small curvatures of the others must not be taken for rounding."""
    rng = np.random.default_rng(2)
    vectors, _ = np.linalg.qr(rng.standard_normal((4, 4)))
    C = (vectors * np.array([-negative, 0.5, 1.0, 2.0])) @ vectors.T
    k, about = rng.standard_normal(4), rng.standard_normal(4)
    unit = np.array([1.0, 1e8, 1.0, 1e-6])
    found, slope = not_negative(C, k, about)
    scaled, scaled_slope = not_negative(C * np.outer(unit, unit), k * unit, about / unit)
    np.testing.assert_allclose(scaled / np.outer(unit, unit), found, rtol=1e-6, atol=1e-9)
    np.testing.assert_allclose(scaled_slope / unit, slope, rtol=1e-6, atol=1e-9)
    assert np.linalg.eigvalsh(found)[0] > 0


@pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
def test_chains_of_curves_do_not_depend_on_units():
    """Beside a curve, energies that are not convex, and a column far from zero in large units: chains stood still."""
    rng = np.random.default_rng(3)
    x, z = rng.standard_normal(12) + 30, rng.uniform(0, 3, 12)
    y = np.clip(rng.beta(3, 3, 12), 1e-6, 1 - 1e-6)
    rates = []
    for unit in (1.0, 1e6):
        target = tunamh.regression(
            "y ~ x + s(z, k=6)",
            {"y": y, "x": x * unit, "z": z},
            family=tunamh.Beta(),
            prior={"x": tunamh.Normal(scale=1 / unit)},
        )
        rates.append(tunamh.sample(target, draws=500, rng=1, progressbar=False).sample_stats["step_size"].min())
    assert rates[1] > 0.3 * rates[0]
