"""Few instruction sets for all machines, so that machine code made on one of them serves the others.

Left to itself, Numba compiles for the very processor that it runs on: code in a wheel would then fit no other machine.
So functions are compiled for one of the levels of x86-64 (level 4: AVX-512; level 3: AVX2 and fused multiply-add, Intel
since 2013, AMD since 2015), and on 64-bit Arm for the common base. On a processor with AVX-512, code for level 4 is as
fast as code for that very processor, and code for level 3 takes 10 to 20 % longer. Numba knows one processor for the
whole process: a user's own functions are compiled for the same one. ``NUMBA_CPU_NAME`` in the environment, or code
compiled before tunamh is imported, has precedence.
"""

from __future__ import annotations

import platform
from typing import Any

import numba
from llvmlite import binding

_LEVEL_2 = "+64bit,+cmov,+crc32,+cx16,+cx8,+fxsr,+mmx,+popcnt,+sahf,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3,+x87,+xsave"
_LEVEL_3 = ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")  # what level 2 does not have
_LEVEL_4 = ("avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl")
_FEATURES = ",".join([_LEVEL_2, *(f"+{name}" for name in _LEVEL_3)])  # level 4 has its own by its name


def instruction_sets() -> dict[str, str]:
    """Return the instruction sets of this processor, the largest first: LLVM's name and features."""
    machine = platform.machine().lower()
    if machine in ("arm64", "aarch64"):
        return {"generic": "+neon"}
    if machine not in ("x86_64", "amd64"):
        return {}
    try:
        here = binding.get_host_cpu_features()
    except RuntimeError:  # not known
        return {}
    has = {"x86-64-v4": (*_LEVEL_3, *_LEVEL_4), "x86-64-v3": _LEVEL_3}
    return {name: _FEATURES for name, wanted in has.items() if all(here.get(one, False) for one in wanted)}


def choose_instruction_set() -> None:
    """Choose the instruction set before anything is compiled.

    Nothing is changed if the user has chosen one, or on other kinds of processors.
    """
    config: Any = numba.config
    known = instruction_sets()
    if known and config.CPU_NAME is None and config.CPU_FEATURES is None:
        config.CPU_NAME = next(iter(known))
        config.CPU_FEATURES = known[config.CPU_NAME]
