"""Golden draws: targets, tests, proposals and seeds whose draws a change of the code's shape must not touch.

    python tests/test_golden.py --write

writes the draws of today's code; a change of them with a reason has its heading in the CHANGELOG. On another kind of
processor sums may round otherwise, so the comparison there allows for that (and a decision that it turns is a failure
to look at, not to wave through).
"""

import sys
from pathlib import Path

import numba
import numpy as np
import pytest

import tunamh
from conftest import logistic_data
from tunamh import MH, MHSS, Autoregressive, FactorizedMH, FlyMC, Normal, RandomWalk, Taylor, TunaMH

FILE = Path(__file__).parent / "golden.npz"
X, Y = logistic_data(3000, 4)
NOISE = np.random.default_rng(8).standard_t(4, 3000)
REAL = X @ [1.0, 0.5, 0.0, -0.5] + NOISE
COUNTS = np.random.default_rng(9).poisson(np.exp(0.3 * X[:, 0])).astype(float)
WEIGHTS = np.random.default_rng(10).uniform(0.5, 2.0, 3000)


@numba.njit
def cauchy_energy(theta, row):
    return np.log1p((row[0] - theta[0]) ** 2)


@numba.njit
def cauchy_gradient(theta, row, out):
    r = theta[0] - row[0]
    out[0] = 2 * r / (1 + r * r)


@numba.njit
def cauchy_hessian(theta, row, out):
    r = theta[0] - row[0]
    out[0, 0] = 2 * (1 - r * r) / (1 + r * r) ** 2


@numba.njit
def student_prior(theta):
    return -4.0 * np.sum(np.log1p((theta / 2.5) ** 2 / 7.0))


@numba.njit
def uniform_steps(rng, theta, prop):
    for j in range(theta.size):
        prop[j] = theta[j] + rng.uniform(-0.05, 0.05)
    return 0.0


def logistic(**given):
    return tunamh.LogisticRegression(X, Y, **given)


def robust(**given):
    return tunamh.RobustRegression(X, REAL, **given)


def own(**given):
    return tunamh.EnergyTarget(cauchy_energy, NOISE[:500], 1.0, dim=1, **given)


def own_with_derivatives():
    return own(gradient=cauchy_gradient, hessian=cauchy_hessian, c_gradient=2.0, c_hessian=4.0)


def float32():
    return tunamh.LogisticRegression(X[:, :3].astype(np.float32), Y)


CASES = {
    "logistic": (logistic, {}),
    "logistic, normal prior": (lambda: logistic(prior=Normal(mean=0.1, scale=0.5)), {}),
    "logistic, own prior": (lambda: logistic(prior=student_prior), {}),
    "logistic, weights": (lambda: logistic(weights=WEIGHTS), {}),
    "logistic, tempered": (lambda: logistic(temper=0.1), {}),
    "logistic, float32": (float32, {}),
    "logistic, thin": (logistic, {"thin": 3}),
    "logistic, 40 rows": (lambda: tunamh.LogisticRegression(X[:40, :2], Y[:40]), {}),
    "logistic, MH": (logistic, {"test": MH()}),
    "logistic, TunaMH": (logistic, {"test": TunaMH()}),
    "logistic, TunaMH chi": (logistic, {"test": TunaMH(chi=0.01), "proposal": RandomWalk(0.02)}),
    "logistic, Taylor 1": (logistic, {"control": Taylor(order=1)}),
    "logistic, Taylor 2 plain": (logistic, {"control": Taylor(order=2, whiten=False)}),
    "logistic, SMH-2": (logistic, {"control": Taylor(order=2), "test": FactorizedMH()}),
    "logistic, MH-SS": (logistic, {"control": Taylor(order=2), "test": MHSS()}),
    "logistic, original bounds": (
        logistic,
        {"control": Taylor(order=1, original_bounds=True), "test": FactorizedMH()},
    ),
    "logistic, FlyMC": (logistic, {"test": FlyMC(q=0.1, tuned=True)}),
    "logistic, FlyMC Laplace": (logistic, {"test": FlyMC(q=0.1), "proposal": Autoregressive(rho=0.5)}),
    "logistic, own proposal": (logistic, {"test": TunaMH(chi=0.1), "proposal": uniform_steps}),
    "logistic, by coordinate": (logistic, {"test": MHSS(), "proposal": RandomWalk([0.01, 0.02, 0.03, 0.04])}),
    "probit": (lambda: tunamh.GLM(X, Y, tunamh.Probit()), {}),
    "student": (robust, {}),
    "student, FlyMC": (robust, {"test": FlyMC(q=0.05)}),
    "student, two lumps": (
        lambda: tunamh.RobustRegression(np.ones((100, 1)), np.r_[NOISE[:50], 20 - NOISE[:50]], df=2, scale=1.0),
        {},
    ),
    "huber": (lambda: tunamh.GLM(X, REAL, tunamh.Huber(scale=1.0)), {}),
    "gaussian": (lambda: tunamh.GLM(X, REAL, tunamh.Gaussian(1.4), prior=Normal(scale=3.0)), {}),
    "negative binomial": (lambda: tunamh.GLM(X, COUNTS, tunamh.NegativeBinomial(3.0)), {}),
    "softplus": (lambda: tunamh.GLM(X, COUNTS, tunamh.SoftplusPoisson()), {}),
    "mixture": (lambda: tunamh.GaussianMixture(NOISE[:500], temper=0.05), {}),
    "mixture, PoissonMH": (lambda: tunamh.GaussianMixture(NOISE[:500], temper=0.05), {"test": tunamh.PoissonMH(50.0)}),
    "mixture, Taylor 1": (lambda: tunamh.GaussianMixture(NOISE[:500], temper=0.05), {"control": Taylor(order=1)}),
    "walk": (lambda: tunamh.FiniteWalk(NOISE[:50], 10), {"test": TunaMH(chi=0.5)}),
    "own energy": (own, {"init": [0.0]}),
    "own energy, Taylor 2": (own_with_derivatives, {"control": Taylor(order=2), "proposal": Autoregressive()}),
    "austere": (logistic, {"test": tunamh.AustereMH(0.05, 100), "proposal": RandomWalk(0.02)}),
    "barker": (logistic, {"test": tunamh.MHMinibatch(100, 5.0), "proposal": RandomWalk(0.02)}),
}


def draws(name):
    make, given = CASES[name]
    tree = tunamh.sample(make(), draws=40, tune=100, chains=2, rng=7, progressbar=False, **given)
    return tree.posterior["theta"].values


@pytest.mark.parametrize("name", CASES)
def test_draws_are_the_golden_ones(name):
    with np.load(FILE) as golden:
        assert draws(name) == pytest.approx(golden[name], rel=1e-7, abs=1e-9)


if __name__ == "__main__":
    found = {name: draws(name) for name in CASES}
    if "--write" in sys.argv:
        np.savez_compressed(FILE, **found)
    else:
        with np.load(FILE) as golden:
            for name, new in found.items():
                print("same bits" if np.array_equal(new, golden[name]) else "DIFFERENT", name)
