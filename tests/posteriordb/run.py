"""The library against the reference draws of posteriordb, ten chains of 1,000 draws of each posterior, made by NUTS.

    python tests/posteriordb/run.py --posteriordb PATH --page docs/exact.md

PATH is a copy of the database: a git checkout, bare or not, or its folder `posterior_database`. A line is printed for
every posterior; `make exactness POSTERIORDB=PATH` runs this too.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import re
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_NUM_THREADS", "1")
os.environ.setdefault("CI", "true")  # no progress bars
sys.path.insert(0, str(Path(__file__).parents[1]))
sys.path.insert(0, str(Path(__file__).parent))

import numpy as np
from compare import all_compared
from database import Database

from long_form import limit, write_page


def described(line: dict[str, Any]) -> str:
    if "left out" in line:
        return f"left out {line['posterior']}: {line['left out']}"
    if "error" in line:
        return f"ERROR {line['posterior']}: {line['error']}"
    warned = f", {', '.join(line['warned'])}" if line["warned"] else ""
    return (
        f"{line['posterior']}: {line['parameters']} parameters, {line['comparisons']} comparisons, "
        f"rms {line['rms']:.2f}, largest {line['largest']:.2f} ({line['where']}), "
        f"{line['effective']:,} effective draws, {line['seconds']} s{warned}"
    )


def table(lines: list[dict[str, Any]]) -> str:
    head = "| posterior | parameters | comparisons | effective draws, tunamh | root mean square of z | largest abs(z) |"
    rows = (
        f"| {line['posterior']} | {line['parameters']} | {line['comparisons']} | {line['effective']:,} | "
        f"{line['rms']:.2f} | {line['largest']:.2f} |"
        for line in lines
    )
    return "\n".join([head, "|---|---:|---:|---:|---:|---:|", *rows])


def summary(fine: list[dict[str, Any]], left_out: list[str]) -> str:
    tests = sum(line["comparisons"] for line in fine)
    rms = np.sqrt(sum(line["comparisons"] * line["rms"] ** 2 for line in fine) / tests)
    largest = max(line["largest"] for line in fine)
    others = f" Left out: {', '.join(left_out)}." if left_out else ""
    return (
        f"There are {tests:,} comparisons for {len(fine)} posteriors. The root mean square of all z scores is "
        f"{rms:.2f}; 1 is expected. The largest is {largest:.2f}. If\nevery sampler is exact, the largest of so many "
        f"exceeds {limit(tests, 0.05):.2f} in only one of twenty such tables.{others} "
        f"{platform.machine()}, {datetime.now(UTC):%Y-%m-%d}."
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--posteriordb", type=Path, required=True, help="a copy of the database")
    options.add_argument("--only", default="", help="a regular expression of the posteriors' names")
    options.add_argument("--json", type=Path)
    options.add_argument("--page", type=Path)
    given = options.parse_args()
    lines = []
    for line in all_compared(Database(given.posteriordb), re.compile(given.only).search):
        print(described(line), flush=True)
        lines.append(line)
    fine = [line for line in lines if "largest" in line]
    if not fine:
        sys.exit("nothing was compared")
    text = f"{summary(fine, [line['posterior'] for line in lines if 'left out' in line])}\n\n{table(fine)}"
    print(f"\n{text}")
    if given.json:
        given.json.write_text(json.dumps(lines, indent=1))
    if given.page:
        write_page(given.page, "posteriordb", text)
    highest = limit(sum(line["comparisons"] for line in fine))
    wrong = [line for line in lines if "error" in line or line.get("largest", 0.0) > highest]
    for line in wrong:
        print(f"WRONG {described(line)}")
    sys.exit(bool(wrong))


if __name__ == "__main__":
    main()
