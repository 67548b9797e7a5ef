"""``tunamh check``: whether data and formula are fit for sampling, before any draw."""

from __future__ import annotations

from typing import Any

import numpy as np
import typer

from .app import command, with_options
from .request import SampleRequest


@command
@with_options
def check(request: SampleRequest) -> None:
    """Check data and formula before sampling.

    The command reports missing values, levels, collinear columns and separation.

    Exit code 0 means that sampling can begin, 2 that there is a problem.

    Example:

        tunamh check flights.csv "late ~ distance + C(carrier)" --family logistic
    """
    table = request.table()
    _columns(request, table)
    target = request.target(table)
    _model(target)
    problems = list(_separation(target))
    for line in problems:
        print(f"problem: {line}")
    if problems:
        raise typer.Exit(2)
    print("ready: sampling can begin")


def _columns(request: SampleRequest, table: Any) -> None:
    """Every column that the formula needs."""
    from ..formula.needed_rows import read_formula
    from ..formula.variables import as_columns, read
    from ..rows.table_source import Tables
    from ..tables.codes import likely_codes
    from ..tables.columns import Numbers
    from ..tables.frames import Frame
    from .names import predictors_named

    in_blocks = isinstance(table, Tables)
    columns = Frame(dict.fromkeys(table.names), table.n_rows) if in_blocks else as_columns(table)
    beside = {
        "weights": request.weights,
        "trials": request.trials,
        "censored": request.censored,
        "event": request.event,
    }
    wanted = read_formula(request.formula, columns.names, beside, predictors_named(request.predictors)).names
    print(f"{columns.n_rows:,} rows, {len(columns.names)} columns, of which the formula needs {len(wanted)}:")
    if in_blocks:
        print(f"  {', '.join(wanted)}, read block by block")
        return
    for name, one in read(columns, wanted).items():
        holes = int(one.missing.sum())
        told = f", {holes:,} missing" if holes else ""
        if isinstance(one, Numbers):
            there = one.values[~one.missing]
            spread = f"{there.min():g} to {there.max():g}, mean {there.mean():.4g}" if len(there) else "no values"
            print(f"  {name}: numbers, {spread}{told}")
            codes = likely_codes(there)
            if codes is not None:
                print(f"  remark: {name}: {codes}.")
        else:
            counts = np.bincount(one.codes[one.codes >= 0], minlength=len(one.levels))
            rarest = int(np.argmin(counts))
            rare = f"the rarest {one.levels[rarest]!r} ({counts[rarest]:,} rows)"
            print(f"  {name}: {len(one.levels):,} levels, {rare}{told}")


def _model(target: Any) -> None:
    from ..groups import MixedModel

    model = target.formula
    print(f"response {model.response.told}; {target.n_rows:,} rows in use, {model.dropped:,} left out")
    names = _coefficients(target)
    shown = ", ".join(names[:12]) + ", ..." * (len(names) > 12)
    print(f"{len(names):,} coefficients: {shown}")
    for line in target.remarks():
        print(line)
    for one in target.groupings if isinstance(target, MixedModel) else ():
        print(f"group effects of {one.name}: {one.groups:,} groups")


def _coefficients(target: Any) -> list[str]:
    """Their names, in the order of a summary."""
    from ..results.layout import COEFFICIENT, PREDICTOR, ROLE, layout_of

    layout = layout_of(target, target.variables)
    main = [one for one in layout.variables if one.attributes.get(ROLE) == COEFFICIENT]
    return [
        layout.names[int(column)] for one in main if PREDICTOR not in one.attributes for column in one.columns.ravel()
    ]


def _separation(target: Any) -> Any:
    """Rows that flat priors leave without a posterior; under proper ones it is a remark."""
    from ..groups import MixedModel

    base = target.base if isinstance(target, MixedModel) else target
    direction = base.separating_direction()
    if direction is not None:
        names = ", ".join(base.names_along(direction)[:8])
        yield f"the data are separated along {names}, so there is no posterior: set priors for these terms."
    elif base.row_layout.form is None:
        flat = base.on_columns(np.ones(base.dim, bool))
        direction = flat.separating_direction()
        if direction is not None:
            names = ", ".join(flat.names_along(direction)[:8])
            print(f"remark: the data are separated along {names}: only the priors keep these coefficients finite")
