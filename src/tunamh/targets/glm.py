"""Regression: energies that see a row through its linear predictor ``eta_i = x_i . theta``."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from copy import copy
from functools import cached_property
from typing import Any, TypeVar

import numpy as np

from .._arguments import shown
from .._jit import Part
from .._linear import Columns
from ..data.packed import packed_rows
from ..data.passes import announce
from ..data.source import Rows
from ..errors import NotApplicable
from ..laplace import Mode, find_mode, find_modes
from ..priors import Flat, as_prior
from ..priors.laws import LAPLACE, NORMAL, ReadyIndependent
from ..priors.mixtures import ReadyMixture, mixture_of_laws
from .arrange import arrange
from .base import Expansion, Parts, Target, checked_temper
from .closed import closed_form
from .columns import columns_of, dependent_columns
from .designs import Block
from .doubts import doubts, names_along, proved_proper
from .expanding import expanded, firefly
from .families import Family
from .families.several import SeveralFamily
from .glm_rows import own_numbers
from .many_starts import modes_from_many_starts
from .observations import Observations
from .observe import Beside, check_weights, observe
from .one_predictor import OnePredictor
from .separation import separating_direction
from .several_predictors import SeveralPredictors
from .taylor import TaylorTarget

Result = TypeVar("Result")

_ROWS_FOR_MANY_STARTS = 2000
_START_SPREAD = 2.0  # widths of the Laplace law
_DOMINATED = 0.4  # of a prior's scale: a posterior this wide has its peak and tails


class GLM(Target):
    """Regression with energies ``U_i = temper * weight_i * f(x_i . theta + offset_i, y_i)``; no intercept is added.

    The bound is ``c_i = temper * weight_i * sup|f'| * |x_i|`` with the Euclidean distance (spec 3).

    Parameters
    ----------
    X : (N, d) table, or a source
        Array, memory map, or a pandas, polars or pyarrow table, whose column names label the draws. Not copied until
        rows are needed; a change after construction is noticed and raises. pandas objects are paired with ``y`` and
        ``weights`` by their row labels, all else by position. float32 features are kept in single precision: the same
        numbers in half the memory; sums over them are in double precision. Columns of categories become codes, a
        coefficient for each level but the first; scipy.sparse matrices are taken as they are. A source of your own
        (`tunamh.extend.Source`) brings responses, weights and offsets with it.
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
    offset : (N,), optional
        Known numbers that are added to the linear predictors.
    trials : (N,), optional
        For labels: ``y`` of so many trials had the label 1.
    censored : (N,), optional
        For survival times and limited responses: 1 (or True) where the response is known to be larger than ``y``, -1
        where it is known to be smaller, 0 where it is ``y``.
    predictors : dict of tables, optional
        Columns of further linear predictors, by the name of the family's parameter that they describe.
    """

    _supported_point: np.ndarray | None = None

    def __init__(
        self,
        X: Any,
        y: Any = None,
        family: Family | None = None,
        *,
        prior: Any = None,
        temper: float = 1.0,
        weights: Any = None,
        offset: Any = None,
        trials: Any = None,
        censored: Any = None,
        predictors: Mapping[str, Any] | None = None,
    ):
        self.given_family = given = _checked_family(family)
        temper = checked_temper(temper)
        beside = Beside(weights, offset, trials, censored, predictors)
        self.given_rows = observe(X, y, beside, given)
        if self.given_rows.weighted:
            check_weights(self.given_rows, temper)
        family_of_rows = given if trials is None else given.for_trials()  # type: ignore[attr-defined]
        self.arranged = arranged = arrange(self.given_rows, family_of_rows, temper)
        observations, row_family, names = arranged[:3]
        self.observations, self.family = observations, row_family
        self.terms = (
            SeveralPredictors(row_family) if isinstance(row_family, SeveralFamily) else OnePredictor(row_family)
        )
        self.predictors = getattr(row_family, "predictors", 1)
        self.own_bounds = not type(given).__module__.startswith("tunamh.")
        design = observations.design
        self.y_column = design.numbers.width
        form = arranged.form
        self.coefficient_prior = as_prior(prior, names).bind(len(names))
        ready = self.coefficient_prior
        if form is not None:
            if isinstance(ready, ReadyMixture):
                raise NotApplicable(
                    f"{prior!r} is Gaussian given unknown scales, which is offered for coefficients alone: not beside "
                    f"{', '.join(extra.name for extra in arranged.extras)} of {given!r}."
                )
            ready = closed_form(form, ready, list(arranged.laws), np.asarray(arranged.start))
        labels = [label for extra in arranged.extras for label in extra.labels or (extra.name,)]
        super().__init__(
            rows=observations.n_rows,
            bound_column=self.y_column + 1,
            hyper=own_numbers(
                design.numbers,
                temper=temper,
                weighted=observations.weighted,
                grain=getattr(row_family, "grain", 1.0),
                table=getattr(design, "table", ()),
            ),
            family_hyper=row_family.hyper,
            parts=self.parts_with(*self.terms.plain_parts),
            dim=design.dim,
            names=[*names, *labels],
            prior=as_prior(prior, names),
            ready=ready,
            temper=temper,
        )

    def parts_with(self, differences: Part, energies: Part, scales: Part, **others: Part) -> Parts:
        """Compiled functions of rows, with those of the family and of the design."""
        own = {"family_rise": self.family.rise, "family_energy": self.family.energy}
        return Parts(differences, energies, scales)._replace(
            **others, **own, **self.observations.design.parts._asdict()
        )

    # ------------------------------------------------------------------------------- what a user calls parameters

    def natural(self, points: np.ndarray) -> np.ndarray:
        form = self.arranged.form
        return points if form is None else form.natural(points)

    def walking(self, point: np.ndarray) -> np.ndarray:
        form = self.arranged.form
        return point if form is None else form.walking(point)

    @cached_property
    def walking_names(self) -> list[str]:
        """The parameters' names in the order in which they are walked."""
        form, names = self.arranged.form, list(self.names)
        if form is not None:
            for at, name in zip([*form.coefficients_at, *form.extra_at], self.names, strict=True):
                names[at] = name
        return names

    @property
    def variables(self) -> list[tuple[str, list[str] | None]]:
        extras = [(extra.name, None if extra.labels is None else list(extra.labels)) for extra in self.arranged.extras]
        return [("theta", list(self.arranged.names)), *extras]

    # --------------------------------------------------------------------------------------------------- the rows

    def weight(self, rows: Rows) -> np.ndarray:
        """Weights of some rows, temper included."""
        return np.full(len(rows.y), self.temper) if rows.weights is None else self.temper * rows.weights

    def sums(self, terms: Callable[[Block, np.ndarray, np.ndarray], tuple]) -> list:
        """``terms(X, y, weight)`` of every block of rows, added up in the order of the blocks."""
        return self.observations.sums(lambda rows: terms(rows.X, rows.y, self.weight(rows)))

    def packed(
        self, extra: int, fill: Callable[[np.ndarray, Rows], Result], take: Callable[[Result], Any] = lambda _: None
    ) -> np.ndarray:
        """Rows ``x, y, c``, ``extra`` columns and, if rows are weighted, the weight.

        ``fill(rows, block)`` writes ``c`` and the extra columns of a block, of which the rest is already there; what it
        returns is handed to ``take``, block after block.
        """
        y, weighted = self.y_column, self.observations.weighted
        packed = packed_rows(self.n_rows, y + 2 + extra + weighted)

        def pack(block: Rows) -> Result:
            self.observations.check(block)
            rows = packed[block.start : block.start + len(block.y)]
            block.X.pack(rows)
            rows[:, y] = block.y
            if weighted:
                rows[:, y + 2 + extra] = self.weight(block)
            return fill(rows, block)

        for result in self.observations.map(pack):
            take(result)
        return packed

    @property
    def fingerprint(self) -> str:
        """A short hash of the data: their shape and all numbers in ``X``, ``y`` and ``weights``."""
        return self.observations.fingerprint

    def check_data(self) -> None:
        self.observations.check_some()

    def _pack(self) -> np.ndarray:
        c = self.y_column + 1

        def fill(rows: np.ndarray, block: Rows) -> None:
            rows[:, c] = self.terms.first_bounds(block.X, block.y, self.weight(block))

        return self.packed(0, fill)

    @cached_property
    def effective_rows(self) -> float:
        if not self.observations.weighted:
            return self.temper * self.n_rows
        return self.temper * float(np.concatenate(list(self.observations.map(lambda rows: rows.weights))).sum())

    def _with(self, observations: Observations) -> GLM:
        """The same regression of other rows or columns."""
        other = copy(self)
        for name in ("rows", "total_bound", "supply", "precision_trace", "modes", "effective_rows"):
            other.__dict__.pop(name, None)
        other.observations, other.n_rows = observations, observations.n_rows
        return other

    def on_rows(self, index: np.ndarray) -> GLM:
        """The target on some of its rows, weighted up to all of them."""
        return self._with(self.observations.take(index).weighted_up(self.n_rows / len(index)))

    def on_columns(self, which: np.ndarray) -> GLM:
        """The columns ``which``, a mask, under a flat prior: for questions about the design, not to be sampled."""
        part = self._with(self.observations.on_columns(which))
        part.__dict__.pop("columns", None)
        part.walking_names = [name for name, kept in zip(self.walking_names, which, strict=True) if kept]
        part.dim = int(which.sum())
        part.prior, part._prior = Flat(), Flat().bind(part.dim)
        return part

    @cached_property
    def columns(self) -> Columns:
        """What a sample of the rows tells about the columns, and coordinates in which they are well conditioned."""
        return columns_of(self)

    def dependent_columns(self) -> list[np.ndarray]:
        """Groups of columns that depend on each other over all rows, of those without a proper prior."""
        return dependent_columns(self)

    def separating_direction(self) -> np.ndarray | None:
        """A direction along which the energy never rises, so that there is no posterior; None where there is one."""
        return separating_direction(self)

    def names_along(self, direction: np.ndarray) -> list[str]:
        """The columns that a direction is made of."""
        return names_along(self, direction)

    def proved_proper(self, expanded: TaylorTarget, away: float) -> bool:
        """Whether what is known at an expansion proves that there is a posterior."""
        return proved_proper(self, expanded, away)

    def doubts(self) -> list[str]:
        """What a person should be told before the regression is sampled."""
        return list(doubts(self))

    # ------------------------------------------------------------------------------------ the search for a mode

    def samples(self) -> Iterator[Target]:
        """A hundredth and a tenth of the rows, where these are enough to look like all of them."""
        for share in (100, 10):
            n = self.n_rows // share
            if n >= max(1000, 20 * self.dim):
                yield self.on_rows(np.sort(np.random.default_rng(share).integers(self.n_rows, size=n)))

    def sample_of(self, n: int, seed: int) -> GLM:
        """The target on so many of its rows, more where there are many parameters."""
        n = max(n, 20 * self.dim)
        if n >= self.n_rows:
            return self
        return self.on_rows(np.sort(np.random.default_rng(seed).choice(self.n_rows, size=n, replace=False)))

    def search_starts(self) -> list[np.ndarray]:
        """The prior's mean and, where the family can guess predictors from responses, their least squares fit."""
        starts, guess = super().search_starts(), getattr(self.family, "guess", None)
        if self.arranged.start is not None:
            return [self.walking(np.asarray(self.arranged.start))]
        if guess is not None and self.arranged.form is None:
            frame = self.columns.frame

            def terms(X: Block, y: np.ndarray, weight: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
                curved = weight * np.minimum(self.family.suprema(y).second, 1e300)
                return X.sandwich(curved, frame), X.moment(curved * (guess(y) - X.dot(np.zeros(self.dim))))

            gram, moment = self.sums(terms)
            fit = Expansion(0.0, moment, gram, frame).plus(self._prior.expansion(starts[0], np.ones(self.dim)))
            factor = fit.metric().factor
            pull = self._prior.precision * self._prior.mean
            starts.append(factor @ (factor.T @ (moment + pull)))
        return starts

    def slope(self, theta: np.ndarray) -> tuple[float, np.ndarray]:
        """Energy and gradient of the data at ``theta``: a pass without a Hessian."""
        energy, gradient = self.sums(lambda X, y, weight: self.terms.slope(X, theta, y, weight))
        return energy, gradient

    def energies_at(self, points: np.ndarray) -> np.ndarray:
        """Energies of the posterior at points (k, d), in one pass."""
        with np.errstate(over="ignore", invalid="ignore"):
            data = self.sums(lambda X, y, weight: (self.terms.energies_at(X, points, y, weight),))[0]
            return data + self._prior_energies_at(points)

    def expansion(self, theta: np.ndarray) -> Expansion:
        """Energy, gradient and Hessian of the data at ``theta``, in one pass over blocks of rows."""
        frame = self.columns.frame
        with np.errstate(over="ignore", invalid="ignore"):
            found = self.sums(lambda X, y, weight: self.terms.expansion(X, theta, y, weight, frame))
        energy, gradient, hessian = found
        return Expansion(energy, gradient, hessian, frame)

    @property
    def convex(self) -> bool:
        """Whether every row's energy is; a family of your own that does not say counts as not convex."""
        return getattr(self.family, "convex", False)

    def candidates(self) -> np.ndarray:
        """Modes of a sample of the rows, found from many starts, where energies are not convex."""
        if self.convex or self.observations is not self.given_rows:
            return super().candidates()
        return modes_from_many_starts(self.sample_of(_ROWS_FOR_MANY_STARTS, seed=2))

    @property
    def candidates_slack(self) -> float:
        """How much higher than the best a candidate's energy may be, being the mode of a sample only."""
        missing = max(0.0, self.n_rows / max(_ROWS_FOR_MANY_STARTS, 20 * self.dim) - 1)
        return 50.0 + 4.0 * self.dim * (1 + missing)

    @cached_property
    def modes(self) -> list[Mode]:
        """The posterior's modes that matter, by their share; one where energies are convex."""
        announce("looking for the mode")
        modes = find_modes(self)
        if modes[0].slow and self.separating_direction() is None:
            modes[0] = find_mode(self, start=modes[0].point, patient=True)
        if np.isfinite(modes[0].posterior.energy):
            self._supported_point = modes[0].point
        own = self._prior.own and self.arranged.form is None
        if own and not modes[0].found:  # its support may end before the mode: then the data's own will do
            without_prior = copy(self)
            without_prior._prior = Flat().bind(self.dim)
            alone = find_mode(without_prior)
            modes = [alone] if alone.found else modes
        return modes

    def supported_point(self) -> np.ndarray | None:
        return self._supported_point

    # --------------------------------------------------------------------------------------------- what it offers

    @cached_property
    def mixed_prior(self) -> GLM | None:
        """Itself under a prior that is Gaussian given scales, or the like where Student-t and Laplace laws dominate.

        A posterior about as wide as such a law has its peak and its tails, which a Gaussian approximation lacks.
        """
        prior = self._prior
        if isinstance(prior, ReadyMixture):
            return self
        if self.arranged.form is not None or not isinstance(prior, ReadyIndependent) or self.highest_order() < 2:
            return None
        curved = (prior.laws.kind > NORMAL) & (prior.laws.kind <= LAPLACE)
        width = np.linalg.norm(self.modes[0].posterior.metric().factor, axis=1)
        if not (curved & (width > _DOMINATED * prior.laws.scale)).any():
            return None
        other = self._with(self.observations)
        other._prior = mixture_of_laws(prior.laws)
        return other

    def highest_order(self) -> int:
        """The highest order of expansion whose remainder is bounded in every row; 0 where none is."""
        return min(self.observations.map(lambda rows: self.terms.highest_order(rows.y)))

    def taylor(
        self, order: int, centre: np.ndarray, at_centre: Expansion, *, whiten: bool, original_bounds: bool
    ) -> TaylorTarget:
        return expanded(self, order, centre, at_centre, whiten=whiten, original_bounds=original_bounds)

    def firefly(self, centre: np.ndarray | None) -> TaylorTarget:
        return firefly(self, centre)

    def start(self, rng: np.random.Generator, chain: int = 0) -> np.ndarray:
        """A draw from twice the width of the Laplace law at a mode; with several modes the chains take turns.

        A mode that does not exist (under a flat prior) has no such law: then near the prior's mean, in units of the
        columns.
        """
        mode = self.modes[chain % len(self.modes)]
        if mode.found:
            return mode.point + _START_SPREAD * (mode.posterior.metric().factor @ rng.standard_normal(self.dim))
        size = np.sqrt(self.sums(lambda X, y, weight: (X.squares(),))[0] / self.n_rows)
        unit = np.divide(1.0, size, out=np.ones(self.dim), where=size > 0)
        return self._prior.mean + unit * rng.standard_normal(self.dim)


def _checked_family(family: Any) -> Family:
    if not (hasattr(family, "suprema") or hasattr(family, "arrange")) or isinstance(family, type):
        hint = f"{family.__name__}(...)" if isinstance(family, type) else "tunamh.Logistic() or tunamh.StudentT(4)"
        raise TypeError(f"family must be a value such as {hint}, got {shown(family)}.")
    return family
