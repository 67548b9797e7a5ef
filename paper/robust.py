"""Figure 2: robust regression, effective draws per second and batch sizes, with and without the mode (MAP).

Every chain starts from one draw of the posterior's Laplace law, so that nothing depends on burn-in; at stationarity a
method with and without "MAP" differs by its step size only. SMH is run as published (l1 bounds, all rows when the
Poisson rate exceeds N) and, tuned, with the sharp bounds of the library.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import tunamh
from tunamh import MH, AustereMH, FactorizedMH, FlyMC, Taylor, TunaMH

from . import settings
from .runs import (
    Report,
    Run,
    effective_draws,
    effective_draws_by_jumps,
    fixed_run,
    part,
    timed_run,
    tuned_step,
    untouched_run,
)

SHARE_FOR_TUNING = 0.3  # of the time of a run
KEEP = 5000  # draws of a run that are kept
UNTHINNED = 20_000  # draws of the shorter run of a method that mixes fast
FEW = 30  # effective draws below which ArviZ's count says little


class Problem(NamedTuple):
    """Data, the Laplace law of the posterior, and a draw from it."""

    target: tunamh.RobustRegression
    mode: np.ndarray
    variance: np.ndarray
    start: np.ndarray
    expanded: Any


def problem(n_rows: int, columns: int) -> Problem:
    """``x ~ N(0, I)``, ``y = sum_j x_j + N(0, 1)``."""
    rng = np.random.default_rng(settings.SEED)
    X = rng.standard_normal((n_rows, columns))
    target = tunamh.RobustRegression(X, X.sum(axis=1) + rng.standard_normal(n_rows), df=settings.ROBUST_DF, scale=1.0)
    expanded = Taylor(order=2)(target)
    mode, factor = expanded.centre, expanded.metric.factor  # type: ignore[attr-defined]
    covariance = factor @ factor.T
    start = mode + factor @ rng.standard_normal(columns)
    return Problem(target, mode, np.diag(covariance), start, expanded)


class Way(NamedTuple):
    """A method on a problem: the target that it runs on, its test, and how many steps it forgets."""

    target: Any
    test: Any
    burn: int = 0


def way(name: str, at: Problem, chi: float) -> Way:
    """The methods by their names in the paper."""
    n_rows = at.target.n_rows
    if name.startswith("SMH"):
        order, sharp = int(name[4]), name.endswith("sharp")
        if sharp and order == 2:
            return Way(at.expanded, FactorizedMH())
        control = Taylor(order=order, centre=at.mode, original_bounds=not sharp)
        return Way(control(at.target), FactorizedMH() if sharp else FactorizedMH(truncation=n_rows))
    if name.startswith("FlyMC"):
        tuned = name == "FlyMC-MAP"
        test = FlyMC(q=settings.ROBUST_Q, tuned=tuned, centre=at.mode if tuned else None)
        return Way(at.target, test, settings.FIREFLY_BURN)
    tests = {
        "MH": MH(),
        "TFMH": FactorizedMH(),
        "TunaMH": TunaMH(chi=chi),
        "TunaMH-MAP": TunaMH(chi=chi),
        "TunaMH, chi tuned": TunaMH(),
    }
    return Way(at.target, tests[name])


def efficiency(run: Run, variance: np.ndarray) -> dict[str, Any]:
    """Effective draws per second, counted by ArviZ and, where steps are short, known from jumps; ``best`` to trust.

    ArviZ's count overstates a chain that has not mixed. Jumps give the count itself for stateless tests and an upper
    bound for FlyMC, whose bright rows remember: there the smaller of the two is taken.
    """
    counted = effective_draws(run.theta)
    per_second = counted / run.seconds
    jumps: float | None = effective_draws_by_jumps(run, variance) / run.seconds
    if jumps is not None and jumps * run.seconds >= 0.2 * run.steps:
        jumps = None
    unsure = not counted > FEW or len(run.theta) < 500
    remembers = run.bright is not None
    best = per_second if jumps is None else min(jumps, per_second) if remembers else jumps
    return {
        **run.summary(),
        "ess": counted,
        "ess_per_second": per_second,
        "ess_per_second_by_jumps": jumps,
        "few": bool(unsure and (remembers or jumps is None)),
        "best": best,
    }


def published(at: Problem, n_rows: int, seconds: float, report: Report) -> dict[str, Any]:
    """All methods with the paper's step sizes."""
    results: dict[str, Any] = {}
    chi = settings.ROBUST_CHI[n_rows]
    for k, (name, steps) in enumerate(settings.ROBUST_STEPS.items()):
        report(k / len(settings.ROBUST_STEPS), f"N = {n_rows:,}, {name}, the paper's step")
        if name == "TunaMH-MAP" and steps[n_rows] == settings.ROBUST_STEPS["TunaMH"][n_rows]:
            results[name] = results["TunaMH"]
            continue
        results[name] = one(at, way(name, at, chi), steps[n_rows], seconds)
    return results


def one(at: Problem, chosen: Way, step: float, seconds: float) -> dict[str, Any]:
    """A run, and where its kept draws are nearly independent another one, unthinned, so that they can be counted."""
    same: dict[str, Any] = {"scale": step, "start": at.start, "seed": settings.SEED, "burn": chosen.burn}
    run = timed_run(chosen.target, chosen.test, seconds=seconds, keep=KEEP, **same)
    if mixes(run):
        run = at_the_pace_of(run, fixed_run(chosen.target, chosen.test, draws=UNTHINNED, **same))
    return efficiency(run, at.variance)


