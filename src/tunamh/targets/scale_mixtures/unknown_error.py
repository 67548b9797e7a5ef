"""Priors that are Gaussian given scales, beside an unknown scale of the errors (spec 5l, 5o).

Rows are those of scale 1 in ``eta = (beta - b0) tau``, ``tau = 1 / scale``, but the prior is Gaussian in ``beta``. So a
state holds ``(beta, tau)``, and rows and bounds see ``(eta, tau)``: the Jacobian ``tau^d`` is part of the offset. About
the centre the energy's quadratic part in ``(beta, tau)`` is that in ``(eta, tau)`` by the chain rule.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from ...compiled import Distance, Locate, Offset, Part, helper, part
from ...compiled.layouts import NUMBER, WHOLE, Layout
from ...compiled.vector import precision_under
from ...priors.mixtures import BY_SHARES, GROUPED, HORSESHOE
from ..coordinates.base import Scale
from ..expansion.bounds import on_ladder, products, second_order, second_order_general
from ..expansion.taylor import polynomial_fall_of
from ..layouts import OWN, expanded_of, regression_of

GIVEN = Layout(
    "GivenScales",
    d=WHOLE,
    arrangement=NUMBER,
    tau_at=WHOLE,  # the position of tau in a state, -1 if the errors' scale is known
    coefficients=NUMBER,  # how many there are
    scales=WHOLE,
    share_rows=WHOLE,  # d, where precisions are sums over scales, else 0
    share_scales=WHOLE,
    group=("d",),  # of a coefficient; or a variance that does not change, as minus that, infinity where it is flat
    mean=("d",),
    df=("scales",),  # of the half-Student-t laws of scales, where groups have them
    width=("scales",),
    scaled=("d",),  # 1 of the parameters that are coefficients, beside an unknown scale
    b0=("d",),
    share=("share_rows", "share_scales"),
)
"""Numbers that a state's offset and proposal read, behind a regression's own."""

_given_at = GIVEN.reader()


@helper(inline=True)
def given_of(hyper):
    return _given_at(hyper, OWN + regression_of(hyper).end)


@helper(inline=True)
def variance_of(here, given, j):
    """Return the prior variance of coefficient ``j`` in this state."""
    d, group = given.d, given.group[j]
    if group < 0.0:
        return -group
    if given.arrangement == HORSESHOE:
        return here[d + j] * here[2 * d]
    if given.arrangement == BY_SHARES:
        return 1.0 / precision_under(given.share, j, here[d:])
    return here[d + int(group)] if given.arrangement == GROUPED else here[d + j]


@helper
def with_prior_rise(total, here, there, given):
    """Return ``total`` and the rise of the log density of coefficients and of the variances of groups.

    Other variances are the same in both states.
    A scale of the law half-Student-t(df, width) has a variance of the density ``v^(-1/2) (1 + v / (df width^2))^(-(df +
    1) / 2)``.
    """
    for j in range(given.d):
        mean, old, new = given.mean[j], variance_of(here, given, j), variance_of(there, given, j)
        if new == old:
            total -= 0.5 * (there[j] - here[j]) * (there[j] + here[j] - 2.0 * mean) / old
        else:
            total -= 0.5 * ((there[j] - mean) ** 2 / new - (here[j] - mean) ** 2 / old + math.log(new / old))
    for g in range(given.scales):
        old, new = here[given.d + g], there[given.d + g]
        if new != old:
            unit = given.df[g] * given.width[g] ** 2
            total -= 0.5 * math.log(new / old)
            total -= 0.5 * (given.df[g] + 1.0) * math.log((unit + new) / (unit + old))
    return total


@helper(inline=True)
def _to_theta(state, theta, given):
    tau, scaled, b0 = state[given.tau_at], given.scaled, given.b0
    for j in range(given.d):
        theta[j] = (state[j] - b0[j]) * tau if scaled[j] > 0.0 else state[j]


@part(Locate)
def _locate(state, theta, hyper):
    _to_theta(state, theta, given_of(hyper))


@part(Distance)
def _distance(here, there, hyper):
    given = given_of(hyper)
    d = given.d
    theta, prop = np.empty(d), np.empty(d)
    _to_theta(here, theta, given)
    _to_theta(there, prop, given)
    at = expanded_of(hyper, d)
    pp, ww, pw = products(theta, prop, at.centre, at.root)
    return on_ladder(second_order(pp, ww, pw), pp, ww, pw, at)


@part(Distance)
def _distance_of_several(here, there, hyper):
    given = given_of(hyper)
    d = given.d
    theta, prop = np.empty(d), np.empty(d)
    _to_theta(here, theta, given)
    _to_theta(there, prop, given)
    at = expanded_of(hyper, d)
    pp, ww, pw = products(theta, prop, at.centre, at.root)
    return on_ladder(second_order_general(pp, ww, pw), pp, ww, pw, at)


@part(Offset)
def _offset(here, there, hyper):
    """Of the data's quadratic part, of the prior given the scales, and of the Jacobian; -inf unless ``tau`` > 0."""
    given = given_of(hyper)
    d, tau, tau_there = given.d, here[given.tau_at], there[given.tau_at]
    if tau <= 0.0 or tau_there <= 0.0:
        return -np.inf
    theta, prop = np.empty(d), np.empty(d)
    _to_theta(here, theta, given)
    _to_theta(there, prop, given)
    total = polynomial_fall_of(theta, prop, hyper, d) + given.coefficients * math.log(tau_there / tau)
    return with_prior_rise(total, here, there, given)


