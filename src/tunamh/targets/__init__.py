"""What to sample. A target says what a block of rows contributes and how far a row can pull."""

from .base import Target
from .energy import EnergyTarget
from .families import Gaussian, Huber, Logistic, NegativeBinomial, Probit, SoftplusPoisson, StudentT
from .glm import GLM
from .mixture import GaussianMixture
from .named import LogisticRegression, RobustRegression
from .walk import FiniteWalk

__all__ = [
    "GLM",
    "EnergyTarget",
    "FiniteWalk",
    "Gaussian",
    "GaussianMixture",
    "Huber",
    "Logistic",
    "LogisticRegression",
    "NegativeBinomial",
    "Probit",
    "RobustRegression",
    "SoftplusPoisson",
    "StudentT",
    "Target",
]
