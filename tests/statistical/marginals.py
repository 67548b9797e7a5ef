"""Marginal laws of small regressions by quadrature, and a file that keeps them.

    python tests/statistical/marginals.py

makes the file anew, in a minute: after a change of a model (`regressions`) or of the quadrature. Beside the numbers
stand values of the log density at fixed points. Where a model has other values, the numbers are not read but made.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import arviz_stats
import numpy as np
from regressions import MODELS, Ready
from scipy.interpolate import CubicSpline
from scipy.optimize import minimize

FILE = Path(__file__).parent / "marginals.json"
JACOBIAN_LEFT_OUT = [
    *("Gaussian", "Student-t", "Student-t, df, known scale", "Weibull, right", "negative binomial", "gamma", "beta"),
    "zero-inflated negative binomial, columns",
]
"""Models whose wrong marginals are in the file too, for negative controls."""

REACH = 9.0  # standard deviations
POINTS = {1: 241, 2: 73, 3: 37}


@dataclass
class Marginals:
    """Means, variances, and the quantiles of 10 % and 90 % of every coordinate."""

    mean: np.ndarray
    variance: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @property
    def dim(self):
        return len(self.mean)

    def scores(self, draws):
        """(estimate - truth) / error of means, variances and of both tails, (4, dim)."""
        functions = [
            (draws, self.mean),
            ((draws - self.mean) ** 2, self.variance),
            ((draws < self.low).astype(float), np.full(self.dim, 0.1)),
            ((draws > self.high).astype(float), np.full(self.dim, 0.1)),
        ]
        scores = np.empty((len(functions), self.dim))
        for row, (values, truth) in zip(scores, functions, strict=True):
            for j in range(self.dim):
                error = values[..., j].std() / np.sqrt(float(arviz_stats.ess(values[..., j])))
                row[j] = (values[..., j].mean() - truth[j]) / error
        return scores


class Quadrature(Marginals):
    """Those of a log density of a few coordinates."""

    def __init__(self, log_density, start):
        centre, root = self._where(log_density, start)
        self.mean, self.variance, self.low, self.high = np.empty((4, len(start)))
        for j in range(self.dim):
            reach = REACH
            while not self._marginal(log_density, centre, root @ root.T, j, reach):
                reach *= 1.5
                assert reach < 100, "the tails do not end"

    @staticmethod
    def _where(log_density, start):
        """Mode and widths, in which the grid is laid: any would do that are about right."""

        def energy(point):
            value = float(log_density(point[None])[0])
            return -value if np.isfinite(value) else 1e300

        found = minimize(energy, start, method="Nelder-Mead", options={"xatol": 1e-6, "fatol": 1e-9, "maxiter": 5000})
        centre, d = found.x, len(start)
        step = np.full(d, 1e-3)
        for _ in range(3):
            hessian = np.empty((d, d))
            for a in range(d):
                for b in range(d):
                    corners = [
                        energy(centre + s * step * np.eye(d)[a] + t * step * np.eye(d)[b]) * s * t
                        for s in (-1, 1)
                        for t in (-1, 1)
                    ]
                    hessian[a, b] = sum(corners) / (4 * step[a] * step[b])
            covariance = np.linalg.inv(hessian)
            step = 0.3 * np.sqrt(np.diag(covariance))
        return centre, np.linalg.cholesky(covariance)

    def _marginal(self, log_density, centre, covariance, j, reach):
        """The grid's first axis is coordinate ``j`` alone, so that sums over the others are its marginal density.

        False where the grid is too small.
        """
        order = [j, *(k for k in range(self.dim) if k != j)]
        root = np.linalg.cholesky(covariance[np.ix_(order, order)])
        n = int(POINTS[self.dim] * reach / REACH)
        axis = np.linspace(-reach, reach, n)
        z = np.stack(np.meshgrid(*[axis] * self.dim, indexing="ij"), axis=-1).reshape(-1, self.dim)
        points = np.empty_like(z)
        points[:, order] = centre[order] + z @ root.T
        value = np.concatenate([log_density(part) for part in np.array_split(points, max(1, len(points) // 5000))])
        weight = np.exp(value - value.max()).reshape(n, -1)
        if max(self._edges(weight.reshape((n,) * self.dim))) > 1e-5 * weight.sum():
            return False
        x, marginal = centre[j] + root[0, 0] * axis, weight.sum(axis=1)
        self.mean[j] = marginal @ x / marginal.sum()
        self.variance[j] = marginal @ (x - self.mean[j]) ** 2 / marginal.sum()
        fine = np.linspace(x[0], x[-1], 20_001)
        curve = CubicSpline(x, np.log(np.maximum(marginal, 1e-30 * marginal.max())))  # smoother than the density
        total = np.cumsum(np.exp(curve(fine) - curve(fine).max()))
        self.low[j], self.high[j] = np.interp([0.1, 0.9], total / total[-1], fine)
        return True

    @staticmethod
    def _edges(weight):
        return [float(np.take(weight, [0, -1], axis=axis).sum()) for axis in range(weight.ndim)]


# -------------------------------------------------------------------------------------------------------- the file


def made(ready: Ready, *, jacobian: bool = True) -> Marginals:
    return Quadrature(lambda points: ready.log_density(points, jacobian=jacobian), ready.start)


def kept_marginals(name: str, ready: Ready, *, jacobian: bool = True) -> Marginals:
    """From the file where it has them of these data and this density, else made."""
    if not is_that_of(name, ready, jacobian=jacobian):
        return made(ready, jacobian=jacobian)
    kept = read()[_key(name, jacobian)]
    return Marginals(*(np.array(kept[numbers]) for numbers in ("mean", "variance", "low", "high")))


def is_that_of(name: str, ready: Ready, *, jacobian: bool = True) -> bool:
    """Whether the numbers in the file are those of this density."""
    kept, here = read().get(_key(name, jacobian)), _values(ready, jacobian)
    return kept is not None and len(kept["values"]) == len(here) and np.allclose(kept["values"], here, rtol=1e-6)


@cache
def read() -> dict[str, dict[str, list[float]]]:
    return json.loads(FILE.read_text())


def _values(ready: Ready, jacobian: bool) -> np.ndarray:
    """The log density at a few points, which tell one model from another."""
    points = ready.start + 0.2 * np.random.default_rng(0).standard_normal((3, ready.dim))
    return ready.log_density(points, jacobian=jacobian)


def _key(name: str, jacobian: bool) -> str:
    return name if jacobian else f"{name}, Jacobian left out"


def main() -> None:
    found = {}
    for name, jacobian in [*((name, True) for name in MODELS), *((name, False) for name in JACOBIAN_LEFT_OUT)]:
        ready = Ready(MODELS[name], 0)
        numbers = made(ready, jacobian=jacobian)
        found[_key(name, jacobian)] = {
            "values": _values(ready, jacobian).tolist(),
            **{key: getattr(numbers, key).round(9).tolist() for key in ("mean", "variance", "low", "high")},
        }
    FILE.write_text(json.dumps(found, indent=0) + "\n")


if __name__ == "__main__":
    main()
