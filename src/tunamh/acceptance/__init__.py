"""Acceptance tests. A test accepts or rejects each proposed state; most tests read only some rows."""

from .austere import AustereMH
from .barker import MHMinibatch
from .firefly import FlyMC
from .full import MH
from .poisson import PoissonMH
from .thinned import MHSS, FactorizedMH, TunaMH

__all__ = ["MH", "MHSS", "AustereMH", "FactorizedMH", "FlyMC", "MHMinibatch", "PoissonMH", "TunaMH"]