class Scaled:
    """Conversion between ``(eta, tau)``, which the rows read, and ``(beta, tau)``, which the states contain."""

    def __init__(self, form: Scale):
        self.tau_at, self.at = form.tau_at, form.coefficients_at
        self.weight = max(1.0, form.exponent + len(form.b0) + (0.0 if form.shape else 2.0))
        self.b0 = np.zeros(form.dim)
        self.b0[self.at] = form.b0

    @property
    def numbers(self) -> dict[str, Any]:
        """Return the numbers of the conversion as fields of `GIVEN`."""
        which = np.zeros(len(self.b0))
        which[self.at] = 1.0
        return {"tau_at": self.tau_at, "coefficients": len(self.at), "scaled": which, "b0": self.b0}

    def state(self, theta: np.ndarray) -> np.ndarray:
        found = theta.copy()
        found[self.at] = self.b0[self.at] + theta[self.at] / theta[self.tau_at]
        return found

    def theta(self, state: np.ndarray) -> np.ndarray:
        """Return the parameters ``(eta, tau)`` of a state; the inverse of `state`."""
        found = state.copy()
        found[self.at] = (state[self.at] - self.b0[self.at]) * state[self.tau_at]
        return found

    def expansion(self, H: np.ndarray, g: np.ndarray, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return Hessian, gradient and centre in ``(beta, tau)``. Here ``d^2 eta_j / d beta_j d tau = 1``."""
        jacobian = np.eye(len(centre))
        jacobian[self.at, self.at] = centre[self.tau_at]
        jacobian[self.at, self.tau_at] = centre[self.at] / centre[self.tau_at]
        hessian = jacobian.T @ H @ jacobian
        hessian[self.at, self.tau_at] += g[self.at]
        hessian[self.tau_at, self.at] += g[self.at]
        return hessian, jacobian.T @ g, self.state(centre)

    def of_quadratic_rows(self, H: np.ndarray) -> dict[str, Any]:
        """Return what the laws of ``beta`` given ``tau``, and of ``tau`` given ``beta``, need beside the prior."""
        linear = H @ self.b0 - H[:, self.tau_at]
        return {"tau_at": self.tau_at, "weight": self.weight, "b0": self.b0, "linear": linear, "hessian": H}

    @staticmethod
    def parts(*, several: bool) -> tuple[Part, Part, Part]:
        return _locate, _distance_of_several if several else _distance, _offset
