"""Predictions from results: of new rows, and of the rows that a model was fitted to."""

from .predict import predict

__all__ = ["predict"]
