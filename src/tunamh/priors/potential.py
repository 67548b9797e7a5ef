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
    """The energy ``V = -log prior`` at a point, with its gradient (d,) and its Hessian (d, d).

    If ``V`` has a kink, as for a Laplace prior, a smooth function replaces ``V``. All three fields are then those of
    the smooth function.
    """

    energy: float
    gradient: np.ndarray
    hessian: np.ndarray


@dataclass(frozen=True, eq=False)
class ReadyPrior(ABC):
    """A prior that is bound to a target with d parameters.

    In the methods, ``V = -log prior`` is the energy of the prior.

    Parameters
    ----------
    log_prior : Part
        The compiled log density, in the role `LogPrior`.
    hyper : array
        The fixed numbers of ``log_prior``.
    mean : (d,)
        The centre of the prior for each parameter. It is used only for initial guesses.
    precision : (d,)
        The approximate precision of the prior at its centre, also only for initial guesses. Zero: the prior of this
        parameter is flat, or its precision is unknown.
    flat : (d,)
        True for each parameter with a flat prior.
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
        """Return what is needed to draw the unknown scales of the prior; None if the prior has no unknown scales.

        Given the scales, the coefficients are normal. tunamh draws the scales as well as the coefficients. The result
        is a `tunamh.priors.mixtures.Mixture`: a compiled function that draws new scales, the numbers that it needs, the
        initial values of the squared scales, and the names of the scales in results.
        """
        return None

    @property
    def proper(self) -> bool:
        """Return True if no parameter has a flat prior. Then the posterior is proper for any data.

        If the prior is your own function, the result is always True: tunamh cannot check whether it is proper.
        """
        return not self.flat.any()

    @property
    def heavy(self) -> np.ndarray:
        """Return a boolean array (d,): True for each parameter whose prior has heavy tails, such as a Cauchy prior.

        If the data say little about such a parameter, a chain rarely visits the tails.
        """
        return np.zeros_like(self.flat)

    @property
    @abstractmethod
    def gaussian(self) -> bool:
        """Return True if the prior is normal or flat. Then its quadratic expansion is exact."""

    @property
    def tails(self) -> float:
        """Return a number from 0 to 1: how much the prior can make the posterior differ from a normal distribution.

        It is 0 if the prior is normal or flat.
        """
        return 0.0 if self.gaussian else 0.3

    @abstractmethod
    def expansion(self, theta: np.ndarray, width: np.ndarray) -> PriorExpansion:
        """Return the energy ``V = -log prior`` at ``theta``, its gradient and its Hessian.

        ``width`` (d,) has a length for each parameter. A kink of ``V`` is smoothed over this length, and finite
        differences have steps of this length.
        """

    def thirds(self, theta: np.ndarray, width: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """Return ``sum_k d^3 V / dz_j dz_k^2`` for each coordinate ``j``, an array (d,).

        This sum gives the skewness of the posterior. ``V = -log prior`` is the energy of the prior. ``z`` are
        coordinates with ``parameters = theta + factor z``, and ``factor factor'`` is the approximate posterior
        covariance. So the covariance of ``z`` is about the identity. ``width`` (d,) has the approximate posterior
        standard deviations, over which kinks of ``V`` are smoothed. The result is zero if the derivatives are unknown.
        """
        return np.zeros(len(theta))

    @abstractmethod
    def without(self, at: np.ndarray, expansion: PriorExpansion) -> ReadyPrior:
        """Return the difference between the log prior and its quadratic expansion at the point ``at``, as a prior.

        ``expansion`` is this quadratic expansion.
        """


class Prior(ShellWord, ABC):
    """Base class of the priors of coefficients. A prior is an immutable object.

    The method ``bind`` returns the prior in the form that compiled code reads.
    """

    def by_column(self) -> dict[str, Any]:
        """Return the arguments of the prior that can differ between columns: a dict from names to values.

        An example is ``scale``. Its value is one number for all columns, a tuple in the order of the columns, or a dict
        with the names of the columns.
        """
        return {}

    @property
    def by_position(self) -> bool:
        """Return True if an argument of the prior, such as ``scale``, is a list of numbers in the order of the columns.

        The result is False if every argument is one number, or a dict with the names of the columns.
        """
        return any(isinstance(value, tuple) for value in self.by_column().values())

    def in_order(self, names: Sequence[str]) -> Prior:
        """Return the same prior, with all its numbers in the order of the columns.

        ``names`` are the names of the columns. If the prior has numbers by column name, they are put in this order.
        """
        return self

    @abstractmethod
    def bind(self, dim: int) -> ReadyPrior:
        """Return the prior in the form that compiled code reads, for ``dim`` parameters."""


@part(LogPrior)
def nothing(theta, hyper):
    """Return 0: the log density of a flat prior, or of a normal prior that is already part of a quadratic expansion."""
    return 0.0
