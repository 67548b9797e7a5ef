"""How close is a TunaMH step to the machine's own limit?

In one run, nanoseconds per row of (a) a bare compiled loop that gathers random rows and takes two dot products with
each, plain and with the same prefetch as the library, and (b) the whole TunaMH step: proposal, Poisson batch, alias
draws, gather, energies, guard, decision; beside them a pass over all rows in order, by the thinned test and by MH.
`tunamh.acceptance.thinned.FULL_PASS_SHARE` and `tunamh.sampling.choice.MH_PASS_SHARE` are the ratios of
these to a random row.
The same gather from float32 rows, accumulated in float64, tells what storing less would save.

    python benchmarks/rows_per_second.py [--quick] [--out benchmarks/results]
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path

import numba
import numpy as np

import tunamh
from common import RESULTS, machine, write_json
from tunamh.chains.guard import new_work
from tunamh.chains.loop import ChainSetup, ChainState, advance
from tunamh.chains.metropolis import ROWS, joined
from tunamh.compiled.vector import prefetch_row
from tunamh.rows.supply import open_stream

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


def chain_for_batch(target: tunamh.Target, batch: float, full_share: float = np.inf) -> tuple[ChainState, ChainSetup]:
    """A chain whose mean batch is ``batch``: chi C M = 1, so each of the two terms is half of it."""
    move_bound = batch / 2
    step = move_bound / target.total_bound / np.sqrt(target.dim)
    test = tunamh.TunaMH(chi=1 / move_bound, full_share=full_share).bind(target)
    setup = ChainSetup(target.model(), joined(tunamh.RandomWalk(step).bind(target), test), new_work())
    stream = open_stream(np.random.SeedSequence(2))
    return ChainState(np.zeros(target.dim), np.random.default_rng(1), stream, test.memory), setup


def mh_chain(target: tunamh.Target) -> tuple[ChainState, ChainSetup]:
    """A chain of full-data MH, which evaluates every row once per step."""
    test = tunamh.MH().bind(target)
    setup = ChainSetup(target.model(), joined(tunamh.RandomWalk(1e-6).bind(target), test), new_work())
    stream = open_stream(np.random.SeedSequence(2))
    return ChainState(np.zeros(target.dim), np.random.default_rng(1), stream, test.memory.copy()), setup


def best(function, *arguments) -> float:
    """The least time of several repeats: what the machine can do when nobody disturbs it."""
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        function(*arguments)
        times.append(time.perf_counter() - started)
    return min(times)


def nanoseconds_per_row(state: ChainState, setup: ChainSetup, steps: int) -> float:
    """The least time per row of several runs of ``steps`` steps."""
    draws, record = np.empty((steps, state.here.size)), setup.new_record(steps)
    times = []
    for _ in range(REPEATS + 1):  # the first one compiles and warms up
        started = time.perf_counter()
        advance(state, setup, draws, record)
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
    X = X.astype(np.float32)
    bare_gather(X, index[:10], theta, prop, 8)
    float32 = best(bare_gather, X, index, theta, prop, 8) / index.size * 1e9
    del X
    mh_pass = nanoseconds_per_row(*mh_chain(target), max(1, 1_000_000 // n_rows))
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
                "bare_float32_ns": float32,
                "tunamh_ns": tuna,
                "full_pass_ns": full_pass,
                "mh_pass_ns": mh_pass,
                "ratio": tuna / bare,
                "ratio_prefetched": tuna / prefetched,
                "steps_per_second": 1e9 / (tuna * batch),
            }
        )
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="one size only")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    sizes = [10_000] if options.quick else [10_000, 100_000, 1_000_000]
    dims = [50] if options.quick else [10, 50, 100]
    print("nanoseconds per row")
    print(
        f"{'rows':>9} {'d':>4} {'batch':>6} | {'bare':>6} {'prefetched':>10} {'float32':>7} | "
        f"{'full pass':>9} {'MH pass':>7} {'TunaMH':>7} | /bare"
    )
    results = []
    for n_rows in sizes:
        for d in dims:
            for r in measure(n_rows, d, [50, 500]):
                results.append(r)
                print(
                    f"{r['rows']:>9} {r['d']:>4} {r['batch']:>6} | "
                    f"{r['bare_ns']:>6.1f} {r['bare_prefetched_ns']:>10.1f} {r['bare_float32_ns']:>7.1f} | "
                    f"{r['full_pass_ns']:>9.1f} {r['mh_pass_ns']:>7.1f} {r['tunamh_ns']:>7.1f} | {r['ratio']:.2f}",
                    flush=True,
                )
    report = {"machine": machine(), "rows": results}
    write_json(options.out / "rows_per_second.json", report)


if __name__ == "__main__":
    main()
