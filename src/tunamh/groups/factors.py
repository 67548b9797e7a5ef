"""Factors of a model beside its regression: where their effects enter, and what is refused."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import NotApplicable
from ..rows.source import Rows
from ..targets.checks.flat_positive import is_flat, weight_of_errors, without_prior
from ..targets.checks.flat_positive import refuse as refuse_flat
from ..targets.coordinates.base import Df, Scale
from ..targets.description import classes_of
from ..targets.families.base import Responses
from ..targets.glm import GLM
from ..targets.observations.row_layout import rough_fit
from ..targets.scale_mixtures.nested import MOST_SCALES, may_be_nested
from .grouping import GroupEffects, Grouping, read_groups


def refuse(base: GLM, form: Any) -> None:
    """Raise `NotApplicable` for models that a sweep cannot sample."""
    if isinstance(form, Df):
        raise NotApplicable(
            f"a model with group effects and unknown degrees of freedom needs an unknown scale: {base.user_family!r}."
        )
    if base._prior.mixture is not None and not may_be_nested(base):
        raise NotApplicable(
            f"priors.Horseshoe has a scale for each coefficient, and no more than {MOST_SCALES} unknown scales of a "
            "prior are sampled beside group effects. Give the coefficients priors.Grouped, Ridge, Normal, StudentT or "
            "Laplace; or use tunamh.GLM without groups=."
        )


def refuse_flat_scales(base: GLM, groupings: list[Grouping]) -> None:
    """Raise an error if a flat prior of a group scale is not proved to give a posterior.

    With Gaussian errors the density of the responses is ``|V|^-1/2 |X'V^-1 X|^-1/2 exp(...)`` with ``V = s_e^2 + s^2
    ZZ'``. As ``s`` grows, the first factor falls like ``s^-G`` with ``G`` groups. The second factor grows at most like
    ``s^r`` with ``r`` coefficients without a prior. So ``G - r > 1`` is enough. If the errors' scale is flat as well,
    both scales may grow together, and the density falls like ``s^-(n - r)`` in two dimensions. So ``n - r > 2`` is
    needed, too.
    """
    for one in groupings:
        if one.laws is None or not is_flat(one.laws):
            continue
        name = f"the scale of {one.name}"
        if one.df or one.related is not None:
            refuse_flat(name, "this prior is possible only for normal effects of unrelated levels")
        if len(groupings) > 1 or one.q > 1 or not base.family.squared:
            refuse_flat(
                name, "this prior is possible only for a single factor with one column of effects, and Gaussian errors"
            )
        free, form = without_prior(base.coefficient_prior), base.row_layout.form
        if not _groups_with_rows(base, one) - free > 1:
            refuse_flat(name, "there are too few groups for the coefficients that have no prior")
        both = any(is_flat(laws) for laws in base.row_layout.laws)
        if both and isinstance(form, Scale) and not weight_of_errors(form) - free > 2:
            refuse_flat(name, "there are too few rows for the coefficients that have no prior")


def _groups_with_rows(base: GLM, one: Grouping) -> int:
    """The groups that have a row with a weight and an effect."""

    def seen(rows: Rows) -> np.ndarray:
        which = slice(rows.start, rows.start + len(rows.y))
        counts = (base.weight(rows) > 0) & (one.Z[which, 0] != 0)
        return np.unique(one.codes[which][counts])

    return len(np.unique(np.concatenate(list(base.observations.map(seen)))))


def groupings_of(base: GLM, given: list[GroupEffects], unit: float) -> list[Grouping]:
    """Return the groupings of all factors for the rows of a regression. A row with trials may have become two rows.

    In a family with unordered classes, every class except the reference has its own effects and scales. If some factor
    is added to the predictor of a further parameter, every factor is added to exactly one predictor.
    """
    index, n_given = base.observations.origin or base.user_rows.origin or (slice(None), base.n_rows)
    divided = base.row_layout.unit  # as the columns of the coefficients are
    read = [one.of_rows(index, divided) for one in read_groups(given, n_given, unit)]
    if any(one.parameter is not None for one in read):
        for one in read:
            _refuse_without_columns(base, one)
        return [replace(one, predictor=_predictor_of(base, one)) for one in read]
    if not base.user_family.coefficients_per_class:
        return read
    classes = classes_of(base) or []
    return [one.of_class(k, label, j) for j, one in enumerate(read) for k, label in enumerate(classes[1:])]


def _refuse_without_columns(base: GLM, one: Grouping) -> None:
    """Effects add to a predictor that columns describe."""
    name, known = one.parameter, base.user_family.described
    if name is None or name in base.user_rows.described:
        return
    if name not in known:
        offered = ", ".join(known) if known else "none"
        raise ValueError(
            f"the groups of {one.name} are in the predictor of {name}, but {type(base.user_family).__name__} has no "
            f"such predictor (its parameters with predictors: {offered})."
        )
    raise ValueError(
        f"the groups of {one.name} are in the predictor of {name}, which has no columns: pass "
        f"predictors={{{name!r}: ...}} too, a column of ones at least."
    )


def _predictor_of(base: GLM, one: Grouping) -> int:
    """The number of the row's predictor that has the coefficients, or the columns of the factor's parameter.

    The columns of a described parameter are a variable of its name, and one stretch of the common parameters.
    """
    at = 0
    if one.parameter is not None:
        extras = base.row_layout.extras
        before = [extra.name for extra in extras].index(one.parameter)
        at = len(base.row_layout.names) + sum(extra.size for extra in extras[:before])
    terms = base.observations.design.terms  # type: ignore[attr-defined]
    moving = [term for term in terms if term.predictor < base.family.predictors]  # without columns of the data
    (found,) = {term.predictor for term in moving if term.start == at}
    return int(found)


_UNITS = 2.5  # residual deviations: the scale of default priors of effects on real responses


def unit(base: GLM, form: Scale | None) -> float:
    """Return the unit of default priors: that of the responses if these are real, and 1 if the family has a link."""
    if form is not None:
        return _UNITS / form.tau_0
    reals = base.user_rows.described and base.user_family.responses is Responses.REALS
    if base.family.of_residuals or reals:
        return _UNITS * rough_fit(base.user_rows, lambda rows: rows.y).scale
    return 1.0
