"""Exceptions that carry the numbers a user needs to find the cause."""

from __future__ import annotations

from typing import Any


class TunaMHError(Exception):
    """Base class of the library's own errors."""


class BoundViolation(TunaMHError):
    """A row moved the energy by more than its bound allows, so the draws would not be exact.

    Attributes
    ----------
    row : int
        The offending row of the data.
    step : int or None
        The step of the chain at which it was met; None when found by `check_bounds`.
    ratio : float
        ``|U_i(prop) - U_i(theta)| / (c_i M(theta, prop))``; a valid bound keeps it at most 1.
    """

    def __init__(
        self, row: int, ratio: float, *, rise: float, bound: float, step: int | None = None, own_bounds: bool = True
    ):
        self.row, self.ratio, self.rise, self.bound, self.step = row, ratio, rise, bound, step
        when = "" if step is None else f" at step {step}"
        what = f"moved its energy by {rise:.6g}, but its bound c_i * M is {bound:.6g} (ratio {ratio:.6g})"
        if bound == 0 and ratio == float("inf"):
            what = f"exceeds its bound, which is zero, by {rise:.6g}"
        if bound != bound:  # of the row's group, which the sweep alone knows
            what = f"moved its energy by {rise:.6g}, more than the bound of its group allows"
        super().__init__(
            f"row {row}{when} {what}. The draws would not be exact. {_YOUR_BOUNDS if own_bounds else _OUR_BOUNDS}"
        )


_YOUR_BOUNDS = (
    "The bound is your own: enlarge c for this row, or the suprema of your family, or correct the distance M; "
    "tunamh.check_bounds(target) audits all rows."
)
_OUR_BOUNDS = (
    "The bound is tunamh's own, so this is either a mistake in tunamh or rounding beyond what it expects. Columns that "
    "are centred and of similar size, or smaller weights, lose fewer digits; test=MH() needs no bounds. Please report "
    "it with the numbers of this row."
)


class NonFiniteEnergy(TunaMHError):
    """The energy of a row, the prior or the proposal ratio is NaN or infinite."""

    def __init__(self, message: str, *, row: int | None = None, step: int | None = None):
        self.row, self.step = row, step
        super().__init__(message)


class SourceError(TunaMHError):
    """Rows that are read from elsewhere are gone, changed or cannot be read; says which, and what to do."""


class PassGivenUp(TunaMHError):
    """A run was ended (Ctrl-C, ``max_seconds``) while rows were read for it: inside the library only."""


class NotApplicable(TunaMHError):
    """A test, proposal or control variate was asked of a target that does not offer what it needs."""


class ImproperPosterior(TunaMHError):
    """Under a flat prior the data leave a direction open, so there is no posterior to sample from."""


class SeveralModes(UserWarning):
    """A posterior has several modes; the text says where, and what was done about it."""


class LaplaceOff(UserWarning):
    """Laplace's approximation is not the posterior; the text says by how much, and in which parameter most."""


class ConvergenceWarning(UserWarning):
    """R-hat exceeds 1.01, effective draws are fewer than 100 per chain, or a chain never moved.

    Where a filter makes an error of it, the draws are in its attribute ``posterior``.
    """

    posterior: Any = None


ChainsDisagree = ConvergenceWarning
"""The name of the first edition."""


class NoDraws(TunaMHError):
    """Sampling ended (``max_seconds``) before a single draw was kept in every chain."""
