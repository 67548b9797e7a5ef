"""Whether there is a posterior, and whether its Laplace law is to be trusted."""

from __future__ import annotations

from typing import NoReturn

import numpy as np

from ..._linear import flat_direction
from ...capabilities import Examined
from ...errors import ImproperPosterior
from ...priors.laws import NORMAL, ReadyIndependent
from ...priors.potential import ReadyPrior
from ...process.stages import announce
from ..base import Target
from ..coordinates.base import Scale
from ..coordinates.closed_form_prior import ReadyClosed
from ..search.newton import Mode
from .model_warnings import listed

_MORE = 1.01  # times the prior's standard deviation: rounding
_LEAST_WEIGHT = 5.0  # rows per parameter, below which nothing is known of a Laplace law under a flat prior


class ExaminedTarget(Target, Examined):
    """A type for type checkers: a target with the methods that this file needs."""


def why_unsafe(target: ExaminedTarget, mode: Mode) -> str | None:
    """Return why the Laplace law cannot be trusted, or None if it can."""
    if not np.isfinite(mode.posterior.energy):
        return "no point was found at which the prior and all energies are finite"
    if not np.isfinite(mode.posterior.hessian).all():
        return "derivatives are not finite where the search for a mode stopped"
    prior, along = target._prior, flat_direction(mode.posterior.hessian)
    if along is not None:
        frame = mode.posterior.frame
        along = along if frame is None else frame.columns @ along
        return f"the likelihood is flat along {named_along(target, along)} where the search for a mode stopped"
    if not mode.posterior.metric().positive_definite:
        return "the Hessian is indefinite where the search for a mode stopped"
    if not mode.found:
        return f"the search for a mode did not converge: its next step is {mode.away:.3g} posterior standard deviations"
    if target.effective_rows < _LEAST_WEIGHT * target.dim and not prior.proper:
        return f"the total weight of the rows is only {target.effective_rows:.3g}, for {target.dim} parameters"
    return None


def impossible(sd: np.ndarray, prior: ReadyPrior, convex: bool) -> bool:
    """Return True if the standard deviations at a point prove that the point is not a mode.

    ``sd`` are standard deviations in the coordinates of the chain. Rows with convex energies add to the curvature of a
    normal prior. So a standard deviation above that of the prior, or one that is zero or NaN, proves that the search
    for a mode went wrong.
    """
    if not (np.isfinite(sd) & (sd > 0)).all():
        return True
    if isinstance(prior, ReadyClosed):
        if isinstance(prior.form, Scale):  # chains have coefficients in units of it
            return False
        sd, prior = sd[prior.form.coefficients_at], prior.coefficients
    if not convex or not isinstance(prior, ReadyIndependent):
        return False
    normal = prior.laws.kind == NORMAL
    return bool((sd[normal] > _MORE * prior.laws.scale[normal]).any())


def refuse_dependent_columns(target: ExaminedTarget) -> None:
    """Raise an error that names every group of columns that depend on each other, if the prior is not proper."""
    if target._prior.proper:
        return
    groups = target.dependent_columns()
    if not groups:
        return
    said = []
    for group in groups:
        names = [target.chain_names[j] for j in group]
        if len(group) == 1:
            said.append(f"column {names[0]} is zero in every row")
        else:
            said.append(f"columns {listed(names)} are collinear: one of them is a combination of the others")
    _refuse("; ".join(said))


def refuse_separated(target: ExaminedTarget) -> None:
    """Raise an error that names the columns along which the likelihood never falls, if the prior is not proper."""
    if target._prior.proper:
        return
    announce("looking for separated data")
    direction = target.separating_direction()
    if direction is not None:
        along = named_along(target, direction)
        _refuse(
            f"the likelihood increases without limit along {along}: the data are separable there, and all rows "
            "on one side have the same class or no counts"
        )


def _refuse(what: str) -> NoReturn:
    raise ImproperPosterior(
        f"{what}. Therefore there is no posterior under a flat prior. Set a proper prior, such as "
        "prior=tunamh.Normal(scale=10), or drop columns."
    )


def named_along(target: ExaminedTarget, direction: np.ndarray) -> str:
    """Return in words the columns with a large part in a direction, for a sentence."""
    named = target.names_along(direction)
    return f"column{'s' * (len(named) > 1)} {listed(named)}"
