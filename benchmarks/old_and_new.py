"""Is a step as fast as it was? The figures of `step.py` and `rows_per_second.py`, an older commit against this tree.

    python benchmarks/old_and_new.py [--old COMMIT] [--repeats 4] [--problems NAME ...] [--quick] [--out FOLDER]

The older commit is unpacked into a temporary folder, and its own scripts measure its own package. Each measurement is a
process of its own on one core, old and new in turns, the order changing from pair to pair; both have compiled their
code before. Time is the processor's, so that what else runs on the machine counts through the caches only. Figures are
medians over the repeats, ``new / old`` is the median of the pairs' ratios, with the least and the greatest beside it
and the ratio of the least times, which a busy machine disturbs less. The bare gather belongs to no version: how far its
ratios are from 1 is how much the machine itself varies. Eight minutes with the problems of `PROBLEMS`; the larger ones
of `step.py` take longer.
"""

from __future__ import annotations

import argparse
import io
import json
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path
from statistics import median

from common import CACHE, HERE, RESULTS, keep_to_cores, machine, number, print_table, run_apart, write_json

ROOT = HERE.parent
BEFORE = "7c8f1aa"  # before priors were potentials and designs a role
PROBLEMS = ["logistic-1e4x10", "logistic-1e5x50", "logistic-1e6x50", "student-1e5x50"]
TO_COMPILE = ["logistic-1e4x10", "student-1e4x10"]
SIZES = [[10_000, 50], [1_000_000, 50]]
REPEATS = 4
TOLERATED = 1.03
TIMEOUT = 300.0

# What a tree's own scripts measure, by figure. It runs with that tree's folders alone before the installed packages.
WORKER = """
import functools, json, sys, time
from pathlib import Path

time.perf_counter = time.thread_time  # by which the scripts time their loops, all of one thread

tree, problems, sizes, result = sys.argv[1], json.loads(sys.argv[2]), json.loads(sys.argv[3]), sys.argv[4]
sys.path[:0] = [tree + "/src", tree + "/benchmarks"]
import rows_per_second, step, tunamh

for module in (rows_per_second, step, tunamh):
    assert Path(module.__file__).is_relative_to(tree), f"{module.__file__} is not in {tree}"
step.make = functools.cache(step.make)
figures = {}
for name in problems:
    found = step.measure(name)
    found["whole step from float32"] = step.measure(name, single=True)["whole step"]
    figures |= {f"{name}: {part}": value for part, value in found.items() if part != "problem"}
    step.make.cache_clear()
for n_rows, d in sizes:
    for found in rows_per_second.measure(n_rows, d, [50, 500]):
        size = f"{n_rows:.0e}x{d}".replace("+0", "")
        figures |= {f"{size}: {part}, a row": found[f"{part}_ns"] for part in ("bare_prefetched", "mh_pass")}
        figures[f"{size}: TunaMH at batch {found['batch']}, a row"] = found["tunamh_ns"]
Path(result).write_text(json.dumps(figures))
"""


def unpack(commit: str, folder: Path) -> None:
    archive = subprocess.run(["git", "archive", commit, "src", "benchmarks"], cwd=ROOT, check=True, capture_output=True)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as files:
        files.extractall(folder, filter="data")


def commit_of(name: str) -> str:
    command = ["git", "rev-parse", "--short", name]
    return subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True).stdout.strip()


def measure(tree: Path, problems: list[str], sizes: list[list[int]]) -> dict[str, float]:
    command = [sys.executable, "-P", "-c", WORKER, str(tree), json.dumps(problems), json.dumps(sizes)]
    found = run_apart(command, cores=1, timeout=TIMEOUT)
    if "status" in found:
        raise SystemExit("\n".join([f"{tree}: {found['status']}", *found.get("log", [])]))
    return found


def compare(
    old: Path, new: Path, repeats: int, problems: list[str], sizes: list[list[int]]
) -> dict[str, list[dict[str, float]]]:
    """Figures of every repeat, by version."""
    trees = {"old": old, "new": new}
    for version, tree in trees.items():
        print(f"compiling: {version} ...", flush=True)
        measure(tree, TO_COMPILE, SIZES[:1])
    found: dict[str, list[dict[str, float]]] = {version: [] for version in trees}
    for k in range(repeats):
        for version in list(trees)[:: -1 if k % 2 else 1]:
            print(f"repeat {k + 1}: {version} ...", flush=True)
            found[version].append(measure(trees[version], problems, sizes))
    return found


def summary(found: dict[str, list[dict[str, float]]]) -> dict[str, dict]:
    figures = {}
    for name in found["old"][0]:
        old, new = ([figures[name] for figures in found[version]] for version in ("old", "new"))
        ratios = [b / a for a, b in zip(old, new, strict=True)]
        figures[name] = {
            "old": median(old),
            "new": median(new),
            "ratio": median(ratios),
            "least": min(ratios),
            "greatest": max(ratios),
            "ratio_of_least": min(new) / min(old),
            "all": {"old": old, "new": new},
        }
    return figures


def report(figures: dict[str, dict]) -> None:
    rows = []
    for name, f in figures.items():
        judged = "slower in every pair" if f["least"] > TOLERATED and "rows" not in name else ""
        ratios = [f"{f[key]:.3f}" for key in ("ratio", "least", "greatest", "ratio_of_least")]
        rows.append([name, number(f["old"], 4), number(f["new"], 4), *ratios, judged])
    columns = [
        "nanoseconds, or rows",
        "old",
        "new",
        "new / old",
        "least",
        "greatest",
        "of the least",
        f"beyond {TOLERATED}",
    ]
    print_table("An older commit against this tree", columns, rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--old", default=BEFORE, metavar="COMMIT")
    parser.add_argument("--repeats", type=int, default=REPEATS, help="pairs of old and new")
    parser.add_argument("--problems", nargs="*", metavar="NAME", help="problems of step.py")
    parser.add_argument("--quick", action="store_true", help="one small problem; the file goes to benchmarks/.cache")
    parser.add_argument("--out", type=Path, help="folder for old_and_new.json")
    options = parser.parse_args()
    path = (options.out or (CACHE if options.quick else RESULTS)) / "old_and_new.json"
    problems, sizes = (PROBLEMS[:1], SIZES[:1]) if options.quick else (PROBLEMS, SIZES)
    problems = problems if options.problems is None else options.problems
    keep_to_cores(1)
    with tempfile.TemporaryDirectory() as folder:
        unpack(options.old, Path(folder))
        found = compare(Path(folder), ROOT, options.repeats, problems, sizes)
    figures = summary(found)
    report(figures)
    commits = {"old": commit_of(options.old), "new": commit_of("HEAD")}
    write_json(path, {"machine": machine(), "commits": commits, "repeats": options.repeats, "figures": figures})


if __name__ == "__main__":
    main()
