"""Models with groups: what 1,000 effective draws cost, beside point fits (lme4, glmmTMB, ordinal) and NUTS.

    python benchmarks/group_fits.py [--only verbagg,grouseticks] [--parts own,fits,nuts] [--seconds 15] [--cap 240]

Data: lme4's InstEval, VerbAgg and grouseticks (`lme4_data.R`); flights and visits as in `real_groups.py`; simulated
groups of 3, 10 and 100 rows, one factor or two that cross. Columns of real data are standardised. Priors are those of
`group_problems.py`.

All seconds are those of the processor. tunamh: one chain; set-up is everything before its first step; the time to 1,000
effective draws of the worst common parameter (coefficients, the family's own parameters, log scales) has set-up, 200
sweeps of warm-up and the making of the result in it. Compiled code is loaded before, by a small model. Point fits: the
fit alone. NUTS (`nuts_groups.py`) runs on the smaller problems; the best of its forms counts, without compiling and
warm-up. Figures of NUTS that `groups.py` and `real_groups.py` have for the same data are taken from their results.

Our posterior means are compared once with the point fits, in posterior standard deviations, and with NUTS, in combined
Monte Carlo standard errors. A peer that is not installed, or takes longer than --cap seconds, has a cell that says so.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from common import CACHE, HERE, RESULTS, keep_to_cores, machine, number, print_table, run_apart, write_json
from group_problems import GroupProblem, load, save, simulate, simulate_crossed, target
from groups import PROBLEMS, nuts_run
from models import PEERS_PYTHON
from nuts_groups import in_form
from real_groups import summary

OUT = RESULTS / "group_fits.json"
_WARMUP = 200
_LEAST_DRAWS, _MOST_DRAWS, _MOST_VALUES = 600, 20_000, 4e7
_MOST_KEPT = 30_000  # effects
_SAMPLE = 200  # effects whose effective draws are counted
_NUTS = [(sampler, form) for form in ("centred", "non-centred") for sampler in ("numpyro", "nutpie")]


class Entry(NamedTuple):
    """A line of the table. ``earlier`` says where figures of NUTS for the same data are, ``nuts`` whether to run it."""

    title: str
    make: Callable[[Path], GroupProblem]
    nuts: bool = False
    earlier: tuple[str, str, str] | None = None


# -------------------------------------------------------------------------------------------------------------- data


def from_lme4(name: str, family: str) -> Callable[[Path], GroupProblem]:
    """By R, which is asked for a table of numbers. Ordinal models have no intercept; answers 4 and 5 are good ones."""

    def make(folder: Path) -> GroupProblem:
        table = folder / "lme4.csv"
        _run_r("lme4_data.R", name, str(table))
        values = np.loadtxt(table, delimiter=",", skiprows=1)
        columns = table.read_text().split("\n", 1)[0].replace('"', "").split(",")
        y, X, codes = (values[:, [c[0] == letter for c in columns]] for letter in "yxg")
        X = (X - X.mean(axis=0)) / X.std(axis=0)
        if family != "ordinal":
            X = np.column_stack([np.ones(len(X)), X])
        y = y[:, 0] >= 4 if (name, family) == ("insteval", "logistic") else y[:, 0]
        return GroupProblem(family, X, y.astype(float), codes.astype(int))

    return make


def from_real_groups(name: str) -> Callable[[Path], GroupProblem]:
    def make(folder: Path) -> GroupProblem:
        path = folder / "read.npz"
        command = [str(PEERS_PYTHON), str(HERE / "real_groups.py"), "--read", name, str(path)]
        if not PEERS_PYTHON.exists():
            raise RuntimeError("benchmarks/.peers-venv, which has the data, is missing; make bench makes it")
        found = run_apart(command, cores=1, timeout=300)
        if found["status"] != "ok":
            raise RuntimeError(found["status"])
        return load(path)

    return make


def one_factor(groups: int, rows_each: int) -> Callable[[Path], GroupProblem]:
    codes = np.repeat(np.arange(groups), rows_each)
    return lambda folder: simulate("logistic", groups * rows_each, groups, 5, codes=codes)


def crossed(n_rows: int, *groups: int) -> Callable[[Path], GroupProblem]:
    return lambda folder: simulate_crossed(n_rows, groups, 5)


ENTRIES = {
    "grouseticks": Entry("grouseticks, Poisson, three factors", from_lme4("grouseticks", "poisson"), nuts=True),
    "verbagg": Entry("VerbAgg, logistic, persons x items", from_lme4("verbagg", "logistic"), nuts=True),
    "insteval-logistic": Entry(
        "InstEval, logistic, students x lecturers", from_lme4("insteval", "logistic"), nuts=True
    ),
    "insteval-gaussian": Entry("InstEval, Gaussian", from_lme4("insteval", "gaussian")),
    "insteval-ordinal": Entry("InstEval, ordinal", from_lme4("insteval", "ordinal")),
    "visits": Entry("visits by person, Poisson", from_real_groups("visits"), earlier=("real_groups", "data", "visits")),
    "planes": Entry("late flights by aeroplane", from_real_groups("planes"), earlier=("real_groups", "data", "planes")),
    "both": Entry(
        "late flights by aeroplane x destination", from_real_groups("both"), earlier=("real_groups", "data", "both")
    ),
    "both-all": Entry("the same, all flights", from_real_groups("both-all")),
    "1e3-of-3": Entry("logistic, 10^3 groups of 3 rows", one_factor(1_000, 3), nuts=True),
    "1e4-of-3": Entry("logistic, 10^4 groups of 3 rows", one_factor(10_000, 3), nuts=True),
    "1e5-of-3": Entry("logistic, 10^5 groups of 3 rows", one_factor(100_000, 3)),
    "1e3-of-100": Entry(
        "logistic, 10^3 groups of about 100 rows",
        lambda folder: simulate(*PROBLEMS["logistic-1e5"]),
        earlier=("groups", "problems", "logistic-1e5"),
    ),
    "1e4-of-10": Entry("logistic, 10^4 groups of 10 rows", one_factor(10_000, 10)),
    "1e5-of-10": Entry("logistic, 10^5 groups of 10 rows", one_factor(100_000, 10)),
    "1e3x1e2": Entry("logistic, crossed 10^3 x 10^2", crossed(100_000, 1_000, 100), nuts=True),
    "1e4x1e3": Entry("logistic, crossed 10^4 x 10^3", crossed(100_000, 10_000, 1_000)),
    "1e5x1e3": Entry("logistic, crossed 10^5 x 10^3", crossed(1_000_000, 100_000, 1_000)),
}


# ---------------------------------------------------------------------------------------------------------- our side


def common_of(posterior: Any) -> tuple[np.ndarray, list[str]]:
    """Draws of coefficients, then of log scales of effects, then of the family's own parameters; and their names."""
    found = posterior.posterior.data_vars
    parts, names = [], []
    for name in ("theta", "group_scale", *(n for n in found if n not in ("theta", "group_scale", "group_effect"))):
        part = found[name].values
        part = part.reshape(*part.shape[:2], -1)
        positive = name in ("group_scale", "scale")
        parts.append(np.log(part) if positive else part)
        names += [f"log {name}[{j}]" if positive else f"{name}[{j}]" for j in range(part.shape[2])]
    values = np.concatenate(parts, axis=2)
    return values.reshape(-1, values.shape[2]), names


