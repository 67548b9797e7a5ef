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
import sys
import time
import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from common import CACHE, HERE, RESULTS, keep_to_cores, machine, print_table, run_apart, write_json
from group_fits_data import ENTRIES
from group_fits_report import CHECKS, COLUMNS, cells, check_cells, losses
from group_problems import GroupProblem, load, save, target
from groups import nuts_run
from nuts_groups import in_form
from real_groups import summary

OUT = RESULTS / "group_fits.json"
_WARMUP = 200
_LEAST_DRAWS, _MOST_DRAWS, _MOST_VALUES = 600, 20_000, 4e7
_MOST_KEPT = 30_000  # effects
_SAMPLE = 200  # effects whose effective draws are counted
_NUTS = [(sampler, form) for form in ("centred", "non-centred") for sampler in ("numpyro", "nutpie")]


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
    model.own_kernel().bind(model)  # which may learn a law of all factors
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
    """Few rows of the same form, to load compiled code with; the same rows where these are few."""
    n, factors = 1200, problem.codes.shape[1]
    if len(problem.y) <= n:
        return problem
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
        if "own" in given.parts or ("nuts" in given.parts and entry.nuts):
            worker = [sys.executable, str(HERE / "group_fits.py"), "--worker", str(path), str(given.seconds)]
            found["tunamh"] = run_apart(worker, cores=1, timeout=1800)
            print("  ", {k: v for k, v in found["tunamh"].items() if not isinstance(v, list)}, flush=True)
        if "fits" in given.parts:
            found["fits"] = point_fits(problem, folder, given.cap)
        if "nuts" in given.parts and entry.earlier:
            found["nuts"] = earlier_nuts(entry.earlier)
        elif "nuts" in given.parts and entry.nuts and found["tunamh"]["status"] == "ok":
            found["nuts"] = nuts_runs(problem, path, given.cap)
        return found
    finally:
        shutil.rmtree(folder, ignore_errors=True)


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
