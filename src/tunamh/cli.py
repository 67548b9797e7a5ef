"""The command ``tunamh``: thin over the API."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

app = typer.Typer(add_completion=False, no_args_is_help=True, help="Exact posterior samples from tall data.")


@app.callback(invoke_without_command=True)
def main(version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False) -> None:
    if version:
        from ._version import __version__

        print(__version__)
        raise typer.Exit


@app.command()
def demo(
    rows: Annotated[int, typer.Option(min=100, help="Rows to generate.")] = 1_000_000,
    seconds: Annotated[float, typer.Option(min=0.1, help="Time for each sampler of the mixture.")] = 5.0,
    out: Annotated[Path, typer.Option(help="Folder for the picture and the figures as JSON.")] = Path("demo"),
    seed: Annotated[int, typer.Option(help="Seed of data and chains.")] = 1,
) -> None:
    """A regression with a million rows in seconds, then the paper's mixture by TunaMH and MH beside the truth."""
    from .demo import run

    run(rows=rows, seconds=seconds, out=out, seed=seed)


if __name__ == "__main__":
    app()
