"""Levels with few rows or one class: rows per step and effective draws per second, jointly and by groups.

    python benchmarks/thin_levels.py [--quick] [--only NAME] [--out benchmarks/results]

*pure N*: 300,000 rows x 10, logistic regression with the prior N(0, 2.5^2), one dummy of N rows whose responses are
all 0. *Zipf*: 1,000,000 rows, five normal columns and a category of 50 levels by Zipf's law (exponent 1.5), 2 % events.
*census*: KDD census income (`census.py`), seven numbers, education, class of worker and sex, 33 parameters; no child
earns 50,000 dollars. "Jointly" is a Laplace step of all parameters (`control=Taylor(order=2),
proposal=Autoregressive()`), "by groups" what `sample(target)` chooses. One core each, in turns, compiled before;
effective draws are those of the worst parameter per second of sampling. Laplace's error is that of the coefficient of
the worst level: quantiles of either law.
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import NormalDist
from typing import Any

import numpy as np

import tunamh
from common import DOCS, RESULTS, machine, min_ess, number, print_table, write_json

PURE = (50, 500, 5_000, 50_000)
LEVELS = (0.025, 0.5, 0.975)
PRIOR = tunamh.Normal(scale=2.5)


def pure_rows(rows: int) -> tuple[np.ndarray, np.ndarray]:
    rng, n = np.random.default_rng(3), 300_000
    X = np.column_stack([np.ones(n), rng.standard_normal((n, 8)), np.zeros(n)])
    X[:rows, -1] = 1
    beta = np.r_[-1.0, 0.3 * rng.standard_normal(8)]
    y = (rng.random(n) < 1 / (1 + np.exp(-X[:, :9] @ beta))).astype(float)
    y[:rows] = 0
    return X, y


def pure(rows: int) -> tuple[Any, int]:
    X, y = pure_rows(rows)
    return tunamh.LogisticRegression(X, y, prior=PRIOR), 9


def zipf_rows() -> tuple[Any, np.ndarray, np.ndarray]:
    """A table, the codes of its column ``level``, and responses."""
    import pandas as pd

    rng, n, levels = np.random.default_rng(4), 1_000_000, 50
    share = 1 / np.arange(1, levels + 1) ** 1.5
    codes = rng.choice(levels, size=n, p=share / share.sum())
    table = pd.DataFrame({"one": np.ones(n), **{f"x{j}": rng.standard_normal(n) for j in range(5)}})
    table["level"] = pd.Categorical(codes)
    eta = -4.2 + 0.3 * table[["x0", "x1"]].sum(axis=1).to_numpy() + rng.standard_normal(levels)[codes]
    y = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(float)
    return table, codes, y


def zipf() -> tuple[Any, int]:
    table, codes, y = zipf_rows()
    target = tunamh.LogisticRegression(table, y, prior=PRIOR)
    events = np.bincount(codes, y)
    return target, target.names.index(f"level[{int(np.argmin(events[1:])) + 1}]")


def children() -> tuple[Any, int]:
    import pandas as pd

    import census

    data = np.load(census.prepared(), allow_pickle=False)
    factors = [int(factor) for factor in data["factors"]]
    columns: dict[str, Any] = {"one": np.ones(len(data["y"]))}
    columns |= dict(zip(census.NUMBERS.values(), data["numbers"].T, strict=True))
    for name, factor in (("education", 4), ("worker", 1), ("sex", 12)):
        codes = data["codes"][:, factors.index(factor)]
        columns[name] = pd.Categorical.from_codes(codes, range(codes.max() + 1))
    target = tunamh.LogisticRegression(pd.DataFrame(columns), data["y"], prior=PRIOR)
    return target, target.names.index("education[10]")


PROBLEMS: dict[str, Callable[[], tuple[Any, int]]] = {
    **{f"pure {rows:,}": lambda rows=rows: pure(rows) for rows in PURE},
    "Zipf": zipf,
    "census, 33 columns": children,
}


def measured(target: Any, seconds: float, **choices: Any) -> tuple[dict[str, Any], np.ndarray]:
    """Draws for about so many seconds of sampling."""
    settings = {"chains": 1, "cores": 1, "rng": 1, "progressbar": False, **choices}
    began = time.perf_counter()
    pilot = tunamh.sample(target, draws=200, tune=100, **settings)
    setup = time.perf_counter() - began
    took = float(pilot.sample_stats["elapsed"].values[0, -1])
    draws = int(min(100_000, max(400, 200 * seconds / took)))
    tree = tunamh.sample(target, draws=draws, tune=200, **settings)
    theta, stats = tree.posterior["theta"].values[0], tree.sample_stats
    return {
        "rows_per_step": float(stats["batch_size"].mean()),
        "acceptance": float(stats["acceptance_rate"].mean()),
        "ess_per_second": min_ess(theta) / float(stats["elapsed"].values[0, -1]),
        "draws": draws,
        "setup_and_200_draws": setup,
        "choice": tree.posterior.attrs["choice"],
    }, theta


def solved(seconds: float, only: str | None) -> Iterator[tuple[str, dict[str, Any]]]:
    for name, make in PROBLEMS.items():
        if only is not None and only not in name:
            continue
        target, worst = make()
        jointly, _ = measured(target, seconds, control=tunamh.Taylor(order=2), proposal=tunamh.Autoregressive())
        by_groups, theta = measured(target, seconds)
        mode = target.modes[0]
        sd = float(np.linalg.norm(mode.posterior.metric().factor[worst]))
        laplace = [NormalDist(float(mode.point[worst]), sd).inv_cdf(level) for level in LEVELS]
        found = {
            "jointly": jointly,
            "by_groups": by_groups,
            "parameter": target.names[worst],
            "laplace": laplace,
            "exact": np.quantile(theta[:, worst], LEVELS).tolist(),
        }
        yield name, found
        if name in ("pure 500", "Zipf"):
            picture(name, theta[:, worst], float(mode.point[worst]), sd)


def picture(name: str, draws: np.ndarray, centre: float, sd: float) -> None:
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(5, 3))
    grid = np.linspace(min(draws.min(), centre - 4 * sd), max(draws.max(), centre + 4 * sd), 400)
    axes.hist(draws, bins=60, density=True, color="#4477aa", alpha=0.6, label="exact draws")
    law = np.exp(-0.5 * ((grid - centre) / sd) ** 2) / (sd * np.sqrt(2 * np.pi))
    axes.plot(grid, law, color="#cc3311", label="Laplace's approximation")
    axes.set_xlabel("coefficient of the level")
    axes.set_yticks([])
    axes.legend(frameon=False)
    figure.tight_layout()
    figure.savefig(DOCS / f"thin-{name.split()[0].lower()}.png", dpi=150)
    plt.close(figure)


COLUMNS = [
    "data",
    "rows per joint step",
    "rows per sweep",
    "effective draws per second, joint steps",
    "effective draws per second, sweeps",
    "2.5, 50, 97.5 % quantiles, Laplace",
    "2.5, 50, 97.5 % quantiles, exact",
]


def cells(name: str, found: dict[str, Any]) -> list[str]:
    laws = [", ".join(f"{value:.2f}" for value in found[law]) for law in ("laplace", "exact")]
    kinds = found["jointly"], found["by_groups"]
    rows, speed = ([number(kind[key]) for kind in kinds] for key in ("rows_per_step", "ess_per_second"))
    return [name, *rows, *speed, *laws]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--only")
    parser.add_argument("--out", type=Path, default=RESULTS)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    figures = dict(solved(1.0 if given.quick else 8.0, given.only))
    print_table("thin and pure levels", COLUMNS, [cells(name, found) for name, found in figures.items()])
    if given.only is None:
        write_json(given.out / "thin_levels.json", {"machine": machine(), "levels": LEVELS, "figures": figures})


if __name__ == "__main__":
    main()
