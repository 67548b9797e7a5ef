"""Checks of the fit: whether a model fits its data, pictures of the checks, and influential rows."""

from .check import FitCheck, check
from .influence import influence
from .plot import plot_check

__all__ = ["FitCheck", "check", "influence", "plot_check"]
