"""The checks that fit a family: which sums of scores are looked at, and how a deviation is said."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from scipy.special import ndtr, ndtri

from . import advice
from .column_checks import of_column, of_laws, of_levels, spread_of_predictor
from .finding import Finding
from .looked import FEWEST_ROWS, Looked
from .scores import EXTREME, FAR, SHARE_FAR, SKEWNESS, SPREAD, TAILS
from .statistics import Moments, total, two_sided
from .under_draws import UnderDraws, fifths_under_draws, shares_by_probability, trend_under_draws

_SHOULDERS = 0.4399, 1.4797  # where the score of the tails is negative


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
            yield _calibration(looked, found.location[k], found.learned[k], label)
    elif looked.bernoulli:
        yield _calibration(looked, found.location[0], found.learned[0], "")
    elif not looked.one_column():
        rows = looked.tested(found.location[0])
        name = "Mean along the linear predictor"
        if not looked.enough(rows):
            yield looked.few(name)
            return
        learned = found.learned[0]
        each = ((position, looked.tested(own)) for position, own, _ in learned.each())
        p = trend_under_draws(each, constant=found.shape is not None)
        size = f"mean residual {fifths_under_draws(learned.position, learned.location.score)}"
        yield Finding(
            name, "", p, size, "Residuals have a trend along the linear predictor", advice.of_predictor(looked.family)
        )


def _calibration(looked: Looked, rows: Moments, learned: UnderDraws, label: str) -> Finding:
    name = "Calibration"
    if not looked.enough(rows):
        return looked.few(name, label)
    p = trend_under_draws(((mean, looked.tested(own)) for mean, own, _ in learned.each()), constant=True)
    worst = _worst_tenth(looked, learned)
    said = (
        "Predicted probabilities differ from the observed shares"
        if not label
        else f"Predicted probabilities of {label} differ from the observed shares"
    )
    try_this = advice.of_class(label) if label else advice.of_predictor(looked.family)
    return Finding(name, label, p, worst, said, try_this)


def _worst_tenth(looked: Looked, learned: UnderDraws) -> str:
    """The tenth of the rows, in the order of the probability, that is furthest off."""
    said, seen, deviation = shares_by_probability(learned, looked.residuals.trials, 10)
    at = int(np.argmax(np.abs(seen - said) / np.where(deviation > 0, deviation, np.inf)))
    return f"in one tenth of the rows the model predicts {said[at]:.3g}, and the observed share is {seen[at]:.3g}"


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
    if found.shape_learned is not None and not looked.one_column():
        yield spread_of_predictor(looked, found.shape_learned)
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
    far, form, largest = total(shape[EXTREME]), total(shape[TAILS]), float(np.abs(found.residual).max())
    each = [float(ndtr(-far)), min(1.0, found.n * two_sided(largest)), two_sided(form)]
    p, clearest = min(1.0, 3 * min(each)), int(np.argmin(each))
    light = clearest == 2 and form < 0
    size = (_far_off, _furthest, _tails_and_shoulders)[clearest](found.residual, shape)
    wrong = f"The tails are {'lighter' if light else 'heavier'} than the model predicts"
    return Finding("Tails", "", p, size, wrong, advice.of_tails(looked.family))


def _far_off(residual: np.ndarray, shape: list[Moments]) -> str:
    n = len(residual)
    seen = float(shape[EXTREME].score.sum()) + SHARE_FAR * n
    return f"about {seen:,.0f} of {n:,} residuals are larger than {FAR:g} in size ({SHARE_FAR * n:.1f} expected)"


def _furthest(residual: np.ndarray, shape: list[Moments]) -> str:
    n = len(residual)
    expected = -float(ndtri(0.25 / n))
    return f"the largest of {n:,} residuals is {np.abs(residual).max():.1f} (about {expected:.1f} expected)"


def _tails_and_shoulders(residual: np.ndarray, shape: list[Moments]) -> str:
    """Legendre's polynomial of order 4 is positive in the tails and negative in the shoulders."""
    away, (low, high) = np.abs(residual), _SHOULDERS
    parts = (away > high, 2 * ndtr(-high)), ((away > low) & (away <= high), 2 * (ndtr(-low) - ndtr(-high)))
    (tails, told), (shoulders, said) = [(f"{100 * seen.mean():.1f} %", f"{100 * p:.1f} %") for seen, p in parts]
    return (
        f"{tails} of the residuals are beyond {high:.2f} ({told} expected), and {shoulders} between {low:.2f} and "
        f"{high:.2f} ({said} expected)"
    )
