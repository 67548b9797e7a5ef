"""Rows that stay on disk: time of every map, rows gathered and peak memory as the number of rows grows.

    python benchmarks/rows_from_disk.py --folder /somewhere/with/space [--rows 1e6 1e7 1e8] [--out benchmarks/results]

Generated rows of ten float32 columns and a label, in one Parquet file without compression, row groups of 2^20 rows.
Each size is sampled in a process of its own whose data may not exceed 2 GiB (RLIMIT_DATA: heap and private mappings; an
allocation beyond it fails), 10,000 effective draws or more. "Reading alone" is a map that decodes the columns and does
nothing with them. Maps are timed by the processor's seconds, of all threads together, since the machine may be shared;
compiled code is loaded before, by a run on few rows. Then steps of a chosen batch, from a pool as long as its rows last
and from rows in memory, of the smallest file; what gathering costs is the time of a map.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np

import tunamh
from common import RESULTS, machine, print_table, write_json
from tunamh.chains.metropolis import joined
from tunamh.process.stages import Report
from tunamh.sampling.clock import SetUp
from tunamh.sampling.run import ChainRun, Size

COLUMNS = [f"x{j}" for j in range(10)]
GROUP = 1 << 20
LIMIT = 2 << 30
MEMORY = "100MB"  # less than a million packed rows take, so that rows are gathered at every size
BATCHES = (10, 50, 90)
REPEATS = 8


def write_rows(path: Path, n_rows: int) -> None:
    """A file of so many rows, if it is not there."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if path.exists():
        return
    slopes = np.linspace(-1, 1, len(COLUMNS), dtype=np.float32)
    schema = pa.schema([(name, pa.float32()) for name in (*COLUMNS, "y")])
    beside = path.with_suffix(".part")
    with pq.ParquetWriter(beside, schema, compression="none", use_dictionary=False) as writer:
        for k, start in enumerate(range(0, n_rows, GROUP)):
            rng, m = np.random.default_rng([7, k]), min(GROUP, n_rows - start)
            X = rng.standard_normal((len(COLUMNS), m), dtype=np.float32)
            y = (rng.random(m, dtype=np.float32) < 1 / (1 + np.exp(-slopes @ X))).astype(np.float32)
            writer.write_table(pa.table([*X, y], schema=schema), row_group_size=GROUP)
    beside.replace(path)


class Timed(SetUp):
    """Set-up as usual; notes when each pass over all rows began and ended."""

    passes: dict[tuple[str, int], list[float]] = {}  # noqa: RUF012

    def __call__(self, report: Report) -> None:
        super().__call__(report)
        now = time.process_time()
        noted = self.passes.setdefault((report.stage, report.passes), [now, now, 0.0])
        noted[1:] = [now, report.share]


def nothing(block: Any) -> int:
    return 0


def reading_alone(rows: Any) -> float:
    started = time.process_time()
    for _ in rows.map(nothing, [*COLUMNS, "y"]):
        pass
    return time.process_time() - started


def load_compiled_code() -> None:
    """A run on few rows, which are gathered as well."""
    import pyarrow as pa

    rng = np.random.default_rng(0)
    table = pa.table({name: rng.standard_normal(30_000, dtype=np.float32) for name in COLUMNS})
    table = table.append_column("y", pa.array((rng.random(30_000) < 0.5).astype(np.float32)))
    rows = tunamh.open_rows([table], memory="1MB")
    tunamh.sample(tunamh.LogisticRegression(rows[COLUMNS], y="y"), draws=50, chains=4, rng=1, progressbar=False)


