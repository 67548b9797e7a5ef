"""What a posterior has in closed form beside its rows and its prior, in coordinates of its own (spec 5l, 5n).

A chain may walk in other coordinates than a user knows the parameters by: ``tau = 1 / scale`` and ``(beta - b0) tau``
make the rows' energies linear in the coordinates of the chain. A form says how the one becomes the other, and what the
density has gained: the Jacobian, and terms that depend on a few parameters and on counts of the data only.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from copy import copy
from typing import Any, ClassVar, Self

import numpy as np

from ...compiled import helper
from ...compiled.layouts import FLAG, NUMBER, WHOLE, Layout
from ...compiled.vector import copy_into
from ...priors.potential import PriorExpansion

# A compiled form is ``fill(theta, natural, numbers)``: it fills ``natural`` with the parameters as a user knows them,
# coefficients first, and returns the log of the density's closed part, -inf outside the support. ``numbers`` are its
# own.


class Form(ABC):
    """Coordinates of the chain, with a part of the posterior in closed form.

    The first ``coefficients`` of the ``dim`` parameters belong to columns; the others, the ``extras``, come after them.
    """

    fill: ClassVar[Any]

    def __init__(self, coefficients: int, extras: int):
        self.coefficients, self.dim = coefficients, coefficients + extras

    @property
    @abstractmethod
    def numbers(self) -> np.ndarray:
        """Return the numbers that the compiled function ``fill`` reads."""

    @property
    def extra_at(self) -> np.ndarray:
        """Return the positions of the extra parameters in the coordinates of the chain."""
        return np.arange(self.coefficients, self.dim)

    @property
    def coefficients_at(self) -> np.ndarray:
        """Return the positions of the coefficients in the coordinates of the chain."""
        return np.arange(self.coefficients)

    def in_walked_order(self, names: list[str]) -> list[str]:
        """Return the names of all parameters in the order of the chain's coordinates.

        ``names`` begins with the names of the coefficients.
        """
        found = list(names)
        for at, name in zip([*self.coefficients_at, *self.extra_at], names, strict=True):
            found[at] = name
        return found

    def taking(self, more: int) -> Self:
        """Return the same form whose first ``more`` extra parameters count as coefficients.

        A chain does not transform these parameters.
        """
        found = copy(self)
        found.coefficients += more
        return found

    @abstractmethod
    def to_user(self, points: np.ndarray) -> np.ndarray:
        """Convert points (..., dim) from the coordinates of a chain to the user's parameters."""

    @abstractmethod
    def to_chain(self, point: np.ndarray) -> np.ndarray:
        """Convert a point from the user's parameters to the coordinates of a chain."""

    @abstractmethod
    def log_jacobian(self, point: np.ndarray) -> float:
        """Return ``log |d user / d chain|``, the log Jacobian, at a point in the coordinates of a chain."""

    lean: np.ndarray = np.zeros(0)
    """Of cutpoints: how far their laws move with each coefficient."""

    share_at = -1
    """The position of the logit of a probability that all rows share; -1 if there is none."""

    linear: ClassVar[bool] = False
    """True if `to_user` is linear."""

    of_columns: ClassVar[bool] = False
    """Whether the extras are coefficients of columns of the design, too, and no numbers that all rows share."""

    @property
    def bound(self) -> np.ndarray:
        """Return a boolean array: True for extras whose law is proper by the closed part alone.

        The law is the one given the other parameters.
        """
        return np.zeros(self.dim - self.coefficients, bool)

    def expansion(self, theta: np.ndarray) -> PriorExpansion | None:
        """Return the exact expansion of minus the closed part, or None if it must be computed by differences.

        If a form has an exact expansion, the chain does not transform the coefficients, and the parameters that have
        prior laws are linear functions of the chain's coordinates.
        """
        return None

    @property
    def laws_of(self) -> np.ndarray:
        """Return the matrix of the linear functions of the chain's coordinates that have the prior laws of the extras.

        It exists for forms with an exact `expansion`.
        """
        return np.eye(self.dim)[self.extra_at]

    def thirds(self, theta: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """Return ``sum_k d^3 V / dz_j dz_k^2`` with ``theta = m + factor z``, for a form with an exact `expansion`."""
        raise NotImplementedError


# ------------------------------------------------------------------------------------------------- nothing at all


@helper
def fill_same(theta, natural, numbers):
    copy_into(natural, theta)
    return 0.0


class Same(Form):
    """The form of a chain whose coordinates are the user's parameters."""

    fill = staticmethod(fill_same)

    @property
    def numbers(self) -> np.ndarray:
        return np.empty(0)

    def to_user(self, points: np.ndarray) -> np.ndarray:
        return points

    def to_chain(self, point: np.ndarray) -> np.ndarray:
        return point

    def log_jacobian(self, point: np.ndarray) -> float:
        return 0.0


# ------------------------------------------------------------------------------------------------ an unknown scale


_SCALE = Layout(
    "Scale",
    tau_at=WHOLE,
    coefficients=WHOLE,
    exponent=NUMBER,
    tau_0=NUMBER,
    weight=NUMBER,  # of the rows, whose constants depend on degrees of freedom
    shape=FLAG,  # whether the parameter is tau itself
    b0=("coefficients",),
)
_scale_at = _SCALE.reader()


@helper
def fill_scale(theta, natural, numbers):
    """Compute ``beta = b0 + eta / tau`` and ``scale = 1 / tau`` (or a shape, which is tau), and return the log density.

    The log density of the closed part is ``exponent log(tau / tau_0)``.
    """
    own = _scale_at(numbers, 0)
    d, tau, tau_0, b0 = own.coefficients, theta[own.tau_at], own.tau_0, own.b0
    if not tau > 0.0:
        return -np.inf if tau <= 0.0 else np.nan
    for j in range(d):
        natural[j] = b0[j] + theta[j + 1 if j >= own.tau_at else j] / tau
    natural[d] = tau if own.shape else 1.0 / tau
    return own.exponent * math.log1p((tau - tau_0) / tau_0)


class Scale(Form):
    """A linear regression with unknown scale: rows ``rho(tau e_i - x_i.eta)``, ``e_i = y_i - x_i.b0`` (spec 5l).

    With ``n`` the weight of the rows that are not censored, the density of ``(eta, tau)`` has the factor ``tau^(n - d -
    2)``: one power for each such row, and the Jacobian of ``(beta, scale)``, or of ``(beta, tau)`` where the parameter
    is a shape: two powers less.
    """

    fill = staticmethod(fill_scale)

    def __init__(self, b0: np.ndarray, tau_at: int, tau_0: float, weight: float, *, shape: bool = False):
        super().__init__(len(b0), 1)
        self.b0, self.tau_at, self.tau_0, self.weight, self.shape = b0, tau_at, tau_0, weight, shape
        self.exponent = weight - len(b0) - (0.0 if shape else 2.0)

    @property
    def numbers(self) -> np.ndarray:
        return _SCALE.pack(**{name: getattr(self, name) for name in _SCALE.fields})

    @property
    def extra_at(self) -> np.ndarray:
        return np.array([self.tau_at])

    @property
    def coefficients_at(self) -> np.ndarray:
        return np.delete(np.arange(self.coefficients + 1), self.tau_at)

    def to_user(self, points: np.ndarray) -> np.ndarray:
        tau = points[..., self.tau_at, None]
        beta = self.b0 + points[..., self.coefficients_at] / tau
        return np.concatenate([beta, tau if self.shape else 1 / tau], axis=-1)

    def to_chain(self, point: np.ndarray) -> np.ndarray:
        tau = point[-1] if self.shape else 1 / point[-1]
        return np.insert((point[: self.coefficients] - self.b0) * tau, self.tau_at, tau)

    def log_jacobian(self, point: np.ndarray) -> float:
        """Return the log Jacobian of the transformation.

        Its terms are ``d beta / d eta = 1 / tau`` for each coefficient, and ``d scale / d tau = -1 / tau^2``.
        """
        return -float((self.coefficients + (0 if self.shape else 2)) * np.log(point[self.tau_at]))


# ------------------------------------------------------------------- degrees of freedom, alone and beside a scale


@helper
def _fill_last_df(theta, natural, weight):
    """Compute ``df`` from ``kappa = log df``. Return the constants of ``weight`` rows plus the log Jacobian."""
    kappa = theta[theta.size - 1]
    if not abs(kappa) < 50.0:
        return -np.inf
    df = math.exp(kappa)
    natural[theta.size - 1] = df
    return kappa + weight * (math.lgamma(0.5 * (df + 1.0)) - math.lgamma(0.5 * df) - 0.5 * kappa)


@helper
def fill_df(theta, natural, numbers):
    """Compute ``df = e^kappa``. Return the constants of the Student-t density plus the log Jacobian ``kappa``."""
    copy_into(natural, theta)
    return _fill_last_df(theta, natural, numbers[0])


class Df(Form):
    """Student-t errors of a known scale and unknown degrees of freedom (spec 5n)."""

    fill = staticmethod(fill_df)

    def __init__(self, coefficients: int, weight: float):
        super().__init__(coefficients, 1)
        self.weight = weight

    @property
    def numbers(self) -> np.ndarray:
        return np.array([self.weight])

    def to_user(self, points: np.ndarray) -> np.ndarray:
        return np.concatenate([points[..., :-1], np.exp(points[..., -1:])], axis=-1)

    def to_chain(self, point: np.ndarray) -> np.ndarray:
        return np.append(point[:-1], np.log(point[-1]))

    def log_jacobian(self, point: np.ndarray) -> float:
        return float(point[-1])


@helper
def fill_scale_and_df(theta, natural, numbers):
    """Compute what `fill_scale` computes, and ``df = e^kappa``.

    The result also has the constants of the Student-t density and the log Jacobian ``kappa``.
    """
    value = fill_scale(theta, natural, numbers)
    return value + _fill_last_df(theta, natural, _scale_at(numbers, 0).weight) if value > -np.inf else value


class ScaleAndDf(Scale):
    """Student-t errors with unknown scale and degrees of freedom (spec 5n)."""

    fill = staticmethod(fill_scale_and_df)

    def __init__(self, b0: np.ndarray, tau_at: int, tau_0: float, weight: float):
        super().__init__(b0, tau_at, tau_0, weight)
        self.dim = len(b0) + 2

    @property
    def extra_at(self) -> np.ndarray:
        return np.array([self.tau_at, self.dim - 1])

    def to_user(self, points: np.ndarray) -> np.ndarray:
        return np.concatenate([super().to_user(points[..., :-1]), np.exp(points[..., -1:])], axis=-1)

    def to_chain(self, point: np.ndarray) -> np.ndarray:
        return np.append(super().to_chain(point[:-1]), np.log(point[-1]))

    def log_jacobian(self, point: np.ndarray) -> float:
        return super().log_jacobian(point) + float(point[-1])
