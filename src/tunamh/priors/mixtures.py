"""Priors that are Gaussian given scales which are unknown themselves (spec 5o).

    beta_j | v_j ~ N(mean_j, v_j),    v_j by the horseshoe, by groups, or so that beta_j is Student-t or Laplace

A chain then alternates: scales given the coefficients, by draws in closed form that read no data
(`tunamh.chains.gibbs_scales`), and coefficients given the scales, for which the prior is Gaussian. However narrow the
peak and heavy the tails, each half is easy.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from .._arguments import moderate_number, settle, shown
from ..compiled import NO_FAULT, Part, Step, fixed, helper, part
from ..compiled.layouts import NUMBER, WHOLE, Layout
from .half_cauchy import HalfCauchy
from .half_student_t import HalfStudentT
from .laws import FLAT, LAPLACE, NORMAL, Laws, ReadyIndependent, ready, records
from .positive import PositivePrior
from .potential import Prior, ReadyPrior
from .summed_precisions import SUMMED, draw_scales_by_shares

_COEFFICIENTS: dict[str, Any] = {"mixed": ("d",), "fixed_variance": ("d",), "mean": ("d",)}
"""Whether each coefficient is mixed, the variance of those that are not, means."""

_HORSESHOE = Layout("Horseshoe", d=WHOLE, **_COEFFICIENTS, width=NUMBER)
_EACH = Layout("Each", d=WHOLE, **_COEFFICIENTS, kind=("d",), scale=("d",), df=("d",))
_GROUPED = Layout("Grouped", d=WHOLE, groups=WHOLE, df=("groups",), width=("groups",), **_COEFFICIENTS, group=("d",))
"""``hyper`` of the three kinds. A state is the coefficients, then what the kind keeps of the scales."""

_horseshoe_at, _each_at, _grouped_at = _HORSESHOE.reader(), _EACH.reader(), _GROUPED.reader()


@helper(inline=True)
def _away_squared(here, own, j):
    return (here[j] - own.mean[j]) ** 2


@helper(inline=True)
def _inverse_gamma(rng, shape, scale):
    """Density ``x^(-shape - 1) e^(-scale / x)``."""
    return scale / max(rng.standard_gamma(shape), 1e-300)


_SWEEPS = 3  # over local and global scales given the coefficients: cheap beside a Cholesky factor, and they mix slowly

_LEAST, _MOST = 1e-200, 1e200  # of a variance: beyond, its products overflow


@helper(inline=True)
def _within(variance):
    return min(max(variance, _LEAST), _MOST)


@helper
def draw_horseshoe(rng, here, hyper):
    """Draw ``v_j = l_j t``, where the square roots of ``l_j`` and ``t`` are half-Cauchy.

    The draws use inverse gamma mixtures (Makalic and Schmidt 2016).
    """
    own = _horseshoe_at(hyper, 0)
    d, mixed, width = own.d, own.mixed, own.width
    for _ in range(_SWEEPS):
        total, count = 0.0, 0
        for j in range(d):
            if mixed[j] > 0.0:
                square = _away_squared(here, own, j)
                wide = _inverse_gamma(rng, 1.0, 1.0 + 1.0 / here[d + j])
                here[d + j] = _within(_inverse_gamma(rng, 1.0, 1.0 / wide + 0.5 * square / here[2 * d]))
                total += 0.5 * square / here[d + j]
                count += 1
        wide = _inverse_gamma(rng, 1.0, 1.0 / width**2 + 1.0 / here[2 * d])
        here[2 * d] = _within(_inverse_gamma(rng, 0.5 * (count + 1.0), 1.0 / wide + total))


@part(Step)
def _horseshoe(rng, place, model, stream, own, work, statistics):
    draw_horseshoe(rng, place.here, own.hyper)
    return NO_FAULT


@helper
def inverse_gaussian(rng, mean, shape):
    """Draw from an inverse Gaussian law, by the method of Michael, Schucany and Haas (1976)."""
    z = rng.standard_normal() ** 2
    x = mean + 0.5 * mean / shape * (mean * z - math.sqrt(4.0 * mean * shape * z + (mean * z) ** 2))
    x = max(x, 1e-300)
    return x if rng.random() * (mean + x) <= mean else mean * mean / x


@helper
def draw_each(rng, here, hyper):
    """Draw the variance of each coefficient. With it, the law of the coefficient is Student-t or Laplace.

    For Student-t, the variance is inverse gamma ``(df / 2, df scale^2 / 2)``. For Laplace, the variance is exponential
    with mean ``2 scale^2``, and given the coefficient, 1 divided by the variance is inverse Gaussian.
    """
    own = _each_at(hyper, 0)
    d, mixed = own.d, own.mixed
    for j in range(d):
        if mixed[j] > 0.0:
            kind, scale, df = own.kind[j], own.scale[j], own.df[j]
            square = _away_squared(here, own, j)
            if kind == LAPLACE:
                mean = 1.0 / (scale * max(math.sqrt(square), 1e-150))
                here[d + j] = _within(1.0 / inverse_gaussian(rng, min(mean, 1e150), 1.0 / scale**2))
            else:
                shape = 0.5 * (df + 1.0)
                here[d + j] = _within(_inverse_gamma(rng, shape, 0.5 * (df * scale * scale + square)))


@part(Step)
def _each(rng, place, model, stream, own, work, statistics):
    draw_each(rng, place.here, own.hyper)
    return NO_FAULT


@helper
def draw_by_group(rng, here, hyper):
    """Draw the variance ``v_g`` of each group. Its square root has a half-Student-t prior."""
    own = _grouped_at(hyper, 0)
    d, mixed, group, df, width = own.d, own.mixed, own.group, own.df, own.width
    for g in range(own.groups):
        total, count = 0.0, 0
        for j in range(d):
            if mixed[j] > 0.0 and int(group[j]) == g:
                total += 0.5 * _away_squared(here, own, j)
                count += 1
        wide = _inverse_gamma(rng, 0.5 * (df[g] + 1.0), df[g] / here[d + g] + 1.0 / width[g] ** 2)
        here[d + g] = _within(_inverse_gamma(rng, 0.5 * (df[g] + count), df[g] / wide + total))


@part(Step)
def _grouped(rng, place, model, stream, own, work, statistics):
    draw_by_group(rng, place.here, own.hyper)
    return NO_FAULT


HORSESHOE, EACH, GROUPED, BY_SHARES = range(4)
"""How variances follow from the scales of a state: a product, one for each coefficient, one for each group; precisions
that are sums over scales."""

_LAYOUTS = {HORSESHOE: _HORSESHOE, EACH: _EACH, GROUPED: _GROUPED, BY_SHARES: SUMMED}

_OTHERS = {"fixed_variance": np.inf, "kind": float(FLAT), "scale": 1.0, "df": 1.0}
"""Numbers of parameters that have no law here; others are zero."""


class Mixture(NamedTuple):
    """A prior with unknown scales in the form for compiled code: the kernel that draws the scales, and its numbers.

    ``start`` contains the variances with which a chain begins. ``variables`` names the scales that results contain,
    with labels if there are several. The stored numbers are variances; users see their square roots.
    """

    draw_scales: Part
    hyper: np.ndarray
    arrangement: int
    groups: np.ndarray
    start: np.ndarray
    variables: tuple[tuple[str, tuple[str, ...] | None], ...]

    @property
    def numbers(self) -> Any:
        """Return the numbers that the kernel reads, by name."""
        return _LAYOUTS[self.arrangement].views(self.hyper)

    @property
    def mixed(self) -> np.ndarray:
        return self.numbers.mixed > 0

    @property
    def fixed_variance(self) -> np.ndarray:
        return self.numbers.fixed_variance

    @property
    def mean(self) -> np.ndarray:
        return self.numbers.mean

    @property
    def records(self) -> np.ndarray:
        """Return the laws of coefficients that have their own variance, with this variance integrated out.

        The array is empty for other arrangements.
        """
        if self.arrangement != EACH:
            return np.empty(0)
        own = self.numbers
        zero = np.zeros(own.d)
        return records(Laws(own.kind, own.mean, own.scale, own.df), self.mixed, zero, zero, zero).ravel()

    @property
    def few(self) -> bool:
        """Return True if each scale belongs to several coefficients. Then all scales can be proposed together."""
        return self.arrangement in (GROUPED, BY_SHARES)

    @property
    def shares(self) -> np.ndarray:
        """Return an array (coefficients, scales): a coefficient has the precision ``sum share / v`` over the scales.

        It exists if `few` is True.
        """
        assert self.few
        if self.arrangement == BY_SHARES:
            return np.array(self.numbers.share)
        return (self.groups[:, None] == np.arange(len(self.start))) * self.mixed[:, None].astype(float)

    def variances_at(self, v: np.ndarray) -> np.ndarray:
        """Return the variances of all coefficients for given variances ``v`` (..., scales).

        It exists if `few` is True. The variance of a coefficient without an unknown scale has no meaning.
        """
        if self.arrangement == GROUPED:
            return np.asarray(v)[..., self.groups]
        precision = (1.0 / np.asarray(v)) @ self.shares.T
        return np.divide(1.0, precision, out=np.ones_like(precision), where=precision > 0)

    @property
    def by_shares(self) -> np.ndarray:
        """Return the numbers ``hyper`` of this prior for the arrangement `BY_SHARES`. It exists if `few` is True."""
        if self.arrangement == BY_SHARES:
            return self.hyper
        own = {name: value for name, value in vars(self.numbers).items() if name in SUMMED.fields}
        return fixed(SUMMED.pack(**own, share=self.shares))

    def starting_at(self, variances: np.ndarray) -> Mixture:
        """Return the same prior with other variances to begin with.

        The scales must belong to groups of coefficients.
        """
        return self._replace(start=np.asarray(variances, dtype=np.float64))

    def among(self, at: np.ndarray, dim: int) -> Mixture:
        """Return the same prior for a longer vector of ``dim`` parameters. Its coefficients are the parameters ``at``.

        The priors of the other parameters are elsewhere.
        """

        def spread(values: Any, empty: Any) -> np.ndarray:
            wide = np.full((dim, *np.shape(values)[1:]), empty, dtype=np.asarray(values).dtype)
            wide[at] = values
            return wide

        groups, start = spread(self.groups, 0), self.start
        if self.arrangement == EACH:
            groups, start = np.arange(dim), spread(self.start, 1.0)
        elif self.arrangement == HORSESHOE:
            start = np.append(spread(self.start[:-1], 1.0), self.start[-1])
        layout, own = _LAYOUTS[self.arrangement], vars(self.numbers)
        wide = {
            name: spread(own[name], _OTHERS.get(name, 0.0)) if kind[:1] == ("d",) else own[name]
            for name, kind in layout.fields.items()
        }
        hyper = layout.pack(**{**wide, "d": dim})
        variables = tuple(
            (name, tuple(spread(np.array(labels, object), "")) if labels and self.arrangement == HORSESHOE else labels)
            for name, labels in self.variables
        )
        return Mixture(self.draw_scales, fixed(hyper), self.arrangement, groups, start, variables)


@dataclass(frozen=True, eq=False)
class ReadyMixture(ReadyIndependent):
    """A prior with unknown scales that is bound to a target.

    For the search of a centre it is a normal prior, whose standard deviations are the scales with which a chain begins.
    """

    scales: Mixture

    @property
    def mixture(self) -> Mixture:
        return self.scales

    def without_scaled(self) -> ReadyIndependent:
        """Return the laws of the coefficients that have no unknown scale. The other coefficients have flat laws."""
        return ready(self.laws._replace(kind=np.where(self.scales.mixed, FLAT, self.laws.kind)))

    def as_wide_as(self, variances: np.ndarray) -> ReadyMixture:
        """Return the same prior with other variances of the groups, for its expansion and for the start of a chain."""
        mixed = self.scales.mixed
        width = np.where(mixed, np.sqrt(self.scales.variances_at(variances)), self.laws.scale)
        plain = ready(self.laws._replace(scale=width))
        mixture = self.scales.starting_at(variances)
        return ReadyMixture(plain.log_prior, plain.hyper, plain.mean, plain.precision, plain.flat, plain.laws, mixture)


@dataclass(frozen=True)
class MixturePrior(Prior):
    """Base class of priors under which coefficients are normal given unknown scales.

    ``columns`` are the names of the columns, when they are known.
    """

    columns: tuple[str, ...] = field(default=(), repr=False, compare=False, kw_only=True)

    @abstractmethod
    def kernel(self, dim: int, names: Sequence[str]) -> tuple[Part, dict, int, np.ndarray, np.ndarray, tuple]:
        """Return the compiled function that draws new scales for ``dim`` coefficients, and the numbers that it needs.

        The result is a tuple of six entries: the function; a dict of its fixed numbers; a number that says how these
        numbers are arranged in memory; the group of each coefficient; the initial values of the squared scales; the
        names of the scales in results. ``names`` are the names of the columns.
        """

    def in_order(self, names: Sequence[str]) -> Prior:
        return replace(self, columns=tuple(names))

    def bind(self, dim: int) -> ReadyPrior:
        names = self.columns or [str(j) for j in range(dim)]
        return self.bind_beside(Laws(*(np.zeros(dim) for _ in range(4))), np.ones(dim, bool), names)

    def bind_beside(self, others: Laws, mixed: np.ndarray, names: Sequence[str]) -> ReadyPrior:
        """Return the prior in the form that compiled code reads, for some of the coefficients of a target.

        ``mixed`` is a mask: True for the coefficients with this prior. The other coefficients have the flat or normal
        priors ``others``. ``names`` are the names of all coefficients.
        """
        d = len(mixed)
        draw_scales, numbers, arrangement, groups, start, variables = self.kernel(d, names)
        variance = np.where(others.kind == FLAT, np.inf, others.scale**2)
        mean = np.where(mixed, self.centre(d), others.mean)
        coefficients = {"mixed": mixed, "fixed_variance": np.where(mixed, 1.0, variance), "mean": mean}
        hyper = fixed(_LAYOUTS[arrangement].pack(**coefficients, **numbers))
        wide = Laws(
            np.where(mixed, NORMAL, others.kind),
            mean,
            np.where(mixed, self.width(d), np.where(others.scale > 0, others.scale, 1.0)),
            np.ones(d),
        )
        plain = ready(wide)
        mixture = Mixture(draw_scales, hyper, arrangement, groups, start, variables)
        return ReadyMixture(plain.log_prior, plain.hyper, plain.mean, plain.precision, plain.flat, plain.laws, mixture)

    def centre(self, dim: int) -> np.ndarray:
        """Return the prior means of ``dim`` coefficients, an array (dim,) of zeros."""
        return np.zeros(dim)

    @abstractmethod
    def width(self, dim: int) -> np.ndarray:
        """Return a rough prior standard deviation of each coefficient, an array (dim,), for the search for a mode."""


_WIDE = 10.0  # times the scale, so that the search for a centre is led by the data


@dataclass(frozen=True)
class Horseshoe(MixturePrior):
    """The horseshoe prior ``beta_j ~ N(0, (local_j global)^2)`` with unknown scales.

    ``beta_j`` is the coefficient of column ``j``. The prior of ``local_j`` is half-Cauchy(1), and the prior of
    ``global`` is half-Cauchy(``scale``). The prior shrinks most coefficients to zero, but not the few large ones
    (Carvalho, Polson and Scott 2010). With a smaller ``scale``, fewer coefficients are large.

    If a coefficient should not shrink, give it another prior: ``ByName({"intercept": Flat()}, others=Horseshoe(0.1))``.
    Successive draws of the scales are strongly correlated: use ``thin=10`` in `sample` if you need the scales.

    Parameters
    ----------
    scale : float
        The scale of the half-Cauchy prior of ``global``.
    columns : tuple of str, optional
        The names of the columns. tunamh sets them when it makes a regression.
    """

    scale: float = 1.0

    def __post_init__(self) -> None:
        settle(self, scale=moderate_number("scale of the prior", self.scale, 1e-20, 1e20))

    def kernel(self, dim: int, names: Sequence[str]) -> tuple:
        start = np.append(np.ones(dim), self.scale**2)
        variables = (("local_scale", tuple(names)), ("global_scale", None))
        return _horseshoe, {"width": self.scale}, HORSESHOE, np.zeros(dim, int), start, variables

    def width(self, dim: int) -> np.ndarray:
        return np.full(dim, _WIDE * max(self.scale, 1.0))


_HALF_STUDENT = HalfStudentT(3.0, 2.5)


def by_groups(
    group: np.ndarray,
    labels: tuple[str, ...],
    scales: Sequence[PositivePrior],
    name: str,
    *,
    always_labelled: bool = False,
) -> tuple:
    """Return what `MixturePrior.kernel` returns, for coefficients with one unknown scale for each group."""
    laws = [one.law() for one in scales]
    df, width = (np.array([float(law._asdict()[number][0]) for law in laws]) for number in ("df", "scale"))
    variables = ((name, labels if always_labelled or len(labels) > 1 else None),)
    return _grouped, {"df": df, "width": width, "group": group}, GROUPED, group, width**2, variables


def by_shares(share: np.ndarray, labels: tuple[str, ...], scales: Sequence[PositivePrior], name: str) -> tuple:
    """Return what `MixturePrior.kernel` returns, for coefficients whose precisions are sums over scales."""
    group = np.argmax(share > 0, axis=1)
    _, numbers, _, _, start, variables = by_groups(group, labels, scales, name, always_labelled=True)
    numbers = {"df": numbers["df"], "width": numbers["width"], "share": share}
    return draw_scales_by_shares, numbers, BY_SHARES, group, start, variables


def grouped_scales(
    coefficients: dict[str, Any], df: np.ndarray, width: np.ndarray, share: np.ndarray
) -> tuple[Part, np.ndarray, int, np.ndarray]:
    """Return the function that draws scales of groups of coefficients, its numbers, arrangement and groups."""
    group = np.argmax(share, axis=1)
    return _grouped, _GROUPED.pack(df=df, width=width, group=group, **coefficients), GROUPED, group


def summed_scales(
    coefficients: dict[str, Any], df: np.ndarray, width: np.ndarray, share: np.ndarray
) -> tuple[Part, np.ndarray, int, np.ndarray]:
    """Return the same as `grouped_scales` for coefficients whose precisions are sums over scales."""
    numbers = SUMMED.pack(df=df, width=width, share=share, **coefficients)
    return draw_scales_by_shares, numbers, BY_SHARES, np.argmax(share > 0, axis=1)


def refuse_other_scales(name: str, scale: Any) -> None:
    """Raise `TypeError` if the prior of a scale is neither `HalfStudentT` nor `HalfCauchy`.

    Only for these two priors, scales can be drawn in closed form given the coefficients.
    """
    if not isinstance(scale, HalfStudentT | HalfCauchy):
        raise TypeError(f"{name} must be HalfStudentT or HalfCauchy, got {shown(scale)}.")


@dataclass(frozen=True)
class Grouped(MixturePrior):
    """Normal priors with one unknown scale for each group of coefficients: ``beta_j ~ N(0, scale_g^2)``.

    ``beta_j`` is the coefficient of column ``j``, and ``scale_g`` is the scale of its group.

    Parameters
    ----------
    groups : optional
        The group of every coefficient (text or numbers), in the order of the columns, such as ``["a", "a", "b"]``.
        Default: one group with all coefficients.
    scale : HalfStudentT or HalfCauchy
        The prior of the scales. Default: half-Student-t with 3 degrees of freedom and scale 2.5.
    columns : tuple of str, optional
        The names of the columns. tunamh sets them when it makes a regression.
    """

    groups: Any = None
    scale: PositivePrior = _HALF_STUDENT

    def __post_init__(self) -> None:
        refuse_other_scales("scale of Grouped", self.scale)
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
        return by_groups(of_each, labels, (self.scale,) * len(labels), "prior_scale")

    def width(self, dim: int) -> np.ndarray:
        return np.full(dim, _WIDE * float(self.scale.law().scale[0]))


@dataclass(frozen=True)
class Ridge(MixturePrior):
    """Normal priors with one unknown scale, ``beta_j ~ N(0, scale^2)``: ridge regression with an estimated penalty.

    ``beta_j`` is the coefficient of column ``j``. All coefficients have the same scale, so the columns should have
    about the same standard deviation: use ``standardize(x)`` in a formula. The intercept of a formula keeps its own
    prior. If a coefficient should not shrink, give it another prior: ``ByName({"intercept": Flat()}, others=Ridge())``.

    Parameters
    ----------
    scale : HalfStudentT or HalfCauchy
        The prior of the scale. Default: half-Student-t with 3 degrees of freedom and scale 2.5.
    columns : tuple of str, optional
        The names of the columns. tunamh sets them when it makes a regression.

    Examples
    --------
    >>> tunamh.regression("y ~ standardize(a) + standardize(b)", table, prior=Ridge())
    """

    scale: PositivePrior = _HALF_STUDENT

    def __post_init__(self) -> None:
        refuse_other_scales("scale of Ridge", self.scale)

    def kernel(self, dim: int, names: Sequence[str]) -> tuple:
        return by_groups(np.zeros(dim, int), ("all",), (self.scale,), "prior_scale")

    def width(self, dim: int) -> np.ndarray:
        return np.full(dim, _WIDE * float(self.scale.law().scale[0]))


def mixture_of_laws(laws: Laws) -> ReadyPrior:
    """Return Student-t and Laplace laws as normal laws with unknown variances; other laws do not change.

    tunamh uses this form when these priors dominate the posterior.
    """
    d = len(laws.kind)
    mixed = laws.kind > NORMAL
    variance = np.where(mixed, 1.0, np.where(laws.kind == FLAT, np.inf, laws.scale**2))
    hyper = fixed(_EACH.pack(mixed=mixed, fixed_variance=variance, **laws._asdict()))
    wide = Laws(np.where(mixed, NORMAL, laws.kind), laws.mean, np.where(mixed, _WIDE, 1.0) * laws.scale, laws.df)
    plain = ready(wide)
    mixture = Mixture(_each, hyper, EACH, np.arange(d), laws.scale**2, ())
    return ReadyMixture(plain.log_prior, plain.hyper, plain.mean, plain.precision, plain.flat, plain.laws, mixture)
