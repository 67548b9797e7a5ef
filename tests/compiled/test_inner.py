"""Helpers as compiled functions call them: without machine code of their own, and with the same results."""

import os
import subprocess
import sys
from typing import Any, NamedTuple

import numpy as np
import pytest

from tunamh.compiled import KINDS, REASSOCIATE, helper
from tunamh.compiled.inner import is_to_link
from tunamh.compiled.references import address_of, bundle_at, keep_until_here


@helper(cache=False)
def third_power(x):
    return x * x * x


@helper(cache=False)
def sum_of_third_powers(values):
    total = 0.0
    for k in range(values.size):
        total += third_power(values[k])
    return total


@helper(cache=False, fastmath=REASSOCIATE)
def reordered(values):
    total = 0.0
    for k in range(values.size):
        total += values[k]
    return total


@helper(cache=False)
def calls_reordered(values):
    return reordered(values)


def test_what_compiled_functions_call_has_no_machine_code_until_python_calls_it():
    values = np.array([1.0, 2.0, 3.0])
    assert sum_of_third_powers(values) == 36.0
    (inner,) = third_power.inner.overloads.values()
    assert inner.library.get_pointer_to_function(inner.fndesc.llvm_func_name) == 0
    assert third_power(2.0) == 8.0
    (outer,) = third_power.overloads.values()
    assert outer.library.get_pointer_to_function(outer.fndesc.llvm_func_name) != 0


@pytest.mark.parametrize("n", [1, 7, 8, 100, 1001])
def test_sums_that_may_be_reordered_are_the_same_bits_called_from_either_side(n):
    values = np.random.default_rng(n).standard_normal(n)
    assert reordered(values) == calls_reordered(values)
    assert not is_to_link(reordered.inner)


LIBRARY = """
from tunamh.compiled import helper

@helper
def half(x):
    return 0.5 * x

@helper
def outer(x):
    return half(x) + TERM
"""

CALL = """
from library import half, outer
print(outer(4.0), *(sum(f.stats.cache_misses.values()) for f in (half, half.inner, outer)))
"""


def test_an_edit_of_the_caller_takes_the_callee_s_code_from_disk(tmp_path):
    environment = {
        **os.environ,
        "NUMBA_CACHE_DIR": str(tmp_path / "cache"),
        "PYTHONDONTWRITEBYTECODE": "1",
        "PYTHONPATH": os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")]),
    }

    def called(term):
        (tmp_path / "library.py").write_text(LIBRARY.replace("TERM", term))
        done = subprocess.run(
            [sys.executable, "-c", CALL], env=environment, check=True, capture_output=True, text=True, timeout=300
        )
        return list(map(float, done.stdout.split()))

    assert called("1.0") == [3.0, 0, 1, 1]
    assert called("1.0") == [3.0, 0, 0, 0]
    assert called("2.0") == [4.0, 0, 0, 1]


# ------------------------------------------------------------------------------------------------- bundles by address


class Pair(NamedTuple):
    first: Any
    second: Any


class Outer(NamedTuple):
    pair: Any
    number: float
    flag: bool


def _kind():
    from numba import types

    pair = types.NamedTuple([KINDS.vector, KINDS.matrix], Pair)
    return types.NamedTuple([pair, KINDS.real, KINDS.flag], Outer)


outer_at = bundle_at(_kind())


@helper(cache=False)
def _read(address):
    outer = outer_at(address)
    outer.pair.first[0] += 1.0
    return outer.pair.first.sum() + outer.pair.second[1, 0] + (outer.number if outer.flag else 0.0)


@helper(cache=False)
def _hand_over(n, flag):
    """What is allocated between address and use would lie where arrays were that are freed too early."""
    outer = Outer(Pair(np.full(n, 2.0), np.full((2, n), 3.0)), 0.5, flag)
    address = address_of(outer)
    room = 0.0
    for k in range(100):
        room += np.full(n, float(k))[0] + np.full((2, n), float(k))[0, 0]
    first = _read(address)
    second = _read(address)
    keep_until_here(outer)
    return first, second, room


@pytest.mark.parametrize("flag", [True, False])
def test_a_bundle_is_read_and_written_by_its_address(flag):
    n = 5
    first, second, _ = _hand_over(n, flag)
    assert first == 2.0 * n + 1.0 + 3.0 + 0.5 * flag
    assert second == first + 1.0
