"""Which of two models predicts better, in words; no verdict where unreliable rows decide."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .left_out import LeftOut
from .reliability import MOST_UNRELIABLE, good_k, two_digits

_SMALL = 4.0
"""A smaller difference is no reason to prefer a model, whatever its standard error (Sivula et al. 2020)."""

_CLEAR = 2.0  # standard errors

WAY_OUT = (
    "To decide, fit both models to nine tenths of the rows and compare their log densities of the rest, or compare "
    "the models by their evidence (tunamh.evidence)."
)


class Verdict(NamedTuple):
    """Whether rows with unreliable values decide a comparison of two models.

    ``share`` is the share of such rows in either model. ``decided_by_them`` is True if the difference comes from them.
    """

    share: float
    decided_by_them: bool

    @classmethod
    def of(cls, found: LeftOut, best: int, other: int, draws: list[int]) -> Verdict:
        bad = [found.pareto_k[k] > good_k(draws[k]) for k in (best, other)]
        either, c = bad[0] | bad[1], found.contrast(best, other)
        theirs = found.n_rows / len(either) * (c @ found.exact)[either].sum()
        apart = found.estimate(c)
        share = max(float(np.mean(one)) for one in bad)
        return cls(share, bool(either.any() and apart >= _SMALL and apart - theirs <= 0))

    @property
    def undecided(self) -> bool:
        return self.share > MOST_UNRELIABLE or self.decided_by_them

    def words(self, best: str, name: str, line: Any) -> str:
        """Return the comparison of two models in words, from a line of the table."""
        apart, error = line["elpd_diff"], line["se_diff"]
        told = f"elpd is {apart:,.1f} higher, standard error {two_digits(error)}"
        if self.undecided:
            why = f"{100 * self.share:.0f}% of the rows have a Pareto k that is too large"
            if self.share <= MOST_UNRELIABLE:
                why = "the difference comes from rows with a Pareto k that is too large"
            return f"elpd cannot decide between {best} and {name}: {why} ({told})."
        if apart < _SMALL:
            return f"{best} and {name} predict about equally well: a difference below {_SMALL:.0f} is small ({told})."
        if apart < _CLEAR * error:
            return f"The data do not show whether {best} predicts better than {name} ({told})."
        return f"{best} predicts better than {name} ({told})."
