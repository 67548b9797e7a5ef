"""What families of labels 0 and 1 have in common."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from ..observations.observed import InMemory
from .base import Family, Responses
from .response_checks import first_wrong
from .responses import ResponseDistribution
from .trials import as_fractions, as_two_rows

_LOOKED_AT = 10_000  # rows, of which two values are looked for


class LabelFamily(Family):
    """A family of labels 0 and 1, or of ``k`` successes in ``n`` trials."""

    responses = Responses.LABELS
    convex = True
    fractions: bool = False
    """Whether rows are trials: ``k`` successes in ``n`` trials are one row of weight ``n`` and response ``k/n``."""

    def check(self, y: np.ndarray) -> None:
        wrong = ~((y >= 0) & (y <= 1)) if self.fractions else (y != 0) & (y != 1)
        if not wrong.any():
            return
        if self.fractions:
            raise first_wrong(wrong, y, "lie between 0 and 1", "give successes over trials", "fractions")
        raise first_wrong(wrong, y, "be 0 or 1", _advice(y), "labels")

    def of_trials(self, found: InMemory, trials: np.ndarray) -> InMemory:
        """Return the rows for ``k`` successes in ``n`` trials.

        ``k`` is the response in ``found``, and ``n`` is in ``trials``. If the energy is linear in the label, each row
        becomes one row with the response ``k / n`` and the weight ``n``. Otherwise it becomes two rows, one for the
        successes and one for the failures.
        """
        return as_fractions(found, trials) if self.linear_in_label else as_two_rows(found, trials)

    def rises(self, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return two boolean arrays (n,): does the energy of a row grow without limit as ``eta`` goes to +/- infinity?

        ``eta`` is the linear predictor. The first array, for +infinity, is True unless the
        label is 1. The second, for -infinity, is True unless the label is 0.
        """
        return y < 1, y > 0

    def response_distribution(self) -> ResponseDistribution:
        from .response_distributions import Labels

        return Labels(self.link.mean)


def _advice(y: np.ndarray) -> str:
    """What to do about responses that are not 0 or 1: what they look like says it."""
    if np.all((y >= 0) & (y <= 1)):
        return "give successes, and their number of trials as trials="
    if len(np.unique(y[:_LOOKED_AT])) <= 2:
        return "code the two classes as 0 and 1"
    if np.all((y >= 0) & (y == np.floor(y))):
        return (
            "for counts take Poisson() or NegativeBinomial(), for the codes of several classes Categorical() or "
            "Ordinal()"
        )
    return "for measurements take Gaussian() or StudentT(), for positive amounts also Gamma() or LogNormal()"


class LinearInLabel(LabelFamily):
    """A family of labels whose energy is linear in the label, so that fractions are labels, too.

    Its dataclass has the field ``fractions``.
    """

    linear_in_label = True

    def for_trials(self) -> Any:
        return replace(self, fractions=True)  # type: ignore[type-var]
