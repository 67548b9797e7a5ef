"""Models with groups on a machine with many cores and a GPU: our sweeps on the cores, HMC in JAX on the GPU.

    python benchmarks/groups_device.py [--only thin,crossed] [--seconds 12] [--chains 16] [--limit 560] [--out FOLDER]
        [--packages FOLDER] [--quick]

Logistic rows of ten columns, simulated. Our chains run at once, each on a core. HMC (`hmc_groups.py`) has 128 chains
and walks in our coordinates, from our posterior means. Both: effective draws of the worst common parameter
(coefficients and log scales; for its mean or for its variance, whichever are fewer) per second of the wall clock,
sampling only; set-up is told beside it. FOLDER ($OUT, or benchmarks/results) gets groups_device.json, once after our
side and once after HMC. All ends after --limit seconds.

--packages: a folder with archives (*.tar.xz, libllvmlite.so.xz) of packages that the machine does not have. They are
unpacked beside the run, and looked into after the machine's own.
"""

from __future__ import annotations

import argparse
import json
import lzma
import os
import platform
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from common import HERE, RESULTS, versions
from group_problems import GroupProblem, save, simulate, simulate_crossed, target
from hmc_groups import ess_of

PROBLEMS: dict[str, tuple[str, Callable[[], GroupProblem]]] = {
    "thin": ("20,000 rows, 7,000 groups", lambda: simulate("logistic", 20_000, 7_000, 10)),
    "1e5": ("10^5 rows, 10^3 groups", lambda: simulate("logistic", 100_000, 1_000, 10)),
    "1e6": ("10^6 rows, 10^4 groups", lambda: simulate("logistic", 1_000_000, 10_000, 10)),
    "crossed": ("10^5 rows, 10^4 x 10^3 crossed", lambda: simulate_crossed(100_000, (10_000, 1_000), 10)),
    "1e6-thin": ("10^6 rows, 300,000 groups", lambda: simulate("logistic", 1_000_000, 300_000, 10)),
}
QUICK: dict[str, tuple[str, Callable[[], GroupProblem]]] = {
    "one": ("2,000 rows, 200 groups", lambda: simulate("logistic", 2_000, 200, 3)),
    "two": ("2,000 rows, 100 x 20 crossed", lambda: simulate_crossed(2_000, (100, 20), 3)),
}
_TO_COMPILE = [*(make for _, make in QUICK.values()), lambda: simulate("logistic", 6_000, 600, 3)]  # one learns a law
_LEAST_DRAWS, _MOST_DRAWS, _WARMUP = 100, 20_000, 100


def unpacked(archives: Path, folder: Path) -> Path:
    """The packages in ``archives``; LLVM's library is apart because it is compressed another way."""
    site = folder / "packages"
    for archive in sorted(archives.glob("*.tar.xz")):
        with tarfile.open(archive) as opened:
            opened.extractall(site, filter="data")
    library = archives / "libllvmlite.so.xz"
    if library.exists():
        with lzma.open(library) as packed, (site / "llvmlite" / "binding" / "libllvmlite.so").open("wb") as file:
            shutil.copyfileobj(packed, file, 1 << 24)
    return site


# ---------------------------------------------------------------------------------------------------------- our side


def own_problem(problem: GroupProblem, path: Path, given: argparse.Namespace) -> dict:
    """Set-up, then all chains at once. What HMC needs of their draws is left beside the problem."""
    import tunamh

    settings = {"chains": given.chains, "cores": given.chains, "progressbar": False}
    began, used = time.perf_counter(), time.process_time()
    model = target(problem, keep_effects=False)
    model.model()
    setup, used = time.perf_counter() - began, time.process_time() - used
    pilot = tunamh.sample(model, draws=10, tune=20, rng=1, **settings)
    pace = float(pilot.sample_stats["elapsed"].values[:, -1].max()) / 10
    draws = int(np.clip(given.seconds / pace, _LEAST_DRAWS, _MOST_DRAWS))
    began = time.perf_counter()
    posterior = tunamh.sample(model, draws=draws, tune=_WARMUP, rng=2, **settings)
    wall, stats = time.perf_counter() - began, posterior.sample_stats
    values = np.concatenate([posterior.posterior["theta"].values, np.log(posterior.posterior["group_scale"].values)], 2)
    means, squares = (np.array([ess_of(values[:, :, j])[k] for j in range(values.shape[2])]) for k in (0, 1))
    effective, flat = np.minimum(means, squares), values.reshape(-1, values.shape[2])
    error = flat.std(axis=0) / np.sqrt(means)
    np.savez(path.with_suffix(".start.npz"), mean=flat.mean(axis=0), covariance=np.cov(flat.T), error=error)
    sampling = float(stats["elapsed"].values[:, -1].max())
    return {
        "status": "ok",
        **versions("numpy", "numba"),
        "chains": given.chains,
        "learned": model.learned is not None,
        "draws": draws,
        "warmup": _WARMUP,
        "min_ess": effective.min(),
        "worst": int(effective.argmin()),
        "ess_per_sweep": effective.min() / (draws * given.chains),
        "acceptance": float(stats["acceptance_rate"].mean()),
        "setup_seconds": setup,
        "setup_cpu_seconds": used,
        "sampling_seconds": sampling,
        "run_seconds": wall,
        "ess_per_second": effective.min() / sampling,
    }


