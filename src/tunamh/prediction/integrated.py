"""Densities of rows of small groups with the group's effect integrated out, given a draw of everything else.

With ``l_j(v)`` the log density of row ``j`` of a group whose effect is ``v``, and ``pi`` the law of effects at the
draw's scale,

    log A_i = log int prod_{j != i} exp(w_j l_j(v)) pi(v) dv,    log B the same over all rows of the group.

Without row ``i`` the draw ``c`` of everything but the effect has the importance ``A_i / B``, and the row's density is
``C_i / A_i``, where ``C_i`` has the factor ``exp(l_i)`` besides (Vehtari et al. 2016; Merkle, Furr and Rabe-Hesketh
2019). With weights of 1, ``C_i = B``, and the importance is ``1 / p(y_i | y_{g,-i}, c)``.

All integrals of a group share the nodes ``v = m + t sinh(x)``, equally spaced in ``x``: close together where its
rows place the effect (``m``, ``t``), and far enough out for the law ``pi`` itself, which is left of a group of one row.
The trapezoidal rule is exact there to many digits as long as the spacing is below 1.5 standard deviations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from scipy.special import logsumexp

from .group_rows import GroupRows
from .model_rows import ModelRows, model_rows
from .predictions import Predictor

_NODES, _FEWER = 61, 31
_FEW_ROWS = 3  # larger groups have fewer nodes: a row hardly moves where the others place the effect
_REACH = 7.0  # standard deviations of effects
_TAIL = 1e-7  # the same of Student-t effects
_STEP = 0.01  # of the scale, for derivatives
_NUMBERS_AT_ONCE = 4_000_000
_LEAST = -1e8  # a log density: nobody tells it from minus infinity, and sums stay numbers

LogDensity = Callable[[np.ndarray], np.ndarray]
"""Of every row (draws, rows), from the effects of groups (draws, groups), times the rows' weights."""


def integrated(predictor: Predictor, rows: GroupRows) -> Iterator[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """Some looked-at rows at a time: numbers in the sample, ``log B / A_i`` and ``log C_i / A_i``, (row, draw)."""
    draws, starts = len(predictor.fitted.picked), np.flatnonzero(np.diff(rows.codes, prepend=-1))
    size = max(1, _NUMBERS_AT_ONCE // (draws * _NODES))
    first, ends = 0, np.append(starts[1:], len(rows.codes))
    while first < len(rows.codes):
        last = int(ends[max(np.searchsorted(ends, first + size, "right") - 1, np.searchsorted(ends, first, "right"))])
        which = slice(first, last)
        (part,) = model_rows(predictor.fitted, rows.frame.take(which), last - first)
        yield _of_part(predictor, rows, part, which)
        first = last


def _of_part(
    predictor: Predictor, rows: GroupRows, part: ModelRows, which: slice
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    codes, sampled = rows.codes[which] - rows.codes[which.start], rows.sampled[which]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    group, chunk, looked = rows.group, part.chunk, np.flatnonzero(sampled >= 0)
    effects, Z = _of_rows(rows, part)
    eta, p = predictor.linear(chunk) - effects * Z, predictor.parameters(chunk)
    w = np.ones(chunk.n_rows) if part.weights is None else part.weights
    assert chunk.y is not None
    y = chunk.y

    def log_density(v: np.ndarray) -> np.ndarray:
        found = part.seen.log_density(predictor.fitted.responses, y, eta + v[:, codes] * Z, p)
        return np.nan_to_num(np.maximum(np.broadcast_to(found, eta.shape), _LEAST), nan=_LEAST, posinf=-_LEAST)

    scale = np.sqrt(np.maximum(group.covariance[:, :1, 0], 1e-300))
    with np.errstate(all="ignore"):
        m, t = _centred(lambda v: w * log_density(v), effects[:, starts], scale, starts)
        fewest = np.diff(starts, append=len(codes)).min()
        v, measure = _nodes(m, t, scale, group.df, _NODES if fewest <= _FEW_ROWS else _FEWER)
        each = np.stack([log_density(one) for one in v])
        whole = np.add.reduceat(w * each, starts, axis=2) + measure
        at = codes[looked]
        own, whole_of_rows = each[:, :, looked], whole[:, :, at]
        without = logsumexp(whole_of_rows - w[looked] * own, axis=0)
        with_one = logsumexp(whole_of_rows + (1.0 - w[looked]) * own, axis=0)
        total = logsumexp(whole, axis=0)[:, at]
    return sampled[looked], (total - without).T, (with_one - without).T


def _of_rows(rows: GroupRows, part: ModelRows) -> tuple[np.ndarray, np.ndarray]:
    """The effect of every row's group, (draws, rows), and its column."""
    found = part.chunk.groups[rows.group.given]
    assert found is not None and rows.group.effects is not None  # noqa: PT018
    labels, Z = found
    place = {level: k for k, level in enumerate(rows.group.levels)}
    of_level = np.array([place[level] for level in labels.levels])
    return rows.group.effects[:, of_level[labels.codes], 0], Z[:, 0]


def _centred(
    log_density: LogDensity, start: np.ndarray, scale: np.ndarray, starts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Near the mode of a group's effect, and how wide it is there: two Newton steps from the draw, by differences.

    Curvatures count by their size, so that no step goes downhill and nodes are rather too close than too far apart.
    """
    m, precision, step = start, 1.0 / np.square(scale), _STEP * scale
    narrowest = np.broadcast_to(precision, start.shape)
    for _ in range(2):
        below, here, above = (log_density(m + k * step) for k in (-1, 0, 1))
        slope = np.add.reduceat(0.5 * (above - below), starts, axis=1) / step - m * precision
        curvature = np.add.reduceat(np.abs(above - 2.0 * here + below), starts, axis=1) / np.square(step)
        narrowest = np.maximum(narrowest, precision + np.where(np.isfinite(curvature), curvature, 0.0))
        width = 1.0 / np.sqrt(narrowest)
        m = m + np.clip(np.nan_to_num(slope / narrowest), -4.0 * width, 4.0 * width)
    return m, 1.0 / np.sqrt(narrowest)


def _nodes(m: np.ndarray, t: np.ndarray, scale: np.ndarray, df: float, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (node, draws, groups), and the logarithms of their weights times the density of effects."""
    from scipy import stats  # a third of a second, which only this needs

    reach = max(_REACH, stats.t.isf(_TAIL, df)) if df else _REACH
    ends = np.arcsinh((np.abs(m) + reach * scale) / t)
    x = ends * np.linspace(-1.0, 1.0, n)[:, None, None]
    v = m + t * np.sinh(x)
    law = stats.t.logpdf(v / scale, df) if df else -0.5 * np.square(v / scale) - 0.5 * np.log(2.0 * np.pi)
    return v, law - np.log(scale) + np.log(t * ends * 2.0 / (n - 1)) + np.log(np.cosh(x))
