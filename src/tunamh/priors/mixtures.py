"""Priors that are Gaussian given scales which are unknown themselves (spec 5o).

    beta_j | v_j ~ N(mean_j, v_j),    v_j by the horseshoe, by groups, or so that beta_j is Student-t or Laplace

A chain then alternates: scales given the coefficients, by draws in closed form that read no data (the role `Refresh`),
and coefficients given the scales, for which the prior is Gaussian. However narrow the peak and heavy the tails, each
half is easy.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from .._arguments import moderate_number, settle, shown
from ..compiled import Part, Refresh, fixed, helper, part
from .half_cauchy import HalfCauchy
from .half_student_t import HalfStudentT
from .laws import FLAT, LAPLACE, NORMAL, Laws, ReadyIndependent, ready, records
from .positive import PositivePrior
from .potential import Prior, ReadyPrior

# hyper of a mixture: d, whether each coefficient is mixed (d), the variance of those that are not (d), means (d), and
# the numbers of the kind. A state is the coefficients, then what the kind keeps of the scales.
_COEFFICIENTS = 1


@helper(inline=True)
def _mixed(hyper, j):
    return hyper[_COEFFICIENTS + j] > 0.0


@helper(inline=True)
def _away_squared(here, hyper, j):
    d = int(hyper[0])
    return (here[j] - hyper[_COEFFICIENTS + 2 * d + j]) ** 2


@helper(inline=True)
def _inverse_gamma(rng, shape, scale):
    """Density ``x^(-shape - 1) e^(-scale / x)``."""
    return scale / max(rng.standard_gamma(shape), 1e-300)


_SWEEPS = 3  # over local and global scales given the coefficients: cheap beside a Cholesky factor, and they mix slowly

_LEAST, _MOST = 1e-200, 1e200  # of a variance: beyond, its products overflow


@helper(inline=True)
def _within(variance):
    return min(max(variance, _LEAST), _MOST)


@part(Refresh)
def _horseshoe(rng, here, hyper):
    """``v_j = l_j t`` with half-Cauchy roots, by their inverse-gamma mixtures (Makalic and Schmidt 2016)."""
    d = int(hyper[0])
    width = hyper[_COEFFICIENTS + 3 * d]
    for _ in range(_SWEEPS):
        total, count = 0.0, 0
        for j in range(d):
            if _mixed(hyper, j):
                square = _away_squared(here, hyper, j)
                wide = _inverse_gamma(rng, 1.0, 1.0 + 1.0 / here[d + j])
                here[d + j] = _within(_inverse_gamma(rng, 1.0, 1.0 / wide + 0.5 * square / here[2 * d]))
                total += 0.5 * square / here[d + j]
                count += 1
        wide = _inverse_gamma(rng, 1.0, 1.0 / width**2 + 1.0 / here[2 * d])
        here[2 * d] = _within(_inverse_gamma(rng, 0.5 * (count + 1.0), 1.0 / wide + total))


@helper
def inverse_gaussian(rng, mean, shape):
    """By Michael, Schucany and Haas (1976)."""
    z = rng.standard_normal() ** 2
    x = mean + 0.5 * mean / shape * (mean * z - math.sqrt(4.0 * mean * shape * z + (mean * z) ** 2))
    x = max(x, 1e-300)
    return x if rng.random() * (mean + x) <= mean else mean * mean / x


@part(Refresh)
def _each(rng, here, hyper):
    """Each coefficient has a variance of its own, by which its law is Student-t or Laplace.

    Student-t: inverse gamma, ``(df / 2, df scale^2 / 2)``. Laplace: exponential with mean ``2 scale^2``; one over it is
    inverse Gaussian given the coefficient.
    """
    d = int(hyper[0])
    numbers = _COEFFICIENTS + 3 * d
    for j in range(d):
        if _mixed(hyper, j):
            kind, scale, df = hyper[numbers + j], hyper[numbers + d + j], hyper[numbers + 2 * d + j]
            square = _away_squared(here, hyper, j)
            if kind == LAPLACE:
                mean = 1.0 / (scale * max(math.sqrt(square), 1e-150))
                here[d + j] = _within(1.0 / inverse_gaussian(rng, min(mean, 1e150), 1.0 / scale**2))
            else:
                shape = 0.5 * (df + 1.0)
                here[d + j] = _within(_inverse_gamma(rng, shape, 0.5 * (df * scale * scale + square)))


@part(Refresh)
def _grouped(rng, here, hyper):
    """``v_g`` of a group is the square of a half-Student-t scale."""
    d = int(hyper[0])
    numbers = _COEFFICIENTS + 3 * d
    df, width, groups = hyper[numbers], hyper[numbers + 1], int(hyper[numbers + 2])
    for g in range(groups):
        total, count = 0.0, 0
        for j in range(d):
            if _mixed(hyper, j) and int(hyper[numbers + 3 + j]) == g:
                total += 0.5 * _away_squared(here, hyper, j)
                count += 1
        wide = _inverse_gamma(rng, 0.5 * (df + 1.0), df / here[d + g] + 1.0 / width**2)
        here[d + g] = _within(_inverse_gamma(rng, 0.5 * (df + count), df / wide + total))


_NO_LAW = float(FLAT), 1.0, 1.0  # kind, scale and df of what has none

HORSESHOE, EACH, GROUPED = range(3)
"""How variances follow from the scales of a state: a product, one for each coefficient, one for each group."""


class Mixture(NamedTuple):
    """A mixture made ready: the kernel of its scales, the numbers it reads, and where a chain begins.

    ``variables`` name what is kept of the scales, with labels where it is a vector; all of it are variances, of which
    users see the roots.
    """

    refresh: Part
    hyper: np.ndarray
    arrangement: int
    groups: np.ndarray
    start: np.ndarray
    variables: tuple[tuple[str, tuple[str, ...] | None], ...]

    @property
    def mixed(self) -> np.ndarray:
        d = int(self.hyper[0])
        return self.hyper[1 : 1 + d] > 0

    @property
    def fixed_variance(self) -> np.ndarray:
        d = int(self.hyper[0])
        return self.hyper[1 + d : 1 + 2 * d]

    @property
    def mean(self) -> np.ndarray:
        d = int(self.hyper[0])
        return self.hyper[1 + 2 * d : 1 + 3 * d]

    @property
    def records(self) -> np.ndarray:
        """The laws of coefficients with a variance of their own, integrated out; none of other arrangements."""
        d = int(self.hyper[0])
        if self.arrangement != EACH:
            return np.empty(0)
        kind, scale, df = self.hyper[1 + 3 * d :].reshape(3, d)
        zero = np.zeros(d)
        return records(Laws(kind, self.mean, scale, df), self.mixed, zero, zero, zero).ravel()

    def among(self, at: np.ndarray, dim: int) -> Mixture:
        """The same of coefficients that are parameters ``at`` of ``dim``, beside others whose laws are elsewhere."""

        def spread(values: Any, empty: Any) -> np.ndarray:
            wide = np.full(dim, empty, dtype=np.asarray(values).dtype)
            wide[at] = values
            return wide

        groups, start, numbers = spread(self.groups, 0), self.start, self.hyper[1 + 3 * int(self.hyper[0]) :]
        if self.arrangement == GROUPED:
            numbers = np.append(numbers[: -len(at)], groups)
        elif self.arrangement == EACH:
            groups, start = np.arange(dim), spread(self.start, 1.0)
            numbers = np.concatenate(
                [spread(one, empty) for one, empty in zip(numbers.reshape(3, -1), _NO_LAW, strict=True)]
            )
        else:
            start = np.append(spread(self.start[:-1], 1.0), self.start[-1])
        hyper = [dim, *spread(1.0 * self.mixed, 0.0), *spread(self.fixed_variance, np.inf), *spread(self.mean, 0.0)]
        variables = tuple(
            (name, tuple(spread(np.array(labels, object), "")) if labels and self.arrangement == HORSESHOE else labels)
            for name, labels in self.variables
        )
        return Mixture(self.refresh, fixed([*hyper, *numbers]), self.arrangement, groups, start, variables)


@dataclass(frozen=True, eq=False)
class ReadyMixture(ReadyIndependent):
    """As far as the search for a centre goes, a normal prior as wide as the mixture's scales begin."""

    scales: Mixture

    @property
    def mixture(self) -> Mixture:
        return self.scales


