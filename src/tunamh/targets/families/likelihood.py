"""What a row says, given its predictors: the energy of a row, and what is proved of its derivatives."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...compiled import Part


class Suprema(NamedTuple):
    """For each row, upper bounds of ``|f'|``, ``|f''|`` and ``|f'''|`` over all ``eta``; they may be infinite.

    ``f(eta)`` is the energy (minus log-likelihood) of a row as a function of its linear predictor ``eta``. ``first``,
    ``second`` and ``third`` are the bounds of its first, second and third derivative, arrays with one number for each
    row. The closer the bounds are to the suprema, the fewer rows are read.
    """

    first: np.ndarray
    second: np.ndarray
    third: np.ndarray


class LowerBound(NamedTuple):
    """For each row, a lower bound of the log-likelihood that is quadratic in the linear predictor ``eta``.

    The bound is ``a (eta - anchor)^2 + b (eta - anchor) + k``. Each of ``anchor``, ``a``, ``b`` and ``k`` is an array
    with one number for each row.
    """

    anchor: np.ndarray
    a: np.ndarray
    b: np.ndarray
    k: np.ndarray


class Likelihood(ABC):
    """The energy ``f(eta, y)`` of a row of weight 1: minus its log likelihood.

    Every member that is not abstract has a valid default. An optional function is None unless a class defines it.
    """

    predictors: int = 1
    """The number of linear predictors per row."""

    known: int = 0
    """The number of data columns that the energy is given beside ``y``. They stand behind the predictors."""

    convex: bool = False
    """Whether ``f`` is convex in its predictors. If not, tunamh searches for several modes."""

    self_concordant: ClassVar[bool] = False
    """Whether ``|f'''| <= f''`` everywhere."""

    squared: ClassVar[bool] = False
    """Whether ``f`` is quadratic in the residual, also for large residuals."""

    of_residuals: ClassVar[bool] = False
    """Whether ``f`` depends only on the residual ``y - eta``."""

    of_a_function: ClassVar[bool] = False
    """Whether ``f`` is a user's plain function (`tunamh.family`)."""

    grain: float = 1.0
    """The rounding error of an energy difference, in units of machine epsilon."""

    @property
    @abstractmethod
    def energy(self) -> Part:
        """Return the compiled function for the energies of rows. Its signature is `FamilyEnergy`.

        The energy is minus the log-likelihood of a row. If each row has ``K`` linear predictors, the vector ``eta`` has
        predictor ``k`` of row ``b`` at ``eta[k * m + b]``; ``m = eta.size / K`` is the number of rows that fit into the
        vector.
        """

    @property
    @abstractmethod
    def rise(self) -> Part:
        """Return the compiled function for energy differences of rows. Its signature is `FamilyRise`.

        It returns, for each row, the energy at the proposed linear predictors minus the energy at the current ones. The
        linear predictors have the same order as in `energy`.
        """

    @property
    def hyper(self) -> tuple[float, ...]:
        """Return a tuple of floats: the fixed numbers of the family, such as a known scale.

        The compiled functions `energy` and `rise` (the difference of two energies) get them as arguments.
        """
        return ()

    def check(self, y: np.ndarray) -> None:  # noqa: B027 - an energy may take any numbers
        """Raise a ValueError for responses that the energy does not allow."""

    @abstractmethod
    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return three arrays: the derivatives ``f'``, ``f''`` and ``f'''`` of the energies of n rows.

        They are derivatives with respect to the linear predictors. With one linear predictor these are three arrays
        (n,). With K linear predictors they are arrays (K, n), (K, K, n) and (K, K, K, n).
        """

    guess: Any = None
    """``guess(y)`` returns predictors that would explain the responses, as a start for the search for a mode."""

    rises: Any = None
    """``rises(y)`` returns for each row whether ``f`` is unbounded as ``eta`` goes to plus and to minus infinity.

    If a convex ``f`` does not grow in a direction, the row does not bound the posterior in this direction. With several
    predictors, ``eta`` is the first of them.
    """

    contrasts: Any = None
    """``contrasts(y, predictors)`` returns rows of several predictors as rows of one each, with falling energies."""

    lower_bound: Any = None
    """``lower_bound(y, eta)`` returns a quadratic below ``-f`` for FlyMC, tight at ``eta`` (None: untuned)."""

    rough_bounds: Any = None
    """Cheaper and looser bounds, for radii that few proposals need."""


_OLD_NAMES = {"slope_constants": "second_order_constants", "bend_constants": "third_order_constants"}


class OnePredictorLikelihood(Likelihood):
    """A likelihood with one predictor. Its bounds come from suprema of the derivatives."""

    def __init_subclass__(cls, **given: Any) -> None:
        """Rename members of a subclass that have an old name, with a warning."""
        super().__init_subclass__(**given)
        for old, new in _OLD_NAMES.items():
            if old in vars(cls):
                warnings.warn(f"{cls.__name__}.{old} is now called {new}.", DeprecationWarning, stacklevel=2)
                setattr(cls, new, vars(cls)[old])

    @abstractmethod
    def suprema(self, y: np.ndarray) -> Suprema:
        """Return upper bounds of ``|f'|``, ``|f''|`` and ``|f'''|`` over all ``eta``: arrays (n,).

        They may be infinite. ``f(eta)`` is the energy (minus log-likelihood) of a row as a function of its linear
        predictor ``eta``. The docstring of each family has the proof.
        """

    suprema_near: Any = None
    """``suprema_near(y, eta, radius)`` returns for each row the `Suprema` over predictors within ``radius`` of ``eta``.

    They are upper bounds up to rounding, and never larger than `suprema`.
    """

    second_order_constants: Any = None
    """``second_order_constants(y, eta, radius)`` returns for each row the constant of order 2 (spec 5m).

    It is an upper bound, up to rounding, of

        sup_{0<|z|<=radius} 2 |f'(eta+z) - f'(eta) - f''(eta) z| / z^2.

    Infinity is allowed. Without this function the third entry of `suprema_near` is used, which is never smaller.
    """

    third_order_constants: Any = None
    """``third_order_constants(y, eta, radius)`` returns for each row the constant of order 3 (spec 5r).

    It is an upper bound of

        sup_{0<|z|<=radius} 6 |f'(eta+z) - f'(eta) - f''(eta) z - f'''(eta) z^2/2| / |z|^3,

    such as the supremum of ``|f''''|``. Group effects are then expanded to third order.
    """
