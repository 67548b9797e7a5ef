"""Group effects against quadrature and against decisions on all rows; what a user meets."""

import warnings

import numpy as np
import pandas as pd
import pytest
from numbers_of import changed
from quadrature import means_with_shared, moments_by_quadrature
from scipy.special import gammaln

import tunamh
from tunamh import GroupEffects, MixedModel, Normal
from tunamh.acceptance.grouped import BOUND
from tunamh.errors import NotApplicable
from tunamh.groups.covariance import correlations, precision_of
from tunamh.groups.levels import costly_levels
from tunamh.groups.sweep import Sweep


def effective(values):
    from arviz_stats import ess

    return float(ess(np.squeeze(values)))


def score(values, truth):
    return (values.mean() - truth) / (values.std() / np.sqrt(effective(values)))


def small_data(kind, strength, seed):
    rng = np.random.default_rng(seed)
    n, groups = 40, 5
    x, codes = rng.standard_normal(n) + 1.0, rng.integers(groups, size=n)
    codes[:groups] = np.arange(groups)
    eta = 0.5 * x + (strength * rng.standard_normal(groups))[codes]
    if kind == "logistic":
        y = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float)
        return x, y, codes, tunamh.Logistic(), lambda e, y: np.logaddexp(0, e) - y * e
    y = rng.poisson(np.exp(eta)).astype(float)
    return x, y, codes, tunamh.Poisson(), lambda e, y: np.exp(np.minimum(e, 40)) - y * e


@pytest.mark.parametrize(("kind", "strength", "seed"), [("logistic", 0.8, 1), ("poisson", 0.5, 2)])
def test_moments_are_those_of_quadrature(kind, strength, seed):
    """Over seven runs of 10^7 sweeps each no moment of weak groups was off by 3 standard errors; here it is fewer."""
    x, y, codes, family, energy = small_data(kind, strength, seed)
    means, seconds = moments_by_quadrature(x, y, codes, energy, prior_sd=2.0, scale_sd=1.0)
    model = MixedModel(x[:, None], y, family, GroupEffects(codes), prior=Normal(scale=2.0))
    tree = tunamh.sample(model, draws=40_000, tune=500, chains=4, rng=seed)
    posterior = tree.posterior
    log_scale = np.log(posterior["group_scale"].values)
    draws = np.concatenate([posterior["theta"].values, log_scale, posterior["group_effect"].values], axis=-1)
    for j in range(draws.shape[-1]):
        assert abs(score(draws[..., j], means[j])) < 4
        assert abs(score(draws[..., j] ** 2, seconds[j])) < 4.5
    assert tree.sample_stats["bound_ratio"].max() <= 1


@pytest.mark.long
def test_moments_beside_an_unknown_dispersion():
    """Three dimensions and a line for every group: the log dispersion is a number that all rows share."""
    rng = np.random.default_rng(4)
    n, groups = 40, 4
    x, codes = rng.standard_normal(n), np.arange(n) % groups
    y = rng.poisson(np.exp(0.5 * x + (0.5 * rng.standard_normal(groups))[codes]) * rng.gamma(2.0, 0.5, n)).astype(float)
    shared = np.linspace(-2.5, 7.0, 26)

    def energy_at(lam):
        r = np.exp(lam)

        def energy(eta, y):
            constant = gammaln(r) + gammaln(y + 1) - gammaln(r + y)
            return constant + (r + y) * np.logaddexp(eta, lam) - r * lam - y * eta

        return energy

    log_priors = -0.5 * ((shared - 1.0) / 2.0) ** 2  # LogNormal(1, 2), of which the logarithm is normal
    settings = {"prior_sd": 2.0, "scale_sd": 1.0}
    means = means_with_shared(x, y, codes, [energy_at(lam) for lam in shared], log_priors, shared, **settings)
    model = MixedModel(x[:, None], y, tunamh.NegativeBinomial(), GroupEffects(codes), prior=Normal(scale=2.0))
    posterior = tunamh.sample(model, draws=20_000, tune=500, chains=4, rng=1).posterior
    parts = [posterior["theta"].values, np.log(posterior["group_scale"].values), posterior["group_effect"].values]
    draws = np.concatenate([*parts, np.log(posterior["dispersion"].values)[..., None]], axis=-1)
    assert len(means) == draws.shape[-1]
    assert max(abs(score(draws[..., j], means[j])) for j in range(len(means))) < 4