def own_run(path: Path, seconds: float) -> dict:
    """In a process of its own, one chain on one core.

    A first run counts effective draws per sweep. A second one has as many draws as 1,000 effective ones take.
    """
    import tunamh

    keep_to_cores(1)
    warnings.simplefilter("ignore")
    problem = load(path)
    settings = {"chains": 1, "cores": 1, "progressbar": False, "tune": _WARMUP}
    tunamh.sample(target(_small(problem)), draws=50, rng=1, **settings)
    kept = sum(problem.groups) <= _MOST_KEPT
    used = time.process_time()
    model = target(problem, keep_effects=kept)
    model.model()
    setup = time.process_time() - used
    pilot = tunamh.sample(model, draws=20, rng=1, **(settings | {"tune": 20}))
    pace = float(pilot.sample_stats["elapsed"].values[0, -1]) / 20
    most = min(_MOST_DRAWS, int(_MOST_VALUES / sum(problem.groups))) if kept else _MOST_DRAWS
    first = _run(model, int(np.clip(seconds / pace, _LEAST_DRAWS, most)), 2, settings)
    values, names = common_of(first.posterior)
    draws, effective, stats = len(values), effective_draws(values), first.posterior.sample_stats
    worst = int(effective.argmin())
    of_effects = _of_effects(first.posterior, problem, values, path) if kept else {}
    needed = int(np.ceil(1000 * draws / effective[worst]))
    second = _run(model, min(needed, draws), 3, settings)
    more = max(0, needed - draws) * second.sweep_seconds
    return {
        "status": "ok",
        "rows": len(problem.y),
        "columns": problem.X.shape[1],
        "groups": problem.groups,
        "learned": model.learned is not None,
        "acceptance": float(stats["acceptance_rate"].mean()),
        "group_acceptance": float(stats["group_acceptance"].mean()),
        "rows_per_sweep": float(stats["batch_size"].mean()),
        "draws": draws,
        "setup_seconds": setup,
        "sweep_seconds": second.sweep_seconds,
        "worst": names[worst],
        "min_ess": effective[worst],
        "ess_per_sweep": effective[worst] / draws,
        "draws_to_1000": needed,
        "seconds_to_1000": setup + second.seconds + more,
        "names": names,
        **{name: value.tolist() for name, value in summary(values).items()},
        **of_effects,
    }


