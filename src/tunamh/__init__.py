"""Exact posterior samples from tall data, touching a handful of rows per step."""

from . import priors, theory
from ._version import __version__
from .acceptance import MH, MHSS, AustereMH, FactorizedMH, FlyMC, MHMinibatch, PoissonMH, TunaMH
from .control import Taylor
from .errors import (
    BoundViolation,
    ChainsDisagree,
    ConvergenceWarning,
    ImproperPosterior,
    NoDraws,
    NonFiniteEnergy,
    NotApplicable,
    SeveralModes,
    TunaMHError,
)
from .guard import check_bounds
from .modes import AcrossModes
from .priors import Flat, Normal
from .proposals import Autoregressive, NeighbourWalk, RandomWalk
from .results import summary
from .sample import sample
from .targets import (
    GLM,
    EnergyTarget,
    FiniteWalk,
    Gaussian,
    GaussianMixture,
    Huber,
    Logistic,
    LogisticRegression,
    NegativeBinomial,
    Probit,
    RobustRegression,
    SoftplusPoisson,
    StudentT,
    Target,
)

__all__ = [
    "GLM",
    "MH",
    "MHSS",
    "AcrossModes",
    "AustereMH",
    "Autoregressive",
    "BoundViolation",
    "ChainsDisagree",
    "ConvergenceWarning",
    "EnergyTarget",
    "FactorizedMH",
    "FiniteWalk",
    "Flat",
    "FlyMC",
    "Gaussian",
    "GaussianMixture",
    "Huber",
    "ImproperPosterior",
    "Logistic",
    "LogisticRegression",
    "MHMinibatch",
    "NegativeBinomial",
    "NeighbourWalk",
    "NoDraws",
    "NonFiniteEnergy",
    "Normal",
    "NotApplicable",
    "PoissonMH",
    "Probit",
    "RandomWalk",
    "RobustRegression",
    "SeveralModes",
    "SoftplusPoisson",
    "StudentT",
    "Target",
    "Taylor",
    "TunaMH",
    "TunaMHError",
    "__version__",
    "check_bounds",
    "priors",
    "sample",
    "summary",
    "theory",
]