def grouped_data(n=2000, groups=30, others=6, seed=3):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.standard_t(4, size=n)])
    g, h = rng.integers(groups, size=n), rng.integers(others, size=n)
    eta = X @ [0.2, 0.4] + 0.8 * rng.standard_normal(groups)[g] + 0.5 * rng.standard_normal(others)[h]
    return X, eta, g, h, rng


def crossed_model(family, respond):
    X, eta, g, h, rng = grouped_data()
    groups = [GroupEffects(g, X=X, name="g"), GroupEffects(h, name="h")]
    return MixedModel(X, respond(eta, rng), family, groups, prior=Normal(scale=3.0))


RESPONSES = {
    "logistic": (tunamh.Logistic(), lambda e, r: (r.random(len(e)) < 1 / (1 + np.exp(-e))).astype(float)),
    "probit": (tunamh.Probit(), lambda e, r: (e + r.standard_normal(len(e)) > 0).astype(float)),
    "Poisson": (tunamh.Poisson(), lambda e, r: r.poisson(np.exp(np.minimum(e, 5))).astype(float)),
    "negative binomial": (
        tunamh.NegativeBinomial(2.0),
        lambda e, r: r.poisson(np.exp(np.minimum(e, 5)) * r.gamma(2.0, 0.5, len(e))).astype(float),
    ),
    "unknown dispersion": (
        tunamh.NegativeBinomial(),
        lambda e, r: r.poisson(np.exp(np.minimum(e, 5)) * r.gamma(2.0, 0.5, len(e))).astype(float),
    ),
    "unknown shape": (tunamh.Gamma(), lambda e, r: np.exp(e) * r.gamma(3.0, 1 / 3, len(e))),
    "unknown degrees of freedom": (tunamh.StudentT(df=None), lambda e, r: e + r.standard_t(4, len(e))),
    "ordered categories": (tunamh.Ordinal(), lambda e, r: np.digitize(e + r.logistic(size=len(e)), [-1, 1]) + 1.0),
    "shares": (tunamh.Beta(), lambda e, r: np.clip(r.beta(5 / (1 + np.exp(-e)), 5 / (1 + np.exp(e))), 1e-6, 1 - 1e-6)),
    "Student-t": (tunamh.StudentT(4), lambda e, r: e + r.standard_t(4, len(e))),
    "Weibull": (tunamh.Weibull(), lambda e, r: np.exp(e) * r.exponential(size=len(e))),
}


@pytest.mark.parametrize("name", RESPONSES)
def test_every_row_keeps_to_its_bound(name):
    model = crossed_model(*RESPONSES[name])
    least = 0.3 if model.base.predictors == 1 else 0.01  # the box of several predictors is seldom in its corner
    assert least < tunamh.check_bounds(model, pairs=15, rng=1) <= 1


def test_a_bound_that_is_too_small_is_found():
    """Negative control: half of every row's constant."""

    def half(numbers):
        numbers.places[:, BOUND] *= 0.5
        numbers.bound_total[:] *= 0.5

    model = changed(crossed_model(*RESPONSES["logistic"]), half)
    with pytest.raises(tunamh.BoundViolation):
        tunamh.check_bounds(model, pairs=30, rng=1)


def test_minibatches_and_all_rows_have_one_law():
    """The same sweep with every decision on all rows of its groups."""
    few = crossed_model(*RESPONSES["logistic"])
    whole = crossed_model(*RESPONSES["logistic"])
    first = tunamh.sample(few, draws=3000, tune=200, chains=2, rng=1).posterior
    second = tunamh.sample(whole, kernel=Sweep(full=True), draws=1500, tune=200, chains=2, rng=2).posterior
    for name in ("theta", "group_scale", "group_effect"):
        for j in range(first[name].shape[-1]):
            a, b = (tree[name].values[..., j] for tree in (first, second))
            error = np.sqrt(a.var() / effective(a) + b.var() / effective(b))
            assert abs(a.mean() - b.mean()) < 4.5 * error, (name, j)


