"""``tunamh demo``: a regression with a million rows, then the paper's mixture by TunaMH and by full-data MH."""

from __future__ import annotations

import json
import platform
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from . import demo_regression
from .acceptance import MH, TunaMH
from .errors import ChainsDisagree
from .proposals import RandomWalk
from .sample import sample
from .targets import GaussianMixture

TEMPER_TIMES_ROWS = 100.0  # the paper: a million rows, temper 1e-4
GRID = 40  # cells per axis, on which densities are compared


class Contender(NamedTuple):
    """One sampler's run, seen from outside."""

    name: str
    draws: int
    steps: int
    rows_per_step: float
    rows: float
    acceptance: float
    distance: float
    density: np.ndarray


def mixture_data(n_rows: int, seed: int) -> np.ndarray:
    """``x ~ 1/2 N(0, 2) + 1/2 N(1, 2)`` (the paper, section 5.2)."""
    rng = np.random.default_rng(seed)
    return rng.normal(0.0, np.sqrt(2.0), n_rows) + rng.integers(0, 2, n_rows)


def true_density(
    target: GaussianMixture,
    x: np.ndarray,
    edges: np.ndarray,
    edges2: np.ndarray | None = None,
    *,
    fine: int = 4,
    bins: int = 4000,
) -> np.ndarray:
    """Posterior mass of each cell of a grid, by the midpoint rule on a grid ``fine`` times finer.

    ``edges2`` are those of the second axis where they differ. The masses add up to one.

    The rows are first summed up in narrow bins, each represented by its mean; 4000 of them change the log posterior of
    the paper's mixture by less than 1e-4, 1000 by less than 2e-3.
    """
    counts, limits = np.histogram(x, bins=bins)
    sums, _ = np.histogram(x, bins=limits, weights=x)
    centres, counts = sums[counts > 0] / counts[counts > 0], counts[counts > 0]
    axes = (edges, edges if edges2 is None else edges2)
    points = [np.linspace(axis[0], axis[-1], fine * (len(axis) - 1) + 1) for axis in axes]
    middle, middle2 = (0.5 * (p[1:] + p[:-1]) for p in points)
    log_density = np.empty((middle.size, middle2.size))
    near = -0.5 * (centres[:, None] - middle) ** 2 / target.variance
    for column, t2 in enumerate(middle2):
        far = -0.5 * (centres[:, None] - middle - t2) ** 2 / target.variance
        log_density[:, column] = target.temper * counts @ np.logaddexp(near, far)
    mass = np.exp(log_density - log_density.max())
    cells = [len(axis) - 1 for axis in axes]
    mass = mass.reshape(cells[0], fine, cells[1], fine).sum(axis=(1, 3))
    return mass / mass.sum()


def contend(name: str, target: GaussianMixture, truth: np.ndarray, edges: np.ndarray, **settings: Any) -> Contender:
    """Run one sampler and measure its distance to the truth: total variation between masses on the grid."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ChainsDisagree)  # the table tells how far each has come
        posterior = sample(target, chains=2, **settings)
    theta = posterior.posterior["theta"].values.reshape(-1, 2)
    stats = posterior.sample_stats
    density, _, _ = np.histogram2d(theta[:, 0], theta[:, 1], bins=(edges, edges))
    density /= len(theta)
    steps = len(theta) * settings.get("thin", 1)
    rows_per_step = float(stats["batch_size"].mean())
    return Contender(
        name,
        len(theta),
        steps,
        rows_per_step,
        rows_per_step * steps,
        float(stats["acceptance_rate"].mean()),
        float(0.5 * np.abs(density - truth).sum() + 0.5 * (1 - density.sum())),
        density,
    )


def run(*, rows: int, seconds: float, out: Path, seed: int, progressbar: bool = True) -> None:
    """Generate, sample, print and draw: what the library is for, then what the paper is about."""
    from rich.console import Console

    console = Console()
    out.mkdir(parents=True, exist_ok=True)
    _show_regression(console, rows, out, seed, progressbar)
    _show_mixture(console, rows, seconds, out, seed, progressbar)


def _show_regression(console: Any, rows: int, out: Path, seed: int, progressbar: bool) -> None:
    console.print(f"[bold]tunamh demo[/], 1 of 2: logistic regression, {rows:,} rows generated here.")
    X, y, truth = demo_regression.regression_data(rows, seed)
    outcome, theta = demo_regression.regress(X, y, seed, progressbar)
    console.print(demo_regression.table_of(outcome))
    console.print(f"Chosen by itself: {outcome.chosen}. The draws are exact.")
    _write(out / "regression.json", {"seed": seed, **outcome._asdict()})
    _draw(console, demo_regression.draw, out / "regression.png", outcome, theta, truth)


def _write(path: Path, figures: dict[str, Any]) -> None:
    """Figures with the machine and the date beside them."""
    where = {"machine": processor(), "date": time.strftime("%Y-%m-%d")}
    path.write_text(json.dumps(where | figures, indent=1) + "\n")


def processor() -> str:
    """The processor's name where the system tells it."""
    info = Path("/proc/cpuinfo")
    if info.exists():
        for line in info.read_text().splitlines():
            if line.startswith("model name"):
                return line.split(":", 1)[1].strip()
    return platform.processor() or platform.machine()


