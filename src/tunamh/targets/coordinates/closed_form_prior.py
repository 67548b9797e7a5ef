"""A closed form and priors together, as the potential that the rest of the library knows (spec 5l)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache
from typing import Any

import numpy as np

from ...compiled import LogPrior, Part, fixed, helper, part
from ...compiled.layouts import WHOLE, Layout
from ...priors.differences import by_differences
from ...priors.laws import RECORD, Laws, ReadyIndependent, laws_at, ready, records
from ...priors.mixtures import Mixture, ReadyMixture
from ...priors.potential import PriorExpansion, ReadyPrior
from .base import Form, fill_df, fill_same, fill_scale, fill_scale_and_df
from .shared import (
    fill_cutpoints,
    fill_dispersion,
    fill_dispersion_of_large,
    fill_log,
    fill_probability,
    fill_probability_and_dispersion,
    fill_probability_and_dispersion_of_large,
    fill_shape,
)
from .steps import fill_walk

_CLOSED = Layout(
    "ClosedForm",
    n_quadratic=WHOLE,
    n_form=WHOLE,
    n_laws=WHOLE,
    n_coefficients=WHOLE,
    n_own=WHOLE,
    which=("n_quadratic",),  # coordinates of a quadratic: what was accounted for elsewhere
    centre=("n_quadratic",),
    gradient=("n_quadratic",),
    hessian=("n_quadratic", "n_quadratic"),
    form=("n_form",),
    laws=("n_laws", RECORD),  # of the parameters as a user knows them
    own=("n_own",),  # numbers of the coefficients' own prior, where that is no set of independent laws
)
_closed_at = _CLOSED.reader()


@helper
def _quadratic(theta, closed):
    """``g.u + u'Hu / 2`` in a few coordinates."""
    q, total = closed.n_quadratic, 0.0
    which, centre, gradient, hessian = closed.which, closed.centre, closed.gradient, closed.hessian
    for a in range(q):
        slope = gradient[a]
        for b in range(q):
            slope += 0.5 * hessian[a, b] * (theta[int(which[b])] - centre[b])
        total += slope * (theta[int(which[a])] - centre[a])
    return total


@helper
def _with_laws(theta, natural, value, hyper):
    """A form's value, the laws of the natural parameters, and the quadratic."""
    if not value > -np.inf:
        return value
    closed = _closed_at(hyper, 0)
    return value + laws_at(natural, closed.laws) + _quadratic(theta, closed)


@helper(inline=True)
def _numbers(hyper):
    """Those of the form."""
    return _closed_at(hyper, 0).form


@part(LogPrior)
def _same(theta, hyper):
    natural = np.empty(theta.size)
    return _with_laws(theta, natural, fill_same(theta, natural, _numbers(hyper)), hyper)


@part(LogPrior)
def _scale(theta, hyper):
    natural = np.empty(theta.size)
    return _with_laws(theta, natural, fill_scale(theta, natural, _numbers(hyper)), hyper)


@part(LogPrior)
def _df(theta, hyper):
    natural = np.empty(theta.size)
    return _with_laws(theta, natural, fill_df(theta, natural, _numbers(hyper)), hyper)


@part(LogPrior)
def _scale_and_df(theta, hyper):
    natural = np.empty(theta.size)
    return _with_laws(theta, natural, fill_scale_and_df(theta, natural, _numbers(hyper)), hyper)


@part(LogPrior)
def _log(theta, hyper):
    natural = np.empty(theta.size)
    return _with_laws(theta, natural, fill_log(theta, natural, _numbers(hyper)), hyper)


@part(LogPrior)
def _dispersion(theta, hyper):
    natural = np.empty(theta.size)
    return _with_laws(theta, natural, fill_dispersion(theta, natural, _numbers(hyper)), hyper)


@part(LogPrior)
def _large_dispersion(theta, hyper):
    natural = np.empty(theta.size)
    return _with_laws(theta, natural, fill_dispersion_of_large(theta, natural, _numbers(hyper)), hyper)


@part(LogPrior)
def _shape(theta, hyper):
    natural = np.empty(theta.size)
    return _with_laws(theta, natural, fill_shape(theta, natural, _numbers(hyper)), hyper)


@part(LogPrior)
def _probability(theta, hyper):
    natural = np.empty(theta.size)
    return _with_laws(theta, natural, fill_probability(theta, natural, _numbers(hyper)), hyper)


@part(LogPrior)
def _probability_and_dispersion(theta, hyper):
    natural = np.empty(theta.size)
    return _with_laws(theta, natural, fill_probability_and_dispersion(theta, natural, _numbers(hyper)), hyper)


@part(LogPrior)
def _probability_and_large_dispersion(theta, hyper):
    natural = np.empty(theta.size)
    value = fill_probability_and_dispersion_of_large(theta, natural, _numbers(hyper))
    return _with_laws(theta, natural, value, hyper)


