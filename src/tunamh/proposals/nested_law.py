"""What is known in closed form of coefficients and of the scales of their prior, if rows are quadratic (spec 5u).

Let ``u`` be coefficients with the prior ``u_j ~ N(mean_j, v_g(j))``, ``a`` all other parameters (their normal priors
counted with the rows), and ``Q(a, u)`` the rows' quadratic about a centre. With ``lam = log v``, ``D = diag(v_g(j))``,

    a | u ~ N(c - W u, A^-1),    u | lam ~ N(K^-1 k, K^-1),    K = C + D^-1,
    log q(lam) = log p(lam) - log|I + D C| / 2 + k'K^-1 k / 2,

``A`` and ``B`` blocks of the Hessian, ``W = A^-1 B``, ``C`` the Schur complement of ``A``. Given the other scales, the
law of one scale costs O(m_g) a point after one eigendecomposition. So the tables of `tunamh.proposals.scale_tables`
are made: of one scale that is its law; of several scales each has a table of its marginal law, averaged over draws of
the others (Rao and Blackwell), and what the product of these tables leaves is a factor in closed form.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .._linear import scaled_eigen
from .scale_tables import tables

_SWEEPS, _SETTLING = 40, 10  # over all scales, given which the marginal laws are averaged; before these are kept
_REACH = 90.0  # of log variances about the prior's width, beyond which nothing is looked for
_CORE, _TAIL = 8.0, 20.0  # below the largest log density: where nodes lie densely, where the tables end
_MOST_GAIN = 1e9  # of the log density by large scales, along any direction: tables need finite numbers
_NODES_CORE, _NODES_TAIL = 65, 16  # in all, and in each tail
_ROUNDING = 1e-9  # of the largest curvature


class ScalePrior(NamedTuple):
    """Half-Student-t laws of scales, each with its degrees of freedom and its width."""

    df: np.ndarray
    width: np.ndarray

    def log_density(self, lam: np.ndarray, g: int) -> np.ndarray:
        """Return the log density of ``lam = log v`` with the variance ``v``.

        It is the density of the scale ``e^(lam / 2)`` times the derivative of the scale.
        """
        df, width = self.df[g], self.width[g]
        return 0.5 * lam - 0.5 * (df + 1.0) * np.logaddexp(0.0, lam - np.log(df * width**2))


def not_negative(C: np.ndarray, k: np.ndarray, about: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a quadratic ``u'Cu / 2 - k.u`` that falls without end in no direction. Proposals may use any quadratic.

    If a curvature is negative by more than rounding (for rows whose energies are not convex), curvatures of this size
    are not reliable. In their directions the slope ``s`` at ``about`` is kept, and the curvature is set to at least
    ``s^2``. So along such a direction the quadratic falls by at most 1/2. Otherwise large scales would become too
    probable.

    A curvature is small or large in units in which the diagonal is 1, because columns of large numbers have large
    curvatures.
    """
    if np.linalg.eigvalsh(C)[0] >= 0:
        return C, k
    unit, values, vectors = scaled_eigen(C)
    bent = values
    if values[0] <= -_ROUNDING * values[-1]:
        slopes = vectors.T @ ((C @ about - k) / unit)
        bent = np.where(values > -values[0], values, np.maximum(np.abs(values), slopes**2))
        k = k + unit * ((vectors * (bent - values)) @ (vectors.T @ (unit * about)))
    bent = np.maximum(bent, 1e-12 * bent[-1])
    return (vectors * bent) @ vectors.T * np.outer(unit, unit), k


class OfOne(NamedTuple):
    """``e`` and ``b^2`` of spec 5u for one scale.

    ``beside`` are the precisions that other scales give to the coefficients of this scale.
    """

    values: np.ndarray
    squares: np.ndarray
    beside: np.ndarray


