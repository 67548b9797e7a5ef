"""US flights of 2001, three million rows: late arrivals, straight from the Parquet file.

    npm pack vega-datasets && tar xzf vega-datasets-*.tgz
    python benchmarks/flights.py package/data/flights-3m.parquet [--out benchmarks/results]

Logistic regression of a delay of more than 15 minutes on distance, hour and month, three times: rows held in memory
from the file, rows gathered under a memory of 20 MB, and the same table in arrays. All of them have the same law.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

import tunamh
from common import RESULTS, machine, print_table, write_json

READ = ["date", "delay", "distance"]
COLUMNS = ["one", "distance", "hour", "month"]
DRAWS = 2500


def prepared(table: pa.Table) -> pa.Table:
    """What the model needs, made as the file is read; months are text, and so become levels."""
    return pa.table(
        {
            "late": pc.greater(table["delay"], 15),
            "one": pa.array(np.ones(len(table))),
            "distance": pc.divide(pc.cast(table["distance"], "float64"), 1000.0),  # in 1000 miles
            "hour": pc.divide(
                pc.cast(pc.subtract(pc.hour(table["date"]), 12), "float64"), 6.0
            ),  # from noon, in 6 hours
            "month": pc.utf8_lpad(pc.cast(pc.month(table["date"]), "string"), 2, "0"),
        }
    )


def measured(target: Any, setup: float) -> dict[str, Any]:
    started = time.perf_counter()
    posterior = tunamh.sample(target, draws=DRAWS, rng=1, progressbar=False)
    theta = posterior.posterior["theta"]
    settings = json.loads(posterior.posterior.attrs["settings"])
    return {
        "seconds": setup + time.perf_counter() - started,
        "sampling": float(posterior.sample_stats["elapsed"].values[:, -1].max()),
        "rows per step": float(posterior.sample_stats["batch_size"].mean()),
        "rows gathered": settings.get("rows_gathered", 0),
        "effective draws": float(tunamh.summary(posterior)["ess_bulk"].min()),
        "names": list(target.names),
        "mean": theta.mean(("chain", "draw")).values.tolist(),
        "sd": theta.std(("chain", "draw")).values.tolist(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=Path)
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    report: dict[str, Any] = {"machine": machine(), "runs": {}}
    for name, memory in (("held", "2GiB"), ("gathered", "20MB")):
        started = time.perf_counter()
        flights = tunamh.open_rows(given.file, columns=READ, change=prepared, memory=memory)
        target = tunamh.LogisticRegression(flights[COLUMNS], y="late")
        report["runs"][name] = measured(target, time.perf_counter() - started)
        report["rows"] = flights.n_rows
    started = time.perf_counter()
    frame = prepared(pa.parquet.read_table(given.file, columns=READ)).to_pandas()
    y, frame = frame.pop("late"), frame.astype({"month": "category"})
    report["runs"]["arrays"] = measured(tunamh.LogisticRegression(frame, y), time.perf_counter() - started)
    write_json(given.out / "flights.json", report)
    runs = report["runs"]
    shown = [
        [name, *(f"{runs[run]['mean'][j]:.4f} ({runs[run]['sd'][j]:.4f})" for run in runs)]
        for j, name in enumerate(runs["held"]["names"])
    ]
    print_table("Late arrivals: mean (standard deviation)", ["", *runs], shown)


if __name__ == "__main__":
    main()
