"""Times to event: what draws say at given times, and log densities of rows whose event was not seen or came late."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .._arguments import number, shown
from ..errors import NotApplicable
from ..formula import FormulaModel
from ..formula.censoring import censoring_of
from ..formula.syntax import columns_in
from ..targets.families.base import Responses
from ..targets.families.responses import Parameters, ResponseDistribution
from .fitted import Fitted

AT_TIMES = ("survival", "hazard")
TIME_KINDS = (*AT_TIMES, "median")


def checked_times(kind: str, times: Any) -> np.ndarray | None:
    """Check the argument ``times`` and return it.

    Other kinds than "survival" and "hazard" have no times: return None.
    """
    if kind not in AT_TIMES:
        if times is not None:
            raise ValueError(f"times= is for kind='survival' and 'hazard', not for {kind!r}: leave it out.")
        return None
    if times is None:
        raise ValueError(f"kind={kind!r} needs times=, such as times=[30, 90, 365].")
    found = np.array([number("times", one) for one in np.ravel(times)])
    if len(found) == 0 or (found < 0).any() or (kind == "hazard" and (found == 0).any()):
        raise ValueError(f"times must be positive numbers, got {shown(times)}.")
    return found


def refuse_without_times(fitted: Fitted, kind: str) -> None:
    """Raise an error if the responses are not times."""
    if kind in TIME_KINDS and (fitted.family is None or fitted.family.responses is not Responses.POSITIVE):
        named = "a likelihood of your own" if fitted.family is None else type(fitted.family).__name__
        raise NotApplicable(
            f"kind={kind!r} is for times to event (PiecewiseExponential, Exponential, Weibull, LogNormal, LogLogistic, "
            f"Gamma), and the responses are of {named}."
        )


def of_times(
    responses: ResponseDistribution, kind: str, times: np.ndarray | None, eta: np.ndarray, p: Parameters
) -> np.ndarray:
    """Return medians, an array (draws, rows), or survival or hazard, an array (draws, rows, times)."""
    if kind == "median":
        return responses.quantile(0.5, eta, p)
    assert times is not None
    log_value = responses.log_survival if kind == "survival" else responses.log_hazard
    with np.errstate(divide="ignore"):
        each = [np.exp(log_value(np.full(eta.shape[1], t), eta, p)) for t in times]
    return np.stack([np.broadcast_to(one, eta.shape) for one in each], axis=-1)


class Seen(NamedTuple):
    """What was seen of some responses: codes of censoring (0 seen, 1 larger, -1 smaller) and times of entry."""

    codes: np.ndarray | None
    entry: np.ndarray | None

    @classmethod
    def of(cls, formula: FormulaModel, some: Any) -> Seen:
        """Return the censoring and the entry times of some rows, from the columns that the formula names."""
        wanted = {name: node for name, node in formula.beside.items() if name in ("event", "censored", "entry")}
        values = formula.values(some, [name for node in wanted.values() for name in columns_in(node)])
        found = {name: values.numbers(node) for name, node in wanted.items()}
        return cls(censoring_of(found), found.get("entry"))

    def part(self, which: slice) -> Seen:
        """Return the object for a slice of its rows."""
        return Seen(*(None if values is None else values[which] for values in self))

    def log_density(self, responses: ResponseDistribution, y: np.ndarray, eta: np.ndarray, p: Parameters) -> Any:
        """Return the log density of what was seen of each row, given no event before its entry.

        This is the log density of an event at ``y``, or the log probability of no event before (or after) ``y``.
        """
        found = responses.log_density(y, eta, p)
        if self.codes is not None and (self.codes != 0).any():
            later = responses.log_tail(y, eta, p, above=True)
            with np.errstate(divide="ignore"):
                earlier = responses.log_tail(y, eta, p, above=False) if (self.codes < 0).any() else later
            found = np.where(self.codes == 0, found, np.where(self.codes > 0, later, earlier))
        if self.entry is not None:
            found = found - responses.log_survival(self.entry, eta, p)
        return found
