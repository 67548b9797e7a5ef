"""Rounding is no violation of a bound, and a bound that is wrong by a millionth is."""

from dataclasses import dataclass

import numba
import numpy as np
import pytest

from conftest import logistic_data
from tunamh import (
    GLM,
    BoundViolation,
    EnergyTarget,
    FiniteWalk,
    FlyMC,
    Gaussian,
    GaussianMixture,
    Logistic,
    LogisticRegression,
    NegativeBinomial,
    Probit,
    RandomWalk,
    RobustRegression,
    Taylor,
    TunaMH,
    check_bounds,
    sample,
)
from tunamh.chains.guard import check_move
from tunamh.targets.families.likelihood import Suprema
from tunamh.targets.search.newton import find_mode

pytestmark = pytest.mark.filterwarnings("ignore::tunamh.ChainsDisagree")  # chains are short here

N = 200
X = np.column_stack([np.ones(N), np.random.default_rng(0).standard_normal((N, 2))])
Y = (np.random.default_rng(1).random(N) < 0.5).astype(float)
NOISE = np.random.default_rng(2).standard_normal(N)
COUNTS = np.random.default_rng(3).negative_binomial(1e8, 0.5, size=N).astype(float)
HEAVY = {
    "total weight of 1e11": LogisticRegression(X, Y, weights=np.full(N, 1e11 / N)),
    "total weight of 1e13": LogisticRegression(X, Y, weights=np.full(N, 1e13 / N)),
    "temper": LogisticRegression(X, Y, temper=1e11 / N),
    "probit, weights of 1e9": GLM(X, Y, Probit(), weights=np.full(N, 1e9)),
    "negative binomial, mean and dispersion of 1e8": GLM(X[:, :2], COUNTS, NegativeBinomial(1e8)),
    "Student-t, df of 1e9": RobustRegression(X, X @ [1.0, 2.0, 3.0] + NOISE, df=1e9, scale=1.0),
    "float32": LogisticRegression(X.astype(np.float32), Y, weights=np.full(N, 1e11 / N)),
}


@pytest.mark.parametrize("name", HEAVY)
def test_rounding_of_large_numbers_is_no_violation(name):
    few = {"draws": 200, "tune": 100, "chains": 2, "rng": 1}
    sample(HEAVY[name], **few)
    sample(HEAVY[name], test=TunaMH(), control=Taylor(order=2), **few)


@pytest.mark.parametrize("target", [LogisticRegression, RobustRegression])
@pytest.mark.parametrize("away", [0.0, 1000.0])
def test_flymc_with_heavy_rows(target, away):
    heavy = target(X + np.array([0.0, away, away]), Y, weights=np.full(N, 1e8))
    settings = {"proposal": RandomWalk(1e-7), "draws": 200, "tune": 0, "chains": 1, "rng": 1}
    sample(heavy, test=FlyMC(tuned=True), init=find_mode(heavy).point, **settings)


def test_flymc_on_a_mixture_of_large_observations():
    target = GaussianMixture(1e4 * NOISE, temper=1e6)
    sample(target, test=FlyMC(tuned=True), proposal=RandomWalk(1e-6), draws=200, tune=0, chains=1, rng=1)


def test_rounding_in_a_users_energy_far_from_zero():
    @numba.njit
    def slope_one(theta, row):
        return 1e8 * abs(theta[0] - row[0])

    target = EnergyTarget(slope_one, 1e6 + NOISE, 1e8, dim=1)
    sample(target, test=TunaMH(chi=1.0), proposal=RandomWalk(1e-9), init=[1e6], draws=200, tune=0, chains=1, rng=1)


# -------------------------------------------------------------------------------- the tolerance is still tight

SHORT = 1 - 1e-6


@dataclass(frozen=True)
class ShortLogistic(Logistic):
    """Its first supremum is wrong by a millionth, and so is its lower bound."""

    def suprema(self, y):
        first, second, third = super().suprema(y)
        return Suprema(SHORT * first, second, third)

    def lower_bound(self, y, eta):
        below = super().lower_bound(y, eta)
        return below._replace(k=below.k + 1e-6)


