"""A family of one's own from one plain function, with the priors of what its rows share."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from ..._arguments import shown
from ...priors.independent import IndependentPrior
from ...rows.source import Rows
from ..coordinates.base import Same
from ..designs.multi_predictor import MultiPredictorBlock, MultiPredictorLayout, Term
from ..observations.observed import Observations, TransformedRows
from ..observations.row_layout import Extra, RowLayout, column_names
from .base import BaseFamily
from .energy_functions import OneFunction
from .energy_functions import family as likelihood_of
from .second_parameter import prior_of_columns
from .user_responses import UserResponses


class UserFamily(BaseFamily):
    """Rows of several predictors: the first is ``x.theta``, each other one number for all rows, or columns of its own.

    By ``GLM(..., predictors={"zeta": Z})`` the parameter ``zeta`` of the energy is ``z.gamma``.
    """

    def __init__(self, rows: Any, shared: Mapping[str, IndependentPrior], responses: UserResponses):
        self.rows, self.shared, self.described = rows, dict(shared), rows.parameter_names[1:]
        self.responses_told, self.parameters = responses, rows.parameter_names[1:]  # type: ignore[misc]

    def response_distribution(self) -> UserResponses:
        return self.responses_told

    def check(self, y: np.ndarray) -> None:
        self.rows.check(y)

    def arrange(self, observations: Observations, temper: float) -> RowLayout:
        design, keys = observations.design, list(observations.described)
        blocks: list[Any] = [(design.numbers, design.dim)]
        terms, at, extras, laws = [Term(0, 0, 0)], design.dim, [], []
        for k, name in enumerate(self.described, start=1):
            prior = self.shared.get(name)
            size, labels = 1, None
            if name in keys:
                which = keys.index(name)
                second = observations.others[which]
                size, columns = second.dim, observations.other_names[which]
                labels = tuple(str(j) for j in range(size)) if columns is None else tuple(columns)
            blocks.append(None if labels is None else (second.numbers, size))
            terms.append(Term(k, k, at))
            extras.append(Extra(name, labels))
            which = keys.index(name) if name in keys else len(keys)
            laws.append(prior_of_columns(observations, which, prior).laws(size))
            at += size
        layout = MultiPredictorLayout(blocks, terms, self.rows.predictors)
        order = [keys.index(name) if name in keys else None for name in self.described]

        def with_predictors(rows: Rows) -> Rows:
            others = (None if which is None else rows.others[which] for which in order)
            return rows._replace(X=MultiPredictorBlock((rows.X, *others), layout, len(rows.y)), others=())

        names, coordinates = column_names(observations), Same(design.dim, at - design.dim)
        transformed = TransformedRows(observations, layout, with_predictors)
        return RowLayout(transformed, self.rows, names, coordinates, tuple(extras), tuple(laws), np.zeros(at))

    def parameter_prior(self, name: str) -> Any:
        return self.shared.get(name)

    def __repr__(self) -> str:
        return repr(self.rows)


def family(
    energy: Callable[..., Any],
    *,
    convex: bool | None = None,
    check: Callable[[np.ndarray], Any] | None = None,
    shared: Mapping[str, IndependentPrior] | None = None,
    mean: Callable[..., Any] | None = None,
    draw: Callable[..., Any] | None = None,
    name: str | None = None,
) -> Any:
    """Make your own family from one Python function that returns minus the log-likelihood of a row.

    Parameters
    ----------
    energy : function ``energy(eta, y)``, or ``energy(eta, zeta, y)``, or of three predictors
        Use functions of NumPy and `scipy.special`; the energy must be smooth and without branches. Numba compiles it
        for the chains. Interval arithmetic gives its derivatives and their proved bounds. ``eta`` is ``x.theta``. Each
        further argument before ``y`` is a parameter that is the same for all rows, or ``z.gamma`` with ``GLM(...,
        predictors={"zeta": Z})``. Global variables and variables of enclosing functions are constants: they have the
        value that they have now.
    convex : bool, optional
        True if the energy is convex in its predictors. Then tunamh does not search for several modes. If tunamh can
        prove that the energy is not convex at the data, it raises an error.
    check : function ``check(y)``, optional
        It must raise a ValueError if the energy does not allow a response.
    shared : dict of priors, optional
        The priors of the other parameters (or of their coefficients), by the name of the parameter. Default:
        ``Normal(scale=2.5)``.
    mean : function ``mean(eta)``, or ``mean(eta, zeta)``, optional
        The mean of a response, for `tunamh.predict`.
    draw : function ``draw(rng, eta)``, or ``draw(rng, eta, zeta)``, optional
        Simulates a response for every predictor, for ``tunamh.predict(kind="response")`` and `tunamh.replicate`. A
        result does not contain code, so pass the family again: ``tunamh.predict(posterior, rows, family=...)``.
        `tunamh.loo` needs neither function.
    name : str, optional
        The name of the family. Default: the name of the function.

    Examples
    --------
    >>> def tweedie(eta, y):  # power 1.5, dispersion 1
    ...     return 2 * y * np.exp(-0.5 * eta) + 2 * np.exp(0.5 * eta)
    >>> target = tunamh.GLM(X, y, tunamh.family(tweedie, convex=True))
    """
    rows = likelihood_of(energy, convex=convex, check=check, name=name)
    known = rows.parameter_names[1:]
    for key, prior in (shared or {}).items():
        if key not in known:
            said = f"its shared parameters are {', '.join(known)}" if known else "there are none"
            raise ValueError(f"shared names {key!r}, which is no parameter of the energy: {said}.")
        if not isinstance(prior, IndependentPrior):
            raise TypeError(f"shared[{key!r}] must be a prior such as tunamh.Normal(scale=1), got {shown(prior)}.")
    for what, function in (("mean", mean), ("draw", draw)):
        if function is not None and not callable(function):
            raise TypeError(f"{what} must be a function of the predictors, got {shown(function)}.")
    responses = UserResponses(rows.formula, known, mean, draw)
    if not isinstance(rows, OneFunction):
        return UserFamily(rows, shared or {}, responses)
    rows.responses_told = responses
    return rows
