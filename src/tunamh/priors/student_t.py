"""Student-t priors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from .._arguments import moderate_number
from .columns import each
from .independent import LocatedPrior
from .laws import STUDENT_T


@dataclass(frozen=True, kw_only=True)
class StudentT(LocatedPrior):
    """Independent Student-t priors: ``(theta_j - mean_j) / scale_j`` has ``df_j`` degrees of freedom.

    ``theta_j`` is the coefficient of column ``j``. `GroupEffects` uses a Student-t distribution, too (``law=``).

    Parameters
    ----------
    df, mean, scale : float, list or dict
        One number for all coefficients, a list in the order of the columns, or a dict with a number for every column
        name, such as ``{"age": 1, "dose": 5}``.
    """

    df: Any

    word = "student_t"
    word_numbers = ("df", "mean", "scale")
    _kind = STUDENT_T
    _order = ("df", "mean", "scale")

    def _numbers(self) -> dict[str, Any]:
        return {"df": self.df, **super()._numbers()}

    def __post_init__(self) -> None:
        super().__post_init__()
        for value in each(self.df):
            moderate_number("df of the prior", value, 1e-2, 1e10)
