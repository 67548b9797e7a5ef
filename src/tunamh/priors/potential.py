"""What every prior offers: a potential ``V = -log prior`` with an expansion ``V(t) + g.u + u'Hu/2``, ``u = theta - t``.

The expansion joins the data's in the search for a mode, in the Laplace law and in the starts; what is left of the prior
is evaluated at every step (spec 5h): a poor expansion costs acceptance, never exactness.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np

from ..compiled import LogPrior, Part, part
from .words import ShellWord

if TYPE_CHECKING:
    from .mixtures import Mixture


class PriorExpansion(NamedTuple):
    """The energy ``V = -log prior`` and its first two derivatives at a point. A kink is smoothed in all three."""

    energy: float
    gradient: np.ndarray
    hessian: np.ndarray


@dataclass(frozen=True, eq=False)
class ReadyPrior(ABC):
    """A prior that is bound to a target of known dimension.

    ``mean`` is the centre of the prior in each coordinate, and ``precision`` is its approximate precision there. Both
    are used only for initial guesses. A precision of zero says that the prior is flat in this coordinate, or that its
    precision is unknown. ``flat`` marks the coordinates with a flat prior. In the methods, ``V = -log prior`` is the
    energy of the prior.
    """

    log_prior: Part
    hyper: np.ndarray
    mean: np.ndarray
    precision: np.ndarray
    flat: np.ndarray

    own: ClassVar[bool] = False
    """Whether the prior is a user's function. The support of such a function may end anywhere."""

    @property
    def mixture(self) -> Mixture | None:
        """Return the scales of a prior that is Gaussian given its scales; None for other priors.

        The scales are sampled in turn with the coefficients.
        """
        return None

    @property
    def proper(self) -> bool:
        """Return whether the posterior is proper for any data. For a user's own prior, the user must know."""
        return not self.flat.any()

    @property
    def heavy(self) -> np.ndarray:
        """Return which coordinates have heavy tails.

        Chains rarely reach such tails, if the data do not bound the coordinate.
        """
        return np.zeros_like(self.flat)

    @property
    @abstractmethod
    def gaussian(self) -> bool:
        """Return whether the prior equals its quadratic expansion (Gaussian or flat)."""

    @property
    def tails(self) -> float:
        """Return a number between 0 and 1: how far from Gaussian the prior may make the posterior."""
        return 0.0 if self.gaussian else 0.3

    @abstractmethod
    def expansion(self, theta: np.ndarray, width: np.ndarray) -> PriorExpansion:
        """Return the energy ``V = -log prior`` and its first two derivatives at ``theta``.

        Kinks are smoothed, and finite differences are taken, over the length ``width`` of each coordinate.
        """

    def thirds(self, theta: np.ndarray, width: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """Return the third derivatives ``sum_k d^3 V / dz_j dz_k^2`` of the prior, for the skewness of the posterior.

        ``V = -log prior`` is the energy of the prior. The coordinates ``z`` are whitened, ``theta + factor z``:
        ``factor factor'`` is the approximate posterior covariance. ``width`` is the approximate posterior standard
        deviation of each coordinate, over which kinks are smoothed. The result is zero if the derivatives are unknown.
        """
        return np.zeros(len(theta))

    @abstractmethod
    def without(self, at: np.ndarray, expansion: PriorExpansion) -> ReadyPrior:
        """Return the prior minus its quadratic expansion at the point ``at``."""


class Prior(ShellWord, ABC):
    """A prior as the user writes it."""

    def by_column(self) -> dict[str, Any]:
        """Return the arguments that may differ by column.

        Each is a number for all columns, a tuple in the columns' order, or a dict.
        """
        return {}

    @property
    def by_position(self) -> bool:
        """Return whether some arguments are given in the order of the columns."""
        return any(isinstance(value, tuple) for value in self.by_column().values())

    def in_order(self, names: Sequence[str]) -> Prior:
        """Return the same prior with all numbers in the order of the columns instead of by name."""
        return self

    @abstractmethod
    def bind(self, dim: int) -> ReadyPrior:
        """Return the prior for a target with ``dim`` parameters."""


@part(LogPrior)
def nothing(theta, hyper):
    """Of a flat prior, or of a Gaussian one whose expansion is accounted for elsewhere."""
    return 0.0
