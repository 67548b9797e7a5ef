"""A regression under a prior with a few unknown scales: these and the coefficients in one step (spec 5u).

States are those of `tunamh.targets.scale_mixtures.known_error`: parameters, then the variances of groups of
coefficients. The proposal is `tunamh.proposals.nested`. Rows are expanded about the mean of the coefficients at the
scales' own mean, which a few passes find: bounds are made with the prior as wide as it is there.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from ...compiled import Part
from ...errors import NotApplicable
from ...priors.laws import Laws, ready
from ...priors.mixtures import Mixture, ReadyMixture
from ...priors.potential import ReadyPrior
from ...process.stages import announce
from ...proposals.nested import knobs_of, nested
from ...proposals.nested_law import NestedLaw, ScalePrior
from ..base import Expansion
from ..coordinates.base import Scale
from ..coordinates.closed_form_prior import ReadyClosed, closed_form
from ..search.newton import find_mode
from .known_error import GivenScalesTarget, Quadratic
from .unknown_error import Scaled

MOST_SCALES = 32
"""More scales than these are drawn in turn with the coefficients."""

_MOST_CENTRES = 4
_TRIALS = 40
_NEAR = 0.3  # of a change of log variances, and of a mean in posterior standard deviations: the centre may stay
_FAR = 2.0  # of the mean: farther than the quadratic is to be trusted


def law_of(
    mixture: Mixture,
    hessian: np.ndarray,
    moment: np.ndarray,
    about: np.ndarray,
    mean: np.ndarray | None = None,
) -> NestedLaw:
    """Return the joint law of the coefficients and their scales, with the normal priors of the other parameters.

    ``about`` is the centre of the quadratic function. ``mean`` are prior means, if coordinates are not the usual ones.
    """
    mixed, fixed_variance = mixture.mixed, mixture.fixed_variance
    mean = mixture.mean if mean is None else mean
    precision = np.where(mixed | ~np.isfinite(fixed_variance), 0.0, 1.0 / fixed_variance)
    own = mixture.numbers
    try:
        return NestedLaw(
            hessian + np.diag(precision),
            moment + precision * mean,
            mixture.shares,
            mean,
            ScalePrior(own.df, own.width),
            about,
        )
    except np.linalg.LinAlgError:
        raise NotApplicable("the rows' quadratic is not positive definite in parameters without scales") from None


class InUnits(NamedTuple):
    """Coefficients and scales in units of the errors' scale (spec 5u).

    In these units Gaussian rows and the prior are Gaussian. ``x = (beta - at) tau / tau_0`` and ``w = v (tau /
    tau_0)^2``; ``at`` is the prior mean, or ``b0`` for coefficients without a prior. For coefficients with an unknown
    scale, ``x | w`` is ``N(0, w)`` for every ``tau``.
    """

    scaled: Scaled
    at: np.ndarray
    tau: float

    @classmethod
    def of(cls, scaled: Scaled, mixture: Mixture, centre: np.ndarray) -> InUnits:
        known = mixture.mixed | np.isfinite(mixture.fixed_variance)
        return cls(scaled, np.where(known, mixture.mean, scaled.b0), float(centre[scaled.tau_at]))

    @property
    def jacobian(self) -> np.ndarray:
        """Return the Jacobian of ``(beta - b0) tau``, which the rows read, with respect to ``x`` and ``tau``."""
        J, own, tau_at = np.eye(len(self.at)), self.scaled.at, self.scaled.tau_at
        J[own, own] = self.tau
        J[own, tau_at] = self.at[own] - self.scaled.b0[own]
        return J

    def law(self, mixture: Mixture, rows: Quadratic) -> NestedLaw:
        """Return the joint law of coefficients and scales in units of the errors' scale.

        In these units the prior density of the coefficients has a power of ``tau``.
        """
        J, tau_at, power = self.jacobian, self.scaled.tau_at, float(mixture.mixed.sum())
        H, g = rows.hessian.copy(), rows.gradient.copy()
        H[tau_at, tau_at] += power / self.tau**2
        g[tau_at] -= power / self.tau
        H = J.T @ H @ J
        centre = np.linalg.solve(J, rows.centre)
        return law_of(mixture, H, H @ centre - J.T @ g, centre, np.zeros(len(self.at)))

    def theta(self, found: np.ndarray) -> np.ndarray:
        return self.jacobian @ found

    @property
    def knobs(self) -> dict[str, Any]:
        """Return the unit ``tau`` and the coordinates in this unit, as fields of the proposal's numbers."""
        which = np.zeros(len(self.at))
        which[self.scaled.at] = 1.0
        return {"tau_at": self.scaled.tau_at, "tau": self.tau, "scaled": which, "at": self.at}


def may_be_nested(target: Any) -> bool:
    """Return True if the scales of the prior are few, and each belongs to a group of coefficients."""
    mixture = target._prior.mixture
    return mixture is not None and mixture.few and len(mixture.start) <= MOST_SCALES


def as_wide_as(prior: ReadyPrior, variances: np.ndarray, start: np.ndarray | None) -> ReadyPrior:
    """Return the same prior, expanded as if its scales had these variances."""
    if isinstance(prior, ReadyClosed):
        coefficients: Any = prior.coefficients
        extras: list[Laws] = [prior.extras]
        return closed_form(prior.form, coefficients.as_wide_as(variances), extras, np.asarray(start))
    assert isinstance(prior, ReadyMixture)
    return prior.as_wide_as(variances)


