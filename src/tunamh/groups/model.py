"""Regressions whose rows lie in groups with effects of their own (spec 5q)."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._arguments import explained, flag
from ..acceptance.grouped import BOUND, ROW
from ..errors import NotApplicable
from ..laplace.gaussian import LaplaceGaussian
from ..priors import Flat
from ..priors.potential import ReadyPrior
from ..process.scratch import folder_in_force, large, large_arrays_in, stretches
from ..process.stages import announce
from ..rows.packing import HeldRows, PackedRows, columns_by_name
from ..rows.source import Rows
from ..rows.table_source import SomeColumns, Tables
from ..targets.base import Target
from ..targets.coordinates.base import Scale
from ..targets.families.registry import as_family
from ..targets.glm import GLM
from ..targets.glm_rows import own_numbers
from ..targets.layouts import MULTI_PREDICTOR_ROW, pack_hyper
from ..targets.observations.censored import censoring
from ..targets.observations.inputs import RowExtras, labels_in_order, observe
from ..targets.observations.observed import SeenResponses, seen_responses
from ..targets.parts import no_distance
from .centre import Centre
from .description import mixed_as_json
from .factor_setup import factor_record
from .factors import groupings_of, refuse, refuse_flat_scales, unit
from .from_tables import from_tables
from .grouping import Grouping, factors_given, warn_of_single_rows
from .initial_state import initial_state
from .laplace import SharedParameters, law_of_shared
from .layout import COMMON, FACTOR, pack
from .parameters import GroupedParameters, effect_names, prior_scale_names, scale_names
from .perfect_fit import refuse_perfect_fit
from .predictors import with_groups
from .scale_priors import ScalePriors
from .soundness import trusted_centre
from .sums import GroupedRows, Point
from .sweep import Sweep
from .wide_prior import WidePrior, fields_of, wide_prior

if TYPE_CHECKING:
    from .learned_law import At, LearnedLaw

_MOST_KEPT = 100_000  # effects


class MixedModel(GroupedParameters):
    """A regression with group effects (a mixed or hierarchical model): a target for `tunamh.sample`.

    The linear predictor of row ``i`` is ``eta_i = x_i.theta + sum_f z_fi.v_f,g(i)``, with a sum over the factors ``f``.
    ``g(i)`` is the group of row ``i`` in factor ``f``. ``v_f,g ~ N(0, Sigma_f)`` are the effects of group ``g``: the
    coefficients of the columns ``z_f`` (a column of ones for random intercepts). `tunamh.regression` makes such models
    from formulas with ``(1 | group)``.

    Parameters
    ----------
    X, y, family, prior, weights, offset, trials, censored, event, predictors, entry, strata
        The same arguments as for `GLM`. ``theta`` are the coefficients of ``X``. All families work, also with unknown
        parameters. With `Categorical` every class except the reference class has its own effects and scales. Rows of
        `tunamh.open_rows` are read once and must fit into its ``memory``, or into files (``scratch=``).
    groups : GroupEffects, or a list of them
        One `GroupEffects` for each factor. Factors can be crossed or nested; a nested factor has its own codes, such as
        ``school + "/" + class``. A plain column of codes means random intercepts. ``GroupEffects(codes,
        predictor="scale")`` adds the effects to the predictor of the scale. If ``X`` comes from `open_rows`, use column
        names: ``groups="carrier"``, ``GroupEffects("carrier", ["distance"])``.
    keep_effects : bool, optional
        True: results have the draws of all effects. False: results have no draws of effects, but a group
        ``group_effects`` of arrays with the mean and the standard deviation of every effect for each chain. Default:
        True if there are at most 100,000 effects.

    Results have the variables ``theta``, the family's parameters, ``group_scale``, ``group_correlation`` (if effects
    have several columns), and ``group_effect``. The labels of ``group_effect`` are names of factors and levels.

    Examples
    --------
    >>> target = tunamh.MixedModel(X, y, tunamh.Logistic(), tunamh.GroupEffects(airport))
    >>> posterior = tunamh.sample(target, rng=1)
    >>> tunamh.group_effects(posterior)
    """

    search_start: Point | None = None
    """The point where the search for a mode begins; None: the mode of the model without groups."""

    search_scales: list[np.ndarray] | None = None
    """The scales there, of every factor; None: usual ones."""

    learned_start: At | None = None
    """Where the search for the learned law begins; None: at Laplace's centre."""

    set_up_told: str | None = None
    """Of rows in files with a cache: which files were read, and where the searches began."""

    @explained
    def __init__(
        self,
        X: Any,
        y: Any,
        family: Any,
        groups: Any,
        *,
        prior: Any = None,
        weights: Any = None,
        offset: Any = None,
        trials: Any = None,
        censored: Any = None,
        event: Any = None,
        predictors: Any = None,
        entry: Any = None,
        strata: Any = None,
        keep_effects: bool | None = None,
    ):
        beside = RowExtras(weights, offset, trials, censoring(censored, event), predictors, entry, strata)
        folder = folder_in_force()
        if isinstance(X, SomeColumns | Tables):
            X, y, beside, groups, folder = from_tables(X, y, beside, groups)
        with large_arrays_in(folder):
            self._read(X, y, family, groups, prior, beside)
        self._settle(scratch=folder)
        if keep_effects is not None:
            self._settle(keeps_effects=flag("keep_effects", keep_effects))

    def _read(self, X: Any, y: Any, family: Any, groups: Any, prior: Any, beside: RowExtras) -> None:
        given = factors_given(groups, X)
        family = as_family(family)
        rows = observe(X, y, beside, family)
        base = GLM.of_rows(rows, family, prior, trials=beside.trials, labels=labels_in_order(X, rows))
        if base.user_rows.memory is not None:
            raise NotApplicable(
                "group effects need rows in memory in any order, and a source of your own gives them block by block: "
                "give X and y as arrays, or columns of tunamh.open_rows by name."
            )
        form = base.row_layout.form
        refuse(base, form)
        form = form if isinstance(form, Scale) else None  # what else there is, effects do not depend on
        self._set_up(base, groupings_of(base, given, unit(base, form)), form)
        self._settle(user_family=base.user_family)
        of_labels = base.user_family.of_labels and beside.trials is None
        if (form is not None or of_labels) and beside.weights is None:
            warn_of_single_rows(self.groupings)

    def _set_up(self, base: GLM, groupings: list[Grouping], form: Scale | None) -> None:
        """Of the common columns' regression and the groups; nothing is read yet."""
        refuse_flat_scales(base, groupings)
        refuse_perfect_fit(base, groupings, form)
        p, n_effects = base.dim, sum(one.groups * one.q for one in groupings)
        of_prior = [] if base._prior.mixture is None else prior_scale_names(base._prior.mixture)
        m = sum(one.scales for one in groupings) + len(of_prior)
        design, rows = with_groups(base, groupings, p + m)
        self._settle(
            base=base,
            groupings=groupings,
            form=form,
            p=p,
            m=m,
            effects=n_effects,
            keeps_effects=n_effects <= _MOST_KEPT,
            grouped=GroupedRows(base, groupings),
            given_priors=ScalePriors(base._prior, groupings, -1 if form is None else form.tau_at),
            rows_of=base.on_observations(rows, y_column=design.numbers.width),
            predictors=base.predictors,
        )
        effects = [name for one in groupings for name in effect_names(one)]
        scales = [f"log group_scale[{name}]" for one in groupings for name in scale_names(one)]
        bound_column = MULTI_PREDICTOR_ROW.places(width=design.numbers.width, K=1).bound
        parts = base.parts_with(*base.terms.taylor_parts)._replace(**design.parts._asdict(), distance=no_distance)
        Target.__init__(
            self,
            packed=PackedRows(base.n_rows, bound_column, parts),
            hyper=own_numbers(
                design.numbers,
                temper=base.temper,
                weighted=rows.weighted,
                grain=base.family.grain,
                table=design.table,
            ),
            family_hyper=list(base._family_hyper),
            dim=p + m + len(effects),
            names=[*base.chain_names, *scales, *of_prior, *effects],
            prior=None,
            ready=Flat().bind(p + m + len(effects)),
            temper=base.temper,
        )
        self._settle(prior=base.prior)

    grouped: GroupedRows
    given_priors: ScalePriors
    rows_of: GLM
    user_family: Any
    fingerprint_of_all_rows = True

    scratch: str | None = None
    """The folder of files for large arrays; None: they are in memory."""

    origin: dict[str, Any] | None = None
    """Where a target comes from, in plain values that are kept with its results."""

    def from_formula(self, formula: Any, kept_rows: np.ndarray | None = None) -> Self:
        """Return the same model with a description of the formula that it was made from.

        ``formula`` is this description. ``kept_rows`` are the numbers of the used rows in the user's table, if rows
        with missing values were left out.
        """
        return self._with(formula=formula, kept_rows=kept_rows)

    @property
    def data_rows(self) -> int:
        return self.base.user_rows.n_rows

    @property
    def seen_responses(self) -> SeenResponses | None:
        return seen_responses(self.base.user_rows, self.formula, self.kept_rows, self.user_family)

    def from_origin(self, origin: dict[str, Any]) -> Self:
        """Return the same model with ``origin``, a description of its data source, for the results."""
        return self._with(origin=origin)

    @property
    def description(self) -> dict[str, Any] | None:
        return mixed_as_json(self)

    # ------------------------------------------------------------------------------------------------- the set-up

    @cached_property
    def learned(self) -> LearnedLaw | None:
        """Return a normal approximation of the common parameters and the scales, computed from draws of the effects.

        The common parameters are the coefficients and the parameters of the family. Section 5q of docs/spec-groups.md
        has the method. The result is None if the sampler uses Laplace's approximation instead.
        """
        from .learned_law import learned_law  # which makes sweeps of such models

        return learned_law(self._by_laplace)

    @cached_property
    def joint(self) -> np.ndarray | None:
        """Return the numbers that the sampler needs to move the effects of all factors together.

        Section 5q of docs/spec-groups.md describes these moves. The sampler uses them if several factors have groups
        with few rows; otherwise the result is None.
        """
        from .joint_law import joint_law  # which makes sweeps of such models

        return joint_law(self)

    @cached_property
    def _by_laplace(self) -> Self:
        """The same model, its common parameters and scales drawn from the Laplace law."""
        if self.scaled_prior:
            return self._with(learned=None, joint=None, laplace_centre=self.laplace_centre, wide_prior=self.wide_prior)
        return self._with(learned=None, joint=None, laplace_centre=self.laplace_centre)

    @property
    def centre(self) -> Centre:
        """Return the point at which the Taylor expansions are made: an approximate mode, with the scales there."""
        return self.laplace_centre if self.learned is None else self.learned.centre

    @property
    def scaled_prior(self) -> bool:
        """Return True if the prior of the common parameters has unknown scales.

        The common parameters are the coefficients and the parameters of the family. A model with curves is an example.
        """
        return self.base._prior.mixture is not None

    @cached_property
    def wide_prior(self) -> WidePrior:
        """Return what the sampler needs if the prior of the coefficients has unknown scales, as in a model with curves.

        The result has three parts: the centre of the Taylor expansions; the prior with its scales fixed at large
        values; and the means and standard deviations of the logarithms of the prior variances. The sampler proposes new
        scales from the last part.
        """
        return wide_prior(self.base, self.grouped, self.given_priors, self._first_centre)

    @property
    def scale_priors(self) -> ScalePriors:
        """Return the priors of the scales of the group effects, in the form that the sampler reads."""
        return self.wide_prior.priors if self.scaled_prior else self.given_priors

    @property
    def prior_of_common(self) -> ReadyPrior:
        """Return the prior of the common parameters, without those terms whose scale is unknown.

        The common parameters are the coefficients and the parameters of the family.
        """
        prior: Any = self.base._prior
        return prior.without_scaled() if self.scaled_prior else prior

    @cached_property
    def laplace_centre(self) -> Centre:
        """Return an approximate mode, and the scales there. Laplace's approximation uses this point."""
        return self.wide_prior.centre if self.scaled_prior else self._first_centre

    @property
    def _first_centre(self) -> Centre:
        base = self.base
        start = self.search_start
        if start is None:
            announce("looking for a start")
            mode = base.modes[0]
            common = np.array(mode.point if np.isfinite(mode.posterior.energy) else base._prior.mean, dtype=np.float64)
            start = Point(common, [np.zeros((one.groups, one.q)) for one in self.groupings])
        return trusted_centre(base, self.grouped, self.given_priors, start, self.search_scales)

    def _factor_records(self) -> list[np.ndarray]:
        """For each factor the vector of numbers that a sweep reads (`tunamh.groups.layout.FACTOR`)."""
        learned, centre = self.learned, self.centre
        laws = [None] * len(self.groupings) if learned is None else zip(learned.roots, learned.offsets, strict=True)
        announce("bounding every row")
        thirds = self.grouped.thirds(centre.at)
        return [
            factor_record(self.grouped, f, centre, self.scale_priors, third, law)
            for f, (third, law) in enumerate(zip(thirds, laws, strict=True))
        ]

    def let_go(self) -> None:
        """Release the memory of the packed rows and of other arrays that only the sampler needs."""
        self._let_go("factors", "_hyper", "_packed", "supply")

    @cached_property
    def factors(self) -> list[Any]:
        """Return a list with one entry for each factor: the numbers that a step of the sampler reads.

        The numbers have names. For example, one of them is the approximate mode of each effect.
        """
        own, at = self._hyper, int(self._hyper[0])
        starts = COMMON.views(own, at).factor_start.astype(int)
        return [FACTOR.views(own, at + start) for start in starts]

    def _pack(self) -> HeldRows:
        learned = self.learned
        if learned is None and "learned" not in self._facts:
            return self._by_laplace._held
        if learned is not None and learned.packed is not None:
            return learned.packed.rows
        with large_arrays_in(self.scratch):
            return self._packed_rows()

    def _packed_rows(self) -> HeldRows:
        centre, factors = self.centre, self.factors
        width, first = self.rows_of.y_column, factors[0]
        bounds = large(self.n_rows)
        for which in stretches(self.n_rows):
            bounds[first.places[which, ROW].astype(np.int64)] = first.places[which, BOUND]
        at = centre.at
        state = np.concatenate([at.common, np.zeros(self.m), *(effects.ravel() for effects in at.effects)])

        def fill(rows: np.ndarray, block: Rows) -> None:
            which = slice(block.start, block.start + len(block.y))
            columns = columns_by_name(MULTI_PREDICTOR_ROW, rows, width=width, K=self.base.family.predictors)
            columns.bound[:] = bounds[which]
            self.grouped.seen.fill_centre(columns, self.grouped.seen.of(block, state), block.y)

        packed = self.rows_of.packed(self.base.terms.centre_columns, fill)
        return HeldRows(packed.rows, packed.bound_column)

    @cached_property
    def _hyper(self) -> np.ndarray:
        learned = self.learned
        if learned is None and "learned" not in self._facts:
            return self._by_laplace._hyper  # made already, to find that nothing better can be learned
        if learned is not None and learned.packed is not None:
            return learned.packed.numbers
        with large_arrays_in(self.scratch):
            return self._numbers()

    def _numbers(self) -> np.ndarray:
        centre, form = self.centre, self.base.row_layout.form
        expansion = pack(
            self._factor_records(),
            n_scales=self.m,
            all_groups=sum(one.groups for one in self.groupings),
            most_effects=max(one.q for one in self.groupings),
            tau_at=-1 if self.form is None else self.form.tau_at,
            shared_at=self.p if form is None or isinstance(form, Scale) or form.of_columns else form.coefficients,
            share_at=-1 if form is None else form.share_at,
            centre=centre.at.common,
            gradient=centre.sums.gradient,
            hessian=centre.sums.hessian,
            **fields_of(self),
        )
        return pack_hyper(self.own_numbers, expansion)

    @property
    def total_bound(self) -> float:
        return float(sum(numbers.bound_total.sum() for numbers in self.factors))

    @property
    def fingerprint(self) -> str:
        return self.base.fingerprint

    def remarks(self) -> list[str]:
        of_formula = [] if self.formula is None else self.formula.remarks(self.n_rows)
        return [*of_formula, *self.base.remarks()]

    def check_data(self) -> None:
        self.base.check_data()

    def own_kernel(self) -> Sweep:
        return Sweep()

    def why_own_kernel(self) -> str:
        groups = " and ".join(f"{one.groups:,} of {one.name}" for one in self.groupings)
        how = f"common parameters and scales together, then each group separately: {groups}"
        return how if self.set_up_told is None else f"{self.set_up_told}; {how}"

    def laplace_gaussian(self) -> tuple[LaplaceGaussian | None, Any]:
        """Return a pair: Laplace's approximation, and the target whose parameters it describes.

        The parameters are the coefficients and, for a single factor, the scales of its effects. The first entry is None
        if there is no such approximation, for example with Student-t effects.
        """
        none = self.scaled_prior or any(one.df for one in self.groupings)  # it is that of normal effects
        return None if none else self._law_of_shared, SharedParameters(self)

    @cached_property
    def _law_of_shared(self) -> LaplaceGaussian:
        return law_of_shared(self)

    def start(self, rng: np.random.Generator, chain: int = 0) -> np.ndarray:
        """Return a random initial state, an array, from a distribution that is wider than the posterior.

        The common parameters and the logarithms of the scales are normal around an approximate mode, with twice the
        standard deviations of the Gaussian approximation. The initial logarithm of a scale differs from the mode by at
        most 3. If the prior density of an initial value is zero, the mode is used instead. Given these values, the
        group effects are drawn around their approximate conditional means.
        """
        return initial_state(self, rng)

    def __repr__(self) -> str:
        groups = ", ".join(f"{one.groups} groups of {one.name}" for one in self.groupings)
        return f"MixedModel({self.n_rows} rows, {self.user_family!r}, {self.p} common parameters, {groups})"

    def __str__(self) -> str:
        """For people, in several lines, if the model was made from a formula."""
        return repr(self) if self.formula is None else self.formula.described(self)
