"""Every test on every target: it runs, or it says before any sampling why it cannot."""

import numba
import numpy as np
import pytest

from conftest import logistic_data
from tunamh import (
    MH,
    MHSS,
    AustereMH,
    EnergyTarget,
    FactorizedMH,
    FiniteWalk,
    FlyMC,
    GaussianMixture,
    LogisticRegression,
    MHMinibatch,
    NotApplicable,
    PoissonMH,
    RandomWalk,
    RobustRegression,
    Taylor,
    TunaMH,
    sample,
)
from tunamh.theory import correction_atoms

X, Y = logistic_data(300, 2)


@numba.njit
def distance_to_row(theta, row):
    return abs(theta[0] - row[0])


TARGETS = {
    "logistic": LogisticRegression(X, Y),
    "robust": RobustRegression(X, Y, weights=np.ones(300), scale=1.0),
    "mixture": GaussianMixture(X[:, 0]),
    "walk": FiniteWalk(X[:, 0], 5),
    "table": FiniteWalk(table=X @ [[1.0, 0.0, 0.5], [0.5, 0.2, 0.1]]),
    "energy": EnergyTarget(distance_to_row, X[:, 0], 1.0, dim=1),
    "Taylor 1": Taylor(order=1)(LogisticRegression(X, Y)),
    "Taylor 2": Taylor(order=2)(RobustRegression(X, Y, scale=1.0)),
    "Taylor mixture": Taylor(order=1)(GaussianMixture(X[:, 0])),
}
TESTS = {
    "MH": MH(),
    "TunaMH": TunaMH(),
    "MHSS": MHSS(floor=5.0, delayed=False),
    "MHSS delayed": MHSS(),
    "FMH": FactorizedMH(truncation=np.inf),
    "TFMH": FactorizedMH(),
    "PoissonMH": PoissonMH(10.0),
    "FlyMC": FlyMC(),
    "FlyMC-MAP": FlyMC(tuned=True, q=0.01),
    "AustereMH": AustereMH(0.05, 50),
    "MHMinibatch": MHMinibatch(50),
}
BOUNDED = {"mixture", "walk", "table"}
LIT = {"logistic", "robust", "mixture"}


@pytest.mark.parametrize("test", TESTS)
@pytest.mark.parametrize("target", TARGETS)
def test_every_test_on_every_target(test, target):
    possible = not (test == "PoissonMH" and target not in BOUNDED) and not ("Fly" in test and target not in LIT)
    settings = {"test": TESTS[test], "draws": 30, "tune": 20, "chains": 2, "rng": 1}
    if not possible:
        with pytest.raises(NotApplicable, match=test.split("-")[0]):
            sample(TARGETS[target], **settings)
        return
    tree = sample(TARGETS[target], **settings)
    assert np.isfinite(tree.posterior["theta"].values).all()
    stats = tree.sample_stats
    assert (stats["batch_size"] >= 0).all()
    assert stats.attrs["exact"] == int(test not in ("AustereMH", "MHMinibatch"))
    moved = np.any(np.diff(tree.posterior["theta"].values, axis=1) != 0, axis=2)
    assert not (moved & ~stats["accepted"].values[:, 1:]).any()
    again = sample(TARGETS[target], **settings, cores=1)
    assert np.array_equal(again.posterior["theta"], tree.posterior["theta"])


@pytest.mark.parametrize(
    "make",
    [
        lambda: PoissonMH(0.0),
        lambda: FlyMC(q=0.0),
        lambda: FlyMC(q=1.5),
        lambda: AustereMH(0.6, 10),
        lambda: AustereMH(0.1, 1),
        lambda: MHMinibatch(1),
        lambda: MHMinibatch(10, -1.0),
        lambda: MHMinibatch(2.5),
        lambda: AustereMH(0.1, 2.9),
        lambda: MHSS(floor=-1.0),
        lambda: FactorizedMH(truncation=-1.0),
    ],
)
def test_impossible_settings(make):
    with pytest.raises(ValueError, match="must"):
        make()


