"""Designs: how a row's columns become its linear predictor.

A matrix kind is one file: what compiled code does with a packed row (`dots`, `dot`, `sizes`), and what sums over blocks
of rows need (`Block`). The rest of the library does not know which kind it has.
"""

from .base import Block, Design
from .dense import DenseDesign
from .indexed import IndexedDesign

__all__ = ["Block", "DenseDesign", "Design", "IndexedDesign"]
