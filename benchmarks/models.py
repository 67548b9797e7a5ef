"""Every family of regressions beside NUTS: acceptance, rows per step, effective draws per second.

    python benchmarks/models.py [--only poisson,ordinal] [--sizes 1e5x20] [--seconds 1] [--cap 12] [--no-nuts] [--quick]

Simulated rows, N = 1e4, 1e5, 1e6 and d = 5, 20, 50 (softmax: d = 5, 10), flat priors of the coefficients, the other
priors in `model_problems.PRIORS`. A family runs all its sizes in one process on one core, after a first run that
compiles and is not counted. Set-up (target, mode, bounds, warm-up) is told apart. Effective draws are ArviZ's bulk ESS
of the worst parameter, scales and cutpoints included, per second of the processor. NUTS (`nuts_models.py`) follows at
once on the same core and the same rows, at d = 20 (softmax 10) with N = 1e4 and 1e5; where it did not run there is a
dash.

benchmarks/results/models.json gets what is measured, each family with its date, and keeps the rest.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
import time
import warnings
from pathlib import Path
from statistics import median

import numpy as np

from common import CACHE, HERE, RESULTS, keep_to_cores, machine, min_ess, number, print_table, run_apart, write_json
from model_problems import FAMILIES, PRIORS, Problem, columns_of, save, simulate, target

PEERS_PYTHON = HERE / ".peers-venv" / "bin" / "python"
SIZES = [f"{n}x{d}" for n in ("1e4", "1e5", "1e6") for d in (5, 20, 50)]
SOFTMAX_SIZES = [f"{n}x{d}" for n in ("1e4", "1e5", "1e6") for d in (5, 10)]
NUTS_SIZES = {"1e4x20", "1e5x20"}
SOFTMAX_NUTS_SIZES = {"1e4x10", "1e5x10"}
GOALS = {
    ("student", "1e5x20"): 10_000,
    ("poisson", "1e5x20"): 5_000,
    ("ordinal", "1e5x20"): 10_000,
    ("softmax3", "1e5x10"): 5_000,
    ("softmax4", "1e5x10"): 5_000,
    ("negative-binomial", "1e5x20"): 2_000,
}
_MOST_DRAWS = 300_000
_NUTS_DRAWS = 2000


def sizes_of(family: str) -> list[str]:
    return SOFTMAX_SIZES if family.startswith("softmax") else SIZES


def default_sizes_of(family: str) -> list[str]:
    """Without what takes minutes of set-up: a million rows of families whose bounds come from intervals."""
    slow = family in ("beta", "zero-inflated")
    return [size for size in sizes_of(family) if not (slow and size.startswith("1e6"))]


def nuts_sizes_of(family: str) -> set[str]:
    return SOFTMAX_NUTS_SIZES if family.startswith("softmax") else NUTS_SIZES


def make(family: str, size: str) -> Problem:
    n_rows, d = size.split("x")
    return simulate(family, int(float(n_rows)), int(d))


# ----------------------------------------------------------------------------------------------------------- our side


def own_run(problem: Problem, seconds: float) -> tuple[dict, np.ndarray]:
    """Set-up with a thousand draws, which tell the pace, then a run of so many seconds on the same target."""
    import tunamh

    settings = {"chains": 1, "cores": 1, "rng": 1, "progressbar": False, "max_seconds": 300.0}
    began, used = time.perf_counter(), time.process_time()
    model = target(problem)
    pilot = tunamh.sample(model, draws=1000, **settings)
    wall, used = time.perf_counter() - began, time.process_time() - used
    pace = float(pilot.sample_stats["elapsed"].values[0, -1]) / pilot.posterior.sizes["draw"]
    draws = int(np.clip(seconds / pace, 1000, _MOST_DRAWS))
    began, busy = time.perf_counter(), time.process_time()
    posterior = tunamh.sample(model, draws=draws, **settings)
    share = (time.process_time() - busy) / (time.perf_counter() - began)  # of the core, if others want it too
    stats = posterior.sample_stats
    values, _ = columns_of(posterior)
    sampling = share * float(stats["elapsed"].values[0, -1])
    effective = min_ess(values)
    figures = {
        "status": "ok",
        "parameters": values.shape[1],
        "acceptance": float(stats["acceptance_rate"].mean()),
        "rows_per_step": float(stats["batch_size"].mean()),
        "full_data_steps": float(stats["full_data_step"].mean()),
        "draws": len(values),
        "min_ess": effective,
        "sampling_seconds": sampling,
        "ess_per_second": effective / sampling,
        "setup_seconds": wall - 1000 * pace,
        "setup_cpu_seconds": used - 1000 * pace,
        "choice": posterior.posterior.attrs["choice"],
    }
    return figures, values


def nuts_run(problem: Problem, values: np.ndarray, cap: float, folder: Path) -> dict:
    if not PEERS_PYTHON.exists():
        return {"status": "not installed: benchmarks/.peers-venv is missing, make bench makes it"}
    save(problem, folder)
    np.save(folder / "start.npy", values.mean(axis=0))
    try:
        command = [str(PEERS_PYTHON), str(HERE / "nuts_models.py"), str(folder), str(cap), str(_NUTS_DRAWS)]
        found = run_apart(command, cores=1, timeout=10 * cap + 120)
        if found["status"] == "ok":
            away = (np.load(folder / "nuts.npy").mean(axis=0) - values.mean(axis=0)) / values.std(axis=0)
            found["away"] = float(np.abs(away).max())  # in standard deviations: the two sample the same law
        return found
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def measure(family: str, size: str, seconds: float, cap: float) -> dict:
    problem = make(family, size)
    try:
        figures, values = own_run(problem, seconds)
    except Exception as error:  # of one size, which is reported and does not take the others with it
        return {"tunamh": {"status": f"failed: {type(error).__name__}: {error}"}}
    if not cap or size not in nuts_sizes_of(family):
        return {"tunamh": figures}
    return {"tunamh": figures, "nuts": nuts_run(problem, values, cap, CACHE / f"models-{family}")}


def middle(rounds: list[dict]) -> dict:
    """The round with the median ratio, and the ratios of all."""
    ratios = [times_nuts(found) or 0.0 for found in rounds]
    found = rounds[int(np.argsort(ratios)[len(ratios) // 2])]
    return found | {"all_times_nuts": ratios} if "nuts" in found else found


def work(family: str, sizes: list[str], seconds: float, cap: float, rounds: int, path: Path) -> None:
    """All sizes of a family, in this process; ``path`` is written after each."""
    warnings.simplefilter("ignore")
    keep_to_cores(1)
    began = time.perf_counter()
    own_run(make(family, "1e4x5"), 0.1)
    found: dict = {"first_run_seconds": time.perf_counter() - began, "date": time.strftime("%Y-%m-%d"), "sizes": {}}
    for size in sizes:
        times = rounds if cap and size in nuts_sizes_of(family) else 1
        found["sizes"][size] = middle([measure(family, size, seconds, cap) for _ in range(times)])
        path.write_text(json.dumps(found))


# ----------------------------------------------------------------------------------------------------------- reports


def times_nuts(found: dict) -> float | None:
    ours, nuts = found["tunamh"], found.get("nuts", {})
    if ours["status"] != "ok" or nuts.get("status") != "ok":
        return None
    return ours["ess_per_second"] / nuts["ess_per_second"]


def cells(found: dict) -> list[str]:
    """Acceptance, rows per step, effective draws per second, set-up, NUTS's, the ratio; a dash where it did not run."""
    ours, nuts = found["tunamh"], found.get("nuts", {})
    if ours["status"] != "ok":
        return [ours["status"][:60], "", "", "", "", ""]
    ratio = times_nuts(found)
    said = "" if not nuts or ratio is not None else nuts["status"][:40]
    return [
        f"{ours['acceptance']:.3f}",
        number(ours["rows_per_step"]),
        number(ours["ess_per_second"]),
        number(ours["setup_seconds"]),
        said or (number(nuts["ess_per_second"]) if nuts else "-"),
        "-" if ratio is None else number(ratio),
    ]