def own_side(given: argparse.Namespace) -> None:
    """All problems in this process: code is compiled once, by small problems, before anything is timed."""
    import tunamh

    warnings.simplefilter("ignore")
    began = time.perf_counter()
    for make in _TO_COMPILE:
        tunamh.sample(target(make(), keep_effects=False), draws=20, tune=50, chains=2, rng=1, progressbar=False)
    print(f"compiled in {time.perf_counter() - began:.0f} s", flush=True)
    for name in given.names:
        if time.perf_counter() - began > given.limit:
            continue
        path = given.folder / f"{name}.npz"
        try:
            problem = given.problems[name][1]()
            save(problem, path)
            found = own_problem(problem, path, given)
        except Exception as error:  # the other problems are measured all the same
            found = {"status": f"failed: {type(error).__name__}: {str(error)[:300]}"}
        path.with_suffix(".own.json").write_text(json.dumps(found))
        print("tunamh", name, found, flush=True)


# ------------------------------------------------------------------------------------------------------- both of them


def run_worker(command: list[str], limit: float) -> None:
    """A process of its own, killed after ``limit`` seconds. What it wrote until then counts."""
    print(" ".join(command[1:]), f"(at most {limit:.0f} s)", flush=True)
    try:
        environment = os.environ | {"PYTHONPATH": str(HERE.parent / "src"), "XLA_PYTHON_CLIENT_PREALLOCATE": "false"}
        subprocess.run(command, env=environment, timeout=limit, check=False)
    except subprocess.TimeoutExpired:
        print(f"stopped after {limit:.0f} s", flush=True)


def collected(given: argparse.Namespace, report: dict) -> dict:
    for name in given.names:
        one = report["problems"].setdefault(name, {"title": given.problems[name][0]})
        for side in ("own", "hmc"):
            path = given.folder / f"{name}.{side}.json"
            if path.exists():
                one[side] = json.loads(path.read_text())
    return report


def machine() -> dict:
    lines = Path("/proc/cpuinfo").read_text().splitlines()
    names = [line.split(":")[1].strip() for line in lines if line.startswith("model name")]
    about = {"processor": names[0] if names else "", "cores": os.cpu_count(), "python": platform.python_version()}
    return about | versions("jax") | {"date": time.strftime("%Y-%m-%d")}


def measure(given: argparse.Namespace, folder: Path) -> dict:
    """Our side has three quarters of the time at most, HMC what is left."""
    began, common = time.perf_counter(), ["--seconds", str(given.seconds)]
    if given.packages:
        common += ["--packages", str(unpacked(given.packages, folder))]
        print(f"unpacked after {time.perf_counter() - began:.0f} s", flush=True)
    given.folder, names = folder, ",".join(given.names)
    report, path = {"machine": machine(), "problems": {}}, given.out / "groups_device.json"
    own = [sys.executable, str(HERE / "groups_device.py"), "--worker", str(folder), "--only", names, *common]
    own += ["--chains", str(given.chains), "--limit", str(0.55 * given.limit), *(["--quick"] if given.quick else [])]
    run_worker(own, 0.75 * given.limit)
    path.write_text(json.dumps(collected(given, report), indent=1))
    left = given.limit - (time.perf_counter() - began)
    hmc = [sys.executable, str(HERE / "hmc_groups.py"), str(folder), names, *common[2:]]
    hmc += ["--seconds", str(given.hmc_seconds)]
    run_worker([*hmc, "--chains", str(given.hmc_chains), "--limit", str(left - 60)], left)
    path.write_text(json.dumps(collected(given, report), indent=1))
    return report


def cells(one: dict) -> list[str]:
    own, hmc = one.get("own", {}), one.get("hmc", {})
    figures = [(own, "setup_seconds"), (own, "ess_per_sweep"), (own, "ess_per_second"), (hmc, "ess_per_second")]
    words = [f"{side[key]:,.3g}" if key in side else side.get("status", "-") for side, key in figures]
    both = "ess_per_second" in own and "ess_per_second" in hmc
    words.append(f"{own['ess_per_second'] / hmc['ess_per_second']:.3g}" if both else "-")
    return [one["title"], *words, f"{hmc['z']:.1f}" if "z" in hmc else "-"]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help=f"separated by commas: {', '.join(PROBLEMS)}")
    parser.add_argument("--seconds", type=float, default=12.0, help="of our sampling")
    parser.add_argument("--chains", type=int, default=16, help="of ours; one core each")
    parser.add_argument("--hmc-chains", type=int, default=128)
    parser.add_argument("--hmc-seconds", type=float, default=8.0, help="for each of three lengths of trajectories")
    parser.add_argument("--limit", type=float, default=560.0, help="seconds in all")
    parser.add_argument("--packages", type=Path)
    parser.add_argument("--quick", action="store_true", help="two small problems")
    parser.add_argument("--out", type=Path, default=Path(os.environ.get("OUT", RESULTS)))
    parser.add_argument("--worker", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    given.problems = QUICK if given.quick else PROBLEMS
    given.names = given.only.split(",") if given.only else list(given.problems)
    if given.worker:
        if given.packages:
            sys.path.append(str(given.packages))
        given.folder = given.worker
        own_side(given)
        return
    with tempfile.TemporaryDirectory() as folder:
        report = measure(given, Path(folder))
        print(json.dumps(report, default=float))
    columns = ["", "set-up, s", "per sweep", "tunamh, per s", "HMC, per s", "ratio", "z"]
    print("\n".join("  ".join(row) for row in [columns, *(cells(one) for one in report["problems"].values())]))


if __name__ == "__main__":
    main()
