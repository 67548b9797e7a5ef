"""Priors as potentials: their expansions against differences, and posteriors against quadrature in two dimensions."""

import numba
import numpy as np
import pandas as pd
import pytest
from scipy.special import log_expit
from scipy.stats import cauchy, laplace, multivariate_normal, norm
from scipy.stats import t as student

import tunamh
from conftest import quantile_scores
from tunamh import GLM, Gaussian, ImproperPosterior, LogisticRegression, sample
from tunamh.priors import ByName, Cauchy, Flat, Laplace, Normal, StudentT, UserPrior, as_prior
from tunamh.sampling.choice import choose
from tunamh.targets.search.newton import find_mode

COVARIANCE = np.array([[1.0, 0.9], [0.9, 1.0]])
NAMES = ["0", "1"]

# what scipy says of the same law, as a function of theta_0 and theta_1
PRIORS = {
    "flat and normal": (
        ByName({0: Flat(), 1: Normal(mean=0.3, scale=0.2)}),
        lambda a, b: norm.logpdf(b, 0.3, 0.2) + 0 * a,
    ),
    "correlated": (
        Normal(mean=[-0.5, 0.2], covariance=COVARIANCE / 25),
        lambda a, b: multivariate_normal.logpdf(np.stack([a, b], axis=-1), [-0.5, 0.2], COVARIANCE / 25),
    ),
    "Student-t": (
        StudentT(df=3, mean=[0.0, 1.0], scale=0.7),
        lambda a, b: student.logpdf(a, 3, 0, 0.7) + student.logpdf(b, 3, 1, 0.7),
    ),
    "Cauchy": (
        Cauchy(mean=0.2, scale=[2.5, 0.5]),
        lambda a, b: cauchy.logpdf(a, 0.2, 2.5) + cauchy.logpdf(b, 0.2, 0.5),
    ),
    "Laplace": (
        Laplace(mean=[0.1, 0.0], scale=0.2),
        lambda a, b: laplace.logpdf(a, 0.1, 0.2) + laplace.logpdf(b, 0, 0.2),
    ),
    "flat and Laplace": (
        ByName({0: Flat()}, others=Laplace(scale=0.1)),
        lambda a, b: laplace.logpdf(b, 0, 0.1) + 0 * a,
    ),
    "Cauchy and Student-t": (
        ByName({0: Cauchy(scale=10)}, others=StudentT(df=7, scale=2.5)),
        lambda a, b: cauchy.logpdf(a, 0, 10) + student.logpdf(b, 7, 0, 2.5),
    ),
}
STRONG = {
    "strong normal": (Normal(mean=2.0, scale=0.01), lambda a, b: norm.logpdf(a, 2, 0.01) + norm.logpdf(b, 2, 0.01)),
    "strong correlated": (
        Normal(mean=1.0, covariance=COVARIANCE / 1e4),
        lambda a, b: multivariate_normal.logpdf(np.stack([a, b], axis=-1), [1, 1], COVARIANCE / 1e4),
    ),
    "strong Laplace": (
        Laplace(mean=[0.0, 1.0], scale=0.01),
        lambda a, b: laplace.logpdf(a, 0, 0.01) + laplace.logpdf(b, 1, 0.01),
    ),
    "strong Student-t": (
        StudentT(df=5, mean=[-1.0, 0.5], scale=0.02),
        lambda a, b: student.logpdf(a, 5, -1, 0.02) + student.logpdf(b, 5, 0.5, 0.02),
    ),
    "strong Cauchy": (
        Cauchy(mean=[-1.0, 0.5], scale=0.1),
        lambda a, b: cauchy.logpdf(a, -1, 0.1) + cauchy.logpdf(b, 0.5, 0.1),
    ),
}


def ready(prior):
    return as_prior(prior, NAMES).bind(2)


# --------------------------------------------------------------------------------------------------- expansions


@pytest.mark.parametrize("name", PRIORS | STRONG)
def test_the_compiled_density_is_the_law(name):
    prior, log_density = (PRIORS | STRONG)[name]
    bound, points = ready(prior), np.random.default_rng(1).standard_normal((20, 2))
    found = np.array([bound.log_prior(point, bound.hyper) for point in points])
    expected = np.array([float(log_density(*point)) for point in points])
    assert found - found[0] == pytest.approx(expected - expected[0], rel=1e-9)