def test_gaussian_responses_read_no_row():
    X, eta, g, _, rng = grouped_data()
    model = MixedModel(X, eta + rng.standard_normal(len(eta)), tunamh.Gaussian(), g, prior=Normal(scale=3.0))
    tree = tunamh.sample(model, draws=500, tune=100, chains=2, rng=1)
    assert float(tree.sample_stats["batch_size"].max()) == 0
    assert float(tree.sample_stats["group_acceptance"].mean()) > 0.9
    assert abs(float(tree.posterior["scale"].mean()) - 1.1) < 0.15


def test_covariances_in_coordinates_without_limits():
    rng = np.random.default_rng(1)
    for q in (1, 2, 3):
        scales = rng.standard_normal(q * (q + 1) // 2)
        precision, logdet = precision_of(scales, q)
        s, R = np.exp(scales[:q]), np.eye(q)
        R[np.tril_indices(q, -1)] = correlations(scales, q)
        R = R + np.tril(R, -1).T
        sigma = R * np.outer(s, s)
        assert np.allclose(precision @ sigma, np.eye(q))
        assert logdet == pytest.approx(np.linalg.slogdet(sigma)[1])


# --------------------------------------------------------------------------------------------- what a user meets


@pytest.mark.parametrize("family", [tunamh.Probit(), tunamh.Cloglog()])
def test_counts_of_trials_in_groups(family):
    """Each becomes two weighted rows, of one group; the same posterior as of single labels. A level has no trials."""
    rng = np.random.default_rng(7)
    n = 60
    codes, x, trials = np.arange(n) % 6, rng.standard_normal(n), rng.integers(1, 6, n)
    trials[codes == 5] = 0
    y = rng.binomial(trials, 0.4)
    groups = GroupEffects(codes, X=np.column_stack([np.ones(n), x]), scale=[1.0, 0.5])
    model = MixedModel(x[:, None], y, family, groups, trials=trials, prior=Normal(scale=2.0))
    index = np.repeat(np.arange(n), trials)
    label = np.concatenate([np.repeat([1.0, 0.0], [k, m - k]) for k, m in zip(y, trials, strict=True)])
    single = GroupEffects(
        np.append(codes[index], 5), X=np.append(groups.X[index], [[0.0, 0.0]], axis=0), scale=[1.0, 0.5]
    )
    given = np.append(x[index], 0.0)[:, None], np.append(label, 1.0), family, single
    plain = MixedModel(*given, prior=Normal(scale=2.0), weights=np.append(np.ones(len(index)), 1e-9))
    for a, b in zip(model.centre.at.effects[0], plain.centre.at.effects[0], strict=True):
        assert np.allclose(a, b, atol=1e-3)
    assert model.centre.sums.energy == pytest.approx(plain.centre.sums.energy, abs=1e-3)
    draws = tunamh.sample(model, draws=4000, tune=200, chains=2, rng=1).posterior["group_effect"].values
    assert abs(score(draws[..., 10] ** 2, 1.0)) < 4  # the level without trials has the prior's law
    assert abs(score(draws[..., 11] ** 2, 0.25)) < 4


def test_names_of_results():
    X, _, g, h, rng = grouped_data(n=300, groups=4, others=3)
    table = pd.DataFrame({"one": X[:, 0], "x": X[:, 1]})
    city = pd.Series(pd.Categorical.from_codes(h, ["Bonn", "Cork", "Oslo"]), name="city")
    y = pd.Series((rng.random(300) < 0.5).astype(float))
    groups = [GroupEffects(city), GroupEffects(g, X=table, name="g")]
    tree = tunamh.sample(MixedModel(table, y, tunamh.Logistic(), groups), draws=20, tune=20, chains=1, rng=1)
    posterior = tree.posterior
    assert list(posterior["parameter"].values) == ["one", "x"]
    assert list(posterior["group_scale_parameter"].values) == ["city", "g: one", "g: x"]
    assert list(posterior["group_correlation_parameter"].values) == ["g: x, one"]
    effects = list(posterior["group_effect_parameter"].values)
    assert effects[:4] == ["city[Bonn]", "city[Cork]", "city[Oslo]", "g[0]: one"]
    assert (np.abs(posterior["group_correlation"].values) < 1).all()
    assert "4 groups of g" in str(MixedModel(table, y, tunamh.Logistic(), groups))


def test_rows_are_paired_by_their_labels():
    X, _, g, _, rng = grouped_data(n=200, groups=4)
    table = pd.DataFrame({"one": X[:, 0], "x": X[:, 1]})
    y, codes = pd.Series((rng.random(200) < 0.5).astype(float)), pd.Series(g, name="g")
    mixed = rng.permutation(200)
    first = MixedModel(table, y, tunamh.Logistic(), codes)
    second = MixedModel(table, y, tunamh.Logistic(), codes.iloc[mixed])
    assert (first.groupings[0].codes == second.groupings[0].codes).all()


def test_draws_do_not_depend_on_cores():
    model = crossed_model(*RESPONSES["logistic"])
    one, two = (tunamh.sample(model, draws=50, tune=20, chains=2, cores=cores, rng=5).posterior for cores in (1, 2))
    assert one.equals(two)


def test_unbalanced_and_weak_groups():
    """Groups of one row and of thousands, and no effects at all."""
    rng = np.random.default_rng(8)
    sizes = [1, 1, 2, 5, 20, 3000]
    g = np.repeat(np.arange(6), sizes)
    X = np.ones((len(g), 1))
    y = (rng.random(len(g)) < 0.4).astype(float)
    tree = tunamh.sample(MixedModel(X, y, tunamh.Logistic(), g), draws=5000, tune=500, chains=2, rng=1)
    assert float(tree.posterior["group_scale"].mean()) < 1
    assert effective(np.log(tree.posterior["group_scale"].values)) > 300


WRONG = [
    ({"groups": []}, ValueError, "empty"),
    ({"groups": np.zeros(5)}, ValueError, "5 entries"),
    ({"groups": GroupEffects([None] * 100)}, ValueError, "missing value in row 0"),
    ({"groups": [GroupEffects(np.arange(100) % 3, name="a")] * 2}, ValueError, "different name"),
    ({"groups": GroupEffects(np.arange(100) % 3, X=np.ones((7, 1)))}, ValueError, "7 rows"),
]


@pytest.mark.parametrize(("given", "error", "told"), WRONG)
def test_errors_say_what_was_wrong(given, error, told):
    y = given.get("y", (np.arange(100) % 2).astype(float))
    with pytest.raises(error, match=told):
        MixedModel(np.ones((100, 1)), y, given.get("family", tunamh.Logistic()), given["groups"])


MIXTURES = [
    tunamh.priors.Horseshoe(0.02),
    tunamh.priors.ByName({"one": Normal(scale=2.0)}, others=tunamh.priors.Horseshoe(0.1)),
]


@pytest.mark.parametrize("prior", MIXTURES)
@pytest.mark.parametrize("family", [tunamh.Logistic(), tunamh.Gaussian()])
def test_priors_with_scales_of_their_own_are_refused(prior, family):
    """They were replaced by the wide normal law that a search begins with."""
    table = pd.DataFrame({"one": np.ones(100), "x": np.arange(100.0) / 100})
    y = (np.arange(100) % 2).astype(float)
    with pytest.raises(NotApplicable, match="without groups"):
        MixedModel(table, y, family, np.arange(100) % 5, prior=prior)


def test_a_formula_with_groups_refuses_them_too():
    table = pd.DataFrame({"x": np.arange(100.0) / 100, "g": np.arange(100) % 5, "y": np.arange(100) % 2})
    with pytest.raises(NotApplicable, match="without groups"):
        tunamh.regression("y ~ x + (1 | g)", table, family=tunamh.Logistic(), prior=tunamh.priors.Horseshoe(0.1))


def test_columns_without_a_posterior_are_refused():
    rng = np.random.default_rng(9)
    g, x = rng.integers(5, size=200), rng.standard_normal(200)
    y = (rng.random(200) < 0.5).astype(float)
    twice = np.column_stack([np.ones(200), x, x])
    with pytest.raises(tunamh.ImproperPosterior, match="1, 2"):
        tunamh.sample(MixedModel(twice, y, tunamh.Logistic(), g))
    separated = np.column_stack([np.ones(200), 2 * y - 1 + 0.1 * rng.random(200)])
    with pytest.raises(tunamh.ImproperPosterior):
        tunamh.sample(MixedModel(separated, y, tunamh.Logistic(), g))


def test_a_scale_is_a_prior_or_a_number():
    with pytest.raises(TypeError, match="HalfNormal"):
        GroupEffects(np.zeros(100), scale="wide")


def test_a_test_of_ones_own_is_refused():
    model = MixedModel(np.ones((100, 1)), (np.arange(100) % 2).astype(float), tunamh.Logistic(), np.arange(100) % 5)
    with pytest.raises(NotApplicable, match="its own sampler"):
        tunamh.sample(model, test=tunamh.MH())


# -------------------------------------------------------------------------------------------- thin and pure levels


def pure_level(n=20_000, rows=200, seed=3):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.standard_normal((n, 5)), np.zeros(n)])
    X[:rows, -1] = 1
    y = (rng.random(n) < 1 / (1 + np.exp(-X[:, :6] @ [-1, 0.3, -0.3, 0.2, 0, 0.5]))).astype(float)
    y[:rows] = 0
    return tunamh.LogisticRegression(X, y, prior=Normal(scale=2.5))


