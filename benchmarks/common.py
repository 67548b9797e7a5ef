"""What the benchmarks share: whose machine it was, tables, JSON, and work in a process of its own."""

from __future__ import annotations

import importlib.metadata
import json
import os
import platform
import signal
import subprocess
import tempfile
import time
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE / "results"
CACHE = HERE / ".cache"
DOCS = HERE.parent / "docs"
_THREAD_COUNTS = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
    "NUMBA_NUM_THREADS",
    "RAYON_NUM_THREADS",
)


def machine() -> dict:
    """Processor, cores, versions and date: what a figure means nothing without."""
    from tunamh.cli.demo.records import processor  # here, not at the top: the peers' environment has no tunamh

    return {
        "processor": processor(),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        **versions("numpy", "numba", "tunamh"),
        "date": time.strftime("%Y-%m-%d"),
    }


def versions(*packages: str) -> dict[str, str]:
    """The versions of those packages that are installed."""
    found = {}
    for package in packages:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def print_table(title: str, columns: Sequence[str], rows: Iterable[Sequence[str]], text: int = 1) -> None:
    """The first ``text`` columns are words, the others numbers; a file gets the whole width."""
    from rich.console import Console
    from rich.table import Table

    console = Console()
    if not console.is_terminal:
        console = Console(width=160)
    table = Table(title=title, title_justify="left")
    for position, column in enumerate(columns):
        table.add_column(column, justify="left" if position < text else "right")
    for row in rows:
        table.add_row(*row)
    console.print(table)


def number(value: float | None, digits: int = 3) -> str:
    """``digits`` significant digits, thousands marked, nothing for None."""
    if value is None or value != value:
        return ""
    if abs(value) >= 10 ** (digits - 1):
        return f"{value:,.0f}"
    return f"{value:.{digits}g}"


def write_json(path: Path, report: dict) -> None:
    from tunamh.cli.demo import records as _records

    _records.write_json(path, report)


def available_memory() -> float:
    """Bytes that can be had without swapping; infinite where the system does not say."""
    try:
        lines = Path("/proc/meminfo").read_text().splitlines()
        return next(float(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable"))
    except (OSError, StopIteration):
        return float("inf")


def min_ess(draws: Any) -> float:
    """ArviZ's bulk effective draws of the worst parameter; ``draws`` has one chain's draws in its rows."""
    from arviz_stats import ess

    return min(float(ess(column.copy()[None])) for column in draws.T)


def keep_to_cores(cores: int) -> None:
    """Bind this process to its last ``cores`` cores; libraries that count cores then see these alone."""
    if hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[-cores:])


def run_apart(command: Sequence[str], *, cores: int, timeout: float) -> dict:
    """Run ``command RESULT.json`` in a process of its own and return what it wrote, or how it failed as ``status``.

    Every library that asks the environment how many threads it may use hears ``cores``. After ``timeout`` seconds the
    process and its children are killed.
    """
    environment = os.environ | dict.fromkeys(_THREAD_COUNTS, str(cores))
    if cores == 1:
        environment["XLA_FLAGS"] = "--xla_cpu_multi_thread_eigen=false"
    with tempfile.TemporaryDirectory() as folder:
        result, log = Path(folder) / "result.json", Path(folder) / "log"
        with log.open("w") as output:
            process = subprocess.Popen(
                [*command, str(result)], env=environment, stdout=output, stderr=output, start_new_session=True
            )
            try:
                process.wait(timeout)
            except BaseException as error:  # Ctrl-C, too, must not leave it behind
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
                if isinstance(error, subprocess.TimeoutExpired):
                    return {"status": f"killed after {timeout:.0f} s"}
                raise
        if result.exists():
            return json.loads(result.read_text())
        if process.returncode == -signal.SIGKILL:
            return {"status": "killed by the system, most likely out of memory"}
        lines = [line for line in log.read_text().splitlines() if line.strip()] or ["no message"]
        return {"status": f"failed: {lines[-1][:200]}", "log": lines[-20:]}
