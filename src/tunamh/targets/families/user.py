"""A family of one's own from one plain function, with the priors of what its rows share."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..._arguments import shown
from ...priors.independent import IndependentPrior
from ...rows.source import Rows
from ..coordinates.base import Same
from ..designs.multi_predictor import KNOWN, MultiPredictorBlock, MultiPredictorLayout, Term, known_block
from ..observations.base import Observations
from ..observations.observed import TransformedRows
from ..observations.row_layout import Extra, RowLayout, column_names
from .base import BaseFamily
from .energy_arguments import MOST_PREDICTORS, Arguments, signature_of
from .energy_functions import OneFunction, likelihood_of
from .second_parameter import prior_of_columns
from .user_responses import UserResponses


class UserFamily(BaseFamily):
    """A user's own family with several predictors: the first is ``x.theta``.

    Each other predictor is one number for all rows, or it has its own columns: with ``GLM(..., predictors={"zeta":
    Z})`` the parameter ``zeta`` of the energy is ``z.gamma``. Columns of the data that the energy reads as they are are
    also passed in ``predictors``, by their names.
    """

    main = True
    """Whether the first predictor is that of the model's columns."""

    def __init__(self, rows: Any, shared: Mapping[str, IndependentPrior], responses: UserResponses):
        self.rows, self.shared, self.responses_told = rows, dict(shared), responses
        self.parameters = rows.parameter_names[self.main :]  # type: ignore[misc]
        self.data_columns = rows.known_names
        self.described = (*self.parameters, *self.data_columns)

    def response_distribution(self) -> UserResponses:
        return self.responses_told

    def check(self, y: np.ndarray) -> None:
        self.rows.check(y)

    def arrange(self, observations: Observations, temper: float) -> RowLayout:
        design, pieces = observations.design, _Pieces([], [], [], [])
        if self.main:
            pieces.blocks.append((design.numbers, design.dim))
            pieces.terms.append(Term(0, 0, 0))
        at = design.dim
        for name in self.parameters:
            at += self._add(pieces, observations, name, at)
        keys = list(observations.described)
        for name in self.data_columns:
            _refuse_no_column(observations, name)
            pieces.terms.append(Term(len(pieces.terms), len(pieces.blocks), 0))
            pieces.blocks.append((KNOWN, 0))
        K, known = self.rows.predictors, len(self.data_columns)
        layout = MultiPredictorLayout(pieces.blocks, pieces.terms, K, known)
        order = [keys.index(name) if name in keys else None for name in self.described]
        main = self.main

        def with_predictors(rows: Rows) -> Rows:
            others = [None if which is None else rows.others[which] for which in order]
            columns = [known_block(rows.others[which].dense()[:, 0]) for which in order[len(order) - known :]]  # type: ignore[index]
            blocks = (*((rows.X,) if main else ()), *others[: len(others) - known], *columns)
            return rows._replace(X=MultiPredictorBlock(blocks, layout, len(rows.y)), others=())

        names, coordinates = column_names(observations), Same(design.dim, at - design.dim)
        transformed = TransformedRows(observations, layout, with_predictors)
        extras, laws = tuple(pieces.extras), tuple(pieces.laws)
        return RowLayout(transformed, self.rows, names, coordinates, extras, laws, self.start(laws, at))

    def _add(self, pieces: _Pieces, observations: Observations, name: str, at: int) -> int:
        """One parameter, a number or columns: how many parameters it has."""
        keys = list(observations.described)
        which = keys.index(name) if name in keys else len(keys)
        size, labels, block = 1, None, None
        if name in keys:
            second = observations.others[which]
            size, columns = second.dim, observations.other_names[which]
            labels = tuple(str(j) for j in range(size)) if columns is None else tuple(columns)
            block = (second.numbers, size)
        pieces.terms.append(Term(len(pieces.terms), len(pieces.blocks), at))
        pieces.blocks.append(block)
        pieces.extras.append(Extra(name, labels))
        pieces.laws.append(prior_of_columns(observations, which, self.shared.get(name)).laws(size))
        return size

    def start(self, laws: tuple[Any, ...], size: int) -> np.ndarray:
        """Return the point from which the search for a mode begins, an array."""
        return np.zeros(size)

    def parameter_prior(self, name: str) -> Any:
        return self.shared.get(name)

    def __repr__(self) -> str:
        return repr(self.rows)


class _Pieces(NamedTuple):
    """Of a layout: blocks of columns, the terms they make, parameters beside the coefficients, and their laws."""

    blocks: list[Any]
    terms: list[Term]
    extras: list[Extra]
    laws: list[Any]


def _refuse_no_column(observations: Observations, name: str) -> None:
    keys = list(observations.described)
    if name not in keys:
        raise ValueError(
            f"the energy needs the column {name} of the data, but it is missing: pass "
            f"predictors={{{name!r}: ...}}, one number per row."
        )
    dim = observations.others[keys.index(name)].dim
    if dim != 1:
        raise ValueError(f"the energy needs one number per row for {name}, but it has {dim} columns.")


