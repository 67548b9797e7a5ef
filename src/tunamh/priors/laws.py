"""Priors of independent coordinates: every one with a law of its own, at a cost of O(d).

With ``z = (theta_j - mean) / scale`` the potentials are

    normal     z^2 / 2                         Student-t    (df + 1)/2 log(1 + z^2 / df)         (Cauchy: df = 1)
    flat       0                               Laplace      |z|
    logistic   z + 2 log(1 + e^-z)

and, of parameters that are positive,

    gamma      z - (df - 1) log theta          inverse gamma    1 / z + (df + 1) log theta       (df: the shape)
    lognormal  (log theta - mean)^2 / (2 scale^2) + log theta
    uniform    0 between mean and scale        flat             0, theta > 0

or one of these of ``theta^2`` or ``theta^-2`` (a variance, a precision), less the logarithm of that power's derivative.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from ..compiled import LogPrior, fixed, helper, part
from ..compiled.layouts import Layout
from ..compiled.windows import matrix_window
from .potential import PriorExpansion, ReadyPrior, nothing

FLAT, NORMAL, STUDENT_T, LAPLACE, LOGISTIC, GAMMA, INVERSE_GAMMA, LOG_NORMAL, UNIFORM, FLAT_POSITIVE = range(10)
ON_VARIANCE, ON_PRECISION = 16, 32  # added to the kind of a law that is one of theta^2, of theta^-2


class Laws(NamedTuple):
    """The prior laws of the coordinates: four arrays of the same length.

    A law ignores numbers that it does not need.
    """

    kind: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    df: np.ndarray

    @property
    def precision(self) -> np.ndarray:
        """Return the curvature of the energy at the centre of each law.

        For a Laplace law it is 1 divided by its variance.
        """
        about = [0.0, 1.0, (self.df + 1) / self.df, 0.5, 3 / np.pi**2]
        return np.select([self.kind == k for k in range(5)], about) * self.scale**-2


# -------------------------------------------------------------------------------------------- the compiled side

# A record of a coordinate that has anything to say; its quadratic is one of ``u = theta_j - at``.
COORDINATE, KIND, MEAN, SCALE, DF, AT, GRADIENT, CURVATURE = range(8)
RECORD = 8
"""Numbers of a coordinate's record."""


def records(laws: Laws, which: np.ndarray, at: np.ndarray, gradient: np.ndarray, curvature: np.ndarray) -> np.ndarray:
    """Return an array of records, one for each coordinate in ``which``.

    A record contains the law of the coordinate, and the quadratic function that is added to its log density.
    """
    columns = np.arange(len(laws.kind)), *laws, at, gradient, curvature
    if len(columns) != RECORD or {len(column) for column in columns} != {len(which)}:
        raise ValueError(f"a record has {RECORD} numbers, each of them given for all {len(which)} coordinates")
    return fixed(np.column_stack(columns)[which])


@helper
def _as_power(value, kind):
    """The square or its inverse that a law is of, the law's kind, and minus the log of that power's derivative."""
    if kind < ON_VARIANCE:
        return value, kind, 0.0
    if not value > 0.0:
        return np.nan, kind, 0.0
    if kind < ON_PRECISION:
        return value * value, kind - ON_VARIANCE, -np.log(value)
    square = value * value
    return 1.0 / square if square > 0.0 else np.inf, kind - ON_PRECISION, 3.0 * np.log(value)


