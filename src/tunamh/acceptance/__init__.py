"""Accept or reject, and on which rows: one test per file."""

from .austere import AustereMH
from .barker import MHMinibatch
from .firefly import FlyMC
from .full import MH
from .poisson import PoissonMH
from .thinned import MHSS, FactorizedMH, TunaMH

__all__ = ["MH", "MHSS", "AustereMH", "FactorizedMH", "FlyMC", "MHMinibatch", "PoissonMH", "TunaMH"]
