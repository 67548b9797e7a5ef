"""Effects on the scale of the response: predictions, comparisons, slopes, and averages of them."""

from .comparisons import comparisons
from .hypothesis import hypothesis
from .pictures import plot_comparisons, plot_predictions, plot_slopes
from .poststratification import poststratify
from .predictions import predictions
from .slopes import slopes

__all__ = [
    "comparisons",
    "hypothesis",
    "plot_comparisons",
    "plot_predictions",
    "plot_slopes",
    "poststratify",
    "predictions",
    "slopes",
]
