"""``tunamh summary``, ``predict``, ``effects``, ``check-fit`` and ``report``."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from ..results.tree import effects_in
from .app import Refused, command, with_options
from .effects_request import EffectsRequest
from .files import open_result, read_table, refuse_existing, write_new

RUN = Annotated[Path, typer.Argument(help="A result file of tunamh sample, or the folder of a stored run.")]


def _times(kind: str, given: str | None) -> list[float] | None:
    """The numbers of ``--times``."""
    if given is None:
        if kind in ("survival", "hazard"):
            raise Refused(f"--kind {kind} needs times, such as --times 12,24.")
        return None
    try:
        return [float(one) for one in given.split(",")]
    except ValueError:
        raise Refused(f"--times must be numbers with commas between them, such as 12,24, got {given!r}.") from None


def shown_table(table: Any) -> str:
    """Return a summary as text with all columns, for any width of the screen."""
    below = table.attrs.get("laplace", "")
    return f"{table.to_string(max_rows=200)}\n{below}".rstrip()


@command
def summary(
    run: RUN,
    effects: Annotated[bool, typer.Option("--effects", help="Also show all group effects.")] = False,
) -> None:
    """Show means, intervals, effective draws and R-hat.

    Examples:

        tunamh summary run.nc

        tunamh summary run          (a run that is still sampling)
    """
    import tunamh

    tree = open_result(run)
    hidden = [] if effects else effects_in(tree["posterior"])
    names = [str(name) for name in tree["posterior"].data_vars if name not in hidden]
    print(shown_table(tunamh.summary(tree, var_names=names)))


@command
def predict(
    run: RUN,
    data: Annotated[Path, typer.Argument(help="A file of new rows, with the columns of the formula.")],
    out: Annotated[Path, typer.Option(help="New file for the predictions; its name ends in .csv.")],
    kind: Annotated[
        str,
        typer.Option(
            help="mean, response (simulated responses) or linear (the linear predictor); for times to event also "
            "survival, hazard or median."
        ),
    ] = "mean",
    times: Annotated[str | None, typer.Option(help="Times of --kind survival or hazard: 12,24.")] = None,
    draws: Annotated[
        int | None, typer.Option(min=1, help="Number of posterior draws to use; default up to 1000.")
    ] = None,
    new_levels: Annotated[
        str, typer.Option(help="Effect of a new group: error, population (zero) or draw (from the distribution).")
    ] = "error",
    missing: Annotated[
        str, typer.Option(help="Rows with missing values: error, or keep (their predictions are empty).")
    ] = "error",
    seed: Annotated[int | None, typer.Option(min=0, help="Seed for simulated responses.")] = None,
) -> None:
    """Predict the rows of a file.

    The output has the mean, the standard deviation and quantiles of each row.

    Examples:

        tunamh predict run.nc tomorrow.csv --out predicted.csv

        tunamh predict run.nc tomorrow.csv --kind response --out intervals.csv

        tunamh predict run.nc new.csv --kind survival --times 12,24 --out s.csv
    """
    import tunamh

    refuse_existing(out, ".csv")
    settings: dict[str, Any] = {"kind": kind, "draws": draws, "new_levels": new_levels, "missing": missing}
    settings["times"] = _times(kind, times)
    found = tunamh.predict(open_result(run), read_table(data), rng=seed, **settings)
    write_new(out, lambda file: found.to_dataframe().reset_index().to_csv(file, index=False))
    print(f"wrote {found.sizes['row']:,} rows to {out}")


@command
@with_options
def effects(
    run: RUN,
    request: EffectsRequest,
    data: Annotated[Path | None, typer.Argument(help="A file of rows; only needed for averages.")] = None,
    out: Annotated[Path | None, typer.Option(help="New file for the table; its name ends in .csv.")] = None,
    plot: Annotated[Path | None, typer.Option(help="New file for a picture; its name ends in .png or .svg.")] = None,
) -> None:
    """Show by how much the response changes.

    The answers are predictions, comparisons (--compare) or slopes (--slope), on the scale of the response.

    Examples:

        tunamh effects run.nc --at distance=500,1000 --at carrier=all

        tunamh effects run.nc flights.csv --compare carrier --average

        tunamh effects run.nc flights.csv --slope distance --by carrier --out slopes.csv --plot slopes.png
    """
    for file, endings in ((out, (".csv",)), (plot, (".png", ".svg"))):
        if file is not None:
            refuse_existing(file, *endings)
    table = request.answer(open_result(run), None if data is None else read_table(data))
    if plot is not None:
        request.draw(table, plot)
    if out is not None:
        write_new(out, lambda file: table.to_csv(file, index=False))
        print(f"wrote {len(table):,} lines to {out}")
    else:
        print("\n".join([table.to_string(max_rows=200, index=False), *table.attrs["notes"]]))


@command
def check_fit(
    run: RUN,
    data: Annotated[Path, typer.Argument(help="The data file that the model was fitted to.")],
    rows: Annotated[int, typer.Option(min=1, help="Number of random rows to check.")] = 1000,
    columns: Annotated[list[str], typer.Option(help="One more column to check; repeat the option for more.")] = [],  # noqa: B006
    seed: Annotated[int, typer.Option(min=0, help="Seed for the random rows.")] = 0,
    plot: Annotated[Path | None, typer.Option(help="New file for the pictures; its name ends in .png.")] = None,
) -> None:
    """Check whether the model fits the data.

    The command says what looks wrong, how strong the evidence is, and which change of the model may help. (The command
    `tunamh check` is different: it checks data and formula before sampling.)

    Examples:

        tunamh check-fit run.nc flights.csv

        tunamh check-fit run.nc flights.csv --columns carrier --plot check.png
    """
    import tunamh

    if plot is not None:
        refuse_existing(plot, ".png")
    found = tunamh.check(open_result(run), read_table(data), columns=columns, rows=rows, rng=seed)
    print(found)
    if plot is not None:
        first = np.ravel(tunamh.plot_check(found))[0]
        write_new(plot, lambda file: first.figure.savefig(file, format="png"))
        print(f"wrote {plot}")


@command
def report(
    run: RUN,
    out: Annotated[Path, typer.Option(help="New file; its name ends in .html.")] = Path("report.html"),
    title: Annotated[str | None, typer.Option(help="A title in your own words.")] = None,
    data: Annotated[
        Path | None, typer.Option(help="The data file of the fit; the page then also says whether the model fits.")
    ] = None,
) -> None:
    """Write the results and the checks to one HTML page.

    Examples:

        tunamh report run.nc --out report.html

        tunamh report run.nc --data flights.csv
    """
    from ..report import report as write_report

    refuse_existing(out, ".html")
    write_report(open_result(run), out, title=title, data=None if data is None else read_table(data))
    print(f"wrote {out}")
