"""Questions to a posterior of rows in files: seconds and memory of an average comparison, of loo and of the evidence.

    python benchmarks/questions_from_files.py --folder /somewhere/with/space [--rows 1e8] [--out benchmarks/results]

Generated rows: three float32 numbers, a carrier of three levels, and a label (14 bytes a row), in one Parquet file with
row groups of 2^20 rows. Seconds are the processor's, of all threads; compiled code is loaded before, by a run on few
rows. A pass per draw is timed on the first 20,000 rows at 1000 draws and multiplied by the number of rows. Memory is
the largest resident set of the process so far, without the pages of the file.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tunamh
from common import RESULTS, machine, number, print_table, write_json

GROUP, SMALL = 1 << 20, 20_000
FORMULA = "late ~ carrier + x0 + x1 + x2"


def write_rows(path: Path, n_rows: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    schema = pa.schema([*((f"x{j}", pa.float32()) for j in range(3)), ("carrier", pa.string()), ("late", pa.int8())])
    names = np.array(["AA", "DL", "UA"])
    with pq.ParquetWriter(path, schema, compression="none", use_dictionary=["carrier"]) as writer:
        for k, start in enumerate(range(0, n_rows, GROUP)):
            rng, m = np.random.default_rng([7, k]), min(GROUP, n_rows - start)
            x, carrier = rng.standard_normal((3, m), dtype=np.float32), rng.integers(3, size=m)
            eta = -1.5 + np.array([0.4, -0.3, 0.2], np.float32) @ x + 0.3 * (carrier == 2)
            late = (rng.random(m, dtype=np.float32) < 1 / (1 + np.exp(-eta))).astype(np.int8)
            writer.write_table(pa.table([*x, names[carrier], late], schema=schema), row_group_size=GROUP)


def timed(work: Callable[[], Any]) -> tuple[dict[str, float], Any]:
    began, wall = time.process_time(), time.perf_counter()
    found = work()
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    seconds = {"seconds": time.process_time() - began, "wall": time.perf_counter() - wall, "MiB": peak}
    return seconds, found


def asked(path: Path) -> tuple[list[dict[str, Any]], Any]:
    rows = tunamh.open_rows(str(path), memory="200MB")
    target: list[Any] = []

    def fit() -> Any:
        target.append(tunamh.regression(FORMULA, rows, family="logistic"))
        return tunamh.sample(target[0], rng=1, progressbar=False)

    found = []
    cost, posterior = timed(fit)
    found.append({"question": "the fit", **cost})
    questions: dict[str, Callable[[], Any]] = {
        "difference of carriers, average of all rows": lambda: tunamh.comparisons(
            posterior, rows, "carrier", average_by=True
        ),
        "loo": lambda: tunamh.loo(posterior, rows, rng=1),
        "evidence": lambda: tunamh.evidence(target[0], posterior, rng=1),
    }
    for name, ask in questions.items():
        cost, answer = timed(ask)
        found.append({"question": name, **cost, "answer": str(answer).strip().splitlines()[-1]})
    return found, posterior


def per_draw(posterior: Any, path: Path, n_rows: int) -> float:
    table = _first(path)
    cost, _ = timed(lambda: tunamh.comparisons(posterior, table, "carrier", average_by=True))
    return cost["seconds"] * n_rows / SMALL


def _first(path: Path) -> pd.DataFrame:
    import pyarrow.parquet as pq

    return pq.ParquetFile(path).read_row_group(0).slice(0, SMALL).to_pandas()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=float, default=1e8)
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    n_rows = int(options.rows)
    small, path = options.folder / "few.parquet", options.folder / f"{n_rows}.parquet"
    for place, size in ((small, 200_000), (path, n_rows)):
        if not place.exists():
            write_rows(place, size)
    asked(small)  # loads compiled code
    found, posterior = asked(path)
    slow = per_draw(posterior, path, n_rows)
    report = {"machine": machine(), "rows": n_rows, "bytes": path.stat().st_size, "questions": found, "per_draw": slow}
    write_json(options.out / "questions_from_files.json", report)
    lines = [[one["question"], *(number(one[name]) for name in ("seconds", "wall", "MiB"))] for one in found]
    print_table(f"{n_rows:,} rows; a pass per draw: {slow:,.0f} s", ["", "seconds", "wall", "largest MiB"], lines)
    for one in found[1:]:
        print(one["question"], "-", one["answer"])


if __name__ == "__main__":
    main()
