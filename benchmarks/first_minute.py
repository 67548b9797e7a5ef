"""A newcomer's first minute: what is compiled at the first call, and how long each function takes.

    python benchmarks/first_minute.py [--out benchmarks/results]

Each call runs in a process of its own with an empty cache of compiled code, then once more with the cache it left.
Seconds are the processor's, of the thread that compiles: a function's own, without those of functions that it made
Numba compile on the way.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from common import HERE, RESULTS, machine, print_table, write_json

TARGETS = {
    "logistic": "tunamh.LogisticRegression(X, y)",
    "Student-t, scale unknown": "tunamh.GLM(X, X[:, 0] + Z, tunamh.StudentT(df=4))",
    "groups": "tunamh.MixedModel(X, y, tunamh.Logistic(), groups=codes)",
}

WORKER = """
import json, sys, time, warnings
warnings.simplefilter("ignore")
began = time.perf_counter(), time.process_time()
import numpy as np
import tunamh
from numba.core import event

spent, stack = {}, []

class Listener(event.Listener):
    def on_start(self, seen):
        stack.append([time.thread_time(), 0.0])

    def on_end(self, seen):
        start, inner = stack.pop()
        whole = time.thread_time() - start
        if stack:
            stack[-1][1] += whole
        function = seen.data["dispatcher"].py_func
        name = f"{function.__module__}.{function.__qualname__}".replace("tunamh.", "", 1)
        own, times = spent.get(name, (0.0, 0))
        spent[name] = (own + whole - inner, times + 1)

event.register("numba:compile", Listener())
imported = time.perf_counter(), time.process_time()
rng = np.random.default_rng(0)
X, Z, codes = rng.standard_normal((50_000, 5)), rng.standard_normal(50_000), rng.integers(50, size=50_000)
y = rng.random(50_000) < 1 / (1 + np.exp(-X[:, 0]))
started = time.perf_counter(), time.process_time()
tunamh.sample(TARGET, draws=200, rng=1, progressbar=False)
ended = time.perf_counter(), time.process_time()
print(json.dumps({
    "import": [b - a for a, b in zip(began, imported)],
    "call": [b - a for a, b in zip(started, ended)],
    "functions": {name: found for name, found in sorted(spent.items(), key=lambda item: -item[1][0])},
}))
"""


def run(target: str, folder: str) -> dict:
    """One call in a process of its own; clock and processor seconds, and what was compiled."""
    environment = os.environ | {"NUMBA_CACHE_DIR": folder, "PYTHONPATH": str(HERE.parent / "src")}
    command = [sys.executable, "-c", WORKER.replace("TARGET", target)]
    return json.loads(subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    figures = {}
    for name, target in TARGETS.items():
        if options.only is not None and options.only != name:
            continue
        with tempfile.TemporaryDirectory() as folder:
            figures[name] = {"first": run(target, folder), "again": run(target, folder)}
        found = figures[name]["first"]
        rows = [[f, f"{own:.2f}", str(times)] for f, (own, times) in list(found["functions"].items())[:25]]
        compiling = sum(own for own, _ in found["functions"].values())
        again = figures[name]["again"]["call"]
        title = f"{name}: first call {found['call'][1]:.1f} s of the processor, {compiling:.1f} of them compiling"
        print_table(f"{title}; again {again[1]:.1f}", ["function", "own seconds", "times"], rows)
    if options.only is None:
        write_json(options.out / "first_minute.json", {"machine": machine(), "figures": figures})


if __name__ == "__main__":
    main()
