"""Moves of all factors together: where they are made, and that their coordinates are one to one."""

import numba
import numpy as np
import pytest

import tunamh
from tunamh.chains.loop import ChainState, advance, setup_of
from tunamh.groups.joint_coordinates import fill_precisions, follow, new_space, stand
from tunamh.groups.joint_law import joint_law, may_move_jointly, numbers_of
from tunamh.groups.joint_layout import JOINT, joint_at
from tunamh.groups.sweep import BY_LOT, Sweep
from tunamh.rows.supply import open_stream

SITES, NESTS = 15, 60


def counts(rows=180, seed=1):
    """Counts of a row effect, in nests, in sites."""
    rng = np.random.default_rng(seed)
    nest = rng.integers(0, NESTS, rows)
    nest[:NESTS] = np.arange(NESTS)
    site = rng.integers(0, SITES, NESTS)[nest]
    site = np.unique(site, return_inverse=True)[1]
    x = rng.standard_normal(rows)
    eta = 0.3 + 0.4 * x + 0.5 * rng.standard_normal(rows) + 0.6 * rng.standard_normal(NESTS)[nest]
    eta += 0.5 * rng.standard_normal(SITES)[site]
    return np.column_stack([np.ones(rows), x]), rng.poisson(np.exp(eta)).astype(float), nest, site


def nested(effects=None, **settings):
    X, y, nest, site = counts()
    beside = {"X": X} if effects == "slopes" else {}
    factors = [
        tunamh.GroupEffects(nest, name="nest", **beside),
        tunamh.GroupEffects(np.arange(len(y)), name="row", **settings),
        tunamh.GroupEffects(site, name="site"),
    ]
    return tunamh.MixedModel(X, y, tunamh.Poisson(), factors, prior=tunamh.Normal(scale=2.0))


def test_thin_nested_factors_are_moved_together():
    model = nested()
    assert model.joint is not None
    drawn = tunamh.sample(model, draws=1500, tune=100, chains=1, rng=1, progressbar=False)
    assert float(drawn.sample_stats["joint_acceptance"].mean()) > 0.25


def test_draws_are_those_of_sweeps_alone():
    """Means of the log scales, which mix ten times as well with these moves."""
    model = nested()
    settings = {"tune": 200, "chains": 2, "rng": 3, "progressbar": False}
    found = []
    for one, draws in ((model, 2000), (model._with(joint=None), 8000)):
        drawn = tunamh.sample(one, draws=draws, **settings)
        found.append(np.log(drawn.posterior["group_scale"].values))
    assert np.allclose(found[0].mean(axis=(0, 1)), found[1].mean(axis=(0, 1)), atol=0.12)
    assert np.allclose(found[0].std(axis=(0, 1)), found[1].std(axis=(0, 1)), rtol=0.2)


def test_a_group_without_weight_is_moved_along():
    """The share of its weight that lies in a group of another factor was 0 / 0, and sampling ended in an error."""
    X, y, nest, site = counts()
    factors = [tunamh.GroupEffects(nest, name="nest"), tunamh.GroupEffects(np.arange(len(y)), name="row")]
    model = tunamh.MixedModel(X, y, tunamh.Poisson(), factors, weights=(site > 0) * (np.arange(len(y)) % 4 > 0) * 1.0)
    assert np.isfinite(model.joint).all()
    tunamh.sample(model, draws=20, tune=20, chains=1, rng=1, progressbar=False)


@pytest.mark.parametrize("settings", [{"effects": "slopes"}, {"law": tunamh.priors.StudentT(df=4)}, {"scale": 0.5}])
def test_other_effects_go_without(settings):
    assert not may_move_jointly(nested(**settings))


def test_groups_of_many_rows_go_without():
    """Sweeps read fewer rows than there are."""
    rng = np.random.default_rng(2)
    X = np.column_stack([np.ones(6000), rng.standard_normal(6000)])
    a, b = rng.integers(0, 10, 6000), rng.integers(0, 12, 6000)
    y = (rng.random(6000) < 0.4).astype(float)
    model = tunamh.MixedModel(X, y, tunamh.Logistic(), [tunamh.GroupEffects(a), tunamh.GroupEffects(b)])
    assert may_move_jointly(model)
    assert joint_law(model) is None


