"""Levels with few rows (thin) or with one class (pure), sampled as groups (spec 5s).

A column of zeros and ones whose rows are few, or all of one class, has an uncertain coefficient, which is far
from normal. In a joint Laplace step every row of the level must be bounded over ten units of its predictor. Taken as a
group with a known prior, the level's own displacement counts exactly, and the other columns by fewer directions; it is
decided on its own rows. Levels that no row shares make one factor; its reference is a group without effects.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ..capabilities import Separable, offers
from ..laplace.gaussian import LaplaceGaussian, gaussian_at_mode
from ..priors.laws import FLAT, NORMAL, Laws, ReadyIndependent, ready
from ..rows.source import Rows
from ..targets.expansion.taylor import TaylorTarget
from ..targets.glm import GLM
from ..targets.observations.observed import InMemory
from ..targets.regression import ResultsOfRegression, plain_rows_in_memory
from .grouping import Grouping
from .model import MixedModel
from .sums import Point

_THIN = 0.1  # posterior standard deviation of a coefficient, above which its level is thin
_MOST_FACTORS = 6
_MOST_LEFT = 10  # thin levels of further factors
_NO_PRIOR = 1e-12  # precision, in the place of a flat prior's zero


class Costly(NamedTuple):
    """Levels with few rows, which cost most, and all columns of zeros and ones.

    ``shares`` are the shares of these levels in the sum of all bounds, the largest share first.
    """

    columns: np.ndarray
    shares: np.ndarray
    binary: np.ndarray


_AT_ONCE = 64  # columns whose values are looked at


def _perhaps_binary(target: GLM) -> np.ndarray:
    """Parameters whose columns may be of zeros and ones, both of which occur: squares add up to what numbers do."""

    def terms(rows: Rows) -> tuple[np.ndarray, np.ndarray]:
        return rows.X.column_squares(), rows.X.rmatvec(np.ones(len(rows.y)))

    squares, sums = target.observations.sums(terms)
    return np.flatnonzero((squares == sums) & (sums > 0) & (sums < target.n_rows))


def _binary(target: GLM, columns: np.ndarray) -> np.ndarray:
    """Those of the columns that have no values but zeros and ones."""

    def terms(rows: Rows) -> tuple[np.ndarray]:
        others = np.zeros(len(columns))
        for start in range(0, len(columns), _AT_ONCE):
            some = columns[start : start + _AT_ONCE]
            chosen = np.zeros((target.dim, len(some)))
            chosen[some, np.arange(len(some))] = 1.0
            values = rows.X.matmat(chosen)
            others[start : start + len(some)] = ((values != 0.0) & (values != 1.0)).sum(axis=0)
        return (others,)

    return columns[target.observations.sums(terms)[0] == 0] if columns.size else columns


def costly_levels(target: Any, expanded: TaylorTarget) -> Costly:
    """Return the levels whose coefficients are uncertain, with their shares of ``C``."""
    width = np.linalg.norm(expanded.metric.factor, axis=1)
    binary = _perhaps_binary(target)
    if (width[binary] > _THIN).any():
        binary = _binary(target, binary)
    if not (width[binary] > _THIN).any():
        return Costly(np.zeros(0, int), np.zeros(0), binary)
    c = expanded.c

    def terms(rows: Rows) -> tuple[np.ndarray]:
        which = slice(rows.start, rows.start + len(rows.y))
        return (rows.X.rmatvec(c[which])[binary],)

    shares = target.observations.sums(terms)[0] / max(expanded.total_bound, 1e-300)
    order = np.argsort(-shares)
    kept = order[width[binary][order] > _THIN]
    return Costly(binary[kept], shares[kept], binary)


def _factors(target: GLM, costly: np.ndarray, binary: np.ndarray) -> list[list[int]]:
    """Neighbouring columns of which no row has two, as the levels of a category lie; those with a thin one among them.

    The most costly factor comes first.
    """
    chosen = np.zeros((target.dim, len(binary)))
    chosen[binary, np.arange(len(binary))] = 1.0

    def terms(rows: Rows) -> tuple[np.ndarray]:
        D = rows.X.matmat(chosen)
        return (D.T @ D,)

    together = target.observations.sums(terms)[0] > 0
    runs: list[list[int]] = []
    for k, column in enumerate(binary):
        last = runs[-1] if runs else []
        if last and binary[last[-1]] == column - 1 and not together[k, last].any():
            last.append(k)
        else:
            runs.append([k])
    place = {int(column): rank for rank, column in enumerate(costly)}
    named = [[int(binary[k]) for k in members] for members in runs]
    thin = [members for members in named if any(column in place for column in members)]
    return sorted(thin, key=lambda members: min(place.get(column, len(place)) for column in members))


def _grouping(target: GLM, members: list[int], laws: Laws, name: str) -> Grouping:
    """One factor: level 0 has no effects."""
    place = np.zeros((target.dim, 1))
    place[members, 0] = np.arange(1, len(members) + 1)
    codes = np.concatenate(
        [np.rint(block).astype(np.int64) for block in target.observations.map(lambda rows: rows.X.matmat(place)[:, 0])]
    )
    Z = (codes > 0).astype(np.float64)[:, None]
    precision = np.where(laws.kind[members] == FLAT, _NO_PRIOR, laws.scale[members] ** -2.0)
    pinned = np.zeros(len(members) + 1, bool)
    pinned[0] = True
    levels = ["", *(target.names[j] for j in members)]
    return Grouping(name, codes, levels, Z, [""], None, 1.0, np.array([[precision[0]]]), pinned)


class LeveledRegression(ResultsOfRegression, MixedModel):
    """A regression in which some columns of levels are sampled as groups. The results are those of the regression."""

    def __init__(self, target: GLM, factors: list[list[int]]):
        prior = target._prior
        assert isinstance(prior, ReadyIndependent)
        grouped = [j for members in factors for j in members]
        kept = np.ones(target.dim, bool)
        kept[grouped] = False
        base = target.on_columns(kept)._with(_prior=ready(Laws(*(array[kept] for array in prior.laws))))
        groupings = [_grouping(target, members, prior.laws, f"levels{k}") for k, members in enumerate(factors)]
        self._set_up(base, groupings, None)
        mode = target.modes[0].point
        effects = [np.concatenate([[0.0], mode[members]])[:, None] for members in factors]
        self._settle(
            regression=target,
            factor_columns=factors,
            kept=np.flatnonzero(kept),
            user_family=target.user_family,
            search_start=Point(mode[kept], effects),
            learned=None,  # levels are few
        )

    factor_columns: list[list[int]]
    kept: np.ndarray

    def to_user(self, points: np.ndarray) -> np.ndarray:
        theta = np.empty((*points.shape[:-1], self.regression.dim))
        theta[..., self.kept] = points[..., : self.p]
        at = self.p
        for members in self.factor_columns:
            theta[..., members] = points[..., at + 1 : at + 1 + len(members)]
            at += 1 + len(members)
        return self.regression.to_user(theta)

    def to_user_in_place(self, points: np.ndarray) -> np.ndarray:
        return self.to_user(points)

    def state_at(self, theta: np.ndarray) -> np.ndarray:
        """Return the state for a point of the regression's parameters. A state is returned as it is."""
        if theta.size != self.regression.dim:
            return theta.copy()
        parts = [theta[self.kept]]
        for members in self.factor_columns:
            parts += [np.zeros(1), theta[members]]
        return np.concatenate(parts)

    def laplace_gaussian(self) -> tuple[LaplaceGaussian | None, Any]:
        """Return the Laplace approximation of the regression."""
        return gaussian_at_mode(self.regression.modes), self.regression


