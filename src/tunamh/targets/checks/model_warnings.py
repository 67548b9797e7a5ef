"""What a person should be told of a regression before it is sampled: units, and priors whose tails may be missed."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import nullcontext
from typing import TYPE_CHECKING, Any

import numpy as np

from ..._linear import SMALLEST_CURVATURE, scaled_eigen
from ..search.newton import Mode, find_modes
from ..search.spread_starts import of_curves, scales, wide_mode

if TYPE_CHECKING:
    from ..expansion.taylor import TaylorTarget
    from ..glm import GLM
    from ..observations.base import Observations

_OTHER_SCALE = 2.0  # typical residuals this many times longer or shorter than the scale are another scale's
_NARROW = 10.0  # times narrower than the likelihood: a prior whose tails, if it has any, are far from its peak
_FAR, _LEAST_RISE = 100.0, 2.0  # standard deviations; an energy that is higher by less there does not rise
_FAR_FROM_PRIOR = 4.0  # standard deviations
_DIRECTIONS = 10  # along which the energy is curved least
_FEW_ROWS = 2000


def model_warnings(target: GLM) -> Iterator[str]:
    """Yield warnings about a regression as whole sentences; yield nothing if there is nothing to warn about."""
    yield from _of_units(target)
    yield from _of_far_priors(target)
    yield from target.user_family.warnings(target.user_rows)
    if len(target.modes) == 1:
        yield from _of_flat_likelihood(target)
        yield from _of_narrow_prior(target)
        yield from _of_heavy_prior(target)


def _of_units(target: GLM) -> Iterator[str]:
    """A known scale that is far from the residuals makes another model of the data than its owner means."""
    scale = target.user_family.known_scale
    if scale is None or target.repeated:  # rows that differ are no sample of all
        return
    step, family = max(1, target.n_rows // 10_000), target.user_family
    rows = target.user_rows.take(np.arange(0, target.n_rows, step)).rows()
    coefficients = target.to_user(target.modes[0].point)[: len(target.row_layout.names)]
    y = family.response(rows)
    residuals = y - rows.X.matvec(coefficients)
    if rows.censored is not None:
        y, residuals = y[rows.censored == 0], residuals[rows.censored == 0]
    if len(y) <= 2 * target.dim or not np.isfinite(residuals).all():
        return
    typical = float(np.median(np.abs(residuals))) / family.median_size
    if family.squared and rows.censored is None:
        typical = float(np.sqrt(np.mean(residuals**2) * len(y) / (len(y) - target.dim)))
    ratio = typical / scale
    if ratio > _OTHER_SCALE or (0 < ratio < 1 / _OTHER_SCALE):
        off = f"{ratio:.3g} times" if ratio > 1 else f"1/{1 / ratio:.3g} of"
        yield (
            f"a typical residual is {typical:.3g}, {off} the known scale of {family!r}: posterior "
            f"standard deviations will be too {'small' if ratio > 1 else 'large'}. Set scale={typical:.2g} or so, or "
            "give it a prior, so that it is unknown."
        )


def _of_far_priors(target: GLM) -> Iterator[str]:
    """Of a model that is not linear: what rows alone say is far out in the tail of a prior, whose unit nobody knew.

    The mode itself may be anywhere: where a prior wins, the errors are large, and the rows say little. So some rows are
    asked under priors that are a million times as wide.
    """
    if not target.user_family.named_predictors or not target.modes[0].found:
        return
    begin, off = np.asarray(target.row_layout.start), scales(target)
    with np.errstate(all="ignore"):
        alone = wide_mode(target.sample_of(_FEW_ROWS, seed=6), target.modes[0].point)
    z = np.zeros(target.dim) if alone is None else np.where(of_curves(target), 0.0, (alone - begin) / off)
    for at in np.flatnonzero(np.abs(z) > _FAR_FROM_PRIOR)[:1]:
        name = target.names[at]
        predictor = next(e.name for e, last in _ends(target) if at < last)
        called = predictor if name == "Intercept" else f"{predictor} {name}"
        yield (
            f"without its prior, {called} would be near {begin[at] + z[at] * off[at]:.3g}, {abs(z[at]):.3g} standard "
            f"deviations from the centre of its prior, so the prior has a strong effect. A default prior does not "
            f"know the unit of a predictor: "
            f"set prior={{{called!r}: tunamh.Normal(mean=..., scale=...)}} in the units of your data."
        )


def _ends(target: GLM) -> list[tuple[Any, int]]:
    """The parameters beside the coefficients, and where each ends."""
    extras = target.row_layout.extras
    return list(zip(extras, len(target.row_layout.names) + np.cumsum([one.size for one in extras]), strict=True))


def _of_narrow_prior(target: GLM) -> Iterator[str]:
    """A peak of the prior far narrower than the likelihood: its tails are rarely visited, and may be missed."""
    mode = target.modes[0]
    if target._prior.gaussian or not mode.found or target.row_layout.form is not None:
        return
    data, both = np.diag(mode.expansion.plain_hessian), np.diag(mode.posterior.plain_hessian)
    narrow = [target.chain_names[j] for j in np.flatnonzero((data > 0) & (both > _NARROW**2 * data))]
    if narrow:
        yield (
            f"the prior is more than {_NARROW:g} times narrower than the likelihood for {listed(narrow)}: if it "
            "has heavy tails, the chains rarely reach them, and the draws may miss them. Compare with "
            "sample(target, test=tunamh.MH(), thin=20), or set a wider prior."
        )


def _of_heavy_prior(target: GLM) -> Iterator[str]:
    """Data that are separable along coefficients with heavy-tailed priors: nothing else holds these back."""
    heavy = target._prior.heavy
    if not heavy.any() or target.observations is not target.user_rows:
        return
    part = target.on_columns(heavy | target._prior.flat)
    direction = part.separating_direction()
    if direction is not None:
        named = part.names_along(direction)
        yield (
            f"the data are separable along column{'s' * (len(named) > 1)} {listed(named)}, and there only "
            "the prior, which has no variance, makes the posterior proper. The posterior then has no mean. If other "
            "coefficients have a flat prior, there may be no posterior. Set a Normal, a Laplace or a StudentT prior "
            "with df above 2."
        )


def _of_flat_likelihood(target: GLM) -> Iterator[str]:
    """Under a flat prior a family that does not say where it rises (`rises`) may leave no posterior; nothing is proved.

    Where there is one, energies a hundred standard deviations from the mode are higher: by thousands, where they are
    nearly quadratic, and by the logarithm of the distance times the number of rows where tails are the heaviest.
    """
    family, mode = target.family, target.modes[0]
    judged = family.rises is not None or family.contrasts is not None
    if judged or not target._prior.flat.any() or not np.isfinite(mode.posterior.hessian).all():
        return
    scale, values, vectors = scaled_eigen(mode.posterior.plain_hessian)
    few = np.argsort(np.abs(values))[:_DIRECTIONS]
    widths = 1 / np.sqrt(np.maximum(np.abs(values[few]), SMALLEST_CURVATURE * np.abs(values).max()))
    ways = list((vectors[:, few] / scale[:, None] * widths).T)
    path = mode.point - target.search_starts()[0]
    curved = float(path @ mode.posterior.plain_hessian @ path)
    ways += [path / np.sqrt(curved)] if curved > 0 else []
    points = np.array([mode.point + sign * _FAR * way for way in ways for sign in (-1.0, 1.0)])
    rises = target.energies_at(points) - mode.posterior.energy
    lowest = int(np.argmin(np.where(np.isnan(rises), np.inf, rises)))
    if rises[lowest] < _LEAST_RISE:
        named = names_along(target, points[lowest] - mode.point)
        yield (
            f"the energy of {target.user_family!r} does not increase along column{'s' * (len(named) > 1)} "
            f"{listed(named)} within {_FAR:g} standard deviations of the lowest point that was found: under a flat "
            "prior there may be no posterior. Set a proper prior, such as prior=tunamh.Normal(scale=10), or drop "
            "columns."
        )


def searched(target: GLM) -> list[Mode]:
    """Return the modes of the posterior. If a user's energy has no minimum, raise an error about its sign."""
    own = target.family.of_a_function
    with np.errstate(invalid="ignore") if own else nullcontext():
        modes = find_modes(target)
    if own and not (modes[0].found and _is_minimum(modes[0].posterior.hessian)):
        _refuse_log_likelihood(target)
    return modes


