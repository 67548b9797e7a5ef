"""The evidence of models with one factor of groups and one effect: against closed forms and quadrature."""

import numpy as np
import pandas as pd
import pytest
from scipy import special, stats

import tunamh
from tunamh.errors import NotApplicable
from tunamh.marginal.bridge import bridged
from tunamh.marginal.density import Weights
from tunamh.marginal.effects_inside import LOGISTIC, NORMAL, EffectsInside
from tunamh.marginal.joint import Joint, State
from tunamh.marginal.states import states_of

pytestmark = pytest.mark.filterwarnings("ignore")  # runs are short

RNG = np.random.default_rng(3)
N, GROUPS = 200, 8
CODES, COLUMN = RNG.integers(GROUPS, size=N), RNG.standard_normal(N)
X, Z = np.column_stack([np.ones(N), COLUMN]), np.eye(GROUPS)[CODES]
ETA = X @ [0.3, 0.5] + (0.8 * RNG.standard_normal(GROUPS))[CODES]
REALS, LABELS = ETA + 0.7 * RNG.standard_normal(N), (RNG.random(N) < special.expit(ETA)).astype(float)
PRIOR, OF_SCALE = tunamh.Normal(scale=2.0), tunamh.HalfNormal(1.5)


def mixed(y, family, scale=OF_SCALE, **how):
    return tunamh.MixedModel(X, y, family, tunamh.GroupEffects(CODES, scale=scale, **how), prior=PRIOR)


def of_reals(scale, error=0.7):
    """Coefficients and effects integrated out in closed form."""
    covariance = error**2 * np.eye(N) + 4 * X @ X.T + scale**2 * Z @ Z.T
    return stats.multivariate_normal.logpdf(REALS, np.zeros(N), covariance)


def log_sum(values, *grids):
    return special.logsumexp(values) + sum(np.log(grid[1] - grid[0]) for grid in grids)


def of_scale(log_scale, width=1.5):
    """The density of the logarithm of a half-normal scale."""
    return stats.halfnorm.logpdf(np.exp(log_scale), 0, width) + log_scale


def close(target, wanted, **how):
    found = tunamh.evidence(target, rng=2, **{"proposals": 1000, **how})
    assert found.se < 0.1
    assert abs(found.log_evidence - wanted) < 4 * found.se + 1e-6


def test_known_scales_have_a_closed_form():
    close(mixed(REALS, tunamh.Gaussian(0.7), 0.8), of_reals(0.8))


def test_unknown_scales_of_effects():
    grid = np.linspace(-5, 3, 120)
    close(mixed(REALS, tunamh.Gaussian(0.7)), log_sum([of_reals(np.exp(a)) + of_scale(a) for a in grid], grid))


def test_unknown_scales_of_effects_and_errors():
    """Chains walk the scale of effects in units of the errors' scale."""
    of_effects, of_errors = np.linspace(-4, 3, 50), np.linspace(np.log(0.5), np.log(1.1), 30)
    values = [of_reals(np.exp(a), np.exp(b)) + of_scale(a) + of_scale(b, 2.0) for a in of_effects for b in of_errors]
    close(mixed(REALS, tunamh.Gaussian(tunamh.HalfNormal(2.0))), log_sum(values, of_effects, of_errors))


def logistic_given(b, scale, nodes=151):
    """By a rule of its own, the same even nodes for every group."""
    at = np.linspace(-9, 9, nodes)
    eta = X @ b + scale * at[:, None]
    each = (LABELS * eta - np.logaddexp(0, eta)) @ Z + stats.norm.logpdf(at)[:, None]
    return (special.logsumexp(each, axis=0) + np.log(at[1] - at[0])).sum()


def inside(target, point, sizes, seed=0):
    """The log of the joint density, the effects of the one factor integrated out, at several shifts of the lattice."""
    joint, b = Joint(target), np.array(point[:2])
    joint.settle(np.zeros(2))
    state = State(b, [np.array(point[2:])], np.zeros(0), [np.zeros((GROUPS, 1))])
    effects, (law, size, shifts) = EffectsInside(joint.rows, 0), sizes
    effects.law, effects.size = law, size
    eta, Q = effects.predictors(b, state.effects), np.array([[np.exp(-2 * point[2])]])
    centred, rng = effects.centred(eta, np.zeros((GROUPS, 1)), Q), np.random.default_rng(seed)
    places = rng.random((shifts, GROUPS, 1))
    each = np.array([effects.log_integrals(eta, state.lam[0], centred, U) for U in places])
    return joint.log_prior(state, without=0), each


