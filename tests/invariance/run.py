"""The long form: every family in every kernel, and every defect put back. `make exactness` runs it, for about an hour.

    python tests/invariance/run.py --points 3000 --processes 2 --defects --page docs/exact.md

prints a line for every cell of the table, and writes JSON and the tables of the page.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from families import FAMILIES
from harness import reference_draws, verdict
from kept_draws import POINTS, kept_draws, seed_of
from kernels import LeftOut, kernels_for, made_ready

from long_form import limit, write_page
from page import STEPS, replace_rows, rows_of, rows_of_defects, written
from problems import STRUCTURES, Problem

GATHERED = ("Gaussian, known", "Student-t, known", "logistic", "probit", "Poisson", "exponential")
"""Families whose rows are gathered: every decision on all rows is a map that packs and bounds them anew."""

GROWING = (
    *("Gaussian, known", "Huber, known", "exponential", "gamma, known", "logistic", "probit", "cloglog"),
    *("Poisson", "softplus Poisson", "negative binomial, known"),
)
"""Families that rows are added to and taken from: of one predictor and one mode, with nothing unknown beside it."""

_MADE: dict[tuple[str, str, int], tuple[Problem, np.ndarray]] = {}


def problem_and_draws(where: str, name: str, points: int) -> tuple[Problem, np.ndarray]:
    """Made once for all kernels of a posterior."""
    key = (where, name, points)
    if key not in _MADE:
        _MADE.clear()
        problem = Problem(name, where)
        draws = kept_draws(problem) if points == POINTS else None
        if draws is None:
            draws = reference_draws(problem, points, np.random.default_rng(seed_of(problem)))
        _MADE[key] = problem, draws
    return _MADE[key]


def posteriors() -> Iterator[tuple[str, str]]:
    """Structures and families that go together."""
    for where, structure in STRUCTURES.items():
        for name, family in FAMILIES.items():
            plain = not (structure.factors or structure.beside or structure.gathered or structure.growing)
            if structure.curved != (structure.curved and bool(family.described)):
                continue
            if structure.factors and not (family.groups or structure.further or structure.curved):
                continue
            if structure.further and not family.described:
                continue
            if (structure.gathered and name not in GATHERED) or (structure.growing and name not in GROWING):
                continue
            if structure.prior == "two scales" and (family.classes or not family.intercept):
                continue
            if "weights" in structure.beside and family.classes:
                continue
            if plain or structure.further or structure.curved or not family.described:
                yield where, name


OF_TWO_FAMILIES = ("crossed, grouped prior", "prior by shares", "groups, prior by shares")
OF_CURVES = ("logistic", "Gaussian", "negative binomial")
EVERY_FAMILY = {"columns": "joint, minibatch$|as chosen$", "groups": "sweep$|own move$"}
EVERY_FAMILY |= {"curves": EVERY_FAMILY["columns"], "groups, curves": EVERY_FAMILY["groups"]}
SOME = ("logistic", "Student-t", "Gaussian", "negative binomial", "zero-inflated", "own, Cauchy")


def short_form() -> list[tuple[str, str, str]]:
    """Structures, families and kernels of the short form: every family in the kernels that `sample` takes most, and
    every kernel of some families."""
    found = []
    for where, name in posteriors():
        if (STRUCTURES[where].df or STRUCTURES[where].related) and name not in ("logistic", "Gaussian"):
            continue
        if where in OF_TWO_FAMILIES and name not in ("logistic", "Gaussian"):
            continue
        if STRUCTURES[where].curved and where != "curves in two predictors" and name != "Gaussian, described":
            continue
        if STRUCTURES[where].splines:
            found += [(where, name, EVERY_FAMILY[where])] if name in OF_CURVES else []
            continue
        if name in SOME or STRUCTURES[where].further or STRUCTURES[where].curved:
            found.append((where, name, ""))
        elif where in EVERY_FAMILY:
            found.append((where, name, EVERY_FAMILY[where]))
    return found


def run_posterior(
    where: str, name: str, points: int, only: str = "", steps: int = STEPS, seed: int = 1
) -> list[dict[str, Any]]:
    """One line for every kernel; those that `sample` would refuse are left out."""
    found = []
    for kernel, ready in kernels_for(where).items():
        if not re.search(only, f"{where} | {name} | {kernel}"):
            continue
        line: dict[str, Any] = {"where": where, "family": name, "kernel": kernel}
        began = time.perf_counter()
        try:
            problem, draws = problem_and_draws(where, name, points)
            mover = made_ready(ready, problem)
            line |= vars(verdict(mover, problem, draws, steps, seed))
        except LeftOut:
            continue
        except Exception as error:  # a line of the table too: nothing is hidden
            line["error"] = f"{type(error).__name__}: {error}"
        found.append({**line, "seconds": round(time.perf_counter() - began, 1)})
    return found


def run_all(points: int, processes: int, only: str) -> list[dict[str, Any]]:
    """In processes of their own, a posterior each."""
    lines: list[dict[str, Any]] = []
    wanted = [
        (where, name)
        for where, name in posteriors()
        if any(re.search(only, f"{where} | {name} | {kernel}") for kernel in kernels_for(where))
    ]
    with ProcessPoolExecutor(processes) as pool:
        jobs = [pool.submit(run_posterior, where, name, points, only) for where, name in wanted]
        for job in as_completed(jobs):
            lines += job.result()
            for line in job.result():
                print(described(line), flush=True)
    return lines


def described(line: dict[str, Any]) -> str:
    what = f"{line['where']} | {line['family']} | {line['kernel']}"
    if "error" in line:
        return f"ERROR {what}: {line['error']}"
    mark = "WRONG " if line["largest"] > limit(100_000) else ""
    return f"{mark}{what}: {line['largest']:.2f} of {line['tests']}, moved {line['moved']:.2f}, {line['seconds']} s"


# ------------------------------------------------------------------------------------------------------- the defects


def defects_found(points: int, processes: int, only: str) -> dict[str, float]:
    """Of every defect that is put back, the largest score of the cell that must notice."""
    from defects import DEFECTS, score_with

    def score(name: str) -> float:
        with tempfile.TemporaryDirectory() as folder:
            return score_with(DEFECTS[name], Path(folder), points)

    found, names = {}, [name for name in DEFECTS if re.search(only, name)]
    with ThreadPoolExecutor(processes) as pool:
        for name, value in zip(names, pool.map(score, names), strict=True):
            print(f"{name}: {value:.1f}", flush=True)
            found[name] = value
    return found


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--points", type=int, default=3000, help="draws of every posterior; two thirds are moved")
    options.add_argument("--processes", type=int, default=2)
    options.add_argument("--only", default="", help="a regular expression of 'structure | family | kernel'")
    options.add_argument(
        "--defects",
        nargs="?",
        const="",
        help="put known defects back, and see whether they are found; a regular expression of their names",
    )
    options.add_argument("--json", type=Path)
    options.add_argument("--page", type=Path)
    given = options.parse_args()
    lines = run_all(given.points, given.processes, given.only)
    found = {} if given.defects is None else defects_found(3 * given.points, given.processes, given.defects)
    if given.json:
        given.json.write_text(json.dumps(lines, indent=1))
    text = written(rows_of(lines), rows_of_defects(found), given.points)
    print(text)
    if given.page and (given.only or given.defects):
        replace_rows(given.page, lines, found, given.points)
    elif given.page:
        write_page(given.page, "invariance", text)
    tests = sum(line.get("tests", 0) for line in lines)
    wrong = [line for line in lines if "error" in line or line["largest"] > limit(tests)]
    missed = [name for name, value in found.items() if not value > limit(tests)]
    for line in wrong:
        print(described(line))
    for name in missed:
        print(f"MISSED {name}")
    sys.exit(bool(wrong or missed))


if __name__ == "__main__":
    main()
