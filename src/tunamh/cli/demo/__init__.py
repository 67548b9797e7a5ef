"""``tunamh demo``: a regression with a million rows, then the paper's mixture by TunaMH and by full-data MH."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from . import mixture, regression
from .records import processor, write_json


def run(*, rows: int, seconds: float, out: Path, seed: int, progressbar: bool = True) -> None:
    """Run the demo: generate data, sample, print and draw, first for the regression, then for the paper's mixture."""
    from rich.console import Console

    console = Console()
    _show_regression(console, rows, out, seed, progressbar)
    _show_mixture(console, rows, seconds, out, seed, progressbar)


def _show_regression(console: Any, rows: int, out: Path, seed: int, progressbar: bool) -> None:
    console.print(f"[bold]tunamh demo[/], 1 of 2: logistic regression, {rows:,} rows generated here.")
    X, y, truth = regression.regression_data(rows, seed)
    outcome, theta = regression.regress(X, y, seed, progressbar)
    console.print(regression.table_of(outcome))
    console.print(f"tunamh chose: {outcome.chosen}. The draws are exact.")
    _keep(out / "regression.json", {"seed": seed, **outcome._asdict()})
    _draw(console, regression.draw, out / "regression.png", outcome, theta, truth)


def _show_mixture(console: Any, rows: int, seconds: float, out: Path, seed: int, progressbar: bool) -> None:
    console.print(
        f"\n[bold]tunamh demo[/], 2 of 2: the paper's Gaussian mixture, {rows:,} rows generated here, two modes."
    )
    truth, contenders = mixture.contest(rows, seconds, seed, progressbar, console.print)
    console.print(mixture.table_of(contenders, rows, seconds))
    console.print("Both are exact. Distance: total variation on a 40 x 40 grid, the truth by quadrature.")
    figures = [{k: v for k, v in c._asdict().items() if k != "density"} for c in contenders]
    _keep(out / "mixture.json", {"rows": rows, "seconds": seconds, "seed": seed, "contenders": figures})
    _draw(console, mixture.draw, out / "mixture.png", truth, contenders, rows, seconds)


def _keep(path: Path, figures: dict[str, Any]) -> None:
    """Figures with the machine and the date beside them."""
    write_json(path, {"machine": processor(), "date": time.strftime("%Y-%m-%d")} | figures)


def _draw(console: Any, draw: Callable, path: Path, *figures: Any) -> None:
    try:
        draw(path, *figures)
    except ModuleNotFoundError:
        console.print("For the picture install matplotlib: pip install 'tunamh\\[plot]'")
    else:
        console.print(f"Picture: {path}")
