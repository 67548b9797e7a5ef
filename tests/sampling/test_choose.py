"""What `sample` chooses when it is told nothing, and what it refuses."""

import json

import numba
import numpy as np
import pytest

import tunamh
from conftest import logistic_data
from tunamh import (
    GLM,
    MH,
    Autoregressive,
    EnergyTarget,
    FiniteWalk,
    Gaussian,
    GaussianMixture,
    Huber,
    ImproperPosterior,
    LogisticRegression,
    Normal,
    Probit,
    RandomWalk,
    RobustRegression,
    Taylor,
    TunaMH,
    sample,
)
from tunamh.targets.search.newton import Mode

X, Y = logistic_data(5000, 3)
NOISE = np.random.default_rng(8).standard_t(4, 5000)


def settings(tree):
    return json.loads(tree.posterior.attrs["settings"])


def chosen(target, **given):
    return settings(sample(target, draws=20, tune=20, chains=2, rng=1, **given))


def test_a_regression_gets_expansion_and_laplace_proposals():
    tree = sample(LogisticRegression(X, Y), draws=1000, rng=1)
    said = settings(tree)
    assert said["test"].startswith("MHSS")
    assert said["proposal"].startswith("Autoregressive")
    assert said["target"].startswith("Taylor(order=2)")
    assert "of 5,000 rows" in said["why"]
    assert tree.posterior.attrs["choice"] == f"{said['test']}, {said['proposal']}: {said['why']}"
    assert tree.sample_stats["batch_size"].mean() < 10
    assert tree.sample_stats["acceptance_rate"].mean() > 0.9


def test_few_rows_are_read_all():
    said = chosen(LogisticRegression(X[:25], Y[:25]))
    assert said["test"] == "MH()"
    assert "checked on all 25 rows" in said["why"]


def test_near_d_squared_rows_a_full_pass_is_cheaper():
    wide = np.random.default_rng(1).standard_normal((600, 30))
    said = chosen(LogisticRegression(wide, np.arange(600) % 2))
    assert said["test"] == "MH()"
    assert said["proposal"].startswith("Autoregressive")


@pytest.mark.parametrize(
    ("family", "y", "order"),
    [(Huber(scale=1.0), X[:, 0] + NOISE, 2), (Probit(), Y, 2), (tunamh.StudentT(4.0, scale=1.0), X[:, 0] + NOISE, 2)],
    ids=["Huber", "Probit", "StudentT"],
)
def test_the_highest_order_that_has_bounds(family, y, order):
    assert chosen(GLM(X, y, family))["target"].startswith(f"Taylor(order={order})")


def test_gaussian_regression_draws_independently_and_reads_no_row():
    tree = sample(GLM(X, X[:, 0] + NOISE, Gaussian(scale=1.0), prior=Normal(scale=3.0)), draws=4000, rng=1)
    assert tree.sample_stats["accepted"].all()
    assert (tree.sample_stats["batch_size"] == 0).all()
    theta = tree.posterior["theta"].values.reshape(-1, 3)
    precision = X.T @ X + np.eye(3) / 9
    mean = np.linalg.solve(precision, X.T @ (X[:, 0] + NOISE))
    scores = (theta.mean(axis=0) - mean) * np.sqrt(np.diag(precision) * len(theta))
    assert np.abs(scores).max() < 4.5
    assert np.abs(np.cov(theta.T) @ precision - np.eye(3)).max() < 0.1
    lags = [np.corrcoef(theta[1:4000, j], theta[:3999, j])[0, 1] for j in range(3)]
    assert np.abs(lags).max() < 4.5 / np.sqrt(4000)


def test_targets_without_one_mode_get_the_paper():
    """A mixture would be trapped by the Laplace law of one of its modes."""

    @numba.njit
    def energy(theta, row):
        return abs(row[0] - theta[0])

    for target in (GaussianMixture(NOISE[:200]), EnergyTarget(energy, NOISE[:200], 1.0, dim=1)):
        said = chosen(target)
        assert said["test"].startswith("TunaMH")
        assert said["proposal"].startswith("RandomWalk")
    assert chosen(FiniteWalk([1.0, -1.0], 5))["proposal"] == "NeighbourWalk()"


def test_what_is_said_is_done():
    target = LogisticRegression(X, Y)
    assert chosen(target, test=MH())["target"] == repr(target)
    assert chosen(target, test=TunaMH(chi=0.1), proposal=RandomWalk(0.1))["why"].endswith("as you have set")
    assert chosen(target, proposal=RandomWalk(0.1))["test"].startswith("TunaMH")
    halfway = chosen(target, proposal=Autoregressive(rho=0.5))
    assert halfway["target"].startswith("Taylor(order=2)")
    assert halfway["test"].startswith("MHSS")
    first = chosen(target, control=Taylor(order=1))
    assert first["target"].startswith("Taylor(order=1)")
    assert first["proposal"].startswith("Autoregressive")
    assert chosen(Taylor(order=2)(target))["proposal"].startswith("Autoregressive")


