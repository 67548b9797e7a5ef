"""An error instead of a wrong answer, and it names the row."""

import os
import signal

import numba
import numpy as np
import pytest

import tunamh
from conftest import logistic_data
from tunamh import MH, BoundViolation, EnergyTarget, NonFiniteEnergy, RandomWalk, TunaMH, check_bounds, sample

ROWS = np.random.default_rng(1).standard_normal(300)


@numba.njit
def saturating(theta, row):
    """Slope at most 1."""
    return np.log(np.cosh(row[0] - theta[0]))


def test_honest_bounds_pass():
    target = EnergyTarget(saturating, ROWS, 1.0, dim=1)
    assert 0.5 < check_bounds(target, rng=1) <= 1.0
    sample(target, draws=100, tune=100, rng=1)


@pytest.mark.parametrize("full_share", [np.inf, 0.0], ids=["minibatch", "full data"])
def test_a_violated_bound_is_named_while_sampling(full_share):
    c = np.ones(300)
    c[123] = 0.01
    target = EnergyTarget(saturating, ROWS, c, dim=1)
    with pytest.raises(BoundViolation) as caught:
        sample(target, test=TunaMH(chi=0.5, full_share=full_share), proposal=RandomWalk(0.5), draws=5000, tune=0, rng=1)
    error = caught.value
    assert error.row == 123
    assert error.step is not None
    assert error.step >= 0
    assert error.ratio > 1
    assert error.ratio == pytest.approx(abs(error.rise) / error.bound)
    assert "row 123" in str(error)
    assert "check_bounds" in str(error)


def test_a_bound_that_fails_far_out_is_found_when_the_chain_gets_there():
    @numba.njit
    def steeper_beyond_one(theta, row):
        return -0.05 * theta[0] if theta[0] < 1.0 else -0.05 - 3.0 * (theta[0] - 1.0)

    target = EnergyTarget(steeper_beyond_one, ROWS, 0.05, dim=1)
    with pytest.raises(BoundViolation) as caught:
        sample(
            target,
            test=TunaMH(chi=0.5, full_share=np.inf),
            proposal=RandomWalk(0.05),
            draws=5000,
            tune=0,
            init=[0.0],
            rng=1,
        )
    assert caught.value.step > 0


def test_rows_that_are_never_drawn_are_audited_at_the_start():
    with pytest.raises(BoundViolation) as caught:
        sample(EnergyTarget(saturating, ROWS, 0.0, dim=1), test=TunaMH(chi=1.0), rng=1)
    assert caught.value.step == 0
    with pytest.raises(BoundViolation):
        sample(tunamh.FiniteWalk(np.ones(60), 10, c=np.zeros(60)), test=TunaMH(chi=1.0), rng=1)


def test_an_asymmetric_distance_is_refused():
    @numba.njit
    def lopsided(theta, prop):
        return abs(theta[0] - prop[0]) * (1 + theta[0] ** 2)

    target = EnergyTarget(saturating, ROWS, 1.0, dim=1, distance=lopsided)
    with pytest.raises(ValueError, match="not symmetric"):
        check_bounds(target, rng=1)
    with pytest.raises(ValueError, match="not symmetric"):
        sample(target, rng=1)


@pytest.mark.parametrize("kind", ["prior", "energy", "proposal"])
def test_a_users_function_cannot_overwrite_the_state(kind):
    @numba.njit
    def prior(theta):
        theta[0] = 0.0
        return 0.0

    @numba.njit
    def energy(theta, row):
        theta[0] = 0.0
        return 0.0

    @numba.njit
    def propose(rng, theta, prop):
        theta[0] += 1.0
        prop[0] = theta[0]
        return 0.0

    uses = {
        "prior": lambda: EnergyTarget(saturating, ROWS, 1.0, dim=1, prior=prior),
        "energy": lambda: EnergyTarget(energy, ROWS, 1.0, dim=1),
        "proposal": lambda: sample(EnergyTarget(saturating, ROWS, 1.0, dim=1), proposal=propose),
    }
    with pytest.raises(TypeError, match="does not compile"):
        uses[kind]()