def family(
    energy: Callable[..., Any],
    *,
    columns: Sequence[str] = (),
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
    energy : function ``energy(eta, y)``, ``energy(eta, zeta, y)``, or with up to eight linear predictors
        Use functions of NumPy and `scipy.special`; the energy must be smooth and without branches. Numba compiles it
        for the chains. Interval arithmetic gives its derivatives and their proved bounds. ``eta`` is ``x.theta``. Each
        further argument before ``y`` is a parameter that is the same for all rows, or a linear predictor ``z.gamma`` of
        the columns ``Z`` in ``GLM(..., predictors={"zeta": Z})``. Global variables and variables of enclosing functions
        are constants: their values are fixed when you call `tunamh.family`.
    columns : names, optional
        Arguments that are columns of the data: ``energy(eta, dose, y)`` with ``columns=["dose"]`` and ``GLM(...,
        predictors={"dose": dose})``, or `tunamh.regression` with a table that has the column. For a curve whose
        parameters have several linear predictors, `tunamh.nonlinear` needs less code.
    convex : bool, optional
        True if the energy is convex in its linear predictors. Then tunamh does not search for several modes. If tunamh
        can prove that the energy is not convex for these data, it raises an error. By default tunamh does not assume
        that it is convex, and searches for several modes.
    check : function ``check(y)``, optional
        It must raise a ValueError if the energy does not allow a response.
    shared : dict of priors, optional
        The priors of the arguments of ``energy`` other than ``eta`` and ``y``. The key is the name of the argument, the
        value is its prior (or the prior of its coefficients): ``{"zeta": Normal(scale=1)}``. Default:
        ``Normal(scale=2.5)``.
    mean : function ``mean(eta)``, or ``mean(eta, zeta)``, optional
        The mean of a response, for `tunamh.predict`.
    draw : function ``draw(rng, eta)``, or ``draw(rng, eta, zeta)``, optional
        A function that simulates one response for each row, given its linear predictors ``eta`` (and ``zeta``), for
        ``tunamh.predict(kind="response")`` and `tunamh.replicate`. A result does not contain code, so pass the family
        again: ``tunamh.predict(posterior, rows, family=...)``. `tunamh.loo` needs neither function.
    name : str, optional
        The name of the family. Default: the name of the function.

    Examples
    --------
    >>> def tweedie(eta, y):  # power 1.5, dispersion 1
    ...     return 2 * y * np.exp(-0.5 * eta) + 2 * np.exp(0.5 * eta)
    >>> target = tunamh.GLM(X, y, tunamh.family(tweedie, convex=True))
    """
    arguments = arguments_of(energy, columns)
    rows = likelihood_of(energy, arguments, convex=convex, check=check, name=name)
    responses = checked_responses(rows, rows.parameter_names[1:], shared, mean, draw)
    if not isinstance(rows, OneFunction):
        return UserFamily(rows, shared or {}, responses)
    rows.responses_told = responses
    return rows


def arguments_of(energy: Callable[..., Any], columns: Sequence[str] = ()) -> Arguments:
    """Return the arguments of the energy of a family.

    First come the predictors, then columns of the data, then the response.
    """
    names = signature_of(energy)
    listed = f"energy({', '.join(names)})"
    if isinstance(columns, str) or not all(isinstance(name, str) for name in columns):
        raise TypeError(f"columns must be a list of names, such as ['dose'], got {shown(columns)}.")
    absent = [name for name in columns if name not in names[1:-1]]
    if absent:
        raise ValueError(f"columns names {absent[0]!r}, which is no argument of {listed} between predictors and y.")
    predictors = tuple(name for name in names[:-1] if name not in columns)
    if not 1 <= len(predictors) <= MOST_PREDICTORS:
        raise TypeError(
            f"{listed} must have one to eight predictors and then y, but has {len(names)} parameters"
            f"{' without columns=' if columns else ''}."
        )
    return Arguments(predictors, tuple(columns), names[-1], names)


def checked_responses(
    rows: Any,
    names: tuple[str, ...],
    shared: Mapping[str, IndependentPrior] | None,
    mean: Callable[..., Any] | None,
    draw: Callable[..., Any] | None,
) -> UserResponses:
    """Return what a user says of the responses. Raise an error for priors and functions that cannot be used."""
    for key, prior in (shared or {}).items():
        if key not in names:
            said = f"its shared parameters are {', '.join(names)}" if names else "there are none"
            raise ValueError(f"shared names {key!r}, which is no parameter of the energy: {said}.")
        if not isinstance(prior, IndependentPrior):
            raise TypeError(f"shared[{key!r}] must be a prior such as tunamh.Normal(scale=1), got {shown(prior)}.")
    for what, function in (("mean", mean), ("draw", draw)):
        if function is not None and not callable(function):
            raise TypeError(f"{what} must be a function of the predictors, got {shown(function)}.")
    return UserResponses(rows.formula, (*names, *rows.known_names), mean, draw)
