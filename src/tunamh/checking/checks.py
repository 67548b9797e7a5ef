"""The checks that fit a family: which sums of scores are looked at, and how a deviation is said."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import ndtr

from . import advice
from .column_checks import changing_spread, of_column, of_laws, of_levels
from .finding import Finding
from .looked import FEWEST_ROWS, Looked, fifths
from .scores import EXTREME, FAR, SHARE_FAR, SKEWNESS, SPREAD, TAILS
from .statistics import Moments, total, trend, two_sided


def all_checks(looked: Looked) -> Iterator[Finding]:
    yield from _means(looked)
    if looked.residuals.zero is not None:
        yield _zeros(looked, looked.residuals.zero)
    if looked.residuals.shape is not None:
        yield from _shape(looked, looked.residuals.shape)
    for name, column in looked.columns.items():
        yield from of_column(looked, name, column)
    for name, codes, levels in looked.residuals.levels:
        yield of_levels(looked, name, codes, levels, effects=True)
    yield from of_laws(looked)


# --------------------------------------------------------------------------------------------------------- the mean


def _means(looked: Looked) -> Iterator[Finding]:
    found = looked.residuals
    if looked.classes:
        for k, label in enumerate(looked.classes):
            yield _calibration(looked, found.location[k], found.mean[k], label)
    elif looked.bernoulli:
        yield _calibration(looked, found.location[0], found.mean, "")
    elif not looked.one_column():
        rows = looked.tested(found.location[0])
        name = "Mean along the linear predictor"
        if not looked.enough(rows):
            yield looked.few(name)
            return
        p = trend(found.predictor, rows, constant=found.shape is not None)
        size = f"mean residual {fifths(found.predictor, rows.score)}"
        yield Finding(
            name, "", p, size, "Residuals have a trend along the linear predictor", advice.of_predictor(looked.family)
        )


def _calibration(looked: Looked, rows: Moments, mean: np.ndarray, label: str) -> Finding:
    name = "Calibration"
    if not looked.enough(rows):
        return looked.few(name, label)
    p = trend(mean, looked.tested(rows), constant=True)
    worst = _worst_tenth(looked, rows, mean)
    said = (
        "Predicted probabilities differ from the observed shares"
        if not label
        else f"Predicted probabilities of {label} differ from the observed shares"
    )
    try_this = advice.of_class(label) if label else advice.of_predictor(looked.family)
    return Finding(name, label, p, worst, said, try_this)


def _worst_tenth(looked: Looked, rows: Moments, mean: np.ndarray) -> str:
    """The tenth of the rows, in the order of the probability, that is furthest off."""
    trials = looked.residuals.trials
    n = np.ones(len(mean)) if trials is None else trials
    found = []
    for own in np.array_split(np.argsort(mean, kind="stable"), 10):
        variance = float(rows.variance[own].sum())
        if variance > 0:
            said, seen = float(np.average(mean[own], weights=n[own])), float(rows.score[own].sum() / n[own].sum())
            found.append((abs(float(rows.score[own].sum())) / np.sqrt(variance), said, said + seen))
    _, said, seen = max(found)
    return f"in one tenth of the rows the model predicts {said:.3g}, and the observed share is {seen:.3g}"


# --------------------------------------------------------------------------------------------- spread, shape, zeros


def _zeros(looked: Looked, rows: Moments) -> Finding:
    name, n = "Zeros", len(rows.score)
    if n < FEWEST_ROWS or rows.variance.sum() < 1.0:
        return Finding(name, "", None, wrong="Not checked: the model predicts almost no zeros, or almost only zeros.")
    z, seen = total(rows), float((looked.residuals.observed == 0).mean())
    said = seen - float(rows.score.mean())
    wrong = f"There are too {'many' if z > 0 else 'few'} zeros"
    return Finding(
        name,
        "",
        two_sided(z),
        f"{seen:.1%} observed, {said:.1%} expected",
        wrong,
        advice.of_zeros(looked.family, z > 0),
    )


def _shape(looked: Looked, shape: list[Moments]) -> Iterator[Finding]:
    found, family = looked.residuals, looked.family
    if found.n < FEWEST_ROWS:
        yield looked.few("Spread")
        return
    z = total(shape[SPREAD])
    ratio = 1 + float(shape[SPREAD].score.mean()) if found.pearson is None else float(found.pearson.mean())
    wrong = f"Responses vary {'more' if z > 0 else 'less'} than the model predicts"
    size = f"the variance is {ratio:.2f} times that of the model"
    yield Finding("Spread", "", two_sided(z), size, wrong, advice.of_spread(family, z > 0))
    if not looked.one_column():
        yield changing_spread(looked, "Spread along the linear predictor", "", found.predictor, "the linear predictor")
    z = total(shape[SKEWNESS])
    side = "right" if z > 0 else "left"
    size = f"skewness score {float(shape[SKEWNESS].score.mean()):+.3f}"
    positive = bool((found.observed > 0).all())
    wrong = f"The distribution has a longer tail to the {side} than the model predicts"
    yield Finding("Skewness", "", two_sided(z), size, wrong, advice.of_skewness(family, positive))
    yield _tails(looked, shape)


def _tails(looked: Looked, shape: list[Moments]) -> Finding:
    """Many rows far off, one row very far off, or tails against shoulders."""
    found = looked.residuals
    far, form = total(shape[EXTREME]), total(shape[TAILS])
    largest = float(np.abs(found.residual).max())
    p_far = float(ndtr(-far))
    p = min(1.0, 3 * min(p_far, two_sided(form), min(1.0, found.n * two_sided(largest))))
    expected = SHARE_FAR * found.n
    seen = float(shape[EXTREME].score.sum()) + expected
    size = (
        f"{seen:.1f} residuals are larger than {FAR:g} in size ({expected:.1f} expected), the largest is {largest:.1f}"
    )
    light = form < 0 and two_sided(form) < min(p_far, found.n * two_sided(largest))
    wrong = f"The tails are {'lighter' if light else 'heavier'} than the model predicts"
    return Finding("Tails", "", p, size, wrong, advice.of_tails(looked.family))