@part(LogPrior)
def _cutpoints(theta, hyper):
    natural = np.empty(theta.size)
    return _with_laws(theta, natural, fill_cutpoints(theta, natural, _numbers(hyper)), hyper)


@part(LogPrior)
def _walk(theta, hyper):
    natural = np.empty(theta.size)
    return _with_laws(theta, natural, fill_walk(theta, natural, _numbers(hyper)), hyper)


# One part for each built-in form, spelled out: a part with a name can be compiled ahead, in another process. The
# part of any other form is made by `_of_form`, so that a family can bring coordinates of its own.
_PARTS = {
    fill_same: _same,
    fill_scale: _scale,
    fill_df: _df,
    fill_scale_and_df: _scale_and_df,
    fill_log: _log,
    fill_dispersion: _dispersion,
    fill_dispersion_of_large: _large_dispersion,
    fill_shape: _shape,
    fill_probability: _probability,
    fill_probability_and_dispersion: _probability_and_dispersion,
    fill_probability_and_dispersion_of_large: _probability_and_large_dispersion,
    fill_cutpoints: _cutpoints,
    fill_walk: _walk,
}


@cache
def _of_form(fill: Any) -> Part:
    """The part of a form, with independent laws."""

    @part(LogPrior)
    def log_density(theta, hyper):
        natural = np.empty(theta.size)
        return _with_laws(theta, natural, fill(theta, natural, _numbers(hyper)), hyper)

    return log_density


@cache
def _with_prior(fill: Any, prior: Part) -> Part:
    """With a prior of the coefficients that is a part of its own, the user's or a correlated one."""
    prior.__wrapper_address__()
    log_prior = prior.dispatcher

    @part(LogPrior, cache=False)
    def log_density(theta, hyper):
        natural = np.empty(theta.size)
        value = fill(theta, natural, _numbers(hyper))
        if not value > -np.inf:
            return value
        closed = _closed_at(hyper, 0)
        own = log_prior(natural[: closed.n_coefficients], closed.own)
        return value + own + laws_at(natural, closed.laws) + _quadratic(theta, closed)

    return log_density


# --------------------------------------------------------------------------------------------------- the potential

_MILD = 0.05  # of `ReadyPrior.tails`: a form is smooth, and narrow where there are many rows


@dataclass(frozen=True, eq=False)
class ReadyClosed(ReadyPrior):
    """Minus the logarithm of the closed part and of the priors, in the coordinates of a chain."""

    form: Form
    coefficients: ReadyPrior
    extras: Laws

    @property
    def own(self) -> bool:  # type: ignore[override]
        return self.coefficients.own

    @property
    def heavy(self) -> np.ndarray:
        heavy = np.zeros_like(self.flat)
        heavy[self.form.coefficients_at] = self.coefficients.heavy
        return heavy

    @property
    def gaussian(self) -> bool:
        return False

    @property
    def tails(self) -> float:
        return max(self.coefficients.tails, _MILD)

    @property
    def mixture(self) -> Mixture | None:
        """Return the prior of the coefficients in the chain's coordinates, if it has unknown scales; otherwise None."""
        if not isinstance(self.coefficients, ReadyMixture):
            return None
        return self.coefficients.mixture.among(self.form.coefficients_at, self.form.dim)

    def without_coefficients(self) -> ReadyClosed:
        """Return the closed form with the priors of the extra parameters, without the prior of the coefficients."""
        none, flat = ready(_no_laws(self.form.coefficients)), self.flat.copy()
        flat[self.form.coefficients_at] = True
        return replace(self, coefficients=none, hyper=_packed(self.form, none, self.extras), flat=flat)

    def without_scaled(self) -> ReadyClosed:
        """Return the object without the priors of coefficients that have unknown scales."""
        assert isinstance(self.coefficients, ReadyMixture)
        rest, flat = self.coefficients.without_scaled(), self.flat.copy()
        flat[self.form.coefficients_at] = rest.flat
        return replace(self, coefficients=rest, hyper=_packed(self.form, rest, self.extras), flat=flat)

    @property
    def _involved(self) -> np.ndarray:
        """The coordinates that the potential depends on."""
        alone = self.coefficients.flat.all() and not self.form.lean.any()
        return self.form.extra_at if alone else np.arange(self.form.dim)

    def expansion(self, theta: np.ndarray, width: np.ndarray) -> PriorExpansion:
        """Return an expansion by differences. The steps are about as long as the posterior is wide.

        Over such a step a term of the size of the data bends by 5 at most. The rounding error is that of one energy of
        the data, and the error from the fourth derivative is of size 1 / N with N rows.
        """
        exact = self.form.expansion(theta)
        if exact is not None:
            return self._with_laws_of_parts(exact, theta, width)
        which, whole = self._involved, replace(self, hyper=_packed(self.form, self.coefficients, self.extras)).hyper

        def energy(some: np.ndarray) -> float:
            point = theta.copy()
            point[which] = some
            return -float(self.log_prior(point, whole))

        found = by_differences(energy, theta[which], width[which])
        gradient, hessian = np.zeros(len(theta)), np.zeros((len(theta), len(theta)))
        gradient[which], hessian[np.ix_(which, which)] = found.gradient, found.hessian
        return PriorExpansion(found.energy, gradient, hessian)

    def _with_laws_of_parts(self, form: PriorExpansion, theta: np.ndarray, width: np.ndarray) -> PriorExpansion:
        """A form's expansion and those of the priors."""
        at, linear = self.form.coefficients_at, self.form.laws_of
        own = self.coefficients.expansion(theta[at], width[at])
        extras = ready(self.extras).expansion(linear @ theta, width[self.form.extra_at])
        gradient = form.gradient + linear.T @ extras.gradient
        hessian = form.hessian + linear.T @ extras.hessian @ linear
        gradient[at] += own.gradient
        hessian[np.ix_(at, at)] += own.hessian
        return PriorExpansion(form.energy + own.energy + extras.energy, gradient, hessian)

    def thirds(self, theta: np.ndarray, width: np.ndarray, factor: np.ndarray) -> np.ndarray:
        """Return the third derivatives in the extra parameters, by differences of the Hessian.

        Terms that are as large as the data depend on these parameters.
        """
        if self.form.expansion(theta) is not None:
            return self.form.thirds(theta, factor)
        which, whole = self.form.extra_at, _packed(self.form, self.coefficients, self.extras)

        def hessian(shift: np.ndarray) -> np.ndarray:
            def energy(some: np.ndarray) -> float:
                point = theta.copy()
                point[which] = some
                return -float(self.log_prior(point, whole))

            return by_differences(energy, theta[which] + shift, width[which]).hessian

        covariance, total = factor[which] @ factor[which].T, np.zeros(len(theta))
        step = np.sqrt(np.diag(covariance))
        for a, e in enumerate(np.eye(len(which))):
            change = (hessian(step * e) - hessian(-step * e)) / (2 * step[a])
            if np.isfinite(change).all():
                total += float(np.sum(covariance * change)) * factor[which[a]]
        return total

    def without(self, at: np.ndarray, expansion: PriorExpansion) -> ReadyPrior:
        which = self._involved
        quadratic = which, at[which], expansion.gradient[which], expansion.hessian[np.ix_(which, which)]
        return replace(self, hyper=_packed(self.form, self.coefficients, self.extras, quadratic))


