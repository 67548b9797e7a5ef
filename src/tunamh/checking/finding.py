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
    """One check. ``p`` is the probability of a deviation at least as large if the model is right, ``z`` as many
    standard deviations of a normal number; both are of this check alone. ``size`` says how large the deviation is."""

    name: str
    about: str
    p: float | None
    size: str = ""
    wrong: str = ""
    advice: str = ""
    state: str = UNJUDGED

    @property
    def z(self) -> float | None:
        return None if self.p is None else strength(self.p)

    @property
    def what(self) -> str:
        """The check and what it is about."""
        return f"{self.name}: {self.about}" if self.about else self.name

    @property
    def text(self) -> str:
        """One sentence or two."""
        if self.state == UNJUDGED:
            return self.wrong
        if self.state == FINE:
            return self.size
        return f"{self.wrong}: {self.size}." if self.size else f"{self.wrong}."


def judged(found: Sequence[Finding]) -> list[Finding]:
    """By Bonferroni's inequality: the probability that any of the checks alarms is at most `ALARM`."""
    count = sum(one.p is not None for one in found)
    return [one if one.p is None else replace(one, state=WRONG if one.p * count < ALARM else FINE) for one in found]