@helper(inline=True)
def records_from(vector, start):
    """Return the records in a vector, from position ``start`` to its end, as a matrix."""
    return matrix_window(vector, start, (vector.size - start) // RECORD, RECORD)


@helper
def laws_at(theta, records):
    """Return the sum over all records of ``g u + h u^2 / 2`` minus the energy of the law.

    A record is a row of the matrix ``records``.
    """
    total = 0.0
    for k in range(records.shape[0]):
        own = theta[int(records[k, COORDINATE])]
        value, kind, turned = _as_power(own, records[k, KIND])
        mean, scale, df = records[k, MEAN], records[k, SCALE], records[k, DF]
        z = (value - mean) / scale
        if kind == STUDENT_T:
            energy = 0.5 * (df + 1.0) * np.log1p(z * z / df)
        elif kind == LAPLACE:
            energy = abs(z)
        elif kind == NORMAL:
            energy = 0.5 * z * z
        elif kind == LOGISTIC:
            energy = abs(z) + 2.0 * np.log1p(np.exp(-abs(z)))
        elif not (value > 0.0 and value < np.inf):
            return -np.inf
        elif kind == UNIFORM:
            if not (value > mean and value < scale):
                return -np.inf
            energy = 0.0
        elif kind == FLAT_POSITIVE:
            energy = 0.0
        elif kind == GAMMA:
            energy = z - (df - 1.0) * np.log(value)
        elif kind == INVERSE_GAMMA:
            energy = 1.0 / z + (df + 1.0) * np.log(value)
        else:
            energy = 0.5 * ((np.log(value) - mean) / scale) ** 2 + np.log(value)
        u = own - records[k, AT]
        total += u * (records[k, GRADIENT] + 0.5 * records[k, CURVATURE] * u) - energy - turned
    return total


@part(LogPrior)
def _independent(theta, hyper):
    return laws_at(theta, records_from(hyper, 0))


NORMALS = Layout("Normals", "d", mean=("d",), deviation=("d",))
_normals_at = NORMALS.reader()


@part(LogPrior)
def _normal(theta, hyper):
    """Independent normals."""
    laws = _normals_at(hyper, 0, theta.size)
    mean, deviation = laws.mean, laws.deviation
    total = 0.0
    for j in range(theta.size):
        z = (theta[j] - mean[j]) / deviation[j]
        total -= 0.5 * z * z
    return total


# ---------------------------------------------------------------------------------------------- the expansion


def kink_width(width: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """Return ``e``, for which ``sqrt(t^2 + e^2)`` replaces the ``|t|`` of a Laplace prior near its kink.

    ``width`` is the posterior standard deviation by the data alone. At the kink the curvature of the prior's energy is
    ``1 / (scale e)``, and that of the data is ``1 / width^2``. With strong data, ``e = width`` (spec 5k). With the
    prior alone, whose variance is ``2 scale^2``, ``e = 2 scale``. The equation ``e^2 / width^2 + e / (2 scale) = 1``
    has both limits.
    """
    q = 0.5 / scale
    return 2.0 / (q + np.sqrt(q * q + 4.0 / width**2))


_WIDEST = 100.0  # of (width / scale)^2: tails that have no variance end somewhere


def peak_width(width: np.ndarray, scale: np.ndarray, df: np.ndarray) -> np.ndarray:
    """Return ``e^2 / scale^2``, where ``e`` is the width of the posterior at the peak of a Student-t prior.

    Near its peak such a prior bends as if its ``df`` were ``df + 3 e^2 / scale^2``. The curvature at the peak is then
    ``(df + 1) / (df scale^2 + 3 e^2)``. Together with the curvature of the data this gives a quadratic equation for
    ``e^2``: ``1 / e^2 = 1 / width^2 + (df + 1) / (df scale^2 + 3 e^2)``. With the prior alone, ``e`` is its standard
    deviation.
    """
    data = 1.0 / np.minimum((width / scale) ** 2, _WIDEST)
    b = df * data + df - 2.0
    return 2.0 * df / (b + np.sqrt(b * b + 12.0 * df * data))


def _derivatives(laws: Laws, theta: np.ndarray, width: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Potential, slope and curvature of every coordinate; peaks and kinks are rounded off at the posterior's width.

    The rounded potentials lie above those of the laws, and meet them in the tails. A peak as sharp as it is would make
    proposals that never reach the tails; a narrow one, where the data know more, stays as it is.
    """
    kind, mean, scale, df = laws
    z = (theta - mean) / scale
    df_seen = df + 3.0 * peak_width(width, scale, df)
    wide = df_seen + z * z
    e = kink_width(width, scale) / scale
    rounded = np.hypot(z, e)
    kinds = [kind == NORMAL, kind == STUDENT_T, kind == LAPLACE, kind == LOGISTIC]
    t = np.tanh(0.5 * z)
    logistic = np.abs(z) + 2 * np.log1p(np.exp(-np.abs(z)))
    energy = np.select(kinds, [0.5 * z * z, 0.5 * (df + 1) * np.log(wide / df), rounded, logistic])
    slope = np.select(kinds, [z, (df + 1) * z / wide, z / rounded, t]) / scale
    curvatures = [np.ones_like(z), (df + 1) * (df_seen - z * z) / wide**2, e * e / rounded**3, 0.5 * (1 - t * t)]
    return energy, slope, np.select(kinds, curvatures) / scale**2


@dataclass(frozen=True, eq=False)
class ReadyIndependent(ReadyPrior):
    laws: Laws

    @property
    def heavy(self) -> np.ndarray:
        """Return a boolean array: True for Student-t laws that have no variance."""
        return (self.laws.kind == STUDENT_T) & (self.laws.df <= 2.0)

    @property
    def gaussian(self) -> bool:
        return bool((self.laws.kind <= NORMAL).all())

    def expansion(self, theta: np.ndarray, width: np.ndarray) -> PriorExpansion:
        if self.gaussian:
            off = theta - self.mean
            gradient = self.precision * off
            return PriorExpansion(0.5 * float(off @ gradient), gradient, np.diag(self.precision))
        energy, slope, curvature = _derivatives(self.laws, theta, width)
        return PriorExpansion(float(energy.sum()), slope, np.diag(curvature))

    def without(self, at: np.ndarray, expansion: PriorExpansion) -> ReadyPrior:
        if self.gaussian:
            return replace(self, log_prior=nothing, hyper=fixed([]))
        curved = self.laws.kind > NORMAL
        hyper = records(self.laws, curved, at, expansion.gradient, np.diag(expansion.hessian))
        return replace(self, log_prior=_independent, hyper=hyper)


def ready(laws: Laws) -> ReadyIndependent:
    """Return the laws as a prior, with the cheapest compiled function that can compute them."""
    flat, zero = laws.kind == FLAT, np.zeros(len(laws.kind))
    if flat.all():
        log_prior, hyper = nothing, fixed([])
    elif (laws.kind == NORMAL).all():
        log_prior, hyper = _normal, fixed(NORMALS.pack(mean=laws.mean, deviation=laws.scale))
    else:
        log_prior, hyper = _independent, records(laws, ~flat, zero, zero, zero)
    return ReadyIndependent(log_prior, hyper, laws.mean, laws.precision, flat, laws)
