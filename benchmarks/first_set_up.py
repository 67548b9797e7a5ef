"""What a first set-up from a file costs beside reading its columns: columns by name, a formula, a formula with a cache.

    python benchmarks/first_set_up.py --folder /somewhere/with/space [--rows 4e6]

The file and "reading alone" are those of `rows_from_disk.py`: ten float32 columns without compression, read from the
cache of the operating system. Measured are the processor's seconds, of all threads, of set-up and a short run together
(500 draws of four chains), with ``memory="100MB"``, so that rows are gathered. Compiled code is loaded before.
"""

from __future__ import annotations

import argparse
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import tunamh
from common import RESULTS, machine, print_table, write_json
from rows_from_disk import COLUMNS, MEMORY, load_compiled_code, reading_alone, write_rows

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


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--rows", type=float, default=4e6)
    asked.add_argument("--folder", type=Path, required=True)
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
    reading = min(reading_alone(tunamh.open_rows(path, memory=MEMORY)) for _ in range(5))
    found = {door: min(run(door, path, given.folder) for _ in range(2)) for door in doors}
    write_json(given.out / "first_set_up.json", {**machine(), "rows": n, "reading": reading, "doors": found})
    lines = [[door, f"{1e9 * seconds / n:.0f}", f"{seconds / reading:.0f}"] for door, seconds in found.items()]
    print_table(
        f"{n:,} rows; reading alone {1e9 * reading / n:.0f} ns a row", ["", "ns a row", "over reading alone"], lines
    )


if __name__ == "__main__":
    main()
