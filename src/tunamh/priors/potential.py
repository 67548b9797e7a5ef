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
    """``V = -log prior`` and its first two derivatives at a point; a kink is rounded off in all three."""

    energy: float
    gradient: np.ndarray
    hessian: np.ndarray


@dataclass(frozen=True, eq=False)
class ReadyPrior(ABC):
    """A prior made ready for a target of known dimension.

    ``mean`` is where it is centred and ``precision`` about how narrow it is, coordinate by coordinate: guesses start
    from them, and zero stands where nothing is known. ``flat`` tells the coordinates that it leaves alone.
    """

    log_prior: Part
    hyper: np.ndarray
    mean: np.ndarray
    precision: np.ndarray
    flat: np.ndarray

    own: ClassVar[bool] = False
    """Whether it is a user's function, whose support may end anywhere."""

    @property
    def mixture(self) -> Mixture | None:
        """The scales that are drawn in turn with the coefficients, where the prior is Gaussian given them."""
        return None

    @property
    def proper(self) -> bool:
        """Whether it makes a posterior of any data; of a user's own prior its owner must know."""
        return not self.flat.any()

    @property
    def heavy(self) -> np.ndarray:
        """The coordinates whose tails fall so slowly that chains hardly reach them where no data hold them back."""
        return np.zeros_like(self.flat)

    @property
    @abstractmethod
    def gaussian(self) -> bool:
        """Whether the prior equals its quadratic expansion (Gaussian or flat)."""

    @property
    def tails(self) -> float:
        """How far from Gaussian it may make a posterior, 0 to 1."""
        return 0.0 if self.gaussian else 0.3

    @abstractmethod
    def expansion(self, theta: np.ndarray, width: np.ndarray) -> PriorExpansion:
        """At ``theta``; a kink, or a difference, is seen from no nearer than ``width``, the data's by coordinate."""

    def thirds(self, theta: np.ndarray, width: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """``sum_k d^3 V / dz_j dz_k^2`` in whitened coordinates, by which a posterior is skewed; zero if not known."""
        return np.zeros(len(theta))

    @abstractmethod
    def without(self, at: np.ndarray, expansion: PriorExpansion) -> ReadyPrior:
        """What is left of the prior when its expansion at ``at`` is accounted for elsewhere."""


class Prior(ShellWord, ABC):
    """A prior as a user writes it."""

    def by_column(self) -> dict[str, Any]:
        """What may differ from column to column: numbers for all columns, tuples in their order, dicts by name."""
        return {}

    @property
    def by_position(self) -> bool:
        """Whether it has numbers for coefficients by their places, in the order of the columns."""
        return any(isinstance(value, tuple) for value in self.by_column().values())

    def in_order(self, names: Sequence[str]) -> Prior:
        """The same prior with whatever went by name in the order of the columns."""
        return self

    @abstractmethod
    def bind(self, dim: int) -> ReadyPrior:
        """For a target with so many parameters."""


@part(LogPrior)
def nothing(theta, hyper):
    """Of a flat prior, or of a Gaussian one whose expansion is accounted for elsewhere."""
    return 0.0