def print_family(family: str, found: dict) -> None:
    columns = ["N x d", "acceptance", "rows/step", "eff. draws/s", "set-up s", "NUTS eff. draws/s", "times NUTS"]
    print_table(FAMILIES[family], columns, [[size, *cells(one)] for size, one in found.get("sizes", {}).items()])


def goals(report: dict) -> list[list[str]]:
    """Family, size, goal, the median of all ratios measured, all of them, and the verdict."""
    rows = []
    for (family, size), goal in GOALS.items():
        found = report["families"].get(family, {}).get("sizes", {}).get(size, {})
        ratios = sorted(found.get("all_times_nuts", []))
        ratio = median(ratios) if ratios else None
        met = "" if ratio is None else ("met" if ratio >= goal else "missed")
        said = [number(goal), "-" if ratio is None else number(ratio), ", ".join(number(one) for one in ratios), met]
        rows.append([FAMILIES[family], size.replace("x", " x "), *said])
    return rows


GOAL_COLUMNS = ["family", "rows x columns", "goal, tunamh / NUTS", "median", "all rounds", "goal met or missed"]


def print_goals(report: dict) -> None:
    print_table("Goals", GOAL_COLUMNS, goals(report), text=2)


def opened(path: Path) -> dict:
    """The report so far; figures of another processor do not mix with those of this one."""
    here = machine()
    if path.exists():
        report = json.loads(path.read_text())
        if report["machine"]["processor"] == here["processor"]:
            return report | {"machine": here, "priors": PRIORS}
    return {"machine": here, "priors": PRIORS, "families": {}}


