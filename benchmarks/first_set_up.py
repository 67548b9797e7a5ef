"""What a first set-up from a file costs beside reading its columns: columns by name, a formula, a formula with a cache.

    python benchmarks/first_set_up.py --folder /somewhere/with/space [--rows 4e6]

The file and "reading alone" are those of `rows_from_disk.py`: ten float32 columns without compression, read from the
cache of the operating system. "One sum" is a pass that also adds up ``X' diag(w) X``, by the library's compiled loop:
no set-up can do with less than two such passes (Newton's step, and the expansion where it leads). Measured are the
processor's seconds, of all threads, of set-up and a short run together (500 draws of four chains), with
``memory="100MB"``, so that rows are gathered. Compiled code is loaded before. Everything is measured in turn, and the
least of ``--repeats`` counts, since the machine may be shared.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import tunamh
from common import RESULTS, machine, print_table, write_json
from rows_from_disk import COLUMNS, MEMORY, load_compiled_code, reading_alone, write_rows
from tunamh.targets.designs.dense import NarrowBlock

FORMULA = f"y ~ {' + '.join(COLUMNS)}"


def run(door: str, path: Path, folder: Path, memory: str = MEMORY) -> float:
    """Seconds of the processor."""
    before = time.process_time()
    if door == "columns by name":
        target: Any = tunamh.LogisticRegression(tunamh.open_rows(path, memory=memory)[COLUMNS], y="y")
    elif door == "a formula":
        target = tunamh.regression(FORMULA, tunamh.open_rows(path, memory=memory), family=tunamh.Logistic())
    else:
        with tempfile.TemporaryDirectory(dir=folder) as cache:
            rows = tunamh.open_rows(path, memory=memory, cache=Path(cache) / "c.tunamh")
            target = tunamh.regression(FORMULA, rows, family=tunamh.Logistic())
            tunamh.sample(target, draws=500, rng=1, progressbar=False)
            return time.process_time() - before
    tunamh.sample(target, draws=500, rng=1, progressbar=False)
    return time.process_time() - before


def sum_of_block(block: Any) -> np.ndarray:
    columns = np.stack([block.numbers[name] for name in COLUMNS])
    return NarrowBlock(columns, True).sandwich(np.ones(columns.shape[1]))


def one_sum(rows: Any) -> float:
    """Seconds of the processor of a pass that adds up ``X' diag(w) X``."""
    started, total = time.process_time(), np.zeros((len(COLUMNS), len(COLUMNS)))
    for of_block in rows.map(sum_of_block, [*COLUMNS, "y"]):
        total += of_block
    return time.process_time() - started


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--rows", type=float, default=4e6)
    asked.add_argument("--folder", type=Path, required=True)
    asked.add_argument("--repeats", type=int, default=3)
    asked.add_argument("--out", type=Path, default=RESULTS)
    given = asked.parse_args()
    warnings.simplefilter("ignore")
    n = int(given.rows)
    path, few = given.folder / f"rows-{n:.0e}.parquet", given.folder / "rows-few.parquet"
    write_rows(path, n)
    write_rows(few, 300_000)
    load_compiled_code()
    doors = ("columns by name", "a formula", "a formula with a cache")
    for door in doors:
        run(door, few, given.folder, "1MB")
    reading, sums, found = [], [], {door: [] for door in doors}
    for _ in range(given.repeats):
        reading += [reading_alone(tunamh.open_rows(path, memory=MEMORY)) for _ in range(3)]
        sums += [one_sum(tunamh.open_rows(path, memory=MEMORY)) for _ in range(3)]
        for door in doors:
            found[door].append(run(door, path, given.folder))
    report = {"rows": n, "reading": min(reading), "one_sum": min(sums)}
    report["doors"] = {door: min(seconds) for door, seconds in found.items()}
    write_json(given.out / "first_set_up.json", {**machine(), **report})
    lines = [
        [door, f"{1e9 * seconds / n:.0f}", f"{seconds / report['reading']:.0f}", f"{seconds / report['one_sum']:.1f}"]
        for door, seconds in report["doors"].items()
    ]
    told = f"reading alone {1e9 * report['reading'] / n:.0f}, one sum {1e9 * report['one_sum'] / n:.0f} ns a row"
    print_table(f"{n:,} rows; {told}", ["", "ns a row", "over reading alone", "over one sum"], lines)


if __name__ == "__main__":
    main()
