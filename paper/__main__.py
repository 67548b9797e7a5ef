"""``python -m paper``: the paper's figures and tables, rerun and compared. `make reproduce` runs all of them."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer


class Experiment(StrEnum):
    """What can be run."""

    figure_1 = "figure-1"
    figure_2 = "figure-2"
    figure_3 = "figure-3"
    figure_4 = "figure-4"
    table_1 = "table-1"
    appendix = "appendix"
    theory = "theory"
    all = "all"


def main(
    experiment: Annotated[Experiment, typer.Argument(help="Which figure or table of the paper.")] = Experiment.all,
    quick: Annotated[
        bool, typer.Option("--quick", help="Everything, but briefly: two minutes, little precision.")
    ] = False,
    out: Annotated[Path, typer.Option(help="Folder for results, figures and the page.")] = Path("reproduction"),
) -> None:
    """The paper's figures and tables, rerun and compared: JSON, pictures, and one page with every verdict."""
    from .run import EXPERIMENTS, reproduce

    names = list(EXPERIMENTS) if experiment == Experiment.all else [experiment.value]
    print(f"Page: {reproduce(names, quick=quick, out=out)}")


if __name__ == "__main__":
    typer.run(main)
