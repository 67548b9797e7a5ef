"""No prior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .independent import IndependentPrior
from .laws import FLAT, Laws


@dataclass(frozen=True)
class Flat(IndependentPrior):
    """A flat prior: a constant density for all real numbers.

    The posterior is then proportional to the likelihood. It is proper only if the data determine all parameters.
    """

    word = "flat"
    word_numbers = ()

    def laws(self, dim: int) -> Laws:
        """Return the priors of ``dim`` coefficients in the form that compiled code reads: four arrays (dim,).

        The arrays are the kind of distribution (as a number), the mean, the scale and the degrees of freedom.
        """
        return Laws(np.full(dim, FLAT), np.zeros(dim), np.ones(dim), np.ones(dim))
