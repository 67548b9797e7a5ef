"""Nothing but finite energies and priors may pass, whatever the test; on all rows +infinity is a density of zero."""

import numba
import numpy as np
import pytest

from conftest import logistic_data
from tunamh import (
    GLM,
    MH,
    MHSS,
    AustereMH,
    ConvergenceWarning,
    EnergyTarget,
    FactorizedMH,
    FlyMC,
    GaussianMixture,
    LogisticRegression,
    MHMinibatch,
    NonFiniteEnergy,
    Normal,
    NotApplicable,
    Poisson,
    PoissonMH,
    RandomWalk,
    TunaMH,
    check_bounds,
    sample,
)
from tunamh.acceptance.poisson import _height

ROWS = np.random.default_rng(1).standard_normal(300)
TESTS = {
    "MH": MH(),
    "TunaMH": TunaMH(chi=0.5, full_share=np.inf),
    "TunaMH, all rows": TunaMH(chi=0.5, full_share=0.0),
    "MHSS": MHSS(full_share=np.inf),
    "MHSS not delayed": MHSS(delayed=False, full_share=np.inf),
    "FMH": FactorizedMH(truncation=np.inf),
    "TFMH": FactorizedMH(),
    "AustereMH": AustereMH(0.05, 50),
    "MHMinibatch": MHMinibatch(50),
}


def wall(height):
    """Slope 1 up to 0.3, and this height beyond, in some rows."""

    @numba.njit
    def energy(theta, row):
        return height if theta[0] > 0.3 and row[0] > -1.0 else abs(theta[0] - row[0])

    return energy


WALLS = {value: wall(value) for value in (np.inf, -np.inf)}


RAISE = [(test, height) for test in TESTS for height in WALLS if (test, height) != ("MH", np.inf)]


@pytest.mark.parametrize(("test", "height"), RAISE)
def test_an_infinite_energy_is_raised_not_clipped(test, height):
    target = EnergyTarget(WALLS[height], ROWS, 1.0, dim=1)
    settings = {"test": TESTS[test], "proposal": RandomWalk(0.3), "tune": 0, "chains": 1, "rng": 1}
    with pytest.raises(NonFiniteEnergy, match="inf") as caught:
        sample(target, init=[0.0], draws=20_000, **settings)
    assert ROWS[caught.value.row] > -1.0
    assert caught.value.step is not None
    with pytest.raises(NonFiniteEnergy, match="initial state") as caught:
        sample(target, init=[0.5], **settings)
    assert caught.value.row == np.argmax(ROWS > -1.0)


# -------------------------------------------------------------------------------------- all rows, at a proposal


def test_mh_rejects_a_proposal_of_infinite_energy_and_has_the_law_cut_off_there():
    few = ROWS[:12]
    settings = {"test": MH(), "proposal": RandomWalk(0.8), "tune": 0, "chains": 4, "rng": 1, "init": [0.0]}
    tree = sample(EnergyTarget(WALLS[np.inf], few, 1.0, dim=1), draws=20_000, **settings)
    draws = tree.posterior["theta"].values
    grid = np.linspace(-4, 0.3, 20_001)
    density = np.exp(-np.abs(grid[:, None] - few).sum(axis=1))
    truth = np.sum(grid * density) / density.sum()
    free = np.linspace(-4, 4, 20_001)
    whole = np.exp(-np.abs(free[:, None] - few).sum(axis=1))
    assert draws.max() <= 0.3
    assert abs(draws.mean() - truth) < 0.01
    assert abs(np.sum(free * whole) / whole.sum() - truth) > 0.05  # the wall matters, or the test above says nothing
    with pytest.raises(NonFiniteEnergy, match="initial state"):
        sample(EnergyTarget(WALLS[np.inf], few, 1.0, dim=1), **{**settings, "init": [0.5]})


def test_mh_rejects_counts_whose_mean_overflows(rng):
    X = 100.0 * rng.standard_normal((200, 2))
    target = GLM(X, rng.poisson(2.0, 200), Poisson(), prior=Normal(scale=1.0))
    settings = {"test": MH(), "proposal": RandomWalk(5.0), "tune": 0, "chains": 1, "init": [0.0, 0.0], "rng": 1}
    with pytest.warns(ConvergenceWarning, match="never moved"):
        tree = sample(target, draws=200, **settings)
    assert (tree.posterior["theta"].values == 0.0).all()  # steps of hundreds of predictors, up or down: none is likely


_ZERO, _INFINITE, _NAN, _MINUS_INFINITE = range(4)


@numba.njit
def by_code(theta, row):
    """Beyond 0.3 what the row's code says, else 0."""
    if theta[0] <= 0.3 or row[0] == _ZERO:
        return 0.0
    return np.inf if row[0] == _INFINITE else np.nan if row[0] == _NAN else -np.inf