def test_the_choice_is_one_line_of_output(capsys, monkeypatch):
    monkeypatch.delenv("CI")
    sample(LogisticRegression(X, Y), draws=10, tune=10, chains=1, rng=1)
    lines = [line for line in capsys.readouterr().err.splitlines() if "Gaussian approximation" in line]
    assert len(lines) == 1
    assert "of 5,000 rows" in lines[0]


def test_draws_depend_on_neither_cores_nor_set_up_threads(monkeypatch):
    first = sample(LogisticRegression(X, Y), draws=50, cores=2, rng=3).posterior["theta"].values
    monkeypatch.setattr("os.cpu_count", lambda: 1)
    second = sample(LogisticRegression(X, Y), draws=50, cores=1, rng=3).posterior["theta"].values
    assert np.array_equal(first, second)


# ------------------------------------------------------------------------------------------------- no posterior


def one_label_where_positive():
    column = np.zeros(5000)
    column[:10] = 1
    y = Y.copy()
    y[:10] = 1
    return LogisticRegression(np.column_stack([X, column]), y)


IMPROPER = {
    "separable": (lambda: LogisticRegression(X, X[:, 0] > 0), "column 0:.*separable"),
    "separable, probit": (lambda: GLM(X, X[:, 0] > 0, Probit()), "separable"),
    "one column separates": (one_label_where_positive, "column 3:.*separable"),
    "collinear": (lambda: LogisticRegression(np.column_stack([X, 3 * X[:, 1]]), Y), "columns 1, 3 are collinear"),
    "a column of zeros": (
        lambda: LogisticRegression(np.column_stack([X, 0 * Y]), Y),
        "column 3 is zero in every row",
    ),
    "robust, collinear": (
        lambda: RobustRegression(np.column_stack([X, X[:, 0]]), NOISE, scale=1.0),
        "columns 0, 3 are collinear",
    ),
}


@pytest.mark.parametrize("name", IMPROPER)
def test_no_posterior_is_an_error_that_names_the_columns(name):
    make, message = IMPROPER[name]
    with pytest.raises(ImproperPosterior, match=message):
        sample(make(), draws=10, tune=10, rng=1)


@pytest.mark.parametrize("name", IMPROPER)
def test_a_prior_makes_a_posterior(name):
    flat = IMPROPER[name][0]()
    target = GLM(flat.observations.design.X, flat.observations.y, flat.family, prior=Normal(scale=5.0))
    tree = sample(target, draws=2000, rng=1)
    assert tree.sample_stats["acceptance_rate"].mean() > 0.5
    assert float(tunamh.summary(tree, round_to="none")["r_hat"].max()) < 1.02


def test_a_users_prior_may_make_up_for_what_the_data_leave_open():
    @numba.njit
    def half_normal(theta):
        return -0.5 * np.sum(theta**2) if np.all(theta > 0) else -np.inf

    said = chosen(LogisticRegression(np.zeros((10, 2)), np.zeros(10), prior=half_normal), init=[1.0, 1.0])
    assert said["proposal"].startswith("RandomWalk")
    assert "random walk" in said["why"]
    informed = LogisticRegression(X, Y, prior=half_normal)
    assert chosen(informed, init=[0.5, 0.5, 0.5])["proposal"].startswith("Autoregressive")


def test_a_flat_hessian_alone_is_no_reason_to_refuse():
    """Huber's second derivative is 0 or 1: with few rows inside it may vanish where the posterior is proper."""
    x = np.column_stack([np.ones(500), X[:500]])
    said = chosen(GLM(x, 1e3 * NOISE[:500], Huber(scale=1.0)))
    assert said["test"] == "MH()"
    assert "flat along" in said["why"]
    assert "Autoregressive" in chosen(GLM(x, NOISE[:500], Huber(scale=1.0)))["proposal"]


def test_data_that_weigh_nothing_have_no_laplace_law():
    """Tempered to a twentieth of a row: the posterior is flat for a hundred units and then falls exponentially."""
    tempered = LogisticRegression(X[:500], Y[:500], temper=1e-4)
    tree = sample(tempered, draws=4000, tune=2000, thin=20, rng=1)
    assert settings(tree)["proposal"].startswith("RandomWalk")
    assert settings(tree)["test"].startswith("TunaMH")
    assert (tree.posterior["theta"].std(("chain", "draw")) > 90).all()
    assert chosen(LogisticRegression(X[:500], Y[:500], temper=0.1))["proposal"].startswith("Autoregressive")
    assert chosen(LogisticRegression(X[:8], Y[:8], prior=Normal(scale=1.0)))["proposal"].startswith("Autoregressive")


