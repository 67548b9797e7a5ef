"""The normalised log density of a regression's prior, at a point that chains walk.

A chain walks in coordinates ``t``; priors are laws of the natural parameters ``n(t)``. The density of ``t`` is
``p(n(t)) |dn/dt|``. Cutpoints have their law restricted to those that increase: of ``m`` cutpoints that are independent
with the same law, one order of ``m!`` does.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import gammaln

from ...errors import NotApplicable
from ...priors.constants import improper, log_density
from ...priors.correlated import ReadyCorrelated
from ...priors.laws import Laws, ReadyIndependent
from ..families.base import BaseFamily

_WAY_OUT = "give proper priors, such as the default ones or prior=tunamh.Normal(scale=2.5)."


def refuse_without_density(target: Any) -> None:
    """Raise an error for priors whose density has no normalising constant, or an unknown one."""
    own, names = target.coefficient_prior, target.row_layout.names
    if target.user_family.response_distribution() is None:
        raise NotApplicable(f"the density of a response of {target.user_family!r} is not known.")
    if target.user_family.takes_strata or target.user_rows.has_entry:
        raise NotApplicable(
            "the evidence is not offered for PiecewiseExponential, or for delayed entry (entry=): "
            "tunamh.compare says which model predicts better. Weibull() and LogNormal() have their evidence."
        )
    if target.joint_prior is not None:
        raise NotApplicable(
            "the evidence is not offered for curves in a further predictor or in a model that is not linear. "
            "tunamh.compare says which model predicts better."
        )
    if isinstance(own, ReadyIndependent):
        fixed = _fixed(own)
        kept = [name for name, one in zip(names, fixed, strict=True) if one]
        refuse_flat_laws(Laws(*(values[fixed] for values in own.laws)), kept)
    elif not isinstance(own, ReadyCorrelated):
        raise NotApplicable(
            "the evidence needs the constant of the prior's density, which tunamh cannot find in your own function: "
            f"{_WAY_OUT}"
        )
    for extra, laws in zip(target.row_layout.extras, target.row_layout.laws, strict=True):
        of_extra = [extra.name] if extra.labels is None else [f"{extra.name}[{own}]" for own in extra.labels]
        refuse_flat_laws(laws, of_extra)
        if extra.name == "cutpoint" and not _all_alike(laws):
            raise NotApplicable(
                "the evidence needs cutpoints with one prior for all: with several, the probability that they increase "
                "is not known in closed form. Give Ordinal(cutpoint=...) one mean and one scale."
            )


def refuse_flat_laws(laws: Laws, names: list[str]) -> None:
    """Raise an error if one of these laws has no normalising constant."""
    flat = np.flatnonzero(improper(laws))
    if len(flat):
        raise NotApplicable(
            f"the prior of {names[flat[0]]} is flat, and under an improper prior there is no evidence: its density has "
            f"no constant, so the number would mean nothing. For evidence {_WAY_OUT}"
        )


def _fixed(own: ReadyIndependent) -> np.ndarray:
    """Which coefficients have laws without unknown scales."""
    return np.ones(len(own.laws.kind), bool) if own.mixture is None else ~own.mixture.mixed


def log_prior_at(target: Any, point: np.ndarray) -> float:
    """Return the log density of the prior at a point in the coordinates of a chain, including the Jacobian.

    The priors of coefficients that have unknown scales are left out.
    """
    layout = target.row_layout
    form, natural, jacobian = layout.form, point, 0.0
    if form is not None:
        natural = np.empty(len(point))
        form.fill(np.ascontiguousarray(point), natural, form.numbers)
        jacobian = form.log_jacobian(point)
    count = len(layout.names)
    total, at = jacobian + _of_coefficients(target.coefficient_prior, natural[:count]), count
    for extra, laws in zip(layout.extras, layout.laws, strict=True):
        total += _of_extra(target.user_family, extra, laws, natural[at : at + extra.size])
        at += extra.size
    return total


def _of_coefficients(own: Any, values: np.ndarray) -> float:
    if isinstance(own, ReadyIndependent):
        fixed = _fixed(own)
        return log_density(Laws(*(each[fixed] for each in own.laws)), values[fixed])
    z = own.root @ (values - own.mean)
    return float(np.linalg.slogdet(own.root)[1] - 0.5 * (z @ z) - 0.5 * len(z) * np.log(2 * np.pi))


def _of_extra(family: BaseFamily, extra: Any, laws: Laws, values: np.ndarray) -> float:
    if extra.labels is None and extra.name in family.probabilities:
        return 0.0  # uniform from 0 to 1
    positive = extra.labels is None and extra.name in family.positive_parameters
    orders = float(gammaln(len(values) + 1)) if extra.name == "cutpoint" else 0.0
    return log_density(laws, values, positive=positive) + orders


def _all_alike(laws: Laws) -> bool:
    return all(bool((values == values[0]).all()) for values in laws)
