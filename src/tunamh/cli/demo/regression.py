"""The first half of ``tunamh demo``: a logistic regression with a million rows, by `sample` and nothing else."""

from __future__ import annotations

import json
import os
import time
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...sampling.sample import sample
from ...targets import LogisticRegression
from .records import new_figure

COLUMNS = 20
DRAWS = 5000  # per chain


class Outcome(NamedTuple):
    """The results of the run that the demo shows. Times are in seconds."""

    rows: int
    columns: int
    setup: float
    sampling: float
    draws: int
    effective: float
    rows_touched: float
    acceptance: float
    chosen: str


def regression_data(n_rows: int, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return features ``N(0, I)`` with an intercept, labels from the logistic model, and the true parameters."""
    rng = np.random.default_rng(seed)
    truth = rng.standard_normal(COLUMNS) / np.sqrt(COLUMNS)
    X = rng.standard_normal((n_rows, COLUMNS))
    X[:, 0] = 1.0
    return X, rng.random(n_rows) < 1 / (1 + np.exp(-X @ truth)), truth


def regress(X: np.ndarray, y: np.ndarray, seed: int, progressbar: bool) -> tuple[Outcome, np.ndarray]:
    """Sample the regression and measure the time."""
    from arviz_stats import ess

    sample(LogisticRegression(X[:500], y[:500]), draws=10, tune=10, progressbar=False)  # compiles on first use
    started = time.perf_counter()
    posterior = sample(LogisticRegression(X, y), draws=DRAWS, rng=seed, progressbar=progressbar)
    total = time.perf_counter() - started
    theta, stats = posterior.posterior["theta"], posterior.sample_stats
    chains = theta.sizes["chain"]
    sampling = float(stats["elapsed"].values[:, -1].sum()) / min(chains, os.cpu_count() or 1)
    settings = json.loads(posterior.posterior.attrs["settings"])
    outcome = Outcome(
        rows=X.shape[0],
        columns=X.shape[1],
        setup=total - sampling,
        sampling=sampling,
        draws=theta.sizes["draw"] * chains,
        effective=float(ess(theta).min()),
        rows_touched=float(stats["batch_size"].sum()),
        acceptance=float(stats["acceptance_rate"].mean()),
        chosen=settings["why"],
    )
    return outcome, theta.values.reshape(-1, X.shape[1])


def table_of(outcome: Outcome) -> Any:
    from rich.table import Table

    table = Table("", "tunamh.sample(target)", title=f"Logistic regression, {outcome.rows:,} x {outcome.columns}")
    table.add_row("set-up: mode, Hessian, bounds, audits, warm-up", f"{outcome.setup:.2f} s")
    table.add_row("sampling, 4 chains", f"{outcome.sampling:.2f} s")
    table.add_row("draws kept", f"{outcome.draws:,}")
    table.add_row("effective draws (worst parameter)", f"[bold]{outcome.effective:,.0f}[/]")
    table.add_row("effective draws per second of sampling", f"{outcome.effective / outcome.sampling:,.0f}")
    table.add_row("rows touched per draw", f"{outcome.rows_touched / outcome.draws:,.1f} of {outcome.rows:,}")
    table.add_row("rows touched in all", f"{outcome.rows_touched:,.0f}")
    table.add_row("the same, in passes over the data", f"[bold]{outcome.rows_touched / outcome.rows:,.2f}[/]")
    table.add_row("acceptance", f"{outcome.acceptance:.2f}")
    return table


def draw(path: Path, outcome: Outcome, theta: np.ndarray, truth: np.ndarray) -> None:
    """Draw the posterior of every coefficient beside the truth, and the draws of two coefficients."""
    figure = new_figure(10, 5.4)
    left, right = figure.subplots(1, 2, width_ratios=[1.35, 1])
    scale = 1000.0
    off = scale * (theta - truth)
    places = np.arange(len(truth))
    low, outer_low, outer_high, high = np.quantile(off, [0.25, 0.055, 0.945, 0.75], axis=0)
    left.hlines(places, outer_low, outer_high, color="#31688e", lw=1.5, label="89 % of the posterior")
    left.hlines(places, low, high, color="#31688e", lw=5, label="50 %")
    left.plot(off.mean(axis=0), places, "o", color="white", ms=3)
    left.axvline(0, color="#b5367a", lw=1.5, label="truth")
    left.set(xlabel="coefficient minus truth, in thousandths", ylabel="coefficient", yticks=places[::2])
    left.invert_yaxis()
    left.legend(fontsize=8, loc="lower right")
    left.set_title(f"all {len(truth)} coefficients", fontsize=10)
    right.plot(*theta[::4, 1:3].T, ".", color="#31688e", ms=2, alpha=0.25)
    right.plot(*truth[1:3], "x", color="#b5367a", ms=10, mew=2.5, label="truth")
    right.set(xlabel=r"$\theta_1$", ylabel=r"$\theta_2$")
    right.ticklabel_format(useOffset=False)
    right.locator_params(nbins=5)
    right.legend(fontsize=8)
    right.set_title("draws of two of them", fontsize=10)
    figure.suptitle(
        f"Logistic regression, {outcome.rows:,} rows: {outcome.effective:,.0f} effective draws in "
        f"{outcome.setup + outcome.sampling:.1f} s,\nafter set-up from {outcome.rows_touched:,.0f} rows "
        f"({outcome.rows_touched / outcome.rows:.2f} passes over the data)",
        fontsize=12,
    )
    figure.savefig(path, dpi=120)