_NO_QUADRATIC = (np.empty(0), np.empty(0), np.empty(0), np.empty((0, 0)))


def _packed(form: Form, coefficients: ReadyPrior, extras: Laws, quadratic: tuple = _NO_QUADRATIC) -> np.ndarray:
    """``hyper`` of the compiled side."""
    independent = isinstance(coefficients, ReadyIndependent)
    before = coefficients.laws if independent else _no_laws(form.coefficients)  # type: ignore[attr-defined]
    laws = Laws(*(np.concatenate(pair) for pair in zip(before, extras, strict=True)))
    zero = np.zeros(len(laws.kind))
    which, centre, gradient, hessian = quadratic
    closed = _CLOSED.pack(
        n_coefficients=form.coefficients,
        which=which,
        centre=centre,
        gradient=gradient,
        hessian=hessian,
        form=form.numbers,
        laws=records(laws, laws.kind > 0, zero, zero, zero).reshape(-1, RECORD),
        own=[] if independent else coefficients.hyper,
    )
    return fixed(closed)


def _no_laws(dim: int) -> Laws:
    return Laws(np.zeros(dim), np.zeros(dim), np.ones(dim), np.ones(dim))


def closed_form(form: Form, coefficients: ReadyPrior, extras: list[Laws], start: np.ndarray) -> ReadyPrior:
    """Return the potential of a form with priors. ``start``, in the user's parameters, is where a search begins."""
    laws = Laws(*(np.concatenate(numbers) for numbers in zip(*extras, strict=True)))
    mixed = isinstance(coefficients, ReadyMixture)
    if form.fill is fill_same and isinstance(coefficients, ReadyIndependent) and not mixed:  # nothing but laws
        return ready(Laws(*(np.concatenate(pair) for pair in zip(coefficients.laws, laws, strict=True))))
    flat = np.zeros(form.dim, bool)
    flat[form.coefficients_at] = coefficients.flat
    flat[form.extra_at] = (laws.kind == 0) & ~form.bound
    cheap = isinstance(coefficients, ReadyIndependent)
    if cheap:
        log_prior = _PARTS.get(form.fill) or _of_form(form.fill)
    else:
        log_prior = _with_prior(form.fill, coefficients.log_prior)
    zero = np.zeros(form.dim)
    hyper = _packed(form, coefficients, laws)
    return ReadyClosed(log_prior, hyper, form.to_chain(start), zero, flat, form, coefficients, laws)
