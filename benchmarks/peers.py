"""Effective draws per second of tunamh and of its peers, on the same data and the same number of cores.

    python benchmarks/peers.py [--quick] [--cap 120] [--cores 1] [--only logistic-1e5x50,mnist79] [--samplers tunamh]

Logistic and Student-t regression with flat priors over N = 1e4, 1e5, 1e6 and d = 10, 50, 100, and MNIST 7 v 9. Each
sampler runs each problem in a process of its own (`peer_workers.py`), killed when it takes too long; what fails is
reported and never fatal. Peers run in benchmarks/.peers-venv (``make bench`` makes it). Effective draws are ArviZ's
bulk ESS of the worst parameter; set-up (compiling, warm-up, tunamh's passes over the data) is told apart from sampling.

A run replaces in benchmarks/results/peers.json what it measures and keeps the rest, each result with its date;
``--resume`` skips what is there. `peers_report.py` prints the tables and draws the picture from that file.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path

import peers_report
from common import CACHE, DOCS, HERE, RESULTS, machine, run_apart, write_json
from peer_workers import SAMPLERS, save
from problems import make

PEERS_PYTHON = HERE / ".peers-venv" / "bin" / "python"
GRID = [
    f"{family}-{n_rows}x{d}"
    for n_rows in ("1e4", "1e5", "1e6")
    for d in (10, 50, 100)
    for family in ("logistic", "student")
]
PROBLEMS = ["mnist79", *GRID]
QUICK = ["logistic-1e4x10", "student-1e4x10"]


def applies(sampler: str, problem: str) -> bool:
    """A dense mass matrix can only help where columns are correlated; pymhss knows no Student-t regression."""
    if sampler == "numpyro-dense":
        return problem == "mnist79"
    return not (sampler == "pymhss" and problem.startswith("student"))


def measure(sampler: str, folder: Path, cap: float, cores: int) -> dict:
    """Set-up may take three times the cap and two minutes for compiling before it is called off."""
    python = Path(sys.executable) if sampler == "tunamh" else PEERS_PYTHON
    if not python.exists():
        return {"status": "not installed: benchmarks/.peers-venv is missing, make bench makes it"}
    command = [str(python), str(HERE / "peer_workers.py"), sampler, str(folder), str(cap), str(cores)]
    return run_apart(command, cores=cores, timeout=4 * cap + 120) | {"cap": cap, "cores": cores}


def opened(path: Path) -> dict:
    """The report so far; figures of another processor do not mix with those of this one."""
    here = machine()
    if path.exists():
        report = json.loads(path.read_text())
        if report["machine"]["processor"] == here["processor"]:
            return report | {"machine": here}
        print(f"{path.name} is from another machine ({report['machine']['processor']}) and is begun anew")
    return {"machine": here, "problems": {}}


def run_problem(name: str, samplers: list[str], cap: float, cores: int, report: dict, path: Path) -> None:
    """All samplers on one problem; every result is written at once."""
    results = report["problems"].setdefault(name, {})
    folder = CACHE / "problem"
    try:
        save(make(name), folder)
        for sampler in samplers:
            print(f"{name}: {sampler} ...", flush=True)
            results[sampler] = measure(sampler, folder, cap, cores)
            write_json(path, report)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def chosen(given: str | None, known: list[str], default: list[str]) -> list[str]:
    if given is None:
        return default
    names = given.split(",")
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"unknown: {', '.join(unknown)}; choose from {', '.join(known)}")
    return names


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="1e4 x 10 only, cap 5; files go to benchmarks/.cache")
    parser.add_argument("--cap", type=float, help="seconds of sampling (120)")
    parser.add_argument("--cores", type=int, default=1, help="for each sampler")
    parser.add_argument("--only", help=f"problems, separated by commas: {', '.join(PROBLEMS)}")
    parser.add_argument("--samplers", help=f"separated by commas: {', '.join(SAMPLERS)}")
    parser.add_argument("--resume", action="store_true", help="skip what the file already has")
    options = parser.parse_args()
    cap = options.cap or (5.0 if options.quick else 120.0)
    problems = chosen(options.only, PROBLEMS, QUICK if options.quick else PROBLEMS)
    samplers = chosen(options.samplers, list(SAMPLERS), list(SAMPLERS))
    path, picture = (CACHE, CACHE) if options.quick else (RESULTS, DOCS)
    path, picture = path / "peers.json", picture / "peers.png"
    report = opened(path)
    for name in problems:
        done = report["problems"].get(name, {}) if options.resume else {}
        todo = [sampler for sampler in samplers if applies(sampler, name) and sampler not in done]
        if todo:
            run_problem(name, todo, cap, options.cores, report, path)
        peers_report.print_problem(name, report["problems"].get(name, {}))
    peers_report.print_goals(report)
    peers_report.draw(report, picture)


if __name__ == "__main__":
    main()
