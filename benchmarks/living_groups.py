"""Groups in files that come day by day: what a night costs beside a fresh run, and how large the cache is.

    python benchmarks/living_groups.py [--days 30] [--rows 20000] [--groups 10000] [--folder ...]

Every day has a file with ten columns of numbers and the name of a person, of whom some are new every day; the formula
has three of the columns and an intercept for every person. Times are the processor's seconds, of all threads; compiled
code is loaded before. The effects of the last night and of a fresh run are compared by z scores.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

import tunamh
from common import RESULTS, machine, print_table, write_json

FORMULA = "late ~ x0 + x1 + x2 + (1 | person)"


def write_day(folder: Path, day: int, rows: int, groups: int, effects: np.ndarray) -> None:
    """One percent of the persons are new every day, and as many are not seen any more."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng([17, day])
    x = rng.standard_normal((10, rows), dtype=np.float32)
    person = rng.integers(groups, size=rows) + day * groups // 100
    eta = -0.5 + 0.5 * x[0] - 0.3 * x[1] + effects[person]
    late = (rng.random(rows) < 1 / (1 + np.exp(-eta))).astype(np.int8)
    names = [*(f"x{k}" for k in range(10)), "person", "late"]
    text = pa.array([f"person {k:07d}" for k in person])
    pq.write_table(pa.table([*x, text, pa.array(late)], names=names), folder / f"{day:04d}.parquet")


def set_up(folder: Path, cache: Path | None) -> tuple[Any, float]:
    before = time.process_time()
    rows = tunamh.open_rows(str(folder / "*.parquet"), cache=cache)
    target = tunamh.regression(FORMULA, rows, family=tunamh.Logistic())
    _ = target.rows  # all of set-up
    return target, time.process_time() - before


def draws(target: Any, seed: int) -> tuple[Any, float]:
    before = time.process_time()
    tree = tunamh.sample(target, rng=seed, draws=1000, tune=500, progressbar=False)
    seconds = time.process_time() - before
    found = tunamh.summary(tree)[["mean", "sd", "mcse_mean", "mcse_sd"]].astype(float)
    return found.loc[[name for name in found.index if not name.startswith("1|person[")]], seconds


def measured(folder: Path, days: int, rows: int, groups: int) -> dict[str, Any]:
    effects = np.random.default_rng(3).standard_normal(groups + days * groups // 100) * 0.8
    for day in range(days - 1):
        write_day(folder, day, rows, groups, effects)
    set_up(folder, folder / "warm.tunamh")  # loads compiled code
    cache = folder / "living.tunamh"
    _, first = set_up(folder, cache)
    write_day(folder, days - 1, rows, groups, effects)
    living, night = set_up(folder, cache)
    fresh, afresh = set_up(folder, None)
    (one, seconds), (other, _) = draws(living, 1), draws(fresh, 2)
    z = (one["mean"] - other["mean"]) / np.hypot(one["mcse_mean"], other["mcse_mean"])
    return {
        **machine(),
        "days": days,
        "rows": rows,
        "groups": len(living.groupings[0].levels),
        "first": first,
        "night": night,
        "fresh": afresh,
        "sampling": seconds,
        "rows_read": int(tunamh.history(cache)["rows_read"].iloc[-1]),
        "same_rows": living.fingerprint == fresh.fingerprint,
        "z_largest": float(np.abs(z).max()),
        "cache_bytes": sum(path.stat().st_size for path in cache.rglob("*") if path.is_file()),
        "data_bytes": sum(path.stat().st_size for path in folder.glob("*.parquet")),
        "told": living.set_up_told,
    }


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--days", type=int, default=30)
    asked.add_argument("--rows", type=int, default=20_000)
    asked.add_argument("--groups", type=int, default=10_000)
    asked.add_argument("--folder", type=Path)
    asked.add_argument("--out", type=Path, default=RESULTS)
    given = asked.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        report = measured(Path(name), given.days, given.rows, given.groups)
    write_json(given.out / "living_groups.json", report)
    lines = [
        ["rows read from files", f"{report['rows_read']:,}", f"{report['days'] * report['rows']:,}"],
        ["set-up, seconds", f"{report['night']:.2f}", f"{report['fresh']:.2f}"],
    ]
    title = f"{report['days']} days of {report['rows']:,} rows, {report['groups']:,} groups; {report['told']}"
    print_table(title, ["", "the next day", "all rows afresh"], lines)
    print(
        f"first night {report['first']:.2f} s; draws {report['sampling']:.1f} s; the cache takes "
        f"{report['cache_bytes'] / 1e6:.1f} MB beside {report['data_bytes'] / 1e6:.1f} MB of files; the same rows: "
        f"{report['same_rows']}; largest z score {report['z_largest']:.2f}"
    )


if __name__ == "__main__":
    main()
