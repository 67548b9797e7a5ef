"""Half-Student-t priors."""

from __future__ import annotations

from dataclasses import dataclass

from .._arguments import settle
from .laws import STUDENT_T, Laws
from .positive import SCALES, SHAPES, PositivePrior, limited, one_law


@dataclass(frozen=True)
class HalfStudentT(PositivePrior):
    """Half-Student-t prior of a positive parameter: a Student-t distribution with centre 0, limited to ``x > 0``.

    The density is proportional to ``(1 + x^2 / (df scale^2))^(-(df + 1) / 2)``.

    Parameters
    ----------
    df : float
        The degrees of freedom. With a small number, large values are more probable.
    scale : float
        The scale of the Student-t distribution.
    """

    df: float
    scale: float

    word = "half_student_t"
    word_numbers = ("df", "scale")

    def __post_init__(self) -> None:
        settle(self, df=limited("df", self.df, SHAPES), scale=limited("scale", self.scale, SCALES))

    def law(self) -> Laws:
        return one_law(STUDENT_T, 0.0, self.scale, self.df)