def merged(old: dict, new: dict) -> dict:
    """New sizes replace old ones, but ratios to NUTS are all kept: goals are held against their median."""
    sizes = old.get("sizes", {}) | new.get("sizes", {})
    for size, found in new.get("sizes", {}).items():
        if "all_times_nuts" in found:
            before = old.get("sizes", {}).get(size, {}).get("all_times_nuts", [])
            sizes[size] = found | {"all_times_nuts": before + found["all_times_nuts"]}
    return old | new | {"sizes": dict(sorted(sizes.items(), key=lambda item: [float(n) for n in item[0].split("x")]))}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help=f"families, separated by commas: {', '.join(FAMILIES)}")
    parser.add_argument("--sizes", help=f"separated by commas: {', '.join(SIZES)}; softmax {', '.join(SOFTMAX_SIZES)}")
    parser.add_argument("--seconds", type=float, default=1.0, help="of our sampling")
    parser.add_argument("--cap", type=float, default=12.0, help="seconds of NUTS's sampling")
    parser.add_argument("--no-nuts", action="store_true")
    parser.add_argument(
        "--quick", action="store_true", help="1e4 x 5 only, no NUTS; the file goes to benchmarks/.cache"
    )
    parser.add_argument("--rounds", type=int, default=1, help="where NUTS runs too; the median ratio counts")
    parser.add_argument("--worker", nargs="+", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        family, sizes, seconds, cap, *rounds, result = options.worker
        work(family, sizes.split(","), float(seconds), float(cap), int(rounds[0]) if rounds else 1, Path(result))
        return
    families = options.only.split(",") if options.only else list(FAMILIES)
    unknown = [family for family in families if family not in FAMILIES]
    if unknown:
        sys.exit(f"unknown: {', '.join(unknown)}; choose from {', '.join(FAMILIES)}")
    CACHE.mkdir(exist_ok=True)
    path = (CACHE if options.quick else RESULTS) / "models.json"
    cap = 0.0 if options.no_nuts or options.quick else options.cap
    wanted = "1e4x5" if options.quick else options.sizes
    for family in families:
        asked = wanted.split(",") if wanted else default_sizes_of(family)
        sizes = [size for size in asked if size in sizes_of(family)]
        if not sizes:
            continue
        print(f"{family}: {', '.join(sizes)} ...", flush=True)
        arguments = ["--worker", family, ",".join(sizes), str(options.seconds), str(cap), str(options.rounds)]
        found = run_apart([sys.executable, str(HERE / "models.py"), *arguments], cores=1, timeout=3600)
        report = opened(path)
        report["families"][family] = merged(report["families"].get(family, {}), found)
        write_json(path, report)
        print_family(family, report["families"][family])
    print_goals(opened(path))


if __name__ == "__main__":
    main()
