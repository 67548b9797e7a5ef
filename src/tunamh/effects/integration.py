"""The mean of a function of ``eta + b`` over the law of a new group's effects ``b``, by the trapezoidal rule.

For an analytic function the rule's error falls exponentially in the number of nodes (Trefethen and Weideman, SIAM
Review 2014): with steps ``h`` of a standard normal ``x`` and a function of ``eta + tau x`` that is analytic within
``|Im| < a``, it is about ``exp(-2 pi a / (tau h))``. The links of the families are analytic within ``pi / 2``.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from itertools import product

import numpy as np

from ..errors import NotApplicable
from ..formula.evaluation import Values
from ..prediction.fitted import Fitted, Groups

_STEP = 0.4  # of the standard normal, or of tau x where that is larger: the error is about e^-24
_REACH = 8.5  # standard deviations, and one more for each of tau: e^(tau x) has its mass there
_LARGEST = 20.0  # tau
_STEP_OF_CLASSES, _REACH_OF_CLASSES, _MOST_NODES = 0.8, 6.6, 6000


def normal_nodes(tau: float) -> tuple[np.ndarray, np.ndarray]:
    """Return nodes and weights for means over ``N(0, 1)`` of functions of ``tau x``; their error is about 1e-10."""
    if not tau <= _LARGEST:
        raise NotApplicable(
            f"the effects of new groups have a standard deviation of {tau:.3g} on the scale of the linear "
            f"predictor, and means over new groups are possible only up to {_LARGEST:g}: set groups='population' "
            "or groups='draw'."
        )
    return _trapezoid(_REACH + tau, _STEP / max(1.0, tau))


def _trapezoid(reach: float, step: float) -> tuple[np.ndarray, np.ndarray]:
    count = math.ceil(reach / step)
    nodes = step * np.arange(-count, count + 1)
    weights = np.exp(-0.5 * nodes**2)
    return nodes, weights / weights.sum()


def nodes_of_classes(tau: float, predictors: int) -> Iterator[tuple[tuple[float, ...], float]]:
    """Return nodes and weights for means in several dimensions, one dimension for each predictor of a class.

    Softmax is bounded and analytic within a distance of pi from the real axis, so fewer nodes are enough.
    """
    nodes, weights = _trapezoid(_REACH_OF_CLASSES, _STEP_OF_CLASSES / max(1.0, tau))
    if len(nodes) ** predictors > _MOST_NODES:
        raise NotApplicable(
            f"means over new groups are integrals in {predictors} dimensions here, one for each class except the "
            f"reference class, and would need {len(nodes) ** predictors:,} nodes, more than {_MOST_NODES:,}: set "
            "groups='draw' (one new group for each draw), or groups='population'."
        )
    for at in product(range(len(nodes)), repeat=predictors):
        yield tuple(float(nodes[k]) for k in at), float(np.prod(weights[list(at)]))


def varying_columns(fitted: Fitted, values: Values) -> tuple[tuple[int, np.ndarray], ...]:
    """Return for every factor the number of its predictor, and the columns that multiply its group effects."""
    assert fitted.formula is not None
    found = []
    for group in fitted.groups:
        _refuse_others(group)
        found.append((group.predictor or 0, fitted.formula.groups[group.given].columns.columns(values).dense()))
    return tuple(found)


def variances(fitted: Fitted, varying: tuple[tuple[int, np.ndarray], ...], predictors: int) -> list[np.ndarray]:
    """Return the variance of the group effects of each row, ``sum_k z_k' Sigma_k z_k``, at every draw.

    ``z_k`` are the columns of the row that multiply the effects of factor k, and ``Sigma_k`` is the covariance matrix
    of these effects. The list has one array (draws, rows) for each predictor.
    """
    rows = len(varying[0][1])
    total = [np.zeros((len(fitted.picked), rows)) for _ in range(predictors)]
    for group, (k, Z) in zip(fitted.groups, varying, strict=True):
        total[k] += np.einsum("nq,sqr,nr->sn", Z, group.covariance, Z, optimize=True)
    return total


def mean_over_new(mean: Callable[[np.ndarray], np.ndarray], eta: np.ndarray, total: list[np.ndarray]) -> np.ndarray:
    """Return the mean of ``mean(eta + b)`` over ``b ~ N(0, total)``: an array (draws, rows, outcomes)."""
    tau = np.sqrt(np.maximum(np.stack(total, axis=-1), 0.0))
    largest, found = float(tau.max(initial=0.0)), np.zeros(())
    if eta.ndim == 3:
        for at, weight in nodes_of_classes(largest, eta.shape[2]):
            found = found + weight * mean(eta + np.array(at) * tau)
        return found
    for x, weight in zip(*normal_nodes(largest), strict=True):
        found = found + weight * mean(eta + x * tau[:, :, 0])
    return found if found.ndim == 3 else found[:, :, None]


def _refuse_others(group: Groups) -> None:
    """Than normal effects in the main predictor."""
    if group.parameter is not None:
        raise NotApplicable(
            f"the effects of {group.name} are in the predictor of {group.parameter}, but means over new groups are "
            "possible only for effects in the main predictor: set groups='draw' (one new group for each draw), or "
            "groups='population'."
        )
    if group.related:
        raise NotApplicable(
            f"the levels of {group.name} have a known covariance, and the relation of a new level to them is not "
            f"known: set groups='population'."
        )
    if group.df:
        raise NotApplicable(
            f"the effects of {group.name} are Student-t, but means over new groups need normal effects: set "
            "groups='draw' (one new group for each draw), or groups='population'."
        )