@dataclass(frozen=True)
class ShortGaussian(Gaussian):
    def suprema(self, y):
        first, second, third = super().suprema(y)
        return Suprema(first, SHORT * second, third)


@pytest.mark.parametrize("weight", [1e-9, 1.0, 1e12])
def test_a_bound_wrong_by_a_millionth_is_caught(weight):
    weights = np.full(N, weight)
    steep = GLM(np.full((N, 1), 50.0), np.zeros(N), ShortLogistic(), weights=weights)
    with pytest.raises(BoundViolation) as caught:
        check_move(np.array([1.0]), np.array([1.01]), steep.model())
    assert caught.value.ratio == pytest.approx(1 / SHORT, abs=1e-9)
    check_move(
        np.array([1.0]),
        np.array([1.01]),
        GLM(steep.observations.design.X, steep.observations.y, Logistic(), weights=weights).model(),
    )

    curved = GLM(X[:, 1:2], NOISE, ShortGaussian(1.0), weights=weights)
    around = Taylor(order=1, centre=[0.3])
    with pytest.raises(BoundViolation):
        check_move(np.array([0.3]), np.array([0.4]), around(curved).model())
    right = GLM(X[:, 1:2], NOISE, Gaussian(scale=1.0), weights=weights)
    check_move(np.array([0.3]), np.array([0.4]), around(right).model())

    lit = {"test": FlyMC(centre=np.zeros(3), q=1.0), "proposal": RandomWalk(1e-6), "draws": 5, "tune": 0, "rng": 1}
    with pytest.raises(BoundViolation):
        sample(GLM(X, Y, ShortLogistic(), weights=weights), init=np.zeros(3), **lit)


@numba.njit
def slope_one(theta, row):
    return abs(theta[0] - row[0])


@pytest.mark.parametrize("temper", [1e-9, 1.0, 1e12])
def test_a_users_bound_wrong_by_a_millionth_is_caught(temper):
    check_bounds(EnergyTarget(slope_one, NOISE, 1.0, dim=1, temper=temper), rng=1)
    with pytest.raises(BoundViolation):
        check_bounds(EnergyTarget(slope_one, NOISE, SHORT, dim=1, temper=temper), rng=1)
    with pytest.raises(BoundViolation):
        check_bounds(FiniteWalk(NOISE, 10, c=SHORT * np.abs(NOISE) / N, temper=temper), rng=1)


# ------------------------------------------------------------------------------------------- what to do about it


def shrunk(target):
    """A model whose bounds are far too small, as a mistake in the library would make them."""
    model = target.model()
    rows = target.rows.copy()
    rows[:, target._packed.column] *= 1e-3
    rows.flags.writeable = False
    return model._replace(data=model.data._replace(rows=rows))


def test_advice_depends_on_whose_bound_it_is():
    far = [np.full(1, 10.0), np.full(1, 20.0)]
    column, y = logistic_data(100, 1)
    with pytest.raises(BoundViolation, match="bound is your own: enlarge c"):
        check_move(*far, shrunk(GLM(column, y, ShortLogistic())))
    ours = LogisticRegression(column, y)
    for target in (ours, Taylor(order=2)(ours)):
        with pytest.raises(BoundViolation, match=r"tunamh computed this bound.*report") as caught:
            check_move(*far, shrunk(target))
        assert "enlarge" not in str(caught.value)
    walk = FiniteWalk(column[:, 0], 30)
    with pytest.raises(BoundViolation, match="tunamh computed this bound"):
        check_move(*far, shrunk(walk))
    with pytest.raises(BoundViolation, match="your own"):
        check_bounds(FiniteWalk(column[:, 0], 30, c=0.5 * np.abs(column[:, 0]) / 100), rng=1)
