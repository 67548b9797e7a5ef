"""A regression under a prior that is Gaussian given unknown scales: two kernels in turn (spec 5o).

A state is the coefficients followed by the scales. The scales are drawn anew given the coefficients, without a look at
the data (`tunamh.chains.gibbs_scales`). The coefficients are then proposed from the Gaussian law that the quadratic
part of the data and the prior given the scales make together, ``N(m, Q^-1)``,

    Q = H + D^-1,    m = Q^-1 (H t - g + D^-1 mean),    D = diag(variances),

so that only the rows' remainders decide. These are bounded in a metric that stays, that of the centre: the law by which
rows are drawn does not change. One Cholesky factor is made per step.

Under Student-t and Laplace laws a share of steps dilates coefficients, their scales integrated out: a Gaussian proposal
never reaches tails that fall as a power does.

Other unknown parameters (a dispersion, cutpoints) are proposed together with the coefficients; what is closed of them
counts whole, and its expansion joins ``H`` and ``g``. Beside an unknown scale see
`tunamh.targets.scale_mixtures.unknown_error`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ...compiled import REASSOCIATE, Distance, Locate, Offset, Part, Propose, fixed, helper, part
from ...compiled.layouts import NUMBER, WHOLE, Layout
from ...compiled.triangular import solve_lower, solve_upper
from ...compiled.vector import copy_into
from ...priors.laws import COORDINATE, laws_at, records_from
from ...priors.mixtures import BY_SHARES, HORSESHOE, Mixture
from ...priors.potential import ReadyPrior
from ...proposals import Proposal, ReadyProposal, Space
from ...proposals.nested_law import not_negative
from ...proposals.walks import log_dilation
from ..coordinates.base import Scale
from ..coordinates.closed_form_prior import ReadyClosed
from ..expansion.bounds import bounds_of_multi_predictor, on_ladder, products, second_order, second_order_general
from ..expansion.taylor import TaylorTarget, polynomial_fall_of
from ..layouts import expanded_of, pack_hyper
from .unknown_error import GIVEN, Scaled, given_of, variance_of, with_prior_rise


@part(Locate)
def _first(state, theta, hyper):
    for j in range(theta.size):
        theta[j] = state[j]


@part(Distance)
def _distance(here, there, hyper):
    at = expanded_of(hyper, given_of(hyper).d)
    pp, ww, pw = products(here, there, at.centre, at.root)
    return on_ladder(second_order(pp, ww, pw), pp, ww, pw, at)


@part(Distance)
def _distance_of_several(here, there, hyper):
    at = expanded_of(hyper, given_of(hyper).d)
    pp, ww, pw = products(here, there, at.centre, at.root)
    return on_ladder(second_order_general(pp, ww, pw), pp, ww, pw, at)


@part(Offset)
def _offset(here, there, hyper):
    """Of the data's quadratic part, and of the prior and its scales."""
    given = given_of(hyper)
    return with_prior_rise(polynomial_fall_of(here, there, hyper, given.d), here, there, given)


# ------------------------------------------------------------------------------------------------------ the proposal

_KNOBS = Layout(
    "GivenScalesKnobs",
    innovation=NUMBER,
    d=WHOLE,
    arrangement=NUMBER,
    share_rows=WHOLE,
    share_scales=WHOLE,
    group=("d",),  # as in `GIVEN`
    mean=("d",),
    share=("share_rows", "share_scales"),
    shifted=("d",),  # H t - g
    hessian=("d", "d"),
)
"""Behind these, of Student-t and Laplace laws, the records of these."""

_knobs_at = _KNOBS.reader()
_DILATED_SHARE = 0.25  # of steps, under such laws
_SHORTER_SHARE = 0.1  # of steps are shorter, by a uniform factor: tails of the likelihood must not trap a chain


@helper(fastmath=REASSOCIATE)
def _cholesky(Q):
    """The lower factor, in place, row by row: what is summed lies side by side."""
    for i in range(Q.shape[0]):
        for j in range(i + 1):
            total = Q[i, j]
            for k in range(j):
                total -= Q[i, k] * Q[j, k]
            Q[i, j] = math.sqrt(total) if i == j else total / Q[j, j]