def untouched(at: Problem, seconds: float) -> dict[str, Any]:
    """The same for ``tunamh.sample(target)``."""
    run = untouched_run(at.target, seconds=seconds, keep=KEEP)
    if mixes(run):
        short = UNTHINNED * run.pace
        run = at_the_pace_of(run, untouched_run(at.target, seconds=short, keep=2 * UNTHINNED))
    return efficiency(run, at.variance)


def at_the_pace_of(long: Run, short: Run) -> Run:
    """A run of milliseconds counts draws well and time badly: its clock is set by the longer run."""
    return short._replace(elapsed=short.elapsed * long.pace / short.pace)


def mixes(run: Run) -> bool:
    return run.thin > 1 and effective_draws(run.theta) > 0.1 * len(run.theta)


TUNED = (
    *("MH", "TFMH", "FlyMC", "TunaMH", "TunaMH, chi tuned", "SMH-1", "SMH-2", "FlyMC-MAP", "SMH-1, sharp"),
    "SMH-2, sharp",
)
UNTOUCHED = "sample(target)"


def tuned(at: Problem, chi: float, guesses: dict[str, float], seconds: float, report: Report) -> dict[str, Any]:
    """All methods with steps tuned to the stated acceptance at stationarity, and `tunamh.sample` left alone."""
    results: dict[str, Any] = {}
    for k, name in enumerate(TUNED):
        report(k / (len(TUNED) + 1), f"N = {at.target.n_rows:,}, {name}, step tuned")
        chosen = way(name, at, chi)
        step = tuned_step(
            chosen.target,
            chosen.test,
            guess=guesses.get(name.split(",")[0], guesses["MH"]),
            acceptance=settings.ROBUST_ACCEPTANCE,
            seconds=SHARE_FOR_TUNING * seconds,
            start=at.start,
        )
        results[name] = one(at, chosen, step, seconds)
    report(len(TUNED) / (len(TUNED) + 1), f"N = {at.target.n_rows:,}, {UNTOUCHED}")
    results[UNTOUCHED] = untouched(at, seconds)
    return results


def measure(rows: tuple[int, ...], seconds: float, report: Report) -> dict[str, Any]:
    """Figure 2 for each number of rows."""
    result: dict[str, Any] = {"rows": list(rows), "published": {}, "tuned": {}}
    for k, n_rows in enumerate(rows):
        share = part(report, k / len(rows), (k + 1) / len(rows))
        share(0.0, f"N = {n_rows:,}, data and mode")
        at = problem(n_rows, settings.ROBUST_COLUMNS)
        guesses = {name: steps[n_rows] for name, steps in settings.ROBUST_STEPS.items()}
        result["published"][str(n_rows)] = published(at, n_rows, seconds, part(share, 0.0, 0.45))
        result["tuned"][str(n_rows)] = tuned(at, settings.ROBUST_CHI[n_rows], guesses, seconds, part(share, 0.45, 1.0))
    return result


def low_dimension(n_rows: int, seconds: float, report: Report) -> dict[str, Any]:
    """The appendix's d = 10: all methods, steps tuned (the paper does not give them), chi as at the largest N."""
    at = problem(n_rows, settings.LOW_COLUMNS)
    guess = 2.4 / np.sqrt(settings.LOW_COLUMNS) * float(np.sqrt(at.variance.mean()))
    guesses = {"MH": guess, "TFMH": guess / 100, "TunaMH": guess / 10}
    chi = settings.ROBUST_CHI[max(settings.ROBUST_CHI)]
    return {"rows": n_rows, "methods": tuned(at, chi, guesses, seconds, report)}


def austere_error(share: float, report: Report) -> dict[str, Any]:
    """AustereMH on N = 5000 from theta = 0: distance of the mean draw to the true parameters and to the mode."""
    at = problem(settings.AUSTERE_ROWS, settings.ROBUST_COLUMNS)
    burn, draws = int(share * settings.AUSTERE_BURN), int(share * settings.AUSTERE_DRAWS)
    ways = {
        "MH": (MH(), settings.AUSTERE_STEP),
        "TunaMH": (TunaMH(chi=settings.ROBUST_CHI[5_000]), settings.ROBUST_STEPS["TunaMH"][5_000]),
        "AustereMH": (AustereMH(settings.AUSTERE_EPSILON, settings.WALK_BATCH), settings.AUSTERE_STEP),
    }
    result: dict[str, Any] = {"burn": burn, "draws": draws, "methods": {}}
    for k, (name, (test, step)) in enumerate(ways.items()):
        report(k / len(ways), f"N = 5,000 from theta = 0, {name}")
        start = np.zeros(settings.ROBUST_COLUMNS)
        run = fixed_run(at.target, test, scale=step, draws=draws, start=start, seed=settings.SEED, burn=burn)
        mean = run.theta.mean(axis=0)
        result["methods"][name] = {
            **run.summary(),
            "error": float(np.linalg.norm(mean - 1)),
            "mean_square": float(np.mean((mean - 1) ** 2)),
            "from_mode": float(np.linalg.norm(mean - at.mode)),
            "posterior_variance_ratio": float((run.theta.var(axis=0) / at.variance).mean()),
        }
    result["mode_error"] = float(np.linalg.norm(at.mode - 1))
    return result
