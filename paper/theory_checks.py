"""Theorem 1 and corollary 1 by number: spectral gaps of small chains added up exactly, batch sizes against N."""

from __future__ import annotations

from typing import Any

import numpy as np

import tunamh
from tunamh import MH, MHSS, FactorizedMH, Taylor, TunaMH, theory

from . import settings
from .runs import Report, fixed_run

SCALING_DRAWS = 2000
REACH = 3.0  # largest C M of the random problems


def random_problem(rng: np.random.Generator) -> theory.FiniteProblem:
    """A few rows on a few states with energies of its own, the paper's lazy walk as proposal, tight bounds."""
    rows, states = settings.GAP_ROWS, settings.GAP_STATES
    energies = rng.uniform(0, REACH * rng.uniform(), (rows, states))
    distance = np.abs(np.subtract.outer(np.arange(states), np.arange(states))).astype(float)
    c = np.abs(np.diff(energies, axis=1)).max(axis=1)
    return theory.FiniteProblem(energies, c, distance, lazy_walk(states), np.zeros(states))


def lazy_walk(states: int) -> np.ndarray:
    """Stay 1/2, a neighbour 1/4 each, at an end inwards 1/2."""
    q = 0.5 * np.eye(states) + 0.25 * (np.eye(states, k=1) + np.eye(states, k=-1))
    q[0, 1] = q[-1, -2] = 0.5
    return q


def worst_problem(reach: float) -> theory.FiniteProblem:
    """Two classes of rows that attain their bounds with opposite signs on two states: where TunaMH loses most."""
    energies = np.array([[0.0, reach / 2], [reach / 2, 0.0]])
    distance = 1 - np.eye(2)
    return theory.FiniteProblem(energies, np.full(2, reach / 2), distance, np.full((2, 2), 0.5), np.zeros(2))


def gap_ratio(problem: theory.FiniteProblem, test: Any) -> float:
    full = theory.spectral_gap(theory.transition_matrix(problem, MH()))
    return theory.spectral_gap(theory.transition_matrix(problem, test)) / full


def gaps(problems: int, report: Report) -> dict[str, Any]:
    """Ratio of TunaMH's spectral gap to that of MH, and its two guarantees."""
    rng = np.random.default_rng(settings.SEED)
    drawn = [random_problem(rng) for _ in range(problems)]
    result: dict[str, Any] = {"chi": list(settings.GAP_CHI), "paper": [], "sharper": [], "worst": [], "measured": []}
    for k, chi in enumerate(settings.GAP_CHI):
        report(0.5 * k / len(settings.GAP_CHI), f"spectral gaps, chi = {chi:g}")
        # no fall-back on all rows, which would flatter
        test = TunaMH(chi=chi, full_share=np.inf)
        result["paper"].append(theory.gap_for_chi(chi, paper=True))
        result["sharper"].append(theory.gap_for_chi(chi))
        reaches = (1.0, 10.0, 100.0) if chi <= 10 else (1.0, 10.0)
        result["worst"].append(min(gap_ratio(worst_problem(reach), test) for reach in reaches))
        result["measured"].append([gap_ratio(problem, test) for problem in drawn])
    return result


def scaling(rows: tuple[int, ...], report: Report) -> dict[str, Any]:
    """Mean batch ``C M`` of tuned random walks: with no control variate, and with Taylor expansions of order 1 and 2.

    Corollary 1 has ``C = Theta(N)``, ``M = Theta(N^{-(h+1)/2})``; the Taylor remainder of order k has h = k.
    """
    d = settings.SCALING_COLUMNS
    batches: dict[str, list[float]] = {"0": [], "1": [], "2": []}
    for k, n_rows in enumerate(rows):
        report(0.5 + 0.5 * k / len(rows), f"batch size against N, N = {n_rows:,}")
        rng = np.random.default_rng(settings.SEED)
        X = rng.standard_normal((n_rows, d))
        target = tunamh.RobustRegression(X, X.sum(axis=1) + rng.standard_normal(n_rows), scale=1.0)
        second = Taylor(order=2)(target)
        mode, curvature = second.centre, second.hessian  # type: ignore[attr-defined]
        step = 2.38 / np.sqrt(d) / np.sqrt(curvature.diagonal().mean())
        for name, of in {"0": target, "1": Taylor(order=1, centre=mode)(target), "2": second}.items():
            test = MHSS(delayed=False, full_share=np.inf)
            run = fixed_run(of, test, scale=step, draws=SCALING_DRAWS, start=mode, seed=settings.SEED)
            batches[name].append(float(run.batch.mean()))
    logs = np.log(rows)
    slopes = {name: float(np.polyfit(logs, np.log(batch), 1)[0]) for name, batch in batches.items()}
    return {"rows": list(rows), "batches": batches, "slopes": slopes, "expected": {"0": 0.5, "1": 0.0, "2": -0.5}}


def factorised(problems: int) -> float:
    """For contrast: the smallest gap ratio of factorised MH on the same problems."""
    rng = np.random.default_rng(settings.SEED)
    test = FactorizedMH(truncation=np.inf)
    return min(gap_ratio(random_problem(rng), test) for _ in range(problems))


def measure(problems: int, rows: tuple[int, ...], report: Report) -> dict[str, Any]:
    return {
        "gaps": gaps(problems, report),
        "scaling": scaling(rows, report),
        "factorised_worst": factorised(problems),
        "optimal_chi": [
            [reach, theory.optimal_chi(reach, paper=True), theory.optimal_chi(reach)]
            for reach in (1.0, 10.0, 100.0, 1000.0)
        ],
        "least_batch_share": theory.least_batch(0.5, 100.0) / theory.expected_batch(theory.chi_for_gap(0.5), 100.0),
    }
