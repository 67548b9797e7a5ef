"""The walk's exact laws and the closed forms of figure 1c."""

import itertools
import math

import numpy as np
import pytest

from paper import acceptance_curve, walk
from tunamh import AustereMH, MHMinibatch, theory


@pytest.fixture
def small_walk(monkeypatch):
    """Seven rows, three of them high: few enough to list all orders."""
    for name, value in {"N_LOW": 4, "N_HIGH": 3, "N_ROWS": 7, "LOW": -3.0, "HIGH": 4.0}.items():
        monkeypatch.setattr(walk, name, value)
    walk.growth.cache_clear()
    walk._accepts_cached.cache_clear()
    yield np.repeat([-3.0, 4.0], [4, 3])
    walk.growth.cache_clear()
    walk._accepts_cached.cache_clear()


def enumerated(x: np.ndarray, test, states: int) -> theory.FiniteProblem:
    energies = x[:, None] / x.size * np.arange(states)
    distance = np.abs(np.subtract.outer(np.arange(states), np.arange(states))).astype(float)
    proposal = 0.5 * np.eye(states) + 0.25 * (np.eye(states, k=1) + np.eye(states, k=-1))
    proposal[0, 1] = proposal[-1, -2] = 0.5
    return theory.FiniteProblem(energies, np.abs(x) / x.size, distance, proposal, np.zeros(states))


@pytest.mark.parametrize("test", [AustereMH(0.2, 7), AustereMH(0.3, 7), MHMinibatch(7)], ids=repr)
def test_one_stage_of_all_rows_is_the_full_decision(small_walk, test):
    problem = enumerated(small_walk, test, 4)
    for up, (here, there) in {True: (1, 2), False: (2, 1)}.items():
        assert walk.accepts(test, up=up).chance == pytest.approx(
            theory.acceptance(problem, test, here, there), abs=2e-3
        )


def test_growing_subsets_follow_the_hypergeometric_law(small_walk):
    mass = np.ones(1)
    for seen in (0, 2, 4):
        mass = walk.grow(mass, seen, 2)
    counts = [sum(chosen) for chosen in itertools.combinations([0] * 4 + [1] * 3, 6)]
    expected = np.bincount(counts, minlength=len(mass)) / len(counts)
    np.testing.assert_allclose(mass, expected, atol=1e-12)


def test_sequential_tests_agree_with_all_orders_of_the_rows(monkeypatch):
    """Six rows in stages of 2: the stationary law of the walk, ends and all, by enumeration of 720 orders."""
    for name, value in {"N_LOW": 4, "N_HIGH": 2, "N_ROWS": 6, "LOW": -1.0, "HIGH": 2.0, "LOG_U_POINTS": 4000}.items():
        monkeypatch.setattr(walk, name, value)
    walk.growth.cache_clear()
    walk._accepts_cached.cache_clear()
    x = np.repeat([-1.0, 2.0], [4, 2])
    for test in (AustereMH(0.3, 2), MHMinibatch(2, delta=20.0)):
        problem = enumerated(x, test, 5)
        law = theory.stationary_law(theory.transition_matrix(problem, test))
        np.testing.assert_allclose(walk.exact_law(test, 5), law, atol=1e-3)
        assert theory.total_variation(law, np.full(5, 0.2)) > 0.01  # the comparison is not of two uniform laws
    walk.growth.cache_clear()
    walk._accepts_cached.cache_clear()


def test_the_papers_counterexample():
    """Against an independent computation (docs/spec.md 2.9)."""
    up, down = (walk.accepts(walk.METHODS["AustereMH"], up=way) for way in (True, False))
    assert (up.chance, down.chance) == pytest.approx((0.99748, 0.98343), abs=2e-4)
    assert (up.rows, down.rows) == pytest.approx((420, 449), rel=0.01)
    tuna = walk.METHODS["TunaMH"]
    np.testing.assert_allclose(walk.exact_law(tuna, 200), 1 / 200, rtol=1e-9)
    barker = walk.METHODS["MHminibatch"]
    law = walk.exact_law(barker, 1000)
    assert theory.total_variation(law, np.full(1000, 1e-3)) == pytest.approx(0.727, abs=0.003)


TABLE = {  # experiments by an independent code: M: acceptance for chi = .01, .1, .5, 1, 5, 10
    1.0: (0.608, 0.621, 0.668, 0.711, 0.835, 0.879),
    5.0: (0.107, 0.2612, 0.521, 0.635, 0.825, 0.875),
    20.0: (0.004, 0.156, 0.490, 0.622, 0.824, 0.874),
}


@pytest.mark.parametrize("M", TABLE)
def test_closed_form_of_figure_1c(M):
    ours = [acceptance_curve.tunamh_acceptance(M, chi) for chi in (0.01, 0.1, 0.5, 1.0, 5.0, 10.0)]
    assert ours == pytest.approx(TABLE[M], abs=6e-4)
    assert acceptance_curve.tfmh(M) == pytest.approx(math.exp(-M / 2))


def test_runs_follow_the_closed_form():
    from tunamh import FactorizedMH, TunaMH

    for test, expected in ((FactorizedMH(truncation=math.inf), math.exp(-1)), (TunaMH(chi=1.0, full_share=9), 0.662)):
        assert acceptance_curve.simulated(2.0, test, 10_000) == pytest.approx(expected, abs=0.04)
