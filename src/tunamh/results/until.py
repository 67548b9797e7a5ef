"""When a run has enough draws: a rule about the draws themselves, held against them at fixed numbers of draws."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from .._arguments import number, number_between, settle, shown
from .convergence import FEWEST_TO_JUDGE, Take, worst_of

MOST_EFFECTIVE = 200_000
"""That a rule may ask for: of more than 400,000 draws, that many are looked at."""

_GROWTH = 1.2  # from one look at the draws to the next


@dataclass(frozen=True)
class Until:
    """A rule that stops a run when every parameter has enough effective draws, a small enough R-hat, or both.

    The rule is checked after fixed numbers of draws per chain: 100, 120, 144, and so on. So a run with the same seed
    stops at the same draw. A run with such a rule has a small bias, because it can stop by chance when the estimates
    look good. To keep this bias small, require at least a few hundred effective draws.

    Parameters
    ----------
    ess : float, optional
        The smallest effective sample size that every parameter must have (bulk ESS of all chains together); at most
        200,000. Default: no such condition.
    r_hat : float, optional
        The largest rank-normalised split R-hat that a parameter may have, such as 1.01. Default: no such condition. You
        must set ``ess`` or ``r_hat``.

    Examples
    --------
    >>> tunamh.sample(target, draws=1_000_000, until=tunamh.Until(ess=4000, r_hat=1.01))
    """

    ess: float | None = None
    r_hat: float | None = None

    def __post_init__(self) -> None:
        if self.ess is None and self.r_hat is None:
            raise ValueError("Until needs a number of effective draws (ess=), an R-hat (r_hat=) or both.")
        ess = None if self.ess is None else number_between("ess", self.ess, 0, MOST_EFFECTIVE, ends="high")
        r_hat = None if self.r_hat is None else number("r_hat", self.r_hat)
        if r_hat is not None and not r_hat > 1:
            raise ValueError(f"r_hat must be above 1, got {r_hat:g}.")
        settle(self, ess=ess, r_hat=r_hat)

    def looks(self, draws: int) -> Iterator[int]:
        """Yield the numbers of draws per chain after which the rule is checked.

        The last number is ``draws``, at which the run ends in any case.
        """
        n = FEWEST_TO_JUDGE
        while n < draws:
            yield n
            n = max(n + 1, int(_GROWTH * n))
        yield draws

    def holds(self, take: Take, chains: int, n: int, d: int) -> bool:
        """Return True if the first ``n`` draws of each chain satisfy the rule.

        Parameters
        ----------
        take : function ``take(draws, parameters)``
            It returns some of the draws, an array (chain, draw, parameter).
        chains, n, d : int
            The number of chains, of draws per chain, and of parameters.
        """
        if n < FEWEST_TO_JUDGE:
            return False
        r_hat, _, ess, _ = worst_of(take, chains, n, d)
        return (self.ess is None or ess >= self.ess) and (self.r_hat is None or r_hat <= self.r_hat)


def checked_rule(until: Any) -> Until | None:
    if until is not None and not isinstance(until, Until):
        raise TypeError(f"until must be a rule such as Until(ess=1000), got {shown(until)}.")
    return until
