"""The public names of tunamh and where they are defined: `__init__` imports each when it is asked for."""

from . import estimators as estimators
from . import priors, theory
from .acceptance import MH, MHSS, AustereMH, FactorizedMH, FlyMC, MHMinibatch, PoissonMH, TunaMH
from .chains.guard import check_bounds
from .chains.in_turn import InTurn
from .chains.metropolis import MetropolisHastings
from .checking import FitCheck, check, influence, plot_check
from .effects import (
    comparisons,
    hypothesis,
    plot_comparisons,
    plot_predictions,
    plot_slopes,
    poststratify,
    predictions,
    slopes,
)
from .effects.table import EffectsTable
from .errors import (
    BoundViolation,
    ChainsDisagree,
    ConvergenceWarning,
    ImproperPosterior,
    LaplaceOff,
    NoDraws,
    NonFiniteEnergy,
    NotApplicable,
    SeveralModes,
    SourceError,
    TunaMHError,
)
from .estimators import BayesianGLM as BayesianGLM
from .estimators import BayesianLogisticRegression as BayesianLogisticRegression
from .estimators import BayesianRobustRegression as BayesianRobustRegression
from .formula import FormulaError, nonlinear, regression
from .formula.forgetting import forget
from .groups import GroupEffects, MixedModel
from .living.errors import CacheError
from .living.history import audit, history, plot_history
from .marginal.evidence import Evidence
from .prediction import (
    compare,
    loo,
    plot_prior_predictive,
    plot_survival,
    predict,
    prior_predictive,
    prior_summary,
    replicate,
)
from .prediction.plot_smooths import plot_smooths
from .priors import Flat, HalfCauchy, HalfNormal, HalfStudentT, Normal
from .proposals import Autoregressive, NeighbourWalk, RandomWalk
from .proposals.across_modes import AcrossModes
from .report import report
from .results.caterpillar import plot_group_effects
from .results.group_effects import group_effects
from .results.group_scales import group_scales
from .results.tree import summary
from .results.until import Until
from .rows.formats import open_rows
from .sampling.evidence import evidence
from .sampling.laplace import LaplaceApproximation, laplace
from .sampling.resume import resume
from .sampling.sample import sample
from .store import StoreError, read_store
from .targets import (
    GLM,
    Beta,
    Categorical,
    Cloglog,
    EnergyTarget,
    Exponential,
    FiniteWalk,
    Gamma,
    Gaussian,
    GaussianMixture,
    Huber,
    Hurdle,
    Logistic,
    LogisticErrors,
    LogisticRegression,
    LogLogistic,
    LogNormal,
    NegativeBinomial,
    Ordinal,
    PiecewiseExponential,
    Poisson,
    Probit,
    RobustRegression,
    SoftplusPoisson,
    StudentT,
    Target,
    Weibull,
    ZeroInflated,
    family,
)
from .targets.expansion.control import Taylor

__version__: str

__all__ = [
    "GLM",
    "MH",
    "MHSS",
    "AcrossModes",
    "AustereMH",
    "Autoregressive",
    "Beta",
    "BoundViolation",
    "CacheError",
    "Categorical",
    "ChainsDisagree",
    "Cloglog",
    "ConvergenceWarning",
    "EffectsTable",
    "EnergyTarget",
    "Evidence",
    "Exponential",
    "FactorizedMH",
    "FiniteWalk",
    "FitCheck",
    "Flat",
    "FlyMC",
    "FormulaError",
    "Gamma",
    "Gaussian",
    "GaussianMixture",
    "GroupEffects",
    "HalfCauchy",
    "HalfNormal",
    "HalfStudentT",
    "Huber",
    "Hurdle",
    "ImproperPosterior",
    "InTurn",
    "LaplaceApproximation",
    "LaplaceOff",
    "LogLogistic",
    "LogNormal",
    "Logistic",
    "LogisticErrors",
    "LogisticRegression",
    "MHMinibatch",
    "MetropolisHastings",
    "MixedModel",
    "NegativeBinomial",
    "NeighbourWalk",
    "NoDraws",
    "NonFiniteEnergy",
    "Normal",
    "NotApplicable",
    "Ordinal",
    "PiecewiseExponential",
    "Poisson",
    "PoissonMH",
    "Probit",
    "RandomWalk",
    "RobustRegression",
    "SeveralModes",
    "SoftplusPoisson",
    "SourceError",
    "StoreError",
    "StudentT",
    "Target",
    "Taylor",
    "TunaMH",
    "TunaMHError",
    "Until",
    "Weibull",
    "ZeroInflated",
    "__version__",
    "audit",
    "check",
    "check_bounds",
    "compare",
    "comparisons",
    "evidence",
    "family",
    "forget",
    "group_effects",
    "group_scales",
    "history",
    "hypothesis",
    "influence",
    "laplace",
    "loo",
    "nonlinear",
    "open_rows",
    "plot_check",
    "plot_comparisons",
    "plot_group_effects",
    "plot_history",
    "plot_predictions",
    "plot_prior_predictive",
    "plot_slopes",
    "plot_smooths",
    "plot_survival",
    "poststratify",
    "predict",
    "predictions",
    "prior_predictive",
    "prior_summary",
    "priors",
    "read_store",
    "regression",
    "replicate",
    "report",
    "resume",
    "sample",
    "slopes",
    "summary",
    "theory",
]