def _refuse_log_likelihood(target: GLM) -> None:
    """An energy without a minimum that falls on both sides of where the search begins, further and further.

    A likelihood vanishes far away, so that its logarithm falls without end; an energy may do so on one side at most.
    The start of a search may lie on a hill of an energy as well, but behind the hill that rises again.
    """
    some = target.sample_of(_FEW_ROWS, seed=5)
    start = some.search_starts()[0]
    hessian = some.expansion(start).plain_hessian
    if not np.isfinite(hessian).all() or not (scaled_eigen(hessian)[1] < 0).all():
        return
    scale, values, vectors = scaled_eigen(hessian)
    ways = (vectors / scale[:, None] / np.sqrt(np.abs(values))).T
    for way in ways:
        for sign in (-1.0, 1.0):
            path = start + sign * _FAR ** np.arange(3)[:, None] * way
            energies = some.energies_at(path) - some._prior_energies_at(path)
            if (np.diff(energies[np.isfinite(energies)]) > 0).any():
                return
    raise ValueError(
        f"the energy of {target.user_family!r} looks like a log likelihood: return its negative. It falls on both "
        "sides in every direction and no lowest point was found; an energy is minus the log-likelihood of a row."
    )


def _is_minimum(hessian: np.ndarray) -> bool:
    """Whether the curvature is positive in every direction, by more than rounding."""
    if not np.isfinite(hessian).all():
        return False
    values = scaled_eigen(hessian)[1]
    return bool(values.min() > SMALLEST_CURVATURE * values.max() > 0)


