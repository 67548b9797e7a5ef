"""The second half of ``tunamh demo``: the paper's mixture, by TunaMH and by full-data MH, for the same time."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from ...acceptance import MH, TunaMH
from ...errors import ChainsDisagree
from ...proposals import RandomWalk
from ...sampling.sample import sample
from ...targets import GaussianMixture
from ...theory import total_variation
from .paper_mixture import histogram, mixture_data, true_density
from .records import new_figure

TEMPER_TIMES_ROWS = 100.0  # the paper: a million rows, temper 1e-4
GRID = 40  # cells per axis, on which densities are compared


class Contender(NamedTuple):
    """The run of one sampler, as the demo reports it."""

    name: str
    draws: int
    steps: int
    rows_per_step: float
    rows: float
    acceptance: float
    distance: float
    density: np.ndarray


def contend(name: str, target: GaussianMixture, truth: np.ndarray, edges: np.ndarray, **settings: Any) -> Contender:
    """Run one sampler and measure its distance to the truth: total variation between probabilities on the grid."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ChainsDisagree)  # the table tells how far each has come
        posterior = sample(target, chains=2, **settings)
    theta = posterior.posterior["theta"].values.reshape(-1, 2)
    stats = posterior.sample_stats
    density = histogram(theta, (edges, edges))
    steps = len(theta) * settings.get("thin", 1)
    rows_per_step = float(stats["batch_size"].mean())
    return Contender(
        name,
        len(theta),
        steps,
        rows_per_step,
        rows_per_step * steps,
        float(stats["acceptance_rate"].mean()),
        total_variation(density, truth),
        density,
    )


def contest(
    rows: int, seconds: float, seed: int, progressbar: bool, say: Callable[[str], None]
) -> tuple[np.ndarray, list[Contender]]:
    """Return the true density on the grid, and the runs of the two samplers."""
    x = mixture_data(rows, seed)
    target = GaussianMixture(x, temper=TEMPER_TIMES_ROWS / rows)
    edges = np.linspace(-target.box, target.box, GRID + 1)
    truth = true_density(target, x, edges)

    def compete(name: str, **settings: Any) -> Contender:
        say(f"{name} for {seconds:g} seconds ...")
        return contend(name, target, truth, edges, max_seconds=seconds, rng=seed, progressbar=progressbar, **settings)

    # MH gets a good step size for nothing: tuning it would take all its time. Both start in the same two points.
    starts = [[0.0, 0.0], [1.0, -1.0]]
    return truth, [
        compete("TunaMH", test=TunaMH(), draws=400_000, thin=10, init=starts),
        compete("full-data MH", test=MH(), proposal=RandomWalk(0.3), draws=400_000, tune=0, init=starts),
    ]


def table_of(contenders: list[Contender], rows: int, seconds: float) -> Any:
    from rich.table import Table

    table = Table("", *(c.name for c in contenders), title=f"After {seconds:g} seconds each, 2 chains")
    table.add_row("steps", *(f"{c.steps:,}" for c in contenders))
    table.add_row("rows touched per step", *(f"{c.rows_per_step:,.0f}" for c in contenders))
    table.add_row("rows touched in all", *(f"{c.rows:,.0f}" for c in contenders))
    table.add_row("the same, in passes over the data", *(f"{c.rows / rows:,.1f}" for c in contenders))
    table.add_row("acceptance", *(f"{c.acceptance:.2f}" for c in contenders))
    table.add_row("distance to the true density (0 to 1)", *(f"[bold]{c.distance:.3f}[/]" for c in contenders))
    return table


def draw(path: Path, truth: np.ndarray, contenders: list[Contender], rows: int, seconds: float) -> None:
    """Draw the true density and the draws of both samplers side by side, with the same colour scale."""
    figure = new_figure(10, 5.4)
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