@numba.njit(error_model="numpy")
def there_and_back(numbers, state, effects, rest):
    law = joint_at(numbers, 0)
    space = new_space(law, state)
    volumes = fill_precisions(law, state, space)
    space.rest[:] = rest
    stand(law, effects, space)
    found = np.zeros(effects.size)
    space.rest[:] = rest
    follow(law, found, space)
    return found, space.eps, space.precisions, volumes


def test_effects_follow_from_what_is_kept_of_them():
    model = nested()
    rng = np.random.default_rng(5)
    numbers = numbers_of(model, np.array([model.start(rng) for _ in range(30)]), 1)
    state, rest = model.start(rng), rng.standard_normal(model.n_rows)
    effects = state[model.p + model.m :].copy()
    found, eps, precisions, volumes = there_and_back(numbers, state, effects, rest)
    assert np.allclose(found, effects)
    assert volumes == pytest.approx(0.5 * np.log(precisions).sum())
    slopes = np.empty((effects.size, effects.size))
    for k in range(effects.size):
        away = effects.copy()
        away[k] += 1.0
        slopes[:, k] = there_and_back(numbers, state, away, rest)[1] - eps
    assert np.linalg.slogdet(slopes)[1] == pytest.approx(volumes)  # the Jacobian of the coordinates


def test_of_nested_factors_the_precisions_are_those_of_elimination():
    """Effects of rows, then of nests, integrated out of the quadratic: what is left for the sites, by a matrix."""
    model = nested()
    rng = np.random.default_rng(6)
    numbers = numbers_of(model, np.array([model.start(rng) for _ in range(30)]), 1)
    state = model.start(rng)
    effects = state[model.p + model.m :].copy()
    P = there_and_back(numbers, state, effects, np.zeros(model.n_rows))[2]
    w = np.asarray(JOINT.views(numbers).weight)
    Z = np.concatenate([np.eye(one.groups)[one.codes] for one in model.groupings], axis=1)
    Q = np.repeat(np.exp(-2 * state[model.p : model.p + 3]), [one.groups for one in model.groupings])
    whole = Z.T @ (w[:, None] * Z) + np.diag(Q)
    sites = slice(NESTS + model.n_rows, None)
    inner = slice(0, NESTS + model.n_rows)
    left = whole[sites, sites] - whole[sites, inner] @ np.linalg.solve(whole[inner, inner], whole[inner, sites])
    assert np.allclose(np.diag(left), P[sites])
    assert np.allclose(left, np.diag(np.diag(left)))


def test_thin_crossed_factors_are_moved_together():
    """Their sweeps read fewer rows than there are, and cost more than a move that reads all."""
    rng = np.random.default_rng(5)
    X = np.column_stack([np.ones(600), rng.standard_normal(600)])
    a, b = rng.integers(0, 300, 600), rng.integers(0, 100, 600)
    eta = 0.5 * X[:, 1] + 0.7 * rng.standard_normal(300)[a] + 0.7 * rng.standard_normal(100)[b]
    y = (rng.random(600) < 1 / (1 + np.exp(-eta))).astype(float)
    model = tunamh.MixedModel(X, y, tunamh.Logistic(), [tunamh.GroupEffects(a), tunamh.GroupEffects(b)])
    numbers = joint_law(model)
    assert numbers is not None
    assert 1 <= JOINT.views(numbers).tries <= 8


def test_beside_them_a_sweep_proposes_for_one_factor():
    """The share of a factor's own turn: with three factors (A) reads a third of the rows that it reads without lots."""
    model = nested()
    ready = Sweep().bind(model)
    assert ready.turns[0].knobs[0] == BY_LOT[0]
    assert Sweep(full=True).bind(model).turns[0].knobs[0] == 1.0
    assert rows_read(model, ready.turns[0]) < 0.75 * rows_read(model, Sweep().alone(model))


def rows_read(model, kernel):
    kernel, seed = kernel._replace(then=()), np.random.SeedSequence(0)
    setup, rng = setup_of(model, kernel, seed), np.random.default_rng(1)
    state = ChainState(model.start(rng), rng, open_stream(seed), kernel.first_memory)
    record = setup.new_record(100)
    advance(state, setup, np.empty((100, state.here.size)), record)
    return float(setup.statistics.rows(record).mean())