@dataclass(frozen=True)
class MixturePrior(Prior):
    """A prior of coefficients that are Gaussian given scales; ``columns`` are their names, once these are known."""

    columns: tuple[str, ...] = field(default=(), repr=False, compare=False, kw_only=True)

    @abstractmethod
    def kernel(self, dim: int, names: Sequence[str]) -> tuple[Part, list[float], int, np.ndarray, np.ndarray, tuple]:
        """Of so many coefficients: refresh, its numbers, arrangement, groups, the scales' start and the variables."""

    def in_order(self, names: Sequence[str]) -> Prior:
        return replace(self, columns=tuple(names))

    def bind(self, dim: int) -> ReadyPrior:
        names = self.columns or [str(j) for j in range(dim)]
        return self.bind_beside(Laws(*(np.zeros(dim) for _ in range(4))), np.ones(dim, bool), names)

    def bind_beside(self, others: Laws, mixed: np.ndarray, names: Sequence[str]) -> ReadyPrior:
        """With flat or normal priors of coefficients that are not ``mixed``."""
        d = len(mixed)
        refresh, numbers, arrangement, groups, start, variables = self.kernel(d, names)
        variance = np.where(others.kind == FLAT, np.inf, others.scale**2)
        mean = np.where(mixed, self.centre(d), others.mean)
        hyper = fixed([d, *mixed, *np.where(mixed, 1.0, variance), *mean, *numbers])
        wide = Laws(
            np.where(mixed, NORMAL, others.kind),
            mean,
            np.where(mixed, self.width(d), np.where(others.scale > 0, others.scale, 1.0)),
            np.ones(d),
        )
        plain = ready(wide)
        mixture = Mixture(refresh, hyper, arrangement, groups, start, variables)
        return ReadyMixture(plain.log_prior, plain.hyper, plain.mean, plain.precision, plain.flat, plain.laws, mixture)

    def centre(self, dim: int) -> np.ndarray:
        return np.zeros(dim)

    @abstractmethod
    def width(self, dim: int) -> np.ndarray:
        """About how wide the coefficients may be: where the search for a centre looks."""