def _draw(console: Any, draw: Callable, path: Path, *figures: Any) -> None:
    try:
        draw(path, *figures)
    except ModuleNotFoundError:
        console.print("For the picture install matplotlib: pip install 'tunamh\\[plot]'")
    else:
        console.print(f"Picture: {path}")


def _show_mixture(console: Any, rows: int, seconds: float, out: Path, seed: int, progressbar: bool) -> None:
    from rich.table import Table

    console.print(
        f"\n[bold]tunamh demo[/], 2 of 2: the paper's Gaussian mixture, {rows:,} rows generated here, two modes."
    )
    x = mixture_data(rows, seed)
    target = GaussianMixture(x, temper=TEMPER_TIMES_ROWS / rows)
    edges = np.linspace(-target.box, target.box, GRID + 1)
    truth = true_density(target, x, edges)

    def compete(name: str, **settings: Any) -> Contender:
        console.print(f"{name} for {seconds:g} seconds ...")
        return contend(name, target, truth, edges, max_seconds=seconds, rng=seed, progressbar=progressbar, **settings)

    # MH gets a good step size for nothing: tuning it would take all its time. Both start in the same two points.
    starts = [[0.0, 0.0], [1.0, -1.0]]
    contenders = [
        compete("TunaMH", test=TunaMH(), draws=400_000, thin=10, init=starts),
        compete("full-data MH", test=MH(), proposal=RandomWalk(0.3), draws=400_000, tune=0, init=starts),
    ]
    table = Table("", *(c.name for c in contenders), title=f"After {seconds:g} seconds each, 2 chains")
    table.add_row("steps", *(f"{c.steps:,}" for c in contenders))
    table.add_row("rows touched per step", *(f"{c.rows_per_step:,.0f}" for c in contenders))
    table.add_row("rows touched in all", *(f"{c.rows:,.0f}" for c in contenders))
    table.add_row("the same, in passes over the data", *(f"{c.rows / rows:,.1f}" for c in contenders))
    table.add_row("acceptance", *(f"{c.acceptance:.2f}" for c in contenders))
    table.add_row("distance to the true density (0 to 1)", *(f"[bold]{c.distance:.3f}[/]" for c in contenders))
    console.print(table)
    console.print("Both are exact. Distance: total variation on a 40 x 40 grid, the truth by quadrature.")
    figures = [{k: v for k, v in c._asdict().items() if k != "density"} for c in contenders]
    _write(out / "mixture.json", {"rows": rows, "seconds": seconds, "seed": seed, "contenders": figures})
    _draw(console, draw, out / "mixture.png", truth, contenders, rows, seconds)


def draw(path: Path, truth: np.ndarray, contenders: list[Contender], rows: int, seconds: float) -> None:
    """The true density and the contenders' draws side by side, on one colour scale."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 5.4), layout="constrained")
    FigureCanvasAgg(figure)
    panels = [("truth, by quadrature", truth)] + [
        (f"{c.name}: {c.steps:,} steps,\n{c.rows_per_step:,.0f} rows each, distance {c.distance:.3f}", c.density)
        for c in contenders
    ]
    axes = figure.subplots(1, len(panels), sharey=True)
    for axis, (title, density) in zip(axes, panels, strict=True):
        extent = (-3, 3, -3, 3)
        image = axis.imshow(density.T, origin="lower", extent=extent, cmap="magma_r", vmin=0, vmax=truth.max())
        axis.set_title(title, fontsize=10)
        axis.set_xlabel(r"$\theta_1$")
        axis.set_xlim(-1.5, 2.5)
    axes[0].set_ylabel(r"$\theta_2$")
    figure.colorbar(image, ax=axes, label="posterior mass per cell", shrink=0.85)
    figure.suptitle(f"Two-mode mixture, {rows:,} rows, {seconds:g} seconds each", fontsize=12)
    figure.savefig(path, dpi=120, bbox_inches="tight")
