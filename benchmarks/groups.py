"""Group effects beside NUTS, end to end, and where groups are few, weak or of unequal sizes.

    python benchmarks/groups.py [--only logistic-1e4] [--parts speed,long,weak] [--cap 60] [--limit 900] [--quick]

Simulated rows, random intercepts. Effective draws are ArviZ's bulk ESS of the worst of all parameters, log scale and
every group's effect included, per second of the processor; one chain on one core each, one after the other, after a
first run that compiles. NUTS is `nuts_groups.py`: NumPyro's and nutpie's, centred and not; the best of the four
counts. It is treated well: float64, energies by hand, started at the posterior means in units of the posterior standard
deviations, compiling and warm-up not counted. At a million rows only the best of 100,000 rows runs, --limit seconds.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from common import CACHE, HERE, RESULTS, keep_to_cores, machine, number, print_table, run_apart, write_json
from group_problems import GroupProblem, columns_of, save, simulate, target
from models import PEERS_PYTHON
from nuts_groups import in_form, worst_of_each

PROBLEMS = {
    "logistic-1e4": ("logistic", 10_000, 100, 5),
    "logistic-1e5": ("logistic", 100_000, 1_000, 10),
    "poisson-1e5": ("poisson", 100_000, 1_000, 10),
    "logistic-1e6": ("logistic", 1_000_000, 10_000, 10),
}
GOALS = {"logistic-1e4": 100, "logistic-1e5": 1_000, "logistic-1e6": 3_000}
NUTS = [(sampler, form) for sampler in ("numpyro", "nutpie") for form in ("centred", "non-centred")]
WEAK = (
    {
        f"{groups} groups, s = {scale:g}": ("logistic", groups, scale)
        for groups in (5, 10, 1000)
        for scale in (0.0, 0.05, 0.7)
    }
    | {"26 groups of 1 to 100,000 rows, s = 0.7": ("logistic", 26, 0.7)}
    | {
        f"1000 groups of 3 {what}, s = {scale:g}": (family, 1000, scale)
        for family, what in (("poisson", "counts"), ("logistic", "rows"))
        for scale in (0.0, 0.7)
    }
)
_MOST_VALUES = 3e7
_NUTS_DRAWS = 2000
_SETTINGS = {"chains": 1, "cores": 1, "progressbar": False}


# ----------------------------------------------------------------------------------------------------------- our side


def own_run(problem: GroupProblem, seconds: float) -> tuple[dict, np.ndarray]:
    """Set-up with a hundred draws, which tell the pace, then so many seconds of sweeps on the same target."""
    import tunamh

    began, busy = time.perf_counter(), time.process_time()
    model = target(problem)
    model.model()
    setup, used = time.perf_counter() - began, time.process_time() - busy
    pilot = tunamh.sample(model, draws=100, tune=100, rng=1, **_SETTINGS)
    pace = float(pilot.sample_stats["elapsed"].values[0, -1]) / 100
    draws = int(np.clip(seconds / pace, 1000, _MOST_VALUES / model.dim))
    began, busy = time.perf_counter(), time.process_time()
    posterior = tunamh.sample(model, draws=draws, rng=2, **_SETTINGS)
    share = (time.process_time() - busy) / (time.perf_counter() - began)  # of the core, if others want it too
    stats, values = posterior.sample_stats, columns_of(posterior)
    sampling = share * float(stats["elapsed"].values[0, -1])
    worst = worst_of_each(values, problem)
    effective = min(worst.values())
    figures = {
        "status": "ok",
        "parameters": values.shape[1],
        "acceptance": float(stats["acceptance_rate"].mean()),
        "group_acceptance": float(stats["group_acceptance"].mean()),
        "rows_per_sweep": float(stats["batch_size"].mean()),
        "microseconds_per_sweep": 1e6 * sampling / draws,
        "draws": draws,
        "worst": worst,
        "min_ess": effective,
        "ess_per_sweep": effective / draws,
        "ess_per_second": effective / sampling,
        "log_scale_per_second": worst["log scale"] / sampling,
        "setup_seconds": setup,
        "setup_cpu_seconds": used,
        "seconds_to_1000": used + 1000 * sampling / effective,
    }
    return figures, values


def start_of(values: np.ndarray, problem: GroupProblem) -> dict[str, np.ndarray]:
    """Means and standard deviations of all parameters in either form."""
    found = {}
    for name, centred in (("centred", True), ("other", False)):
        walked = in_form(values, problem, centred)
        found |= {f"mean_{name}": walked.mean(axis=0), f"sd_{name}": walked.std(axis=0)}
    return found


def work(name: str, seconds: float, path: Path) -> dict:
    """A problem of `PROBLEMS` in this process, left at ``path`` for NUTS."""
    problem = simulate(*PROBLEMS[name])
    own_run(simulate(PROBLEMS[name][0], 2000, 20, 3), 0.1)
    figures, values = own_run(problem, seconds)
    save(problem, path)
    np.savez(path.with_suffix(".start.npz"), **start_of(values, problem))
    return figures


def weak_groups(seconds: float) -> dict:
    """Few groups, no or little spread, groups of three rows, and from one row to 100,000: own figures."""
    own_run(simulate("logistic", 2000, 20, 3), 0.1)
    found = {}
    for name, (family, groups, scale) in WEAK.items():
        codes = np.repeat(np.arange(groups), 3) if "of 3" in name else None
        if "of 1 to" in name:
            codes = np.repeat(np.arange(groups), np.geomspace(1, 100_000, groups).round().astype(int))
        n_rows = 20_000 if codes is None else len(codes)
        found[name] = own_run(simulate(family, n_rows, groups, 5, scale, codes), seconds)[0] | {"rows": n_rows}
    return found


def end_to_end(n_rows: int, groups: int) -> dict:
    """A multilevel logit: set-up and four chains to 1,000 effective draws of the worst parameter, by the clock.

    Runs that turn out too short are not counted: they tell how many draws it takes.
    """
    import tunamh

    tunamh.sample(target(simulate("logistic", 2000, 20, 3)), draws=100, rng=1, progressbar=False)
    problem = simulate("logistic", n_rows, groups, 10)
    began = time.perf_counter()
    model = target(problem)
    model.model()
    setup = time.perf_counter() - began
    draws = 400
    while True:
        posterior = tunamh.sample(model, draws=draws, chains=4, rng=1, progressbar=False)
        wall = time.perf_counter() - began
        chains = np.split(columns_of(posterior), 4)
        worst = _worst_of_chains(np.stack(chains))
        if worst >= 1000:
            break
        draws = int(draws * max(1.2, 1.1 * 1000 / worst))
        began = time.perf_counter() - setup
    return {
        "rows": n_rows,
        "groups": groups,
        "setup_seconds": setup,
        "seconds": wall,
        "sampling_seconds": float(posterior.sample_stats["elapsed"].values[:, -1].max()),
        "draws_per_chain": draws,
        "min_ess": worst,
    }


def _worst_of_chains(values: np.ndarray) -> float:
    from arviz_stats import ess

    return min(float(ess(np.ascontiguousarray(values[:, :, j]))) for j in range(values.shape[2]))


# -------------------------------------------------------------------------------------------------------------- NUTS


def nuts_run(path: Path, sampler: str, form: str, cap: float, limit: float, enough: int = _NUTS_DRAWS) -> dict:
    if not PEERS_PYTHON.exists():
        return {"status": "not installed: benchmarks/.peers-venv is missing, make bench makes it"}
    command = [str(PEERS_PYTHON), str(HERE / "nuts_groups.py"), str(path), sampler, form, str(cap), str(enough)]
    return run_apart(command, cores=1, timeout=limit)


def best_nuts(found: dict) -> tuple[str, dict] | None:
    ran = {name: one for name, one in found.get("nuts", {}).items() if one["status"] == "ok"}
    return max(ran.items(), key=lambda item: item[1]["ess_per_second"]) if ran else None


def measure(name: str, given: argparse.Namespace, report: dict) -> dict:
    path = CACHE / f"groups-{name}" / "problem.npz"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        here = [sys.executable, str(HERE / "groups.py"), "--worker", name, str(given.seconds), str(path)]
        found: dict = {"tunamh": run_apart(here, cores=1, timeout=1800), "nuts": {}}
        if found["tunamh"]["status"] != "ok" or given.no_nuts:
            return found
        tried = NUTS
        if name.endswith("1e6"):
            best = best_nuts(report["problems"].get("logistic-1e5", {}))
            tried = [tuple(best[0].split(", "))] if best else NUTS[:1]
        for sampler, form in tried:
            cap = given.limit / 3 if name.endswith("1e6") else given.cap
            found["nuts"][f"{sampler}, {form}"] = nuts_run(path, sampler, form, cap, given.limit)
            print(name, sampler, form, found["nuts"][f"{sampler}, {form}"], flush=True)
        return found
    finally:
        shutil.rmtree(path.parent, ignore_errors=True)


# ------------------------------------------------------------------------------------------------------------ tables

COLUMNS = [
    "model, rows x columns, groups",
    "acceptance rates: common move, groups' moves",
    "rows per sweep",
    "microseconds per sweep",
    "effective draws per second, tunamh",
    "set-up, s",
    "effective draws per second, NUTS",
    "best version of NUTS",
    "tunamh / NUTS",
    "goal, tunamh / NUTS",
]
WEAK_COLUMNS = [
    "data",
    "acceptance rates: common move, groups' moves",
    "rows per sweep",
    "microseconds per sweep",
    "log scale: effective draws per sweep",
    "log scale: per second",
    "worst parameter: effective draws per sweep",
    "worst parameter: per second",
]


def title(name: str) -> str:
    family, n_rows, groups, d = PROBLEMS[name]
    return f"{family} {n_rows:,} x {d}, {groups:,} groups"


def cells(name: str, found: dict) -> list[str]:
    ours, best = found["tunamh"], best_nuts(found)
    if ours["status"] != "ok":
        return [title(name), ours["status"][:60], *[""] * 8]
    ratio = ours["ess_per_second"] / best[1]["ess_per_second"] if best else None
    goal = GOALS.get(name)
    said = "-" if goal is None else number(goal) + ("" if ratio is None else ": met" if ratio >= goal else ": missed")
    why = next((one["status"] for one in found.get("nuts", {}).values()), "-")
    return [
        title(name),
        f"{ours['acceptance']:.2f}, {ours['group_acceptance']:.2f}",
        number(ours["rows_per_sweep"]),
        number(ours["microseconds_per_sweep"]),
        number(ours["ess_per_second"]),
        number(ours["setup_seconds"]),
        number(best[1]["ess_per_second"]) + ("*" if best[1]["min_ess"] < 50 else "") if best else f"no draws: {why}",
        best[0] if best else "",
        "-" if ratio is None else number(ratio),
        said,
    ]


def weak_cells(name: str, ours: dict) -> list[str]:
    per_sweep = ours["worst"]["log scale"] / ours["draws"]
    return [
        name,
        f"{ours['acceptance']:.2f}, {ours['group_acceptance']:.2f}",
        number(ours["rows_per_sweep"]),
        number(ours["microseconds_per_sweep"]),
        number(per_sweep),
        number(ours["log_scale_per_second"]),
        number(ours["ess_per_sweep"]),
        number(ours["ess_per_second"]),
    ]


def long_sentence(found: dict) -> str:
    minutes, seconds = divmod(found["seconds"], 60)
    took = f"{minutes:.0f} minutes and {seconds:.0f} seconds" if minutes else f"{seconds:.0f} seconds"
    return (
        f"A logistic regression has {found['rows']:,} rows, {found['groups']:,} groups and ten columns. "
        f"From the arrays to a result with {found['min_ess']:,.0f} effective\ndraws of the worst parameter, "
        f"tunamh needs {took} of wall-clock time; {found['setup_seconds']:.1f} of these seconds are set-up. "
        f"It makes 4 chains\nof {found['draws_per_chain']:,} draws, after 1,000 sweeps of warm-up each, on two shared "
        "cores. An earlier, shorter run found the number of draws;\nits time is not counted."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help=f"separated by commas: {', '.join(PROBLEMS)}")
    parser.add_argument("--parts", default="speed,long,weak")
    parser.add_argument("--seconds", type=float, default=10.0, help="of our sweeps")
    parser.add_argument("--cap", type=float, default=60.0, help="seconds of NUTS's sampling")
    parser.add_argument("--limit", type=float, default=900.0, help="seconds for one run of NUTS in all")
    parser.add_argument("--no-nuts", action="store_true")
    parser.add_argument("--quick", action="store_true", help="10,000 rows, seconds of each")
    parser.add_argument("--out", type=Path, default=RESULTS)
    parser.add_argument("--worker", nargs=4, metavar=("NAME", "SECONDS", "PATH", "RESULT"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        name, seconds, path, result = given.worker
        warnings.simplefilter("ignore")
        if name != "long":
            keep_to_cores(1)
        if name == "weak":
            found = {"status": "ok", "groups": weak_groups(float(seconds))}
        elif name == "long":
            found = {"status": "ok", **end_to_end(*((300_000, 3_000) if float(seconds) > 1 else (20_000, 200)))}
        else:
            found = work(name, float(seconds), Path(path))
        Path(result).write_text(json.dumps(found))
        return
    if given.quick:
        given.only, given.seconds, given.cap, given.out = "logistic-1e4", 1.0, 5.0, CACHE
    parts = given.parts.split(",")
    path = given.out / "groups.json"
    report = json.loads(path.read_text()) if path.exists() else {"problems": {}}
    report["machine"] = machine()
    for name in given.only.split(",") if given.only else PROBLEMS:
        if "speed" in parts:
            report["problems"][name] = measure(name, given, report)
            write_json(path, report)
    for part, cores in (("long", 2), ("weak", 1)):
        if part in parts:
            here = [sys.executable, str(HERE / "groups.py"), "--worker", part, str(min(given.seconds, 3.0)), "-"]
            report[part] = run_apart(here, cores=cores, timeout=1800)
            write_json(path, report)
    print_table("Groups", COLUMNS, [cells(name, found) for name, found in report["problems"].items()])
    if report.get("weak", {}).get("status") == "ok":
        rows = [weak_cells(name, found) for name, found in report["weak"]["groups"].items()]
        print_table("Few, weak and unequal groups", WEAK_COLUMNS, rows)
    if report.get("long", {}).get("status") == "ok":
        print(long_sentence(report["long"]))
    for name in ("weak", "long"):
        if report.get(name, {}).get("status", "ok") != "ok":
            print(name, report[name])


if __name__ == "__main__":
    main()
