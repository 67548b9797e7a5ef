"""Groups whose rows are not convex, against quadrature: proposals know the convex rows, decisions all (spec 5q)."""

import numpy as np
import pytest
from quadrature import moments_of_known_scales
from test_mixed_model import effective, score

import tunamh
from tunamh import GroupEffects, MixedModel, Normal
from tunamh.groups.levels import LeveledRegression


def two_lumps():
    """Three groups of four rows, two at either end: the rows of a group are concave between them."""
    rng = np.random.default_rng(2)
    codes = np.repeat(np.arange(3), 4)
    y = np.tile([-2.5, -2.5, 2.5, 2.5], 3) + 0.5 * rng.standard_normal(12)
    return rng.standard_normal(12), y, codes


def student(r):
    return 1.5 * np.log1p(r * r / 2)


def hold(draws, wanted):
    """Every column's mean and mean square within Monte Carlo error."""
    means, seconds = wanted
    assert draws.shape[-1] == len(means)
    for j in range(len(means)):
        assert abs(score(draws[..., j], means[j])) < 4, j
        assert abs(score(draws[..., j] ** 2, seconds[j])) < 4, j


def common_and_effects(model, rng=1, draws=10_000):
    posterior = tunamh.sample(model, draws=draws, tune=500, chains=4, rng=rng).posterior
    return np.concatenate([posterior["theta"].values, posterior["group_effect"].values], axis=-1)


BETA = np.linspace(-9, 9, 121)


def test_student_t_between_two_lumps():
    x, y, codes = two_lumps()
    u = np.linspace(-14, 14, 561)
    log_like = [
        -student(y[codes == g] - x[codes == g] * BETA[:, None, None] - u[None, :, None]).sum(axis=2) for g in range(3)
    ]
    wanted = moments_of_known_scales(log_like, u[:, None], -0.5 * (u / 2) ** 2, BETA[:, None], -0.5 * BETA**2)
    model = MixedModel(x[:, None], y, tunamh.StudentT(2, 1.0), GroupEffects(codes, scale=2.0), prior=Normal(scale=1.0))
    hold(common_and_effects(model), wanted)


def test_slopes_of_student_t_between_two_lumps():
    x, y, codes = two_lumps()
    rng = np.random.default_rng(3)
    Z = np.column_stack([np.ones(12), rng.standard_normal(12)])
    u, w = (a.ravel() for a in np.meshgrid(np.linspace(-10, 10, 101), np.linspace(-5, 5, 61), indexing="ij"))
    beta = np.linspace(-5, 5, 41)
    log_like = []
    for g in range(3):
        rows = codes == g
        of_effects = Z[rows] @ np.stack([u, w])
        log_like.append(
            -student(y[rows][:, None, None] - x[rows][:, None, None] * beta[:, None] - of_effects[:, None, :]).sum(
                axis=0
            )
        )
    prior = -0.5 * (u / 2) ** 2 - 0.5 * w**2
    wanted = moments_of_known_scales(log_like, np.stack([u, w], axis=1), prior, beta[:, None], -0.5 * beta**2)
    groups = GroupEffects(codes, X=Z, scale=[2.0, 1.0])
    model = MixedModel(x[:, None], y, tunamh.StudentT(2, 1.0), groups, prior=Normal(scale=1.0))
    hold(common_and_effects(model), wanted)


def zero_inflated():
    """Four groups, one without a positive count: all its rows are concave at the centre."""
    rng = np.random.default_rng(5)
    codes = np.repeat(np.arange(4), 6)
    y = rng.poisson(np.exp(1.2), 24) * (rng.random(24) < 0.6)
    y[codes == 2] = 0
    x = 1.0 + 0.5 * rng.standard_normal(24)
    return x, y.astype(float), codes


def test_zero_inflated_groups():
    x, y, codes = zero_inflated()
    beta, logit, u = np.linspace(-3, 4, 61), np.linspace(-7, 6, 66), np.linspace(-9, 9, 241)
    shared = np.stack([a.ravel() for a in np.meshgrid(beta, logit, indexing="ij")], axis=1)
    log_like = []
    for g in range(4):
        rows = codes == g
        total = 0.0
        for x_i, y_i in zip(x[rows], y[rows], strict=True):
            mu = np.exp(np.minimum(x_i * shared[:, :1] + u, 50.0))
            pi, rest = -np.logaddexp(0, -shared[:, 1:]), -np.logaddexp(0, shared[:, 1:])
            total = total + (np.logaddexp(pi, rest - mu) if y_i == 0 else rest - mu + y_i * np.log(mu))
        log_like.append(total)
    uniform = -np.logaddexp(0, shared[:, 1]) - np.logaddexp(0, -shared[:, 1])
    prior = -0.5 * shared[:, 0] ** 2 + uniform
    wanted = moments_of_known_scales(log_like, u[:, None], -0.5 * (u / 1.5) ** 2, shared, prior)
    model = MixedModel(
        x[:, None], y, tunamh.ZeroInflated(tunamh.Poisson()), GroupEffects(codes, scale=1.5), prior=Normal(scale=1.0)
    )
    posterior = tunamh.sample(model, draws=10_000, tune=500, chains=4, rng=1).posterior
    inflation = posterior["inflation"].values
    parts = posterior["theta"].values, np.log(inflation / (1 - inflation))[..., None], posterior["group_effect"].values
    hold(np.concatenate(parts, axis=-1), wanted)


