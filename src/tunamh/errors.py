"""Errors and warnings of tunamh. Their messages say what is wrong, where, and what to do."""

from __future__ import annotations

from typing import Any


class Text(str):
    """The message of an error or a warning, in two forms: for Python and for the command ``tunamh``.

    The text itself names arguments of Python functions. The attribute ``shell`` is the same message with the names of
    the options of the command.
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
        """Return a message that joins ``parts``.

        A part is a text, or a pair of texts: the first for Python, the second for the command ``tunamh``.
        """
        pairs = [(part, part) if isinstance(part, str) else part for part in parts]
        return cls("".join(text for text, _ in pairs), "".join(shell for _, shell in pairs))


def for_shell(error: BaseException) -> str:
    """Return the message of an error as the command ``tunamh`` shows it."""
    said = error.args[0] if error.args else ""
    return said.shell if isinstance(said, Text) else str(error)


class TunaMHError(Exception):
    """Base class of the errors that only tunamh raises. Wrong arguments raise ValueError or TypeError."""


class BoundViolation(TunaMHError):
    """The energy of a row changed by more than its bound allows, so the draws would not be exact.

    The energy of a row is its negative log-likelihood.

    Attributes
    ----------
    row : int
        The number of the row in the data.
    step : int or None
        The step of the chain; None if `check_bounds` found the row.
    ratio : float
        ``|U_i(prop) - U_i(theta)| / (c_i M(theta, prop))``: the change of the energy ``U_i``, divided by its bound.
        With a valid bound it is at most 1.
    rise, bound : float
        The change of the energy ``U_i``, and the bound ``c_i M(theta, prop)`` of this change.
    """

    def __init__(
        self, row: int, ratio: float, *, rise: float, bound: float, step: int | None = None, own_bounds: bool = True
    ):
        self.row, self.ratio, self.rise, self.bound, self.step = row, ratio, rise, bound, step
        when = "" if step is None else f" at step {step}"
        what = f"but the bound c_i * M of this change is {bound:.6g} (ratio {ratio:.6g})"
        if bound == 0 and ratio == float("inf"):
            what = "but the bound of this change is zero"
        if bound != bound:  # of the row's group, which the sweep alone knows
            what = "more than the bound of its group allows"
        super().__init__(
            f"the energy of row {row} changed by {rise:.6g}{when}, {what}. The draws would not be exact. "
            f"{_YOUR_BOUNDS if own_bounds else _OUR_BOUNDS}"
        )


_YOUR_BOUNDS = (
    "The bound is your own: enlarge c for this row, or the suprema of your family, or correct the distance M. "
    "tunamh.check_bounds(target) checks the bounds of all rows."
)
_OUR_BOUNDS = (
    "tunamh computed this bound. So either tunamh has a mistake, or the rounding errors are larger than it expects. "
    "Rounding errors are smaller if the columns are centred and have similar sizes, and if the weights are smaller. "
    "test=MH() needs no bounds. Please report this error with the numbers of this row."
)


class NonFiniteEnergy(TunaMHError):
    """The energy (minus log-likelihood) of a row, the log prior or the log proposal ratio is NaN or infinite.

    Attributes
    ----------
    row : int or None
        The number of the row in the data; None if the cause is not a row.
    step : int or None
        The step of the chain; None if it is not known.
    """

    def __init__(self, message: str, *, row: int | None = None, step: int | None = None):
        self.row, self.step = row, step
        super().__init__(message)


class SourceError(TunaMHError):
    """Rows of a file or another source are missing, have changed, or cannot be read. The message says what to do."""


class PassGivenUp(TunaMHError):
    """The run was stopped (Ctrl-C, ``max_seconds``) while it read rows. Only the library uses this error."""


class NotApplicable(TunaMHError):
    """The chosen method does not fit the model or the result. The message says why and, often, what to use instead.

    For example, an acceptance test may need bounds that the target does not have.
    """


class ImproperPosterior(TunaMHError):
    """The posterior is improper: its density cannot be normalised, so it cannot be sampled.

    Usually a prior is flat and the data do not determine all parameters, as with collinear columns or separable labels.
    The message names the cause and says what to do.
    """


class SeveralModes(UserWarning):
    """A warning: the posterior has several modes. The message lists them and says how tunamh samples them."""


class LaplaceOff(UserWarning):
    """A warning: Laplace's approximation differs from the posterior.

    The message names the parameter with the largest error and gives this error.
    """


class ConvergenceWarning(UserWarning):
    """A warning: the chains may not have converged, or there are too few draws.

    It is shown if R-hat of a parameter exceeds 1.01, if a parameter has fewer than 100 effective draws per chain, or if
    a chain never moved. With only a few hundred draws the limit of R-hat is higher, up to 1.02, because R-hat then
    varies more by chance.

    If a warnings filter turns the warning into an error, its attribute ``posterior`` has the draws.
    """

    posterior: Any = None


ChainsDisagree = ConvergenceWarning
"""The name of the first edition."""


class NoDraws(TunaMHError):
    """There is no result, because at least one chain has no draw yet.

    `tunamh.sample` raises this error if ``max_seconds`` ends before every chain has a draw, `tunamh.read_store` if the
    stored run is at its beginning.
    """
