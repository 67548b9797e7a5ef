"""How often checks of fit alarm where the model is right and groups are many and small, and whether a curve is found.

    python benchmarks/fit_checks_groups.py [--sets 3]

Every data set is fitted, and its own rows are checked: 1,000 of them, five times, and all of them. The share of alarms
is to be at most one of a hundred. The curve has the effect 0.1 of x squared.
"""

from __future__ import annotations

import argparse
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tunamh
from common import RESULTS, machine, print_table, write_json

FAMILIES = ("logistic", "poisson", "gaussian")
SHAPES = {"2,000 x 10": (2000, 10, False), "4,000 x 5": (4000, 5, False), "200 x 100": (200, 100, False)}
SHAPES["1,000 x 10, slopes"] = (1000, 10, True)
COLUMNS = ["family", "groups x rows of a group", "false alarms, 1,000 rows checked", "false alarms, all rows checked"]
COLUMNS += ["largest z without a defect", "curve found, 1,000 rows checked", "curve found, all rows checked"]
BEND, SAMPLES = 0.1, 5


def simulated(family: str, groups: int, each: int, slopes: bool, seed: int, bend: float) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    g, x = np.repeat(np.arange(groups), each), rng.standard_normal(groups * each)
    eta = -0.3 + 0.5 * x + 0.8 * rng.standard_normal(groups)[g] + bend * x * x
    if slopes:
        eta += 0.5 * rng.standard_normal(groups)[g] * x
    y = {
        "logistic": lambda: (rng.random(len(g)) < 1 / (1 + np.exp(-eta))).astype(int),
        "poisson": lambda: rng.poisson(np.exp(eta)),
        "gaussian": lambda: eta + rng.standard_normal(len(g)),
    }[family]()
    return pd.DataFrame({"x": x, "y": y, "g": [f"g{k}" for k in g]})


def found_in(family: str, shape: tuple[int, int, bool], sets: int, bend: float) -> dict[str, Any]:
    some = whole = 0
    largest = []
    for seed in range(sets):
        table = simulated(family, *shape, seed, bend)
        model = tunamh.regression("y ~ x + (1 + x | g)" if shape[2] else "y ~ x + (1 | g)", table, family=family)
        posterior = tunamh.sample(model, draws=60, rng=seed, progressbar=False)
        some += sum(not tunamh.check(posterior, table, rng=k).ok for k in range(SAMPLES))
        every = tunamh.check(posterior, table, rows=len(table))
        whole += not every.ok
        largest.append(max(one.z for one in every.findings if one.z is not None))
    return {"sets": sets, "some": some, "of": SAMPLES * sets, "whole": whole, "largest_z": max(largest)}


def cells(found: dict[str, Any]) -> list[str]:
    right, bent = found["right"], found["bent"]
    return [
        found["family"],
        found["shape"],
        f"{right['some']} of {right['of']}",
        f"{right['whole']} of {right['sets']}",
        f"{right['largest_z']:.1f}",
        f"{bent['some']} of {bent['of']}",
        f"{bent['whole']} of {bent['sets']}",
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=3)
    sets = parser.parse_args().sets
    warnings.simplefilter("ignore")
    began, figures = time.process_time(), []
    for family in FAMILIES:
        for name, shape in SHAPES.items():
            right, bent = found_in(family, shape, sets, 0.0), found_in(family, shape, max(1, sets // 3), BEND)
            figures.append({"family": family, "shape": name, "right": right, "bent": bent})
            print(*cells(figures[-1]), flush=True)
    print_table(f"{sets} data sets each", COLUMNS, [cells(one) for one in figures])
    report = {"machine": machine(), "sets": sets, "figures": figures, "cpu_seconds": time.process_time() - began}
    write_json(Path(RESULTS / "fit_checks_groups.json"), report)


if __name__ == "__main__":
    main()
