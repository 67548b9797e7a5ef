"""``tunamh demo`` and ``tunamh reproduce``."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from .app import command


@command
def demo(
    rows: Annotated[int, typer.Option(min=100, help="Rows to generate.")] = 1_000_000,
    seconds: Annotated[float, typer.Option(min=0.1, help="Time for each sampler of the mixture.")] = 5.0,
    out: Annotated[Path, typer.Option(help="Folder for the picture and the figures as JSON.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Seed of data and chains.")] = 1,
) -> None:
    """A regression with a million rows in seconds, then the paper's mixture by TunaMH and MH beside the truth."""
    from ..demo import run

    run(rows=rows, seconds=seconds, out=out, seed=seed)


class Experiment(StrEnum):
    """What ``tunamh reproduce`` can run."""

    figure_1 = "figure-1"
    figure_2 = "figure-2"
    figure_3 = "figure-3"
    figure_4 = "figure-4"
    table_1 = "table-1"
    appendix = "appendix"
    theory = "theory"
    all = "all"


@command
def reproduce(
    experiment: Annotated[Experiment, typer.Argument(help="Which figure or table of the paper.")] = Experiment.all,
    quick: Annotated[
        bool, typer.Option("--quick", help="Everything, but briefly: two minutes, little precision.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for results, figures and the page.")] = Path("reproduction"),
) -> None:
    """The paper's figures and tables, rerun and compared: JSON, pictures, and one page with every verdict."""
    from ..experiments.run import EXPERIMENTS, reproduce

    names = list(EXPERIMENTS) if experiment == Experiment.all else [experiment.value]
    print(f"Page: {reproduce(names, quick=quick, out=out)}")