class NestedLaw:
    """The law of coefficients and scales if the energy of the rows is ``Q = theta'H theta / 2 - moment.theta``.

    ``Q`` contains the fixed normal priors. ``share`` (parameters, scales): the prior precision of a parameter is the
    sum of ``share / v``. A parameter without a share has a fixed prior. ``mean`` are prior means. ``about`` is the
    point where the quadratic is most accurate.
    """

    def __init__(
        self,
        hessian: np.ndarray,
        moment: np.ndarray,
        share: np.ndarray,
        mean: np.ndarray,
        prior: ScalePrior,
        about: np.ndarray | None = None,
    ):
        scaled = (share > 0).any(axis=1)
        self.at_u, self.at_a = np.flatnonzero(scaled), np.flatnonzero(~scaled)
        self.share, self.mean, self.prior = share[self.at_u], mean[self.at_u], prior
        u, a = self.at_u, self.at_a
        moment = moment - hessian[:, u] @ self.mean
        A, B = hessian[np.ix_(a, a)], hessian[np.ix_(a, u)]
        self.root_a = np.linalg.cholesky(A) if len(a) else np.empty((0, 0))
        solved = np.linalg.solve(A, np.column_stack([B, moment[a]])) if len(a) else np.empty((0, len(u) + 1))
        self.W, self.c = solved[:, :-1], solved[:, -1]
        C = hessian[np.ix_(u, u)] - B.T @ self.W
        best = np.zeros(len(u)) if about is None else about[u] - self.mean
        self.C, self.k = not_negative(0.5 * (C + C.T), moment[u] - B.T @ self.c, best)
        self.scales = len(prior.df)
        self.lam, self.spread = np.log(prior.width**2), np.ones(self.scales)

    @property
    def together(self) -> np.ndarray:
        """Return for every scale the first scale of its set.

        Scales are in the same set if they share coefficients, directly or through other scales.
        """
        joined = (self.share.T @ self.share > 0) | np.eye(self.scales, dtype=bool)
        for _ in range(self.scales):
            joined = joined @ joined
        return np.argmax(joined, axis=1)

    # ---------------------------------------------------------------------------------------------- one scale

    def _of_one(self, g: int, lam: np.ndarray) -> OfOne:
        """What the law of scale ``g`` given the others is known by, in units of the roots of its shares."""
        own, others = self.share[:, g] > 0, self.share[:, g] == 0
        precision = np.delete(self.share, g, axis=1) @ np.exp(-np.delete(lam, g))
        C, k = self.C[np.ix_(own, own)] + np.diag(precision[own]), self.k[own]
        if others.any():
            P = self.C[np.ix_(others, others)] + np.diag(precision[others])
            across = self.C[np.ix_(others, own)]
            solved = np.linalg.solve(P, np.column_stack([across, self.k[others]]))
            C, k = C - across.T @ solved[:, :-1], k - across.T @ solved[:, -1]
        root = np.sqrt(self.share[own, g])
        values, vectors = np.linalg.eigh(C / np.outer(root, root))
        squares = np.square(vectors.T @ (k / root))
        return OfOne(np.maximum(values, squares / (2.0 * _MOST_GAIN)), squares, precision[own] / root**2)

    def _log_law(self, g: int, known: OfOne, at: np.ndarray) -> np.ndarray:
        """``log q(lam_g | the others)`` up to a constant."""
        v = np.exp(at)[:, None]
        within = 1.0 + known.values * v
        total = (known.squares * v / within - np.log(within)).sum(axis=1) + np.log1p(known.beside * v).sum(axis=1)
        return self.prior.log_density(at, g) + 0.5 * total

    def _span(self, g: int, known: OfOne, below: float) -> tuple[float, float]:
        middle = 2 * np.log(self.prior.width[g])
        grid = np.linspace(middle - _REACH, middle + _REACH, 361)
        value = self._log_law(g, known, grid)
        for _ in range(2):
            inside = np.flatnonzero(value > value.max() - below)
            low, high = grid[max(inside[0] - 1, 0)], grid[min(inside[-1] + 1, len(grid) - 1)]
            grid = np.linspace(low, high, 129)
            value = self._log_law(g, known, grid)
        inside = np.flatnonzero(value > value.max() - below)
        return float(grid[max(inside[0] - 1, 0)]), float(grid[min(inside[-1] + 1, 128)])

    def _drawn(self, rng: np.random.Generator, g: int, known: OfOne) -> float:
        grid = np.linspace(*self._span(g, known, _CORE), 200)
        value = self._log_law(g, known, grid)
        mass = np.cumsum(np.exp(value - value.max()))
        return float(np.interp(rng.random() * mass[-1], mass, grid))

    # ------------------------------------------------------------------------------------------------ the tables

    def tables(self) -> dict[str, np.ndarray]:
        """Return the fields of `scale_tables.TABLES`.

        Afterwards ``lam`` and ``spread`` are means and standard deviations of the log variances.
        """
        rng, lam = np.random.default_rng(0), self.lam.copy()
        known: list[list[OfOne]] = [[] for _ in range(self.scales)]
        kept = np.zeros(self.scales)
        for sweep in range(1 if self.scales == 1 else _SWEEPS):
            for g in range(self.scales):
                one = self._of_one(g, lam)
                lam[g] = self._drawn(rng, g, one)
                if sweep >= _SETTLING or self.scales == 1:
                    known[g].append(one)
        nodes, values = zip(*(self._marginal(g, known[g]) for g in range(self.scales)), strict=True)
        for g in range(self.scales):
            weight = np.exp(values[g] - values[g].max()) * np.gradient(nodes[g])
            kept[g] = weight @ nodes[g] / weight.sum()
            self.spread[g] = np.sqrt(weight @ (nodes[g] - kept[g]) ** 2 / weight.sum())
        self.lam = kept
        return tables(np.array(nodes), np.array(values))

    def _marginal(self, g: int, known: list[OfOne]) -> tuple[np.ndarray, np.ndarray]:
        spans = np.array([[self._span(g, one, below) for below in (_CORE, _TAIL)] for one in known])
        low, high = spans[:, :, 0].min(axis=0), spans[:, :, 1].max(axis=0)
        low[1], high[1] = min(low[1], low[0] - 2.0), max(high[1], high[0] + 2.0)
        core = np.linspace(low[0], high[0], _NODES_CORE)
        left = np.linspace(low[1], low[0], _NODES_TAIL, endpoint=False)
        right = np.linspace(high[1], high[0], _NODES_TAIL, endpoint=False)[::-1]
        at = np.concatenate([left, core, right])
        logs = np.array([self._log_law(g, one, at) for one in known])
        weight = np.gradient(at)
        logs -= logs.max(axis=1)[:, None]
        logs -= np.log(np.exp(logs) @ weight)[:, None]
        return at, np.logaddexp.reduce(logs, axis=0) - np.log(len(logs))

    def centre(self) -> np.ndarray:
        """Return the mean of all parameters at the log variances ``lam``."""
        u = np.linalg.solve(self.C + np.diag(self.share @ np.exp(-self.lam)), self.k)
        found = np.empty(len(self.at_u) + len(self.at_a))
        found[self.at_u], found[self.at_a] = u + self.mean, self.c - self.W @ u
        return found