def test_columns_with_a_large_common_part():
    """A time in seconds since 1970 beside an intercept: nearly collinear, and proper."""
    seconds = 1.6e9 + np.random.default_rng(3).integers(0, 100_000, 5000)
    tree = sample(LogisticRegression(np.column_stack([np.ones(5000), seconds, X]), Y), draws=1000, rng=1)
    assert tree.sample_stats["acceptance_rate"].mean() > 0.85
    assert float(tunamh.summary(tree, round_to="none")["r_hat"].max()) < 1.02


def test_an_own_prior_makes_a_laplace_law_of_data_that_have_none():
    @numba.njit
    def prior(theta):
        return -0.5 * np.sum(theta**2)

    for target in (GLM(X, X[:, 1] > 0, Probit(), prior=prior), GLM(0 * X, NOISE, Gaussian(scale=1.0), prior=prior)):
        tree = sample(target, draws=500, rng=1)
        assert settings(tree)["proposal"].startswith("Autoregressive")
        assert tree.sample_stats["acceptance_rate"].mean() > 0.5


def test_controls_without_whitened_distances_get_a_random_walk():
    target = LogisticRegression(X, Y)
    for control in (Taylor(order=2, whiten=False), Taylor(order=1, original_bounds=True)):
        said = chosen(target, control=control)
        assert said["proposal"].startswith("RandomWalk")
        assert said["test"].startswith("MHSS")


def test_laplace_proposals_with_other_tests_and_families():
    assert chosen(LogisticRegression(X, Y), test=tunamh.FlyMC(q=0.1), proposal=Autoregressive())["test"].startswith(
        "FlyMC"
    )
    said = chosen(GLM(X, X[:, 0] + NOISE, Huber(scale=1.0)), proposal=Autoregressive())
    assert said["target"].startswith("Taylor(order=2)")


def test_a_scale_far_from_the_residuals_is_reported():
    """Prices in cents under unit noise: not convex, full of false modes, and not what anybody means."""
    x = np.column_stack([np.ones(3000), X[:3000, 0]])
    y = 2e5 + 5e4 * x[:, 1] + 3e4 * NOISE[:3000]
    with pytest.warns(UserWarning, match="times the known scale"):
        chosen(RobustRegression(x, y, scale=1.0))
    tree = sample(RobustRegression(x, y, scale=3e4), draws=500, rng=1)
    theta = tree.posterior["theta"]
    assert theta.mean(("chain", "draw")).values == pytest.approx([2e5, 5e4], abs=3000)
    assert tree.sample_stats["acceptance_rate"].mean() > 0.9


def test_a_far_start_does_not_end_in_a_false_mode():
    """Responses a hundred units from zero: least squares, not the prior's mean, is where the search begins."""
    from tunamh.targets.search.newton import find_mode

    mode = find_mode(RobustRegression(np.column_stack([np.ones(5000), X]), 100 + X[:, 0] + NOISE, scale=1.0))
    assert mode.point == pytest.approx([100, 1, 0, 0], abs=0.15)
    assert mode.found


def test_chains_that_disagree_are_reported():
    """Two modes and a walk too short to change between them."""
    target = GaussianMixture(np.r_[np.full(50, -1.0), np.full(50, 1.0)], variance=0.1)
    with pytest.warns(tunamh.ChainsDisagree, match="R-hat"):
        sample(
            target, test=MH(), proposal=RandomWalk(0.05), init=[[-1.0, 2.0], [1.0, -2.0]], chains=2, draws=200, rng=1
        )


def test_an_indefinite_hessian_is_no_centre():
    """Two clusters of responses far apart: if the search stops between them, sample() does not trust the expansion."""
    x, y = np.ones((40, 1)), np.r_[np.full(20, -30.0), np.full(20, 30.0)]
    target = RobustRegression(x, y, df=1.0, scale=1.0)
    between = target.expansion(np.zeros(1))
    said = chosen(target._with(modes=[Mode(np.zeros(1), between, between, 0.0)]))
    assert said["proposal"].startswith("RandomWalk")
    assert "indefinite" in said["why"]


def test_a_search_that_does_not_end_is_no_centre():
    target = LogisticRegression(X, Y)
    astray = target.expansion(np.full(3, 9.0))
    target = target._with(modes=[Mode(np.full(3, 9.0), astray, astray, 50.0)])
    assert "50 posterior standard deviations" in chosen(target)["why"]
