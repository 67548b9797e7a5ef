"""What a first set-up from a file costs beside reading its columns: columns by name, a formula, a formula with a cache.

    python benchmarks/first_set_up.py --folder /somewhere/with/space [--rows 4e6]

Two files of as many rows. The first one and "reading alone" are those of `rows_from_disk.py`: ten float32 columns
without compression, read from the cache of the operating system. The second is what `DataFrame.to_parquet` of pandas
writes if nothing is said: nine float64 columns and a text column of three levels, compressed by snappy. "One sum" is a
pass that also adds up ``X' diag(w) X``, by the library's compiled loop. Measured are the processor's seconds, of all
threads, of set-up and a short run together (500 draws of four chains), with ``memory="100MB"``, so that rows are
gathered. Compiled code is loaded before. Everything is measured in turn, and the least of ``--repeats`` counts, since
the machine may be shared.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd

import tunamh
from common import RESULTS, machine, print_table, write_json
from rows_from_disk import COLUMNS, MEMORY, load_compiled_code, nothing, write_rows
from tunamh.targets.designs.dense import NarrowBlock


class Data(NamedTuple):
    """A file: how it is called, its columns, and what is written to it."""

    name: str
    columns: list[str]
    write: Callable[[Path, int], None]

    @property
    def numbers(self) -> list[str]:
        return [name for name in self.columns if name.startswith("x")]


def write_as_pandas(path: Path, n_rows: int) -> None:
    """As people have it: float64 and text, by pandas as it comes."""
    if path.exists():
        return
    rng = np.random.default_rng(7)
    table = {name: rng.standard_normal(n_rows) for name in COLUMNS[:-1]}
    carrier = rng.integers(3, size=n_rows)
    eta = np.linspace(-1, 1, len(table)) @ np.stack(list(table.values())) + 0.3 * (carrier == 2)
    table["y"] = (rng.random(n_rows) < 1 / (1 + np.exp(-eta))).astype(np.float64)
    pd.DataFrame({**table, "carrier": np.array(["AA", "DL", "UA"], object)[carrier]}).to_parquet(path)


FILES = (
    Data("float32, not compressed", COLUMNS, write_rows),
    Data("as pandas writes it", [*COLUMNS[:-1], "carrier"], write_as_pandas),
)


def formula(data: Data) -> str:
    return f"y ~ {' + '.join(data.columns)}"


def run(data: Data, door: str, path: Path, folder: Path, memory: str = MEMORY) -> dict[str, float]:
    """Seconds of the processor: of the target, and of the rest of set-up and the short run."""
    before = time.process_time()
    with tempfile.TemporaryDirectory(dir=folder) as cache:
        if door == "columns by name":
            target: Any = tunamh.LogisticRegression(tunamh.open_rows(path, memory=memory)[data.columns], y="y")
        else:
            kept = Path(cache) / "c.tunamh" if "cache" in door else None
            rows = tunamh.open_rows(path, memory=memory, cache=kept)
            target = tunamh.regression(formula(data), rows, family=tunamh.Logistic())
        made = time.process_time()
        posterior = tunamh.sample(target, draws=500, rng=1, progressbar=False)
        done = time.process_time()
    seconds = json.loads(posterior.posterior.attrs["settings"])["seconds"]
    return {"in all": done - before, "target": made - before, "warm-up and draws, wall": seconds["warm-up and draws"]}


def sum_of_block(data: Data, block: Any) -> np.ndarray:
    columns = np.stack([block.numbers[name] for name in data.numbers])
    single = columns.dtype == np.float32
    return NarrowBlock(columns, single).sandwich(np.ones(columns.shape[1]))


def one_sum(data: Data, rows: Any) -> float:
    """Seconds of the processor of a pass that adds up ``X' diag(w) X`` of the numbers."""
    started, total = time.process_time(), np.zeros((len(data.numbers),) * 2)
    for of_block in rows.map(partial(sum_of_block, data), [*data.columns, "y"]):
        total += of_block
    return time.process_time() - started


def reading_alone(data: Data, rows: Any) -> float:
    started = time.process_time()
    for _ in rows.map(nothing, [*data.columns, "y"]):
        pass
    return time.process_time() - started


def measured(data: Data, n: int, folder: Path, repeats: int) -> dict[str, Any]:
    path, few = (folder / f"{data.write.__name__}-{k:.0e}.parquet" for k in (n, 300_000))
    data.write(path, n)
    data.write(few, 300_000)
    for door in DOORS:
        run(data, door, few, folder, "1MB")
    reading, sums, found = [], [], {door: [] for door in DOORS}
    for _ in range(repeats):
        reading += [reading_alone(data, tunamh.open_rows(path, memory=MEMORY)) for _ in range(3)]
        sums += [one_sum(data, tunamh.open_rows(path, memory=MEMORY)) for _ in range(3)]
        for door in DOORS:
            found[door].append(run(data, door, path, folder))
    doors = {door: min(runs, key=lambda one: one["in all"]) for door, runs in found.items()}
    return {"file": data.name, "reading": min(reading), "one_sum": min(sums), "doors": doors}


DOORS = ("columns by name", "a formula", "a formula with a cache")


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--rows", type=float, default=4e6)
    asked.add_argument("--folder", type=Path, required=True)
    asked.add_argument("--repeats", type=int, default=3)
    asked.add_argument("--out", type=Path, default=RESULTS)
    given = asked.parse_args()
    warnings.simplefilter("ignore")
    n = int(given.rows)
    load_compiled_code()
    files = [measured(data, n, given.folder, given.repeats) for data in FILES]
    write_json(given.out / "first_set_up.json", {"machine": machine(), "rows": n, "files": files})
    for found in files:
        reading, one = found["reading"], found["one_sum"]
        lines = []
        for door, seconds in found["doors"].items():
            whole = seconds["in all"]
            over = f"{whole / reading:.0f}", f"{whole / one:.1f}"
            lines.append([door, f"{1e9 * whole / n:.0f}", *over, f"{seconds['target'] / whole:.0%}"])
        told = f"reading alone {1e9 * reading / n:.0f}, one sum {1e9 * one / n:.0f} ns a row"
        columns = ["", "ns a row", "over reading alone", "over one sum", "of it for the target"]
        print_table(f"{found['file']}, {n:,} rows; {told}", columns, lines)


if __name__ == "__main__":
    main()