@pytest.mark.parametrize(("other", "code"), [(np.nan, _NAN), (-np.inf, _MINUS_INFINITE)])
@pytest.mark.parametrize("at", [1, 299])
def test_mh_takes_no_nan_for_an_infinite_energy(other, code, at):
    """In the same block of rows and in a later one: row 0 is +infinity beyond 0.3, one other is no energy at all."""
    rows = np.zeros(300)
    rows[0], rows[at] = _INFINITE, code
    settings = {"test": MH(), "proposal": RandomWalk(0.3), "tune": 0, "chains": 1, "rng": 1, "init": [0.0]}
    with pytest.raises(NonFiniteEnergy, match=f"row {at} .*{other}") as caught:
        sample(EnergyTarget(by_code, rows, np.inf, dim=1), **settings)
    assert caught.value.row == at


# ----------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("c", [1.0, np.inf])
def test_check_bounds_lets_no_infinite_energy_pass(c):
    with pytest.raises(NonFiniteEnergy, match="inf"):
        check_bounds(EnergyTarget(WALLS[np.inf], ROWS, c, dim=1), rng=1)


@pytest.mark.parametrize("test", [AustereMH(0.05, 50), MHMinibatch(50)], ids=repr)
def test_an_infinite_bound_allows_no_infinite_rise(test):
    """These tests need no bound, so the target may have none."""
    finite = EnergyTarget(WALLS[np.inf], ROWS, np.inf, dim=1)
    settings = {"test": test, "tune": 0, "chains": 1, "rng": 1, "init": [0.0]}
    sample(finite, proposal=RandomWalk(0.001), draws=50, **settings)
    with pytest.raises(NonFiniteEnergy, match="inf"):
        sample(finite, proposal=RandomWalk(0.3), draws=20_000, **settings)


def test_an_infinite_rise_of_a_move_without_a_bound_is_rejected():
    """A density of zero at the proposal; an energy of -infinity there is still an error."""

    @numba.njit
    def endless(theta, prop):
        return np.inf

    settings = {"test": TunaMH(chi=0.5), "proposal": RandomWalk(0.3), "tune": 0, "init": [0.0], "rng": 1}
    draws = sample(EnergyTarget(WALLS[np.inf], ROWS, 1.0, dim=1, distance=endless), **settings).posterior["theta"]
    assert draws.max() <= 0.3
    with pytest.raises(NonFiniteEnergy, match="inf"):
        sample(EnergyTarget(WALLS[-np.inf], ROWS, 1.0, dim=1, distance=endless), **settings)


def test_a_sum_beyond_all_numbers_is_named():
    @numba.njit
    def huge(theta, row):
        return -1e307 * abs(theta[0])

    target = EnergyTarget(huge, ROWS, np.inf, dim=1)
    with pytest.raises(NonFiniteEnergy, match="is not finite"):
        sample(target, test=MH(), proposal=RandomWalk(0.5), tune=0, init=[0.0], rng=1)
    with pytest.raises(NotApplicable, match="row 0 has none"):
        sample(target, test=TunaMH(), rng=1)


def test_poissonmh_takes_no_infinite_energy_for_rounding():
    for energy in (np.inf, -np.inf, np.nan):
        assert np.isnan(_height(energy, 3.0, 2.0))
    assert _height(3.0 + 1e-15, 3.0, 2.0) == 0.0


def test_flymc_starts_at_finite_energies_only():
    X, y = logistic_data(100, 1)
    with pytest.raises(NonFiniteEnergy, match="initial state"):
        sample(LogisticRegression(1e10 * X, y), test=FlyMC(), init=[1e300], rng=1)


# ----------------------------------------------------------------------------------------------------- priors


def cliff(height):
    @numba.njit
    def log_prior(theta):
        return height if theta[0] > 0.2 else 0.0

    return log_prior


CLIFFS = {repr(value): GaussianMixture(ROWS, prior=cliff(value)) for value in (np.nan, np.inf)}


@pytest.mark.parametrize("height", CLIFFS)
@pytest.mark.parametrize("test", [*TESTS.values(), PoissonMH(10.0), FlyMC()], ids=repr)
def test_a_prior_that_is_no_number_names_the_point(test, height):
    settings = {"test": test, "proposal": RandomWalk(0.3), "tune": 0, "chains": 1, "rng": 1}
    with pytest.raises(NonFiniteEnergy, match=rf"log prior is {height}.*\[.*\] -> \[.*at step"):
        sample(CLIFFS[height], init=[0.0, 0.0], **settings)
    with pytest.raises(NonFiniteEnergy, match=rf"log prior is {height} at the initial state \[1"):
        sample(CLIFFS[height], init=[1.0, 0.0], **settings)