def may_have_groups(target: Any) -> bool:
    """Return True if columns can be sampled as groups.

    This needs rows in memory with one predictor, no unknown parameters beside the coefficients, and independent priors.
    """
    plain = offers(target, Separable) and plain_rows_in_memory(target)
    as_given = plain and isinstance(target.observations, InMemory)  # else responses are turned, block by block
    return as_given and isinstance(target._prior, ReadyIndependent)


def as_groups(target: Any, costly: Costly) -> LeveledRegression | None:
    """Return the regression with its costly levels as groups.

    The result is None if there are no such levels, or if their priors do not allow this.
    """
    laws = target._prior.laws
    simple = (laws.kind <= NORMAL) & ((laws.mean == 0) | (laws.kind == FLAT))
    columns, others = costly.columns[simple[costly.columns]], costly.binary[simple[costly.binary]]
    if not columns.size:
        return None
    factors = []
    for members in _factors(target, columns, others):  # one scale of the prior for all levels of a factor
        scales = np.where(laws.kind[members] == FLAT, np.inf, laws.scale[members])
        for scale in np.unique(scales):
            of_scale = [j for j, s in zip(members, scales, strict=True) if s == scale]
            factors.append(of_scale)
    if sum(map(len, factors)) == target.dim:  # something must be common to all
        return None
    left = np.isin(columns, [j for members in factors[_MOST_FACTORS:] for j in members])
    if left.sum() > _MOST_LEFT:  # thin levels among what is common make every decision as costly as before
        return None
    return LeveledRegression(target, factors[:_MOST_FACTORS])
