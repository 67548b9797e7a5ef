"""Exact posterior samples from large data. Each step reads only a few rows."""

from . import priors, theory
from ._version import __version__
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
from .targets.families.registry import FAMILIES

_ELSEWHERE = {
    "ranef": "group_effects",
    "coef": "group_effects",
    "VarCorr": "group_scales",
    "conditional_effects": "plot_predictions",
    "marginal_effects": "slopes",
    "avg_comparisons": "comparisons",
    "avg_slopes": "slopes",
    "avg_predictions": "predictions",
    "pp_check": "plot_check",
    "posterior_predict": "replicate",
    "loo_compare": "compare",
    "bridge_sampler": "evidence",
    "brm": "regression",
    "glmer": "regression",
    "lmer": "regression",
}
"""Functions of lme4, brms and marginaleffects, and what answers the same question here."""
_ESTIMATORS = ("BayesianGLM", "BayesianLogisticRegression", "BayesianRobustRegression")


def __getattr__(name: str) -> object:
    """Estimators and tables, imported when asked for, as their libraries are, and families that are not listed here."""
    if name in FAMILIES:
        return FAMILIES[name]
    if name == "EffectsTable":
        from .effects.table import EffectsTable

        return EffectsTable
    if name == "estimators" or name in _ESTIMATORS:
        from importlib import import_module

        found = import_module(".estimators", __name__)
        return found if name == "estimators" else getattr(found, name)
    here = f". Here it is {__name__}.{_ELSEWHERE[name]}" if name in _ELSEWHERE else ""
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}{here}")


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
