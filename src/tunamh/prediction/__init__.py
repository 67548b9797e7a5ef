"""Predictions from results: of new rows, and of the rows that a model was fitted to."""

from .predicting import predict

__all__ = ["predict"]
