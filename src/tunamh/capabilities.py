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
        """The target as compiled code sees it."""


class Expandable(Protocol):
    """Derivatives of the energy, and expansions of every row with bounded remainders: for control variates."""

    @abstractmethod
    def expansion(self, theta: np.ndarray) -> Expansion:
        """Energy, gradient and Hessian of the data at ``theta``."""

    @abstractmethod
    def taylor(
        self, order: int, centre: np.ndarray, at_centre: Expansion, *, whiten: bool, original_bounds: bool
    ) -> Any:
        """The same posterior with a Taylor polynomial of the energies in the offset."""


class Examined(Expandable, Protocol):
    """Modes, and whether there is a posterior at all: for the automatic choice."""

    @property
    @abstractmethod
    def modes(self) -> list[Mode]:
        """The modes that matter, by their share of the posterior."""

    @property
    @abstractmethod
    def chain_names(self) -> list[str]:
        """The parameters' names in the order in which they are walked."""

    @property
    @abstractmethod
    def convex(self) -> bool:
        """Whether the energy is, so that there is one mode at most."""

    @property
    @abstractmethod
    def mixed_prior(self) -> Any:
        """The same posterior with a prior that is Gaussian given scales, where that is the better one; else None."""

    @abstractmethod
    def highest_order(self) -> int:
        """The highest order of expansion whose remainder is bounded in every row; 0 where none is."""

    @abstractmethod
    def dependent_columns(self) -> list[np.ndarray]:
        """Groups of parameters that the data do not tell apart."""

    @abstractmethod
    def separating_direction(self) -> np.ndarray | None:
        """A direction along which the energy never rises; None where there is a posterior."""

    @abstractmethod
    def names_along(self, direction: np.ndarray) -> list[str]:
        """The parameters that a direction is made of, in the order of the columns."""

    @abstractmethod
    def proved_proper(self, expanded: Any, away: float) -> bool:
        """Whether what is known at an expansion proves that there is a posterior."""

    @abstractmethod
    def model_warnings(self) -> list[str]:
        """What a person should be told of the model before it is sampled."""


class Kept(Protocol):
    """What is known of the rows from an earlier set-up, so that none has to be read."""

    @property
    @abstractmethod
    def kept(self) -> Any:
        """The expansion, the mode and how they came about; None where nothing is known."""


class Normalised(Protocol):
    """The joint density of data and parameters with all its constants, for the evidence."""

    @abstractmethod
    def refuse_without_constants(self) -> None:
        """Raise if a prior is improper, or if a constant is not known."""

    @abstractmethod
    def log_joint(self, point: np.ndarray) -> float:
        """Log likelihood of all rows plus log density of the prior, at the coordinates that chains walk."""


class Repeating(Protocol):
    """Rows of which equal ones can be taken once, with their weights added up."""

    @abstractmethod
    def distinct(self) -> Target | None:
        """The same posterior on the rows that differ; None where hardly any row repeats."""


class LowerBounded(Protocol):
    """Quadratics below the rows' log likelihoods, for `FlyMC`."""

    @abstractmethod
    def best_mode(self) -> Mode:
        """The mode with the largest share of the posterior."""

    @abstractmethod
    def firefly(self, centre: np.ndarray | None) -> Target:
        """The same posterior around lower bounds that are tight at ``centre``."""


class GloballyBounded(Protocol):
    """A target that knows bounds of every row's energy, for all parameters. `PoissonMH` needs such a target."""

    @abstractmethod
    def global_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Return two arrays (N,): upper bounds of each row's energy, and of the range of its energies."""


class Whitenable(Protocol):
    """Coordinates in which its Laplace law is standard normal, for `Autoregressive`."""

    @abstractmethod
    def whitened(self) -> Target:
        """The same posterior for chains that walk there."""


class Approximated(Protocol):
    """A Laplace law of its own, which need not be one of all its parameters: effects of groups may be left out."""

    @abstractmethod
    def laplace_gaussian(self) -> tuple[Any, Any]:
        """Laplace's law, or None, and the target whose parameters it is a law of."""


class Separable(Protocol):
    """A regression whose columns can be taken apart: some common to all rows, others as levels of groups."""

    @abstractmethod
    def on_columns(self, which: np.ndarray) -> Any:
        """The regression on some of its columns, under a flat prior."""


class Preparing(Protocol):
    """Of a test or a proposal: it needs the target in a form of its own."""

    @abstractmethod
    def prepare(self, target: Any) -> Any:
        """The same posterior in that form: around lower bounds, or in other coordinates."""


class Deciding(Protocol):
    """What makes a value an acceptance test."""

    @property
    @abstractmethod
    def exact(self) -> bool:
        """Whether the posterior is the law of its chain."""

    @abstractmethod
    def bind(self, target: Any) -> Any:
        """The test made ready for a target."""
