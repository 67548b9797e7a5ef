"""``tunamh demo``, and where ``tunamh reproduce`` went."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .app import Refused, command


@command
def demo(
    rows: Annotated[int, typer.Option(min=100, help="Rows to generate.")] = 1_000_000,
    seconds: Annotated[float, typer.Option(min=0.1, help="Time for each sampler of the mixture.")] = 5.0,
    out: Annotated[Path, typer.Option(help="Folder for the plot and the numbers as JSON.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Seed for data and chains.")] = 1,
) -> None:
    """Sample a regression with a million rows.

    Then compare the tests TunaMH and MH on the mixture of the paper.
    """
    from .demo import run

    run(rows=rows, seconds=seconds, out=out, seed=seed)


@command
def reproduce() -> None:
    """Moved: run make reproduce in the repository.

    The repository has the experiments of the paper.
    """
    raise Refused(
        "the paper's experiments are no longer part of the installed package. They are in the repository: run "
        "'make reproduce' or 'python -m paper --help' in a checkout."
    )
