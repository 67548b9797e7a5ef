"""Compile parts at the same time, in processes of their own, where they are not on disk yet.

Numba compiles one function after another: a process holds one lock. So further processes take parts from the same list,
write the machine code to the cache, and end; this process takes parts as well, and loads at the end what the others
have made. A part that a process has taken has a *claim*, a file beside the machine code to be. A process that cannot
be started, or dies, costs time and nothing else: what nobody has made is compiled here.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from .compiler import compiling
from .machinery import Part, part_at

_MOST_PROCESSES = 4  # beside this one: every process loads Python and compiles what parts have in common
_PAUSE = 0.02
_OLD = 120.0  # seconds after which a claim says nothing: no part takes so long


def usable_cores() -> int:
    """Return the number of cores that this process may use."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every system
        return os.cpu_count() or 1


def missing(parts: Iterable[Any]) -> list[Part]:
    """Return the parts that are neither compiled in this process nor on disk."""
    return [one for one in parts if isinstance(one, Part) and not one.is_kept]


def start(parts: Iterable[Any], processes: int | None = None) -> list[subprocess.Popen]:
    """Start further processes that compile what is missing, and return at once.

    By default ``processes`` is the number of further cores. Nothing is started if there is only one core, if at most
    one part is missing, or if this process is not a plain Python.
    """
    names = [name for one in missing(parts) if (name := one.place) is not None]
    if processes is None:
        processes = min(usable_cores() - 1, _MOST_PROCESSES)
    started: list[subprocess.Popen] = []
    for _ in range(min(processes, len(names) - 1) if _is_plain_python() else 0):
        with contextlib.suppress(OSError):
            started.append(_started(names))
    return started


def _is_plain_python() -> bool:
    """Whether ``sys.executable`` starts an interpreter: inside another program it may start that program again."""
    return Path(sys.executable or "").name.lower().startswith("python") and not getattr(sys, "frozen", False)


def _started(names: list[str]) -> subprocess.Popen:
    home = str(Path(__file__).parents[2])
    path = os.pathsep.join([home, *filter(None, [os.environ.get("PYTHONPATH")])])
    quiet = subprocess.DEVNULL
    command = [sys.executable, "-W", "ignore", "-c", "from tunamh.compiled.ahead import work; work()", *names]
    return subprocess.Popen(command, stdin=quiet, stdout=quiet, stderr=quiet, env={**os.environ, "PYTHONPATH": path})


def work() -> None:
    """Do the work of a further process: compile parts that no process has taken, until there are none."""
    with compiling():
        for name in sys.argv[1:]:
            one = part_at(name)
            claim = _claim_of(one)
            if claim is not None and not one.is_kept and _taken(claim):
                _compile(one, claim)


def finish(parts: Iterable[Any], report: Callable[[int], None] = lambda left: None) -> None:
    """Compile or load all parts. When the number of remaining parts falls, ``report`` is called with this number.

    At the end, wait for parts that other processes have taken.
    """
    wanted = [one for one in parts if isinstance(one, Part)]
    left, told = missing(wanted), 0
    with compiling():
        while left:
            if len(left) != told:
                report(told := len(left))
            claims = [(one, _claim_of(one)) for one in left]
            mine = next(((one, claim) for one, claim in claims if claim is None or _taken(claim)), None)
            if mine is not None:
                _compile(*mine)
            else:
                time.sleep(_PAUSE)
            left = missing(left)
        for one in wanted:
            one.__wrapper_address__()


def _compile(one: Part, claim: Path | None) -> None:
    try:
        one.__wrapper_address__()
    finally:
        if claim is not None:
            claim.unlink(missing_ok=True)


def _claim_of(one: Part) -> Path | None:
    """None where nothing can be written to disk."""
    file = one.file
    return None if file is None else file.with_suffix(".claim")


def _taken(claim: Path) -> bool:
    """Take a part; False where a living process has taken it."""
    try:
        claim.touch(exist_ok=False)
    except FileExistsError:
        if not _is_old(claim):
            return False
        claim.touch()
    except OSError:
        return True
    with contextlib.suppress(OSError):
        claim.write_text(str(os.getpid()))
    return True


def _is_old(claim: Path) -> bool:
    """Whether the process that took a part has ended."""
    try:
        text, age = claim.read_text(), time.time() - claim.stat().st_mtime
    except OSError:
        return True
    if age > _OLD:
        return True
    if not text.isdigit() or os.name == "nt":
        return False  # it is being written; on Windows, a signal of 0 would be a Ctrl-C
    try:
        os.kill(int(text), 0)
    except ProcessLookupError:
        return True
    except OSError:
        return False
    return False
