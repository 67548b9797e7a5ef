"""The tables of docs/exact.md: written whole, or with rows that were run again."""

from __future__ import annotations

import platform
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from kernels import kernels_for

from long_form import limit, write_page
from problems import STRUCTURES

STEPS = 8
_HEAD = (
    "| posterior | kernel | families tested | tests | largest score | day of the run |\n|---|---|---:|---:|---:|---|"
)
_HEAD_OF_DEFECTS = (
    "| a deliberate error in the code | found in (posterior; family; kernel) | largest score | day of the run |\n"
    "|---|---|---:|---|"
)


def today() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d}"


class Row(NamedTuple):
    """One kernel in one structure: how many families and tests, the largest score, and on which day it was run."""

    posterior: str
    kernel: str
    families: int
    tests: int
    largest: float
    run: str

    def __str__(self) -> str:
        return (
            f"| {self.posterior} | {self.kernel} | {self.families} | {self.tests:,} | {self.largest:.2f} | {self.run} |"
        )

    @classmethod
    def read(cls, text: str) -> Row:
        posterior, kernel, families, tests, largest, run = text.strip("| ").split(" | ")
        return cls(posterior, kernel, int(families), int(tests.replace(",", "")), float(largest), run)

    def place(self) -> tuple[int, int, str]:
        return list(STRUCTURES).index(self.posterior), list(kernels_for(self.posterior)).index(self.kernel), self.run


def rows_of(lines: list[dict[str, Any]], run: str | None = None) -> list[Row]:
    """Lines with an error are not counted."""
    fine = [line for line in lines if "error" not in line]
    found = []
    for where, kernel in dict.fromkeys((line["where"], line["kernel"]) for line in fine):
        of = [line for line in fine if (line["where"], line["kernel"]) == (where, kernel)]
        tests, largest = sum(line["tests"] for line in of), max(line["largest"] for line in of)
        found.append(Row(where, kernel, len(of), tests, largest, run or today()))
    return sorted(found, key=Row.place)


def joined(there: list[Row], new: list[Row]) -> list[Row]:
    """A row of as many families as those there replaces them; one of fewer stands beside them, with its day."""
    rows = []
    for row in there:
        again = [one for one in new if one[:2] == row[:2]]
        if not any(one.families >= row.families for one in again):
            rows.append(row)
    return sorted(rows + new, key=Row.place)


def table(rows: list[Row]) -> str:
    return "\n".join([_HEAD, *map(str, rows)])


def told(rows: list[Row], points: int) -> str:
    cells, tests, largest = (
        sum(row.families for row in rows),
        sum(row.tests for row in rows),
        max((row.largest for row in rows), default=0.0),
    )
    return (
        f"The table has {cells:,} cells with {tests:,} tests. Each test uses {points - points // 3:,} draws and "
        f"{STEPS} steps of the kernel. The largest score is {largest:.2f}. If every kernel is\nexact, the largest of "
        f"so many scores exceeds {limit(tests, 0.05):.2f} in only one of twenty such tables. (Processor: "
        f"{platform.machine()}.)"
    )


def rows_of_defects(found: dict[str, float]) -> dict[str, str]:
    """By the defect's name."""
    from defects import DEFECTS

    rows = {}
    for name, value in found.items():
        cell = DEFECTS[name].cell.replace(" | ", "; ")
        rows[name] = f"| {name} | {cell} | {'an error' if np.isinf(value) else f'{value:.1f}'} | {today()} |"
    return rows


def written(rows: list[Row], defects: dict[str, str], points: int) -> str:
    parts = [told(rows, points), table(rows)]
    if defects:
        parts.append("\n".join([_HEAD_OF_DEFECTS, *defects.values()]))
    return "\n\n".join(parts)


def replace_rows(page: Path, lines: list[dict[str, Any]], found: dict[str, float], points: int) -> None:
    """What was run again goes into the page; what was not, stays."""
    from defects import DEFECTS

    text = page.read_text().split("<!-- invariance: begin -->\n")[1].split("\n<!-- invariance: end -->")[0]
    _, tabled, *rest = text.split("\n\n")
    there = [Row.read(one) for one in tabled.splitlines()[2:]]
    defects = {one.strip("| ").split(" | ")[0]: one for one in (rest[0].splitlines()[2:] if rest else [])}
    defects = {name: row for name, row in defects.items() if name in DEFECTS} | rows_of_defects(found)
    order = [name for name in DEFECTS if name in defects]
    rows = joined(there, rows_of(lines))
    write_page(page, "invariance", written(rows, {name: defects[name] for name in order}, points))
