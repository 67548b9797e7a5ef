"""Reference draws that are kept in a file, so that the short form need not make them.

    python tests/invariance/kept_draws.py [--all]

makes those that are missing or of another posterior than that of today (`problems`, `families`), or all of them, in
some minutes: after a change of how reference draws are made (`harness.reference_normals`).

What is kept are the standard normals that parameters are functions of, in steps of 1/24. A reader adds a uniform
number of the size of such a step, and makes some Metropolis-Hastings steps more: they leave the posterior as it is, and
mend what rounding did to it. Beside the draws stand log-likelihoods at fixed points; where a posterior has others, its
draws are not those of the file.
"""

from __future__ import annotations

import sys
from functools import cache
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np
from harness import likelihood_at, reference_normals, stepped

FILE = Path(__file__).parent / "kept_draws.npz"
POINTS = 1500
_STEP = 1 / 24
_STEPS = 20


def seed_of(problem: Any) -> list[int]:
    """Every posterior has its own; those in the file keep theirs, whatever is put before them."""
    from families import FAMILIES

    from problems import STRUCTURES

    kept = read().get(_name(problem) + " | seed")
    return (
        [list(STRUCTURES).index(problem.where), list(FAMILIES).index(problem.name)] if kept is None else kept.tolist()
    )


def made(problem: Any) -> np.ndarray:
    """What the file keeps of a posterior: whole numbers, in the shape (point, number)."""
    xi = reference_normals(problem, POINTS, np.random.default_rng(seed_of(problem)))
    steps = np.rint(xi / _STEP)
    return steps.astype(np.int8 if np.abs(steps).max() <= 127 else np.int16)


def kept_draws(problem: Any) -> np.ndarray | None:
    """Draws from the posterior; None where the file has none of it."""
    steps = read().get(_name(problem))
    if steps is None or not is_that_of(problem):
        return None
    rng = np.random.default_rng(seed_of(problem))
    xi = (steps + rng.uniform(-0.5, 0.5, steps.shape)) * _STEP
    xi, _ = stepped(problem, xi, likelihood_at(problem, xi), _STEPS, rng)
    return problem.points(xi)


def is_that_of(problem: Any) -> bool:
    """Whether the draws in the file are those of this posterior."""
    kept, here = read().get(_name(problem) + " | values"), _values(problem)
    return kept is not None and kept.shape == here.shape and np.allclose(kept, here, rtol=1e-6, atol=1e-6)


@cache
def read() -> dict[str, np.ndarray]:
    if not FILE.exists():
        return {}
    with np.load(FILE) as file:
        return dict(file)


def _values(problem: Any) -> np.ndarray:
    """Parameters and log-likelihoods at a few points, which tell one posterior from another."""
    points = problem.points(0.5 * np.random.default_rng(0).standard_normal((3, problem.dim)))
    return np.append(points.sum(axis=1), problem.log_likelihood(points))


def _name(problem: Any) -> str:
    return f"{problem.where} | {problem.name}"


def main() -> None:
    from problems import Problem
    from run import short_form

    found: dict[str, np.ndarray] = {}
    for where, name, _ in short_form():
        problem = Problem(name, where)
        key, again = _name(problem), "--all" in sys.argv or not is_that_of(problem)
        if again:
            print(key, flush=True)
        found[key] = made(problem) if again else read()[key]
        found[f"{key} | values"] = _values(problem) if again else read()[f"{key} | values"]
        found[f"{key} | seed"] = np.array(seed_of(problem))
    np.savez_compressed(FILE, **found)


if __name__ == "__main__":
    main()
