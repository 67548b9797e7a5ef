"""Priors of several stretches of coefficients, side by side: some are Gaussian given unknown scales (spec 5u).

Coefficients of the main predictor and of further ones are one vector, ``theta = (theta_1, theta_2, ...)``, whose parts
are independent: so the matrix that says which coefficient has which scale is made of blocks.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.linalg import block_diag

from ..compiled import fixed
from .laws import FLAT, NORMAL, Laws, ReadyIndependent, ready
from .mixtures import GROUPED, Mixture, ReadyMixture, grouped_scales, summed_scales
from .potential import ReadyPrior

_REFUSED = (
    "if another predictor has a curve, only independent Normal and Flat priors, Ridge and Grouped are possible for "
    'coefficients: set priors by term, such as {"x": tunamh.Normal(scale=1)}.'
)


def side_by_side(parts: Sequence[ReadyPrior]) -> ReadyMixture:
    """Return one prior of all coefficients from priors of parts of them. At least one part has unknown scales."""
    known = [_checked(one) for one in parts]
    laws = Laws(*(np.concatenate(numbers) for numbers in zip(*(one.laws for one in known), strict=True)))
    mixtures = [one.mixture for one in known]
    share = block_diag(*(np.zeros((len(one.flat), 0)) if one.mixture is None else one.mixture.shares for one in known))
    df, width, start = (
        np.concatenate([np.asarray(of(one)) for one in mixtures if one is not None])
        for of in (lambda one: one.numbers.df, lambda one: one.numbers.width, lambda one: one.start)
    )
    by_groups = all(one is None or one.arrangement == GROUPED for one in mixtures)
    mixed = share.any(axis=1)
    coefficients = {
        "mixed": mixed,
        "fixed_variance": np.where(mixed, 1.0, np.where(laws.kind == FLAT, np.inf, laws.scale**2)),
        "mean": laws.mean,
    }
    made = grouped_scales if by_groups else summed_scales
    draw_scales, hyper, arrangement, group = made(coefficients, df, width, share)
    mixture = Mixture(draw_scales, fixed(hyper), arrangement, group, start, _variables(mixtures))
    plain = ready(laws)
    return ReadyMixture(plain.log_prior, plain.hyper, plain.mean, plain.precision, plain.flat, plain.laws, mixture)


def _checked(part: ReadyPrior) -> ReadyIndependent:
    if not isinstance(part, ReadyIndependent):
        raise TypeError(_REFUSED)
    mixture = part.mixture
    others = np.ones(len(part.flat), bool) if mixture is None else ~mixture.mixed
    if (part.laws.kind[others] > NORMAL).any() or not (mixture is None or mixture.few):
        raise TypeError(_REFUSED)
    return part


def _variables(mixtures: Sequence[Mixture | None]) -> tuple[tuple[str, tuple[str, ...] | None], ...]:
    """Those of all parts; the scales of curves are one variable."""
    found: dict[str, tuple[str, ...] | None] = {}
    for one in mixtures:
        for name, labels in () if one is None else one.variables:
            before = found.get(name)
            found[name] = labels if before is None or labels is None else (*before, *labels)
    return tuple(found.items())
