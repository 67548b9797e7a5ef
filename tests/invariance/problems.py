"""Posteriors to be left as they are: a family, its rows, and what its coefficients belong to (columns, groups, levels).

A point is a vector of the parameters as a user knows them, in the order of the result's variables.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from families import COLUMN, FAMILIES, N_ROWS, OFFSET, RESPONSES, WEIGHTS, Family, log_normal
from scipy import special, stats

import tunamh
from tunamh import GroupEffects, priors
from tunamh.extend import Rows
from tunamh.formula.splines import raw_columns
from tunamh.priors.mixtures import MixturePrior, by_shares
from tunamh.priors.smooths import WithSmooths
from tunamh.targets.designs import DenseDesign
from tunamh.targets.designs.base import NamedDesign
from tunamh.targets.designs.curved import CurvedDesign
from tunamh.targets.designs.curves import Curve

CODES = np.array([0, 0, 0, 0, 1, 2, 2, 1, 2, 1, 2, 1])  # lumps at both ends, low responses, high ones
OTHERS = np.array([0, 1, 1, 0, 1, 0, 1, 0, 0, 1, 0, 1])
NESTED = np.array([0, 0, 1, 1, 2, 4, 4, 2, 4, 3, 5, 3])  # in CODES
LEVELS = np.array([0, 1, 0, 0, 2, 0, 0, 1, 0, 2, 0, 0])
KINSHIP = np.array([[1.0, 0.6, -0.2], [0.6, 1.5, 0.3], [-0.2, 0.3, 0.7]])
KNOWN = 2.0
GROUP_SCALE, GROUP_SCALE_AT = log_normal(0.2, 0.8)


@dataclass(frozen=True)
class Structure:
    """``factors``: codes, columns per group, whether the scale is known. ``levels``: a column of levels as groups.

    ``related``: of every factor whether its levels have the covariance `KINSHIP`.
    ``further``: of every factor whether it is in the predictor that describes a further parameter.
    """

    factors: tuple[tuple[np.ndarray, int, bool], ...] = ()
    df: float = 0.0  # of Student-t effects; 0: normal
    related: tuple[bool, ...] = ()
    further: tuple[bool, ...] = ()
    levels: bool = False
    beside: tuple[str, ...] = ()  # of weights, offset, temper
    prior: str = "normal"  # of PRIORS
    gathered: bool = False  # no row is kept in memory
    growing: bool = False  # some rows came later, and others went
    splines: bool = False  # rows have numbers on curves, in the place of these curves' columns
    curved: bool = False  # the slope of a further predictor has a scale of its own, as a curve's wiggles have


@dataclass(frozen=True)
class PriorOf:
    """Of ``d`` coefficients, as a function of standard normals: they, and what is kept of their prior's scales."""

    prior: Callable[[float], Any]
    more: Callable[[int], int]  # further numbers
    at: Callable[[np.ndarray, np.ndarray, float], tuple[np.ndarray, np.ndarray]]


def _half_cauchy(z: np.ndarray) -> np.ndarray:
    return np.tan(0.5 * np.pi * special.ndtr(z))


