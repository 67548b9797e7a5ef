"""Eight lanes of xoshiro256++ against the published recurrence in plain integers."""

import numpy as np
from scipy import stats

from tunamh._random import LANES, fill_uniforms, seed_lanes

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


def test_uniform_and_uncorrelated():
    out = np.empty(1 << 20)
    fill_uniforms(seed_lanes(np.random.SeedSequence(8)), out)
    counts = np.bincount((out * 1024).astype(int), minlength=1024)
    assert stats.chisquare(counts).pvalue > 1e-4
    for lag in (1, LANES, 2 * LANES):
        assert abs(np.corrcoef(out[:-lag], out[lag:])[0, 1]) < 4 / np.sqrt(out.size)
