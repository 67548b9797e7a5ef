"""What the long forms share: when a score is too large, and where their tables stand in a page."""

from __future__ import annotations

from pathlib import Path

from scipy import stats


def limit(tests: int, chance: float = 1e-3) -> float:
    """A score that one of so many tests exceeds with a small chance where all laws are right."""
    return float(stats.norm.isf(chance / (2 * max(tests, 1))))


def write_page(path: Path, name: str, text: str) -> None:
    """The text goes between the two comments of that name."""
    begins, ends = f"<!-- {name}: begin -->", f"<!-- {name}: end -->"
    page = path.read_text()
    before, rest = page.split(begins)
    path.write_text(f"{before}{begins}\n{text}\n{ends}{rest.split(ends)[1]}")
