"""The library's draws against the reference: mean, standard deviation, 5 % and 95 % quantile of every parameter."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from arviz_stats.base import array_stats
from database import Database, NotThere

import tunamh
from models import MODELS, restated

FIGURES: dict[str, tuple[Callable[[np.ndarray], np.ndarray], dict[str, Any]]] = {
    "mean": (lambda draws: draws.mean(axis=(1, 2)), {"method": "mean"}),
    "sd": (lambda draws: draws.std(axis=(1, 2), ddof=1), {"method": "sd"}),
    "5 %": (lambda draws: np.quantile(draws, 0.05, axis=(1, 2)), {"method": "quantile", "prob": 0.05}),
    "95 %": (lambda draws: np.quantile(draws, 0.95, axis=(1, 2)), {"method": "quantile", "prob": 0.95}),
}
"""Each with what its Monte Carlo error is called."""


def scores(ours: dict[str, np.ndarray], theirs: dict[str, np.ndarray]) -> dict[str, dict[str, float]]:
    """Of every parameter: differences in units of the Monte Carlo errors of both."""
    if set(ours) != set(theirs):
        raise ValueError(f"parameters are {sorted(ours)}, those of the reference {sorted(theirs)}")
    sides = [np.array([draws[name] for name in theirs]) for draws in (ours, theirs)]
    found: dict[str, dict[str, float]] = {name: {} for name in theirs}
    for figure, (of, error) in FIGURES.items():
        values = [of(draws) for draws in sides]
        errors = [np.asarray(array_stats.mcse(draws, chain_axis=1, draw_axis=2, **error)) for draws in sides]
        z = (values[0] - values[1]) / np.hypot(*errors)
        for name, score in zip(theirs, z, strict=True):
            found[name][figure] = float(score)
    return found


def compared(database: Database, posterior: dict[str, Any], seed: int = 1) -> dict[str, Any]:
    """One line of the table."""
    began = time.perf_counter()
    line: dict[str, Any] = {"posterior": posterior["name"]}
    try:
        theirs = database.draws(posterior)
        model = restated(posterior["model_name"], database.data(posterior))
    except NotThere as missing:
        return line | {"left out": f"not in this copy: {missing}"}
    try:
        with warnings.catch_warnings(record=True) as told:
            warnings.simplefilter("always")
            tree = tunamh.sample(model.target, rng=seed, progressbar=False, **model.settings)
        ours = model.parameters(tree.posterior)
        line |= judged(scores(ours, theirs), ours)
        line["warned"] = sorted({one.category.__name__ for one in told if "tunamh" in str(one.category)})
    except Exception as error:  # a line of the table too: nothing is hidden
        line["error"] = f"{type(error).__name__}: {error}"
    return line | {"seconds": round(time.perf_counter() - began, 1)}


def judged(found: dict[str, dict[str, float]], ours: dict[str, np.ndarray]) -> dict[str, Any]:
    z = np.array([list(of.values()) for of in found.values()])
    name, figure = max(
        ((name, figure) for name, of in found.items() for figure in of), key=lambda one: abs(found[one[0]][one[1]])
    )
    effective = min(float(array_stats.ess(draws, method="bulk")) for draws in ours.values())
    return {
        "parameters": len(found),
        "comparisons": z.size,
        "effective": round(effective),
        "rms": float(np.sqrt(np.mean(z**2))),
        "largest": float(np.abs(z).max()),
        "where": f"{figure} of {name}",
        "scores": found,
    }


def all_compared(database: Database, wanted: Callable[[str], bool]) -> Iterator[dict[str, Any]]:
    for posterior in database.posteriors():
        if not wanted(posterior["name"]):
            continue
        if posterior["model_name"] in MODELS:
            yield compared(database, posterior)
        else:
            yield {"posterior": posterior["name"], "left out": "no model for it here"}
