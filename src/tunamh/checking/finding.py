"""What one check found, and what all of them found together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from .statistics import strength

FINE, WRONG, UNJUDGED = "fine", "wrong", "not judged"

ALARM = 0.01
"""How often, at most, anything looks wrong where the model is right: probabilities are multiplied by their number."""


@dataclass(frozen=True)
class Finding:
    """The result of one check of `tunamh.check`.

    Attributes
    ----------
    name, about : str
        The name of the check, and the column or factor that was checked.
    p : float or None
        The probability of a deviation at least as large if the model is correct, for this check alone.
    size : str
        How large the deviation is.
    wrong, advice : str
        What looks wrong, and what to try.
    state : str
        ``"fine"``, ``"wrong"`` or ``"not judged"``.
    """

    name: str
    about: str
    p: float | None
    size: str = ""
    wrong: str = ""
    advice: str = ""
    state: str = UNJUDGED

    @property
    def z(self) -> float | None:
        """Return ``p`` as a number of standard deviations of a normal distribution; None if there is no ``p``."""
        return None if self.p is None else strength(self.p)

    @property
    def what(self) -> str:
        """Return the name of the check and what it is about, a text."""
        return f"{self.name}: {self.about}" if self.about else self.name

    @property
    def text(self) -> str:
        """Return one or two sentences for the user about the result."""
        if self.state == UNJUDGED:
            return self.wrong
        if self.state == FINE:
            return self.size
        return f"{self.wrong}: {self.size}." if self.size else f"{self.wrong}."


def judged(found: Sequence[Finding]) -> list[Finding]:
    """Return the findings with a state: fine or wrong.

    By Bonferroni's inequality, the probability that any check of a correct model looks wrong is at most `ALARM`.
    """
    count = sum(one.p is not None for one in found)
    return [one if one.p is None else replace(one, state=WRONG if one.p * count < ALARM else FINE) for one in found]
