"""Every law of a coordinate: its density integrates to one, and its draws have this density."""

import numpy as np
import pytest
from scipy import integrate, stats

from tunamh.priors.constants import log_density
from tunamh.priors.densities import DENSITIES, FLAT_KINDS, Numbers
from tunamh.priors.laws import FLAT_POSITIVE, GAMMA, INVERSE_GAMMA, LOG_NORMAL, UNIFORM, Laws

OWN = {
    UNIFORM: Numbers(0.5, 2.0, 0.0),
    LOG_NORMAL: Numbers(0.3, 0.6, 0.0),
    GAMMA: Numbers(0.0, 0.7, 3.5),
    INVERSE_GAMMA: Numbers(0.0, 0.7, 3.5),
}


def density(kind, own, positive):
    laws = Laws(*(np.array([float(value)]) for value in (kind, *own)))
    return lambda x: np.exp(log_density(laws, np.array([x]), positive=positive))


def cumulated(kind, own, positive, low, high):
    """Points and the distribution function there, by quadrature."""
    points = np.linspace(low, high, 4001)
    values = np.array([density(kind, own, positive)(x) for x in points])
    return points, np.concatenate([[0.0], integrate.cumulative_simpson(values, x=points)])


def test_every_kind_is_flat_or_has_a_density():
    assert {*DENSITIES, *FLAT_KINDS} == set(range(FLAT_POSITIVE + 1))


@pytest.mark.parametrize("positive", [False, True])
@pytest.mark.parametrize("kind", DENSITIES)
def test_a_density_integrates_to_one_and_draws_have_it(kind, positive):
    own = OWN.get(kind, Numbers(0.4, 0.7, 3.5))
    if not DENSITIES[kind].symmetric and not positive:
        positive = True  # the law itself
    low = -60.0 if not positive else 1e-9
    inside = (own.mean, own.scale) if kind == UNIFORM else (low, 120.0)
    total = integrate.quad(
        density(kind, own, positive and DENSITIES[kind].symmetric), *inside, points=[0.4, 1.0, 3.0], limit=400
    )[0]
    assert total == pytest.approx(1.0, abs=2e-5)
    draws = DENSITIES[kind].draws(own, 20_000, np.random.default_rng(kind))
    draws = draws[draws > 0] if positive else draws
    points, levels = cumulated(
        kind, own, positive and DENSITIES[kind].symmetric, max(inside[0], -30.0), min(inside[1], 30.0)
    )
    far = stats.kstest(np.interp(draws, points, levels), "uniform")
    assert far.pvalue > 1e-3, far
    wrong = stats.kstest(np.interp(1.1 * draws, points, levels), "uniform")
    assert wrong.pvalue < 1e-3
