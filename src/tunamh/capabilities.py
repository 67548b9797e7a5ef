"""Protocols: what a target, an acceptance test or a proposal can offer to other parts of the library.

A protocol lists methods and properties. `offers(target, protocol)` says whether a class has all of them. The library
calls `offers`; it does not test the class of a target.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

import numpy as np

if TYPE_CHECKING:
    from ._linear import Metric
    from .targets.base import Expansion, Target
    from .targets.search.newton import Mode


def offers(target: Any, capability: type) -> TypeGuard[Any]:
    """Return True if the class of ``target`` has all members of the protocol ``capability``.

    The function only looks for the names of the members; it computes nothing.
    """
    return all(hasattr(type(target), name) for name in capability.__abstractmethods__)  # type: ignore[attr-defined]


class Modelled(Protocol):
    """A target: an object with a method ``model``. Every target has this method."""

    @abstractmethod
    def model(self, rows: np.ndarray | None = None, elsewhere: int = 0) -> Any:
        """Return the target in the form that compiled code reads.

        ``rows`` are the packed rows of one chain, and ``elsewhere`` is the address of a function that makes passes over
        all rows. By default, all rows are in memory.
        """


class Expandable(Protocol):
    """A target whose energies have derivatives and Taylor expansions. `tunamh.Taylor` needs them.

    The energy of a row is its negative log-likelihood. The remainder of its expansion must have a known bound.
    """

    @abstractmethod
    def expansion(self, theta: np.ndarray) -> Expansion:
        """Return the sum of the energies of all rows at ``theta``, its gradient (d,) and its Hessian (d, d).

        The energy of a row is its negative log-likelihood.
        """

    @abstractmethod
    def taylor(
        self, order: int, centre: np.ndarray, at_centre: Expansion, *, whiten: bool, original_bounds: bool
    ) -> Any:
        """Return a target with the same posterior, in which each energy is a Taylor polynomial plus a remainder.

        The energy of a row is its negative log-likelihood. The target adds up the polynomials of all rows once, so a
        step reads rows only for the remainders. ``at_centre`` has the sum of the energies at ``centre``, its gradient
        and its Hessian. The other arguments are those of `tunamh.Taylor`.
        """


class Examined(Expandable, Protocol):
    """A target that can find its modes and can check that its posterior exists.

    `tunamh.sample` needs this to choose a sampler.
    """

    @property
    @abstractmethod
    def modes(self) -> list[Mode]:
        """Return the modes that have a relevant share of the posterior probability: a list, the largest share first."""

    @property
    @abstractmethod
    def chain_names(self) -> list[str]:
        """Return a list with the names of the parameters, in the order in which a chain has them."""

    @property
    @abstractmethod
    def convex(self) -> bool:
        """Return True if the energy of every row is convex. Then there is at most one mode.

        The energy of a row is its negative log-likelihood.
        """

    @property
    @abstractmethod
    def mixed_prior(self) -> Any:
        """Return a target with the same posterior, whose prior is normal given unknown scales.

        The result is None if this form of the prior brings no advantage.
        """

    @abstractmethod
    def highest_order(self) -> int:
        """Return the highest order of a Taylor expansion of the energies whose remainder is bounded in every row.

        The result is 0 if there is no such order. The energy of a row is its negative log-likelihood.
        """

    @abstractmethod
    def dependent_columns(self) -> list[np.ndarray]:
        """Return a list of groups of collinear columns. Each group is an array of column numbers."""

    @abstractmethod
    def separating_direction(self) -> np.ndarray | None:
        """Return a direction (d,) of the parameters in which the energy of no row ever increases.

        The energy of a row is its negative log-likelihood. The result is None if there is no such direction. With such
        a direction and a flat prior, there is no posterior.
        """

    @abstractmethod
    def names_along(self, direction: np.ndarray) -> list[str]:
        """Return a list with the names of the parameters that change most in this ``direction`` (d,)."""

    @abstractmethod
    def proved_proper(self, expanded: Any, away: float) -> bool:
        """Return True if the Taylor expansion of the target proves that the posterior is proper.

        ``expanded`` is the target with its Taylor expansion. ``away`` is the distance from the centre of the expansion
        to the mode, in posterior standard deviations.
        """

    @abstractmethod
    def model_warnings(self) -> list[str]:
        """Return a list of sentences: warnings about the model for the user."""


class Kept(Protocol):
    """A target that stores the results of an earlier set-up, so that a new run need not read all rows."""

    @property
    @abstractmethod
    def kept(self) -> Any:
        """Return the stored Taylor expansion and mode; None if nothing is stored."""

    @property
    @abstractmethod
    def set_up_told(self) -> str | None:
        """Return a text for the user: which rows the set-up has read, and which stored results it has used.

        The result is None if there is nothing to say.
        """


class BoundingAhead(Protocol):
    """A target that can compute bounds of its rows together with the last expansion of a search for a mode.

    This saves a pass over all rows.
    """

    @property
    @abstractmethod
    def bounds_ahead(self) -> bool:
        """Return True if the last pass of the search for a mode is to find the bounds of the rows, too."""

    @abstractmethod
    def bounded_expansion(self, theta: np.ndarray, metric: Metric) -> Expansion:
        """Return the expansion at ``theta``, and with it bounds of the rows' remainders in ``metric``."""