class _Run(NamedTuple):
    """``seconds`` of the processor for warm-up, draws and the making of the result."""

    posterior: Any
    seconds: float
    sweep_seconds: float


def _run(model: Any, draws: int, seed: int, settings: dict) -> _Run:
    import tunamh

    began, used = time.perf_counter(), time.process_time()
    posterior = tunamh.sample(model, draws=draws, rng=seed, **settings)
    used, wall = time.process_time() - used, time.perf_counter() - began
    share = used / wall  # of the core's time, which others have too
    return _Run(posterior, used, share * float(posterior.sample_stats["elapsed"].values[0, -1]) / draws)


def _small(problem: GroupProblem) -> GroupProblem:
    """Few rows of the same form, to load compiled code with."""
    n, factors = 1200, problem.codes.shape[1]
    rng = np.random.default_rng(1)
    X = rng.standard_normal((n, 3))
    codes = np.column_stack([rng.permutation(n) % G for G in (150, 120, 20)[:factors]])
    y = rng.integers(1, 4, n) if problem.family == "ordinal" else rng.integers(0, 2, n)
    return GroupProblem(problem.family, X, y + (0.1 * X[:, 0] if problem.family == "gaussian" else 0.0), codes)


def effective_draws(values: np.ndarray) -> np.ndarray:
    from arviz_stats import ess

    return np.array([float(ess(column.copy()[None])) for column in values.T])


def _of_effects(posterior: Any, problem: GroupProblem, common: np.ndarray, path: Path) -> dict:
    """Effective draws of a sample of effects; and for NUTS, means and standard deviations of all parameters."""
    effects = posterior.posterior["group_effect"].values[0]
    some = _some(effects.shape[1])
    found = effective_draws(effects[:, some])
    d = problem.X.shape[1] + len(problem.groups)
    whole, start = np.concatenate([common[:, :d], effects], axis=1), {}
    for name, centred in (("centred", True), ("other", False)):
        walked = in_form(whole, problem, centred)
        start |= {f"mean_{name}": walked.mean(axis=0), f"sd_{name}": walked.std(axis=0)}
    np.savez(path.with_suffix(".start.npz"), **start)
    np.savez(path.with_suffix(".own.npz"), **summary(np.concatenate([common[:, :d], effects[:, some]], axis=1)))
    n = len(effects)
    return {
        "effects_min_ess": found.min(),
        "effects_min_ess_per_sweep": found.min() / n,
        "effects_median_ess_per_sweep": float(np.median(found)) / n,
    }


