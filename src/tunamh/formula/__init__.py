"""Formulas: ``response ~ terms``, read without evaluating anything, and the regressions they mean."""

from .errors import FormulaError
from .model import FormulaModel
from .nonlinear import nonlinear
from .parser import parse
from .regression import regression

__all__ = ["FormulaError", "FormulaModel", "nonlinear", "parse", "regression"]
