"""What grows with the rows and what does not: rows touched per effective draw, set-up time, memory.

    python benchmarks/scaling.py [--quick] [--seconds 30]

Logistic regression over N = 1e4 ... 1e7 and d = 10, 50, all choices left to the library, one core. Set-up is held
against one plain Hessian pass ``X.T @ (w[:, None] * X)`` over the same data, memory against the rows themselves. Each
measurement has a process of its own; sizes for which memory is short are skipped and say so.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import sys
import time
from pathlib import Path

import numpy as np

from common import (
    CACHE,
    DOCS,
    RESULTS,
    available_memory,
    keep_to_cores,
    machine,
    number,
    print_table,
    run_apart,
    write_json,
)
from problems import simulate

PASSES_GOAL = 6.0
BYTES_GOAL = 64.0
GOAL_SIZE = (1_000_000, 50)


# --------------------------------------------------------------------------------------------- in a process apart


def growth(n_rows: int, d: int, seconds: float) -> dict:
    """Rows per effective draw, and set-up in Hessian passes; medians of three up to a million rows."""
    from common import min_ess
    from own_run import long_run, timed_run

    repeats = 3 if n_rows <= 1_000_000 else 1
    X, y = simulate("logistic", n_rows, d)
    passes = statistics.median(_hessian_seconds(X) for _ in range(repeats))
    timed_run("logistic", X, y, draws=10, limit=seconds)  # compiles
    pilots = [timed_run("logistic", X, y, draws=1000, limit=seconds) for _ in range(repeats)]
    setup = statistics.median(pilot.setup_seconds for pilot in pilots)
    run = long_run("logistic", X, y, pilot=pilots[-1], cap=seconds)
    effective, steps = min_ess(run.draws), len(run.draws)
    rows = float(run.stats["batch_size"].mean())
    return {
        "status": "ok",
        "rows_per_step": rows,
        "acceptance": float(run.stats["acceptance_rate"].mean()),
        "min_ess": effective,
        "ess_per_step": effective / steps,
        "rows_per_effective_draw": rows * steps / effective,
        "ess_per_second": effective / run.sampling_seconds,
        "setup_seconds": setup,
        "hessian_pass_seconds": passes,
        "setup_in_passes": setup / passes,
        "settings": json.loads(run.stats.attrs["settings"]),
    }


def _hessian_seconds(X: np.ndarray) -> float:
    w = np.full(len(X), 0.25)
    started = time.perf_counter()
    X.T @ (w[:, None] * X)
    return time.perf_counter() - started


def memory(n_rows: int, d: int, seconds: float) -> dict:
    """Peak memory of set-up and run beyond X, y, the libraries and the compiled code."""
    from own_run import timed_run

    timed_run("logistic", *simulate("logistic", 5000, d), draws=10, limit=seconds)
    X, y = simulate("logistic", n_rows, d)
    before = _peak_bytes()
    timed_run("logistic", X, y, draws=1000, limit=seconds)
    extra = (_peak_bytes() - before) / n_rows
    return {
        "status": "ok",
        "rows": n_rows,
        "d": d,
        "extra_bytes_per_row": extra,
        "extra_copies": extra / (8 * d),
        "bytes_per_row_beyond_one_copy": extra - 8 * d,
    }


def _peak_bytes() -> float:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else 1024.0 * peak


WORK = {"growth": growth, "memory": memory}


def work(name: str, n_rows: str, d: str, seconds: str, result: str) -> None:
    keep_to_cores(1)
    Path(result).write_text(json.dumps(WORK[name](int(n_rows), int(d), float(seconds))))


# ------------------------------------------------------------------------------------------------------ the report


def apart(name: str, n_rows: int, d: int, seconds: float) -> dict:
    """X, a packed copy that is a little wider, 100 bytes a row for tables, and a gigabyte for the rest."""
    need = n_rows * (8 * (2 * d + 4) + 100) + 1e9
    if need > 0.95 * available_memory():
        return {"status": f"skipped: needs {need / 1e9:.0f} GB, {available_memory() / 1e9:.0f} GB are free"}
    command = [sys.executable, os.path.abspath(__file__), name, str(n_rows), str(d), str(seconds)]
    return run_apart(command, cores=1, timeout=20 * seconds + 600)


def line(result: dict) -> list[str]:
    size = [f"{result['rows']:,} x {result['d']}"]
    if result["status"] != "ok":
        return [*size, result["status"]]
    flag = "*" if result["min_ess"] < 50 else ""
    return [
        *size,
        number(result["rows_per_step"]),
        number(result["ess_per_step"]),
        number(result["rows_per_effective_draw"]) + flag,
        number(result["ess_per_second"]) + flag,
        number(result["setup_seconds"]),
        number(result["hessian_pass_seconds"]),
        number(result["setup_in_passes"]),
    ]


def print_growth(results: list[dict]) -> None:
    columns = ["logistic", "rows/step", "ESS/step", "rows/ESS", "ESS/s", "set-up s", "Hessian pass s", "set-up/pass"]
    print_table("rows touched per effective draw, and set-up", columns, map(line, results))


def print_goals(results: list[dict], used: dict) -> None:
    rows = []
    for result in results:
        if result["status"] == "ok" and (result["rows"], result["d"]) == GOAL_SIZE:
            verdict = "pass" if result["setup_in_passes"] <= PASSES_GOAL else "FAIL"
            rows.append(
                ["set-up, in Hessian passes", f"<= {PASSES_GOAL:g}", number(result["setup_in_passes"]), verdict]
            )
    if used["status"] == "ok":
        beyond = used["bytes_per_row_beyond_one_copy"]
        now = f"{used['extra_copies']:.2f} copies, or one copy {beyond:+.0f} bytes"
        limit = f"one copy + {BYTES_GOAL:g} bytes"
        verdict = "pass" if beyond <= BYTES_GOAL else "FAIL"
        if (used["rows"], used["d"]) != GOAL_SIZE:
            verdict = "too few rows to tell"
        rows.append(["extra memory per row", limit, now, verdict])
    else:
        rows.append(["extra memory per row", "", used["status"], ""])
    print_table(f"goals at {used.get('rows', 0):,} x {used.get('d', 0)}", ["goal", "limit", "now", ""], rows)


def draw(results: list[dict], path: Path) -> None:
    """Rows per effective draw against N, beside what one pass over the data per draw would be."""
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axis = plt.subplots(figsize=(7, 4.5), layout="constrained")
    ran = [result for result in results if result["status"] == "ok"]
    for d, colour in ((10, "#1f77b4"), (50, "#d62728")):
        points = [(result["rows"], result["rows_per_effective_draw"]) for result in ran if result["d"] == d]
        if points:
            axis.plot(*zip(*points, strict=True), color=colour, marker="o", label=f"tunamh, d = {d}")
    sizes = sorted({result["rows"] for result in results})
    axis.plot(sizes, sizes, color="black", linestyle=":", label="one pass over the data")
    axis.set(xscale="log", yscale="log", xlabel="rows", ylabel="rows touched per effective draw")
    axis.set_title("logistic regression")
    axis.grid(alpha=0.3)
    axis.legend(frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="1e4 rows only; files go to benchmarks/.cache")
    parser.add_argument("--seconds", type=float, default=30.0, help="of sampling at most, for each size")
    options = parser.parse_args()
    out, pictures = (CACHE, CACHE) if options.quick else (RESULTS, DOCS)
    report: dict = {"machine": machine(), "growth": [], "memory": {}}
    for n_rows in [10_000] if options.quick else [10_000, 100_000, 1_000_000, 10_000_000]:
        for d in (10, 50):
            print(f"{n_rows:,} x {d} ...", flush=True)
            report["growth"].append({"rows": n_rows, "d": d} | apart("growth", n_rows, d, options.seconds))
            write_json(out / "scaling.json", report)
    size = (10_000, 50) if options.quick else GOAL_SIZE
    report["memory"] = apart("memory", *size, options.seconds)
    write_json(out / "scaling.json", report)
    print_growth(report["growth"])
    print_goals(report["growth"], report["memory"])
    draw(report["growth"], pictures / "scaling.png")


if __name__ == "__main__":
    if sys.argv[1:2] and sys.argv[1] in WORK:
        work(*sys.argv[1:])
    else:
        main()