def _some(n_effects: int) -> np.ndarray:
    return np.sort(np.random.default_rng(0).choice(n_effects, min(n_effects, _SAMPLE), replace=False))


# ------------------------------------------------------------------------------------------------------------- peers


def _run_r(script: str, *arguments: str) -> None:
    if shutil.which("Rscript") is None:
        raise RuntimeError("R is not installed")
    done = subprocess.run(["Rscript", str(HERE / script), *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise RuntimeError(f"R: {done.stderr.strip().splitlines()[-1][:100]}")


def point_fits(problem: GroupProblem, folder: Path, cap: float) -> dict:
    if shutil.which("Rscript") is None:
        return {"lme4": {"status": "R is not installed"}}
    table = folder / "problem.csv"
    d, factors = problem.X.shape[1], problem.codes.shape[1]
    header = ",".join(["y", *(f"x{j + 1}" for j in range(d)), *(f"g{f + 1}" for f in range(factors))])
    formats = ["%.17g"] * (1 + d) + ["%d"] * factors
    values = np.column_stack([problem.y, problem.X, problem.codes])
    np.savetxt(table, values, delimiter=",", header=header, comments="", fmt=formats)
    found = {}
    for peer in ("ordinal",) if problem.family == "ordinal" else ("lme4", "glmmTMB"):
        command = ["Rscript", str(HERE / "point_fits_groups.R"), str(table), problem.family, peer, str(cap)]
        found[peer] = run_apart(command, cores=1, timeout=5 * cap)
        print("  ", peer, found[peer], flush=True)
    return found


def beside_fit(ours: dict, fit: dict) -> tuple[float, np.ndarray, np.ndarray]:
    """How far a point fit is from our means: the worst coefficient, scales in per cent, log scales.

    Coefficients and log scales in posterior standard deviations.
    """
    d, factors = ours["columns"], len(ours["groups"])
    mean, sd = np.array(ours["mean"]), np.array(ours["sd"])
    away = (np.atleast_1d(fit["coefficients"]) - mean[:d]) / sd[:d]
    log_scales = np.log(np.maximum(np.atleast_1d(fit["scales"]), 1e-300)) - mean[d : d + factors]
    return float(np.abs(away).max()), 100 * np.expm1(log_scales), log_scales / sd[d : d + factors]


def nuts_runs(problem: GroupProblem, path: Path, cap: float) -> dict:
    """Every form, a quarter of the cap each; the z scores are those of the form with most draws."""
    d = problem.X.shape[1] + len(problem.groups)
    found, most = {}, 0.0
    for sampler, form in _NUTS:
        one = nuts_run(path, sampler, form, cap / len(_NUTS), 4 * cap, 20_000)
        print("  ", sampler, form, {k: v for k, v in one.items() if k != "log"}, flush=True)
        found[f"{sampler}, {form}"] = one
        if one["status"] != "ok":
            continue
        one["min_ess_common"] = min(one["worst"]["theta"], one["worst"]["log scale"])
        one["seconds_to_1000"] = 1000 * one["sampling_seconds"] / one["min_ess_common"]
        if one["min_ess"] > most:
            most = one["min_ess"]
            draws = np.load(path.with_suffix(".nuts.npy"))
            theirs = summary(draws[:, np.concatenate([np.arange(d), d + _some(draws.shape[1] - d)])])
            with np.load(path.with_suffix(".own.npz")) as ours:
                found["z"] = z_scores(ours, theirs, d)
    return found


def z_scores(ours: Any, theirs: dict, d: int) -> dict:
    found: dict = {}
    for what in ("mean", "sd"):
        z = np.abs((ours[what] - theirs[what]) / np.hypot(ours[f"{what}_error"], theirs[f"{what}_error"]))
        found[what] = {"of": len(z), "common": float(z[:d].max()), "effects": float(z[d:].max())}
        found[what] |= {"beyond_3": int((z > 3).sum()), "mean_square": float(np.mean(z * z))}
    return found


def earlier_nuts(where: tuple[str, str, str]) -> dict:
    """The best form in the results of another script, with the date on which these were measured."""
    file, part, name = where
    report = json.loads((RESULTS / f"{file}.json").read_text())
    nuts = report[part].get(name, {}).get("nuts", {})
    runs = {f"numpyro, {nuts['form']}": nuts} if "form" in nuts else nuts
    found = {}
    for form, one in runs.items():
        if one.get("status") == "ok":
            least = min(one["worst"]["theta"], one["worst"]["log scale"])
            more = {"min_ess_common": least, "seconds_to_1000": 1000 * one["sampling_seconds"] / least}
            found[form] = one | more | {"date": report["machine"]["date"], "from": f"{file}.json"}
    return found


# ---------------------------------------------------------------------------------------------------------- one line


def measure(name: str, given: argparse.Namespace) -> dict:
    """Own draws, point fits, NUTS, of those that are asked for."""
    entry, folder, found = ENTRIES[name], CACHE / f"group-fits-{name}-{os.getpid()}", dict[str, Any]()
    path = folder / "problem.npz"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        try:
            problem = entry.make(folder)
        except RuntimeError as error:
            return {"tunamh": {"status": f"no data: {error}"}}
        save(problem, path)
        if "own" in given.parts or "nuts" in given.parts:
            worker = [sys.executable, str(HERE / "group_fits.py"), "--worker", str(path), str(given.seconds)]
            found["tunamh"] = run_apart(worker, cores=1, timeout=1800)
            print("  ", {k: v for k, v in found["tunamh"].items() if not isinstance(v, list)}, flush=True)
        if "fits" in given.parts:
            found["fits"] = point_fits(problem, folder, given.cap)
        if "nuts" in given.parts and found["tunamh"]["status"] == "ok":
            if entry.earlier:
                found["nuts"] = earlier_nuts(entry.earlier)
            elif entry.nuts:
                found["nuts"] = nuts_runs(problem, path, given.cap)
        return found
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# ------------------------------------------------------------------------------------------------------------- tables

COLUMNS = [
    "",
    "rows, groups",
    "set-up",
    "ms per sweep",
    "effective draws per sweep",
    "effects: worst, median",
    "**1,000 effective draws**",
    "glmer",
    "glmmTMB",
    "NUTS",
]
CHECKS = ["", "glmer: coefficients", "scales", "glmmTMB: coefficients", "scales", "NUTS: means", "standard deviations"]


def best_nuts(found: dict) -> tuple[str, dict] | None:
    ran = {name: one for name, one in found.get("nuts", {}).items() if one.get("status") == "ok"}
    return min(ran.items(), key=lambda item: item[1]["seconds_to_1000"]) if ran else None


def _fit_cell(found: dict, peers: tuple[str, ...]) -> str:
    for peer in peers:
        if peer in found.get("fits", {}):
            fit = found["fits"][peer]
            what = {"ordinal": " (clmm)"}.get(peer, "")
            return number(fit["seconds"]) + what if fit["status"] == "ok" else fit["status"][:60] + what
    return "-"


def _nuts_cell(found: dict) -> str:
    best = best_nuts(found)
    if best is None:
        return next((one["status"][:60] for one in found.get("nuts", {}).values() if "status" in one), "-")
    form, one = best
    few = "*" if one["min_ess_common"] < 50 else ""
    return f"{number(one['seconds_to_1000'])}{few} ({form}{', ' + one['date'] if 'date' in one else ''})"


def cells(name: str, found: dict) -> list[str]:
    ours = found["tunamh"]
    if ours["status"] != "ok":
        return [ENTRIES[name].title, ours["status"][:60], *[""] * (len(COLUMNS) - 2)]
    effects = [ours.get(f"effects_{which}_ess_per_sweep") for which in ("min", "median")]
    return [
        ENTRIES[name].title,
        f"{ours['rows']:,}, {' x '.join(f'{g:,}' for g in ours['groups'])}",
        number(ours["setup_seconds"]),
        number(1000 * ours["sweep_seconds"]),
        f"{ours['ess_per_sweep']:.2g}",
        "-" if effects[0] is None else ", ".join(f"{value:.2g}" for value in effects),
        f"**{number(ours['seconds_to_1000'])}**",
        _fit_cell(found, ("lme4", "ordinal")),
        _fit_cell(found, ("glmmTMB",)),
        _nuts_cell(found),
    ]


def check_cells(name: str, found: dict) -> list[str]:
    """By how much point fits differ from our means (`beside_fit`), and the largest z of NUTS: common, effects."""
    row = [ENTRIES[name].title]
    for peers in (("lme4", "ordinal"), ("glmmTMB",)):
        fit = next((fit for peer in peers if (fit := found.get("fits", {}).get(peer))), {"status": "-"})
        if fit["status"] != "ok" or found["tunamh"]["status"] != "ok":
            row += ["-", "-"]
            continue
        away, percent, log_scales = beside_fit(found["tunamh"], fit)
        shares = (f"{share:+.1f} % ({far:+.1f})" for share, far in zip(percent, log_scales, strict=True))
        row += [f"{away:.2f}", ", ".join(shares)]
    z = found.get("nuts", {}).get("z")
    return row + (
        [f"{z[what]['common']:.1f}, {z[what]['effects']:.1f}" for what in ("mean", "sd")] if z else ["-", "-"]
    )


def losses(report: dict) -> list[str]:
    """Where a point fit is faster than our 1,000 effective draws, NUTS less than ten times slower, or mixing is bad."""
    found = []
    for name, one in report["problems"].items():
        ours = one["tunamh"]
        if ours["status"] != "ok":
            found.append(f"{name}: {ours['status']}")
            continue
        for peer, fit in one.get("fits", {}).items():
            if fit["status"] == "ok" and fit["seconds"] < ours["seconds_to_1000"]:
                found.append(f"{name}: {peer} {number(fit['seconds'])} s, ours {number(ours['seconds_to_1000'])} s")
        best = best_nuts(one)
        if best and best[1]["seconds_to_1000"] < 10 * ours["seconds_to_1000"]:
            ratio = best[1]["seconds_to_1000"] / ours["seconds_to_1000"]
            found.append(f"{name}: {number(ratio)} times as fast as NUTS")
        if ours["ess_per_sweep"] < 0.02:
            found.append(f"{name}: {ours['ess_per_sweep']:.2g} effective draws of {ours['worst']} per sweep")
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", help=f"separated by commas: {', '.join(ENTRIES)}")
    parser.add_argument("--parts", default="own,fits,nuts", help="NUTS starts from our draws: nuts has own in it")
    parser.add_argument("--seconds", type=float, default=15.0, help="of our sweeps")
    parser.add_argument("--cap", type=float, default=240.0, help="seconds for a point fit, and for all forms of NUTS")
    parser.add_argument("--out", type=Path, default=OUT)
    parser.add_argument("--worker", nargs=3, metavar=("PATH", "SECONDS", "RESULT"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.worker:
        path, seconds, result = given.worker
        Path(result).write_text(json.dumps(own_run(Path(path), float(seconds))))
        return
    for name in [] if given.only == "" else given.only.split(",") if given.only else ENTRIES:
        print(f"{name} ...", flush=True)
        found = measure(name, given)
        report = json.loads(given.out.read_text()) if given.out.exists() else {"problems": {}}
        report["machine"] = machine()
        report["problems"][name] = report["problems"].get(name, {}) | found
        write_json(given.out, report)
    report = json.loads(given.out.read_text())
    known = [name for name in ENTRIES if name in report["problems"]]
    print_table("Seconds of the processor", COLUMNS, [cells(name, report["problems"][name]) for name in known])
    print_table("Beside the peers", CHECKS, [check_cells(name, report["problems"][name]) for name in known])
    print("\n".join(["Where we lose:", *losses(report)]))


if __name__ == "__main__":
    main()