def _horseshoe_at(z: np.ndarray, more: np.ndarray, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """Local scales and the global one."""
    scales = _half_cauchy(more)
    scales[:, -1] *= 0.5
    return scales[:, :-1] * scales[:, -1:] * z, scales


def _grouped_at(z: np.ndarray, more: np.ndarray, spread: float) -> tuple[np.ndarray, np.ndarray]:
    scales = _half_cauchy(more)
    return scales * z, scales


class Shares(MixturePrior):
    """Two scales; precisions are sums of shares of one over their squares, as surfaces have them."""

    @staticmethod
    def share(dim: int) -> np.ndarray:
        return np.resize([[1.0, 0.4], [0.0, 2.0]], (dim, 2))

    def kernel(self, dim: int, names: Sequence[str]) -> tuple:
        return by_shares(self.share(dim), ("a", "b"), (tunamh.HalfCauchy(1.0),) * 2, "prior_scale")

    def width(self, dim: int) -> np.ndarray:
        return np.full(dim, 10.0)


def _by_shares_at(z: np.ndarray, more: np.ndarray, spread: float) -> tuple[np.ndarray, np.ndarray]:
    scales = _half_cauchy(more)
    return z / np.sqrt(scales**-2.0 @ Shares.share(z.shape[1]).T), scales


def _two_scales_at(z: np.ndarray, more: np.ndarray, spread: float) -> tuple[np.ndarray, np.ndarray]:
    """One of the intercept, one of the slope."""
    scales = _half_cauchy(more)
    return scales * z, scales


PRIORS: dict[str, PriorOf] = {
    "normal": PriorOf(lambda spread: tunamh.Normal(scale=spread), lambda d: 0, lambda z, more, s: (s * z, more)),
    "Student-t": PriorOf(
        lambda spread: priors.StudentT(df=2.0, scale=0.5),
        lambda d: 0,
        lambda z, more, s: (0.5 * stats.t(2.0).ppf(special.ndtr(z)), more),
    ),
    "Laplace": PriorOf(
        lambda spread: priors.Laplace(scale=0.5),
        lambda d: 0,
        lambda z, more, s: (stats.laplace(scale=0.5).ppf(special.ndtr(z)), more),
    ),
    "horseshoe": PriorOf(lambda spread: priors.Horseshoe(0.5), lambda d: d + 1, _horseshoe_at),
    "shares": PriorOf(lambda spread: Shares(), lambda d: 2, _by_shares_at),
    "grouped": PriorOf(lambda spread: priors.Grouped(scale=tunamh.HalfCauchy(1.0)), lambda d: 1, _grouped_at),
    "two scales": PriorOf(
        lambda spread: priors.Grouped(("intercept", "slope"), tunamh.HalfCauchy(1.0)), lambda d: 2, _two_scales_at
    ),
}


CURVE_SCALE = 0.5
"""Of the half-Student-t law, 3 degrees of freedom, of the scale of a further predictor's slope."""


def _curve_at(z: np.ndarray, more: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Intercept and slope of a further predictor, and the slope's scale."""
    scale = CURVE_SCALE * stats.t(3).isf(0.5 * special.ndtr(-more))
    return np.column_stack([0.6 * z[:, :1], scale * z[:, 1:]]), scale


def further_columns() -> NamedDesign:
    """Of a further predictor: ones, and a column whose coefficient has an unknown scale."""
    share, law = np.array([[0.0], [1.0]]), tunamh.HalfStudentT(3, CURVE_SCALE)
    prior = WithSmooths(tunamh.Normal(scale=0.6), share, ("further",), (law,))
    return NamedDesign(DenseDesign(np.column_stack([np.ones(N_ROWS), COLUMN])), ["Intercept", "x"], prior)


PLACES, AROUND = np.linspace(0.0, 2.0, N_ROWS), np.linspace(0.0, 4.0, N_ROWS)[::-1]
"""Of every row, where it lies on a curve of five splines, and on a cyclic one of four."""
PLAIN, CYCLIC = np.array([[1.0], [0.2], [-1.5], [0.5], [1.0]]), np.array([[1.2], [-0.8], [0.5], [-1.0]])
"""A coefficient of each is multiplied by these coefficients of splines."""


def curves_and_columns(X: np.ndarray) -> tuple[NamedDesign, np.ndarray]:
    """Columns with a curve, and with a cyclic one for each level that a number multiplies; and as a matrix."""
    first, dim = X.shape[1], X.shape[1] + 3
    curves = (Curve(first, PLAIN), Curve(first + 1, CYCLIC, cyclic=True, levels=2, multiplied=True))
    numbers = np.column_stack([PLACES, AROUND, OTHERS, COLUMN + 1.5])
    design = CurvedDesign(X, np.empty((N_ROWS, 0), np.int32), None, dim, curves, numbers)
    plain = raw_columns("splines", PLACES, 0.0, 2.0, 5) @ PLAIN
    around = raw_columns("cyclic", AROUND, 0.0, 4.0, 4) @ CYCLIC * (COLUMN[:, None] + 1.5)
    matrix = np.column_stack([X, plain, around * (OTHERS[:, None] == [0, 1])])
    return NamedDesign(design, [str(j) for j in range(dim)]), matrix


def _to_student_t(z: np.ndarray, df: float) -> np.ndarray:
    """What makes standard normals multivariate Student-t: their direction stays, ``|t|^2 / q ~ F(q, df)``."""
    q, squares = z.shape[-1], np.square(z).sum(axis=-1, keepdims=True)
    return np.sqrt(q * stats.f(q, df).isf(stats.chi2(q).sf(squares)) / squares)


STRUCTURES = {
    "columns": Structure(),
    "weights, offset, temper": Structure(beside=("weights", "offset", "temper")),
    "curves": Structure(splines=True),
    "rows that are gathered": Structure(gathered=True),
    "horseshoe": Structure(prior="horseshoe"),
    "grouped prior": Structure(prior="grouped"),
    "Student-t prior": Structure(prior="Student-t"),
    "Laplace prior": Structure(prior="Laplace"),
    "levels": Structure(levels=True),
    "groups": Structure(((CODES, 1, False),)),
    "groups, curves": Structure(((CODES, 1, False),), splines=True),
    "groups, known scale": Structure(((CODES, 1, True),)),
    "one row per group, known scale": Structure(((np.arange(N_ROWS), 1, True),)),
    "groups, weights, offset": Structure(((CODES, 1, False),), beside=("weights", "offset")),
    "slopes": Structure(((CODES, 2, False),)),
    "slopes, known scales": Structure(((CODES, 2, True),)),
    "Student-t effects": Structure(((CODES, 1, False),), df=3.0),
    "Student-t effects, known scale": Structure(((CODES, 1, True),), df=3.0),
    "Student-t slopes": Structure(((CODES, 2, False),), df=3.0),
    "nested Student-t effects": Structure(((NESTED, 1, False), (CODES, 1, False)), df=3.0),
    "crossed Student-t effects": Structure(((CODES, 2, False), (OTHERS, 1, False)), df=3.0),
    "related levels": Structure(((CODES, 1, False),), related=(True,)),
    "related levels, known scale": Structure(((CODES, 1, True),), related=(True,)),
    "related levels, crossed": Structure(((CODES, 1, False), (OTHERS, 1, False)), related=(True, False)),
    "related and other effects": Structure(((CODES, 1, False), (CODES, 1, False)), related=(True, False)),
    "crossed": Structure(((CODES, 1, False), (OTHERS, 1, False))),
    "nested": Structure(((NESTED, 1, False), (CODES, 1, False))),
    "groups in two predictors": Structure(((NESTED, 1, False), (CODES, 1, False)), further=(False, True)),
    "slopes in a further predictor": Structure(((CODES, 2, False),), further=(True,)),
    "grouped prior, two scales": Structure(prior="two scales"),
    "rows that came and went": Structure(growing=True),
    "groups, grouped prior": Structure(((CODES, 1, False),), prior="grouped"),
    "prior by shares": Structure(prior="shares"),
    "groups, prior by shares": Structure(((CODES, 1, False),), prior="shares"),
    "crossed, grouped prior": Structure(((CODES, 1, False), (OTHERS, 1, True)), prior="grouped"),
    "curves in two predictors": Structure(prior="grouped", curved=True),
    "curve in a further predictor": Structure(prior="normal", curved=True),
    "prior by shares, curve in a further predictor": Structure(prior="shares", curved=True),
    "groups, curve in a further predictor": Structure(((CODES, 1, False),), prior="normal", curved=True),
}


class OutOfMemory:
    """A source whose rows may not be held: those that a chain draws are gathered ahead of it."""

    memory, names, fingerprint = 1, None, "a few rows"

    def __init__(self, X: np.ndarray, y: np.ndarray):
        self.X, self.y, self.n_rows = X, y, len(y)

    def map(self, function: Callable[[Rows], Any]) -> Iterator[Any]:
        for start in range(0, self.n_rows, 5):
            yield function(Rows(start, self.X[start : start + 5], self.y[start : start + 5]))


@dataclass
class Problem:
    """One posterior: ``target``, draws from its prior, and the log-likelihood of its rows."""

    name: str
    where: str
    family: Family = field(init=False)
    structure: Structure = field(init=False)
    target: Any = field(init=False)

    def __post_init__(self) -> None:
        self.family, self.structure = FAMILIES[self.name], STRUCTURES[self.where]
        self.y = RESPONSES[self.family.hard]
        self.columns = 2 if self.family.intercept else 1
        self.X = np.column_stack([np.ones(N_ROWS), COLUMN])[:, -self.columns :]
        if self.structure.levels:
            dummies = (LEVELS[:, None] == [1, 2]).astype(float)
            self.X = np.column_stack([self.X, dummies])
        self.given: Any = self.X
        if self.structure.splines:
            self.given, self.X = curves_and_columns(self.X)
        self.target = self._target()

    @property
    def factors(self) -> tuple[tuple[np.ndarray, int, bool], ...]:
        """Of classes, one of every factor for each class but the reference."""
        return tuple(one for one in self.structure.factors for _ in range(max(self.family.classes, 1)))

    # ------------------------------------------------------------------------------------------------ the target

    def _target(self) -> Any:
        family, beside = self.family, self.structure.beside
        more, law = dict(family.more), family.plain if self.structure.curved else family.family
        if family.described:
            columns: Any = further_columns() if self.structure.curved else np.ones((N_ROWS, 1))
            more["predictors"] = {**more.get("predictors", {}), family.described: columns}
        if "weights" in beside:
            more["weights"] = WEIGHTS
        if "offset" in beside:
            more["offset"] = OFFSET
        prior = PRIORS[self.structure.prior].prior(self.spread)
        if self.structure.gathered:
            return tunamh.GLM(OutOfMemory(self.X, self.y), family=law, prior=prior, **more)
        if self.structure.growing:
            first = np.r_[:7, 1, 0]
            target = tunamh.GLM(self.X[first], self.y[first], law, prior=prior, **more)
            return target.with_rows(self.X[7:], self.y[7:]).without_rows([7, 8])
        if not self.factors:
            temper = 0.6 if "temper" in beside else 1.0
            return tunamh.GLM(self.given, self.y, law, prior=prior, temper=temper, **more)
        groups = []
        for k, (codes, q, known) in enumerate(self.structure.factors):
            scale: Any = KNOWN if known else GROUP_SCALE
            Z = None if q == 1 else np.column_stack([np.ones(N_ROWS), COLUMN])
            of_effects = priors.StudentT(df=self.structure.df) if self.structure.df else None
            of = family.described if k in self.further else None
            scales = [scale] * q if q > 1 else scale
            K = KINSHIP if k in self.related else None
            groups.append(
                GroupEffects(codes, Z, name=f"f{k}", scale=scales, law=of_effects, predictor=of, covariance=K)
            )
        return tunamh.MixedModel(self.given, self.y, law, groups, prior=prior, **more)

    @property
    def further(self) -> set[int]:
        """Factors in the predictor of a further parameter."""
        return {k for k, one in enumerate(self.structure.further) if one}

    @property
    def related(self) -> set[int]:
        return {k for k, one in enumerate(self.structure.related) if one}

    @property
    def spread(self) -> float:
        return self.family.spread if not self.factors else 0.7 * self.family.spread

    # ------------------------------------------------------------------------------------------------- its prior

    @cached_property
    def dim(self) -> int:
        return sum(self._sizes) + sum(self._effects)

    def points(self, xi: np.ndarray) -> np.ndarray:
        """The parameters at standard normals: coefficients, the family's own, group scales, correlations, effects."""
        beta, *unknown, rest = np.split(xi, np.cumsum(self._sizes[:-1]), axis=1)
        rest, *effects = self._of_factors(rest)
        kind = PRIORS[self.structure.prior]
        z, more = np.split(beta, [self._coefficients], axis=1)
        more, of_further = np.split(more, [kind.more(self._coefficients)], axis=1)
        beta, of_prior = kind.at(z, more, self.spread)
        own = [one.at(z) for one, z in zip(self.family.unknown, unknown, strict=True)]
        if self.structure.curved:
            own[0], of_further = _curve_at(unknown[0], of_further)
        parts = [beta, *own, of_prior, of_further]
        free = [q for _, q, known in self.factors if not known]
        scales, related = np.split(rest, [sum(free)], axis=1)
        scales, related = GROUP_SCALE_AT(scales), 2 * special.ndtr(related) - 1  # LKJ(1) of two effects
        parts += [scales, related]
        at = pair = 0
        for f, ((_, q, known), z) in enumerate(zip(self.factors, effects, strict=True)):
            v = z.reshape(len(xi), -1, q).copy()
            if f // max(self.family.classes, 1) in self.related:
                v = np.einsum("gh,nhq->ngq", np.linalg.cholesky(KINSHIP), v)
            if self.structure.df:
                v *= _to_student_t(v, self.structure.df)
            if known:
                v *= KNOWN
            else:
                if q == 2:
                    r = related[:, pair, None]
                    v[..., 1] = r * v[..., 0] + np.sqrt(1 - r * r) * v[..., 1]
                    pair += 1
                v *= scales[:, None, at : at + q]
                at += q
            parts.append(v.reshape(len(xi), -1))
        return np.concatenate(parts, axis=1)

    @cached_property
    def _sizes(self) -> list[int]:
        """Of coefficients, of every own parameter, of all scales and correlations."""
        free = sum(q + q * (q - 1) // 2 for _, q, known in self.factors if not known)
        own = [one.size for one in self.family.unknown]
        if self.structure.curved:
            own[0] = 2
        return [self._coefficients + self._of_prior, *own, free]

    @property
    def _coefficients(self) -> int:
        return max(self.family.classes, 1) * self.X.shape[1]

    def _of_factors(self, rest: np.ndarray) -> list[np.ndarray]:
        """Scales with correlations (those of a prior, where there are no groups), and the effects of every factor."""
        return np.split(rest, np.cumsum([self._sizes[-1], *self._effects]), axis=1)[:-1]

    @property
    def _of_prior(self) -> int:
        """Unknown scales of the prior."""
        return PRIORS[self.structure.prior].more(self._coefficients) + self.structure.curved

    @cached_property
    def _effects(self) -> list[int]:
        return [int(codes.max() + 1) * q for codes, q, _ in self.factors]

    # -------------------------------------------------------------------------------------------- its likelihood

    def _apart(self, k: int, value: np.ndarray) -> list[np.ndarray]:
        """A parameter of the family for all rows, or for each, or its numbers one by one."""
        if self.structure.curved and k == 0:
            return [value]
        return [value[:, j : j + 1] for j in range(value.shape[1])]

    def log_likelihood(self, points: np.ndarray) -> np.ndarray:
        """Of all rows at every point, weights and temper included."""
        beta, *unknown, rest = np.split(points, np.cumsum([self._coefficients, *self._sizes[1:-1]]), axis=1)
        effects = self._of_factors(rest[:, self._of_prior :])[1:]
        if self.family.classes:
            d = self.X.shape[1]
            etas = [beta[:, k * d : (k + 1) * d] @ self.X.T for k in range(2)]
            for f, ((codes, q, _), values) in enumerate(zip(self.factors, effects, strict=True)):
                v = values.reshape(len(points), -1, q)[:, codes]
                etas[f % 2] = etas[f % 2] + v[..., 0] + (v[..., 1] * COLUMN if q == 2 else 0.0)
            rows = self.family.rows(etas, self.y)
        else:
            eta = beta @ self.X.T + (OFFSET if "offset" in self.structure.beside else 0.0)
            if self.structure.curved:
                unknown[0] = unknown[0] @ np.vstack([np.ones(N_ROWS), COLUMN])
            given = [own for k, value in enumerate(unknown) for own in self._apart(k, value)]
            for f, ((codes, q, _), values) in enumerate(zip(self.factors, effects, strict=True)):
                v = values.reshape(len(points), -1, q)[:, codes]
                added = v[..., 0] + (v[..., 1] * COLUMN if q == 2 else 0.0)
                if f in self.further:
                    given[0] = given[0] + added
                else:
                    eta = eta + added
            rows = self.family.given_all(eta, self.y, *given)
        if "weights" in self.structure.beside:
            rows = np.where(WEIGHTS > 0, rows, 0.0) * WEIGHTS
        return rows.sum(axis=1) * (0.6 if "temper" in self.structure.beside else 1.0)