def proved_proper(target: GLM, expanded: TaylorTarget, away: float) -> bool:
    """Return True if the energy is higher than at the centre at all points of a sphere around the centre.

    Then a convex energy rises in every direction, and the posterior is proper. At a distance ``r`` (in posterior
    standard deviations) within the trust radius, the energy is higher by at least ``-away r + r^2/2 - C r^3/6``; ``C``
    is the sum of the bounds of order 2. At ``r = 4 away`` this is positive if ``8/3 C away < 1``. If ``|f'''| <= f''``,
    the condition ``away max_i |L'x_i| < 1`` is enough (spec 5i). If the data are separated, neither product becomes
    small, because the steps of Newton's method shrink.
    """
    if target._prior.proper:
        return True
    if target.family.self_concordant and expanded.longest * away < 1:
        return True
    near_enough = 16 * away**2 <= expanded.trust.radii_squared[0]
    total_bound = expanded.total_bound * expanded.trust.factors[0]
    return expanded.order == 2 and near_enough and 8 / 3 * total_bound * away < 1


def names_along(target: GLM, direction: np.ndarray) -> list[str]:
    """Return the names of the columns with a large part in a direction. Each column is measured in its own unit."""
    squares = target.sums(lambda X, y, weight: (X.column_squares(weight > 0),))[0]
    share = np.abs(direction) * np.sqrt(squares)
    if not share.any():
        share = np.abs(direction)
    leading = sorted(j for j in np.argsort(-share) if share[j] > 0.1 * share.max())
    return [target.chain_names[j] for j in leading]


def refuse_positions(labels: list[str], rows: Observations) -> None:
    """Raise `ValueError` if a prior has numbers by position and the table has columns of categories.

    These columns are placed after all other columns, so a position would mean another coefficient.
    """
    behind = rows.factor_names
    if [label for label in labels if label not in behind] != labels[: len(labels) - len(behind)]:
        names = listed(list(rows.names or ()))
        raise ValueError(
            f"tunamh puts columns of categories after all other columns, so the coefficients are {names}: give "
            "the prior's numbers by name (a dict, or tunamh.priors.ByName), or put the columns of numbers first."
        )


def listed(names: list[str]) -> str:
    return ", ".join(names[:5]) + (f" and {len(names) - 5} others" if len(names) > 5 else "")
