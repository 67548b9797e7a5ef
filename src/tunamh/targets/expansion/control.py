"""Control variates: the part of the posterior that is known in closed form leaves the minibatch."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

from ..._arguments import flag, numbers, parameters, settle, shown, whole_number
from ...capabilities import Expandable, Kept, offers
from ...errors import NotApplicable
from ..base import Target
from ..search.newton import best_mode


@dataclass(frozen=True)
class Taylor:
    """A control variate: it expands the energy of every row in a Taylor polynomial around a centre.

    The energy of a row is its negative log-likelihood. The sum of the polynomials of all rows is computed once. Then a
    step reads rows only for the remainders, the differences between the energies and their polynomials. The remainders
    have smaller bounds than the energies, so a step reads fewer rows. The posterior does not change, and every exact
    test stays exact.

    ``sample(target, control=Taylor(order=2))`` and ``sample(Taylor(order=2)(target))`` are the same. Section 5a of
    docs/spec.md has the remainders and their bounds. `FactorizedMH` with an expansion of order 1 or 2 is the method
    SMH-1 or SMH-2 of Cornish et al. (2019).

    Parameters
    ----------
    order : 1 or 2
        The order of the polynomials. The remainders decrease with the square (order 1) or the cube (order 2) of the
        distance from the centre.
    centre : (d,), optional
        The centre of the expansion. Default: a mode of the posterior, found on samples of the rows and then on all
        rows. The draws are exact for every centre.
    whiten : bool
        True: measure distances in the metric of the posterior precision at the centre (docs/spec.md, section 5d).
        False: measure Euclidean distances.
    original_bounds : bool
        True: use the bounds of Cornish et al. (2019), which are larger than tunamh's bounds because they use the l1
        norm. This is only for comparisons.
    """

    order: int = 2
    centre: Any = None
    whiten: bool = True
    original_bounds: bool = False

    def __post_init__(self) -> None:
        order = whole_number("order", self.order, 1)
        if order > 2:
            raise ValueError(f"order must be 1 or 2, got {order}.")
        centre = None if self.centre is None else numbers("centre", self.centre)
        whiten, original_bounds = flag("whiten", self.whiten), flag("original_bounds", self.original_bounds)
        settle(self, order=order, centre=centre, whiten=whiten, original_bounds=original_bounds)

    def __call__(self, target: Target) -> Target:
        """Return a target with the same posterior as ``target``, with each energy as a polynomial plus a remainder.

        The energy of a row is its negative log-likelihood. Raises `NotApplicable` if the target has no derivatives.
        Warns if the search for a mode did not converge.
        """
        if not isinstance(target, Target):
            raise TypeError(f"Taylor expands a tunamh target such as LogisticRegression(X, y), got {shown(target)}.")
        if not offers(target, Expandable):
            raise NotApplicable(
                f"{type(target).__name__} offers no derivatives, which Taylor(order={self.order}) needs."
            )
        kept = target.kept if offers(target, Kept) else None  # whose centre need not be at the mode
        if kept is not None and self == Taylor():
            return kept.expanded._with(base=target)
        if self.centre is None:
            mode = best_mode(target)
            centre, at_centre = mode.point, mode.expansion
            if not mode.found and kept is None:
                warnings.warn(
                    f"the search for a mode stopped {mode.away:.3g} posterior standard deviations before its next "
                    "point: Newton did not converge, and under a flat prior there may be no mode. Draws stay exact, "
                    "but batches are larger: add a prior.",
                    stacklevel=3,
                )
        else:
            centre = parameters("centre", self.centre, target.dim)
            at_centre = target.expansion(centre)
        how = {"whiten": self.whiten, "original_bounds": self.original_bounds}
        expanded = target.taylor(self.order, centre, at_centre, **how)
        return expanded if self.centre is None else expanded.about_own_centre()
