"""A year of files, one a day: what the next day costs, whether its posterior is right, how often a row is read.

    python benchmarks/living.py [--days 365] [--rows 100000] [--drift 0.0005] [--compare 20] [--folder ...]

Generated rows of ten columns and a label, in one Parquet file a day; the coefficients drift from day to day. Every day
is a night's run: the file is written, the posterior is set up from the cache and sampled. On some days the same rows
are set up and sampled afresh, without a cache, and means and standard deviations are compared by z-tests. Times are
the processor's seconds, of all threads, since the machine may be shared; compiled code is loaded before.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
from scipy import stats

import tunamh
from common import DOCS, RESULTS, machine, print_table, write_json

COLUMNS = [f"x{j}" for j in range(9)]
FORMULA = f"late ~ {' + '.join(COLUMNS)}"
_LAST = 3  # nights of which the report has the numbers
DRAWS = {"draws": 1000, "tune": 500, "progressbar": False}


def write_day(folder: Path, day: int, rows: int, drift: float) -> None:
    import pyarrow as pa
    import pyarrow.parquet as pq

    rng = np.random.default_rng([11, day])
    x = rng.standard_normal((len(COLUMNS), rows), dtype=np.float32)
    slopes = np.linspace(-0.5, 0.5, len(COLUMNS)) + drift * day * np.where(np.arange(len(COLUMNS)) % 2, 1, -1)
    late = rng.random(rows) < 1 / (1 + np.exp(1.0 - slopes @ x))
    table = pa.table([*x, pa.array(late.astype(np.int8))], names=[*COLUMNS, "late"])
    pq.write_table(table, folder / f"{day:04d}.parquet", compression="none", use_dictionary=False)


def night(folder: Path, cache: Path | None, seed: int) -> dict[str, Any]:
    """One run: seconds of set-up and of draws, rows per step, means and standard deviations with their errors."""
    before = time.process_time()
    rows = tunamh.open_rows(str(folder / "*.parquet"), cache=cache)
    target = tunamh.regression(FORMULA, rows, family=tunamh.Logistic())
    if cache is None:
        _ = target.modes  # the search belongs to set-up
    set_up = time.process_time() - before
    tree = tunamh.sample(target, rng=seed, **DRAWS)
    found = tunamh.summary(tree)[["mean", "sd", "mcse_mean", "mcse_sd", "ess_bulk"]].astype(float)
    return {
        "set_up": set_up,
        "whole": time.process_time() - before,
        "rows_per_step": float(tree.sample_stats["batch_size"].mean()),
        "ess": float(found["ess_bulk"].min()),
        "found": found,
        "told": "" if target.kept is None else target.kept.told,
        "read_while_drawing": 0 if cache is None else target.observations.source.rows_read,
    }


def z_scores(one: Any, other: Any) -> np.ndarray:
    means = (one["mean"] - other["mean"]) / np.hypot(one["mcse_mean"], other["mcse_mean"])
    widths = (one["sd"] - other["sd"]) / np.hypot(one["mcse_sd"], other["mcse_sd"])
    return np.concatenate([means.to_numpy(), widths.to_numpy()])


def daily_move(cache: Path) -> float:
    """How far posterior means move in a night, in standard deviations: the root mean square over the last 30 nights."""
    frame = tunamh.history(cache)
    mean, sd = (frame.pivot(index="night", columns="coefficient", values=name).tail(31) for name in ("mean", "sd"))
    return float(np.sqrt(np.square(mean.diff().iloc[1:] / sd.iloc[1:]).mean().mean()))


def year(folder: Path, days: int, rows: int, drift: float, compare: int) -> dict[str, Any]:
    cache, nights, z, fresh = folder / "living.tunamh", [], [], {}
    compared = set(np.linspace(1, days - 1, compare).round().astype(int).tolist())
    for day in range(days):
        write_day(folder, day, rows, drift)
        if day == 0:
            night(folder, folder / "warm.tunamh", 0)  # loads compiled code
            night(folder, None, 0)
        found = night(folder, cache, day)
        if day in compared:
            fresh = night(folder, None, 10_000 + day)
            z.append(z_scores(found.pop("found"), fresh.pop("found")))
        nights.append({name: value for name, value in found.items() if name != "found"})
        if day % 10 == 9:
            print(f"day {day + 1}: {found['told']}; {found['whole']:.2f} s", flush=True)
    history = tunamh.history(cache).groupby("night").first()
    scores = np.array(z)
    size = sum(path.stat().st_size for path in cache.rglob("*") if path.is_file())
    kept = [one for one in nights if one["told"].endswith("kept")]
    return {
        **machine(),
        "days": days,
        "rows": rows,
        "drift": drift,
        "nights": nights[-_LAST:],
        "mean_rows_per_step": float(np.mean([one["rows_per_step"] for one in nights])),
        "fresh": fresh,
        "moves": sum("new centre" in one["told"] for one in nights),
        "kept": len(kept),
        "read_per_row": float(
            (history["rows_read"].sum() + sum(one["read_while_drawing"] for one in nights)) / (days * rows)
        ),
        "daily_move": daily_move(cache),
        "z_days": len(z),
        "z_numbers": int(scores.size),
        "z_largest": float(np.abs(scores).max()),
        "z_p": float(stats.chi2.sf(np.sum(scores**2), scores.size)),
        "cache_bytes": size,
        "data_bytes": sum(path.stat().st_size for path in folder.glob("*.parquet")),
    }


def shown(report: dict[str, Any]) -> list[list[str]]:
    """The last day that kept its centre, beside a fresh run of all rows."""
    last = next(one for one in reversed(report["nights"]) if one["told"].endswith("kept"))
    fresh = report["fresh"]
    return [
        ["set-up, seconds", f"{last['set_up']:.2f}", f"{fresh['set_up']:.2f}"],
        ["set-up and draws, seconds", f"{last['whole']:.2f}", f"{fresh['whole']:.2f}"],
        ["rows per step", f"{last['rows_per_step']:.2g}", f"{fresh['rows_per_step']:.2g}"],
        ["smallest effective number of draws (of 4,000)", f"{last['ess']:,.0f}", f"{fresh['ess']:,.0f}"],
    ]


def picture(folder: Path, out: Path) -> None:
    axes = tunamh.plot_history(folder / "living.tunamh", coefficients=["x0", "x1"])
    axes[0].figure.set_size_inches(7.2, 2.6)
    axes[0].figure.savefig(out, dpi=110)


def main() -> None:
    asked = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    asked.add_argument("--days", type=int, default=60)
    asked.add_argument("--rows", type=int, default=20_000)
    asked.add_argument("--drift", type=float, default=0.0005)
    asked.add_argument("--compare", type=int, default=20)
    asked.add_argument("--folder", type=Path)
    asked.add_argument("--out", type=Path, default=RESULTS)
    asked.add_argument("--picture", type=Path, default=DOCS / "history.png")
    given = asked.parse_args()
    with tempfile.TemporaryDirectory(dir=given.folder) as name:
        report = year(Path(name), given.days, given.rows, given.drift, given.compare)
        picture(Path(name), given.picture)
    write_json(given.out / "living.json", report)
    title = f"{given.days} days of {given.rows:,} rows; a row was read {report['read_per_row']:.2f} times"
    print_table(title, ["", "the next day", "all rows afresh"], shown(report))
    print(
        f"{report['z_numbers']} z scores of {report['z_days']} days: largest {report['z_largest']:.2f}, "
        f"p = {report['z_p']:.2f}; the centre moved {report['moves']} times"
    )


if __name__ == "__main__":
    main()
