"""What a store costs: seconds of the same run in memory and on disk, and how fast a finished one is read.

    python benchmarks/store.py [--folder .] [--out benchmarks/results]

The least of three repeats. Megabytes per second are those of the store over the extra time, reading it back at the end
included; they depend on the disk, whose folder ``--folder`` names.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import tunamh
from common import RESULTS, machine, print_table, write_json
from problems import make

RUNS = [("logistic-1e5x50", 1000), ("logistic-1e5x50", 100_000), ("logistic-1e4x10", 1_000_000)]
REPEATS = 3


def seconds(call: Callable[[], Any]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def measured(name: str, draws: int, folder: Path) -> dict[str, Any]:
    problem = make(name)
    target = tunamh.LogisticRegression(problem.X, problem.y)
    settings: dict[str, Any] = {"draws": draws, "rng": 1, "progressbar": False}
    tunamh.sample(target, **(settings | {"draws": 10}))
    times = []
    for _ in range(REPEATS):
        store = Path(tempfile.mkdtemp(dir=folder)) / "run"
        in_memory = seconds(lambda: tunamh.sample(target, **settings))
        stored = seconds(lambda store=store: tunamh.sample(target, **settings, store=store))
        read = seconds(lambda store=store: tunamh.read_store(store))
        files = list(store.iterdir())
        size = sum(file.stat().st_size for file in files) / 1e6
        shutil.rmtree(store.parent)
        times.append((in_memory, stored, read))
    in_memory, stored, read = (min(column) for column in zip(*times, strict=True))
    return {
        "problem": name,
        "draws": 4 * draws,
        "megabytes": size,
        "files": len(files),
        "in memory, s": in_memory,
        "stored, s": stored,
        "written, MB/s": size / max(stored - in_memory, 1e-3),
        "read, MB/s": size / read,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=Path, default=Path())
    parser.add_argument("--out", type=Path, default=RESULTS)
    arguments = parser.parse_args()
    warnings.simplefilter("ignore", tunamh.ConvergenceWarning)
    rows = [measured(name, draws, arguments.folder) for name, draws in RUNS]
    shown = [[value if isinstance(value, str) else f"{value:,.4g}" for value in row.values()] for row in rows]
    print_table("A run in memory and in a store", list(rows[0]), shown)
    write_json(arguments.out / "store.json", {"machine": machine(), "rows": rows})


if __name__ == "__main__":
    main()
