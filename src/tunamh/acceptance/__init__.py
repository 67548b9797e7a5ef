"""Accept or reject, and on which rows: one test per file."""

from .full import MH
from .thinned import TunaMH

__all__ = ["MH", "TunaMH"]
