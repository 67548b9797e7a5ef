"""What a sweep costs for each row where groups are thin, beside a plain pass over the packed rows.

    python benchmarks/groups_per_row.py [--only thin,crossed] [--sweeps 200] [--out FOLDER]

Logistic rows of ten columns, as in `groups_device.py`. The plain pass computes the rows' logistic energies at two
points, block by block, by the model's own compiled functions; it decides nothing. Nanoseconds are those of the
processor, one core. "groups' own" are sweeps that move the effects alone.
"""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import Any

import numpy as np

from common import RESULTS, keep_to_cores, machine, number, print_table, write_json
from group_problems import GroupProblem, target
from groups_device import PROBLEMS
from tunamh.chains.loop import ChainState, advance, setup_of
from tunamh.compiled import BLOCK, helper
from tunamh.groups.sweep import EFFECTS_ALONE, Sweep
from tunamh.rows.supply import open_stream

THIN = ("thin", "crossed", "1e6-thin")
COLUMNS = ["", "a sweep", "of it the groups' own moves", "a plain pass", "sweep / pass", "rows read / rows"]
_PASSES = 5


@helper(cache=False)
def plain(theta, prop, n_rows, model, work):
    """The rise of all rows' energies."""
    total = 0.0
    for start in range(0, n_rows, BLOCK):
        n = min(BLOCK, n_rows - start)
        for b in range(n):
            work.index[b] = start + b
        model.differences(theta, prop, work.index, 0, n, model.data, work.rise, work.bound)
        for b in range(n):
            total += work.rise[b]
    return total


def measure(problem: GroupProblem, sweeps: int) -> dict:
    model, seed = target(problem, keep_effects=False), np.random.SeedSequence(0)
    kernel, n, kept = Sweep().alone(model), len(problem.y), model.p + model.m
    rng = np.random.default_rng(1)
    setup = setup_of(model, kernel, seed)
    state = ChainState(model.start(rng), rng, open_stream(seed), kernel.first_memory.copy())
    _seconds(state, setup, 20, kept)
    of_sweep, record = _seconds(state, setup, sweeps, kept)
    alone, _ = _seconds(state, setup_of(model, kernel._replace(knobs=EFFECTS_ALONE), seed), sweeps, kept)
    here, there, least = state.here, state.here.copy(), np.inf
    there[0] += 0.01
    for _ in range(1 + _PASSES):
        used = time.process_time()
        plain(here, there, n, setup.model, setup.work)
        least = min(least, time.process_time() - used)
    return {
        "rows": n,
        "groups": problem.groups,
        "sweep_ns": 1e9 * of_sweep / n,
        "effects_ns": 1e9 * alone / n,
        "pass_ns": 1e9 * least / n,
        "rows_read": float(setup.statistics.rows(record).mean()) / n,
        "acceptance": float(record[:, 1].mean()),
    }


def _seconds(state: ChainState, setup: Any, sweeps: int, recorded: int) -> tuple[float, np.ndarray]:
    record, draws = setup.new_record(sweeps), np.empty((sweeps, recorded))
    used = time.process_time()
    advance(state, setup, draws, record)
    return (time.process_time() - used) / sweeps, record


def cells(name: str, found: dict) -> list[str]:
    figures = [found["sweep_ns"], found["effects_ns"], found["pass_ns"], found["sweep_ns"] / found["pass_ns"]]
    return [PROBLEMS[name][0], *map(number, figures), number(found["rows_read"])]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default=",".join(THIN), help=f"separated by commas: {', '.join(PROBLEMS)}")
    parser.add_argument("--sweeps", type=int, default=100)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    keep_to_cores(1)
    path = given.out / "groups_per_row.json"
    report: dict = {"machine": machine(), "problems": {}}
    for name in given.only.split(","):
        report["problems"][name] = measure(PROBLEMS[name][1](), given.sweeps)
        write_json(path, report)
    rows = [cells(name, found) for name, found in report["problems"].items()]
    print_table("Nanoseconds for each row", COLUMNS, rows)


if __name__ == "__main__":
    main()
