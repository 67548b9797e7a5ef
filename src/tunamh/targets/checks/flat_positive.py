"""Flat priors of positive parameters: taken where a posterior is proved, refused elsewhere (spec 5l)."""

from __future__ import annotations

from typing import Any, NoReturn

import numpy as np

from ...errors import ImproperPosterior
from ...priors.laws import FLAT_POSITIVE
from ...priors.potential import ReadyPrior
from ..coordinates.base import Scale
from ..observations.row_layout import RowLayout


def is_flat(laws: Any) -> bool:
    return bool((laws.kind == FLAT_POSITIVE).any())


def weight_of_errors(form: Scale) -> float:
    """Return the exponent ``n`` of ``s^-n``: the total weight of the rows whose response is known."""
    return form.exponent + form.coefficients + (0.0 if form.shape else 2.0)


def without_prior(coefficients: ReadyPrior) -> int:
    """Return the number of coefficients without a prior.

    For a user's own prior function, all coefficients are counted, because nothing is known of it.
    """
    return len(coefficients.flat) if coefficients.own else int(np.sum(coefficients.flat))


def refuse_unproved(row_layout: RowLayout, coefficients: ReadyPrior) -> None:
    """Raise an error if a flat prior of a scale is not proved to give a posterior.

    The likelihood of ``n`` errors with scale ``s``, integrated over ``d`` coefficients without a prior, falls like
    ``s^-(n - d)`` as ``s`` grows. Towards zero it falls faster than any power, unless columns explain every response.
    """
    for extra, laws in zip(row_layout.extras, row_layout.laws, strict=True):
        if not is_flat(laws):
            continue
        form = row_layout.form
        if type(form) is not Scale or form.shape or extra.name != "scale":
            refuse(extra.name, "the likelihood may stay positive as the parameter grows without limit")
        if not weight_of_errors(form) - without_prior(coefficients) > 1.0:
            refuse(extra.name, "there are too few rows for the coefficients that have no prior")


def refuse(name: str, why: str) -> NoReturn:
    raise ImproperPosterior(
        f"FlatPositive() for {name}: {why}, so it is not proved that there is a posterior. Set a proper prior, such as "
        "tunamh.priors.Uniform(0, 100) or tunamh.HalfNormal(10)."
    )
