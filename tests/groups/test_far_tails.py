"""Proposals so far out that numbers overflow are rejected in every kernel of a sweep, and the law stays what it is."""

import numpy as np
import pytest
from numbers_of import changed, widened
from quadrature import moments_by_quadrature
from test_mixed_model import effective, score, small_data

import tunamh
from tunamh import GroupEffects, MixedModel, Normal
from tunamh.chains.loop import ChainState, Kept, setup_of, walk_of
from tunamh.compiled import BAD_RATIO, NO_FAULT
from tunamh.groups.layout import SCALE_TABLE
from tunamh.groups.sweep import Sweep
from tunamh.rows.supply import open_stream


def model_of(kind="poisson", **groups):
    x, y, codes, family, energy = small_data(kind, 0.5, 2)
    model = MixedModel(x[:, None], y, family, GroupEffects(codes, **groups), prior=Normal(scale=2.0))
    return model, (x, y, codes, energy)


def widen(model, *, law=1.0, scales=1.0, table=1.0):
    """The law of all, or of log scales alone, so many times as wide, and the cells of its table: any are exact.

    Chains start by the law that they had before.
    """
    starts = [model.start(np.random.default_rng(chain)) for chain in range(4)]

    def wider(numbers):
        widened(numbers, model.p, law, scales)
        of_scale, at = SCALE_TABLE.views(numbers.scale_table, p=model.p), SCALE_TABLE.fixed
        numbers.scale_table[at["low"]] -= 0.5 * (table - 1) * of_scale.cells * of_scale.width
        numbers.scale_table[at["width"]] *= table

    return changed(model, wider, start=lambda rng, chain=0: starts[chain].copy())


WIDE = [("logistic", {"table": 60.0}), ("poisson", {"scales": 300.0}), ("poisson", {"table": 60.0})]


@pytest.mark.parametrize(("kind", "how"), WIDE)
def test_log_scales_of_thousands_are_rejected(kind, how):
    model, (x, y, codes, energy) = model_of(kind, scale=tunamh.HalfNormal(1.0))
    model = widen(model, **how)
    posterior = tunamh.sample(model, draws=6000, tune=100, chains=4, rng=3).posterior
    means, seconds = moments_by_quadrature(x, y, codes, energy, prior_sd=2.0, scale_sd=1.0)
    parts = posterior["theta"].values, np.log(posterior["group_scale"].values), posterior["group_effect"].values
    draws = np.concatenate(parts, axis=-1)
    assert effective(draws[..., 0]) > 200
    for j in range(draws.shape[-1]):
        assert abs(score(draws[..., j], means[j])) < 4.5
        assert abs(score(draws[..., j] ** 2, seconds[j])) < 4.5


PRIORS = [
    tunamh.HalfNormal(100.0),
    tunamh.priors.HalfCauchy(10.0),
    tunamh.priors.Gamma(0.5, 1.0),
    tunamh.priors.InverseGamma(2.0, 1.0),
    tunamh.priors.LogNormal(0.0, 3.0),
]


@pytest.mark.parametrize("prior", PRIORS)
@pytest.mark.parametrize("slopes", [False, True])
def test_every_prior_of_scales_at_proposals_far_out(prior, slopes):
    x, y, codes, family, _ = small_data("poisson", 0.5, 2)
    Z = np.column_stack([np.ones(len(x)), x]) if slopes else None
    groups = GroupEffects(codes, X=Z, scale=prior)
    model = MixedModel(x[:, None], y, family, groups, prior=Normal(scale=2.0))
    model = widen(model, law=500.0, table=60.0)
    posterior = tunamh.sample(model, draws=300, tune=50, chains=1, rng=3).posterior
    assert all(np.isfinite(values.values).all() for values in posterior.values())


@pytest.mark.parametrize("slopes", [False, True])
def test_effects_of_1e200_are_rejected(slopes):
    """Of a group whose curvature is said to be zero: (B) proposes by the prior alone, (A) carries its eps along."""
    x, y, codes, family, _ = small_data("poisson", 0.5, 2)
    Z = np.column_stack([np.ones(len(x)), x]) if slopes else None
    model = MixedModel(x[:, None], y, family, GroupEffects(codes, X=Z, scale=1.0), prior=Normal(scale=2.0))

    def flat(numbers):
        numbers.convex[0], numbers.precision[:] = 0.0, 1e-200 * np.eye(1 + slopes)

    model = changed(model, flat)
    state, fault = sweep(model, 200)
    assert fault == NO_FAULT
    assert np.abs(state).max() < 100


def sweep(model, times, state=None, rng=1):
    """Where some sweeps from the centre, or from a state, end, and the fault that ended them."""
    kernel, seed = Sweep().bind(model), np.random.SeedSequence(0)
    setup = setup_of(model, kernel, seed)
    if state is None:
        at = model.centre.at
        state = np.concatenate([at.common, np.zeros(model.m), *(v.ravel() for v in at.effects)])
    chain = ChainState(state, np.random.default_rng(rng), open_stream(seed), kernel.first_memory)
    kept = Kept(times, np.empty((1, state.size)), setup.new_record(1), setup.statistics.kinds)
    outcome = setup.loop(chain.rng, walk_of(chain, setup), kept)
    return chain.here, outcome.fault


@pytest.mark.parametrize("wrong", [np.nan, np.inf, 1e200])
@pytest.mark.parametrize("at", [0, 1, -1])
def test_a_state_that_is_no_number_is_a_fault(wrong, at):
    """Of a coefficient, a log scale or an effect: a chain is never there, and must not stay there in silence."""
    model, _ = model_of(scale=tunamh.HalfNormal(1.0))
    state = model.start(np.random.default_rng(1))
    state[at] = wrong
    assert sweep(model, 1, state)[1] == BAD_RATIO


def test_a_prior_of_a_scale_may_end_beside_an_unknown_scale_of_the_errors():
    """Beyond its end there is no slope: sampling ended in a LinAlgError."""
    rng = np.random.default_rng(3)
    codes, x = np.repeat(np.arange(6), 2), rng.standard_normal(12)
    y = rng.standard_normal(6)[codes] + 0.5 * rng.standard_normal(12)
    effects = GroupEffects(codes, scale=tunamh.priors.Uniform(0.1, 3.0))
    errors = tunamh.Gaussian(scale=tunamh.HalfNormal(1.0))
    model = MixedModel(np.column_stack([np.ones(12), x]), y, errors, effects, prior=Normal(scale=3.0))
    posterior = tunamh.sample(model, draws=4000, rng=1, progressbar=False).posterior
    sigma, s = np.exp(np.linspace(-4, 2, 121)), np.linspace(0.1, 3.0, 60)
    X, density = np.column_stack([np.ones(12), x]), np.empty((121, 60))
    for i, one in enumerate(sigma):
        for k, of_groups in enumerate(s):
            V = one**2 * np.eye(12) + of_groups**2 * (codes[:, None] == codes) + 9.0 * X @ X.T
            density[i, k] = -0.5 * (np.linalg.slogdet(V)[1] + y @ np.linalg.solve(V, y) + one**2) + np.log(one)
    mass = np.exp(density - density.max())
    for draws, grid, axis in ((posterior["scale"], sigma, 1), (posterior["group_scale"], s, 0)):
        wanted = (mass.sum(axis=axis) * grid).sum() / mass.sum()
        assert abs(score(draws.values.reshape(4, -1), wanted)) < 4.5
