"""Questions about effects on a million rows: their time beside that of the fit, and a pass per draw, extrapolated.

    python benchmarks/effects.py [--rows 1000000] [--out benchmarks/results]

The model is a logistic regression with 18 numbers and a factor of three levels. A question is answered at 1000 draws.
A pass per draw is timed on the first 20,000 rows, and multiplied by the number of rows: it evaluates every row at every
draw, as other libraries do. Seconds are the processor's (of all threads). The true error is that of the answer on the
first 120,000 rows at 100 draws, against the evaluation of all of them.
"""

from __future__ import annotations

import argparse
import resource
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

import tunamh
from common import RESULTS, machine, number, print_table, write_json
from tunamh.effects import expansion

_SMALL, _TRUTH, _DRAWS, _FEW_DRAWS = 20_000, 120_000, 1000, 100
Ask = Callable[[Any, pd.DataFrame, int], Any]
QUESTIONS: dict[str, Ask] = {
    "mean by carrier": lambda p, t, n: tunamh.predictions(p, t, average_by="carrier", draws=n),
    "difference of carriers": lambda p, t, n: tunamh.comparisons(p, t, "carrier", average_by=True, draws=n),
    "ratio of carriers": lambda p, t, n: tunamh.comparisons(
        p, t, "carrier", average_by=True, comparison="ratio", draws=n
    ),
    "average slope": lambda p, t, n: tunamh.slopes(p, t, "x0", average_by=True, draws=n),
}


def flights(rows: int) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame({f"x{k}": rng.standard_normal(rows) for k in range(18)})
    table["carrier"] = rng.choice(["AA", "DL", "UA"], rows)
    log_odds = -1.5 + table.filter(like="x").to_numpy() @ np.linspace(-0.3, 0.5, 18) + 0.3 * (table["carrier"] == "UA")
    table["late"] = (rng.random(rows) < 1 / (1 + np.exp(-log_odds))).astype(float)
    return table


def seconds(work: Callable[[], Any]) -> tuple[float, Any]:
    began = time.process_time()
    found = work()
    return time.process_time() - began, found


def true_error(ask: Ask, posterior: Any, table: pd.DataFrame) -> float:
    """In posterior standard deviations, root mean square over the draws, of the line where it is largest."""
    found = ask(posterior, table, _FEW_DRAWS).draws.values
    before, expansion.MANY_ROWS = expansion.MANY_ROWS, 10**12
    wanted = ask(posterior, table, _FEW_DRAWS).draws.values
    expansion.MANY_ROWS = before
    return float((np.sqrt(np.square(found - wanted).mean((0, 1))) / wanted.std((0, 1))).max())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", type=int, default=1_000_000)
    parser.add_argument("--out", type=Path, default=RESULTS)
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    table = flights(options.rows)
    formula = " + ".join(["late ~ carrier", *(f"x{k}" for k in range(18))])
    tunamh.sample(tunamh.regression(formula, table.head(2000), family="logistic"), draws=100, rng=1, progressbar=False)
    fit, posterior = seconds(
        lambda: tunamh.sample(tunamh.regression(formula, table, family="logistic"), rng=1, progressbar=False)
    )
    found = []
    for name, ask in QUESTIONS.items():
        own, answer = seconds(lambda ask=ask: ask(posterior, table, _DRAWS))  # type: ignore[misc]
        per_draw, _ = seconds(lambda ask=ask: ask(posterior, table.head(_SMALL), _DRAWS))  # type: ignore[misc]
        (note,) = (one for one in answer.attrs["notes"] if "estimated error" in one)
        stated = float(note.split("at most ")[1].split()[0])
        true = true_error(ask, posterior, table.head(_TRUTH))
        found.append(
            {
                "question": name,
                "seconds": own,
                "stated error": stated,
                "true error": true,
                "seconds by a pass per draw": per_draw * options.rows / _SMALL,
            }
        )
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    report = {"machine": machine(), "rows": options.rows, "columns": 20, "fit": fit, "questions": found, "MiB": memory}
    columns = ["question", "s", "stated error (sd)", f"true error, {_TRUTH:,} rows (sd)", "s by a pass per draw"]
    rows = [[str(one["question"]), *(number(value) for value in list(one.values())[1:])] for one in found]
    print_table(f"{options.rows:,} rows; the fit: {fit:.1f} s; largest memory {memory:,.0f} MiB", columns, rows)
    write_json(options.out / "effects.json", report)


if __name__ == "__main__":
    main()
