"""A newcomer's first minute: what is compiled at the first call, and how long each function takes.

    python benchmarks/first_minute.py [--out benchmarks/results]

Each call runs in a process of its own with an empty cache of compiled code: first with one process that compiles, then
once more with the cache that it left, and then, with another empty cache, with as many processes as `sample` takes.
Seconds of the first are the processor's; those of a function are its own, without those of functions that it made Numba
compile on the way. Seconds of the last are the clock's, and mean little on a busy machine: its load is told. At the end
stands ``tunamh compile``, the clock's seconds and those of all its processes.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
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
from tunamh.compiled import ahead
from numba.core import event

if ALONE:
    ahead.usable_cores = lambda: 1

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


def environment(folder: str) -> dict[str, str]:
    """That of a process whose compiled code is kept there."""
    return os.environ | {"NUMBA_CACHE_DIR": folder, "PYTHONPATH": str(HERE.parent / "src")}


def run(target: str, folder: str, *, alone: bool) -> dict:
    """One call in a process of its own; clock and processor seconds, and what was compiled."""
    command = [sys.executable, "-c", WORKER.replace("TARGET", target).replace("ALONE", str(alone))]
    load = os.getloadavg()[0]
    done = subprocess.run(command, env=environment(folder), check=True, capture_output=True, text=True)
    return json.loads(done.stdout) | {"load": load}


def calls_of(target: str) -> dict:
    """The first call by one process, the next one, and a first call by all processes."""
    with tempfile.TemporaryDirectory() as folder, tempfile.TemporaryDirectory() as another:
        first, again = run(target, folder, alone=True), run(target, folder, alone=True)
        together = run(target, another, alone=False)
    return {"first": first, "again": again, "together": {name: together[name] for name in ("call", "load")}}


def command() -> dict:
    """``tunamh compile logistic groups``, into an empty cache."""
    load, before, began = os.getloadavg()[0], os.times(), time.perf_counter()
    with tempfile.TemporaryDirectory() as folder:
        call = [sys.executable, "-m", "tunamh", "compile", "logistic", "groups"]
        subprocess.run(call, env=environment(folder), check=True, stdout=subprocess.DEVNULL)
    after, clock = os.times(), time.perf_counter() - began
    processor = sum(getattr(after, name) - getattr(before, name) for name in ("children_user", "children_system"))
    return {"clock": clock, "processor": processor, "load": load}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only")
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    figures = {}
    for name, target in TARGETS.items():
        if options.only is not None and options.only != name:
            continue
        figures[name] = calls_of(target)
        found, together = figures[name]["first"], figures[name]["together"]
        rows = [[f, f"{own:.2f}", str(times)] for f, (own, times) in list(found["functions"].items())[:25]]
        compiling = sum(own for own, _ in found["functions"].values())
        again = figures[name]["again"]["call"]
        title = f"{name}: first call {found['call'][1]:.1f} s of the processor, {compiling:.1f} of them compiling"
        clock = f"by the clock {together['call'][0]:.1f} s on {os.cpu_count()} cores (load {together['load']:.1f})"
        print_table(f"{title}; again {again[1]:.1f}; {clock}", ["function", "own seconds", "times"], rows)
    if options.only is None:
        compiled = command()
        print(
            "tunamh compile logistic groups: {clock:.1f} s, processor {processor:.1f} s, load {load:.1f}".format(
                **compiled
            )
        )
        found = {"machine": machine(), "figures": figures, "command": compiled}
        write_json(options.out / "first_minute.json", found)


if __name__ == "__main__":
    main()
