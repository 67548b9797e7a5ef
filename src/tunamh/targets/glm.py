"""Regression: energies that see a row through its linear predictor ``eta_i = x_i . theta``."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from functools import cached_property, partial
from typing import Any, TypeVar

import numpy as np

from .._arguments import shown
from .._jit import Part
from .._linear import Columns, examine_columns, groups_of
from ..data.packed import packed_rows
from ..data.passes import announce, over_blocks, sums_over_blocks
from ..data.seal import Seal
from ..data.tables import aligned, as_vector
from ..errors import NotApplicable
from ..laplace import Mode, find_mode, find_modes
from ..priors import Flat
from .base import Expansion, Parts, Target, checked_temper
from .bounds import LEAST_LOCAL_SHARE, NO_BOUNDS, ORIGINAL, bounds_of_regression, trust_radius_of
from .designs import Block, as_design
from .families import Family, Logistic, StudentT
from .glm_rows import (
    differences,
    energies,
    firefly_energies,
    firefly_scales,
    own_numbers,
    scales,
    taylor_differences,
    taylor_energies,
    taylor_scales,
)
from .layouts import Trust
from .many_starts import modes_from_many_starts
from .separation import separating_direction
from .taylor import Remainders, Shape, TaylorTarget, mean_of_skewed, no_differences, polynomial_offset

Result = TypeVar("Result")

_ROWS_FOR_MANY_STARTS = 2000
_CANCELLED = 1e-11  # of what does not cancel, the share that rounding leaves
_FAR_BELOW = 1e-10
_START_SPREAD = 2.0  # widths of the Laplace law


class GLM(Target):
    """Regression with energies ``U_i = temper * weight_i * f(x_i . theta, y_i)``; no intercept is added.

    The bound is ``c_i = temper * weight_i * sup|f'| * |x_i|`` with the Euclidean distance (spec 3).

    Parameters
    ----------
    X : (N, d) table
        Array, memory map, or a pandas, polars or pyarrow table, whose column names label the draws. Not copied until
        rows are needed; a change after construction is noticed and raises. pandas objects are paired with ``y`` and
        ``weights`` by their row labels, all else by position. float32 features are kept in single precision: the same
        numbers in half the memory; sums over them are in double precision. Columns of categories become codes, a
        coefficient for each level but the first; scipy.sparse matrices are taken as they are.
    y : (N,) responses
    family : Family
        Labels: `Logistic()`, `Probit()`. Reals: `StudentT(df)`, `Huber(delta)`, `Gaussian(scale)`. Counts:
        `NegativeBinomial(dispersion)`, `SoftplusPoisson()`. Or your own.
    prior : optional
        None (flat), `Normal`, another of `tunamh.priors`, or an ``@numba.njit`` function ``log_prior(theta)``.
    temper : float
        Multiplies every energy, not the prior.
    weights : (N,), optional
        Multiply the rows' energies; a weight of 2 is the row given twice.
    """

    _supported_point: np.ndarray | None = None

    def __init__(self, X: Any, y: Any, family: Family, *, prior: Any = None, temper: float = 1.0, weights: Any = None):
        if not hasattr(family, "suprema") or isinstance(family, type):
            hint = f"{family.__name__}(...)" if isinstance(family, type) else "tunamh.Logistic() or tunamh.StudentT(4)"
            raise TypeError(f"family must be a value such as {hint}, got {shown(family)}.")
        y, weights = aligned(X, "X", y=y, weights=weights)
        design, names = as_design(X)
        n_rows = design.n_rows
        y = as_vector(y, "y", n_rows)
        family.check(y)
        temper = checked_temper(temper)
        self.family = family
        self.own_bounds = not type(family).__module__.startswith("tunamh.")
        self.design, self._y = design, y
        self._y_column = design.numbers.width
        self._weights = None if weights is None else _checked_weights(weights, n_rows, temper)
        weighing = {} if self._weights is None else {"weights": self._weights}
        self._seal = Seal({**design.arrays(), "y": y, **weighing}, names)
        super().__init__(
            rows=n_rows,
            bound_column=self._y_column + 1,
            hyper=own_numbers(
                design.numbers, temper=temper, weighted=weights is not None, grain=getattr(family, "grain", 1.0)
            ),
            family_hyper=family.hyper,
            parts=self._parts(differences, energies, scales=scales),
            dim=design.dim,
            names=names,
            prior=prior,
            temper=temper,
        )

    def _parts(self, *of_rows: Part, **others: Part) -> Parts:
        """Compiled functions of rows, with those of the family and of the design."""
        own = {"family_rise": self.family.rise, "family_energy": self.family.energy, **self.design.parts._asdict()}
        return Parts(*of_rows)._replace(**others, **own)

    def _columns(self, block: Any) -> tuple[Block, np.ndarray, np.ndarray]:
        """Features, responses and weights (temper included) of some rows."""
        y = self._y[block]
        weight = np.full(len(y), self.temper) if self._weights is None else self.temper * self._weights[block]
        return self.design.block(block), y, weight

    def _packed(
        self, extra: int, fill: Callable[[np.ndarray, slice], Result], take: Callable[[Result], Any] = lambda _: None
    ) -> np.ndarray:
        """Rows ``x, y, c``, ``extra`` columns and, if rows are weighted, the weight.

        ``fill(rows, block)`` writes ``c`` and the extra columns of a block, of which the rest is already there; what it
        returns is handed to ``take``, block after block.
        """
        y = self._y_column
        rows = packed_rows(self.n_rows, y + 2 + extra + (self._weights is not None))

        def pack(block: slice) -> Result:
            self._seal.check_block(block)
            self.design.pack(rows[block], block)
            rows[block, y] = self._y[block]
            if self._weights is not None:
                rows[block, y + 2 + extra] = self.temper * self._weights[block]
            return fill(rows[block], block)

        for result in over_blocks(pack, self.n_rows):
            take(result)
        return rows

    @property
    def fingerprint(self) -> str:
        """A short hash of the data: their shape and all numbers in ``X``, ``y`` and ``weights``."""
        return self._seal.digest

    def check_data(self) -> None:
        self._seal.check_some()

    def _pack(self) -> np.ndarray:
        c = self._y_column + 1

        def fill(rows: np.ndarray, block: slice) -> None:
            X, y, weight = self._columns(block)
            size = weight * X.lengths()
            rows[:, c] = 0.0  # what does not move has bound zero, however steep the family
            np.multiply(self.family.suprema(y).first, size, out=rows[:, c], where=size > 0)

        return self._packed(0, fill)

    @property
    def effective_rows(self) -> float:
        return self.temper * (self.n_rows if self._weights is None else float(self._weights.sum()))

    # ------------------------------------------------------------------------------------ the search for a mode

    def _on_rows(self, index: np.ndarray) -> GLM:
        """The target on some of its rows, weighted up to all of them."""
        sample = copy(self)
        for name in ("rows", "total_bound", "table", "precision_trace", "fingerprint", "modes"):
            sample.__dict__.pop(name, None)
        n = len(index)
        sample.design, sample._y, sample.n_rows = self.design.take(index), self._y[index], n
        weights = np.full(n, self.n_rows / n)
        sample._weights = weights if self._weights is None else weights * self._weights[index]
        return sample

    def samples(self) -> Iterator[Target]:
        """A hundredth and a tenth of the rows, where these are enough to look like all of them."""
        for share in (100, 10):
            n = self.n_rows // share
            if n >= max(1000, 20 * self.dim):
                yield self._on_rows(np.sort(np.random.default_rng(share).integers(self.n_rows, size=n)))

    def search_starts(self) -> list[np.ndarray]:
        """The prior's mean and, where the family can guess predictors from responses, their least squares fit."""
        starts, guess = super().search_starts(), getattr(self.family, "guess", None)
        if guess is not None:
            frame = self.columns.frame

            def terms(X: Block, y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
                curved = weight * np.minimum(self.family.suprema(y).second, 1e300)
                return X.sandwich(curved, frame), X.moment(curved * guess(y))

            gram, moment = self._sums(terms)
            fit = Expansion(0.0, moment, gram, frame).plus(self._prior.expansion(starts[0], np.ones(self.dim)))
            factor = fit.metric().factor
            pull = self._prior.precision * self._prior.mean
            starts.append(factor @ (factor.T @ (moment + pull)))
        return starts

    def slope(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Energy and gradient of the data at ``theta``: a pass without a Hessian."""

        def terms(X: Block, y: np.ndarray, weight: np.ndarray) -> tuple[float, np.ndarray]:
            eta = X.dot(theta)
            slopes = weight * self.family.derivatives(eta, y)[0]
            return float(weight @ self._family_energy(eta, y)), X.moment(slopes)

        energy, gradient = self._sums(terms)
        return energy, gradient

    def energies_at(self, points: np.ndarray) -> np.ndarray:
        """Energies of the posterior at points (k, d), in one pass."""

        def terms(X: Block, y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray]:
            predictors = np.ascontiguousarray(X.times(points.T).T)
            return (np.array([weight @ self._family_energy(eta, y) for eta in predictors]),)

        with np.errstate(over="ignore", invalid="ignore"):
            return self._sums(terms)[0] + self._prior_energies_at(points)

    def _family_energy(self, eta: np.ndarray, y: np.ndarray) -> np.ndarray:
        out = np.empty_like(eta)
        self.family.energy(eta.size, eta, y, self._family_hyper, out)
        return out

    @property
    def convex(self) -> bool:
        """Whether every row's energy is; a family of your own that does not say counts as not convex."""
        return getattr(self.family, "convex", False)

    def candidates(self) -> np.ndarray:
        """Modes of a sample of the rows, found from many starts, where energies are not convex."""
        if self.convex:
            return super().candidates()
        return modes_from_many_starts(self._sample_of(_ROWS_FOR_MANY_STARTS, seed=2))

    @property
    def candidates_slack(self) -> float:
        """How much higher than the best a candidate's energy may be, being the mode of a sample only."""
        missing = max(0.0, self.n_rows / max(_ROWS_FOR_MANY_STARTS, 20 * self.dim) - 1)
        return 50.0 + 4.0 * self.dim * (1 + missing)

    def _sample_of(self, n: int, seed: int) -> GLM:
        n = max(n, 20 * self.dim)
        if n >= self.n_rows:
            return self
        return self._on_rows(np.sort(np.random.default_rng(seed).choice(self.n_rows, size=n, replace=False)))

    @cached_property
    def modes(self) -> list[Mode]:
        """The posterior's modes that matter, by their share; one where energies are convex."""
        announce("looking for the mode")
        modes = find_modes(self)
        if modes[0].slow and separating_direction(self) is None:
            modes[0] = find_mode(self, start=modes[0].point, patient=True)
        if np.isfinite(modes[0].posterior.energy):
            self._supported_point = modes[0].point
        if self._prior.own and not modes[0].found:  # its support may end before the mode: then the data's own will do
            without_prior = copy(self)
            without_prior._prior = Flat().bind(self.dim)
            alone = find_mode(without_prior)
            modes = [alone] if alone.found else modes
        return modes

    def supported_point(self) -> np.ndarray | None:
        return self._supported_point

    # --------------------------------------------------------------------------------------------- the columns

    @cached_property
    def columns(self) -> Columns:
        """What a sample of the rows tells about the columns, and coordinates in which they are well conditioned."""
        n = min(self.n_rows, max(1000, 2 * self.dim))
        index = np.sort(np.random.default_rng(1).choice(self.n_rows, size=n, replace=False))
        block, _, weight = self._columns(index)
        X = block.dense()
        return examine_columns(X[weight > 0] if (weight > 0).any() else X)

    def on_columns(self, which: np.ndarray) -> GLM:
        """The columns ``which``, a mask, under a flat prior: for questions about the design, not to be sampled."""
        part = copy(self)
        for name in ("rows", "total_bound", "table", "precision_trace", "modes", "columns"):
            part.__dict__.pop(name, None)
        part.dim, part.names = int(which.sum()), [name for name, kept in zip(self.names, which, strict=True) if kept]
        part.prior, part._prior = Flat(), Flat().bind(part.dim)

        part.design = self.design.on_columns(which)
        return part

    def dependent_columns(self) -> list[np.ndarray]:
        """Groups of columns that depend on each other over all rows; a group of one is a column of zeros.

        Only where the sample leaves directions open are all rows asked: ``x.z`` vanishes in every row, up to rounding,
        for a direction that stays open. Columns whose coefficients have a proper prior are left out.
        """
        flat = self._prior.flat
        if not flat.all():
            groups = self.on_columns(flat).dependent_columns() if flat.any() else []
            return [np.flatnonzero(flat)[group] for group in groups]
        Z = self.columns.open_directions
        while Z.shape[1] > 0:
            gram, squares = self._sums(partial(_variation, Z))
            size = np.sqrt(squares)
            reach = np.abs(Z).T @ size  # what x.z would be if nothing cancelled, as a root of the sum of squares
            reach = np.where(reach > 0, reach, 1.0)
            values, vectors = np.linalg.eigh(gram / np.outer(reach, reach))
            if values[-1] <= _CANCELLED**2:
                return groups_of(Z, np.where(size > 0, size, 1.0))
            open_still = values <= _FAR_BELOW * values[-1]  # small beside the largest: another look is more accurate
            Z = Z @ (vectors[:, open_still] / reach[:, None])
        return []

    def _sums(self, terms: Callable[[Block, np.ndarray, np.ndarray], tuple]) -> list:
        """``terms(X, y, weight)`` of every block of rows, added up in the order of the blocks."""
        return sums_over_blocks(lambda block: terms(*self._columns(block)), self.n_rows)

    def expansion(self, theta: np.ndarray) -> Expansion:
        """Energy, gradient and Hessian of the data at ``theta``, in one pass over blocks of rows."""

        frame = self.columns.frame

        def terms(X: Block, y: np.ndarray, weight: np.ndarray) -> tuple[float, np.ndarray, np.ndarray]:
            eta = X.dot(theta)
            first, second, _ = self.family.derivatives(eta, y)
            energy = float(weight @ self._family_energy(eta, y))
            return energy, X.moment(weight * first), X.sandwich(weight * second, frame)

        with np.errstate(over="ignore", invalid="ignore"):
            energy, gradient, hessian = self._sums(terms)
        return Expansion(energy, gradient, hessian, frame)

    def taylor(
        self, order: int, centre: np.ndarray, at_centre: Expansion, *, whiten: bool, original_bounds: bool
    ) -> TaylorTarget:
        """The target with its Taylor part in the offset: ``c_i = weight_i L |A^-1/2 x_i|^{order+1}`` (spec 5a, 5d)."""
        announce("expanding every row about the centre")
        d, c = self.dim, self._y_column + 1
        white = whiten and not original_bounds
        prior = self._prior.expansion(centre, at_centre.width)
        frame = at_centre.plus(prior).metric()
        factor, root = (frame.factor, frame.inverse) if white else (np.eye(d), np.eye(d))
        near = getattr(self.family, "suprema_near", None) if white else None
        radius = np.inf if near is None else trust_radius_of(d)

        def fill(rows: np.ndarray, block: slice) -> tuple[list[float], np.ndarray]:
            X, y, weight = self._columns(block)
            eta = X.dot(centre)
            supremum = self.family.suprema(y)[order]
            if not np.isfinite(supremum).all():
                row = block.start + int(np.argmax(~np.isfinite(supremum)))
                raise NotApplicable(
                    f"Taylor(order={order}) needs bounded derivatives; {self.family!r} has none in row {row}"
                )
            white_X = X.times(factor)
            size = X.largest() if original_bounds else np.sqrt(np.einsum("ij,ij->i", white_X, white_X))
            local = supremum
            if near is not None:
                local = np.clip(near(y, eta, radius * size)[order], LEAST_LOCAL_SHARE * supremum, supremum)
            rows[:, c] = weight * local * size ** (order + 1)
            rows[:, c + 1] = eta
            rows[:, c + 2], rows[:, c + 3], third = self.family.derivatives(eta, y)
            wider = float(np.max(supremum[supremum > 0] / local[supremum > 0], initial=1.0))
            leverage = float(np.max(weight * np.abs(rows[:, c + 3]) * size**2))
            return [wider, leverage, float(size.max())], (weight * third * size**2) @ white_X

        largest, thirds = np.array([1.0, 0.0, 0.0]), np.zeros(d)

        def take(of_block: tuple[list[float], np.ndarray]) -> None:
            np.maximum(largest, of_block[0], out=largest)
            np.add(thirds, of_block[1], out=thirds)

        rows = self._packed(3, fill, take)
        outside, leverage, longest = largest.tolist()
        parts = self._parts(taylor_differences, taylor_energies, scales=taylor_scales, offset=polynomial_offset)
        return TaylorTarget(
            self,
            order,
            centre,
            at_centre,
            remainders=Remainders(rows, c, parts),
            bounds=ORIGINAL if original_bounds else bounds_of_regression(order, Trust(radius**2, outside)),
            root=root,
            shape=Shape(mean_of_skewed(thirds), leverage, longest) if white else None,
        )

    def firefly(self, centre: np.ndarray | None) -> TaylorTarget:
        """The target around lower bounds of its likelihood, tight at ``centre``; their sum is a quadratic in theta."""
        lower_bound = getattr(self.family, "lower_bound", None)
        if lower_bound is None:
            raise NotApplicable(f"FlyMC needs a lower bound of the likelihood; {self.family!r} offers none")
        d, c = self.dim, self._y_column + 1

        def fill(rows: np.ndarray, block: slice) -> tuple[np.ndarray, np.ndarray]:
            X, y, weight = self._columns(block)
            below = lower_bound(y, None if centre is None else X.dot(centre))
            rows[:, c] = 0.0
            rows[:, c + 1 : c + 5] = np.column_stack(below)
            return X.moment(weight * (2 * below.a * below.anchor - below.b)), X.sandwich(-2 * weight * below.a)

        slope, curvature = np.zeros(d), np.zeros((d, d))

        def take(of_block: tuple[np.ndarray, np.ndarray]) -> None:
            np.add(slope, of_block[0], out=slope)
            np.add(curvature, of_block[1], out=curvature)

        rows = self._packed(4, fill, take)
        parts = self._parts(no_differences, firefly_energies, scales=firefly_scales, offset=polynomial_offset)
        at_centre = Expansion(0.0, slope, curvature)
        remainders = Remainders(rows, c, parts)
        return TaylorTarget(self, 2, np.zeros(d), at_centre, remainders=remainders, bounds=NO_BOUNDS, start=self.start)

    def start(self, rng: np.random.Generator, chain: int = 0) -> np.ndarray:
        """A draw from twice the width of the Laplace law at a mode; with several modes the chains take turns.

        A mode that does not exist (under a flat prior) has no such law: then near the prior's mean, in units of the
        columns.
        """
        mode = self.modes[chain % len(self.modes)]
        if mode.found:
            return mode.point + _START_SPREAD * (mode.posterior.metric().factor @ rng.standard_normal(self.dim))
        size = np.sqrt(self._sums(lambda X, y, weight: (X.squares(),))[0] / self.n_rows)
        unit = np.divide(1.0, size, out=np.ones(self.dim), where=size > 0)
        return self._prior.mean + unit * rng.standard_normal(self.dim)


class LogisticRegression(GLM):
    """Bayesian logistic regression with labels 0 and 1; see `GLM` for the parameters."""

    def __init__(self, X: Any, y: Any, *, prior: Any = None, temper: float = 1.0, weights: Any = None):
        super().__init__(X, y, Logistic(), prior=prior, temper=temper, weights=weights)


class RobustRegression(GLM):
    """Linear regression with Student-t noise of ``df`` degrees of freedom and known ``scale``; see `GLM`."""

    def __init__(
        self,
        X: Any,
        y: Any,
        df: float = 4.0,
        scale: float = 1.0,
        *,
        prior: Any = None,
        temper: float = 1.0,
        weights: Any = None,
    ):
        super().__init__(X, y, StudentT(df, scale), prior=prior, temper=temper, weights=weights)


_MOST_WEIGHT = 1e20  # with more, a posterior is narrower than the rounding of its parameters


def _variation(Z: np.ndarray, X: Block, y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """How far the predictors vary along the directions ``Z``, and the columns' sums of squares."""
    along = X.times(Z)[weight > 0]
    return along.T @ along, X.squares(weight > 0)


def _checked_weights(weights: Any, n_rows: int, temper: float) -> np.ndarray:
    array = as_vector(weights, "weights", n_rows)
    if (array < 0).any():
        row = int(np.argmax(array < 0))
        raise ValueError(f"weights must not be negative, but row {row} has {array[row]:g}.")
    if temper * array.sum() > _MOST_WEIGHT:
        raise ValueError(f"weights add up to {array.sum():g}, too much to compute with: 1 is the weight of one row.")
    if not array.any():
        raise ValueError("weights are all zero, so that no row counts: at least one must be positive.")
    return array
