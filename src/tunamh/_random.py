"""Uniform numbers by the thousand: eight xoshiro256++ generators side by side (Blackman and Vigna 2021).

Every row that a minibatch test draws costs two uniforms. NumPy's generator gives one per call, 5.8 ns; eight lanes in
vector registers give them at 0.5 ns. Moves and decisions, a few numbers per step, stay with NumPy's generator.
"""

from __future__ import annotations

import numpy as np

from ._jit import helper
from ._vector import bits_float

LANES = 8


def seed_lanes(seed: np.random.SeedSequence) -> np.ndarray:
    """The state of eight generators, from one seed."""
    return seed.generate_state(4 * LANES, np.uint64).reshape(4, LANES)


@helper(inline=True)
def _rotated(x, k):
    return (x << np.uint64(k)) | (x >> np.uint64(64 - k))


@helper
def fill_uniforms(lanes, out):
    """Fill ``out``, whose length is a multiple of `LANES`, with uniforms on [0, 1) of 52 bits.

    The 52 high bits become the fraction of a number in [1, 2), which needs no conversion from integers.
    """
    s0, s1, s2, s3 = lanes[0], lanes[1], lanes[2], lanes[3]
    for start in range(0, out.size, LANES):
        for k in range(LANES):
            a, b, c, d = s0[k], s1[k], s2[k], s3[k]
            bits = _rotated(a + d, 23) + a
            out[start + k] = bits_float((bits >> np.uint64(12)) | np.uint64(0x3FF0000000000000)) - 1.0
            c ^= a
            d ^= b
            s1[k] = b ^ c
            s0[k] = a ^ d
            s2[k] = c ^ (b << np.uint64(17))
            s3[k] = _rotated(d, 45)
