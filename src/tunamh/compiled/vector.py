"""Arithmetic that the compiler can vectorise, and two instructions that Numba does not offer.

The C library's ``exp`` and ``log`` are calls, and a call in a loop keeps it scalar. The series below are short
enough to inline; tests hold them to the C library within a few units in the last place.
"""

from __future__ import annotations

import math

from llvmlite import ir
from numba import types
from numba.core import cgutils

from . import CONTRACT, REASSOCIATE, helper, intrinsic


@helper(inline=True)
def copy_into(out, values):
    """Copy a vector into another of the same length.

    With ``out[:] = values``, Numba would also compile the text of an error about shapes, which takes a tenth of the
    time of a user's first call.
    """
    for j in range(out.size):
        out[j] = values[j]


@helper(fastmath=REASSOCIATE)
def dot(values, others):
    """Return ``sum_i values_i others_i``. The compiler may add the terms in any order, about eight at a time."""
    total = 0.0
    for i in range(values.size):
        total += values[i] * others[i]
    return total


@intrinsic
def float_bits(typing, value):
    """Return the bits of a float64 as an integer."""

    def emit(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.IntType(64))

    return types.int64(types.float64), emit


@intrinsic
def bits_float(typing, bits):
    """Return the float64 with these bits."""

    def emit(context, builder, signature, arguments):
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(bits), emit


@intrinsic
def prefetch(typing, array, position):
    """Start to load the cache line that contains ``array.flat[position]``, without waiting for it."""

    def emit(context, builder, signature, arguments):
        data = cgutils.create_struct_proxy(signature.args[0])(context, builder, arguments[0]).data
        address = builder.bitcast(builder.gep(data, [arguments[1]]), cgutils.voidptr_t)
        flag = ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [cgutils.voidptr_t, flag, flag, flag])
        function = cgutils.get_or_insert_function(builder.module, kind, "llvm.prefetch.p0")
        builder.call(function, [address, flag(0), flag(3), flag(1)])  # to read, into every cache level, data
        return context.get_dummy_value()

    return types.void(array, types.int64), emit


_LINE = 8  # float64 numbers in a 64-byte cache line


@helper
def prefetch_row(matrix, i):
    """Start to load all cache lines of row ``i`` of a matrix in C order."""
    width = matrix.shape[1]
    for j in range(0, width, _LINE):
        prefetch(matrix, i * width + j)
    prefetch(matrix, i * width + width - 1)


_LOG2E = 1 / math.log(2)
_LN2_HIGH = float.fromhex("0x1.62e42fefa38p-1")  # ln 2 in two pieces: k * _LN2_HIGH is exact for every exponent k
_LN2_LOW = float.fromhex("0x1.ef35793c7673p-45")
_ROUND = 1.5 * 2.0**52  # adding it rounds to the nearest integer, left in the low bits
_ROUND_BITS = 0x4338000000000000  # its bits
_INV_FACTORIAL = tuple(1 / math.factorial(k) for k in range(14))


@helper(fastmath=CONTRACT, inline=True)
def _exponential_tail(r):
    """``(exp(r) - 1 - r) / r^2`` for ``|r| <= ln(2)/2``: what the series of exponentials have in common."""
    series = _INV_FACTORIAL[13]
    series = series * r + _INV_FACTORIAL[12]
    series = series * r + _INV_FACTORIAL[11]
    series = series * r + _INV_FACTORIAL[10]
    series = series * r + _INV_FACTORIAL[9]
    series = series * r + _INV_FACTORIAL[8]
    series = series * r + _INV_FACTORIAL[7]
    series = series * r + _INV_FACTORIAL[6]
    series = series * r + _INV_FACTORIAL[5]
    series = series * r + _INV_FACTORIAL[4]
    series = series * r + _INV_FACTORIAL[3]
    return series * r + 0.5


@helper(fastmath=CONTRACT, inline=True)
def exp_negative(x):
    """Return ``exp(x)`` for ``x <= 0``. Below -700, where it is under 1e-304, return the value at -700.

    It uses exp(x) = 2^k exp(r) with |r| <= ln(2)/2 and 13 terms of the series for exp(r).
    """
    x = x if x > -700.0 else -700.0
    shifted = x * _LOG2E + _ROUND
    k = shifted - _ROUND
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    series = _exponential_tail(r) * r + 1.0
    series = series * r + 1.0
    return series * bits_float((float_bits(shifted) + 1023) << 52)


@helper(fastmath=CONTRACT, inline=True)
def exp_any(x):
    """Return ``exp(x)`` for all numbers: 0 for very small ones, infinity above 709.78, NaN for NaN.

    It works like `exp_negative`, but multiplies by the power of two in two steps, so that the exponent cannot overflow.
    """
    x = -760.0 if x < -760.0 else x
    x = 720.0 if x > 720.0 else x
    shifted = x * _LOG2E + _ROUND
    k = shifted - _ROUND
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    power = float_bits(shifted) - _ROUND_BITS
    half = power >> 1
    return (1.0 + _expm1_series(r)) * bits_float((half + 1023) << 52) * bits_float((power - half + 1023) << 52)


