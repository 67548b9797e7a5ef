"""Levels of known covariance: against closed forms and quadrature, through a formula, in tables and predictions."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from scipy import sparse, stats

import tunamh
from tunamh import GroupEffects
from tunamh.groups.relation import Relation

KINSHIP = np.array(
    [[1.0, 0.5, 0.5, 0.2, 0.0], [0.5, 1.0, 0.5, 0.2, 0.0], [0.5, 0.5, 1.2, 0.1, 0.1], [0.2, 0.2, 0.1, 1.0, -0.4],
     [0.0, 0.0, 0.1, -0.4, 0.8]]
)  # fmt: skip
NAMES = ["Ada", "Bob", "Cid", "Dot", "Eve"]
TABLE = pd.DataFrame(KINSHIP, index=NAMES, columns=NAMES)
CODES = np.tile(np.arange(4), 6)  # Eve has no row
X = np.column_stack([np.ones(24), np.linspace(-1, 1, 24)])
Y = np.array([1.2, 0.3, -0.4, 2.0])[CODES] + np.tile([-0.4, 0.1, 0.5], 8)
RUN = {"chains": 2, "draws": 1500, "rng": 1, "progressbar": False}


def _model(matrix, y=Y, family=None, **more):
    groups = GroupEffects(CODES, name="animal", scale=1.3, **matrix, **more)
    family = tunamh.Gaussian(scale=0.7) if family is None else family
    return tunamh.MixedModel(X, y, family, groups, prior=tunamh.Normal(scale=2.0))


@pytest.mark.parametrize("matrix", [{"covariance": KINSHIP}, {"precision": sparse.csc_array(np.linalg.inv(KINSHIP))}])
def test_gaussian_responses_have_the_posterior_in_closed_form(matrix):
    draws = tunamh.sample(_model(matrix), **RUN)["posterior"]
    found = np.concatenate([draws["theta"].values, draws["group_effect"].values], axis=2).reshape(-1, 7)
    rows = np.column_stack([X, np.eye(5)[CODES]])
    precision = rows.T @ rows / 0.49
    precision[:2, :2] += np.eye(2) / 4
    precision[2:, 2:] += np.linalg.inv(KINSHIP) / 1.69
    covariance = np.linalg.inv(precision)
    sd, error = np.sqrt(np.diag(covariance)), 4 / np.sqrt(1500)  # about half of the draws count
    assert np.abs((found.mean(axis=0) - covariance @ (rows.T @ Y) / 0.49) / sd).max() < error
    assert np.abs(np.cov(found.T) - covariance)[np.triu_indices(7)].max() < 2 * error * sd.max() ** 2


def test_means_of_logistic_responses_are_those_of_quadrature():
    codes, y, K = (
        np.array([0, 0, 1, 1, 1, 0]),
        np.array([1.0, 1.0, 0.0, 1.0, 0.0, 1.0]),
        np.array([[1.0, 0.6], [0.6, 0.5]]),
    )
    groups = GroupEffects(codes, scale=1.5, covariance=K)
    model = tunamh.MixedModel(np.ones((6, 1)), y, tunamh.Logistic(), groups, prior=tunamh.Normal(scale=2.0))
    draws = tunamh.sample(model, chains=4, draws=3000, rng=1, progressbar=False)["posterior"]
    b, u, v = np.meshgrid(*[np.linspace(-8, 8, 97)] * 3, indexing="ij")
    log = stats.norm(scale=2.0).logpdf(b)
    log += stats.multivariate_normal(cov=2.25 * K).logpdf(np.stack([u, v], axis=-1))
    for g, yes in zip(codes, y, strict=True):
        log += -np.logaddexp(0.0, (1 - 2 * yes) * (b + (u, v)[g]))
    mass = np.exp(log - log.max())
    expected = [float((mass * one).sum() / mass.sum()) for one in (b, u, v)]
    found = [draws["theta"].values.mean(), *draws["group_effect"].values.mean(axis=(0, 1))]
    np.testing.assert_allclose(found, expected, atol=0.08)


def _means_by_grid(y, C, scale_of_errors, scale_of_effects):
    """Of sigma and s, coefficients and effects integrated out."""
    values, vectors = np.linalg.eigh(C)
    y, ones = vectors.T @ y, vectors.T @ np.ones((len(y), 1))
    grid = np.linspace(-8, 1.5, 160)
    log = np.empty((160, 160))
    for i, a in enumerate(grid):
        for j, b in enumerate(grid):
            V = np.exp(2 * a) + np.exp(2 * b) * values
            A, r = (ones[:, 0] ** 2 / V).sum() + 0.25, (ones[:, 0] * y / V).sum()
            log[i, j] = -0.5 * (np.log(V).sum() + (y * y / V).sum() - r * r / A + np.log(A)) + a + b
            log[i, j] -= 0.5 * ((np.exp(a) / scale_of_errors) ** 2 + (np.exp(b) / scale_of_effects) ** 2)
    mass = np.exp(log - log.max())
    mass /= mass.sum()
    return mass.sum(axis=1) @ np.exp(grid), mass.sum(axis=0) @ np.exp(grid)


@pytest.mark.filterwarnings("ignore:every row has its own level")
@pytest.mark.parametrize("related", [True, False])
def test_sigma_is_found_where_effects_may_take_all_of_the_errors(related):
    """One row per level: before, chains stayed away from small sigma, and said nothing."""
    rng = np.random.default_rng(5)
    C = np.eye(60) + 0.5 * (np.abs(np.subtract.outer(range(60), range(60))) == 1) if related else np.eye(60)
    y = 0.6 * np.linalg.cholesky(C) @ rng.standard_normal(60) + 0.6 * rng.standard_normal(60)
    groups = GroupEffects(np.arange(60), scale=tunamh.HalfNormal(1.0), covariance=C if related else None)
    family = tunamh.Gaussian(scale=tunamh.HalfNormal(1.0))
    model = tunamh.MixedModel(np.ones((60, 1)), y, family, groups, prior=tunamh.Normal(scale=2.0))
    draws = tunamh.sample(model, chains=2, draws=3000, rng=1, progressbar=False)["posterior"]
    sigma, s = _means_by_grid(y, C, 1.0, 1.0)
    assert draws["scale"].values.mean() == pytest.approx(sigma, abs=0.04)  # sd .2, 600 effective draws or more
    assert draws["group_scale"].values.mean() == pytest.approx(s, abs=0.04)


@pytest.fixture(scope="module")
def by_formula():
    data = pd.DataFrame({"y": Y, "x": X[:, 1], "animal": [NAMES[k] for k in CODES]})
    target = tunamh.regression("y ~ x + (1 | animal)", data, prior={"covariance (1 | animal)": TABLE})
    return data, target, tunamh.sample(target, **RUN)


def test_labels_name_the_levels_whatever_their_order(by_formula):
    data, target, posterior = by_formula
    turned = TABLE.iloc[::-1, ::-1]
    other = tunamh.regression("y ~ x + (1 | animal)", data, prior={"covariance (1 | animal)": turned})
    assert other.groupings[0].levels == NAMES[::-1]
    again = tunamh.sample(other, **RUN)
    own, others = posterior.posterior["1|animal"], again.posterior["1|animal"]
    for name in NAMES:
        at = {"animal__factor_dim": name}
        assert float(own.sel(at).mean()) == pytest.approx(float(others.sel(at).mean()), abs=0.12)
    assert "known covariance" in " ".join(tunamh.prior_summary(target).attrs["notes"])


def test_levels_without_rows_are_in_tables_and_predictions(by_formula):
    data, _, posterior = by_formula
    table = tunamh.group_effects(posterior, "animal").set_index("level")
    assert table.loc["Eve", "rows"] == 0
    assert table.loc["Eve", "sd"] > table.loc["Ada", "sd"]
    found = tunamh.predict(posterior, pd.DataFrame({"x": [0.0], "animal": ["Eve"]}))
    expected = posterior.posterior["Intercept"] + posterior.posterior["1|animal"].sel(animal__factor_dim="Eve")
    assert float(found["mean"][0]) == pytest.approx(float(expected.mean()), abs=0.1)
    assert tunamh.loo(posterior, data, rows=24).pareto_k.shape == (24,)


def test_shares_are_of_the_variance_that_levels_have(by_formula):
    _, _, posterior = by_formula
    shares = tunamh.group_scales(posterior).query("quantity == 'share'")
    draws = posterior.posterior
    own = draws["1|animal_sigma"] ** 2 * KINSHIP.diagonal()[CODES].mean()
    assert float(shares["mean"].iloc[0]) == pytest.approx(float((own / (own + draws["sigma"] ** 2)).mean()), rel=1e-6)


def test_new_levels_are_not_drawn(by_formula):
    new = pd.DataFrame({"x": [0.0], "animal": ["Fay"]})
    with pytest.raises(tunamh.NotApplicable, match="add it to the matrix"):
        tunamh.predict(by_formula[2], new, new_levels="draw")
    assert tunamh.predict(by_formula[2], new, new_levels="population") is not None


def test_prior_draws_have_the_covariance():
    data = pd.DataFrame({"y": Y, "animal": [NAMES[k] for k in CODES]})
    prior = {"covariance (1 | animal)": TABLE, "(1 | animal)": tunamh.HalfNormal(1.0)}
    model = tunamh.regression("y ~ 1 + (1 | animal)", data, prior=prior)
    found = tunamh.prior_predictive(model, data, draws=4000, rng=1)["prior"]
    draws = (found["1|animal"] / found["1|animal_sigma"]).values.reshape(-1, 5)
    np.testing.assert_allclose(np.cov(draws.T), KINSHIP, atol=0.1)


def test_independent_levels_given_the_pulls():
    """``D - K^-1`` is a covariance, and no smaller ``D`` of its shape would make it one."""
    relation = Relation(KINSHIP)
    root = relation.excess_root
    np.testing.assert_allclose(root @ root.T, np.diag(relation.dominating) - relation.precision, atol=1e-9)
    assert np.linalg.eigvalsh(np.diag(0.99 * relation.dominating) - relation.precision)[0] < 0


MAP = np.diag([2.0, 3.0, 2.0, 2.0, 1.0]) - np.array(
    [[0, 1, 1, 0, 0], [1, 0, 1, 1, 0], [1, 1, 0, 0, 0], [0, 1, 0, 0, 1], [0, 0, 0, 1, 0]]
)
WRONG = [
    ({"precision": MAP}, "says nothing about the sum"),
    ({"covariance": np.ones((5, 5))}, "not positive definite"),
    ({"covariance": KINSHIP, "precision": KINSHIP}, "both"),
    ({"covariance": KINSHIP[:, :4]}, "as many rows as columns"),
    ({"covariance": np.triu(KINSHIP)}, "not symmetric"),
    ({"covariance": TABLE}, "lacks 4 of 4 levels"),
    ({"covariance": KINSHIP[:3, :3]}, "lacks 1 of 4 levels, such as '3'; it has no labels"),
    ({"covariance": TABLE.iloc[::-1]}, "labels of its columns, in the same order"),
]


@pytest.mark.parametrize(("matrix", "why"), WRONG, ids=[why for _, why in WRONG])
def test_what_is_no_covariance_among_the_levels_is_refused(matrix, why):
    with pytest.raises(ValueError, match=why):
        _model(matrix)


def test_what_is_not_sampled_is_refused():
    with pytest.raises(ValueError, match="normal effects"):
        GroupEffects(CODES, covariance=KINSHIP, law=tunamh.priors.StudentT(df=4))
    with pytest.raises(ValueError, match="a factor of its own"):
        tunamh.MixedModel(X, Y, tunamh.Gaussian(), GroupEffects(CODES, X, covariance=KINSHIP))


@pytest.mark.filterwarnings("ignore::tunamh.ConvergenceWarning")
def test_a_run_goes_on_with_the_same_draws_and_not_with_another_matrix(by_formula, tmp_path):
    """The pulls of relatives are drawn in every sweep and are no part of the state."""
    data, target, _ = by_formula
    options = {"chains": 2, "tune": 60, "rng": 7, "progressbar": False}
    whole = tunamh.sample(target, draws=90, **options)
    tunamh.sample(target, draws=40, store=tmp_path / "run", **options)
    resumed = tunamh.resume(tmp_path / "run", target, draws=90, progressbar=False)
    for name, values in whole.posterior.data_vars.items():
        np.testing.assert_array_equal(resumed.posterior[name].values, values.values, err_msg=str(name))
    other = tunamh.regression("y ~ x + (1 | animal)", data, prior={"covariance (1 | animal)": 1.1 * TABLE})
    with pytest.raises(tunamh.StoreError):
        tunamh.resume(tmp_path / "run", other, draws=120, progressbar=False)


def test_laplace_takes_related_levels(by_formula):
    _, target, posterior = by_formula
    mean = tunamh.laplace(target).summary().loc["x (inexact)", "mean"]
    assert float(mean) == pytest.approx(float(posterior.posterior["x"].mean()), abs=0.05)


LINE = (np.abs(np.subtract.outer(range(6), range(6))) == 1).astype(float)  # six areas in a line


def _intrinsic():
    """The covariance of docs/groups.md."""
    K = np.linalg.pinv(np.diag(LINE.sum(axis=1)) - LINE, hermitian=True)
    return K / np.exp(np.log(np.diag(K)).mean()) + 1.0


def test_an_intrinsic_autoregression_is_its_covariance_of_sum_zero_and_a_common_number():
    """Differences between effects, and intercept plus mean effect: their posterior in closed form."""
    rng = np.random.default_rng(3)
    codes, s, sigma = np.tile(np.arange(5), 6), 0.8, 0.5  # the sixth area has no row
    y = 0.4 + np.linspace(-1, 1, 6)[codes] + sigma * rng.standard_normal(30)
    groups = GroupEffects(codes, scale=s, covariance=_intrinsic())
    prior = tunamh.Normal(scale=2.0)
    model = tunamh.MixedModel(np.ones((30, 1)), y, tunamh.Gaussian(scale=sigma), groups, prior=prior)
    draws = tunamh.sample(model, chains=2, draws=4000, rng=1, progressbar=False)["posterior"]
    effects = draws["group_effect"].values.reshape(-1, 6)
    mean = effects.mean(axis=1)
    found = np.column_stack([draws["theta"].values.ravel() + mean, effects - mean[:, None]])
    Q = np.diag(LINE.sum(axis=1)) - LINE
    typical = np.exp(np.log(np.diag(np.linalg.pinv(Q, hermitian=True))).mean())
    basis = np.linalg.eigh(Q)[1][:, 1:]  # of effects with the sum zero
    rows = np.column_stack([np.ones(30), basis[codes]])
    precision = rows.T @ rows / sigma**2
    precision[0, 0] += 1 / (4.0 + s**2)
    precision[1:, 1:] += typical * basis.T @ Q @ basis / s**2
    covariance = np.linalg.inv(precision)
    out = np.zeros((7, 6))
    out[0, 0], out[1:, 1:] = 1.0, basis
    expected, sd = out @ covariance @ rows.T @ y / sigma**2, np.sqrt(np.diag(out @ covariance @ out.T))
    assert np.abs((found.mean(axis=0) - expected) / sd).max() < 4 / np.sqrt(1000)  # effective draws, at the least
    assert found.std(axis=0) == pytest.approx(sd, rel=0.15)


def test_spatial_and_own_effects_of_the_same_areas_are_two_factors():
    """BYM2: with known scales the sum has the covariance s1^2 K + s2^2 I, and rows know the sum alone."""
    rng = np.random.default_rng(4)
    codes, sigma = np.tile(np.arange(6), 4), 0.5
    y = np.linspace(-1, 1, 6)[codes] + sigma * rng.standard_normal(24)
    groups = [
        GroupEffects(codes, name="spatial", scale=0.9, covariance=_intrinsic()),
        GroupEffects(codes, name="own", scale=0.6),
    ]
    prior = tunamh.Normal(scale=2.0)
    model = tunamh.MixedModel(np.ones((24, 1)), y, tunamh.Gaussian(scale=sigma), groups, prior=prior)
    draws = tunamh.sample(model, chains=2, draws=4000, rng=1, progressbar=False)["posterior"]
    effects = draws["group_effect"].values.reshape(-1, 12)
    found = draws["theta"].values.reshape(-1, 1) + effects[:, :6] + effects[:, 6:]
    means = np.eye(6)[codes]
    K = 4.0 + 0.81 * _intrinsic() + 0.36 * np.eye(6)
    covariance = np.linalg.inv(means.T @ means / sigma**2 + np.linalg.inv(K))
    expected, sd = covariance @ means.T @ y / sigma**2, np.sqrt(np.diag(covariance))
    assert np.abs((found.mean(axis=0) - expected) / sd).max() < 4 / np.sqrt(1000)
    assert found.std(axis=0) == pytest.approx(sd, rel=0.15)


def test_an_intrinsic_autoregression_is_refused_with_the_way_out():
    precision = np.diag(LINE.sum(axis=1)) - LINE
    with pytest.raises(ValueError, match=r"covariance=pinv\(degrees - neighbours\) \+ 1"):
        tunamh.MixedModel(X, Y, tunamh.Gaussian(), GroupEffects(CODES, precision=precision))
