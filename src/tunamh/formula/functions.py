"""The functions that a formula may name: of numbers, elementwise, and with numbers learned from the data.

A function with numbers of its own (a mean, a standard deviation) learns them once, from all rows of the data that the
model is fitted to; new rows are then treated with the same numbers.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

ELEMENTWISE: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "log": np.log,
    "log2": np.log2,
    "log10": np.log10,
    "log1p": np.log1p,
    "exp": np.exp,
    "expm1": np.expm1,
    "sqrt": np.sqrt,
    "abs": np.abs,
    "sin": np.sin,
    "cos": np.cos,
}

LEARNED = ("center", "scale", "standardize")
"""``x - mean``; ``scale`` and ``standardize`` both ``(x - mean) / standard deviation``."""

SPECIAL = ("C", "I", "offset", "strata")
CURVES = ("s", "te", "bs", "ns", "poly")
"""Terms of several columns (`tunamh.formula.smooths`)."""

BESIDE = ("trials", "weights", "cens", "event")
"""On the left side, behind a bar: ``y | trials(n)``."""

TIME_TO_EVENT = "Surv"
"""The whole left side, ``Surv(time, event)`` or ``Surv(start, stop, event)``."""

KNOWN = (*SPECIAL, *CURVES, *ELEMENTWISE, *LEARNED, *BESIDE, TIME_TO_EVENT)

SPELLED_HERE = {
    "strat": "strata are written strata(x)",
    "frailty": "group effects on the log hazard (frailties) are written (1 | group)",
    "cluster": "group effects on the log hazard (frailties) are written (1 | group)",
    "cbind": "counts of successes are written 'k | trials(n) ~ ...', n being successes and failures together",
    "factor": "a factor is written C(x)",
    "as.factor": "a factor is written C(x)",
    "categorical": "a factor is written C(x)",
    "relevel": 'the reference level is chosen by C(x, ref="...")',
    "Treatment": 'the reference level is chosen by C(x, ref="...")',
    "Q": "a column with an odd name is written in backticks, `odd name`",
    "ti": "a surface is written te(x, z), which has the curves of both columns in it",
    "t2": "a surface is written te(x, z)",
    "mo": "monotonic effects are not offered: C(x) has a coefficient for each level, s(x) a smooth curve",
    "cc": "a cyclic curve is written s(x, cyclic=True, period=24)",
    "cr": "a smooth curve is written s(x)",
    "bf": 'the formula of another parameter is an argument: predictors={"scale": "~ x"}',
    "gr": 'known covariances of the levels are an argument: prior={"covariance (1 | group)": table}',
    "mm": "a row with several levels of one factor (multiple membership) is not offered",
    "ar": "correlated errors are not offered; s(time) is a smooth curve of time",
    "interaction": "groups of each combination are written (1 | a:b), a factor a:b",
    "ifelse": "a condition is written (x > 2), which is 1 or 0",
    "where": "a condition is written (x > 2), which is 1 or 0",
    "cut": "compute a column of classes in the table, or write conditions such as (x > 2)",
    "lag": "compute the earlier values as a column of the table",
    "is.na": "compute a column of missing values in the table",
    "pow": "a power is written I(x**2)",
    "rate": "an exposure is written offset(log(x)), on the right side",
    "me": "errors in columns are not offered",
    "mi": 'missing values are left out by missing="drop"',
    "se": "known standard errors are not offered; weights(w) are numbers of copies of a row",
    "mvbind": "several responses are several models",
}
"""What other formula languages call it, and how it is written here."""


def hint(function: str) -> str:
    """Return how an unknown function is written in a formula here.

    The text is empty if no known function is similar.
    """
    plain = function.rpartition(".")[2]
    if function not in SPELLED_HERE and plain in ELEMENTWISE:
        return f"write {plain}(x), without {function.rpartition('.')[0]!r}"
    return SPELLED_HERE.get(function, "")


def apply_learned(function: str, values: np.ndarray, state: dict[str, float]) -> np.ndarray:
    centred = values - state["mean"]
    return centred if function == "center" else centred / state["sd"]
