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
    """The energy ``V = -log prior`` at a point, with its gradient and Hessian.

    If ``V`` has a kink, as for a Laplace prior, a smooth function replaces ``V``, and the three are computed from it.
    """

    energy: float
    gradient: np.ndarray
    hessian: np.ndarray


@dataclass(frozen=True, eq=False)
class ReadyPrior(ABC):
    """A prior that is bound to a target of known dimension.

    ``log_prior`` is the compiled log density and ``hyper`` has its fixed numbers. ``mean`` is the centre of the prior
    in each coordinate, and ``precision`` is its approximate precision there. Both are used only for initial guesses. A
    precision of zero says that the prior is flat in this coordinate, or that its precision is unknown. ``flat`` marks
    the coordinates with a flat prior. In the methods, ``V = -log prior`` is the energy of the prior.
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
        """Return a description of the unknown scales of the prior; None if it has none.

        Given the scales, the coefficients are normal. tunamh samples the scales as well as the coefficients.
        """
        return None

    @property
    def proper(self) -> bool:
        """Return True if no coordinate has a flat prior. Then the posterior is proper for any data.

        For a prior that is your own function the result is always True: tunamh cannot check whether it is proper.
        """
        return not self.flat.any()

    @property
    def heavy(self) -> np.ndarray:
        """Return a boolean for each coordinate: does its prior have heavy tails, as a Cauchy prior has?

        If the data say little about a coordinate with heavy tails, chains rarely reach its tails.
        """
        return np.zeros_like(self.flat)

    @property
    @abstractmethod
    def gaussian(self) -> bool:
        """Return True if the log prior equals its quadratic expansion, that is, if the prior is normal or flat."""

    @property
    def tails(self) -> float:
        """Return a number from 0 to 1: 0 if the prior is normal, larger if it can make the posterior less normal."""
        return 0.0 if self.gaussian else 0.3

    @abstractmethod
    def expansion(self, theta: np.ndarray, width: np.ndarray) -> PriorExpansion:
        """Return the energy ``V = -log prior``, its gradient and its Hessian at ``theta``.

        ``width`` has one length for each coordinate. A kink of ``V`` is smoothed over this length, and finite
        differences have steps of this length.
        """

    def thirds(self, theta: np.ndarray, width: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """Return ``sum_k d^3 V / dz_j dz_k^2`` for each coordinate ``j``, for the skewness of the posterior.

        ``V = -log prior`` is the energy of the prior. ``z`` are coordinates in which the posterior covariance is about
        the identity: the parameters are ``theta + factor z``, and ``factor factor'`` is the approximate posterior
        covariance. ``width`` is the approximate posterior standard deviation of each coordinate, over which kinks are
        smoothed. The result is zero if the derivatives are unknown.
        """
        return np.zeros(len(theta))

    @abstractmethod
    def without(self, at: np.ndarray, expansion: PriorExpansion) -> ReadyPrior:
        """Return the rest of the prior: the log prior minus its quadratic expansion at the point ``at``.

        ``expansion`` has the numbers of this expansion.
        """


class Prior(ShellWord, ABC):
    """Base class of the priors of coefficients.

    The user makes a prior; its method ``bind`` makes it ready for a target.
    """

    def by_column(self) -> dict[str, Any]:
        """Return the arguments of the prior that can be different for each column, such as ``scale``, by their names.

        The value of an argument is one number for all columns, a tuple in the order of the columns, or a dict with the
        names of the columns.
        """
        return {}

    @property
    def by_position(self) -> bool:
        """True if an argument of the prior, such as ``scale``, is a list of numbers in the order of the columns.

        It is False if every argument is one number, or a dict with the names of the columns.
        """
        return any(isinstance(value, tuple) for value in self.by_column().values())

    def in_order(self, names: Sequence[str]) -> Prior:
        """Return the same prior, with all its numbers in the order of the columns.

        ``names`` are the names of the columns. Numbers that the user has given by name are put in this order.
        """
        return self

    @abstractmethod
    def bind(self, dim: int) -> ReadyPrior:
        """Return the prior in the form that compiled code reads, for a target with ``dim`` parameters."""


@part(LogPrior)
def nothing(theta, hyper):
    """Of a flat prior, or of a Gaussian one whose expansion is accounted for elsewhere."""
    return 0.0