@helper
def _dilated(rng, here, there, own, laws):
    """``beta' = mean + e^s (beta - mean)``, of all coefficients that have such laws, or of one of them.

    Their scales are integrated out: in the place of the prior given these, which the offset has, the laws decide. The
    scales are drawn anew given the coefficients before anything looks at them.
    """
    count = laws.shape[0]
    s, only = log_dilation(rng), -1
    if rng.random() < 0.5:
        only = int(laws[int(count * rng.random()), COORDINATE])
    copy_into(there, here)
    total = laws_at(there, laws)
    for k in range(count):
        j = int(laws[k, COORDINATE])
        if only < 0 or j == only:
            mean, variance = own.mean[j], variance_of(here, own, j)
            there[j] = mean + math.exp(s) * (here[j] - mean)
            total -= s + 0.5 * (there[j] - here[j]) * (there[j] + here[j] - 2.0 * mean) / variance
    return laws_at(there, laws) - total


@part(Propose)
def _given_scales(rng, here, there, knobs):
    """``z' = rho z + innovation xi`` about the mean, in the coordinates in which ``Q`` is the identity."""
    own = _knobs_at(knobs, 0)
    d = own.d
    laws = records_from(knobs, own.end)
    if laws.size > 0 and rng.random() < _DILATED_SHARE:
        return _dilated(rng, here, there, own, laws)
    Q, mean, z = np.empty((d, d)), np.empty(d), np.empty(d)
    for j in range(d):
        mean[j] = own.shifted[j]
        for k in range(j + 1):
            Q[j, k] = own.hessian[j, k]
        variance = variance_of(here, own, j)
        if variance < np.inf:
            Q[j, j] += 1.0 / variance
            mean[j] += own.mean[j] / variance
    _cholesky(Q)
    solve_lower(Q, mean)
    solve_upper(Q, mean)
    innovation = own.innovation if rng.random() >= _SHORTER_SHARE else own.innovation * rng.random()
    rho = math.sqrt(max(0.0, 1.0 - innovation * innovation))
    z[:] = 0.0
    for i in range(d):  # z = L'(beta - mean)
        for j in range(i + 1):
            z[j] += Q[i, j] * (here[i] - mean[i])
    log_q = 0.0
    for j in range(d):
        before = z[j]
        z[j] = rho * before + innovation * rng.standard_normal()
        log_q += 0.5 * (z[j] - before) * (z[j] + before)
    solve_upper(Q, z)
    for j in range(d):
        there[j] = mean[j] + z[j]
    for j in range(d, here.size):
        there[j] = here[j]
    return log_q


# ------------------------------------------------------------------------------- the proposal beside Gaussian errors

_BESIDE_GAUSSIAN = Layout(
    "BesideGaussianKnobs",
    innovation=NUMBER,
    d=WHOLE,
    arrangement=NUMBER,
    tau_at=WHOLE,
    weight=NUMBER,  # of the rows
    share_rows=WHOLE,
    share_scales=WHOLE,
    group=("d",),  # as in `GIVEN`
    mean=("d",),
    share=("share_rows", "share_scales"),
    b0=("d",),
    linear=("d",),  # c
    hessian=("d", "d"),  # of the rows, in (eta, tau)
)
"""Of two laws in turn, where the rows' energy is a quadratic in ``(eta, tau)``, ``eta = (beta - b0) tau``.

They hold wherever the centre of the expansion is. Given ``tau`` and the scales of the prior, ``beta ~ N(m, Q^-1)``,

    Q = tau^2 H + D^-1,    m = Q^-1 (tau^2 c + D^-1 mean),    c = H b0 - H_tau,

with ``H``, ``H_tau`` and ``H_tau_tau`` the blocks of the Hessian: ``X'X``, ``-X'e`` and ``e'e``, ``e = y - X b0``.
Given ``beta``, but for the prior of ``tau``,

    tau^2 ~ Gamma(weight / 2, rate rss / 2),    rss = u'H u + 2 u'H_tau + H_tau_tau,    u = beta - b0.
"""

_beside_gaussian_at = _BESIDE_GAUSSIAN.reader()
_ERROR_SHARE = 1 / 3  # of steps: those of tau


@part(Propose)
def _beside_gaussian(rng, here, there, knobs):
    """Coefficients given ``tau``, or ``tau`` given the coefficients; dilations as above."""
    own = _beside_gaussian_at(knobs, 0)
    laws = records_from(knobs, own.end)
    if laws.size > 0 and rng.random() < _DILATED_SHARE:
        return _dilated(rng, here, there, own, laws)
    copy_into(there, here)
    return _propose_tau(rng, here, there, own) if rng.random() < _ERROR_SHARE else _given_tau(rng, here, there, own)