@helper(fastmath=CONTRACT, inline=True)
def expm1_negative(x):
    """Return ``exp(x) - 1`` for ``x <= 0`` without loss of digits for small ``x``; NaN for NaN.

    With exp(x) = 2^k exp(r) it is 2^k (exp(r) - 1) + (2^k - 1). For k = 0 this is the series alone; for k < 0 the
    second term is the larger one.
    """
    x = -60.0 if x < -60.0 else x
    shifted = x * _LOG2E + _ROUND
    k = shifted - _ROUND
    r = (x - k * _LN2_HIGH) - k * _LN2_LOW
    power = bits_float((float_bits(shifted) + 1023) << 52)
    return power * _expm1_series(r) + (power - 1.0)


@helper(fastmath=CONTRACT, inline=True)
def _expm1_series(r):
    """``exp(r) - 1`` for ``|r| <= ln(2)/2``."""
    return r + r * r * _exponential_tail(r)


@helper(fastmath=CONTRACT, inline=True)
def exp_rise(a, b):
    """Return ``e^b - e^a`` with a small relative error: the larger of the two, times ``1 - e^-|b-a|``."""
    size = exp_any(max(a, b)) * expm1_negative(-abs(b - a))
    return 0.0 if a == b else (-size if b > a else size)


@helper(fastmath=CONTRACT, inline=True)
def twice_atanh(s):
    """Return ``2 atanh(s) = log((1 + s) / (1 - s))`` for ``|s| <= 1/3``, by 16 terms of its series."""
    square = s * s
    series = 1.0 / 31.0
    series = series * square + 1.0 / 29.0
    series = series * square + 1.0 / 27.0
    series = series * square + 1.0 / 25.0
    series = series * square + 1.0 / 23.0
    series = series * square + 1.0 / 21.0
    series = series * square + 1.0 / 19.0
    series = series * square + 1.0 / 17.0
    series = series * square + 1.0 / 15.0
    series = series * square + 1.0 / 13.0
    series = series * square + 1.0 / 11.0
    series = series * square + 1.0 / 9.0
    series = series * square + 1.0 / 7.0
    series = series * square + 1.0 / 5.0
    series = series * square + 1.0 / 3.0
    return 2.0 * (s + s * square * series)


_EXPONENT = 0x7FF0000000000000
_SQRT_HALF = math.sqrt(0.5)


@helper(fastmath=CONTRACT, inline=True)
def log_quotient(top, bottom):
    """Return ``log(top / bottom)`` for positive normal numbers with a quotient of this kind.

    With 2^k the power of two nearest to the quotient, the logarithm is k ln 2 + 2 atanh((top' - bottom) / (top' +
    bottom)) with top' = top / 2^k. The difference is exact if the two are close, so no digits of small changes are
    lost.
    """
    quotient = top / bottom
    k = ((float_bits(quotient * 2.0 * _SQRT_HALF) & _EXPONENT) >> 52) - 1023
    scaled = top * bits_float((1023 - k) << 52)
    return k * _LN2_HIGH + (twice_atanh((scaled - bottom) / (scaled + bottom)) + k * _LN2_LOW)


@helper(fastmath=CONTRACT, inline=True)
def softplus_rise(a, b):
    """Return ``log(1 + e^b) - log(1 + e^a)`` without overflow.

    With A = e^-|a| and B = e^-|b|, the remainder log((1 + B)/(1 + A)) is 2 atanh((B - A)/(2 + A + B)).
    """
    small_a, small_b = exp_negative(-abs(a)), exp_negative(-abs(b))
    rest = twice_atanh((small_b - small_a) / (2.0 + small_a + small_b))
    return max(b, 0.0) - max(a, 0.0) + rest


@helper(fastmath=CONTRACT, inline=True)
def softplus(z):
    """Return ``log(1 + e^z)`` without overflow."""
    small = exp_negative(-abs(z))
    return max(z, 0.0) + twice_atanh(small / (2.0 + small))


@helper(fastmath=CONTRACT, inline=True)
def normal_tail(x):
    """Return ``Phi(-x) e^{x^2/2}`` for ``x >= 0``: the normal tail without its exponential factor.

    Multiplied by ``x + 2`` it is smooth in ``s = (x - 4)/(x + 4)``, which maps the half line to [-1, 1). The polynomial
    interpolates it at the 24 Chebyshev nodes there (its coefficients were computed with 60 digits).
    """
    s = (x - 4.0) / (x + 4.0)
    series = -5.334856447566346e-10
    series = series * s - 1.5928704342560768e-09
    series = series * s + 3.6996743396381244e-09
    series = series * s + 1.6981862061281102e-08
    series = series * s - 6.62239219158291e-09
    series = series * s - 9.973816017892212e-08
    series = series * s - 5.320215512228588e-08
    series = series * s + 4.554206992942143e-07
    series = series * s + 6.119491321198888e-07
    series = series * s - 1.9495435944162338e-06
    series = series * s - 4.262322001781444e-06
    series = series * s + 9.322407879012625e-06
    series = series * s + 2.5881823970372525e-05
    series = series * s - 5.9204560647808036e-05
    series = series * s - 0.00013998518817352708
    series = series * s + 0.0005077127823580265
    series = series * s + 0.0003531907579715322
    series = series * s - 0.004494816510227942
    series = series * s + 0.009444001997339553
    series = series * s - 0.001333033322090774
    series = series * s - 0.0431070432841821
    series = series * s + 0.1383788900636959
    series = series * s - 0.26710119887498124
    series = series * s + 0.5664638478118136
    return series / (x + 2.0)


@helper(inline=True)
def precision_under(share, j, variances):
    """Return ``sum_g share_jg / variance_g``."""
    total = 0.0
    for g in range(variances.size):
        total += share[j, g] / variances[g]
    return total
