"""Regression: energies that see a row through its linear predictor ``eta_i = x_i . theta``."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, NamedTuple, Self, TypeVar

import numpy as np

from .._arguments import explained
from ..compiled import Part
from ..errors import NotApplicable
from ..priors import Flat, Prior, ReadyPrior, as_prior
from ..priors.laws import FLAT, LAPLACE, NORMAL, Laws, ReadyIndependent, ready
from ..priors.mixtures import ReadyMixture, mixture_of_laws
from ..process.stages import announce
from ..rows.packing import ROW, PackedRows
from .base import Expansion, checked_temper
from .checks.conditioning import dependent_columns
from .checks.flat_positive import refuse_unproved
from .checks.model_warnings import model_warnings, names_along, proved_proper, refuse_positions, searched
from .checks.properness import impossible
from .checks.separation import separating_direction
from .coordinates.closed_form_prior import ReadyClosed, closed_form
from .coordinates.recentred import Recentred, recentrings
from .description import regression_as_json
from .expansion.expanded_rows import expanded, firefly
from .expansion.kept import KeptExpansion
from .expansion.multi_predictor import MultiPredictor
from .expansion.one_predictor import OnePredictor
from .expansion.taylor import TaylorTarget
from .families import BaseFamily
from .families.multi_predictor import MultiPredictorLikelihood
from .families.registry import as_family
from .further_curves import joint_prior, potential
from .glm_rows import own_numbers
from .normalised.likelihood import log_likelihood
from .normalised.prior_density import log_prior_at, refuse_without_density
from .observations.base import Observations
from .observations.censored import censoring, censoring_told
from .observations.distinct import distinct
from .observations.inputs import RowExtras, check_weights, labels_in_order, observe
from .observations.observed import SeenResponses, seen_responses
from .observations.row_layout import column_names
from .parts import Parts
from .regression import Regression
from .search.many_starts import modes_from_many_starts
from .search.newton import Mode, find_mode
from .search.rivals import rival_modes

Result = TypeVar("Result")

_CHANGE_PLACES = (
    "If predictors can be exchanged, as the two components of a mixture, give them different priors, or write one as "
    "the other plus exp(difference). Otherwise the model may not fit: look at the residuals."
)

_ROWS_FOR_MANY_STARTS = 2000
_START_SPREAD = 2.0  # widths of the Laplace law
_DRAWS_FOR_WIDTH = 200
_DOMINATED = 0.4  # of a prior's scale: a posterior this wide has its peak and tails


class GLM(Regression):
    """A regression of a response on columns, from arrays or tables: a target for `tunamh.sample`.

    No intercept is added: include a column of ones, or use `tunamh.regression`.

    The energy (negative log-likelihood) of row ``i`` is ``U_i = temper * weight_i * f(x_i . theta + offset_i, y_i)``.
    The family defines ``f``, the energy of a row of weight 1. If ``theta`` moves by the Euclidean distance ``M``,
    ``U_i`` changes by at most ``c_i M`` with ``c_i = temper * weight_i * sup|f'| * |x_i|`` (docs/spec.md, section 3).

    Parameters
    ----------
    X : (N, d) table, or a source
        An array, a memory map, or a pandas, polars or pyarrow table. The names of its columns are the names of the
        coefficients. pandas tables are matched with ``y`` and ``weights`` by their index, everything else by position.
        A column of categories has a coefficient for each level except the first. float32 columns stay float32 and need
        half of the memory; sums are in double precision. scipy.sparse matrices stay sparse. The table is copied only
        when its rows are needed; if you change the data before that, an error is raised. Your own source
        (`tunamh.extend.Source`) contains responses, weights and offsets, too.
    y : (N,), or the name of a column
        The responses. If ``X`` comes from `tunamh.open_rows`, pass the name of a column. If ``X`` is your own source,
        leave ``y`` out.
    family : Family or str
        The distribution of the responses, such as `Logistic()` or ``"logistic"`` for labels, `Gaussian()` for real
        responses, `Poisson()` for counts, `Ordinal()` for ordered classes; docs/models.md lists all families. You can
        also make your own family (`tunamh.family`). There is no default.
    prior : optional
        The prior of the coefficients: `Normal`, another prior of `tunamh.priors`, or an ``@numba.njit`` function
        ``log_prior(theta)``. Default: a flat prior.
    temper : float
        A number that multiplies every energy, but not the prior.
    weights : (N,), optional
        Numbers that multiply the energies of the rows. A weight of 2 has the same effect as two copies of the row.
    offset : (N,), optional
        Known numbers, added to the linear predictors, such as the logarithm of an exposure.
    trials : (N,), optional
        Numbers of trials, for binary families: ``y`` is then the number of successes in these trials.
    censored : (N,), optional
        Which responses are censored: 1 (or True) if the true response is larger than ``y``, -1 if it is smaller, 0 if
        it equals ``y``.
    event : (N,), optional
        The same information, as survival packages code it: 1 (or True) if the event happened at time ``y``, 0 if the
        time is censored and the true time is larger. Pass ``censored`` or ``event``, not both.
    entry : (N,), optional
        The time when the observation of a row begins (delayed entry); it must be before ``y``. You can use it with
        `PiecewiseExponential` and `Exponential`.
    strata : (N,), optional
        The stratum of each row (numbers or text), for `PiecewiseExponential`. Each stratum has its own log hazards.
    predictors : dict of tables, optional
        Tables of columns for other parameters of the family. The key is the name of the parameter, the value is a
        table: ``{"scale": Z}``. The columns and their coefficients give the logarithm of ``scale`` (`Gaussian`) or
        ``precision`` (`Beta`), or the logit of ``inflation`` (`ZeroInflated`) or ``positive`` (`Hurdle`). For your own
        family (`tunamh.family`) the keys are the names of the arguments of its energy. No column of ones is added.
        pandas tables are matched by their index.

    Examples
    --------
    >>> target = tunamh.GLM(X, y, tunamh.Poisson(), prior=tunamh.Normal(scale=2.5))
    >>> posterior = tunamh.sample(target, rng=1)
    """

    repeated: bool = False
    """Whether a row stands for many equal rows; its weight is their number."""

    @explained
    def __init__(
        self,
        X: Any,
        y: Any = None,
        family: BaseFamily | None = None,
        *,
        prior: Any = None,
        temper: float = 1.0,
        weights: Any = None,
        offset: Any = None,
        trials: Any = None,
        censored: Any = None,
        event: Any = None,
        entry: Any = None,
        strata: Any = None,
        predictors: Mapping[str, Any] | None = None,
    ):
        given = as_family(family)
        temper = checked_temper(temper)
        beside = RowExtras(weights, offset, trials, censoring(censored, event), predictors, entry, strata)
        rows = observe(X, y, beside, given)
        self._arrange(rows, given, prior, temper=temper, trials=trials, labels=labels_in_order(X, rows))

    @classmethod
    def of_rows(
        cls, rows: Observations, family: BaseFamily, prior: Any, *, trials: Any, labels: list[str] | None
    ) -> Self:
        """Return the regression of rows that the library has read and checked before.

        Parameters
        ----------
        rows : Observations
            The rows.
        family, prior
            The family of the responses and the prior of the coefficients.
        trials : optional
            The numbers of trials, as the user gave them.
        labels : list of str, optional
            The names of the columns of the user's table, in their order.
        """
        found = cls.__new__(cls)
        found._arrange(rows, family, prior, trials=trials, labels=labels)
        return found

    def _arrange(
        self,
        rows: Observations,
        given: BaseFamily,
        prior: Any,
        *,
        temper: float = 1.0,
        trials: Any = None,
        labels: list[str] | None = None,
    ) -> None:
        """Bring the rows into the layout of their family, and the prior to their coefficients."""
        if rows.weighted and not rows.examined:
            check_weights(rows, temper)
        given = given.settled(rows)
        row_layout = (given if trials is None else given.for_trials()).arrange(rows, temper)
        recentred = recentrings(rows, len(row_layout.names), row_layout.extras)
        if recentred:
            row_layout = row_layout._replace(start=_recentred_out(np.asarray(row_layout.start), recentred))
        observations, row_family, names = row_layout[:3]
        design = observations.design
        several = isinstance(row_family, MultiPredictorLikelihood)
        if labels is not None and isinstance(prior, Prior) and prior.by_position:
            refuse_positions(labels, rows)
        prior = as_prior(prior, names)
        coefficient_prior = prior.bind(len(names))
        refuse_unproved(row_layout, coefficient_prior)
        joint = joint_prior(coefficient_prior, row_layout, rows)
        ready = potential(coefficient_prior, joint, row_layout)
        further = [label for extra in row_layout.extras for label in extra.labels or (extra.name,)]
        self._settle(
            user_family=given,
            user_rows=rows,
            given_trials=_trials_told(trials),
            row_layout=row_layout,
            recentred=recentred,
            observations=observations,
            family=row_family,
            terms=MultiPredictor(row_family) if several else OnePredictor(row_family),
            predictors=row_family.predictors + row_family.known,
            own_bounds=not type(given).__module__.startswith("tunamh."),
            y_column=design.numbers.width,
            coefficient_prior=coefficient_prior,
            joint_prior=joint,
        )
        bound_column, parts = ROW.places(width=self.y_column).bound, self.parts_with(*self.terms.plain_parts)
        super().__init__(
            packed=PackedRows(observations.n_rows, bound_column, parts),
            hyper=own_numbers_of(observations, row_family, temper),
            family_hyper=row_family.hyper,
            dim=design.dim,
            names=[*names, *further],
            prior=prior,
            ready=ready,
            temper=temper,
        )

    user_family: Any
    """The family as the user gave it. `family` is that of the rows: an unknown parameter is one more column there."""

    user_rows: Observations
    """The observations as the user gave them. `observations` are the rows that the family makes of them."""

    given_trials: float | bool
    """The number of trials, if it is the same for all rows; True if it differs by row; False without trials."""

    recentred: list[Recentred]
    coefficient_prior: ReadyPrior

    joint_prior: ReadyMixture | None = None
    """The prior of the coefficients and of the columns of further predictors, where curves of these have scales."""

    def parts_with(self, differences: Part, energies: Part, scales: Part, **others: Part) -> Parts:
        """Return all compiled functions that a chain of this regression needs.

        These are the functions of the family, the functions of the columns, and the arguments. ``differences`` computes
        energy differences of rows, and ``energies`` computes energies. ``scales`` computes the sizes of the numbers in
        these energies; they measure rounding errors. The energy of a row is its negative log-likelihood.
        """
        own = {"family_rise": self.family.rise, "family_energy": self.family.energy}
        return Parts(differences, energies, scales)._replace(
            **others, **own, **self.observations.design.parts._asdict()
        )

    kept: KeptExpansion | None = None
    """What is known of these rows from an earlier set-up and from sums that went on since (`tunamh.living`)."""

    origin: dict[str, Any] | None = None
    """Where a target comes from, in plain values that are kept with its results."""

    def from_formula(self, formula: Any, kept_rows: np.ndarray | None = None) -> Self:
        """Return the same regression with a description of the formula that it was made from.

        ``formula`` is this description. ``kept_rows`` are the numbers of the used rows in the user's table, if rows
        with missing values were left out.
        """
        return self._with(formula=formula, kept_rows=kept_rows)

    def with_kept(self, kept: KeptExpansion) -> Self:
        """Return the same regression with a known Taylor expansion and a known mode, so that it needs no set-up.

        ``kept`` has the expansion and the mode.
        """
        return self._with(kept=kept)

    grown: Any = None
    """What `with_rows` and `without_rows` keep from one value to the next (`tunamh.targets.grown`)."""

    def with_rows(self, X: Any, y: Any, *, weights: Any = None, offset: Any = None) -> GLM:
        """Return the regression with additional rows. The old rows are not read again.

        The new target has the same posterior as a target made from all rows with the same prior. The first call needs a
        set-up, with passes over all rows. Later calls read only the new rows, with two exceptions: all rows are read
        again if their number has doubled, or if steps would read twice as many rows as after a new set-up
        (docs/living-data.md).

        Parameters
        ----------
        X, y
            The new rows. They must have the same columns as the old rows.
        weights, offset
            The weights and offsets of the new rows, if the old rows have weights or offsets.

        Raises
        ------
        NotApplicable
            If the regression has an unknown scale, several predictors or categories, or was made from a formula.

        Examples
        --------
        >>> target = target.with_rows(X_new, y_new)
        >>> posterior = tunamh.sample(target)
        """
        from .grown import with_rows  # which makes such targets

        return with_rows(self, X, y, weights=weights, offset=offset)

    def without_rows(self, numbers: Any) -> GLM:
        """Return the regression without some rows. The other rows are not read.

        The regression keeps sums over its rows, and tunamh subtracts the part of the removed rows. This causes only
        rounding errors. (For rows in files, use `tunamh.forget`. It does not subtract: it reads the files again.)

        Parameters
        ----------
        numbers : sequence of int
            The numbers of the rows to remove; the first row has number 0. The remaining rows are numbered again from 0.

        Raises
        ------
        NotApplicable
            For the same reasons as in `with_rows`.
        """
        from .grown import without_rows

        return without_rows(self, numbers)

    def from_origin(self, origin: dict[str, Any]) -> Self:
        """Return the same regression with ``origin``, a description of its data source, for the results."""
        return self._with(origin=origin)

    @property
    def description(self) -> dict[str, Any] | None:
        return regression_as_json(self)

    @property
    def data_rows(self) -> int:
        return self.user_rows.n_rows

    @property
    def seen_responses(self) -> SeenResponses | None:
        return seen_responses(self.user_rows, self.formula, self.kept_rows, self.user_family)

    # ------------------------------------------------------------------------------- what a user calls parameters

    def to_user(self, points: np.ndarray) -> np.ndarray:
        form = self.row_layout.form
        return _recentred_out(points if form is None else form.to_user(points), self.recentred)

    def to_chain(self, point: np.ndarray) -> np.ndarray:
        form = self.row_layout.form
        for one in self.recentred:
            point = one.back(point)
        return point if form is None else form.to_chain(point)

    @property
    def walks_linearly(self) -> bool:  # type: ignore[override]
        """Return True if the map from the coordinates of a chain to the user's parameters is linear (`to_user`)."""
        return self.row_layout.form is None or self.row_layout.form.linear

    @property
    def variables(self) -> list[tuple[str, list[str] | None]]:
        extras = [
            (extra.name, None if extra.labels is None else list(extra.labels)) for extra in self.row_layout.extras
        ]
        return [("theta", list(self.row_layout.names)), *extras]

    def dependent_columns(self) -> list[np.ndarray]:
        """Return a list of groups of collinear columns. Each group is an array of column numbers.

        Columns whose coefficients have a proper prior are left out.
        """
        return dependent_columns(self)

    def dependent_columns_as_given(self) -> list[np.ndarray]:
        """Return a list of groups of collinear columns, also among columns whose coefficients have a proper prior.

        Each group is an array of column numbers. Columns whose prior has an unknown scale, such as the columns of a
        curve, are left out: tunamh allows that they are collinear with other columns.
        """
        rows, mixture = self.user_rows, self.coefficient_prior.mixture
        d = rows.design.dim
        scaled = mixture.mixed if mixture is not None and mixture.few else np.zeros(d, bool)
        known = np.where(scaled[:d], NORMAL, FLAT)  # those of every class are alike
        probe = self.on_observations(
            rows,
            dim=d,
            chain_names=column_names(rows),
            prior=Flat(),
            _prior=ready(Laws(known.astype(float), np.zeros(d), np.ones(d), np.ones(d))),
            known_columns=self.columns if rows is self.observations else None,
        )
        return dependent_columns(probe)

    @property
    def several_modes_mean(self) -> str:  # type: ignore[override]
        """Return a sentence for the user: what to do if the posterior has several modes."""
        return _CHANGE_PLACES if self.user_family.named_predictors else super().several_modes_mean

    def remarks(self) -> list[str]:
        of_formula = [] if self.formula is None else self.formula.remarks(self.n_rows)
        return [*of_formula, *censoring_told(self.user_rows)]

    def separating_direction(self) -> np.ndarray | None:
        """Return a direction (d,) of the parameters in which the energy of no row ever increases.

        The energy of a row is its negative log-likelihood. The result is None if there is no such direction. Only
        coefficients with a flat prior change in this direction. If there is such a direction, the posterior is
        improper.
        """
        return separating_direction(self)

    def names_along(self, direction: np.ndarray) -> list[str]:
        """Return a list with the names of the columns whose coefficients change most in this ``direction`` (d,)."""
        return names_along(self, direction)

    def proved_proper(self, expanded: TaylorTarget, away: float) -> bool:
        """Return True if the Taylor expansion proves that the posterior is proper.

        ``expanded`` is the regression with its Taylor expansion. ``away`` is the distance from the centre of the
        expansion to the mode, in posterior standard deviations.
        """
        return proved_proper(self, expanded, away)

    def model_warnings(self) -> list[str]:
        """Return a list of sentences: warnings about the model. `sample` shows them before it starts."""
        return list(model_warnings(self))

    # ------------------------------------------------------------------------------------------- normalised densities

    def refuse_without_constants(self) -> None:
        """Raise an error if a prior is improper, or if a normalising constant is not known.

        `tunamh.evidence` needs the normalising constants of the prior and of the likelihood.
        """
        refuse_without_density(self)

    def log_joint(self, point: np.ndarray) -> float:
        """Return the log likelihood of all rows plus the log prior density, a number. Both have all constants.

        ``point`` (d,) is in the coordinates of the chain (see `to_user`), and the prior density is the density of these
        coordinates. Raises `NotApplicable` for a prior with unknown scales.
        """
        if self.coefficient_prior.mixture is not None:
            raise NotApplicable(
                "under a prior with unknown scales the coefficients alone have no density in closed form; "
                "tunamh.evidence takes such a model."
            )
        return log_likelihood(self, point) + log_prior_at(self, point)

    # ------------------------------------------------------------------------------------ the search for a mode

    @property
    def convex(self) -> bool:
        """Return True if the energy of every row is a convex function of its linear predictors.

        The energy of a row is its negative log-likelihood. For your own family the result is False unless you set
        ``convex=True``.
        """
        return self.family.convex

    def candidates(self) -> np.ndarray:
        """Return modes of the posterior of a random sample of the rows, an array (k, d).

        The search starts from many initial values. The array is empty if the energies (negative log-likelihoods) are
        convex, if the family has no quadratic upper bounds of its energies, or if it has further unknown parameters,
        such as a scale.
        """
        if self.convex or self.row_layout.form is not None or self.family.lower_bound is None:
            return super().candidates()
        return modes_from_many_starts(self.sample_of(_ROWS_FOR_MANY_STARTS, seed=2))

    def rivals(self, known: Mode) -> np.ndarray:
        """Return further modes of the posterior of a random sample of the rows, an array (k, d).

        ``known`` is the mode that the first search has found. The search uses Newton's method. The array is empty if
        the energies (negative log-likelihoods) are convex.
        """
        return super().rivals(known) if self.convex else rival_modes(self, known)

    @property
    def candidates_slack(self) -> float:
        """Return how much larger the energy (minus log density) of a candidate may be than the lowest energy.

        The search drops candidates with a larger energy. The limit is generous, because a candidate is a mode of a
        random sample of the rows, and not of all rows.
        """
        missing = max(0.0, self.n_rows / max(_ROWS_FOR_MANY_STARTS, 20 * self.dim) - 1)
        return 50.0 + 4.0 * self.dim * (1 + missing)

    @cached_property
    def modes(self) -> list[Mode]:
        """Return the modes that have a relevant share of the posterior probability: a list, the largest share first.

        If the energies (negative log-likelihoods) are convex, there is only one mode.
        """
        return self._search.modes

    @cached_property
    def _search(self) -> _Search:
        if self.kept is not None:
            return _Search([self.kept.mode], self.kept.mode.point)
        announce("looking for the mode")
        modes = searched(self)
        if modes[0].slow and self.separating_direction() is None:
            modes[0] = find_mode(self, start=modes[0].point, patient=True)
        if self._astray(modes[0]):
            again = [find_mode(self, start=start, patient=True) for start in self.search_starts()]
            modes[0] = min([modes[0], *again], key=lambda mode: (self._astray(mode), mode.posterior.energy))
        supported = modes[0].point if np.isfinite(modes[0].posterior.energy) else None
        own = self._prior.own and self.row_layout.form is None
        if own and not modes[0].found:  # its support may end before the mode: then the data's own will do
            alone = find_mode(self._with(_prior=Flat().bind(self.dim), known_columns=self.columns))
            modes = [alone] if alone.found else modes
        return _Search(modes, supported)

    def _astray(self, mode: Mode) -> bool:
        """Whether the Laplace law there cannot be that of a mode (`impossible`)."""
        if not (np.isfinite(mode.posterior.energy) and np.isfinite(mode.posterior.hessian).all()):
            return False
        width = np.linalg.norm(mode.posterior.metric().factor, axis=1)
        return impossible(width, self._prior, self.convex)

    def supported_point(self) -> np.ndarray | None:
        return self._search.supported

    def __repr__(self) -> str:
        """With its family, unless the target's own name says it."""
        family = f"{self.user_family!r}, " if type(self) is GLM else ""
        return f"{type(self).__name__}({family}{self._about})"

    def __str__(self) -> str:
        """For people, in several lines, if the regression was made from a formula."""
        return repr(self) if self.formula is None else self.formula.described(self)

    # --------------------------------------------------------------------------------------------- what it offers

    @cached_property
    def mixed_prior(self) -> GLM | None:
        """Return the same regression, with its prior written as a normal prior with unknown scales.

        This is useful if a Student-t or Laplace prior is about as narrow as the likelihood. The posterior then has the
        peak and the tails of the prior, and a Gaussian approximation has neither. The result is None if this is not
        useful. If the prior has unknown scales already, the regression itself is returned.
        """
        prior = self._prior
        if prior.mixture is not None:
            return self
        closed = prior if isinstance(prior, ReadyClosed) else None
        own = prior if closed is None else closed.coefficients
        if not isinstance(own, ReadyIndependent) or self.highest_order() < 2:
            return None
        if (own.laws.kind > LAPLACE).any() or not (own.laws.kind > NORMAL).any():  # not all of it can be mixed
            return None
        if not self._dominated(own.laws):
            return None
        mixed = mixture_of_laws(own.laws)
        if closed is not None:
            mixed = closed_form(closed.form, mixed, [closed.extras], np.asarray(self.row_layout.start))
        return self._with(_prior=mixed, known_columns=self.columns)

    def _dominated(self, laws: Laws) -> bool:
        """Whether a posterior is about as wide as a Student-t or Laplace law, or has no Laplace law of its own."""
        point, posterior = self.modes[0].point, self.modes[0].posterior
        if not np.isfinite(posterior.hessian).all():
            return False
        metric = posterior.metric()
        if self.row_layout.form is not None and not metric.positive_definite:
            return True
        width = np.linalg.norm(metric.factor, axis=1)
        if self.row_layout.form is not None:
            near = point + np.random.default_rng(0).standard_normal((_DRAWS_FOR_WIDTH, self.dim)) @ metric.factor.T
            width = np.std(self.to_user(near), axis=0)[: len(laws.kind)]
        return bool(((laws.kind > NORMAL) & (width > _DOMINATED * laws.scale)).any())

    def distinct(self) -> GLM | None:
        """Return a regression with the same posterior, in which several equal rows are one row with a larger weight.

        The result is None if only a few rows are equal.
        """
        found = distinct(self.observations)
        if found is None:
            return None
        return self.on_observations(
            found,
            user_rows=found if self.user_rows is self.observations else self.user_rows,
            repeated=True,
            own_numbers=own_numbers_of(found, self.family, self.temper),
        )

    def highest_order(self) -> int:
        """Return the highest order of a Taylor expansion of the energies whose remainder is bounded in every row.

        The result is 0 if there is no such order. The energy of a row is its negative log-likelihood.
        """
        of = self.terms
        if of.known_order is not None:
            return of.known_order
        return min(self.observations.map(lambda rows: of.highest_order(rows.y)))

    def taylor(
        self, order: int, centre: np.ndarray, at_centre: Expansion, *, whiten: bool, original_bounds: bool
    ) -> TaylorTarget:
        """Return a target with the same posterior, in which each energy is a Taylor polynomial plus a remainder.

        The energy of a row is its negative log-likelihood. The target adds up the polynomials of all rows once, so a
        step reads rows only for the remainders. ``at_centre`` has the sum of the energies at ``centre``, its gradient
        and its Hessian. The other arguments are those of `tunamh.Taylor`. Section 5a of docs/spec.md has the bounds of
        the remainders.
        """
        return expanded(self, order, centre, at_centre, whiten=whiten, original_bounds=original_bounds)

    def firefly(self, centre: np.ndarray | None) -> TaylorTarget:
        """Return a target with the same posterior and with lower bounds of the likelihood, for `FlyMC`.

        Each bound equals the likelihood of its row at ``centre`` (d,). With None, the family chooses where they are
        equal.
        """
        return firefly(self, centre)

    def start(self, rng: np.random.Generator, chain: int = 0) -> np.ndarray:
        """Return a random initial state (d,) near a mode.

        The state is normal around the mode, with twice the standard deviations of Laplace's approximation. If there are
        several modes, the chains use them in turn; ``chain`` is the number of the chain. If no mode was found, the
        state is normal around the centre of the prior (zero for a flat prior). The standard deviation of a coefficient
        is then one over the root mean square of its column.
        """
        mode = self.modes[chain % len(self.modes)]
        if mode.found:
            return mode.point + _START_SPREAD * (mode.posterior.metric().factor @ rng.standard_normal(self.dim))
        size = np.sqrt(self.sums(lambda X, y, weight: (X.column_squares(),))[0] / self.n_rows)
        unit = np.divide(1.0, size, out=np.ones(self.dim), where=size > 0)
        return self._prior.mean + unit * rng.standard_normal(self.dim)


class _Search(NamedTuple):
    """What the search for modes found: these, and a point at which the posterior is positive, where there is one."""

    modes: list[Mode]
    supported: np.ndarray | None


def _trials_told(trials: Any) -> float | bool:
    return float(trials) if isinstance(trials, int | float | np.number) else trials is not None


def _recentred_out(points: np.ndarray, recentred: list[Recentred]) -> np.ndarray:
    for one in recentred:
        points = one.out(points)
    return points


def own_numbers_of(observations: Observations, family: Any, temper: float) -> tuple[float, ...]:
    """Return the numbers that compiled code reads for the rows of a regression."""
    design = observations.design
    weighted = observations.weighted
    return own_numbers(design.numbers, temper=temper, weighted=weighted, grain=family.grain, table=design.table)
