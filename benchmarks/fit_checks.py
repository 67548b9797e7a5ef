"""How often checks of fit alarm where the model is right, and how often they find what is wrong.

    python benchmarks/fit_checks.py [--sets 200]

Data are simulated from a result of which one draw is kept, so that its parameters are the true ones: with more draws,
and with parameters learned from the same rows, checks are more cautious. Each set has 300 rows. An alarm is any check
that looks wrong.
"""

from __future__ import annotations

import argparse
import sys
import time
import warnings
from pathlib import Path

import numpy as np

from common import HERE, RESULTS, machine, print_table, write_json

sys.path.insert(0, str(HERE.parent / "tests" / "checking"))
from own_data import FORMULA, families, of_one_draw, own_data, sampled

import tunamh

ROWS = 300
RIGHT = ("Gaussian", "Logistic", "Poisson", "NegativeBinomial", "Weibull", "Categorical")


def alarms(name: str, sets: int) -> dict[str, float]:
    """Sets in which anything looks wrong, and the share of single checks with a probability below 0.05."""
    family = families()[name]
    one = of_one_draw(sampled(FORMULA, own_data(family, 400, np.random.default_rng(1)), family))
    table, wrong, small, count = own_data(family, ROWS, np.random.default_rng(2)), 0, 0, 0
    for seed in range(sets):
        y = tunamh.predict(one, table, kind="response", quantiles=None, rng=seed).values[0]
        found = tunamh.check(one, table.assign(y=y), rng=seed)
        p = np.array([finding.p for finding in found.findings if finding.p is not None])
        wrong, small, count = wrong + (not found.ok), small + int((p < 0.05).sum()), count + len(p)
    return {"sets": sets, "alarms": wrong, "checks": count, "below_0.05": small / count}


def power(sets: int) -> dict[str, dict[str, float]]:
    """Counts that vary more than Poisson's, tails of Student-t errors, and a curve, of which each is of three sizes."""
    rng = np.random.default_rng(3)
    found: dict[str, dict[str, float]] = {}
    one = {
        name: of_one_draw(sampled("y ~ x", own_data(families()[name], 400, np.random.default_rng(1)), families()[name]))
        for name in ("Poisson", "Gaussian")
    }
    x = own_data(families()["Gaussian"], ROWS, np.random.default_rng(2))
    for what, family, sizes in (
        ("variance over mean", "Poisson", (1.2, 1.4, 1.8)),
        ("degrees of freedom of the errors", "Gaussian", (10.0, 5.0, 3.0)),
        ("curve, effect of x squared", "Gaussian", (0.05, 0.1, 0.2)),
    ):
        eta = tunamh.predict(one[family], x, kind="linear", quantiles=None).values[0]
        for size in sizes:
            hits = 0
            for _ in range(sets):
                y = _defect(rng, what, size, eta, x["x"].to_numpy())
                hits += not tunamh.check(one[family], x.assign(y=y)).ok
            found[f"{what} {size:g}"] = {"found": hits / sets}
    return found


def _defect(rng: np.random.Generator, what: str, size: float, eta: np.ndarray, x: np.ndarray) -> np.ndarray:
    if what.startswith("variance"):
        mean = np.exp(eta)
        return rng.negative_binomial(mean / (size - 1), 1 / size)
    if what.startswith("degrees"):
        return eta + 0.8 * rng.standard_t(size, len(eta)) * np.sqrt((size - 2) / size)
    return eta + size * (x * x - 1) + 0.8 * rng.normal(size=len(eta))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--sets", type=int, default=200)
    sets = parser.parse_args().sets
    warnings.simplefilter("ignore")
    began = time.process_time()
    right = {name: alarms(name, sets) for name in RIGHT}
    wrong = power(max(10, sets // 4))
    print_table(
        f"{sets} sets of {ROWS} rows of a model that is right",
        ["family", "alarms", "checks", "share below 0.05"],
        [[name, str(f["alarms"]), str(f["checks"]), f"{f['below_0.05']:.3f}"] for name, f in right.items()],
    )
    print_table("Defects", ["defect", "found"], [[name, f"{f['found']:.2f}"] for name, f in wrong.items()])
    report = {"machine": machine(), "rows": ROWS, "sets": sets, "right": right, "wrong": wrong}
    write_json(Path(RESULTS / "fit_checks.json"), {**report, "cpu_seconds": time.process_time() - began})


if __name__ == "__main__":
    main()
