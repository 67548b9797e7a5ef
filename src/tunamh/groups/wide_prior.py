"""Groups beside a prior with unknown scales: where rows are expanded, what scales are proposed from (spec 5q).

About a centre, with the effects integrated out of the quadratic, the scales have a law in closed form (spec 5u). The
search for the centre and the laws of the factors take the prior as wide as the scales are one deviation above their
mean; both are found in turn. Any width and any tables are exact.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..errors import NotApplicable
from ..priors.laws import ready
from ..priors.mixtures import ReadyMixture
from ..priors.potential import ReadyPrior
from ..process.stages import announce
from ..proposals.nested_law import NestedLaw
from ..proposals.scale_tables import TABLES
from ..targets.coordinates.base import Scale
from ..targets.coordinates.closed_form_prior import ReadyClosed
from ..targets.scale_mixtures.known_error import Quadratic
from ..targets.scale_mixtures.nested import InUnits, as_wide_as, law_of
from ..targets.scale_mixtures.unknown_error import Scaled
from .centre import Centre, CrossedSystem, find_centre
from .marginal import Marginal
from .scale_priors import ScalePriors
from .sums import GroupedRows

_MOST_CENTRES = 4
_NEAR = 0.3  # of a change of log variances
_NO_LAW = (
    "the scales of curves (or of Ridge, Grouped) in this model with groups cannot be sampled, because no quadratic "
    "approximation was found at the centre. Use a curve without an unknown scale, bs(x, 6), or leave the curve out "
    "of the predictor of the other parameter."
)


class WidePrior(NamedTuple):
    """The centre under a prior of known width and this prior, with the law of the log variances.

    The law has means, standard deviations and tables.
    """

    centre: Centre
    priors: ScalePriors
    lam: np.ndarray
    spread: np.ndarray
    tables: np.ndarray

    @property
    def wide(self) -> np.ndarray:
        """Return the log variances of the prior for which the laws of proposals are made."""
        return self.lam + self.spread


def wide_prior(base: Any, rows: GroupedRows, priors: ScalePriors, centre: Centre) -> WidePrior:
    """Search the scales of the prior from a centre under any of its widths. A step that overflows is undone."""
    announce("looking for the scales of the prior")
    with np.errstate(all="ignore"):
        return _found(base, rows, priors, centre)


def _found(base: Any, rows: GroupedRows, priors: ScalePriors, centre: Centre) -> WidePrior:
    start, used = base.row_layout.start, np.full(len(base._prior.mixture.start), np.inf)
    law, before = None, centre
    found: dict[str, np.ndarray] = {}
    for _ in range(_MOST_CENTRES):
        try:
            law, found = _law_and_tables(base, rows, priors, centre)
        except (np.linalg.LinAlgError, NotApplicable):
            if law is None:
                raise NotApplicable(_NO_LAW) from None
            centre = before  # wider scales led the search to where rows have no quadratic; any centre is exact
            break
        wide = law.lam + law.spread
        changed, used = np.abs(wide - used).max(), wide
        priors = replace(priors, common=as_wide_as(priors.common, np.exp(wide), start))
        before, centre = centre, find_centre(rows, priors, centre.at)
        if changed < _NEAR:
            break
    assert law is not None
    centre = centre if np.isfinite(centre.at.common).all() else before
    return WidePrior(centre, priors, law.lam, law.spread, TABLES.pack(**found))


def _law_and_tables(
    base: Any, rows: GroupedRows, priors: ScalePriors, centre: Centre
) -> tuple[NestedLaw, dict[str, np.ndarray]]:
    law = _law(base, rows, priors, centre)
    found = law.tables()
    if not all(np.isfinite(values).all() for values in (law.lam, law.spread, *found.values())):
        raise np.linalg.LinAlgError
    return law, found


def _law(base: Any, rows: GroupedRows, priors: ScalePriors, centre: Centre) -> NestedLaw:
    """In units of the errors' scale, where that is unknown."""
    bare = replace(priors, common=_without_coefficients(priors.common))
    at, form = centre.at.common, base.row_layout.form
    if len(rows.groupings) == 1:
        _, step, H = Marginal(rows, 0, centre.at, centre.sums, bare).solve(centre.scales[0])
        gradient = -H @ step
    else:
        covariance = CrossedSystem.at(rows, centre, priors).covariance_of_common()
        ours, theirs = (one.common_expansion(at, centre.sums.hessian) for one in (priors, bare))
        H = np.linalg.inv(0.5 * (covariance + covariance.T)) - (ours[1] - theirs[1])
        gradient = theirs[0] - ours[0]
    mixture, quadratic = base._prior.mixture, Quadratic(H, gradient, at)
    if isinstance(form, Scale):
        return InUnits.of(Scaled(form), mixture, at).law(mixture, quadratic)
    return law_of(mixture, H, quadratic.moment, at)


def _without_coefficients(prior: ReadyPrior) -> ReadyPrior:
    if isinstance(prior, ReadyClosed):
        return prior.without_coefficients()
    assert isinstance(prior, ReadyMixture)
    return ready(prior.laws._replace(kind=np.zeros(len(prior.laws.kind))))


def fields_of(model: Any) -> dict[str, Any]:
    """Return what a sweep reads of the unknown scales of a prior."""
    first, mixture = model.p + sum(one.scales for one in model.groupings), model.base._prior.mixture
    found: dict[str, Any] = {"prior_scales_at": first, "prior_tau": 1.0, "prior_offset": np.zeros(model.p)}
    if mixture is None:
        return {**found, "prior_mixture": [], "prior_wide": [], "prior_tables": []}
    if model.form is not None:
        found["prior_tau"] = model.scale_priors.tau(model.centre.at.common)
        found["prior_offset"][model.form.coefficients_at] = model.form.b0
    own = model.wide_prior
    return {**found, "prior_mixture": mixture.by_shares, "prior_wide": own.wide, "prior_tables": own.tables}
