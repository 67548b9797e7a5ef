"""How close is a TunaMH step to the machine's own limit?

In one run, nanoseconds per row of (a) a bare compiled loop that gathers random rows and takes two dot products with
each, plain and with the same prefetch as the library, and (b) the whole TunaMH step: proposal, Poisson batch, alias
draws, gather, energies, guard, decision. Also the peak memory of building and running a target.

    python benchmarks/rows_per_second.py [--quick] [--out benchmarks/results]
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import time
from pathlib import Path

import numba
import numpy as np

import tunamh
from common import RESULTS, machine, write_json
from tunamh._vector import prefetch_row
from tunamh.chain import ROWS, ChainState, Kernel, advance
from tunamh.data.stream import open_stream
from tunamh.guard import new_work

REPEATS = 7


@numba.njit(fastmath={"reassoc", "contract", "nsz"})
def bare_gather(rows, index, theta, prop, ahead):
    """The machine's limit: random rows, two dot products each, nothing else."""
    d = theta.size
    total = 0.0
    for b in range(index.size):
        if ahead > 0 and b + ahead < index.size:
            prefetch_row(rows, index[b + ahead])
        i = index[b]
        here, there = 0.0, 0.0
        for j in range(d):
            here += rows[i, j] * theta[j]
            there += rows[i, j] * prop[j]
        total += here - there
    return total


def logistic(n_rows: int, d: int, rng: np.random.Generator) -> tunamh.LogisticRegression:
    X = rng.standard_normal((n_rows, d)) / np.sqrt(d)
    y = (rng.random(n_rows) < 1 / (1 + np.exp(-X.sum(axis=1)))).astype(float)
    return tunamh.LogisticRegression(X, y)


def chain_for_batch(target: tunamh.Target, batch: float, full_share: float = np.inf) -> tuple[ChainState, Kernel]:
    """A chain whose mean batch is ``batch``: chi C M = 1, so each of the two terms is half of it."""
    reach = batch / 2
    step = reach / target.total_bound / np.sqrt(target.dim)
    test = tunamh.TunaMH(chi=1 / reach, full_share=full_share).bind(target)
    kernel = Kernel(target.model(), tunamh.RandomWalk(step).bind(target), test, new_work())
    stream = open_stream(np.random.SeedSequence(2))
    return ChainState(np.zeros(target.dim), np.random.default_rng(1), stream, test.memory), kernel


def best(function, *arguments) -> float:
    """The least time of several repeats: what the machine can do when nobody disturbs it."""
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - started)
    return min(times)


def nanoseconds_per_row(state: ChainState, kernel: Kernel, steps: int) -> float:
    """The least time per row of several runs of ``steps`` steps."""
    draws, record = np.empty((steps, state.theta.size)), np.empty((steps, 6))
    times = []
    for _ in range(REPEATS + 1):  # the first one compiles and warms up
        started = time.perf_counter()
        advance(state, kernel, draws, record)
        times.append((time.perf_counter() - started) / record[:, ROWS].sum())
    return min(times[1:]) * 1e9


def measure(n_rows: int, d: int, batches: list[int]) -> list[dict]:
    rng = np.random.default_rng(0)
    target = logistic(n_rows, d, rng)
    X = np.ascontiguousarray(target.rows[:, :d])
    index = rng.integers(n_rows, size=2_000_000)  # many more than a cache holds, or repeats would flatter the limit
    theta, prop = rng.standard_normal((2, d))
    bare_gather(X, index[:10], theta, prop, 0)
    bare = best(bare_gather, X, index, theta, prop, 0) / index.size * 1e9
    prefetched = best(bare_gather, X, index, theta, prop, 8) / index.size * 1e9
    del X
    full_pass = nanoseconds_per_row(*chain_for_batch(target, 100, full_share=0.0), max(1, 1_000_000 // n_rows))
    results = []
    for batch in batches:
        tuna = nanoseconds_per_row(*chain_for_batch(target, batch), max(200, 300_000 // batch))
        results.append(
            {
                "rows": n_rows,
                "d": d,
                "batch": batch,
                "bare_ns": bare,
                "bare_prefetched_ns": prefetched,
                "tunamh_ns": tuna,
                "full_pass_ns": full_pass,
                "ratio": tuna / bare,
                "ratio_prefetched": tuna / prefetched,
                "steps_per_second": 1e9 / (tuna * batch),
            }
        )
    return results


_MEMORY_PROBE = """
import sys, numpy as np, tunamh

def peak():
    with open("/proc/self/status") as status:
        return next(int(line.split()[1]) * 1024 for line in status if line.startswith("VmHWM"))

n, d = int(sys.argv[1]), int(sys.argv[2])
rng = np.random.default_rng(0)
small = tunamh.LogisticRegression(rng.standard_normal((1000, d)), rng.integers(0, 2, 1000))
tunamh.sample(small, draws=10, tune=10, chains=1, rng=1, progressbar=False)        # code and libraries are loaded now
X, y = np.empty((n, d)), np.zeros(n)
for start in range(0, n, 10_000):
    X[start:start + 10_000] = rng.standard_normal((min(10_000, n - start), d))
y[::2] = 1
before = peak()
target = tunamh.LogisticRegression(X, y)
tunamh.sample(target, draws=1000, tune=200, chains=4, rng=1, progressbar=False)
print(before, peak())
"""


def peak_memory(n_rows: int, d: int) -> dict:
    """Peak memory beyond the user's own X and y, in a fresh process; per row, beyond one copy of X."""
    command = [sys.executable, "-c", _MEMORY_PROBE, str(n_rows), str(d)]
    before, after = map(float, subprocess.run(command, check=True, capture_output=True, text=True).stdout.split())
    extra = (after - before) / n_rows
    return {"rows": n_rows, "d": d, "extra_bytes_per_row": extra, "beyond_one_copy": extra - 8 * d}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one size only")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    sizes = [10_000] if options.quick else [10_000, 100_000, 1_000_000]
    dims = [50] if options.quick else [10, 50, 100]
    print("nanoseconds per row")
    print(f"{'rows':>9} {'d':>4} {'batch':>6} | {'bare':>6} {'prefetched':>10} {'full pass':>9} {'TunaMH':>7} | /bare")
    results = []
    for n_rows in sizes:
        for d in dims:
            for r in measure(n_rows, d, [50, 500]):
                results.append(r)
                print(
                    f"{r['rows']:>9} {r['d']:>4} {r['batch']:>6} | "
                    f"{r['bare_ns']:>6.1f} {r['bare_prefetched_ns']:>10.1f} "
                    f"{r['full_pass_ns']:>9.1f} {r['tunamh_ns']:>7.1f} | {r['ratio']:.2f}",
                    flush=True,
                )
    memory = peak_memory(10_000 if options.quick else 1_000_000, 50)
    print(
        f"peak memory at {memory['rows']} x {memory['d']}: one copy of the rows "
        f"{memory['beyond_one_copy']:+.1f} bytes per row beyond the user's own data"
    )
    report = {"machine": machine(), "rows": results, "memory": memory}
    write_json(options.out / "rows_per_second.json", report)


if __name__ == "__main__":
    main()
