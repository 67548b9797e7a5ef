"""Groups whose rows do not fit into memory: what a run needs with `open_rows(scratch=...)`, and without.

    python benchmarks/groups_in_files.py [--groups 1000000] [--rows 10] [--memory 2GiB] [--scratch FOLDER] [--draws 100]

Logistic rows with random intercepts, made block by block; the rows of a group are next to each other. Prints CPU
seconds of set-up and of sampling (two chains), the peak of the process's own memory (pages of files are not in it:
the system takes them back when it needs them), and the bytes that sweeps read.
"""

from __future__ import annotations

import argparse
import threading
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

import tunamh

_PAGE = 4096
_BLOCK = 500_000  # rows


class Blocks:
    """The table of block ``k``."""

    def __init__(self, groups: int, rows: int):
        self.rows, self.effects = rows, 0.7 * np.random.default_rng(0).standard_normal(groups)

    def __call__(self, k: int) -> dict[str, np.ndarray]:
        rng, n = np.random.default_rng([1, k]), len(self.effects) * self.rows
        group = np.arange(k * _BLOCK, min((k + 1) * _BLOCK, n)) // self.rows
        x = rng.standard_normal(len(group))
        eta = -0.5 + 0.4 * x + self.effects[group]
        y = (rng.random(len(group)) < 1 / (1 + np.exp(-eta))).astype(float)
        return {"one": np.ones(len(group)), "x": x, "y": y, "g": group}


class Watch:
    """The peak of the memory that is not that of files."""

    def __init__(self) -> None:
        self.peak = 0
        threading.Thread(target=self._look, daemon=True).start()

    def _look(self) -> None:
        while True:
            with open("/proc/self/statm") as file:
                _, resident, shared, *_ = map(int, file.read().split())
            self.peak = max(self.peak, (resident - shared) * _PAGE)
            time.sleep(0.05)

    def step(self, name: str, function: Callable[[], Any]) -> Any:
        self.peak, began, wall = 0, time.process_time(), time.perf_counter()
        found = function()
        cpu, wall = time.process_time() - began, time.perf_counter() - wall
        print(f"{name}: {cpu:.0f} s of CPU, {wall:.0f} s; memory of its own {self.peak / 1e6:,.0f} MB", flush=True)
        return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--groups", type=int, default=1_000_000)
    parser.add_argument("--rows", type=int, default=10, help="of every group")
    parser.add_argument("--memory", default="2GiB")
    parser.add_argument("--scratch")
    parser.add_argument("--draws", type=int, default=100)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    watch, count = Watch(), -(-given.groups * given.rows // _BLOCK)
    blocks = Blocks(given.groups, given.rows)
    rows = tunamh.open_rows(list(range(count)), reader=blocks, memory=given.memory, scratch=given.scratch)
    made = watch.step("model", lambda: tunamh.MixedModel(rows[["one", "x"]], "y", tunamh.Logistic(), "g"))
    watch.step("set-up", lambda: made.rows)
    run = {"draws": given.draws, "tune": given.draws // 2, "chains": 2, "rng": 1, "progressbar": False}
    posterior = watch.step("sampling", lambda: tunamh.sample(made, **run))
    print(f"{(made.rows.nbytes + made._hyper.nbytes) / 1e6:,.0f} MB of rows and numbers", end="; ")
    print(f"{posterior.sample_stats['batch_size'].values.mean():,.0f} rows per sweep")
    print(tunamh.summary(posterior))


if __name__ == "__main__":
    main()