def test_thin_levels_of_a_student_t_regression():
    x, y, codes = two_lumps()
    X = np.column_stack([x, codes[:, None] == np.arange(3)]).astype(float)
    u = np.linspace(-14, 14, 561)
    log_like = [
        -student(y[codes == g] - x[codes == g] * BETA[:, None, None] - u[None, :, None]).sum(axis=2) for g in range(3)
    ]
    wanted = moments_of_known_scales(log_like, u[:, None], -0.5 * (u / 2) ** 2, BETA[:, None], -0.125 * BETA**2)
    target = tunamh.GLM(X, y, tunamh.StudentT(2, 1.0), prior=Normal(scale=2.0))
    posterior = tunamh.sample(LeveledRegression(target, [[1, 2, 3]]), draws=10_000, tune=500, chains=4, rng=1).posterior
    hold(posterior["theta"].values, wanted)


def test_groups_of_concave_rows_lean_as_far_as_their_columns():
    """Of outliers only, and not 10^21 times as far, which would swallow the effects."""
    rng = np.random.default_rng(4)
    codes, x = np.repeat(np.arange(3), 4), rng.standard_normal(12)
    y = rng.standard_normal(12) + 30.0 * (codes == 2)
    groups = GroupEffects(codes, scale=0.5)
    model = MixedModel(x[:, None], y, tunamh.StudentT(2, 1.0), groups, prior=Normal(scale=1.0))
    numbers, sums = model.factors[0], model.centre.sums.factors[0]
    assert (numbers.curvature[2] < 0).all()
    lean = (numbers.regress_x_on_z @ sums.cross)[:, 0, 0]
    assert np.abs(lean).max() <= np.abs(x).max()
    assert 0 < lean[2] / (sums.cross[2, 0, 0] / sums.curvature[2, 0, 0]) <= 1
    assert tunamh.check_bounds(model, pairs=30, rng=1) <= 1


@pytest.mark.parametrize("seed", [4, 24, 30])
def test_zero_inflated_counts_of_many_groups_without_counts(seed):
    """One ended in a ratio of +infinity, two began at 10^74: the quadratic of concave rows falls for ever."""
    rng = np.random.default_rng(seed)
    codes, x = np.arange(60) % 8, rng.standard_normal(60)
    eta = 0.3 + 0.5 * x + 1.5 * rng.standard_normal(8)[codes]
    y = rng.poisson(np.exp(np.minimum(eta, 4))) * (rng.random(60) < 0.5).astype(float)
    X = np.column_stack([np.ones(60), x])
    model = MixedModel(X, y, tunamh.ZeroInflated(tunamh.Poisson()), GroupEffects(codes), prior=Normal(scale=2.0))
    posterior = tunamh.sample(model, draws=2000, tune=200, chains=2, rng=seed).posterior
    assert np.abs(posterior["theta"].values).max() < 10
    assert effective(posterior["theta"].values[..., 1]) > 100


FEW = [(1, tunamh.StudentT(2)), (3, tunamh.StudentT(4, 1.0)), (8, tunamh.StudentT()), (10, tunamh.StudentT(df=None))]


@pytest.mark.parametrize(("seed", "family"), FEW)
def test_many_groups_of_one_row_with_student_t_errors(seed, family):
    """A gradient without curvature, under a wide scale: starts at 10^4, a table without mass, ratios of +infinity."""
    rng = np.random.default_rng(seed)
    codes, x = np.minimum(np.arange(500), 59), rng.standard_normal(500)
    X = np.column_stack([np.ones(500), x])
    y = X @ [0.5, 1.0] + rng.standard_normal(60)[codes] + rng.standard_t(2 if seed % 2 else 4, 500)
    model = MixedModel(X, y, family, GroupEffects(codes))
    posterior = tunamh.sample(model, draws=500, tune=200, chains=2, rng=seed).posterior
    assert np.abs(posterior["theta"].values - [0.5, 1.0]).max() < 2.5
    assert posterior["group_scale"].values.max() < 5


def test_a_group_far_from_its_start_is_led_to_its_mode():
    """Once a group of large counts among 400 stayed near where the search began, and its draws with it: 19 here."""
    rng = np.random.default_rng(5)
    groups, rows = 400, 6
    g = np.repeat(np.arange(groups), rows)
    x = rng.standard_normal(g.size)
    mean = np.exp(0.3 + 0.5 * x + rng.standard_normal(groups)[g])
    y = np.where(rng.random(g.size) < 0.3, 0, rng.poisson(mean)).astype(float)
    y[g == 7] = [67, 29, 0, 0, 126, 67]
    X = np.column_stack([np.ones(g.size), x])
    model = MixedModel(X, y, tunamh.ZeroInflated(tunamh.Poisson()), g, prior=Normal(scale=5.0))
    centre = model.laplace_centre
    of, v = centre.sums.factors[0], centre.at.effects[0][:, 0]
    precision = np.exp(-2 * centre.scales[0][0])
    slope = of.gradient[:, 0] + precision * v
    assert np.abs(slope / np.sqrt(np.maximum(of.curvature[:, 0, 0], 0.0) + precision)).max() < 0.35