def test_a_pure_level_becomes_a_group():
    """And has the law that full-data MH finds."""
    target = pure_level()
    tree = tunamh.sample(target, draws=4000, tune=200, chains=2, rng=1)
    assert "treated as groups" in tree.posterior.attrs["choice"]
    assert float(tree.sample_stats["batch_size"].mean()) < 30
    from tunamh.proposals.across_modes import AcrossModes

    proposal = AcrossModes.of([target.modes[0]])
    other = tunamh.sample(target, test=tunamh.MH(), proposal=proposal, draws=6000, tune=200, chains=2, rng=2)
    for j in range(7):
        a, b = (chains.posterior["theta"].values[..., j] for chains in (tree, other))
        error = np.sqrt(a.var() / effective(a) + b.var() / effective(b))
        assert abs(a.mean() - b.mean()) < 4.5 * error, j
        assert abs(np.log(a.std() / b.std())) < 0.1


def test_levels_of_categories_become_groups():
    rng = np.random.default_rng(4)
    n, levels = 30_000, 20
    share = 1 / np.arange(1, levels + 1) ** 2.0
    codes = rng.choice(levels, size=n, p=share / share.sum())
    table = pd.DataFrame({"one": np.ones(n), "x": rng.standard_normal(n), "level": pd.Categorical(codes)})
    eta = -4.0 + 0.3 * table["x"].to_numpy() + rng.standard_normal(levels)[codes]
    y = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float)
    target = tunamh.LogisticRegression(table, y, prior=Normal(scale=2.5))
    tree = tunamh.sample(target, draws=500, tune=100, chains=2, rng=1)
    assert "treated as groups" in tree.posterior.attrs["choice"]
    assert list(tree.posterior["parameter"].values) == target.names
    init = tree.posterior["theta"].values[0, -1]
    again = tunamh.sample(target, draws=5, tune=0, chains=1, rng=1, init=init)
    assert again.posterior["theta"].shape == (1, 5, target.dim)


