"""Predictions from results: of new rows, and of the rows that a model was fitted to."""

from .predicting import predict
from .replicas import LooEstimate, loo, replicate

__all__ = ["LooEstimate", "loo", "predict", "replicate"]