_WIDE = 10.0  # times the scale, so that the search for a centre is led by the data


@dataclass(frozen=True)
class Horseshoe(MixturePrior):
    """``beta_j ~ N(0, (local_j global)^2)``, ``local_j`` half-Cauchy(1), ``global`` half-Cauchy(``scale``).

    Most coefficients are pulled to zero, a few are left alone (Carvalho, Polson and Scott 2010): the smaller ``scale``,
    the fewer. Coefficients that are not to be shrunk get a prior of their own: ``ByName({"intercept": Flat()},
    others=Horseshoe(0.1))``. Scales mix more slowly than coefficients: take ``thin=10`` if you need them.
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        settle(self, scale=moderate_number("scale of the prior", self.scale, 1e-20, 1e20))

    def kernel(self, dim: int, names: Sequence[str]) -> tuple:
        start = np.append(np.ones(dim), self.scale**2)
        variables = (("local_scale", tuple(names)), ("global_scale", None))
        return _horseshoe, [self.scale], HORSESHOE, np.zeros(dim, int), start, variables

    def width(self, dim: int) -> np.ndarray:
        return np.full(dim, _WIDE * max(self.scale, 1.0))


_HALF_STUDENT = HalfStudentT(3.0, 2.5)


@dataclass(frozen=True)
class Grouped(MixturePrior):
    """``beta_j ~ N(0, scale_g^2)`` with one unknown scale for each group of coefficients.

    Parameters
    ----------
    groups : optional
        The group of every coefficient, in the order of the columns; None: all are one group.
    scale : HalfStudentT or HalfCauchy
        The prior of the scales; by default half-Student-t with 3 degrees of freedom and scale 2.5.
    """

    groups: Any = None
    scale: PositivePrior = _HALF_STUDENT

    def __post_init__(self) -> None:
        if not isinstance(self.scale, HalfStudentT | HalfCauchy):
            raise TypeError(f"scale of Grouped must be HalfStudentT or HalfCauchy, got {shown(self.scale)}.")
        if self.groups is not None:
            settle(self, groups=tuple(str(value) for value in self.groups))

    def by_column(self) -> dict[str, Any]:
        return {"groups": self.groups}

    def kernel(self, dim: int, names: Sequence[str]) -> tuple:
        given = ("all",) * dim if self.groups is None else self.groups
        if len(given) != dim:
            raise ValueError(f"groups has {len(given)} entries, but there are {dim} coefficients.")
        labels = tuple(dict.fromkeys(given))
        of_each = np.array([labels.index(label) for label in given])
        law = self.scale.law()
        df, width = float(law.df[0]), float(law.scale[0])
        variables = (("prior_scale", None if len(labels) == 1 else labels),)
        return _grouped, [df, width, len(labels), *of_each], GROUPED, of_each, np.full(len(labels), width**2), variables

    def width(self, dim: int) -> np.ndarray:
        return np.full(dim, _WIDE * float(self.scale.law().scale[0]))


def mixture_of_laws(laws: Laws) -> ReadyPrior:
    """Student-t and Laplace laws as mixtures, for posteriors that these dominate; others stay as they are."""
    d = len(laws.kind)
    mixed = laws.kind > NORMAL
    variance = np.where(mixed, 1.0, np.where(laws.kind == FLAT, np.inf, laws.scale**2))
    hyper = fixed([d, *mixed, *variance, *laws.mean, *laws.kind, *laws.scale, *laws.df])
    wide = Laws(np.where(mixed, NORMAL, laws.kind), laws.mean, np.where(mixed, _WIDE, 1.0) * laws.scale, laws.df)
    plain = ready(wide)
    mixture = Mixture(_each, hyper, EACH, np.arange(d), laws.scale**2, ())
    return ReadyMixture(plain.log_prior, plain.hyper, plain.mean, plain.precision, plain.flat, plain.laws, mixture)