@helper
def _propose_tau(rng, here, there, own):
    """A draw that is not finite is proposed as no move."""
    tau, rss = here[own.tau_at], 0.0
    for j in range(own.d):
        u = 1.0 if j == own.tau_at else here[j] - own.b0[j]
        for k in range(own.d):
            rss += u * own.hessian[j, k] * (1.0 if k == own.tau_at else here[k] - own.b0[k])
    drawn = math.sqrt(2.0 * rng.standard_gamma(0.5 * own.weight) / rss) if rss > 0.0 else 0.0
    if not 0.0 < drawn < np.inf:
        return -np.inf
    there[own.tau_at] = drawn
    return (own.weight - 1.0) * math.log(tau / drawn) - 0.5 * rss * (tau - drawn) * (tau + drawn)


@helper
def _given_tau(rng, here, there, own):
    """``z' = rho z + innovation xi`` about the mean, where ``Q`` is the identity; ``tau`` has a unit and 0 there."""
    d, tau_at, precision = own.d, own.tau_at, here[own.tau_at] * here[own.tau_at]
    Q, mean, z = np.empty((d, d)), np.empty(d), np.zeros(d)
    for j in range(d):
        mean[j] = precision * own.linear[j]
        for k in range(j + 1):
            Q[j, k] = precision * own.hessian[j, k]
        variance = variance_of(here, own, j)
        if variance < np.inf:
            Q[j, j] += 1.0 / variance
            mean[j] += own.mean[j] / variance
    for j in range(d):
        Q[max(j, tau_at), min(j, tau_at)] = 0.0
    Q[tau_at, tau_at], mean[tau_at] = 1.0, 0.0
    _cholesky(Q)
    solve_lower(Q, mean)
    solve_upper(Q, mean)
    rho, log_q = math.sqrt(max(0.0, 1.0 - own.innovation * own.innovation)), 0.0
    for i in range(d):
        if i != tau_at:
            for j in range(i + 1):
                z[j] += Q[i, j] * (here[i] - mean[i])
    for j in range(d):
        if j != tau_at:
            before = z[j]
            z[j] = rho * before + own.innovation * rng.standard_normal()
            log_q += 0.5 * (z[j] - before) * (z[j] + before)
    solve_upper(Q, z)
    for j in range(d):
        if j != tau_at:
            there[j] = mean[j] + z[j]
    return log_q


@dataclass(frozen=True)
class GivenScales(Proposal):
    """The proposal of coefficients from their Gaussian law given the scales of the prior.

    `sample` chooses it for priors with unknown scales.
    """

    def bind(self, space: Space) -> ReadyProposal:
        given: Any = space
        return ReadyProposal(given.propose, given.proposal_knobs, True, 0.6, largest=1.0)


_NEAR_GAUSSIAN = 0.3  # of `TaylorTarget.non_gaussianity`


def laws_of_scales(mixture: Mixture) -> dict[str, np.ndarray]:
    """Return the half-Student-t laws of scales of groups of coefficients, as fields of `GIVEN`.

    The fields are empty for other scales.
    """
    if not mixture.few:
        return {"df": np.empty(0), "width": np.empty(0)}
    return {"df": mixture.numbers.df, "width": mixture.numbers.width}


class Quadratic(NamedTuple):
    """A quadratic function about a centre: its Hessian and gradient there."""

    hessian: np.ndarray
    gradient: np.ndarray
    centre: np.ndarray

    @property
    def moment(self) -> np.ndarray:
        """Return the vector ``moment`` with which the function is ``theta'H theta / 2 - moment.theta``."""
        return self.hessian @ self.centre - self.gradient