@pytest.mark.parametrize("name", PRIORS | STRONG)
def test_the_expansion_is_the_one_by_differences_and_the_rest_is_exact(name):
    """Away from kinks, whose rounding is too narrow to be seen there."""
    bound = ready((PRIORS | STRONG)[name][0])

    def energy(theta):
        return -bound.log_prior(theta, bound.hyper)

    point, h = np.array([0.37, -0.71]), 1e-4
    found = bound.expansion(point, np.full(2, 1e-5))
    steps = h * np.eye(2)
    slope = [(energy(point + e) - energy(point - e)) / (2 * h) for e in steps]
    bend = [
        [
            (energy(point + a + b) + energy(point - a - b) - energy(point + a - b) - energy(point - a + b))
            / (4 * h * h)
            for a in steps
        ]
        for b in steps
    ]
    assert found.energy == pytest.approx(energy(point), rel=1e-6)
    assert found.gradient == pytest.approx(np.array(slope), rel=1e-5, abs=1e-6)
    assert found.hessian == pytest.approx(np.array(bend), rel=1e-3, abs=1e-3 * np.abs(bend).max() + 1e-3)
    rest, move = bound.without(point, found), np.array([0.3, -0.2])
    quadratic = found.gradient @ move + 0.5 * move @ found.hessian @ move
    left = rest.log_prior(point + move, rest.hyper) - rest.log_prior(point, rest.hyper)
    whole = -energy(point + move) + energy(point) + quadratic
    assert left == pytest.approx(whole, rel=1e-9, abs=1e-9 * (1 + abs(energy(point + move)) + abs(quadratic)))


def test_only_what_the_expansion_leaves_is_evaluated():
    prior = ByName({"c": Cauchy(), "f": Flat()}, others=Normal())
    bound = as_prior(prior, ["a", "b", "c", "d", "f"]).bind(5)
    one = bound.without(np.zeros(5), bound.expansion(np.zeros(5), np.ones(5))).hyper.size
    assert bound.hyper.size == 4 * one
    gaussian = as_prior(ByName({"a": Flat()}, others=Normal()), ["a", "b"]).bind(2)
    assert gaussian.without(np.zeros(2), gaussian.expansion(np.zeros(2), np.ones(2))).hyper.size == 0


def test_a_kink_bends_as_seen_from_the_posterior():
    """From the data's width where the data know more, from the prior's own where the prior does."""
    bound = Laplace(scale=0.1).bind(2)
    hessian = bound.expansion(np.zeros(2), np.array([1e-4, np.inf])).hessian
    assert hessian[0, 0] == pytest.approx(1 / (0.1 * 1e-4), rel=1e-3)
    assert hessian[1, 1] == pytest.approx(1 / (2 * 0.1**2))


@numba.njit
def own(theta):
    return -0.5 * (theta[0] ** 2 + theta[1] ** 2 - 1.8 * theta[0] * theta[1]) / 0.19


def test_a_users_own_derivatives_take_the_place_of_differences():
    precision = np.array([[1.0, -0.9], [-0.9, 1.0]]) / 0.19
    prior = UserPrior(own, gradient=lambda theta: -precision @ theta, hessian=lambda theta: -precision)
    point, width = np.array([0.3, -0.7]), np.full(2, 0.1)
    found, by_differences = prior.bind(2).expansion(point, width), UserPrior(own).bind(2).expansion(point, width)
    assert found.hessian == pytest.approx(precision)
    assert found.gradient == pytest.approx(precision @ point)
    assert by_differences.hessian == pytest.approx(precision, rel=1e-3)
    with pytest.raises(ValueError, match=r"hessian of the prior must return an array of shape \(2, 2\), got \(2,\)"):
        UserPrior(own, hessian=lambda theta: theta).bind(2).expansion(point, width)


# ----------------------------------------------------------------------------------------- against quadrature


def rows(n, seed=3):
    rng = np.random.default_rng(seed)
    X = np.column_stack([np.ones(n), rng.standard_normal(n)])
    return X, (rng.random(n) < 1 / (1 + np.exp(1 - 0.5 * X[:, 1]))).astype(float)


def marginal_laws(X, y, log_prior, grids):
    """The two marginal distribution functions, by the trapezoidal rule on a grid of any spacing."""
    cells, counts = np.unique(np.column_stack([X, y]), axis=0, return_counts=True)
    a, b = np.meshgrid(*grids, indexing="ij")
    log_density = log_prior(a, b)
    for (x, z, label), count in zip(cells, counts, strict=True):
        log_density = log_density + count * log_expit((2 * label - 1) * (x * a + z * b))
    density = np.exp(log_density - log_density.max())
    laws = []
    for axis in (0, 1):
        marginal = np.trapezoid(density, grids[1 - axis], axis=1 - axis)
        steps = np.diff(grids[axis]) * (marginal[1:] + marginal[:-1]) / 2
        laws.append(np.concatenate([[0.0], np.cumsum(steps)]) / steps.sum())
    return laws


def around(*centres):
    """A grid that is fine about every ``(centre, scale, reach)``."""
    pieces = [c + s * np.sinh(np.linspace(-np.arcsinh(r / s), np.arcsinh(r / s), 161)) for c, s, r in centres]
    return np.unique(np.concatenate(pieces))