def test_correction_distribution():
    """Added to a standard normal it is logistic; its variance is pi^2 / 3 - 1."""
    from scipy.special import expit, ndtr

    atoms, chance = correction_atoms()
    assert chance.sum() == pytest.approx(1.0, abs=1e-12)
    assert (chance >= 0).all()
    assert chance @ atoms == pytest.approx(0.0, abs=1e-12)
    assert chance @ atoms**2 == pytest.approx(np.pi**2 / 3 - 1, abs=1e-4)
    x = np.linspace(-12, 12, 500)
    assert np.abs(ndtr(x[:, None] - atoms) @ chance - expit(x)).max() < 1e-6


def test_factorised_counts_rows_up_to_the_one_that_decided():
    """With tight bounds and rises up, the first row drawn rejects."""
    walk = FiniteWalk(np.full(50, 100.0), 10)

    @numba.njit
    def up(rng, theta, prop):
        prop[0] = theta[0] + 1.0
        return 0.0

    tree = sample(
        walk, test=FactorizedMH(truncation=np.inf), proposal=up, init=[0.0], tune=0, draws=200, chains=1, rng=1
    )
    assert not tree.sample_stats["accepted"].any()
    assert (tree.sample_stats["batch_size"] == 1).all()


def test_delayed_acceptance_draws_rows_only_after_the_first_stage():
    target = TARGETS["Taylor 2"]
    one, two = (
        sample(target, test=MHSS(delayed=d, full_share=np.inf), draws=500, tune=200, chains=2, rng=1)
        for d in (True, False)
    )
    assert (one.sample_stats["batch_size"] == 0).mean() > (two.sample_stats["batch_size"] == 0).mean()


def test_flymc_with_responses_far_from_zero():
    """The tangent bound is taken about y, so that large responses cost no digits."""
    rng = np.random.default_rng(3)
    table = np.column_stack([np.ones(300), rng.standard_normal(300)])
    target = RobustRegression(table, 1e4 + rng.standard_normal(300), scale=1.0)
    tree = sample(target, test=FlyMC(tuned=True), draws=300, tune=300, init=[1e4, 0.0], rng=1)
    assert abs(float(tree.posterior["theta"].values[..., 0].mean()) - 1e4) < 0.5


def test_flymc_with_a_tiny_q_or_a_wrong_centre():
    sample(TARGETS["logistic"], test=FlyMC(q=1e-18), draws=5, tune=0, rng=1)
    with pytest.raises(ValueError, match="centre"):
        sample(TARGETS["mixture"], test=FlyMC(centre=[0.5, 1.0, 2.5]))


def test_poissonmh_refuses_endless_batches():
    with pytest.raises(NotApplicable, match="rows per step"):
        sample(TARGETS["mixture"], test=PoissonMH(1e19))


def test_poissonmh_on_finite_points_has_the_targets_own_bounds():
    from tunamh.theory import FiniteProblem, detailed_balance_error, transition_matrix

    points = np.array([[0.0, 0.0], [0.5, 1.0], [-1.0, 0.3]])
    q = np.array([[0.2, 0.5, 0.3], [0.6, 0.1, 0.3], [0.1, 0.6, 0.3]])
    target = GaussianMixture(X[:3, 0], temper=0.5)
    problem = FiniteProblem.of(target, points, q)
    ceiling, width = target.global_bounds()
    assert (problem.energies <= ceiling[:, None]).all()
    assert (problem.energies >= (ceiling - width)[:, None]).all()
    transition = transition_matrix(problem, PoissonMH(2.0))
    assert detailed_balance_error(transition, problem.posterior()) < 1e-9


def test_bound_ratio_does_not_report_rounding():
    tree = sample(TARGETS["logistic"], test=TunaMH(chi=1.0), proposal=RandomWalk(1e-9), draws=500, tune=0, rng=1)
    assert tree.sample_stats["bound_ratio"].max() <= 1.0
