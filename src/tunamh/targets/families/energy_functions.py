"""Likelihoods made of one plain Python function of one to eight predictors, columns of the data and the response.

The function is written once, in NumPy's (and `scipy.special`'s) functions. Jets run it for derivatives and proved
bounds (spec 5p), Numba compiles it for the chain.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..._arguments import flag, shown
from ...compiled import Part
from .base import Family
from .energy_arguments import Arguments
from .energy_parts import compiled_parts
from .formula_likelihood import FormulaLikelihood
from .function_copies import copies_of
from .likelihood import Likelihood, Suprema
from .user_responses import UserResponses

_FEW_PREDICTORS = 3
"""Of which all of a grid of predictors are tried."""

_RESPONSES_TRIED = 64  # at which an energy is looked at before it is sampled
_MOST_ROUNDING = 0.05  # of one row's energy

_GRAIN = 16.0
"""Of a rise by difference: what cancels inside the user's formula is not seen in the energies."""


class _OfFunction(Likelihood):
    """What likelihoods of a user's function have in common."""

    formulas: tuple[Callable[..., Any], ...]
    energy: Part = None  # type: ignore[assignment]
    rise: Part = None  # type: ignore[assignment]
    of_a_function = True
    grain = _GRAIN

    def __init__(
        self,
        formula: Callable[..., Any],
        parts: tuple[Part, Part],
        *,
        parameter_names: tuple[str, ...] = ("eta",),
        known: tuple[str, ...] = (),
        convex: bool = False,
        check: Callable[[np.ndarray], Any] | None = None,
        name: str = "energy",
    ):
        self.formula, self.formulas, self.name = formula, (formula,), name
        self.energy, self.rise = parts
        self.parameter_names, self.predictors = parameter_names, len(parameter_names)
        self.known_names, self.known = known, len(known)
        self.convex, self._check = convex, check

    def __repr__(self) -> str:
        return f"family({self.name})"

    def check(self, y: np.ndarray) -> None:
        if self._check is not None:
            self._check(y)
        if self.known or self.predictors > _FEW_PREDICTORS:
            return
        some = np.unique(y[:: max(1, y.size // _RESPONSES_TRIED)])
        self._refuse_lost_digits(some)
        if self.convex:
            self._refuse_downward_curve(some)

    def _refuse_lost_digits(self, y: np.ndarray) -> None:
        """An energy that is a number plus something that its digits do not hold."""
        from ...jets import least_rounding

        rounding = least_rounding(self.formula, self.predictors, y)
        lost = np.isfinite(rounding) & (rounding > _MOST_ROUNDING)
        if lost.any():
            row = int(lost.argmax())
            raise ValueError(
                f"the energy of {self!r} is rounded by {rounding[row]:.2g} or more at y = {y[row]:g}, whatever the "
                "predictor: constants, or terms that cancel, are too large. An energy is minus a log-likelihood up to "
                "a constant: leave that out."
            )

    def _refuse_downward_curve(self, y: np.ndarray) -> None:
        from ...jets import curved_downwards

        found = curved_downwards(self.formula, self.predictors, y)
        if found is not None:
            at = ", ".join(
                f"{name} = {value:g}" for name, value in zip(self.parameter_names, found.predictors, strict=True)
            )
            raise ValueError(
                f"convex=True is not true of {self!r}: its energy curves downwards at {at}, y = {found.y:g}. Leave "
                f"convex= out; then tunamh searches for several modes."
            )


_ONE_PIECE = 0.1  # up to this radius one piece a side is within a few percent of more


class OneFunction(_OfFunction, Family):
    """A user's likelihood ``f(eta, y)`` with one predictor."""

    responses_told: UserResponses | None = None

    def response_distribution(self) -> UserResponses | None:
        return self.responses_told

    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        from ...jets import derivatives

        found = derivatives(self.formula, [eta], y)
        return found.gradient[0], found.hessian[0, 0], found.third[0, 0, 0]

    def suprema(self, y: np.ndarray) -> Suprema:
        """Return bounds of the derivatives over all ``eta`` by interval arithmetic, in one piece on each side of 0.

        A bound is infinite if interval arithmetic finds none.
        """
        from ...jets import supremum_near

        values, rows = np.unique(y, return_inverse=True)
        found = (supremum_near(self.formula, 0.0, values, np.inf, order)[rows] for order in (1, 2, 3))
        return Suprema(*found)

    def suprema_near(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> Suprema:
        from ...jets import supremum_near

        found = (supremum_near(self.formula, eta, y, radius, order) for order in (1, 2, 3))
        return Suprema(*map(np.minimum, found, self.suprema(y)))

    def second_order_constants(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Return an upper bound of the constant of order 2, ``L(radius)`` of spec 5m, for each row."""
        from ...jets import slope_constant

        near = np.broadcast_to(radius, eta.shape) <= _ONE_PIECE
        found = np.empty(eta.shape)
        for rows, pieces in ((near, 1), (~near, None)):
            if rows.any():
                found[rows] = slope_constant(
                    self.formula, eta[rows], y[rows], np.broadcast_to(radius, eta.shape)[rows], pieces
                )
        return found

    def rough_bounds(self, y: np.ndarray, eta: np.ndarray, radius: np.ndarray) -> np.ndarray:
        """Return rougher bounds than `second_order_constants`, with one piece on each side.

        They are for radii that few proposals need.
        """
        from ...jets import slope_constant

        return slope_constant(self.formula, eta, y, radius, 1)


class MultiPredictorFunction(_OfFunction, FormulaLikelihood):
    """A user's likelihood with several predictors, or with one predictor and columns of the data."""


def likelihood_of(
    energy: Callable[..., Any],
    arguments: Arguments,
    *,
    convex: bool | None = None,
    check: Callable[[np.ndarray], Any] | None = None,
    name: str | None = None,
    rows: np.ndarray | None = None,
    alone: bool = True,
) -> OneFunction | MultiPredictorFunction:
    """Return the likelihood whose energy is a plain Python function: minus the log-likelihood of a row.

    The function may use functions of NumPy and `scipy.special` of whole arrays; it must be smooth and without branches.
    Derivatives and their bounds are computed by running it on other kinds of numbers. Constants may be global variables
    or variables of an enclosing function: the values that they have now are used.

    Parameters
    ----------
    convex : bool, optional
        True if the energy is convex in its predictors: then the search for several modes is left out. If the data prove
        that it is not convex, an error is raised.
    check : function ``check(y)``, optional
        A function that raises a ValueError for responses that are not allowed.
    rows : (known + 1, n), optional
        Columns of the data and responses at which the energy is tried first. By default simple numbers are used.
    alone : bool
        Whether a single predictor means a model with one predictor.
    """
    if check is not None and not callable(check):
        raise TypeError(f"check must be a function check(y) that raises a ValueError, got {shown(check)}.")
    convex = False if convex is None else flag("convex", convex)
    copies = copies_of(energy)
    traced, made = arguments.in_order(copies.traced), copies.made
    key = f"parts {arguments}"
    parts = made.get(key)
    if parts is None or rows is not None:
        from .energy_audit import audit

        audited = audit(traced, arguments, rows)
        parts = parts or compiled_parts(copies, arguments)
        audited.compare(parts[0])
        made[key] = parts
    one = alone and len(arguments.predictors) == 1 and not arguments.known
    kind = OneFunction if one else MultiPredictorFunction
    label = energy.__name__ if name is None else str(name)
    return kind(
        traced,
        parts,
        parameter_names=arguments.predictors,
        known=arguments.known,
        convex=convex,
        check=check,
        name=label,
    )