def worst_score(tree, laws, grids):
    draws = tree.posterior["theta"].values
    return max(
        np.abs(quantile_scores(draws[:, :, j], lambda theta, j=j: np.interp(theta, grids[j], laws[j]))).max()
        for j in (0, 1)
    )


@pytest.mark.parametrize("n", [60, 300])
@pytest.mark.parametrize("name", PRIORS | STRONG)
def test_a_logistic_posterior_under_every_prior(name, n):
    prior, log_prior = (PRIORS | STRONG)[name]
    X, y = rows(n)
    target = LogisticRegression(X, y, prior=prior)
    centre, mean = find_mode(LogisticRegression(X, y)).point, ready(prior).mean
    grids = [around((centre[j], 0.3, 4.0), (mean[j], 0.01, 4.0)) for j in (0, 1)]
    laws = marginal_laws(X, y, log_prior, grids)
    tree = sample(target, draws=3000, rng=1)
    assert tree.sample_stats["acceptance_rate"].mean() > (0.45 if name in STRONG else 0.7)
    assert worst_score(tree, laws, grids) < 4.5


RARE = {
    "Student-t": (StudentT(df=3, scale=2.5), lambda b: student.logpdf(b, 3, 0, 2.5)),
    "Cauchy": (Cauchy(scale=2.5), lambda b: cauchy.logpdf(b, 0, 2.5)),
    "Laplace": (Laplace(scale=2.0), lambda b: laplace.logpdf(b, 0, 2)),
    "Normal": (Normal(scale=2.5), lambda b: norm.logpdf(b, 0, 2.5)),
}


@pytest.mark.parametrize("labels", [[1], [1] * 5, [1, 1, 1, 1, 0, 0]], ids=["one row", "one class", "both classes"])
@pytest.mark.parametrize("name", RARE)
def test_a_rare_column(name, labels):
    """Where its rows have one class, only the prior keeps its coefficient from infinity; the intercept's is flat."""
    prior, log_prior = RARE[name]
    n, rng = 20_000, np.random.default_rng(2)
    y, dummy = (rng.random(n) < 0.3).astype(float), np.zeros(n)
    dummy[: len(labels)], y[: len(labels)] = 1, labels
    X = np.column_stack([np.ones(n), dummy])
    target = LogisticRegression(X, y, prior=ByName({0: Flat()}, others=prior))
    if (
        name == "Cauchy" and 0 not in labels
    ):  # a posterior without a mean: its tails are hardly reached, and that is said
        with pytest.warns(UserWarning, match="separable along column 1, and there only the prior"):
            sample(target, draws=10, rng=1)
        return
    tree = sample(target, draws=4000, rng=1)
    base = np.log(y.mean() / (1 - y.mean()))
    grids = [np.linspace(base - 0.15, base + 0.15, 301), around((0.0, 1.0, 1e5))]
    laws = marginal_laws(X, y, lambda a, b: log_prior(b), grids)
    assert worst_score(tree, laws, grids) < 4.5


def test_quadrature_notices_another_prior():
    """The negative control: a scale that is a tenth larger, and an expansion without the rest of the prior."""
    prior, _ = STRONG["strong Laplace"]
    X, y = rows(60)
    grids = [around((0.0, 0.01, 4.0)), around((1.0, 0.01, 4.0))]
    wider = marginal_laws(X, y, lambda a, b: laplace.logpdf(a, 0, 0.011) + laplace.logpdf(b, 1, 0.011), grids)
    assert worst_score(sample(LogisticRegression(X, y, prior=prior), draws=5000, rng=1), wider, grids) > 5


def test_quadrature_notices_that_the_rest_is_left_out(monkeypatch):
    from dataclasses import replace

    from tunamh.priors.laws import ReadyIndependent
    from tunamh.priors.potential import nothing

    monkeypatch.setattr(ReadyIndependent, "without", lambda self, at, expansion: replace(self, log_prior=nothing))
    monkeypatch.setattr(tunamh.GLM, "mixed_prior", None)  # the other way, by scales, needs no rest
    prior, log_prior = STRONG["strong Laplace"]
    X, y = rows(60)
    grids = [around((0.0, 0.01, 4.0)), around((1.0, 0.01, 4.0))]
    laws = marginal_laws(X, y, log_prior, grids)
    assert worst_score(sample(LogisticRegression(X, y, prior=prior), draws=3000, rng=1), laws, grids) > 8


