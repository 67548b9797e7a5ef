"""The mean of a function of ``eta + b`` over the law of a new group's effects ``b``, by the trapezoidal rule.

For an analytic function the rule's error falls exponentially in the number of nodes (Trefethen and Weideman, SIAM
Review 2014): with steps ``h`` of a standard normal ``x`` and a function of ``eta + tau x`` that is analytic within
``|Im| < a``, it is about ``exp(-2 pi a / (tau h))``. The links of the families are analytic within ``pi / 2``.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from ..errors import NotApplicable
from ..formula.evaluation import Values
from ..prediction.fitted import Fitted, Groups

_STEP = 0.4  # of the standard normal, or of tau x where that is larger: the error is about e^-24
_REACH = 8.5  # standard deviations, and one more for each of tau: e^(tau x) has its mass there
_LARGEST = 20.0  # tau


@dataclass(frozen=True)
class NewGroups:
    """Standard deviations ``tau`` (draws, rows) of the effects of new groups of all factors together."""

    tau: np.ndarray

    def nodes(self) -> tuple[np.ndarray, np.ndarray]:
        """Of a standard normal: where, and with which weights, which sum to 1."""
        return normal_nodes(float(self.tau.max(initial=0.0)))


def normal_nodes(tau: float) -> tuple[np.ndarray, np.ndarray]:
    """Nodes and weights by which means over ``N(0, 1)`` of functions of ``tau x`` are exact to about 1e-10."""
    if not tau <= _LARGEST:
        raise NotApplicable(
            f"the effects of new groups have a standard deviation of {tau:.3g} on the scale of the linear predictor, "
            f"and means over them are offered up to {_LARGEST:g}: say groups='population' or groups='draw'."
        )
    reach, step = _REACH + tau, _STEP / max(1.0, tau)
    count = math.ceil(reach / step)
    nodes = step * np.arange(-count, count + 1)
    weights = np.exp(-0.5 * nodes**2)
    return nodes, weights / weights.sum()


def largest_tau(fitted: Fitted) -> float:
    """Roughly: of columns of size 1, to know how many nodes there will be."""
    return math.sqrt(sum(float(np.trace(one.covariance, axis1=1, axis2=2).max()) for one in fitted.groups))


def new_groups(fitted: Fitted, values: Values) -> NewGroups:
    """``tau^2 = sum_k z_k' Sigma_k z_k`` of the rows' columns ``z_k`` of every factor."""
    assert fitted.formula is not None
    total: np.ndarray | float = 0.0
    for group in fitted.groups:
        _refuse_others(group)
        Z = fitted.formula.groups[group.given].columns.columns(values).dense()
        total = total + np.einsum("nq,sqr,nr->sn", Z, group.covariance, Z, optimize=True)
    return NewGroups(np.sqrt(np.maximum(total, 0.0)))


def _refuse_others(group: Groups) -> None:
    """Than normal effects in the main predictor."""
    if group.parameter is not None:
        raise NotApplicable(
            f"the effects of {group.name} are in the predictor of {group.parameter}, and means over new groups are "
            "offered for effects in the main predictor: say groups='draw' (one new group for each draw), or "
            "groups='population'."
        )
    if group.df:
        raise NotApplicable(
            f"the effects of {group.name} are Student-t, and means over new groups are offered for normal effects: say "
            "groups='draw' (one new group for each draw), or groups='population'."
        )
