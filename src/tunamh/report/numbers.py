"""Per parameter: mean, standard deviation, interval, R-hat and effective draws, for many of them at once."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..results.convergence import FEWEST_TO_JUDGE, diagnose, worst_of
from ..results.layout import COEFFICIENT, CORRELATION, EFFECT, GROUP_SCALE, ROLE

UNKNOWN = "\N{EN DASH}"
"""In the place of a number."""

_VALUES_AT_ONCE = 4_000_000  # of draws, in one piece of work
_ENOUGH_DRAWS = 1000  # per chain, evenly spaced, for intervals and diagnostics of many parameters
_MANY = 20_000_000  # values, from which that is enough
_LONGEST_LABEL = 200
_PLAIN = {
    "theta": {ROLE: COEFFICIENT},
    "group_scale": {ROLE: GROUP_SCALE},
    "group_correlation": {ROLE: CORRELATION},
    "group_effect": {ROLE: EFFECT},
}
_DIAGNOSED = 5000  # parameters of one variable that are diagnosed each; of more, only the worst are


_STATISTICS = ("mean", "sd", "ends", "half", "positive", "r_hat", "ess")


@dataclass(frozen=True)
class Variable:
    """One variable of a posterior. Arrays have one entry per parameter, with NaN for unknown values.

    ``half`` is the central interval with probability 50 %, ``ends`` the interval with the probability of the page.
    """

    name: str
    labels: list[str]
    mean: np.ndarray
    sd: np.ndarray
    ends: np.ndarray
    half: np.ndarray
    positive: np.ndarray
    r_hat: np.ndarray
    ess: np.ndarray
    about: dict[str, str] = field(default_factory=dict)  # its attributes (`tunamh.results.layout`)

    @property
    def role(self) -> str:
        """Return the role of the variable, such as coefficient; it is empty for results of other libraries."""
        return self.about.get(ROLE, "")

    @property
    def names(self) -> list[str]:
        """Return the names of the parameters as in `tunamh.summary`."""
        if not self.name:
            return self.labels
        return [f"{self.name}[{label}]" if label else self.name for label in self.labels]

    @property
    def size(self) -> int:
        return len(self.labels)


def joined(variables: list[Variable]) -> Variable:
    """Return several variables as one variable, whose labels are their names."""
    if len(variables) == 1:
        return variables[0]
    arrays = {name: np.concatenate([getattr(one, name) for one in variables]) for name in _STATISTICS}
    labels = [name for one in variables for name in one.names]
    return Variable("", labels, **arrays, about={ROLE: variables[0].role})


def variables_of(posterior: Any, level: float) -> tuple[list[Variable], list[str]]:
    """Return the variables of a posterior, and the names of variables that do not contain draws of numbers."""
    found, others = [], []
    for name, values in posterior.data_vars.items():
        if {"chain", "draw"} <= set(values.dims) and values.dtype.kind in "biuf" and values.size:
            found.append(_variable(str(name), values, level))
        else:
            others.append(str(name))
    return found, others


def _variable(name: str, values: Any, level: float) -> Variable:
    dims = [dim for dim in values.dims if dim not in ("chain", "draw")]
    values = values.transpose("chain", "draw", *dims)
    labels = labels_of(values, dims)
    draws = values.values.reshape(*values.shape[:2], -1)
    if draws.size > _MANY:
        draws = draws[:, :: max(1, draws.shape[1] // _ENOUGH_DRAWS)]
    many = len(labels) > _DIAGNOSED
    pieces = [_piece(part, level, not many) for part in _parts(draws)]
    arrays = [np.concatenate(columns) for columns in zip(*pieces, strict=True)]
    about = {str(key): str(value)[:_LONGEST_LABEL] for key, value in values.attrs.items()}
    found = Variable(
        name, labels, **dict(zip(_STATISTICS, arrays, strict=True)), about={**_PLAIN.get(name, {}), **about}
    )
    if many and draws.shape[1] >= FEWEST_TO_JUDGE and np.isfinite(draws).all():
        worst, j, fewest, k = worst_of(lambda rows, which: draws[:, rows, which], *draws.shape)
        found.r_hat[j], found.ess[k] = worst, fewest
    return found


def labels_of(values: Any, dims: list[Any]) -> list[str]:
    """Return the labels of all combinations along dimensions."""
    if not dims:
        return [""]
    along = [labels_along(values, dim) for dim in dims]
    grid = np.meshgrid(*(np.arange(len(labels)) for labels in along), indexing="ij")
    return [", ".join(along[k][j] for k, j in enumerate(at)) for at in zip(*(g.ravel() for g in grid), strict=True)]


def labels_along(values: Any, dim: Any) -> list[str]:
    """Return the labels of a dimension, or positions if it has none. Very long labels are cut."""
    if dim not in values.coords:
        return [str(j) for j in range(values.sizes[dim])]
    return [str(label)[:_LONGEST_LABEL] for label in values.coords[dim].values.tolist()]


def _parts(draws: np.ndarray) -> Iterator[np.ndarray]:
    """Some parameters at a time."""
    step = max(1, _VALUES_AT_ONCE // max(1, draws.shape[0] * draws.shape[1]))
    for start in range(0, draws.shape[2], step):
        yield draws[:, :, start : start + step].astype(np.float64)


def _piece(draws: np.ndarray, level: float, diagnosed: bool) -> tuple[np.ndarray, ...]:
    flat = draws.reshape(-1, draws.shape[2])
    tail = 0.5 - level / 2
    q = np.quantile(flat, [tail, 0.25, 0.75, 1 - tail], axis=0)
    unknown = np.full(draws.shape[2], math.nan)
    r_hat, ess = unknown, unknown
    if diagnosed and draws.shape[1] >= FEWEST_TO_JUDGE and np.isfinite(draws).all():
        r_hat, ess = diagnose(np.ascontiguousarray(draws.transpose(2, 0, 1)))
    spread = flat.std(axis=0, ddof=1) if len(flat) > 1 else unknown
    return flat.mean(axis=0), spread, q[[0, 3]].T, q[[1, 2]].T, (flat > 0).mean(axis=0), r_hat, ess


def text(value: float, sd: float) -> str:
    """Return a number as text with as many decimals as three digits of its standard deviation need."""
    if not math.isfinite(value):
        return UNKNOWN
    if not 0 < sd < math.inf:
        return f"{value:.4g}"
    decimals = 2 - math.floor(math.log10(sd))
    if decimals > 8 or abs(value) >= 1e9:
        digits = 3 + max(0, math.floor(math.log10(max(abs(value), sd) / sd)))
        return f"{value:.{min(digits, 15)}g}"
    return f"{round(value, decimals):.{max(decimals, 0)}f}"
