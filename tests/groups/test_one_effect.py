"""Groups of one effect have loops of their own, over all groups at once: they say what those of several effects say.

One path for both would cost a sweep far more than 5 %: 1.5 and 137 us for 1,000 groups (AMD EPYC, 2026-11-18; this file
as a script prints both), of a sweep of 130 us. The gradient of the common move is left out: groups of one effect have a
fourth order there, which others do not.
"""

import time
from functools import cache

import numba
import numpy as np
import pytest

import tunamh
from tunamh.groups.conditionals import follow_several, stand_several
from tunamh.groups.layout import factor_of
from tunamh.groups.one_effect import follow_single, stand_single


@numba.njit
def stand_both(hyper, Q, k, state, single, several):
    factor = factor_of(hyper, 0)
    return stand_single(factor, Q[0, 0], k[0], state, single[0]), stand_several(
        factor, np.ones(factor.groups), Q, k, state, several
    )


@numba.njit
def follow_both(hyper, Q, k, eps, single, several):
    factor = factor_of(hyper, 0)
    return follow_single(factor, Q[0, 0], k[0], eps[0], single), follow_several(
        factor, np.ones(factor.groups), Q, k, eps, several
    )


@cache
def hyper_and_state(family, groups=25):
    """The packed numbers of a model with random intercepts, and a state."""
    rng = np.random.default_rng(5)
    n = 12 * groups
    X, g = np.column_stack([np.ones(n), rng.standard_normal(n)]), rng.integers(groups, size=n)
    eta = X[:, 1] + rng.standard_normal(groups)[g]
    responses = {
        "logistic": (tunamh.Logistic(), (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float)),
        "Poisson": (tunamh.Poisson(), rng.poisson(np.exp(0.5 * eta)).astype(float)),
        "Student-t": (tunamh.StudentT(2.0, 1.0), eta + rng.standard_t(2, n)),
    }
    chosen, y = responses[family]
    model = tunamh.MixedModel(X, y, chosen, g, prior=tunamh.Normal(scale=2.0))
    return model.model().data.hyper, model.start(np.random.default_rng(1))


def numbers(groups, seed):
    """Precision of the effects, slopes, and standardised effects of a state somewhere."""
    rng = np.random.default_rng(seed)
    Q = np.array([[np.exp(rng.normal())]])
    return Q, rng.normal(size=(1, groups)), rng.normal(size=(1, groups))


FAMILIES = ["logistic", "Poisson", "Student-t"]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(5))
def test_states_are_standardised_alike(family, seed):
    hyper, state = hyper_and_state(family)
    Q, k, _ = numbers(25, seed)
    single, several = np.zeros((1, 25)), np.zeros((1, 25))
    energies = stand_both(hyper, Q, k, state, single, several)
    np.testing.assert_allclose(*energies, rtol=1e-10)
    np.testing.assert_allclose(single, several, rtol=1e-9, atol=1e-12)
    assert np.abs(single).max() > 0.1


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(5))
def test_states_follow_alike(family, seed):
    hyper, state = hyper_and_state(family)
    Q, k, eps = numbers(25, seed)
    single, several = state.copy(), state.copy()
    energies = follow_both(hyper, Q, k, eps, single, several)
    np.testing.assert_allclose(*energies, rtol=1e-10)
    np.testing.assert_allclose(single, several, rtol=1e-9, atol=1e-12)
    assert not np.array_equal(single, state)


@numba.njit
def _repeat(hyper, Q, k, eps, state, times, one):
    factor = factor_of(hyper, 0)
    for _ in range(times):
        if one:
            stand_single(factor, Q[0, 0], k[0], state, eps[0])
            follow_single(factor, Q[0, 0], k[0], eps[0], state)
        else:
            stand_several(factor, np.ones(factor.groups), Q, k, state, eps)
            follow_several(factor, np.ones(factor.groups), Q, k, eps, state)


if __name__ == "__main__":
    packed, at = hyper_and_state("logistic", 1000)
    Q, k, eps = numbers(1000, 1)
    for path, one in {"one effect": True, "several": False}.items():
        _repeat(packed, Q, k, eps, at.copy(), 10, one)
        began = time.process_time()
        _repeat(packed, Q, k, eps, at.copy(), 2000, one)
        print(f"{path}: {(time.process_time() - began) / 2000 * 1e6:.1f} us for 1,000 groups, there and back")
