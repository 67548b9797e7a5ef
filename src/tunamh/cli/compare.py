"""``tunamh compare``: saved results of several models, on the data that they were fitted to."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from .app import Refused, command
from .files import open_result, read_table
from .results import shown_table


@command
def compare(
    runs: Annotated[list[Path], typer.Argument(help="Result files of tunamh sample, two or more.")],
    data: Annotated[Path, typer.Argument(help="The data file that all models were fitted to.")],
    rows: Annotated[int, typer.Option(min=1, help="Number of random rows that are left out.")] = 1000,
    draws: Annotated[
        int | None, typer.Option(min=1, help="Number of posterior draws to use; default up to 1000.")
    ] = None,
    seed: Annotated[int | None, typer.Option(min=0, help="Seed for the random rows.")] = None,
) -> None:
    """Compare how well several models predict.

    The command leaves out rows, one at a time, and predicts them from the other rows.

    If all runs were made with tunamh sample --evidence, the table also has their evidence and posterior probabilities.

    Examples:

        tunamh compare with.nc without.nc flights.csv

        tunamh compare a.nc b.nc c.nc flights.parquet --rows 5000 --seed 1
    """
    import tunamh

    names = [str(run) for run in runs]
    if len(set(names)) < 2:
        raise Refused("give the result files of two models or more, and then the data file.")
    results = {name: open_result(run) for name, run in zip(names, runs, strict=True)}
    table = tunamh.compare(results, read_table(data), rows=rows, draws=draws, rng=seed)
    print(shown_table(table))
    for line in table.attrs["notes"]:
        print(line)
