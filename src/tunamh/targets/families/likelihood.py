"""What a row says, given its predictors: the energy of a row, and what is proved of its derivatives."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from typing import Any, ClassVar, NamedTuple

import numpy as np

from ...compiled import Part


class Suprema(NamedTuple):
    """Upper bounds of ``|f'|``, ``|f''|`` and ``|f'''|`` for each row, valid for all ``eta``.

    ``f(eta)`` is the energy (minus log-likelihood) of a row as a function of its linear predictor ``eta``. A bound may
    be infinite. The smaller the bounds are, the fewer rows are read.

    Parameters
    ----------
    first, second, third : (n,)
        The bounds of the first, second and third derivative. Each array has one number for each row.
    """

    first: np.ndarray
    second: np.ndarray
    third: np.ndarray


class LowerBound(NamedTuple):
    """Lower bounds of the log-likelihoods of rows, which are quadratic in the linear predictor ``eta``.

    The bound of a row is ``a (eta - anchor)^2 + b (eta - anchor) + k``. Each of ``anchor``, ``a``, ``b`` and ``k`` is
    an array (n,), with one number for each row.
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
        """Return the compiled function for the energies (minus log-likelihoods) of rows, in the role `FamilyEnergy`.

        If each row has ``K`` linear predictors, predictor ``k`` of row ``b`` is ``eta[k * m + b]``. ``m = eta.size /
        K`` is the number of rows for which the vector ``eta`` has room.
        """

    @property
    @abstractmethod
    def rise(self) -> Part:
        """Return the compiled function for energy differences of rows, in the role `FamilyRise`.

        The energy of a row is its negative log-likelihood. The difference of a row is the energy at the proposed linear
        predictors minus the energy at the current linear predictors. Both vectors have the same order as in `energy`.
        """

    @property
    def hyper(self) -> tuple[float, ...]:
        """Return the fixed numbers of the family, such as a known scale: a tuple of floats.

        The compiled functions `energy` and `rise` get these numbers as an argument.
        """
        return ()

    def check(self, y: np.ndarray) -> None:  # noqa: B027 - an energy may take any numbers
        """Raise a ValueError if the family does not allow a response in ``y``."""

    @abstractmethod
    def derivatives(self, eta: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the derivatives ``f'``, ``f''`` and ``f'''`` of the energies of n rows: three arrays.

        ``f`` is the energy (negative log-likelihood) of a row as a function of its linear predictors. With one linear
        predictor all three arrays have the shape (n,). With K linear predictors they have the shapes (K, n), (K, K, n)
        and (K, K, K, n).
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
        """Return upper bounds of ``|f'|``, ``|f''|`` and ``|f'''|`` over all ``eta``: a `Suprema` of arrays (n,).

        ``f(eta)`` is the energy (minus log-likelihood) of a row as a function of its linear predictor ``eta``. A bound
        may be infinite. The source of each family has the proof.
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