def test_the_joint_density_of_labels_has_its_effects_integrated_out():
    for point in ([0.2, 0.5, -0.2], [-0.3, 0.9, 0.7], [0.6, 0.1, -4.0]):
        own = stats.norm.logpdf(point[:2], 0, 2).sum() + of_scale(point[2])
        wanted = logistic_given(np.array(point[:2]), np.exp(point[2]), 4001) + own
        prior, each = inside(mixed(LABELS, tunamh.Logistic()), point, (LOGISTIC, 64, 3))
        np.testing.assert_allclose(prior + each.sum(axis=1), wanted, rtol=1e-6)


@pytest.mark.parametrize("law", [LOGISTIC, NORMAL])
def test_few_points_have_noise_but_no_bias(law):
    """The mean over uniform shifts is the integral, however few points there are."""
    _, each = inside(mixed(LABELS, tunamh.Logistic()), [0.2, 0.5, 0.7], (law, 2, 4000))
    _, wanted = inside(mixed(LABELS, tunamh.Logistic()), [0.2, 0.5, 0.7], (LOGISTIC, 128, 1))
    values = np.exp(each - wanted)
    error = values.std(axis=0) / np.sqrt(len(values))
    assert (values.std(axis=0) > 1e-3).any()
    assert (np.abs(values.mean(axis=0) - 1) < 4 * error + 1e-9).all()


def test_a_draw_of_the_posterior_says_where_its_own_lattice_lies(monkeypatch):
    """With two points for each group integrals are far off; beside draws they must be so in the same way."""
    target = mixed(LABELS, tunamh.Logistic())
    states = states_of(target, tunamh.sample(target, draws=500, rng=1, progressbar=False))
    first, second = [one for chain in states for one in chain[:250]], [chain[250:] for chain in states]
    weights = Weights(Joint(target), first, np.random.default_rng(1))

    def estimate(size, ask):
        weights.effects.law, weights.effects.size, rng = LOGISTIC, size, np.random.default_rng(2)
        return bridged(
            np.array([[ask(state) for state in chain] for chain in second]),
            np.array([weights.at_proposal(rng) for _ in range(1000)]),
        )

    wanted, found = estimate(32, weights.at_draw), estimate(2, weights.at_draw)
    assert abs(found.log_z - wanted.log_z) < 4 * np.hypot(found.se, wanted.se)
    rng = np.random.default_rng(3)
    monkeypatch.setattr(EffectsInside, "places", lambda self, v, centre, root: rng.random(v.shape))
    wrong = estimate(2, weights.at_draw)  # as if any place would do
    assert abs(wrong.log_z - wanted.log_z) > 6 * np.hypot(wrong.se, wanted.se)


@pytest.mark.slow
def test_labels_in_groups():
    target = mixed(LABELS, tunamh.Logistic())
    posterior = tunamh.sample(target, draws=1000, rng=1, progressbar=False)
    b = posterior.posterior["theta"].values.reshape(-1, 2)
    grids = [np.linspace(c - 6 * s, c + 6 * s, n) for c, s, n in zip(b.mean(0), b.std(0), (17, 11), strict=True)]
    scales = np.linspace(-5, 2.5, 26)
    values = [
        logistic_given(np.array([one, other]), np.exp(a)) + stats.norm.logpdf([one, other], 0, 2).sum() + of_scale(a)
        for one in grids[0]
        for other in grids[1]
        for a in scales
    ]
    wanted = log_sum(values, *grids, scales)
    found = tunamh.evidence(target, posterior, rng=2, proposals=1000)
    assert abs(found.log_evidence - wanted) < 4 * found.se + 1e-3
    assert tunamh.evidence(posterior) == found


def test_models_with_and_without_groups_are_compared():
    table = pd.DataFrame({"x": COLUMN, "g": [f"s{k}" for k in CODES], "y": LABELS})
    models = {"groups": "y ~ x + (1 | g)", "none": "y ~ x"}
    results = {}
    for name, formula in models.items():
        target = tunamh.regression(formula, table, family=tunamh.Logistic())
        results[name] = tunamh.sample(target, draws=300, rng=1, progressbar=False)
        tunamh.evidence(target, results[name], proposals=300, rng=1)
    assert "probability" in tunamh.compare(results, table)


def test_scales_without_a_proper_prior_are_refused():
    with pytest.raises(NotApplicable, match="under an improper prior"):
        tunamh.evidence(mixed(REALS, tunamh.Gaussian(0.7), tunamh.priors.FlatPositive()))


def test_effects_that_are_not_kept_are_refused_before_a_draw_is_made():
    target = tunamh.MixedModel(X, LABELS, tunamh.Logistic(), CODES, prior=PRIOR, keep_effects=False)
    with pytest.raises(NotApplicable, match="keep_effects=True"):
        tunamh.evidence(target)
