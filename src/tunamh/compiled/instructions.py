"""One instruction set for every machine of a kind, so that machine code made on one of them serves the others.

Left to itself, Numba compiles for the very processor that it runs on: code in a wheel would then fit no other machine.
On x86-64 functions are compiled for level 3 (AVX2 and fused multiply-add: Intel since 2013, AMD since 2015), on 64-bit
Arm for the common base. AVX-512, where a processor has it, was worth at most 7 % of a pass over all rows, and nothing
of a minibatch (docs/how-it-is-fast.md). Numba knows one processor for the whole process: a user's own functions are
compiled for the same one. ``NUMBA_CPU_NAME`` in the environment, or code compiled before tunamh is imported, has
precedence.
"""

from __future__ import annotations

import platform
from typing import Any

import numba
from llvmlite import binding

_LEVEL_3 = ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe")  # what level 2 does not have
_LEVEL_2 = "+64bit,+cmov,+crc32,+cx16,+cx8,+fxsr,+mmx,+popcnt,+sahf,+sse,+sse2,+sse3,+sse4.1,+sse4.2,+ssse3,+x87,+xsave"


def choose_instruction_set() -> None:
    """Before anything is compiled; nothing is changed where a person has chosen, or on a processor of another kind."""
    config: Any = numba.config
    if config.CPU_NAME is not None or config.CPU_FEATURES is not None:
        return
    machine = platform.machine().lower()
    if machine in ("x86_64", "amd64") and _host_has(_LEVEL_3):
        config.CPU_NAME, config.CPU_FEATURES = "x86-64-v3", ",".join([_LEVEL_2, *(f"+{name}" for name in _LEVEL_3)])
    elif machine in ("arm64", "aarch64"):
        config.CPU_NAME, config.CPU_FEATURES = "generic", "+neon"


def _host_has(wanted: tuple[str, ...]) -> bool:
    try:
        here = binding.get_host_cpu_features()
    except RuntimeError:  # not known
        return False
    return all(here.get(name, False) for name in wanted)