class GivenScalesTarget(TaylorTarget):
    """An expansion of a regression for chains whose states also contain the scales of the prior."""

    mixture: Mixture
    scaled: Scaled | None
    propose: Part
    proposal_knobs: np.ndarray

    def __init__(self, expanded: TaylorTarget):
        prior = expanded._prior
        mixture: Any = prior.mixture
        d, form = expanded.dim, expanded.base.row_layout.form  # type: ignore[attr-defined]
        scaled = Scaled(form) if isinstance(form, Scale) else None
        group = np.where(mixture.mixed, mixture.groups, -mixture.fixed_variance)
        share = mixture.numbers.share if mixture.arrangement == BY_SHARES else np.empty((0, 0))
        numbers = {"arrangement": mixture.arrangement, "group": group, "mean": mixture.mean, "share": share}
        known_scale = {"tau_at": -1, "coefficients": 0, "scaled": np.zeros(d), "b0": np.zeros(d)}
        given = GIVEN.pack(**numbers, **laws_of_scales(mixture), **(known_scale if scaled is None else scaled.numbers))
        packed, H, g, centre = expanded._hyper, expanded.hessian, expanded.gradient, expanded.centre
        near = expanded.non_gaussianity < _NEAR_GAUSSIAN
        rest: ReadyPrior
        if isinstance(prior, ReadyClosed):
            rest = prior.without_coefficients()
            at = rest.expansion(centre, expanded.at_centre.width)
            H, g = H + at.hessian, g + at.gradient
        else:
            rest = prior.without(centre, expanded.prior_at_centre)  # all of it is in the offset
        propose, knobs = self._proposal(mixture, numbers, Quadratic(H, g, centre), scaled, screened=near)
        if scaled is not None and expanded.total_bound == 0.0:
            of_rows = scaled.of_quadratic_rows(expanded.hessian)
            propose, knobs = self._proposal_beside_gaussian(mixture, numbers, of_rows, knobs)
        several = expanded.bounds.distance is bounds_of_multi_predictor(expanded.trust).distance
        locate, distance, offset = _first, _distance_of_several if several else _distance, _offset
        if scaled is not None:
            locate, distance, offset = scaled.parts(several=several)
        self._settle_like(
            expanded,
            prior_at_centre=expanded.prior_at_centre,
            metric=expanded.metric,
            reference=expanded.reference,
            total_bound=expanded.total_bound,
            mixture=mixture,
            scaled=scaled,
            parts=expanded.parts._replace(locate=locate, distance=distance, offset=offset),
            propose=propose,
            proposal_knobs=fixed(knobs),
            _prior=rest,
            _hyper=pack_hyper([*expanded.own_numbers, *given], packed[int(packed[0]) :]),
        )

    @staticmethod
    def _proposal(
        mixture: Mixture, numbers: dict[str, Any], rows: Quadratic, scaled: Scaled | None, *, screened: bool
    ) -> tuple[Part, np.ndarray]:
        """The compiled proposal and its numbers, where the rows are a quadratic of what they see.

        ``screened``: whether the posterior is so near to Gaussian that its law may screen steps into tails.
        """
        if scaled is not None:
            rows = Quadratic(*scaled.expansion(*rows))
        hessian, moment = not_negative(rows.hessian, rows.moment, rows.centre)
        knobs = _KNOBS.pack(innovation=1.0, **numbers, shifted=moment, hessian=hessian)
        return _given_scales, np.append(knobs, mixture.records)

    @staticmethod
    def _proposal_beside_gaussian(
        mixture: Mixture, numbers: dict[str, Any], of_rows: dict[str, Any], knobs: np.ndarray
    ) -> tuple[Part, np.ndarray]:
        """The same of Gaussian rows whose error scale is unknown."""
        return _beside_gaussian, np.append(_BESIDE_GAUSSIAN.pack(innovation=1.0, **numbers, **of_rows), mixture.records)

    def state_at(self, theta: np.ndarray) -> np.ndarray:
        first = theta[: self.dim] if self.scaled is None else self.scaled.state(theta[: self.dim])
        return np.concatenate([first, self.mixture.start])

    @property
    def recorded(self) -> list[str]:
        named = [
            name if label is None else f"{name}[{label}]"
            for name, labels in self.mixture.variables
            for label in labels or (None,)
        ]
        return [*self.names, *(named or [f"scale[{name}]" for name in self.names])]

    @property
    def _reported(self) -> np.ndarray:
        """Which numbers of a state are: not the scales of coefficients that have none."""
        d, total = self.dim, self.dim + len(self.mixture.start)
        if not self.mixture.variables:
            return np.arange(d)
        if self.mixture.arrangement == HORSESHOE:
            return np.concatenate([np.arange(d), d + np.flatnonzero(self.mixture.mixed), [total - 1]])
        return np.arange(total)

    def to_user(self, points: np.ndarray) -> np.ndarray:
        walked = self.base.to_user(points[..., : self.dim])
        natural = np.concatenate([walked, np.sqrt(points[..., self.dim :])], axis=-1)
        return natural[..., self._reported]

    @property
    def variables(self) -> list[tuple[str, list[str] | None]]:
        mixed = self.mixture.mixed
        found = list(self.base.variables)
        for name, labels in self.mixture.variables:
            if labels is not None and self.mixture.arrangement == HORSESHOE:
                labels = tuple(label for label, kept in zip(labels, mixed, strict=True) if kept)
            found.append((name, None if labels is None else list(labels)))
        return found
