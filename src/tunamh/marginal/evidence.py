"""The evidence of a model as a value, and as attributes of a result."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

_ATTRIBUTE = "evidence"


@dataclass(frozen=True)
class Evidence:
    """The log marginal likelihood ``log p(y)`` of a model, with its standard error: the result of `tunamh.evidence`.

    ``p(y) = integral p(y | theta) p(theta) d theta``, with all constants. There are two methods
    (docs/spec-evidence.md). The first method uses moves that Metropolis-Hastings accepts or rejects: moves to a fixed
    point, and moves from this point. It computes ``log p(y)`` from their acceptance probabilities (as in Chib and
    Jeliazkov 2001). The second method is bridge sampling (Meng and Wong 1996). It compares draws from the posterior
    with draws from an approximation. It is used for models with group effects, and for models with unknown scales of a
    prior and few rows.

    Attributes
    ----------
    log_evidence, se : float
        ``log p(y)`` and its Monte Carlo standard error.
    proposals : int
        The number of moves in each of the two directions, or the number of draws from each of the two distributions.
    rows : float
        The mean number of rows that a move reads. A row that is read twice counts twice.
    acceptance : pair of float
        The mean acceptance probability in each of the two directions.
    data_rows : int or None
        The number of rows of the data.
    """

    log_evidence: float
    se: float
    proposals: int
    rows: float
    acceptance: tuple[float, float]
    data_rows: int | None = None

    def __str__(self) -> str:
        digits = max(1, min(3, 1 - int(np.floor(np.log10(self.se))))) if 0 < self.se < np.inf else 3
        found = f"log evidence {self.log_evidence:,.{digits}f}, standard error {self.se:.2g}"
        if self.data_rows and self.rows >= self.data_rows:
            times = self.rows / self.data_rows
            often = "once" if times < 1.5 else f"{times:,.0f} times"
            return f"{found}: 2 x {self.proposals:,} proposals, each of which read all {self.data_rows:,} rows {often}"
        return (
            f"{found}: one pass over all rows, and 2 x {self.proposals:,} proposals, each of which read "
            f"{self.rows:,.1f} rows on average"
        )

    def bayes_factor(self, other: Evidence) -> tuple[float, float]:
        """Return the Bayes factor of this model against the model of ``other``, and its standard error: two numbers.

        A Bayes factor above 1 supports this model. Both models must have the same data: if the numbers of rows differ,
        the method raises ValueError.

        Examples
        --------
        >>> factor, error = tunamh.evidence(first).bayes_factor(tunamh.evidence(second))
        """
        if None not in (self.data_rows, other.data_rows) and self.data_rows != other.data_rows:
            raise ValueError(
                f"one model has {self.data_rows:,} rows and the other {other.data_rows:,}: a Bayes factor compares "
                "models of the same data."
            )
        log_factor = self.log_evidence - other.log_evidence
        factor = float(np.exp(min(log_factor, 700.0)))
        return factor, factor * float(np.hypot(self.se, other.se))

    def add_to(self, result: Any) -> None:
        """Store the evidence in ``result`` (a DataTree), so that `tunamh.compare` can use it."""
        result["posterior"].attrs[_ATTRIBUTE] = json.dumps(asdict(self))

    @classmethod
    def of_result(cls, result: Any) -> Evidence | None:
        """Return the evidence that is stored in ``result`` (a DataTree); None if there is none."""
        text = result["posterior"].attrs.get(_ATTRIBUTE)
        if text is None:
            return None
        found = json.loads(text)
        return cls(**{**found, "acceptance": tuple(found["acceptance"])})


def posterior_probabilities(evidences: Sequence[Evidence]) -> np.ndarray:
    """Return the posterior probabilities of models that have the same prior probability."""
    values = np.array([one.log_evidence for one in evidences])
    relative = np.exp(values - values.max())
    return relative / relative.sum()
