"""The same coefficients asked by tunamh and by marginaleffects: two data sets, eleven questions each.

    python benchmarks/effects_marginaleffects.py [--out benchmarks/results]

Needs the packages marginaleffects (0.6.0 was used, with polars 1.44) and statsmodels. statsmodels fits a logistic
regression of the heart data and a Poisson regression of the veteran data; tunamh gets a result whose draws are all
these coefficients. So both compute the same functions of the same numbers, and their answers must agree to the accuracy
of derivatives.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import xarray

import tunamh
from common import RESULTS, machine, number, print_table, write_json
from tunamh.results.layout import layout_of

DATA = Path(__file__).parent.parent / "tests" / "statistical"


def fitted_by_both(formula: str, table: pd.DataFrame, family: str) -> tuple[Any, Any]:
    """The fit of statsmodels, and a result of tunamh with its coefficients."""
    import statsmodels.formula.api as smf

    fit = {"logistic": smf.logit, "poisson": smf.poisson}[family](formula, table).fit(disp=0)
    target = tunamh.regression(formula, table, family=family)
    names = {_plain(name): value for name, value in fit.params.items()}
    values = np.array([names[_plain(name)] for name in target.names])
    layout = layout_of(target, target.variables)
    found = layout.dataset(np.broadcast_to(values, (1, 2, len(values))).copy(), {"chain": [0], "draw": [0, 1]})
    found.attrs = {"model": json.dumps(target.description)}
    return fit, xarray.DataTree.from_dict({"posterior": found})


def _plain(name: str) -> str:
    """``cell[T.smallcell]`` of one is ``cell[smallcell]`` of the other."""
    return name.replace("[T.", "[").replace("`", "").replace(" ", "")


def asked(table: pd.DataFrame, fit: Any, result: Any, number_: str, factor: str) -> list[dict[str, Any]]:
    import marginaleffects as me

    low, high = (round(float(table[number_].quantile(q)), 1) for q in (0.25, 0.75))
    first, second = sorted(table[factor].unique())[:2]
    by = {"average_by": True}
    grid = me.datagrid(model=fit, **{number_: [low, high], factor: [first, second]})
    pairs = {
        "mean of all rows": (me.avg_predictions(fit), tunamh.predictions(result, table, **by)),
        "mean by level": (me.avg_predictions(fit, by=factor), tunamh.predictions(result, table, average_by=factor)),
        "all rows at each level": (
            me.avg_predictions(fit, variables=factor, by=factor),
            tunamh.predictions(result, table, {factor: "all"}, **by),
        ),
        "difference of levels": (
            me.avg_comparisons(fit, variables={factor: [first, second]}),
            tunamh.comparisons(result, table, {factor: [(second, first)]}, **by),
        ),
        "ratio of levels": (
            me.avg_comparisons(fit, variables={factor: [first, second]}, comparison="ratioavg"),
            tunamh.comparisons(result, table, {factor: [(second, first)]}, comparison="ratio", **by),
        ),
        "difference of two numbers": (
            me.avg_comparisons(fit, variables={number_: [low, high]}),
            tunamh.comparisons(result, table, {number_: (low, high)}, **by),
        ),
        "average slope": (me.avg_slopes(fit, variables=number_), tunamh.slopes(result, table, number_, **by)),
        "slope by level": (
            me.avg_slopes(fit, variables=number_, by=factor),
            tunamh.slopes(result, table, number_, average_by=factor),
        ),
        "elasticity": (
            me.avg_slopes(fit, variables=number_, slope="eyex"),
            tunamh.slopes(result, table, number_, slope="eyex", **by),
        ),
        "each row": (me.predictions(fit), tunamh.predictions(result, table)),
        "grid": (
            me.predictions(fit, newdata=grid),
            tunamh.predictions(result, conditional={number_: [low, high], factor: [first, second]}),
        ),
    }
    found = []
    for name, (theirs, ours) in pairs.items():
        a, b = np.sort(np.asarray(theirs["estimate"], float)), np.sort(ours["mean"].to_numpy())
        assert len(a) == len(b), (name, len(a), len(b))
        off = float(np.abs(a / b - 1).max())
        found.append({"question": name, "lines": len(a), "smallest": float(b[0]), "largest relative difference": off})
    return found


MODELS = {
    "heart": ("event ~ age * operated + year", "logistic", "age", "operated"),
    "veteran": ("time ~ karno * celltype + age", "poisson", "karno", "celltype"),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    found = []
    for name, (formula, family, number_, factor) in MODELS.items():
        table = pd.read_csv(DATA / f"{name}.csv").rename(columns={"surgery": "operated"})
        table[factor] = pd.Categorical(table[factor].replace({0: "never", 1: "once"}).astype(str))
        fit, result = fitted_by_both(formula, table, family)
        found += [{"data": name, **one} for one in asked(table, fit, result, number_, factor)]
    write_json(options.out / "effects_marginaleffects.json", {"machine": machine(), "rows": found})
    rows = [[one["data"], one["question"], *(number(v) for v in list(one.values())[2:])] for one in found]
    print_table("marginaleffects", ["data", "question", "lines", "smallest", "largest relative difference"], rows, 2)


if __name__ == "__main__":
    main()
