"""Responses that families refuse, row by row."""

from __future__ import annotations

import numpy as np


class WrongResponse(ValueError):
    """An error for a response that a family does not allow.

    ``wanted`` says what responses must be; ``row`` and ``value`` are the first wrong response; ``advice`` says what to
    do; ``kind`` says what the responses are, such as labels or classes (empty: numbers of any kind).
    """

    def __init__(self, wanted: str, row: int, value: float, advice: str = "", kind: str = ""):
        super().__init__(wanted, row, value, advice, kind)
        self.wanted, self.row, self.value, self.advice, self.kind = wanted, row, value, advice, kind

    def __str__(self) -> str:
        return self.told(f"{self.kind} in y" if self.kind else "y")

    @property
    def without_name(self) -> str:
        """Return the sentence without the name of the response, for a place where the name was said before."""
        return self.told(self.kind or "it")

    def told(self, responses: str) -> str:
        advice = f": {self.advice}" if self.advice else ""
        return f"{responses} must {self.wanted}, but row {self.row} has {self.value:g}{advice}."


def first_wrong(wrong: np.ndarray, y: np.ndarray, wanted: str, advice: str = "", kind: str = "") -> WrongResponse:
    """Return the error for the first response that is ``wrong``."""
    row = int(np.argmax(wrong))
    return WrongResponse(wanted, row, float(y[row]), advice, kind)


def check_positive(y: np.ndarray) -> None:
    wrong = ~(y > 0)
    if wrong.any():
        advice = "for numbers of any sign take Gaussian() or StudentT()" if np.any(y < 0) else ""
        raise first_wrong(wrong, y, "be positive", advice)


def check_proportions(y: np.ndarray) -> None:
    wrong = ~((y > 0) & (y < 1))
    if wrong.any():
        raise first_wrong(wrong, y, "lie between 0 and 1, both excluded", "move such responses inside")
