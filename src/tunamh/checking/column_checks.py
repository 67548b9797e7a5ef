"""Checks along columns and by levels: trends, changing spread, means of groups, the law of their effects."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
from scipy.special import ndtr, ndtri, stdtr

from ..tables.columns import Column, Factor
from . import advice
from .finding import Finding
from .looked import FEW_VALUES, FEWEST_ROWS, Looked, fifths
from .scores import EXTREME, FAR, LOCATION, SHARE_FAR, SPREAD, THIRD, VARIANCE
from .statistics import Moments, by_level, total, trend, two_sided, without_trend
from .under_draws import UnderDraws, fifths_under_draws, trend_under_draws

_ROWS_OF_LEVEL = 5
_MOST_EFFECTS = 5000


def of_column(looked: Looked, name: str, column: Column) -> Iterator[Finding]:
    if isinstance(column, Factor):
        yield of_levels(looked, name, column.codes, column.levels, effects=False)
        return
    values = column.values
    distinct, codes = np.unique(values, return_inverse=True)
    if len(distinct) <= FEW_VALUES:
        yield of_levels(looked, name, codes, [f"{value:g}" for value in distinct], effects=False)
        return
    found, title = looked.residuals, "Mean along a column"
    rows = [looked.tested(one) for one in found.location]
    kept = [one for one in rows if looked.enough(one)]
    if not kept:
        yield looked.few(title, name)
        return
    whole = found.shape is not None and looked.one_column()  # then nothing else tests the mean of all
    each = [trend(values, one, constant=whole) for one in kept]
    worst = int(np.argmin(each))
    scores = kept[worst].score if found.trials is None else kept[worst].score / found.trials
    size = f"mean residual {fifths(values, scores)}"
    p, known = min(1.0, len(each) * each[worst]), name in looked.known
    try_this = advice.of_trend(name, known, name in looked.codes)
    yield Finding(title, name, p, size, f"Residuals have a trend along {name}", try_this)
    if found.shape is not None:
        yield changing_spread(looked, name, values)


def of_levels(looked: Looked, name: str, codes: np.ndarray, levels: Sequence[str], *, effects: bool) -> Finding:
    title, best = "Means of levels", None
    least = 2.0 if looked.bernoulli else 0.0
    for one in looked.residuals.location:
        found = by_level(codes, looked.tested(one), fewest=_ROWS_OF_LEVEL, least=least)
        if len(found.z) and (best is None or found.p < best.p):
            best = found
    if best is None or looked.residuals.n < FEWEST_ROWS:
        return Finding(title, name, None, wrong=f"Not checked: too few rows of each level{looked.way_out}.")
    at = int(np.argmax(np.abs(best.z)))
    level = levels[int(best.levels[at])]
    size = f"the furthest is {level} (mean residual {best.mean[at]:+.2f} in {int(best.rows[at]):,} rows)"
    p = min(1.0, len(looked.residuals.location) * best.p)
    fixed = name in looked.known
    return Finding(
        title,
        name,
        p,
        size,
        f"The means of some levels of {name} differ from the prediction",
        advice.of_levels(name, effects, fixed),
    )


def of_laws(looked: Looked) -> Iterator[Finding]:
    """Yield a check for each factor: do its group effects have the law of the model?

    If they have, the standardised effects are independent draws from this law.
    """
    for group in looked.fitted.groups:
        if group.effects is None or group.effects.shape[1] < FEWEST_ROWS:
            continue
        levels = np.linspace(0, group.effects.shape[1] - 1, min(group.effects.shape[1], _MOST_EFFECTS)).astype(int)
        scale = np.sqrt(np.einsum("sqq->sq", group.covariance))[:, None, :]
        standard = group.effects[:, levels] / np.where(scale > 0, scale, 1.0)
        if group.df:
            standard = -np.sign(standard) * ndtri(stdtr(group.df, -np.abs(standard)))
        n = len(levels)
        for j, column in enumerate(group.columns):
            far = (np.abs(standard[..., j]) > FAR).mean(axis=0) - SHARE_FAR
            z = total(Moments(far, np.full(n, VARIANCE[EXTREME]), np.full(n, THIRD[EXTREME])))
            mean = standard[..., j].mean(axis=0)
            at = int(np.argmax(np.abs(mean)))
            p = min(1.0, 2 * min(float(ndtr(-z)), min(1.0, n * two_sided(float(mean[at])))))
            about = f"{column} | {group.name}" if column else group.name
            where = group.levels[int(levels[at])] if group.levels else str(levels[at])
            size = f"the furthest is {where}, {abs(mean[at]):.1f} scales from the others"
            yield Finding(
                "Law of group effects",
                about,
                p,
                size,
                f"Some effects of {about} are far from the others",
                advice.of_law(group.name),
            )


def changing_spread(looked: Looked, name: str, values: np.ndarray) -> Finding:
    """Return the check whether the spread of residuals changes along a column."""
    shape = looked.residuals.shape
    assert shape is not None
    rows = without_trend(values, shape[SPREAD], shape[LOCATION]).wider()
    size = f"residual variance {fifths(values, 1 + rows.score, '.2f')}"
    try_this = advice.of_changing_spread(looked.family, name, looked.groups)
    wrong = f"The spread changes with {name}"
    return Finding("Spread along a column", name, trend(values, rows, degrees=2), size, wrong, try_this)


def spread_of_predictor(looked: Looked, learned: UnderDraws) -> Finding:
    """Return the check whether the spread of residuals changes along the linear predictor."""
    each = []
    for position, location, spread in learned.each():
        assert spread is not None
        each.append((position, without_trend(position, spread, location).wider()))
    values = 1 + np.stack([rows.score for _, rows in each])
    size = f"residual variance {fifths_under_draws(learned.position, values, '.2f')}"
    try_this = advice.of_changing_spread(looked.family, "x", looked.groups)
    wrong = "The spread changes with the linear predictor"
    p = trend_under_draws(iter(each), degrees=2)
    return Finding("Spread along the linear predictor", "", p, size, wrong, try_this)
