"""Formulas such as ``response ~ terms``: a parser, and the models that formulas describe."""

from .errors import FormulaError
from .model import FormulaModel
from .nonlinear import nonlinear
from .parser import parse
from .regression import regression

__all__ = ["FormulaError", "FormulaModel", "nonlinear", "parse", "regression"]
