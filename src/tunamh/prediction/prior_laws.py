"""Draws from priors of coefficients: independent laws, normal ones with a covariance, those of unknown scales."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import NotApplicable
from ..priors.correlated import ReadyCorrelated
from ..priors.densities import DENSITIES, FLAT_KINDS, Numbers
from ..priors.laws import ON_PRECISION, ON_VARIANCE, Laws, ReadyIndependent
from ..priors.mixtures import EACH, HORSESHOE, Mixture


def coefficients(base: Any, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Draw coefficients (draws, coefficients) and unknown scales (draws, scales) from the prior of a regression.

    The scales are those of curves and groups. The coefficients include those of further predictors whose curves have
    unknown scales.
    """
    own = base.coefficient_prior if base.joint_prior is None else base.joint_prior
    names = base.names[: len(own.flat)]
    if isinstance(own, ReadyCorrelated):
        return own.mean + np.linalg.solve(own.root, rng.standard_normal((len(own.mean), n))).T, np.empty((n, 0))
    if not isinstance(own, ReadyIndependent):
        raise NotApplicable(
            f"draws from the prior {base.prior!r} are not possible, because it is your own density: set a prior "
            "that can be drawn from, such as tunamh.Normal(scale=1)."
        )
    mixture = own.mixture
    if mixture is None or mixture.arrangement == EACH:
        return draws_from(own.laws, n, rng, names=names), np.empty((n, 0))
    flat = np.isinf(mixture.fixed_variance) & ~mixture.mixed
    if flat.any():
        raise NotApplicable(
            f"the prior of {names[int(np.argmax(flat))]} is flat, so tunamh cannot draw from it: set a proper prior."
        )
    of_mixture, scales = _variances(mixture, n, rng)
    variance = np.where(mixture.mixed, of_mixture, mixture.fixed_variance)
    return mixture.mean + np.sqrt(variance) * rng.standard_normal(variance.shape), scales


def _variances(mixture: Mixture, n: int, rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Squares of half-Cauchy numbers for the horseshoe, of a half-Student-t number for each group of others.

    The second value are the scales of groups; a model with a horseshoe has no place for its scales.
    """
    own, d = mixture.numbers, len(mixture.mixed)
    if mixture.arrangement == HORSESHOE:
        return np.square(rng.standard_cauchy((n, d)) * own.width * rng.standard_cauchy((n, 1))), np.empty((n, 0))
    scales = np.asarray(own.width) * rng.standard_t(np.asarray(own.df), (n, len(own.df)))
    return mixture.variances_at(np.square(scales)), np.abs(scales)


def draws_from(laws: Laws, n: int, rng: np.random.Generator, *, names: list[str], positive: bool = False) -> np.ndarray:
    """Draw from independent laws: an array (draws, coordinates).

    If ``positive`` is True, the laws are restricted to positive numbers.
    """
    columns = []
    for name, kind, *numbers in zip(names, *laws, strict=True):
        power = -0.5 if kind >= ON_PRECISION else 0.5 if kind >= ON_VARIANCE else 1.0
        plain, own = int(kind) % ON_VARIANCE, Numbers(*map(float, numbers))
        if plain in FLAT_KINDS:
            raise NotApplicable(f"the prior of {name} is flat, so tunamh cannot draw from it: set a proper prior.")
        kept = np.empty(0)
        while len(kept) < n:
            drawn = DENSITIES[plain].draws(own, n, rng)
            kept = np.concatenate([kept, drawn[drawn > 0] if positive else drawn])
        columns.append(kept[:n] ** power if power != 1.0 else kept[:n])
    return np.stack(columns, axis=1) if columns else np.empty((n, 0))
