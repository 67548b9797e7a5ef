"""A nightly run of a model of which the cache keeps all rows: what is read, and what set-up costs.

    python benchmarks/living_columns.py [--days 60] [--rows 20000] [--folder ...]

Generated files of nine float32 columns and a response, one a day; ``y ~ x0 + ... + x8`` of the default family, whose
scale is unknown. The nights are run one by one; after the last one the same rows are set up without a cache. Seconds
are the processor's, of all threads; compiled code is loaded before.
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
from living import COLUMNS

FORMULA = f"y ~ {' + '.join(COLUMNS)}"


def write_day(folder: Path, day: int, rows: int) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng([13, day])
    x = rng.standard_normal((len(COLUMNS), rows), dtype=np.float32)
    y = np.linspace(-0.5, 0.5, len(COLUMNS), dtype=np.float32) @ x + rng.standard_normal(rows, dtype=np.float32)
    pq.write_table(pa.table([*x, y], names=[*COLUMNS, "y"]), folder / f"{day:04d}.parquet", compression="none")


def night(folder: Path, cache: Path | None) -> tuple[float, Any]:
    """Seconds until the mode is known, and the target."""
    before = time.process_time()
    target = tunamh.regression(FORMULA, tunamh.open_rows(str(folder / "*.parquet"), cache=cache))
    _ = target.modes
    return time.process_time() - before, target


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--days", type=int, default=60)
    asked.add_argument("--rows", type=int, default=20_000)
    asked.add_argument("--folder", type=Path)
    asked.add_argument("--out", type=Path, default=RESULTS)
    given = asked.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        folder, seconds = Path(name), []
        for day in range(given.days):
            write_day(folder, day, given.rows)
            seconds.append(night(folder, folder / "cache")[0])
        living = night(folder, folder / "cache")[1]
        fresh = min(night(folder, None)[0] for _ in range(3))
        whole = night(folder, None)[1]
        draws = [tunamh.sample(one, rng=1, draws=500, progressbar=False) for one in (living, whole)]
        history = tunamh.history(folder / "cache").groupby("night").first()
        report = {
            **machine(),
            "days": given.days,
            "rows": given.rows,
            "night": float(np.median(seconds[-5:])),
            "fresh": fresh,
            "rows_read": int(history["rows_read"].iloc[-2:].max()),
            "same_draws": bool(draws[0].posterior.equals(draws[1].posterior)),
            "cache_bytes": sum(path.stat().st_size for path in (folder / "cache").rglob("*") if path.is_file()),
            "data_bytes": sum(path.stat().st_size for path in folder.glob("*.parquet")),
        }
    write_json(given.out / "living_columns.json", report)
    lines = [[name, str(report[name])] for name in list(report)[7:]]
    print_table(f"{given.days} days of {given.rows:,} rows", ["", ""], lines)


if __name__ == "__main__":
    main()
