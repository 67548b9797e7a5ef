"""Regressions with group effects, for `groups.py`, `real_groups.py` and `group_fits.py`: data, and tunamh's targets.

Coefficients have the prior N(0, 5), scales of effects half-normal(1), in both samplers. NumPy only at the top: the
peers' environment, which has no tunamh, reads it too.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

PRIOR = 5.0
_CODES = ("first", "second", "third")


class GroupProblem(NamedTuple):
    """``codes`` has a column for every factor."""

    family: str  # logistic, poisson, gaussian or ordinal
    X: np.ndarray
    y: np.ndarray
    codes: np.ndarray

    @property
    def groups(self) -> list[int]:
        return [int(column.max()) + 1 for column in self.codes.T]


def save(problem: GroupProblem, path: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    np.savez(path, **problem._asdict())


def load(path: Path) -> GroupProblem:
    found = np.load(path)
    return GroupProblem(str(found["family"]), found["X"], found["y"], found["codes"])


def simulate(
    family: str, n_rows: int, groups: int, d: int, scale: float = 0.7, codes: np.ndarray | None = None
) -> GroupProblem:
    """An intercept and ``x ~ N(0, I)``, ``theta ~ N(0, I / d)`` (halved for counts), rows to groups by lot."""
    rng = np.random.default_rng([n_rows, groups, d, family == "poisson"])
    X = rng.standard_normal((n_rows, d))
    X[:, 0] = 1.0
    codes = rng.integers(0, groups, n_rows) if codes is None else codes
    theta, effects = rng.standard_normal(d) / np.sqrt(d), scale * rng.standard_normal(groups)
    eta = (0.5 if family == "poisson" else 1.0) * (X @ theta) + effects[codes]
    y = rng.poisson(np.exp(eta)) if family == "poisson" else rng.random(n_rows) < 1 / (1 + np.exp(-eta))
    codes = np.unique(codes, return_inverse=True)[1]
    return GroupProblem(family, X, y.astype(float), codes.reshape(-1, 1))


def simulate_crossed(n_rows: int, groups: tuple[int, int], d: int, scale: float = 0.7) -> GroupProblem:
    """Logistic, two crossed factors, rows to the groups of each by lot; the rest as in `simulate`."""
    rng = np.random.default_rng([n_rows, *groups, d])
    X = rng.standard_normal((n_rows, d))
    X[:, 0] = 1.0
    codes = np.column_stack([np.unique(rng.integers(0, G, n_rows), return_inverse=True)[1] for G in groups])
    eta = X @ (rng.standard_normal(d) / np.sqrt(d))
    for column in codes.T:
        eta += scale * rng.standard_normal(column.max() + 1)[column]
    y = rng.random(n_rows) < 1 / (1 + np.exp(-eta))
    return GroupProblem("logistic", X, y.astype(float), codes)


def target(problem: GroupProblem, keep_effects: bool | None = None) -> Any:
    import tunamh

    family = {
        "logistic": tunamh.Logistic,
        "poisson": tunamh.Poisson,
        "gaussian": tunamh.Gaussian,
        "ordinal": tunamh.Ordinal,
    }[problem.family]()
    names = _CODES[: problem.codes.shape[1]]
    factors = [tunamh.GroupEffects(codes, name=name) for codes, name in zip(problem.codes.T, names, strict=True)]
    prior = tunamh.Normal(scale=PRIOR)
    return tunamh.MixedModel(problem.X, problem.y, family, factors, prior=prior, keep_effects=keep_effects)


def columns_of(posterior: Any) -> np.ndarray:
    """Coefficients, log scales and effects: (draws of all chains, parameters)."""
    parts = [posterior.posterior[name].values for name in ("theta", "group_scale", "group_effect")]
    parts[1] = np.log(parts[1])
    return np.concatenate(parts, axis=-1).reshape(-1, sum(part.shape[-1] for part in parts))
