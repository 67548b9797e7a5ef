"""Figure 3: the truncated, tempered mixture of two Gaussians, a million rows; densities against the true one.

TunaMH and TFMH run with the paper's bounds (that is what gives its batch sizes); SMH-1, FlyMC and PoissonMH with the
tighter ones of the library, which favours them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

import tunamh
from tunamh import MH, FactorizedMH, FlyMC, PoissonMH, Taylor, TunaMH
from tunamh.cli.demo.paper_mixture import histogram, mixture_data, true_density
from tunamh.theory import total_variation

from . import settings
from .runs import Report, Run, timed_run

SHOWN = 3  # cells of the grid, per axis, that make one of the picture
CURVE_POINTS = 30
KEEP = 200_000
BINS = 1000  # of x, where sums over all rows are needed on a grid


class Problem(NamedTuple):
    """Two targets with the same posterior (tight bounds, the paper's bounds), the grid and the true masses on it."""

    tight: tunamh.GaussianMixture
    loose: tunamh.GaussianMixture
    edges: tuple[np.ndarray, np.ndarray]
    truth: np.ndarray


def problem(n_rows: int = settings.MIXTURE_ROWS) -> Problem:
    x = mixture_data(n_rows, settings.SEED)
    temper = settings.MIXTURE_TEMPER * settings.MIXTURE_ROWS / n_rows
    tight = tunamh.GaussianMixture(x, temper=temper)
    loose = tunamh.GaussianMixture(x, temper=temper, paper_bounds=True)
    coarse = np.linspace(-tight.box, tight.box, 121)
    mass = true_density(tight, x, coarse, fine=1, bins=BINS)
    first, second = (_range(coarse, mass.sum(axis=axis)) for axis in (1, 0))
    return Problem(tight, loose, (first, second), true_density(tight, x, first, second, fine=2, bins=BINS))


def _range(edges: np.ndarray, marginal: np.ndarray) -> np.ndarray:
    """Equally spaced edges over the cells beyond which either side has next to no mass."""
    below = np.cumsum(marginal)
    low = int(np.searchsorted(below, settings.KL_RANGE))
    high = int(np.searchsorted(below, 1 - settings.KL_RANGE)) + 1
    return np.linspace(edges[low], edges[min(high, len(edges) - 1)], settings.KL_EDGES)


def symmetric_kl(p: np.ndarray, q: np.ndarray) -> float:
    """``(KL(p, q) + KL(q, p)) / 2`` over cells, logarithms of arguments clamped as in the authors' later code."""
    log_p, log_q = (np.log(np.clip(mass, *settings.KL_CLAMP)) for mass in (p, q))
    return float(0.5 * np.sum((p - q) * (log_p - log_q)))


def methods(at: Problem) -> dict[str, tuple[Any, Any, float | None]]:
    """Target, test and step of every method."""
    steps = settings.MIXTURE_STEPS
    mode = Taylor(order=1)(at.tight)
    fly = FlyMC(q=settings.MIXTURE_Q)
    fly_map = FlyMC(q=settings.MIXTURE_Q, tuned=True, centre=mode.centre)  # type: ignore[attr-defined]
    return {
        "MH": (at.tight, MH(), steps["MH"]),
        "TFMH": (at.loose, FactorizedMH(), steps["TFMH"]),
        "SMH-1": (mode, FactorizedMH(), steps["SMH-1"]),
        "FlyMC": (at.tight, fly, steps["FlyMC"]),
        "FlyMC-MAP": (at.tight, fly_map, steps["FlyMC-MAP"]),
        "PoissonMH": (at.tight, poisson(at), settings.POISSON_STEP),
        "TunaMH": (at.loose, TunaMH(chi=settings.MIXTURE_CHI), steps["TunaMH"]),
    }


def poisson(at: Problem) -> PoissonMH:
    """The paper's mean batch, reached by our choice of lambda."""
    _, widths = at.tight.global_bounds()
    return PoissonMH(settings.POISSON_BATCH - float(widths.sum()))


def curve(run: Run, at: Problem) -> dict[str, list[float]]:
    """Symmetric KL and total variation of the draws so far, at times equally spaced on a logarithmic axis."""
    first = max(run.elapsed[0], run.seconds / 500)
    times = np.geomspace(first, run.seconds, CURVE_POINTS)
    kl, tv = [], []
    for time in times:
        density = histogram(run.theta[: max(1, int(np.searchsorted(run.elapsed, time, side="right")))], at.edges)
        kl.append(symmetric_kl(at.truth, density))
        tv.append(total_variation(at.truth, density))
    return {"seconds": times.tolist(), "kl": kl, "tv": tv}


def shown(masses: np.ndarray) -> list[list[float]]:
    """Masses as they are drawn: on a coarser grid and rounded, to keep the file small."""
    cells = [n // SHOWN for n in masses.shape]
    coarse = masses.reshape(cells[0], SHOWN, cells[1], SHOWN).sum(axis=(1, 3))
    return [[float(f"{value:.3g}") for value in row] for row in coarse]


def after(run: Run, seconds: float, at: Problem) -> dict[str, Any]:
    """What is known after some seconds."""
    draws = run.theta[run.elapsed <= seconds]
    if len(draws) == 0:
        draws = run.theta[:1]
    density = histogram(draws, at.edges)
    return {
        "steps": len(draws) * run.thin,
        "kl": symmetric_kl(at.truth, density),
        "tv": total_variation(at.truth, density),
        "density": shown(density),
    }


def mean_of(snapshots: list[dict[str, Any]], what: str) -> float:
    return float(np.mean([snapshot[what] for snapshot in snapshots]))


def measure(seconds: float, runs: int, report: Report) -> dict[str, Any]:
    report(0.0, "data and true density")
    at = problem()
    result: dict[str, Any] = {
        "seconds": seconds,
        "range": [[float(axis[0]), float(axis[-1])] for axis in at.edges],
        "truth": shown(at.truth),
        "methods": {},
    }
    ways = methods(at)
    for k, (name, (target, test, step)) in enumerate(ways.items()):
        curves, summaries, snapshots = [], [], []
        for run_number in range(runs):
            report((k + run_number / runs) / len(ways), f"mixture, {name}, run {run_number + 1}")
            seed = settings.SEED + run_number
            start = settings.MIXTURE_START
            run = timed_run(target, test, scale=step, seconds=seconds, start=start, seed=seed, keep=KEEP)
            curves.append(curve(run, at))
            summaries.append(run.summary())
            snapshots.append(after(run, settings.SHORT_SECONDS, at))
        result["methods"][name] = {
            "curves": curves,
            "runs": summaries,
            # the picture is of the first run, its numbers are means over all
            "after_one_second": snapshots[0] | {what: mean_of(snapshots, what) for what in ("kl", "tv")},
        }
    return result


def bright_rows(at: Problem, *, paper_bounds: bool) -> float:
    """Posterior mean of FlyMC's number of bright rows, by quadrature."""
    t1, t2 = (0.5 * (axis[1:] + axis[:-1]) for axis in at.edges)
    return sum(
        float(expected_bright(at.tight, first, t2, paper_bounds=paper_bounds) @ masses)
        for first, masses in zip(t1, at.truth, strict=True)
    )


def expected_bright(target: Any, t1: float, t2: np.ndarray, *, paper_bounds: bool) -> np.ndarray:
    """``sum_i 1 - exp(-gap_i)`` at ``(t1, t2)``, ``gap_i`` that of the untuned bound, tight at 0, for binned rows.

    ``paper_bounds`` takes the paper's constant and the l1 norm, else the library's and the Euclidean norm.
    """
    counts, bins = np.histogram(target.rows[:, 0], bins=BINS)
    x = 0.5 * (bins[1:] + bins[:-1])[:, None]
    s2, box, size = target.variance, target.box, np.abs(x)
    if paper_bounds:
        curvature = ((2 * size + 3 * box) ** 2 + (size + box) ** 2 + (size + 2 * box) ** 2) / s2**2 + 2 / s2
        length2 = (np.abs(t1) + np.abs(t2)) ** 2
    else:
        curvature = np.maximum(2 / s2, box**2 / (4 * s2**2) + ((size + box) / (2 * s2)) ** 2 + 0.448 / s2)
        length2 = t1**2 + t2**2
    energy = -np.logaddexp(-((x - t1) ** 2) / (2 * s2), -((x - t1 - t2) ** 2) / (2 * s2))
    at_zero = x**2 / (2 * s2) - np.log(2.0)
    gap = at_zero - x / s2 * t1 - x / (2 * s2) * t2 + 0.5 * curvature * length2 - energy
    return counts @ -np.expm1(-target.temper * gap)
