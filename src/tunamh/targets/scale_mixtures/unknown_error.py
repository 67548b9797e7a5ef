"""Priors that are Gaussian given scales, beside an unknown scale of the errors (spec 5l, 5o).

Rows are those of scale 1 in ``eta = (beta - b0) tau``, ``tau = 1 / scale``, but the prior is Gaussian in ``beta``. So a
state holds ``(beta, tau)``, and rows and bounds see ``(eta, tau)``: the Jacobian ``tau^d`` is part of the offset. About
the centre the energy's quadratic part in ``(beta, tau)`` is that in ``(eta, tau)`` by the chain rule.
"""

from __future__ import annotations

import math

import numpy as np

from ...compiled import Distance, Locate, Offset, Part, helper, part
from ...priors.mixtures import GROUPED, HORSESHOE
from ..coordinates.base import Scale
from ..expansion.bounds import on_ladder, products, second_order, second_order_general
from ..expansion.taylor import polynomial_fall_of
from ..layouts import expanded_of

# Numbers that a state's offset and proposal read, behind a regression's own: d, arrangement, then for every coefficient
# its group (or a variance that does not change, as minus that, infinity where the prior is flat) and its mean.


@helper(inline=True)
def variance_of(here, numbers, at, j):
    """The prior's variance of coefficient ``j`` in this state."""
    d, arrangement = int(numbers[at]), numbers[at + 1]
    group = numbers[at + 2 + j]
    if group < 0.0:
        return -group
    if arrangement == HORSESHOE:
        return here[d + j] * here[2 * d]
    return here[d + int(group)] if arrangement == GROUPED else here[d + j]


@helper(inline=True)
def numbers_at(hyper):
    """They end where the expansion begins; the last of them says how many there are."""
    return int(hyper[0]) - 1 - int(hyper[int(hyper[0]) - 1])


# Behind these, beside an unknown scale: where tau is, how many coefficients there are, which parameters these are, b0.


@helper(inline=True)
def _to_theta(state, theta, hyper, at):
    d = int(hyper[at])
    scaled = at + 2 + 2 * d
    tau = state[int(hyper[scaled])]
    for j in range(d):
        theta[j] = (state[j] - hyper[scaled + 2 + d + j]) * tau if hyper[scaled + 2 + j] > 0.0 else state[j]


@part(Locate)
def _locate(state, theta, hyper):
    _to_theta(state, theta, hyper, numbers_at(hyper))


@part(Distance)
def _distance(here, there, hyper):
    numbers = numbers_at(hyper)
    d = int(hyper[numbers])
    theta, prop = np.empty(d), np.empty(d)
    _to_theta(here, theta, hyper, numbers)
    _to_theta(there, prop, hyper, numbers)
    at = expanded_of(hyper, d)
    pp, ww, pw = products(theta, prop, at.centre, at.root)
    return on_ladder(second_order(pp, ww, pw), pp, ww, pw, at)


@part(Distance)
def _distance_of_several(here, there, hyper):
    numbers = numbers_at(hyper)
    d = int(hyper[numbers])
    theta, prop = np.empty(d), np.empty(d)
    _to_theta(here, theta, hyper, numbers)
    _to_theta(there, prop, hyper, numbers)
    at = expanded_of(hyper, d)
    pp, ww, pw = products(theta, prop, at.centre, at.root)
    return on_ladder(second_order_general(pp, ww, pw), pp, ww, pw, at)


@part(Offset)
def _offset(here, there, hyper):
    """Of the data's quadratic part, of the prior given the scales, and of the Jacobian; -inf unless ``tau`` > 0."""
    numbers = numbers_at(hyper)
    d = int(hyper[numbers])
    scaled = numbers + 2 + 2 * d
    tau, tau_there = here[int(hyper[scaled])], there[int(hyper[scaled])]
    if tau <= 0.0 or tau_there <= 0.0:
        return -np.inf
    theta, prop = np.empty(d), np.empty(d)
    _to_theta(here, theta, hyper, numbers)
    _to_theta(there, prop, hyper, numbers)
    total = polynomial_fall_of(theta, prop, hyper, d) + hyper[scaled + 1] * math.log(tau_there / tau)
    for j in range(d):
        mean, variance = hyper[numbers + 2 + d + j], variance_of(here, hyper, numbers, j)
        total -= 0.5 * (there[j] - here[j]) * (there[j] + here[j] - 2.0 * mean) / variance
    return total


class Scaled:
    """Between ``(eta, tau)``, in which rows are seen, and ``(beta, tau)``, in which states are held."""

    def __init__(self, form: Scale):
        self.tau_at, self.at = form.tau_at, form.coefficients_at
        self.b0 = np.zeros(form.dim)
        self.b0[self.at] = form.b0

    @property
    def numbers(self) -> list[float]:
        which = np.zeros(len(self.b0))
        which[self.at] = 1.0
        return [float(self.tau_at), float(len(self.at)), *which, *self.b0]

    def state(self, theta: np.ndarray) -> np.ndarray:
        found = theta.copy()
        found[self.at] = self.b0[self.at] + theta[self.at] / theta[self.tau_at]
        return found

    def expansion(self, H: np.ndarray, g: np.ndarray, centre: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Hessian, gradient and centre in ``(beta, tau)``; ``d^2 eta_j / d beta_j d tau = 1``."""
        jacobian = np.eye(len(centre))
        jacobian[self.at, self.at] = centre[self.tau_at]
        jacobian[self.at, self.tau_at] = centre[self.at] / centre[self.tau_at]
        hessian = jacobian.T @ H @ jacobian
        hessian[self.at, self.tau_at] += g[self.at]
        hessian[self.tau_at, self.at] += g[self.at]
        return hessian, jacobian.T @ g, self.state(centre)

    @staticmethod
    def parts(*, several: bool) -> tuple[Part, Part, Part]:
        return _locate, _distance_of_several if several else _distance, _offset
