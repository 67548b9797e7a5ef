"""What families of counts have in common."""

from __future__ import annotations

import numpy as np

from .base import Family, Responses
from .links import LOG
from .response_checks import first_wrong

_MOST = 1e15  # beyond this not every whole number is a float


def _advice(y: np.ndarray) -> str:
    """What to do about responses that are not counts."""
    if np.any(y != np.floor(y)):
        return "for amounts that are not whole take Gamma() or LogNormal(), for numbers of any sign Gaussian()"
    if np.any(y < 0):
        return "correct a negative count, or make it missing if it is a code; for differences of counts take Gaussian()"
    return ""


class OfCounts:
    """What families of counts share. A response must be a whole number from 0 on."""

    def check(self, y: np.ndarray) -> None:
        """Raise a ValueError if a response in ``y`` is not a count: a whole number from 0 on."""
        wrong = (y < 0) | (y != np.floor(y)) | (y > _MOST)
        if wrong.any():
            raise first_wrong(wrong, y, f"hold counts (whole numbers from 0 to {_MOST:g})", _advice(y))

    def rises(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return for each row whether its energy grows without limit as ``eta`` goes to +/- infinity.

        The energy of a row is its negative log-likelihood. The result is two boolean arrays (n,), the first for
        +infinity and the second for -infinity. ``eta`` is the linear predictor of the mean. The first array is True for
        all rows. The second is True if the count is positive.
        """
        return np.ones(y.shape, bool), y > 0


class CountFamily(OfCounts, Family):
    """A family of counts whose mean has one linear predictor.

    The link is the logarithm unless the family has another.
    """

    responses = Responses.COUNTS
    link = LOG
    convex = True

    def guess(self, y: np.ndarray) -> np.ndarray:
        """Return a rough linear predictor for each row, an array (n,): ``log(y + 1/2)`` for the count ``y``."""
        return np.log(y + 0.5)