def test_a_column_of_other_numbers_is_no_level():
    """Of which squares add up to what numbers do: 50 times 0.75 and 30 times 1.25."""
    level = pure_level()
    X = level.user_rows.design.block(slice(None)).dense().copy()
    X[:80, -1], X[80:, -1] = np.repeat([0.75, 1.25], [50, 30]), 0.0
    assert (X[:, -1] ** 2).sum() == X[:, -1].sum()
    other = tunamh.LogisticRegression(X, level.user_rows.y, prior=Normal(scale=2.5))
    for target, found in ((level, [6]), (other, [])):
        expanded = target.taylor(
            2, target.modes[0].point, target.modes[0].posterior, whiten=True, original_bounds=False
        )
        assert list(costly_levels(target, expanded).columns) == found


def test_thin_levels_do_not_matter_where_steps_are_cheap():
    rng = np.random.default_rng(5)
    X = np.column_stack([np.ones(20_000), rng.standard_normal((20_000, 2)), rng.integers(2, size=20_000)])
    y = (rng.random(20_000) < 0.5).astype(float)
    tree = tunamh.sample(tunamh.LogisticRegression(X, y, prior=Normal(scale=2.5)), draws=50, chains=1, rng=1)
    assert "group" not in tree.posterior.attrs["choice"]


