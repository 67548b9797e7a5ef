"""How rows see common parameters and effects: through one linear predictor, or several (spec 5q).

Predictor ``k`` of a row is ``x_k.common + sum_f s_fk z_f.v_f``. The effects of a factor enter where the coefficients do
(``s_fk`` is 1), and not where all rows share a number, such as the log dispersion of negative binomial counts (``s_fk``
is 0). Where every predictor has coefficients of its own (classes without an order), a factor enters one predictor, and
``s_f`` is a unit vector. Everything a sweep knows in closed form are sums of derivatives along the ``s_f``.

Packed rows (`with_groups`) have a position in the vector of parameters for every effect that they have.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import NotApplicable
from ..rows.source import Rows
from ..targets.designs import IndexedDesign
from ..targets.designs.base import Design
from ..targets.designs.curved import layout_of
from ..targets.designs.dense import DenseBlock
from ..targets.designs.indexed import NOWHERE, IndexedBlock
from ..targets.designs.multi_predictor import MultiPredictorBlock, MultiPredictorLayout, Term
from ..targets.designs.with_offset import BlockWithOffset, DesignWithOffset
from ..targets.expansion.one_predictor import OnePredictor
from ..targets.families.multi_predictor import MultiPredictorLikelihood
from ..targets.glm import GLM
from ..targets.observations.observed import TransformedRows
from ..targets.regression import Regression
from .grouping import Grouping

_STEP = 1e-3  # of differences that give fourth derivatives
_SHORTEST = 1e-60  # a radius whose cube is still a number


class Along(NamedTuple):
    """Weighted derivatives of the energies of some rows along the effects of one factor."""

    first: np.ndarray  # (n,): s.f'
    second: np.ndarray  # (n,): s'f''s
    mixed: np.ndarray  # (n, p): s'f'' x


class Sums(NamedTuple):
    """Weighted derivatives of some rows: in the common parameters, and along the effects of every factor."""

    energy: float
    gradient: np.ndarray  # (p,)
    hessian: np.ndarray  # (p, p)
    along: list[Along]


class Predictors:
    """The K predictors of the rows of a regression. Arrays of predictors are (K, n), and columns are (K, n, p)."""

    def __init__(self, base: Regression, groupings: list[Grouping]):
        self.base, self.family, self.terms = base, base.family, base.terms
        self.one = isinstance(base.terms, OnePredictor)
        self.directions = [self._direction(one) for one in groupings]
        """``s_f`` of every factor."""
        design: Any = base.observations.design
        self.shared = np.zeros(base.dim, bool) if self.one else design.shared(base.dim)
        """Which common parameters are no coefficients, but numbers that all rows share, or those of other columns."""
        self.convex = base.family.convex
        self.described = not self.one and design.has_further_columns
        """Whether a further predictor has columns of its own."""
        self.curve = bool(base.user_family.named_predictors)  # type: ignore[attr-defined]
        """Whether rows are those of a curve, whose predictors have much to do with each other."""

    def _direction(self, one: Grouping) -> np.ndarray:
        if one.predictor is not None:
            return np.eye(self.family.predictors)[one.predictor]
        return np.ones(1) if self.one else _by_effects(self.base)

    def of(self, rows: Rows, common: np.ndarray) -> np.ndarray:
        """Return the predictors of rows without group effects."""
        eta = np.array(rows.X.matvec(common))
        return eta[None, :] if self.one else eta

    def columns(self, rows: Rows) -> np.ndarray:
        X = np.ascontiguousarray(rows.X.dense(), dtype=np.float64)
        return X[None, :, :] if self.one else X

    def energies(self, eta: np.ndarray, y: np.ndarray) -> np.ndarray:
        return self.terms.energies(eta[0] if self.one else eta, y)

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the gradient (K, n), the Hessian (K, K, n) and the third derivatives (K, K, K, n)."""
        if not self.one:
            return self.family.derivatives(eta, y)
        first, second, third = self.family.derivatives(eta[0], y)
        return first[None, :], second[None, None, :], third[None, None, None, :]

    def second(self, eta: np.ndarray, y: np.ndarray, f: int, k: int) -> np.ndarray:
        """Return ``s_f' f'' s_k``: second derivatives along the effects of two factors."""
        return np.einsum("a,b,abn->n", self.directions[f], self.directions[k], self.derivatives(eta, y)[1])

    def _each(self, function: Callable[[np.ndarray], Any]) -> list[Any]:
        """Of every factor what a function says of its direction, which is asked once for each direction."""
        known: dict[bytes, Any] = {}
        for s in self.directions:
            if s.tobytes() not in known:
                known[s.tobytes()] = function(s)
        return [known[s.tobytes()] for s in self.directions]

    def sums(self, rows: Rows, eta: np.ndarray, weight: np.ndarray, *, convex: bool = False) -> Sums:
        """Return the sums of some rows.

        With ``convex``, the positive part of every row's Hessian replaces the Hessian.
        """
        gradient, hessian, _ = self.derivatives(eta, rows.y)
        hessian = self._convex_part(gradient, hessian) if convex else hessian
        gradient, hessian = weight * gradient, weight * hessian
        X = self.columns(rows)
        energy = float(weight @ self.energies(eta, rows.y))
        common_hessian = sum(
            a.T @ (h[:, None] * b) for a, line in zip(X, hessian, strict=True) for b, h in zip(X, line, strict=True)
        )
        common_gradient = sum(a.T @ g for a, g in zip(X, gradient, strict=True))

        def of(s: np.ndarray) -> Along:
            along = np.einsum("a,abn->bn", s, hessian)
            mixed = sum(h[:, None] * a for a, h in zip(X, along, strict=True))
            return Along(s @ gradient, s @ along, np.ascontiguousarray(mixed))

        return Sums(energy, common_gradient, np.asarray(common_hessian), self._each(of))

    def _convex_part(self, gradient: np.ndarray, hessian: np.ndarray) -> np.ndarray:
        """Of a mean and a parameter with columns of its own, that of each predictor alone, at least ``f'^2 / 8``.

        Of normal errors it is their curvature: the mean and the scale have nothing to do with each other on average,
        and the Hessian of a row is indefinite everywhere. Rows close to their mean have hardly any curvature in the log
        scale, and a slope of 1: without the least one, a step from a scale that is much too large has no end.
        """
        if not self.described:
            return positive_part(hessian)
        least = np.square(gradient) / 8.0
        return np.eye(len(hessian))[:, :, None] * np.maximum(hessian, least)

    def own(self, one: Grouping) -> np.ndarray:
        """Return a mask of the common parameters in a factor's predictor.

        They are the coefficients, or those of the columns of its parameter.
        """
        if one.parameter is None:
            return ~self.shared
        design: Any = self.base.observations.design
        found = np.zeros(self.base.dim, bool)
        for term in design.terms:
            if term.predictor == one.predictor:
                size = 1 if design.blocks[term.block] is None else design.blocks[term.block][1]
                found[term.start : term.start + size] = True
        return found

    def slopes(self, rows: Rows, eta: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, list[np.ndarray]]:
        """Return the gradient (p,) in the common parameters, and ``s.f'`` (n,) of every factor, as in `sums`."""
        gradient = weight * self.derivatives(eta, rows.y)[0]
        common = sum(a.T @ g for a, g in zip(self.columns(rows), gradient, strict=True))
        return np.asarray(common), self._each(lambda s: s @ gradient)

    def thirds(
        self, rows: Rows, eta: np.ndarray, weight: np.ndarray, f: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return derivatives along the effects of a factor.

        They are third derivatives (n), third derivatives with the common columns (n, p), and fourth derivatives (n).
        """
        s = self.directions[f]
        twice = np.einsum("a,b,abcn->cn", s, s, weight * self.derivatives(eta, rows.y)[2])
        move = np.zeros((len(eta), 1))
        move[: len(s), 0] = _STEP * s
        beside = [self.derivatives(eta + sign * move, rows.y)[2] for sign in (1, -1)]
        fourth = weight * np.einsum("a,b,c,abcn->n", s, s, s, beside[0] - beside[1]) / (2 * _STEP)
        mixed = sum(t[:, None] * a for a, t in zip(self.columns(rows), twice, strict=True))
        return s @ twice, np.ascontiguousarray(mixed), fourth

    # ----------------------------------------------------------------------------------------------- bounds of rows

    def everywhere(self, y: np.ndarray) -> np.ndarray:
        """Return bounds of third derivatives that hold everywhere; infinite if none is known."""
        return np.asarray(self.family.suprema(y)[2]) if self.one else np.full(len(y), np.inf)

    def constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Return ``L`` with ``|f'''[d, d, e]| <= L |d|^2 |e|``, valid while predictors move by at most ``|d| <=
        radius``.

        The length comes from an inner product. So the argument for one predictor in `bound_of_cell` is valid for
        several. Other units for numbers that all rows share were tried: more rows were read, or at best a fifth fewer.
        """
        if self.one:
            return second_order_constants(self.family, y, eta[0], radius)
        longest = np.maximum(radius, _SHORTEST)
        white = np.eye(self.family.predictors)[:, None, :] * longest[None, :, None]
        return self.family.cubic_bounds(y, eta, white, 1.0) / longest**3

    @property
    def knows_third_order(self) -> bool:
        """Return True if the family has constants of the third order."""
        return self.one and self.family.third_order_constants is not None

    def third_order(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        return np.asarray(self.family.third_order_constants(y, eta[0], radius))

    def constants_of(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray, cubic: np.ndarray) -> np.ndarray:
        """Return `constants` of the rows, or `third_order` for rows without their ``cubic`` part."""
        found = np.empty(len(y))
        for rows, constants in ((cubic, self.third_order), (~cubic, self._constants)):
            if rows.any():
                found[rows] = constants(y[rows], eta[:, rows], radius[rows])
        return found

    def _constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        return np.minimum(self.constants(y, eta, radius), self.everywhere(y))

    def fill_centre(self, columns: Any, eta: np.ndarray, y: np.ndarray) -> None:
        """Fill the columns that describe the centre: predictors, gradients, lower triangles of Hessians."""
        gradient, hessian, _ = self.derivatives(eta, y)
        columns.eta[:], columns.gradient[:] = eta[: len(gradient)].T, gradient.T
        columns.hessian[:] = hessian[np.tril_indices(len(gradient))].T


def positive_part(hessian: np.ndarray) -> np.ndarray:
    """Return symmetric matrices (K, K, n) without their negative eigenvalues."""
    if len(hessian) == 1:
        return np.maximum(hessian, 0.0)
    finite = np.isfinite(hessian).all(axis=(0, 1))
    values, vectors = np.linalg.eigh(np.moveaxis(np.where(finite, hessian, 0.0), -1, 0))
    return np.einsum("nak,nk,nbk->abn", vectors, np.maximum(values, 0.0), vectors)


def _by_effects(base: Regression) -> np.ndarray:
    """Which predictors hold the coefficients' columns, the first block of a design."""
    layout: Any = base.observations.design
    assert isinstance(layout, MultiPredictorLayout)
    assert isinstance(base.family, MultiPredictorLikelihood)
    own = [term for term in layout.terms if term.block == 0]
    if any(term.start != 0 for term in own):
        raise NotApplicable("classes without an order have coefficients for each class, and so must their effects.")
    found = np.zeros(layout.predictors)
    found[[term.predictor for term in own]] = 1.0
    return found


def second_order_constants(family: Any, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """Return constants of order 2 by the same rule as `tunamh.targets.expansion.one_predictor`."""
    if family.second_order_constants is not None:
        return np.asarray(family.second_order_constants(y, eta, radius))
    if family.suprema_near is not None:
        return np.asarray(family.suprema_near(y, eta, radius)[2])
    return np.asarray(family.suprema(y)[2])


# ------------------------------------------------------------------------------------------------- packed rows


def with_groups(base: GLM, groupings: list[Grouping], begins: int) -> tuple[Any, TransformedRows]:
    """Return rows with one more position for every column of effects, after those of the base.

    In a design with several predictors, the first block of columns has the coefficients, and the effects are added to
    it. Effects in a single predictor are a block of their own. Factors with the same codes share this block, and each
    factor has a term.
    """
    observations = base.observations
    design = observations.design
    if any(one.predictor is not None for one in groupings):
        return _in_predictors(observations, groupings, begins)
    if isinstance(design, MultiPredictorLayout):
        of, columns = design.blocks[0][0], design.dims[0]  # type: ignore[index]
    else:
        of, columns = design.numbers, base.dim
    dim = begins + sum(one.groups * one.q for one in groupings)
    count = int(of.positions) + sum(one.q for one in groupings)
    gathered: Design = layout_of(int(of.columns), count, True, dim, of.curves)
    if of.shifted:
        gathered = DesignWithOffset(gathered, np.zeros(0))
    starts = np.concatenate([[begins], begins + np.cumsum([one.groups * one.q for one in groupings])])

    def grouped(given: Any, which: slice) -> Any:
        plain: Any = given.block if isinstance(given, BlockWithOffset) else given
        made: Any = _with_positions(plain, which, groupings, starts, dim)
        return BlockWithOffset(made, given.matvec(np.zeros(columns)), gathered.numbers.width) if of.shifted else made

    layout: Any = gathered
    if isinstance(design, MultiPredictorLayout):
        layout = MultiPredictorLayout(
            [(gathered.numbers, dim), *design.blocks[1:]], design.terms, design.predictors, design.known
        )

    def change(rows: Rows) -> Rows:
        which = slice(rows.start, rows.start + len(rows.y))
        if not isinstance(rows.X, MultiPredictorBlock):
            return rows._replace(X=grouped(rows.X, which))
        first, *others = rows.X.blocks
        return rows._replace(X=MultiPredictorBlock((grouped(first, which), *others), layout, len(rows.y)))

    return layout, TransformedRows(observations, layout, change)


def _in_predictors(observations: Any, groupings: list[Grouping], begins: int) -> tuple[Any, TransformedRows]:
    """`with_groups` where every factor adds to one predictor."""
    design = observations.design
    assert isinstance(design, MultiPredictorLayout)
    blocks, terms = list(design.blocks), list(design.terms)
    kinds: list[Grouping] = []
    for one in groupings:
        assert one.predictor is not None
        place = next((k for k, kind in enumerate(kinds) if kind.codes is one.codes and kind.Z is one.Z), len(kinds))
        if place == len(kinds):
            kinds.append(one)
            size, empty = one.groups * one.q, np.zeros((1, one.q))
            blocks.append((IndexedDesign(np.empty((1, 0)), empty, empty, size).numbers, size))
        terms.append(Term(one.predictor, len(design.blocks) + place, begins))
        begins += one.groups * one.q
    layout = MultiPredictorLayout(blocks, terms, design.predictors, design.known)

    def change(rows: Rows) -> Rows:
        which = slice(rows.start, rows.start + len(rows.y))
        own = [
            IndexedBlock(
                np.empty((len(rows.y), 0)),
                np.ascontiguousarray((one.codes[which, None] * one.q + np.arange(one.q)).astype(np.int32)),
                np.ascontiguousarray(one.Z[which]),
                one.groups * one.q,
            )
            for one in kinds
        ]
        return rows._replace(X=MultiPredictorBlock((*rows.X.blocks, *own), layout, len(rows.y)))

    return layout, TransformedRows(observations, layout, change)


def _with_positions(
    block: DenseBlock | IndexedBlock, which: slice, groupings: list[Grouping], starts: np.ndarray, dim: int
) -> IndexedBlock:
    if isinstance(block, DenseBlock):
        nothing = np.empty((len(block.X), 0))
        block = IndexedBlock(np.asarray(block.X, dtype=np.float64), nothing.astype(np.int32), nothing, dim)
    positions = [block.positions]
    values = [block.values if block.values.size else np.where(block.positions == NOWHERE, 0.0, 1.0)]
    for start, one in zip(starts, groupings, strict=False):
        codes = one.codes[which]
        positions.append((start + codes[:, None] * one.q + np.arange(one.q)).astype(np.int32))
        values.append(one.Z[which])
    return replace(
        block,
        whole=np.ascontiguousarray(block.whole),
        positions=np.ascontiguousarray(np.concatenate(positions, axis=1)),
        values=np.ascontiguousarray(np.concatenate(values, axis=1)),
        dim=dim,
    )
