"""The long form: every family in every kernel, and every defect put back. `make exactness` runs it, for about an hour.

    python tests/invariance/run.py --points 3000 --processes 2 --defects --page docs/exact.md

prints a line for every cell of the table, and writes JSON and the tables of the page.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor, as_completed
from datetime import UTC, datetime
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
from problems import STRUCTURES, Problem

STEPS = 8
GATHERED = ("Gaussian, known", "Student-t, known", "logistic", "probit", "Poisson", "exponential")
"""Families whose rows are gathered: every decision on all rows is a map that packs and bounds them anew."""

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
            plain = not (structure.factors or structure.beside or structure.gathered)
            if structure.factors and not (family.groups or structure.further):
                continue
            if structure.further and not family.described:
                continue
            if structure.gathered and name not in GATHERED:
                continue
            if "weights" in structure.beside and family.classes:
                continue
            if plain or structure.further or not family.described:
                yield where, name


OF_TWO_FAMILIES = ("crossed, grouped prior", "prior by shares", "groups, prior by shares")
EVERY_FAMILY = {"columns": "joint, minibatch$|as chosen$", "groups": "sweep$|own move$"}
SOME = ("logistic", "Student-t", "Gaussian", "negative binomial", "zero-inflated", "own, Cauchy")


def short_form() -> list[tuple[str, str, str]]:
    """Structures, families and kernels of the short form: every family in the kernels that `sample` takes most, and
    every kernel of some families."""
    found = []
    for where, name in posteriors():
        if STRUCTURES[where].df and name not in ("logistic", "Gaussian"):
            continue
        if where in OF_TWO_FAMILIES and name not in ("logistic", "Gaussian"):
            continue
        if name in SOME or STRUCTURES[where].further:
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


# -------------------------------------------------------------------------------------------------------- the table


def table(lines: list[dict[str, Any]]) -> str:
    """One row for every kernel and structure: families, tests, the largest score."""
    rows = ["| posterior | kernel | families | tests | largest z |", "|---|---|---:|---:|---:|"]
    keys = dict.fromkeys((line["where"], line["kernel"]) for line in lines)
    order = list(STRUCTURES)
    for where, kernel in sorted(keys, key=lambda key: order.index(key[0])):
        of = [line for line in lines if (line["where"], line["kernel"]) == (where, kernel) and "error" not in line]
        if of:
            tests, largest = sum(line["tests"] for line in of), max(line["largest"] for line in of)
            rows.append(f"| {where} | {kernel} | {len(of)} | {tests:,} | {largest:.2f} |")
    return "\n".join(rows)


def summary(lines: list[dict[str, Any]], points: int) -> str:
    fine = [line for line in lines if "error" not in line]
    tests, largest = sum(line["tests"] for line in fine), max(line["largest"] for line in fine)
    return _told(len(fine), tests, largest, points)


def _told(cells: int, tests: int, largest: float, points: int) -> str:
    return (
        f"{cells:,} cells, {tests:,} tests of {points - points // 3:,} draws, {STEPS} steps each. Largest score: "
        f"{largest:.2f}. If every kernel is exact, the largest of so many scores exceeds {limit(tests, 0.05):.2f} in "
        f"one table of twenty. {platform.machine()}, {datetime.now(UTC):%Y-%m-%d}."
    )


def replace_rows(page: Path, lines: list[dict[str, Any]], points: int) -> None:
    """Rows of the page's table that were run again, with all of their families, replace those there."""
    text = page.read_text().split("<!-- invariance: begin -->\n")[1].split("\n<!-- invariance: end -->")[0]
    _, tabled, *defects = text.split("\n\n")
    new = {_key(row): row for row in table(lines).splitlines()[2:]}
    head, rows = tabled.splitlines()[:2], tabled.splitlines()[2:]
    for k, row in enumerate(rows):
        again = new.get(_key(row), row)
        if _counts(again)[0] >= _counts(row)[0]:
            rows[k] = again
    families, tests, largest = zip(*map(_counts, rows), strict=True)
    told = _told(sum(families), sum(tests), max(largest), points)
    write_page(page, "invariance", "\n\n".join([told, "\n".join([*head, *rows]), *defects]))


def _key(row: str) -> tuple[str, str]:
    posterior, kernel, *_ = row.strip("| ").split(" | ")
    return posterior, kernel


def _counts(row: str) -> tuple[int, int, float]:
    """Families, tests and the largest score of a row of the table."""
    families, tests, largest = row.strip("| ").split(" | ")[-3:]
    return int(families), int(tests.replace(",", "")), float(largest)


def defects_found(points: int, processes: int) -> dict[str, float]:
    """Of every defect that is put back, the largest score of the cell that must notice."""
    from defects import DEFECTS, score_with

    def score(name: str) -> float:
        with tempfile.TemporaryDirectory() as folder:
            return score_with(DEFECTS[name], Path(folder), points)

    found = {}
    with ThreadPoolExecutor(processes) as pool:
        for name, value in zip(DEFECTS, pool.map(score, DEFECTS), strict=True):
            print(f"{name}: {value:.1f}", flush=True)
            found[name] = value
    return found


def table_of_defects(found: dict[str, float]) -> str:
    from defects import DEFECTS

    rows = ["| a defect put into the sources | noticed in | largest z |", "|---|---|---:|"]
    for name, value in found.items():
        cell = DEFECTS[name].cell.replace(" | ", ", ")
        rows.append(f"| {name} | {cell} | {'an error' if np.isinf(value) else f'{value:.1f}'} |")
    return "\n".join(rows)


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--points", type=int, default=3000, help="draws of every posterior; two thirds are moved")
    options.add_argument("--processes", type=int, default=2)
    options.add_argument("--only", default="", help="a regular expression of 'structure | family | kernel'")
    options.add_argument(
        "--defects", action="store_true", help="put known defects back, and see whether they are found"
    )
    options.add_argument("--json", type=Path)
    options.add_argument("--page", type=Path)
    given = options.parse_args()
    lines = run_all(given.points, given.processes, given.only)
    text = f"{summary(lines, given.points)}\n\n{table(lines)}"
    found = defects_found(3 * given.points, given.processes) if given.defects else {}
    if found:
        text += f"\n\n{table_of_defects(found)}"
    print(text)
    if given.json:
        given.json.write_text(json.dumps(lines, indent=1))
    if given.page and given.only:
        replace_rows(given.page, lines, given.points)
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