class Normalised(Protocol):
    """A target whose density is known with all constants. `tunamh.evidence` needs this density.

    It is the joint density of the data and the parameters.
    """

    @abstractmethod
    def refuse_without_constants(self) -> None:
        """Raise an error if a prior is improper, or if a normalising constant is not known."""

    @abstractmethod
    def log_joint(self, point: np.ndarray) -> float:
        """Return the log likelihood of all rows plus the log prior density, a number.

        ``point`` (d,) is in the coordinates of the chain.
        """


class Repeating(Protocol):
    """A target that can replace several equal rows by one row with a larger weight."""

    @abstractmethod
    def distinct(self) -> Target | None:
        """Return a target with the same posterior, in which several equal rows are one row with a larger weight.

        The result is None if only a few rows are equal.
        """


class LowerBounded(Protocol):
    """A target with quadratic lower bounds of the log-likelihoods of its rows. `tunamh.FlyMC` needs them."""

    @abstractmethod
    def best_mode(self) -> Mode:
        """Return the mode that has, by Laplace's approximation, the largest share of the posterior probability."""

    @abstractmethod
    def firefly(self, centre: np.ndarray | None) -> Target:
        """Return a target with the same posterior, whose rows have lower bounds of their log-likelihoods.

        Each bound equals the log-likelihood of its row at ``centre`` (d,). With None, the target chooses where they are
        equal.
        """


class GloballyBounded(Protocol):
    """A target that bounds the energy of every row for all parameter values. `tunamh.PoissonMH` needs this.

    The energy of a row is its negative log-likelihood.
    """

    @abstractmethod
    def global_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Return two arrays (N,) of upper bounds, which hold for all parameter values.

        The first array bounds the energy (negative log-likelihood) of each row. The second array bounds the difference
        between the largest and the smallest energy of each row.
        """


class Whitenable(Protocol):
    """A target with coordinates in which its Laplace approximation is the standard normal distribution.

    `tunamh.Autoregressive` needs these coordinates.
    """

    @abstractmethod
    def whitened(self) -> Target:
        """Return the same posterior in coordinates that make its Laplace approximation standard normal."""


class Approximated(Protocol):
    """A target that computes its Laplace approximation itself.

    The approximation may describe only some of the parameters. For example, it may leave out the group effects.
    """

    @abstractmethod
    def laplace_gaussian(self) -> tuple[Any, Any]:
        """Return a pair: Laplace's approximation, and the target whose parameters it describes.

        The first entry is None if there is no approximation.
        """


class Leading(Protocol):
    """A target whose parameters are the first ones in the state of a larger target."""

    @property
    @abstractmethod
    def places(self) -> int:
        """Return how many numbers of the state they are."""


class Separable(Protocol):
    """A regression that can be restricted to some of its columns."""

    @abstractmethod
    def on_columns(self, which: np.ndarray) -> Any:
        """Return the regression on the columns for which the mask ``which`` is True, with a flat prior."""


class Preparing(Protocol):
    """A test or a proposal that needs the target in a special form."""

    @abstractmethod
    def prepare(self, target: Any) -> Any:
        """Return a target with the same posterior in the form that the test or proposal needs.

        Examples are lower bounds of the likelihood, or other coordinates.
        """


class Deciding(Protocol):
    """An acceptance test: an object with a method ``bind`` and a property ``exact``."""

    @property
    @abstractmethod
    def exact(self) -> bool:
        """Return True if the posterior is the stationary distribution of a chain with this test."""

    @abstractmethod
    def bind(self, target: Any) -> Any:
        """Return the test, compiled for ``target``."""
