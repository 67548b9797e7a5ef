"""Errors and warnings. Their attributes and messages help a user to find the cause."""

from __future__ import annotations

from typing import Any


class Text(str):
    """The message of an error or a warning, for Python and for the command ``tunamh``.

    The text itself names arguments of Python functions. The attribute ``shell`` is the same message with the names of
    the command's options.
    """

    shell: str

    def __new__(cls, text: str, shell: str) -> Text:
        found = super().__new__(cls, text)
        found.shell = shell
        return found

    def __getnewargs__(self) -> tuple[str, str]:  # type: ignore[override]
        return str(self), self.shell

    @classmethod
    def of(cls, *parts: str | tuple[str, str]) -> Text:
        """Return a message that is made from parts, one after the other.

        A part is a text, or a pair of texts: the first for Python, the second for the command ``tunamh``.
        """
        pairs = [(part, part) if isinstance(part, str) else part for part in parts]
        return cls("".join(text for text, _ in pairs), "".join(shell for _, shell in pairs))


def for_shell(error: BaseException) -> str:
    """Return the message of an error as the command ``tunamh`` shows it."""
    said = error.args[0] if error.args else ""
    return said.shell if isinstance(said, Text) else str(error)


class TunaMHError(Exception):
    """Base class of the library's own errors."""


class BoundViolation(TunaMHError):
    """The energy of a row changed by more than its bound allows, so the draws would not be exact.

    Attributes
    ----------
    row : int
        The number of the row in the data.
    step : int or None
        The step of the chain; None if `check_bounds` found it.
    ratio : float
        ``|U_i(prop) - U_i(theta)| / (c_i M(theta, prop))``: the change of the energy ``U_i`` divided by its bound. With
        a valid bound it is at most 1.
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
    """The energy (minus log-likelihood) of a row, the log prior or the log proposal ratio is NaN or infinite."""

    def __init__(self, message: str, *, row: int | None = None, step: int | None = None):
        self.row, self.step = row, step
        super().__init__(message)


class SourceError(TunaMHError):
    """Rows of a file or another source are missing, have changed or cannot be read. The message says what to do."""


class PassGivenUp(TunaMHError):
    """Internal: the run was stopped (Ctrl-C, ``max_seconds``) while it read rows."""


class NotApplicable(TunaMHError):
    """The target does not have what the chosen test, proposal or control variate needs."""


class ImproperPosterior(TunaMHError):
    """The posterior is improper, because the prior is flat and the data do not determine all parameters."""


class SeveralModes(UserWarning):
    """The posterior has several modes. The message lists the modes and says how tunamh samples them."""


class LaplaceOff(UserWarning):
    """Laplace's approximation differs from the posterior. The message names the worst parameter and its error."""


class ConvergenceWarning(UserWarning):
    """R-hat exceeds 1.01, a parameter has fewer than 100 effective draws per chain, or a chain never moved.

    For a few hundred draws the limit of R-hat is higher, up to 1.02, because R-hat then varies more by chance.

    If a warnings filter turns the warning into an error, its attribute ``posterior`` has the draws.
    """

    posterior: Any = None


ChainsDisagree = ConvergenceWarning
"""The name of the first edition."""


class NoDraws(TunaMHError):
    """Sampling stopped (``max_seconds``) before every chain had a draw."""