def test_a_prior_or_a_proposal_beyond_its_arrays_is_noticed():
    target_rows = np.random.default_rng(1).standard_normal((50, 2)), np.arange(50) % 2

    @numba.njit
    def prior(theta):
        return -0.5 * theta[2] ** 2

    @numba.njit
    def propose(rng, theta, prop):
        for j in range(3):
            prop[j] = theta[j] + rng.standard_normal()
        return 0.0

    with pytest.raises(IndexError, match="log_prior"):
        tunamh.LogisticRegression(*target_rows, prior=prior)
    with pytest.raises(IndexError, match="propose"):
        sample(tunamh.LogisticRegression(*target_rows), proposal=propose)


def test_an_index_beyond_theta_is_noticed():
    @numba.njit
    def energy(theta, row):
        return abs(theta[1] - row[0])

    with pytest.raises(IndexError, match="beyond its arrays"):
        EnergyTarget(energy, ROWS, 1.0, dim=1)


def test_a_gradient_that_writes_beyond_its_output_is_noticed():
    @numba.njit
    def gradient(theta, row, out):
        out[40] = 1.0

    with pytest.raises(IndexError, match="gradient"):
        EnergyTarget(saturating, ROWS, 1.0, dim=1, gradient=gradient, c_gradient=1.0)


def test_parallel_functions_are_refused():
    @numba.njit(parallel=True)
    def energy(theta, row):
        return theta[0]

    with pytest.raises(TypeError, match="parallel"):
        EnergyTarget(energy, ROWS, 1.0, dim=1)


def test_nan_proposals_are_reported_on_every_target():
    @numba.njit
    def lost(rng, theta, prop):
        prop[:] = np.nan
        return 0.0

    for target in (tunamh.GaussianMixture(ROWS), tunamh.FiniteWalk(ROWS, 5)):
        with pytest.raises(NonFiniteEnergy):
            sample(target, proposal=lost, tune=0, rng=1)


def test_a_prior_need_not_be_defined_outside_the_support():
    @numba.njit
    def inside_only(theta):
        return np.log(3 - abs(theta[0])) + np.log(3 - abs(theta[1]))

    target = tunamh.GaussianMixture(ROWS, prior=inside_only)
    sample(target, proposal=RandomWalk(2.0), draws=200, tune=0, rng=1)


def test_an_error_in_a_chain_survives_ctrl_c(monkeypatch, hears_ctrl_c):
    """An interrupt while a chunk is under way does not hide that the chunk failed."""
    from tunamh.sampling.run import ChainRun

    def failing(self):
        os.kill(os.getpid(), signal.SIGINT)
        raise BoundViolation(3, 2.0, rise=2.0, bound=1.0, step=1)

    monkeypatch.setattr(ChainRun, "work", failing)
    with pytest.raises(BoundViolation):
        sample(EnergyTarget(saturating, ROWS, 1.0, dim=1), rng=1)


def test_check_bounds_finds_the_row():
    c = np.ones(300)
    c[7] = 0.3
    with pytest.raises(BoundViolation) as caught:
        check_bounds(EnergyTarget(saturating, ROWS, c, dim=1), rng=1)
    assert caught.value.row == 7
    assert caught.value.step is None


def test_check_bounds_is_reproducible():
    target = EnergyTarget(saturating, ROWS, 1.0, dim=1)
    assert check_bounds(target, rng=3) == check_bounds(target, rng=3)


def test_a_row_without_bound_may_not_move():
    c = np.ones(300)
    c[5] = 0.0
    with pytest.raises(BoundViolation) as caught:
        check_bounds(EnergyTarget(saturating, ROWS, c, dim=1), rng=1)
    assert caught.value.row == 5


def test_rounding_alone_is_no_violation():
    """The walk attains its bounds; many rises exceed them in the last digit (spec 2.0 iv)."""
    walk = tunamh.FiniteWalk(np.random.default_rng(2).standard_normal(50), states=1000)
    tree = sample(walk, test=TunaMH(chi=0.5), draws=20_000, tune=0, rng=1)
    assert tree.sample_stats["bound_ratio"].max() == pytest.approx(1.0)


@numba.njit
def nan_beyond(theta, row):
    return np.nan if theta[0] > 0.3 and row[0] > 2.0 else abs(theta[0] - row[0])


