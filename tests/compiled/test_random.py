"""Eight lanes of xoshiro256++ against the published recurrence in plain integers."""

import numpy as np
import pytest
from scipy import stats

from tunamh.compiled.random import LANES, fill_uniforms, poisson, seed_lanes
from tunamh.extend import helper

MASK = (1 << 64) - 1


def rotated(x, k):
    return ((x << k) | (x >> (64 - k))) & MASK


def reference(state, n):
    """Blackman and Vigna (2021), figure 6: result = rotl(s0 + s3, 23) + s0."""
    s = [int(v) for v in state]
    out = []
    for _ in range(n):
        out.append((rotated((s[0] + s[3]) & MASK, 23) + s[0]) & MASK)
        t = (s[1] << 17) & MASK
        s[2] ^= s[0]
        s[3] ^= s[1]
        s[1] ^= s[2]
        s[0] ^= s[3]
        s[2] ^= t
        s[3] = rotated(s[3], 45)
    return out


def test_every_lane_follows_the_recurrence():
    lanes = seed_lanes(np.random.SeedSequence(7))
    expected = [reference(lanes[:, k], 40) for k in range(LANES)]
    out = np.empty(40 * LANES)
    fill_uniforms(lanes, out)
    for k in range(LANES):
        assert [int(u * 2**52) for u in out[k::LANES]] == [bits >> 12 for bits in expected[k]]


def test_filling_in_pieces_gives_the_same_numbers():
    whole, pieces = np.empty(160), np.empty(160)
    fill_uniforms(seed_lanes(np.random.SeedSequence(7)), whole)
    lanes = seed_lanes(np.random.SeedSequence(7))
    fill_uniforms(lanes, pieces[:64])
    fill_uniforms(lanes, pieces[64:])
    assert np.array_equal(whole, pieces)


@pytest.mark.parametrize("mean", [0.3, 3.0, 9.99, 10.0, 11.0, 40.0, 500.0, 1e6])
def test_poisson_numbers_are_poisson(mean):
    """Numba's own gives about twice as many zeros as it should at a mean of 10; a few in 20,000 draws."""

    @helper(cache=False)
    def fill(rng, mean, out):
        for k in range(out.size):
            out[k] = poisson(rng, mean)

    out = np.empty(3_000_000 if mean == 10.0 else 300_000)
    fill(np.random.default_rng(3), mean, out)
    law = stats.poisson(mean)
    edges = (
        np.unique(law.ppf(np.linspace(0.0005, 0.9995, 40))) if mean > 50 else np.arange(law.ppf(1 - 20 / out.size) + 1)
    )
    share = np.diff(np.concatenate([[0.0], law.cdf(edges), [1.0]]))
    counts = np.bincount(np.searchsorted(edges, out), minlength=share.size)
    used = share * out.size > 5
    assert stats.chisquare(counts[used], counts[used].sum() * share[used] / share[used].sum()).pvalue > 1e-4
    assert abs(out.mean() - mean) < 4.5 * np.sqrt(mean / out.size)
    if mean == 10.0:
        expected = out.size * np.exp(-10.0)
        assert abs((out == 0).sum() - expected) < 4.5 * np.sqrt(expected)


def test_uniform_and_uncorrelated():
    out = np.empty(1 << 20)
    fill_uniforms(seed_lanes(np.random.SeedSequence(8)), out)
    counts = np.bincount((out * 1024).astype(int), minlength=1024)
    assert stats.chisquare(counts).pvalue > 1e-4
    for lag in (1, LANES, 2 * LANES):
        assert abs(np.corrcoef(out[:-lag], out[lag:])[0, 1]) < 4 / np.sqrt(out.size)
