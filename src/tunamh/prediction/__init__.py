"""Predictions for new rows, simulated responses, leave-one-out cross-validation, and prior predictions."""

from ..formula.prior_summary import prior_summary
from .comparison import compare
from .leave_one_out import loo
from .plot_prior import plot_prior_predictive
from .predictions import predict
from .prior_draws import prior_predictive
from .replication import replicate
from .survival_plot import plot_survival

__all__ = [
    "compare",
    "loo",
    "plot_prior_predictive",
    "plot_survival",
    "predict",
    "prior_predictive",
    "prior_summary",
    "replicate",
]
