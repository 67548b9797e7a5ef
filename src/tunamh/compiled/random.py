"""Random numbers that Numba's generators give too slowly or wrongly.

*Uniforms by the thousand*: eight xoshiro256++ generators side by side (Blackman and Vigna 2021). Every row that a
minibatch test draws costs two uniforms; NumPy's generator gives one per call, 5.8 ns, the lanes one in 1.5 ns. Moves
and decisions, a few numbers per step, stay with NumPy's generator.

*Poisson numbers*: Numba 0.68 truncates where it should round down, so its zeros come twice as often as they should at a
mean of 10.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from . import helper
from .vector import bits_float

LANES = 8
_WORD = 2**64 - 1


def seed_lanes(seed: np.random.SeedSequence) -> np.ndarray:
    """Return the state of eight generators, made from one seed."""
    return seed.generate_state(4 * LANES, np.uint64).reshape(4, LANES)


def words_of_generator(rng: np.random.Generator) -> np.ndarray:
    """Return the state of a PCG64 generator as 64-bit words: two for the state, two for the increment, and the spare
    half.
    """
    known: Any = rng.bit_generator.state
    state, increment = known["state"]["state"], known["state"]["inc"]
    words = [state >> 64, state & _WORD, increment >> 64, increment & _WORD, known["has_uint32"], known["uinteger"]]
    return np.array(words, np.uint64)


def generator_from_words(words: np.ndarray) -> np.random.Generator:
    """Return the generator that has these words."""
    high, low, increment_high, increment_low, has_half, half = map(int, words)
    bits = np.random.PCG64(0)
    bits.state = {
        "bit_generator": "PCG64",
        "state": {"state": high << 64 | low, "inc": increment_high << 64 | increment_low},
        "has_uint32": has_half,
        "uinteger": half,
    }
    return np.random.Generator(bits)


@helper(inline=True)
def _rotated(x, k):
    return (x << np.uint64(k)) | (x >> np.uint64(64 - k))


@helper
def fill_uniforms(lanes, out):
    """Fill ``out`` with uniform numbers on [0, 1) of 52 bits. Its length must be a multiple of `LANES`.

    The 52 high bits become the fraction of a number in [1, 2), so no conversion from integers is needed.
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


@helper
def poisson(rng, mean):
    """Return a Poisson random number with this mean; ``rng`` is the random generator of the chain.

    If the mean is below 10, the function multiplies uniform numbers; otherwise it uses the algorithm PTRS (Hoermann
    1993).
    """
    if mean < 10.0:
        limit, product, count = math.exp(-mean), rng.random(), 0
        while product > limit:
            product *= rng.random()
            count += 1
        return count
    b = 0.931 + 2.53 * math.sqrt(mean)
    a = -0.059 + 0.02483 * b
    log_inverse_alpha = math.log(1.1239 + 1.1328 / (b - 3.4))
    squeeze = 0.9277 - 3.6224 / (b - 2.0)
    while True:
        u, v = rng.random() - 0.5, rng.random()
        edge = 0.5 - abs(u)
        count = math.floor((2.0 * a / edge + b) * u + mean + 0.43)
        if edge >= 0.07 and v <= squeeze:
            return int(count)
        if count < 0.0 or (edge < 0.013 and v > edge):
            continue
        log_density = count * math.log(mean) - mean - math.lgamma(count + 1.0)
        if math.log(v) + log_inverse_alpha - math.log(a / (edge * edge) + b) <= log_density:
            return int(count)