# -------------------------------------------------------------------------------------- effects that are not kept


def test_effects_may_be_summed_up():
    """The same draws, and of the effects mean and standard deviation over the kept ones."""
    X, eta, g, _, rng = grouped_data(n=500, groups=8)
    y = eta + rng.standard_normal(len(eta))
    kept = MixedModel(X, y, tunamh.StudentT(4), g, prior=Normal(scale=3.0), keep_effects=True)
    summed = MixedModel(X, y, tunamh.StudentT(4), g, prior=Normal(scale=3.0), keep_effects=False)
    first, second = (tunamh.sample(model, draws=60, tune=40, chains=2, rng=3) for model in (kept, summed))
    assert first.posterior["theta"].equals(second.posterior["theta"])
    assert "group_effect" not in second.posterior
    effects = first.posterior["group_effect"]
    assert np.allclose(second["group_effects"]["mean"].values, effects.mean("draw").values)
    assert np.allclose(second["group_effects"]["sd"].values, effects.std("draw").values)


def test_init_takes_what_results_have():
    """A draw of the posterior is where the next run begins."""
    X, eta, g, h, rng = grouped_data(n=400, groups=6)
    groups = [GroupEffects(g, X=X, name="g"), GroupEffects(h, name="h")]
    model = MixedModel(X, eta + rng.standard_normal(400), tunamh.Gaussian(), groups, prior=Normal(scale=3.0))
    tree = tunamh.sample(model, draws=30, tune=30, chains=1, rng=3)
    point = tree.posterior.isel(chain=0, draw=-1)
    state = model.to_chain(np.concatenate([np.ravel(point[name].values) for name, _ in model.variables]))
    assert np.allclose(model.to_user(state), np.concatenate([np.ravel(point[name]) for name, _ in model.variables]))
    again = tunamh.sample(model, draws=3, tune=0, chains=1, rng=3, init=point)
    assert again.posterior["theta"].shape == (1, 3, 2)


# ---------------------------------------------------------------------------------------------- what strangers met


def test_default_priors_follow_the_units_of_responses_and_columns():
    X, eta, g, _, rng = grouped_data()
    y = eta + rng.standard_normal(len(eta))
    one, thousand = (MixedModel(X, c * y, tunamh.Gaussian(), g).groupings[0].laws.scale[0] for c in (1.0, 1000.0))
    assert thousand == pytest.approx(1000 * one, rel=0.01)
    slopes = MixedModel(X, (y > 0).astype(float), tunamh.Logistic(), GroupEffects(g, X=X * [1.0, 0.01]))
    assert slopes.groupings[0].laws.scale[0] == 1.0
    assert slopes.groupings[0].laws.scale[1] == pytest.approx(100 / X[:, 1].std(), rel=0.01)


@pytest.mark.parametrize("missing", [None, np.nan, pd.NaT, pd.NA])
def test_missing_codes_are_told_of(missing):
    codes = pd.Series(["a", "b"] * 50, dtype=object)
    codes[5] = missing
    with pytest.raises(ValueError, match="missing value in row 5"):
        MixedModel(np.ones((100, 1)), (np.arange(100) % 2).astype(float), tunamh.Logistic(), codes)


