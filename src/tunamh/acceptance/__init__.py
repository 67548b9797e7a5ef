"""Accept or reject, and on which rows: one test per file."""

from .full import MH
from .thinned import MHSS, FactorizedMH, TunaMH

__all__ = ["MH", "MHSS", "FactorizedMH", "TunaMH"]
