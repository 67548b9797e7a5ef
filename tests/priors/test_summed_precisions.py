"""Scales whose precisions add up: draws given the coefficients, by quadrature."""

import numpy as np
import pytest

from tunamh import HalfStudentT
from tunamh.priors.mixtures import BY_SHARES, by_shares
from tunamh.priors.summed_precisions import SUMMED, draw_by_shares

SHARE = np.array([[0.0, 0.0], [1.0, 0.0], [2.0, 0.5], [0.3, 1.0], [0.0, 4.0]])
BETA = np.array([5.0, 0.4, -0.5, 0.9, 0.1])
LAM = np.linspace(-14, 9, 300)


def hyper():
    _, numbers, arrangement, _, _, variables = by_shares(SHARE, ("x", "z"), (HalfStudentT(3, 0.8),) * 2, "scale")
    assert arrangement == BY_SHARES
    assert variables == (("scale", ("x", "z")),)
    mixed = SHARE.any(axis=1)
    return SUMMED.pack(d=5, mixed=mixed, fixed_variance=np.ones(5), mean=np.zeros(5), **numbers)


def by_quadrature(share):
    a, b = np.meshgrid(LAM, LAM, indexing="ij")
    total = sum(0.5 * (lam - 4 * np.log1p(np.exp(lam) / (3 * 0.64))) for lam in (a, b))
    for j in range(1, 5):
        precision = share[j, 0] * np.exp(-a) + share[j, 1] * np.exp(-b)
        total = total + 0.5 * (np.log(precision) - precision * BETA[j] ** 2)
    weight = np.exp(total - total.max())
    weight /= weight.sum()
    return np.array([(weight * a).sum(), (weight * b).sum(), (weight * a * b).sum()])


def test_scales_given_coefficients_have_their_law():
    numbers, rng = hyper(), np.random.default_rng(1)
    here, kept = np.append(BETA, [1.0, 1.0]), np.empty((20_000, 2))
    for k in range(len(kept)):
        draw_by_shares(rng, here, numbers)
        kept[k] = np.log(here[5:])
    assert np.array_equal(here[:5], BETA)
    a, b = kept.T
    seen = np.column_stack([a, b, a * b])
    error = seen.reshape(100, -1, 3).mean(axis=1).std(axis=0) / 10
    assert seen.mean(axis=0) == pytest.approx(by_quadrature(SHARE), abs=4.5 * error.max())
    wrong = by_quadrature(SHARE * [1.0, 1.5])  # negative control
    assert (np.abs(seen.mean(axis=0) - wrong) > 5 * error).any()