@pytest.mark.parametrize("test", [MH(), TunaMH(chi=0.5, full_share=np.inf), TunaMH(chi=0.5, full_share=0.0)], ids=repr)
def test_nan_energy_is_named_while_sampling(test):
    target = EnergyTarget(nan_beyond, ROWS, 1.0, dim=1)
    with pytest.raises(NonFiniteEnergy, match="nan") as caught:
        sample(target, test=test, proposal=RandomWalk(0.3), draws=20_000, tune=0, init=[0.0], rng=1)
    assert ROWS[caught.value.row] > 2.0
    assert caught.value.step is not None


def test_infinite_energy_is_named():
    @numba.njit
    def energy(theta, row):
        return np.inf if theta[0] < 0 else theta[0]

    settings = {"test": TunaMH(chi=0.5, full_share=0.0), "proposal": RandomWalk(1.0), "tune": 0, "rng": 1}
    with pytest.raises(NonFiniteEnergy, match=r"row 0 .*inf"):
        sample(EnergyTarget(energy, ROWS, 1.0, dim=1), init=[0.5], **settings)


def test_nan_energy_at_the_initial_state_names_the_first_row():
    with pytest.raises(NonFiniteEnergy, match="initial state") as caught:
        sample(EnergyTarget(nan_beyond, ROWS, 1.0, dim=1), init=[0.5], rng=1)
    assert caught.value.row == int(np.argmax(ROWS > 2.0))


def test_an_exception_in_the_users_code_is_not_swallowed():
    @numba.njit
    def energy(theta, row):
        if theta[0] > 0.2:
            raise ValueError("not here")
        return 0.0

    with pytest.raises(NonFiniteEnergy, match="row"):
        sample(EnergyTarget(energy, ROWS, 1.0, dim=1), proposal=RandomWalk(0.3), tune=0, init=[0.0], rng=1)


def test_a_bad_prior_is_named():
    @numba.njit
    def prior(theta):
        return np.nan if theta[0] > 0.2 else 0.0

    X, y = logistic_data(100, 1)
    target = tunamh.LogisticRegression(X, y, prior=prior)
    with pytest.raises(NonFiniteEnergy, match="log prior"):
        sample(target, proposal=RandomWalk(0.3), tune=0, init=[0.0], rng=1)
    with pytest.raises(NonFiniteEnergy, match="initial state"):
        sample(target, init=[1.0], rng=1)


def test_a_bad_proposal_ratio_is_named():
    @numba.njit
    def broken(rng, theta, prop):
        prop[0] = theta[0] + 0.1
        return np.nan

    with pytest.raises(NonFiniteEnergy, match="proposal"):
        sample(EnergyTarget(saturating, ROWS, 1.0, dim=1), proposal=broken, tune=0, rng=1)


def test_a_bad_distance_is_named():
    @numba.njit
    def negative(theta, prop):
        return theta[0] - prop[0]

    with pytest.raises(NonFiniteEnergy, match="distance"):
        sample(EnergyTarget(saturating, ROWS, 1.0, dim=1, distance=negative), rng=1)


def test_a_users_distance_is_used():
    @numba.njit
    def doubled(theta, prop):
        return 2 * abs(theta[0] - prop[0])

    settings = {
        "test": TunaMH(chi=0.5, full_share=np.inf),
        "proposal": RandomWalk(0.01),
        "tune": 0,
        "rng": 1,
        "draws": 2000,
    }
    half = EnergyTarget(saturating, ROWS, 0.5, dim=1, distance=doubled)
    plain = EnergyTarget(saturating, ROWS, 1.0, dim=1)
    one, two = (float(sample(t, **settings).sample_stats["batch_size"].mean()) for t in (half, plain))
    assert one == pytest.approx(two, rel=0.02)


def test_overflowing_predictors_are_not_silent():
    X, y = logistic_data(100, 1)
    target = tunamh.RobustRegression(1e99 * X, y, scale=1.0)
    with pytest.raises(NonFiniteEnergy, match="row"):
        sample(target, proposal=RandomWalk(1.0), tune=0, init=[1e61], rng=1)
    with pytest.raises(ValueError, match="too large to compute with"):
        tunamh.RobustRegression(1e200 * X, y, scale=1.0)