def test_codes_that_are_no_column():
    X, y = np.ones((100, 1)), (np.arange(100) % 2).astype(float)
    for groups, told in ((None, "GLM"), ("airport", "df\\['airport'\\]"), (["airport"], "single values")):
        with pytest.raises(TypeError, match=told):
            MixedModel(X, y, tunamh.Logistic(), groups)
    with pytest.raises(ValueError, match="one level"):
        MixedModel(X, y, tunamh.Logistic(), np.repeat("a", 100))
    with pytest.warns(UserWarning, match="every row has its own level"):
        MixedModel(X, y, tunamh.Logistic(), np.arange(100))
    with pytest.warns(UserWarning, match="every row has its own level"):
        MixedModel(X, y, tunamh.Gaussian(), np.arange(100))
    year = np.column_stack([np.ones(100), 2010 + np.arange(100) % 7])
    with pytest.warns(UserWarning, match="Centre the column"):
        MixedModel(X, y, tunamh.Logistic(), GroupEffects(np.arange(100) % 5, X=year))


def test_effects_of_single_rows_are_no_surprise_for_counts_weights_and_known_errors():
    X, y, each = np.ones((100, 1)), (np.arange(100) % 3).astype(float), np.arange(100)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        MixedModel(X, y, tunamh.Poisson(), each)
        MixedModel(X, y, tunamh.Logistic(), each, trials=np.full(100, 5))
        MixedModel(X, y, tunamh.Gaussian(), each, weights=np.linspace(0.5, 1, 100))
        MixedModel(X, y, tunamh.Gaussian(1.0), each)


def test_without_data_scales_have_their_priors():
    """Rows that weigh nothing: the errors' scale and those of two factors have their priors' laws."""
    X, eta, g, h, rng = grouped_data(n=60, groups=5, others=4)
    y = eta + rng.standard_normal(len(eta))
    prior = tunamh.priors.LogNormal(0.0, 0.5)
    groups = [GroupEffects(g, name="g", scale=prior), GroupEffects(h, name="h", scale=prior)]
    weights = np.full(len(y), 1e-6)
    model = MixedModel(X, y, tunamh.Gaussian(prior), groups, prior=Normal(scale=1.0), weights=weights)
    posterior = tunamh.sample(model, draws=20_000, tune=1000, chains=4, rng=2).posterior
    logs = [np.log(posterior["scale"].values), *np.moveaxis(np.log(posterior["group_scale"].values), -1, 0)]
    for values in logs:
        assert abs(score(values, 0.0)) < 4.5
        assert abs(score(values**2, 0.25)) < 4.5


def test_levels_are_groups_where_rows_are_as_given():
    """Logarithms of responses are made block by block: groups, which take columns apart, ended in an AttributeError."""
    from tunamh.groups.levels import may_have_groups

    rng = np.random.default_rng(1)
    X = np.column_stack([np.ones(50), rng.standard_normal(50)])
    y = np.exp(rng.standard_normal(50))
    prior = tunamh.Normal(scale=2.0)
    assert may_have_groups(tunamh.GLM(X, np.floor(y), tunamh.Poisson(), prior=prior))
    assert not may_have_groups(tunamh.GLM(X, y, tunamh.LogNormal(0.9), prior=prior))
    assert not may_have_groups(tunamh.GLM(X, y, tunamh.Weibull(1.4), prior=prior))


@pytest.mark.parametrize("family", [tunamh.Gaussian(), tunamh.Logistic()])
def test_points_in_users_units_may_take_the_place_of_those_that_are_walked(family, rng):
    X, g = np.column_stack([np.ones(60), rng.standard_normal(60)]), np.arange(60) % 12
    y = rng.integers(0, 2, 60).astype(float) + (0.1 * X[:, 1] if isinstance(family, tunamh.Gaussian) else 0.0)
    model = tunamh.MixedModel(X, y, family, tunamh.GroupEffects(g, X))
    points = np.array([[model.start(rng) for _ in range(3)] for _ in range(2)])
    expected, walked = model.to_user(points), points.copy()
    found = model.to_user_in_place(points)
    assert np.shares_memory(found, points)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(model.to_user(walked), expected)
