"""What the pictures of a check show, as numbers: what the data say as points, what the model says as a line and a band.

One form for all pictures, so that matplotlib and the report draw the same.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import betaincinv, ndtri

from .check import FitCheck
from .looked import Looked
from .residuals import Residuals
from .statistics import Moments, by_level
from .survival import survival
from .under_draws import UnderDraws, by_bins, shares_by_probability

_BINS = 20
_MOST_COLUMNS = 4
_MOST_LEVELS = 30
_INSIDE = 0.95


@dataclass(frozen=True, eq=False)
class Panel:
    """One picture. If the model is right, 95 % of the points are in the band."""

    title: str
    across: str
    up: str
    x: np.ndarray
    points: np.ndarray
    line_x: np.ndarray
    line: np.ndarray
    low: np.ndarray
    high: np.ndarray
    names: tuple[str, ...] = ()
    joined: bool = False
    """Whether points are joined, as steps."""
    note: str = ""


def panels_of(check: FitCheck) -> list[Panel]:
    """Return the pictures of a check. The main picture of the family is the first."""
    looked, found = check.looked, check.residuals
    panels = _main(looked)
    if found.shape is not None:
        panels.append(_normal_quantiles(found))
    if not looked.bernoulli:
        panels.append(_along_predictor(looked, found.learned[0]))
    for name, column in list(looked.columns.items()):
        values = getattr(column, "values", None)
        if values is not None and len(np.unique(values)) > 6 and len(panels) < 3 + _MOST_COLUMNS:
            panels += _along(looked, name, values)
    for name, codes, levels in found.levels:
        own = _of_levels(name, codes, levels, looked.tested(found.location[0]))
        panels += [] if own is None or looked.classes else [own]
    return panels


def _main(looked: Looked) -> list[Panel]:
    found = looked.residuals
    if looked.classes:
        return [
            _calibration(f"Calibration of {label}", found.learned[k], None) for k, label in enumerate(looked.classes)
        ]
    if found.trials is not None:
        return [_calibration("Calibration", found.learned[0], found.trials)]
    if found.rows.seen.codes is not None:
        own = survival(looked)
        return [] if own is None else [own_panel(own)]
    if found.drawn is not None:
        return [_rootogram(found)]
    return []


def own_panel(found: tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]) -> Panel:
    """Return the picture of survival: Kaplan and Meier's estimate as steps, the model's mean survival as the line."""
    time, seen, said, low, high = found
    note = "steps: Kaplan-Meier estimate"
    return Panel("Survival", "time", "share that survives", time, seen, time, said, low, high, joined=True, note=note)


def _calibration(title: str, learned: UnderDraws, trials: np.ndarray | None) -> Panel:
    """Shares in tenths of the rows; the band is that of the shares if the probabilities are right."""
    said, seen, sd = shares_by_probability(learned, trials, max(1, min(10, learned.position.shape[1] // 10)))
    wide = ndtri(0.5 + _INSIDE / 2) * sd
    return Panel(
        title, "predicted probability", "observed share", said, seen, said, said,
        np.maximum(said - wide, 0.0), np.minimum(said + wide, 1.0),
    )  # fmt: skip


def _rootogram(found: Residuals) -> Panel:
    """Numbers of rows by count, as roots, so that small numbers are seen beside large ones."""
    assert found.drawn is not None
    most = int(np.quantile(np.concatenate([found.observed, found.drawn.max(axis=1)]), 0.98)) if found.n else 0
    most = int(min(max(most, 3), 60))
    counts = np.arange(most + 1)
    seen = np.array([(found.observed == k).sum() for k in counts])
    drawn = np.stack([(found.drawn == k).sum(axis=1) for k in counts])
    tail = (1 - _INSIDE) / 2
    low, high = np.quantile(drawn, [tail, 1 - tail], axis=1)
    beyond = int((found.observed > most).sum())
    expected = float((found.drawn > most).sum(axis=1).mean())
    note = f"beyond: {beyond:,} rows, {expected:.1f} expected"
    return Panel(
        "Rootogram", "count", "rows (root scale)", counts.astype(float), np.sqrt(seen), counts.astype(float),
        np.sqrt(drawn.mean(axis=1)), np.sqrt(low), np.sqrt(high), note=note,
    )  # fmt: skip


def _normal_quantiles(found: Residuals) -> Panel:
    """Quantile residuals in order against normal quantiles, the line taken away (a worm plot)."""
    n, r = found.n, np.sort(found.residual)
    place = np.arange(1, n + 1)
    x = ndtri((place - 0.375) / (n + 0.25))
    tail = (1 - _INSIDE) / 2
    low, high = (ndtri(betaincinv(place, n + 1 - place, q)) - x for q in (tail, 1 - tail))
    at = np.unique(np.linspace(0, n - 1, min(n, 400)).round().astype(int))
    at = np.unique(np.concatenate([np.arange(min(n, 10)), at, np.arange(max(0, n - 10), n)]))
    return Panel(
        "Distribution of residuals", "normal quantile", "residual minus quantile", x[at], (r - x)[at], x[at],
        np.zeros(len(at)), low[at], high[at],
    )  # fmt: skip


def _along(looked: Looked, name: str, values: np.ndarray) -> list[Panel]:
    if looked.classes:
        return []
    rows = looked.tested(looked.residuals.location[0])
    return [_binned(f"Residuals along {name}", name, values, rows)]


def _binned(title: str, across: str, position: np.ndarray, rows: Moments) -> Panel:
    """Mean residuals of rows that lie side by side, standardised."""
    one = Moments(*(part[None] for part in rows))
    return _in_bins(title, across, position[None], one)


def _along_predictor(looked: Looked, learned: UnderDraws) -> Panel:
    tested = [looked.tested(own) for _, own, _ in learned.each()]
    rows = Moments(*(np.stack(part) for part in zip(*tested, strict=True)))
    return _in_bins("Residuals", "linear predictor", learned.position, rows)


def _in_bins(title: str, across: str, position: np.ndarray, rows: Moments) -> Panel:
    """By (draws, rows)."""

    def of_bin(d: int, own: np.ndarray) -> tuple[float, ...]:
        sd = np.sqrt(max(float(rows.variance[d, own].sum()), 1e-300))
        return float(position[d, own].mean()), float(rows.score[d, own].sum()) / sd

    bins = int(max(1, min(_BINS, position.shape[1] // 20)))
    x, z = by_bins(position, bins, of_bin)
    wide = np.full(bins, ndtri(0.5 + _INSIDE / 2))
    return Panel(title, across, "mean residual (z)", x, z, x, np.zeros(bins), -wide, wide)


def _of_levels(name: str, codes: np.ndarray, levels: tuple[str, ...], rows: Moments) -> Panel | None:
    """Of every level with rows enough, in order."""
    found = by_level(codes, rows, fewest=5, least=0.0)
    if not len(found.z):
        return None
    order = np.argsort(found.z, kind="stable")
    z, n = found.z[order], len(order)
    place = np.arange(1, n + 1)
    tail = (1 - _INSIDE) / 2
    expected = ndtri((place - 0.375) / (n + 0.25))
    low, high = (ndtri(betaincinv(place, n + 1 - place, q)) for q in (tail, 1 - tail))
    names = tuple(levels[int(k)] for k in found.levels[order]) if n <= _MOST_LEVELS else ()
    x = place.astype(float)
    return Panel(f"Means of {name}", f"{name}, in order", "mean residual (z)", x, z, x, expected, low, high, names)