def without_scales(prior: ReadyPrior, start: np.ndarray | None) -> ReadyPrior:
    """Return the normal prior that replaces a prior with unknown scales in expansions.

    It is as wide as the scales with which a chain begins.
    """
    if isinstance(prior, ReadyClosed):
        coefficients: Any = prior.coefficients
        extras: list[Laws] = [prior.extras]
        return closed_form(prior.form, ready(coefficients.laws), extras, np.asarray(start))
    assert isinstance(prior, ReadyMixture)
    return ready(prior.laws)


def about_own_scales(target: Any, point: np.ndarray, expansion: Expansion) -> tuple[Any, np.ndarray, Expansion]:
    """Return the regression with its prior as wide as the estimated scales, its centre, and the expansion there."""
    announce("looking for the scales of the prior")
    used = np.log(target._prior.mixture.start)
    for _ in range(_MOST_CENTRES):
        law, back = _at(target, point, expansion)
        law.tables()
        centre = back(law.centre())
        if not np.isfinite(centre).all():
            raise NotApplicable("the rows' quadratic says nothing of where the coefficients are")
        wide = law.lam + law.spread  # bounds by scales that are too small would make large ones costly
        changed, used = np.abs(wide - used).max(), wide
        prior = as_wide_as(target._prior, np.exp(used), target.row_layout.start)
        target = target._with(_prior=prior, known_columns=target.columns)
        metric = expansion.plus(target._prior.expansion(point, expansion.width)).metric()
        step = float(np.linalg.norm(metric.inverse @ (centre - point))) / np.sqrt(len(point))
        if step < _NEAR and changed < _NEAR:
            break
        if step < _FAR:
            point, expansion = centre, target.expansion(centre)
        else:  # where the quadratic says little: step by step
            mode = find_mode(target, start=point)
            if not mode.found:
                raise NotApplicable("no centre was found under the scales of the prior")
            point, expansion = mode.point, mode.expansion
    return target, point, expansion


def _at(target: Any, point: np.ndarray, expansion: Expansion) -> tuple[NestedLaw, Any]:
    """The law under the quadratic at a point, and how its parameters become those of the rows."""
    prior, form = target._prior, target.row_layout.form
    H, g, centre = expansion.plain_hessian, expansion.gradient, point
    if isinstance(prior, ReadyClosed):
        at = prior.without_coefficients().expansion(point, expansion.width)
        H, g = H + at.hessian, g + at.gradient
    rows = Quadratic(H, g, centre)
    if isinstance(form, Scale):
        own = InUnits.of(Scaled(form), prior.mixture, centre)
        return own.law(prior.mixture, rows), own.theta
    return law_of(prior.mixture, H, rows.moment, centre), lambda found: found


class NestedTarget(GivenScalesTarget):
    """An expansion of a regression whose chain proposes the scales of the prior together with the coefficients."""

    @property
    def spread(self) -> float:  # type: ignore[override]
        """Return how much wider than the posterior at wide scales the starts of chains are.

        Curves in several predictors have many coefficients. If a start is twice as far away in all of them, independent
        proposals are hardly accepted there, and warm-up would learn from this that steps must be short.
        """
        return 2.0 if self.base.joint_prior is None else 1.0  # type: ignore[attr-defined]

    def foreseen_acceptance(self, regression: Any) -> float:
        """Return an estimate of how often independent proposals are accepted, from a few proposals and one pass.

        It is the mean of ``min(1, e^(w - w'))`` over pairs. ``w`` is the logarithm of posterior over proposal; a
        compiled step from the centre computes differences of it.
        """
        none = None if self.gathered is None else np.zeros((0, self.gathered.width))  # no row is read
        model, rng, here = self.model(none), np.random.default_rng(4), self.state_at(self.centre)
        hyper, first = model.data.hyper, np.empty(self.dim)
        points, weights = [self.centre], []
        model.locate(here, first, hyper)
        prior = model.log_prior(first, model.prior_hyper)
        for _ in range(_TRIALS):
            there, prop = here.copy(), np.empty(self.dim)
            weight = self.propose(rng, here, there, self.proposal_knobs)
            if weight == -np.inf:  # a dilation that stays
                continue
            model.locate(there, prop, hyper)
            weight += model.offset(here, there, hyper)
            if weight > -np.inf:
                weight += model.log_prior(prop, model.prior_hyper) - prior
            points.append(prop if weight > -np.inf else self.centre)
            weights.append(weight)
        at = np.array(points)
        rows = regression.energies_at(at) - regression._prior_energies_at(at)
        u = at - self.centre
        remainders = rows - rows[0] - u @ self.gradient - 0.5 * np.einsum("ij,jk,ik->i", u, self.hessian, u)
        w = np.array(weights) - remainders[1:]
        w = np.where(np.isnan(w), -np.inf, w)
        with np.errstate(invalid="ignore"):
            apart = np.minimum(w[:, None] - w[None, :], 0.0)
        return float(np.mean(np.exp(np.where(np.isfinite(w)[:, None] & np.isfinite(w)[None, :], apart, -np.inf))))

    @staticmethod
    def _proposal(
        mixture: Mixture, numbers: dict[str, Any], rows: Quadratic, scaled: Scaled | None, *, screened: bool = True
    ) -> tuple[Part, np.ndarray]:
        if scaled is None:
            return nested, knobs_of(law_of(mixture, rows.hessian, rows.moment, rows.centre), screened=screened)
        own = InUnits.of(scaled, mixture, rows.centre)
        return nested, knobs_of(own.law(mixture, rows), screened=screened, **own.knobs)

    @staticmethod
    def _proposal_beside_gaussian(
        mixture: Mixture, numbers: dict[str, Any], of_rows: dict[str, Any], knobs: np.ndarray
    ) -> tuple[Part, np.ndarray]:
        return nested, knobs
