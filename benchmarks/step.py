"""Where the time of a step goes: the parts that `sample` chooses for a regression, each in a loop of its own.

    python benchmarks/step.py [--out benchmarks/results]

Nanoseconds per call on one core, the least of several repeats; the whole step is the chain's own loop. The parts do not
add up to it: in the whole step their caches and predictions disturb each other, and the record costs a little.
"""

from __future__ import annotations

import argparse
import time
from functools import partial
from pathlib import Path

import numba
import numpy as np

import tunamh
from common import RESULTS, machine, print_table, write_json
from problems import make
from tunamh.chains.guard import new_work, parameters_at
from tunamh.chains.loop import ChainSetup, ChainState, advance
from tunamh.chains.metropolis import ROWS, joined
from tunamh.compiled import Move, borrowed
from tunamh.rows.supply import open_stream
from tunamh.sampling.choice import Choice, choose

PROBLEMS = ["logistic-1e4x10", "logistic-1e5x50", "logistic-1e6x50", "student-1e5x100"]
REPEATS = 7


@numba.njit
def repeat_propose(n, rng, here, there, propose, knobs):
    here, there, knobs = borrowed(here), borrowed(there), borrowed(knobs)
    for _ in range(n):
        propose(rng, here, there, knobs)


@numba.njit
def repeat_locate(n, here, theta, model):
    model, here, theta = borrowed(model), borrowed(here), borrowed(theta)
    for _ in range(n):
        model.locate(here, theta, model.data.hyper)


@numba.njit
def repeat_measure(n, here, there, model):
    model, here, there = borrowed(model), borrowed(here), borrowed(there)
    total = 0.0
    for _ in range(n):
        total += model.offset(here, there, model.data.hyper) + model.distance(here, there, model.data.hyper)
    return total


@numba.njit
def repeat_decide(n, rng, theta, prop, distance, model, stream, test, memory, work):
    model, stream, work, memory = borrowed(model), borrowed(stream), borrowed(work), borrowed(memory)
    theta, prop, test = borrowed(theta), borrowed(prop), borrowed(test)
    rows = 0
    for _ in range(n):
        rows += test[0](rng, Move(theta, prop, 0.0, distance), model, stream, test[1], memory, work).rows
    return rows


def nanoseconds(function, n: int, *arguments) -> float:
    function(10, *arguments)
    times = []
    for _ in range(REPEATS):
        started = time.perf_counter()
        function(n, *arguments)
        times.append(time.perf_counter() - started)
    return min(times) / n * 1e9


def chosen(name: str, single: bool) -> Choice:
    """The automatic choice, with features in double or in single precision."""
    problem = make(name)
    model = {"logistic": tunamh.LogisticRegression, "student": partial(tunamh.RobustRegression, scale=1.0)}[
        name.split("-")[0]
    ]
    return choose(model(problem.X.astype(np.float32) if single else problem.X, problem.y), None, None, None)


def measure(name: str, single: bool = False) -> dict:
    choice = chosen(name, single)
    target = choice.proposal.prepare(choice.target)
    test, proposal, model = choice.test.bind(target), choice.proposal.bind(target), target.model()
    rng, work = np.random.default_rng(1), new_work()
    here, there = rng.standard_normal((2, target.dim))
    theta, prop = parameters_at(here, model), parameters_at(there, model)
    distance = model.distance(here, there, model.data.hyper)
    state = ChainState(here.copy(), rng, open_stream(np.random.SeedSequence(1)), test.memory.copy())
    stream, n = state.stream.of(test.supply), 20_000
    decide = (rng, theta, prop, distance, model, stream, (test.decide, test.knobs), state.memory, work)
    setup = ChainSetup(model, joined(proposal, test), work)
    draws, record = np.empty((n, target.dim)), setup.new_record(n)

    def whole_step(n: int) -> None:
        advance(state, setup, draws[:n], record[:n])

    return {
        "problem": name,
        "propose": nanoseconds(repeat_propose, n, rng, here, there.copy(), proposal.propose, proposal.knobs),
        "locate": nanoseconds(repeat_locate, n, here, theta.copy(), model),
        "distance and offset": nanoseconds(repeat_measure, n, here, there, model),
        "decide": nanoseconds(repeat_decide, n, *decide),
        "rows in decide": repeat_decide(n, *decide) / n,
        "whole step": nanoseconds(whole_step, n),
        "rows per step": float(record[:, ROWS].mean()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    results = [measure(name) | {"the same from float32": measure(name, single=True)["whole step"]} for name in PROBLEMS]
    columns = list(results[0])
    cells = [
        [r[c] if c == "problem" else f"{r[c]:,.0f}" if "rows" not in c else f"{r[c]:,.1f}" for c in columns]
        for r in results
    ]
    print_table("nanoseconds", columns, cells)
    write_json(options.out / "step.json", {"machine": machine(), "results": results})


if __name__ == "__main__":
    main()
