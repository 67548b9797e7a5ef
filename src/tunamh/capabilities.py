"""What a target may offer beside its posterior, and a test or a proposal beside its step.

The library asks for these (`offers`), never for a kind of target.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, Protocol, TypeGuard

import numpy as np

if TYPE_CHECKING:
    from .targets.base import Expansion, Target
    from .targets.search.newton import Mode


def offers(target: Any, capability: type) -> TypeGuard[Any]:
    """Return True if the class of ``target`` has all members of the protocol ``capability``.

    The function only looks for the names of the members; it computes nothing.
    """
    return all(hasattr(type(target), name) for name in capability.__abstractmethods__)  # type: ignore[attr-defined]


class Modelled(Protocol):
    """What makes a value a target."""

    @abstractmethod
    def model(self, rows: np.ndarray | None = None, elsewhere: int = 0) -> Any:
        """Return the target in the form that compiled code reads."""


class Expandable(Protocol):
    """Derivatives of the energy, and expansions of every row with bounded remainders: for control variates."""

    @abstractmethod
    def expansion(self, theta: np.ndarray) -> Expansion:
        """Return the sum of the energies of all rows at ``theta``, its gradient (d,) and its Hessian (d, d)."""

    @abstractmethod
    def taylor(
        self, order: int, centre: np.ndarray, at_centre: Expansion, *, whiten: bool, original_bounds: bool
    ) -> Any:
        """Return a target with the same posterior: it has the Taylor parts of all energies as one polynomial."""


class Examined(Expandable, Protocol):
    """Modes, and whether there is a posterior at all: for the automatic choice."""

    @property
    @abstractmethod
    def modes(self) -> list[Mode]:
        """Return a list of the modes that have a relevant share of the posterior probability, the largest first."""

    @property
    @abstractmethod
    def chain_names(self) -> list[str]:
        """Return the names of the parameters, a list, in the order in which a chain has them."""

    @property
    @abstractmethod
    def convex(self) -> bool:
        """Return True if the energy of every row is convex. Then there is at most one mode."""

    @property
    @abstractmethod
    def mixed_prior(self) -> Any:
        """Return a target with the same posterior whose prior is normal given unknown scales; None if not useful."""

    @abstractmethod
    def highest_order(self) -> int:
        """Return the highest order of a Taylor expansion whose remainder is bounded in every row; otherwise 0."""

    @abstractmethod
    def dependent_columns(self) -> list[np.ndarray]:
        """Return a list of groups of collinear columns; each group is an array of column numbers."""

    @abstractmethod
    def separating_direction(self) -> np.ndarray | None:
        """Return a direction (d,) in which the energy of no row ever rises; None if there is no such direction."""

    @abstractmethod
    def names_along(self, direction: np.ndarray) -> list[str]:
        """Return a list of names: of the parameters that change most in this ``direction`` (d,)."""

    @abstractmethod
    def proved_proper(self, expanded: Any, away: float) -> bool:
        """Return True if the Taylor expansion ``expanded`` proves that the posterior is proper."""

    @abstractmethod
    def model_warnings(self) -> list[str]:
        """Return warnings about the model, a list of sentences."""


class Kept(Protocol):
    """What is known of the rows from an earlier set-up, so that none has to be read."""

    @property
    @abstractmethod
    def kept(self) -> Any:
        """Return the expansion, the mode and how they were found; None if nothing is known."""

    @property
    @abstractmethod
    def set_up_told(self) -> str | None:
        """Return what was read for the set-up and what was kept, in words; None if there is nothing to say."""


class Normalised(Protocol):
    """The joint density of data and parameters with all its constants, for the evidence."""

    @abstractmethod
    def refuse_without_constants(self) -> None:
        """Raise an error if a prior is improper, or if a normalising constant is not known."""

    @abstractmethod
    def log_joint(self, point: np.ndarray) -> float:
        """Return the log likelihood of all rows plus the log prior density, at a point in the chain's coordinates."""


class Repeating(Protocol):
    """Rows of which equal ones can be taken once, with their weights added up."""

    @abstractmethod
    def distinct(self) -> Target | None:
        """Return a target with the same posterior, in which equal rows are one row; None if few rows are equal."""


class LowerBounded(Protocol):
    """Quadratics below the rows' log likelihoods, for `FlyMC`."""

    @abstractmethod
    def best_mode(self) -> Mode:
        """Return the mode that has the largest share of the posterior probability."""

    @abstractmethod
    def firefly(self, centre: np.ndarray | None) -> Target:
        """Return a target with the same posterior, and lower bounds that are exact at ``centre``."""


class GloballyBounded(Protocol):
    """A target with known bounds of every row's energy, for all parameters. `PoissonMH` needs these bounds."""

    @abstractmethod
    def global_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Return two arrays (N,) of upper bounds, for all parameters.

        The first array bounds the energy of each row. The second array bounds the difference between the largest and
        the smallest energy of each row.
        """


class Whitenable(Protocol):
    """Coordinates in which its Laplace law is standard normal, for `Autoregressive`."""

    @abstractmethod
    def whitened(self) -> Target:
        """Return a target with the same posterior, whose chains use these coordinates."""


class Approximated(Protocol):
    """A Laplace law of its own, which need not be one of all its parameters: effects of groups may be left out."""

    @abstractmethod
    def laplace_gaussian(self) -> tuple[Any, Any]:
        """Return a pair: Laplace's approximation, or None, and the target whose parameters it describes."""


class Separable(Protocol):
    """A regression whose columns can be taken apart: some common to all rows, others as levels of groups."""

    @abstractmethod
    def on_columns(self, which: np.ndarray) -> Any:
        """Return the regression on those columns for which the mask ``which`` is True, with a flat prior."""


class Preparing(Protocol):
    """Of a test or a proposal: it needs the target in a form of its own."""

    @abstractmethod
    def prepare(self, target: Any) -> Any:
        """Return the same posterior in that form: with lower bounds, or in other coordinates."""


class Deciding(Protocol):
    """What makes a value an acceptance test."""

    @property
    @abstractmethod
    def exact(self) -> bool:
        """Return True if the posterior is the stationary distribution of the chain."""

    @abstractmethod
    def bind(self, target: Any) -> Any:
        """Return the test in the form that chains of ``target`` use."""