def measured(path: Path, draws: int) -> dict[str, Any]:
    """In a process of its own, under the limit."""
    resource.setrlimit(resource.RLIMIT_DATA, (LIMIT, LIMIT))
    warnings.simplefilter("ignore")
    load_compiled_code()
    rows = tunamh.open_rows(path, memory=MEMORY)
    read = [reading_alone(rows) for _ in range(5)]
    tunamh.sampling.session.SetUp = Timed
    started, used = time.perf_counter(), time.process_time()
    target = tunamh.LogisticRegression(rows[COLUMNS], y="y")
    looked = time.process_time() - used
    posterior = tunamh.sample(target, draws=draws, chains=4, rng=1, progressbar=False)
    seconds = time.perf_counter() - started
    settings = json.loads(posterior.posterior.attrs["settings"])
    maps: dict[str, list[float]] = {"looking at all rows": [looked]}
    for (stage, _), (begin, end, share) in Timed.passes.items():
        if share == 1.0 and end - begin > 0.2 * min(read):  # of all rows, not of a sample in memory
            maps.setdefault(stage, []).append(end - begin)
    worst = float(tunamh.summary(posterior)["ess_bulk"].min())
    elapsed = posterior.sample_stats["elapsed"].values[:, -1].max()
    return {
        "rows": rows.n_rows,
        "megabytes": path.stat().st_size / 1e6,
        "reading alone, s": min(read),
        "maps, s": maps,
        "number of maps": sum(map(len, maps.values())),
        "set-up over reading": sum(map(sum, maps.values())) / (min(read) * sum(map(len, maps.values()))),
        "all maps over reading": sum(map(sum, maps.values())) / min(read),
        "seconds": seconds,
        "sampling, s": float(elapsed),
        "draws": 4 * draws,
        "effective draws": worst,
        "rows read by kept draws": float(posterior.sample_stats["batch_size"].sum()),
        "rows gathered": settings.get("rows_gathered", 0),
        "peak memory, MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "load": os.getloadavg()[0],
    }


def chain_on(path: Path, memory: str, batch: int) -> ChainRun:
    """An opened chain whose steps read so many rows."""
    target = tunamh.LogisticRegression(tunamh.open_rows(path, memory=memory)[COLUMNS], y="y")
    mode = target.modes[0]
    white = target.taylor(2, mode.point, mode.expansion, whiten=True, original_bounds=False).whitened()
    test = tunamh.MHSS(floor=batch, delayed=False).bind(white)
    proposal = tunamh.Autoregressive(rho=0.0).bind(white)
    run = ChainRun(white, joined(proposal, test), np.random.SeedSequence(1), 0, None, Size(2000, 0))
    run.open()
    return run


def from_a_pool(path: Path) -> list[dict[str, Any]]:
    """Microseconds of a step that reads so many rows: rows in memory, and from a pool while its rows last."""
    found = []
    for batch in BATCHES:
        runs = {name: chain_on(path, memory, batch) for name, memory in (("in memory", "8GiB"), ("pool", "100MB"))}
        best = dict.fromkeys(runs, np.inf)
        steps = 80_000 // batch // REPEATS  # fewer rows than the first batch of a pool has
        for _ in range(REPEATS):
            for name, run in runs.items():
                started = time.perf_counter()
                run._advance(slice(0, steps), 1)
                best[name] = min(best[name], 1e6 * (time.perf_counter() - started) / steps)
        found.append({"batch": batch, **best, "ratio": best["pool"] / best["in memory"]})
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--rows", type=float, nargs="+", default=[1e6, 1e7, 1e8])
    parser.add_argument("--draws", type=int, default=3000, help="per chain, of four")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--one", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.one is not None:
        print(json.dumps(measured(given.one, given.draws)))
        return
    warnings.simplefilter("ignore")
    report: dict[str, Any] = {"machine": machine(), "limit": LIMIT, "memory": MEMORY, "sizes": []}
    place = given.out / "rows_from_disk.json"
    if place.exists():  # sizes that are not measured now stay as they were
        report["sizes"] = [size for size in json.loads(place.read_text())["sizes"] if size["rows"] not in given.rows]
    report["load"] = os.getloadavg()[0]
    paths = [given.folder / f"rows-{n:.0e}.parquet" for n in given.rows]
    for path, n in zip(paths, given.rows, strict=True):
        write_rows(path, int(n))
        command = [
            sys.executable,
            __file__,
            "--folder",
            str(given.folder),
            "--draws",
            str(given.draws),
            "--one",
            str(path),
        ]
        done = subprocess.run(command, capture_output=True, text=True)
        if done.returncode != 0:
            raise SystemExit(f"{path}: {done.stderr[-3000:]}")
        found = json.loads(done.stdout.splitlines()[-1])
        report["sizes"] = sorted([*report["sizes"], found], key=lambda size: size["rows"])
        write_json(place, report)
        print(json.dumps(found, indent=1))
    report["steps"] = from_a_pool(given.folder / "rows-1e+06.parquet")
    write_json(place, report)
    shown = [[f"{value:,.3g}" for value in row.values()] for row in report["steps"]]
    print_table("Microseconds of a step", list(report["steps"][0]), shown)


if __name__ == "__main__":
    main()
