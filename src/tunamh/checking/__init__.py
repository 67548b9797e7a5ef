"""Does the model fit? Checks of a result on some rows of its data, in words and in pictures; rows that matter most."""

from .check import FitCheck, check
from .influence import influence
from .plot import plot_check

__all__ = ["FitCheck", "check", "influence", "plot_check"]
