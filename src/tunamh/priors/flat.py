"""No prior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .independent import IndependentPrior
from .laws import FLAT, Laws


@dataclass(frozen=True)
class Flat(IndependentPrior):
    """A flat prior: a constant density for all real numbers. The posterior is the normalised likelihood."""

    word = "flat"
    word_numbers = ()

    def laws(self, dim: int) -> Laws:
        return Laws(np.full(dim, FLAT), np.zeros(dim), np.ones(dim), np.ones(dim))