def test_a_gaussian_posterior_is_one_under_correlated_and_partly_flat_priors():
    """Independent draws, no row read: nothing is left of such a prior."""
    X, _ = rows(2000)
    y = X @ [1.0, -1.0] + np.random.default_rng(1).standard_normal(2000)
    for prior, precision, mean in (
        (Normal(mean=3.0, covariance=COVARIANCE / 1000), np.linalg.inv(COVARIANCE / 1000), np.full(2, 3.0)),
        (ByName({0: Flat(), 1: Normal(scale=0.01)}), np.diag([0, 1e4]), np.zeros(2)),
    ):
        tree = sample(GLM(X, y, Gaussian(scale=1.0), prior=prior), draws=2000, rng=1)
        assert tree.sample_stats["acceptance_rate"].mean() > 0.9999
        together = X.T @ X + precision
        theta = tree.posterior["theta"].values.reshape(-1, 2)
        expected = np.linalg.solve(together, X.T @ y + precision @ mean)
        assert (theta.mean(axis=0) - expected) * np.sqrt(np.diag(together)) == pytest.approx(np.zeros(2), abs=0.05)
        assert np.cov(theta.T) @ together == pytest.approx(np.eye(2), abs=0.15)


# ------------------------------------------------------------------------------------------------------- by name


def table():
    X, y = rows(500)
    return pd.DataFrame({"intercept": X[:, 0], "age": X[:, 1], "dose": np.roll(X[:, 1], 7)}), y


def test_priors_go_by_the_names_of_the_columns():
    X, y = table()
    prior = ByName({"dose": Laplace(scale=0.001), "intercept": Flat()}, others=Normal(mean=4.0, scale=0.001))
    target = LogisticRegression(X, y, prior=prior)
    assert target._prior.flat.tolist() == [True, False, False]
    point = find_mode(target).point
    assert point[1:] == pytest.approx([4.0, 0.0], abs=0.05)
    assert abs(point[0]) < 3
    assert "ByName(priors={'dose': Laplace(mean=0.0, scale=0.001)" in repr(target)


def test_a_covariance_goes_by_name():
    X, y = table()
    order = ["dose", "intercept", "age"]
    covariance = pd.DataFrame(np.diag([3.0, 1.0, 2.0]), index=order, columns=order)
    covariance.loc["dose", "age"] = covariance.loc["age", "dose"] = 0.5
    prior = LogisticRegression(X, y, prior=Normal(covariance=covariance)).prior
    assert prior.covariance == ((1.0, 0.0, 0.0), (0.0, 2.0, 0.5), (0.0, 0.5, 3.0))


def test_degrees_of_freedom_go_by_name_too():
    X, y = table()
    target = LogisticRegression(X, y, prior=StudentT(df={"age": 3, "dose": 5, "intercept": 7}, scale=[1, 2, 3]))
    assert target._prior.laws.df.tolist() == [7, 3, 5]


# ------------------------------------------------------------------------------------------------------ improper


def with_pure_dummy():
    X, y = table()
    return X.assign(level=np.arange(500) < 20), np.where(np.arange(500) < 20, 1.0, y)


@pytest.mark.parametrize("law", [Normal(), Laplace(), StudentT(df=3), Cauchy()], ids=repr)
def test_separable_data_need_a_prior_where_they_are_separable(law):
    X, y = with_pure_dummy()
    X["level"] = X["level"].astype(float)
    with pytest.raises(ImproperPosterior, match="along column level: the data are separable"):
        choose(LogisticRegression(X, y, prior=ByName({"level": Flat()}, others=law)), None, None, None)
    choose(LogisticRegression(X, y, prior=ByName({"level": law}, others=Flat())), None, None, None)


def test_collinear_columns_need_a_prior_on_all_but_one_of_them():
    X, y = table()
    X = X.assign(sum=X["age"] + X["dose"], zero=0.0)
    flat = {"zero": Normal()}
    with pytest.raises(ImproperPosterior, match="columns age, dose, sum are collinear"):
        choose(LogisticRegression(X, y, prior=ByName(flat, others=Flat())), None, None, None)
    with pytest.raises(ImproperPosterior, match="column zero is zero in every row"):
        choose(LogisticRegression(X, y, prior=ByName({"age": Cauchy()}, others=Flat())), None, None, None)
    for law in (Normal(), Cauchy(), Laplace()):
        tree = sample(LogisticRegression(X, y, prior=ByName(flat | {"age": law}, others=Flat())), draws=200, rng=1)
        assert np.isfinite(tree.posterior["theta"].values).all()


def test_proper_means_proper_in_every_coordinate():
    for prior in (Normal(), Cauchy(), Laplace(), StudentT(df=0.5), Normal(covariance=COVARIANCE), UserPrior(own)):
        assert ready(prior).proper
    for prior in (Flat(), ByName({0: Flat()}, others=Cauchy())):
        assert not ready(prior).proper


def test_the_public_names():
    assert tunamh.priors.Normal is tunamh.Normal
    assert tunamh.priors.Flat is tunamh.Flat
    assert tunamh.priors.StudentT is not tunamh.StudentT  # a prior and a family
