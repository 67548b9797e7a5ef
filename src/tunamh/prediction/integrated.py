"""Densities of rows of small groups with the group's effect integrated out, given a draw of everything else.

With ``l_j(v)`` the log density of row ``j`` of a group whose effect is ``v``, and ``pi`` the law of effects at the
draw's scale,

    log A_i = log int prod_{j != i} exp(w_j l_j(v)) pi(v) dv,    log B the same over all rows of the group.

Without row ``i`` the draw ``c`` of everything but the effect has the importance ``A_i / B``, and the row's density is
``C_i / A_i``, where ``C_i`` has the factor ``exp(l_i)`` besides (Vehtari et al. 2016; Merkle, Furr and Rabe-Hesketh
2019). With weights of 1, ``C_i = B``, and the importance is ``1 / p(y_i | y_{g,-i}, c)``.

Of several effects of a group the integral is that over what a row sees of them (`Line`).

All integrals of a group share the nodes ``v = m + t sinh(x)``, equally spaced in ``x``: close together where its
rows place the effect (``m``, ``t``), and far enough out for the law ``pi`` itself, which is left of a group of one row.
The trapezoidal rule is exact there to many digits as long as the spacing is below 1.5 standard deviations.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from .fitted import Groups
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
    """Compute the densities of sampled rows, some rows at a time.

    Each result contains the numbers of the rows in the sample, ``log B / A_i`` and ``log C_i / A_i``, arrays (row,
    draw).
    """
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
    (effects, Z), w = _of_rows(rows, part), np.ones(chunk.n_rows) if part.weights is None else part.weights
    eta, p = predictor.linear(chunk) - np.einsum("diq,iq->di", effects, Z), predictor.parameters(chunk)
    assert chunk.y is not None
    y = chunk.y

    def at(predictors: np.ndarray) -> np.ndarray:
        found = part.seen.log_density(predictor.fitted.responses, y, predictors, p)
        return np.nan_to_num(np.maximum(np.broadcast_to(found, eta.shape), _LEAST), nan=_LEAST, posinf=-_LEAST)

    if Z.shape[1] == 1:
        line = _of_one(effects[:, starts, 0], Z[:, 0], group)
    else:
        line = _of_several(effects, Z, Curved(codes, looked, w * _curvatures(at, eta, effects.mean(axis=0), Z)), group)
        eta = eta + np.einsum("diq,iq->di", line.rest[:, codes], Z)

    def log_density(v: np.ndarray) -> np.ndarray:
        return at(eta + v[:, codes] * line.column)

    with np.errstate(all="ignore"):
        m, t = _centred(lambda v: w * log_density(v), line, starts)
        fewest = np.diff(starts, append=len(codes)).min()
        v, measure = _nodes(m, t, line, _NODES if fewest <= _FEW_ROWS else _FEWER)
        each = np.stack([log_density(one) for one in v])
        whole = np.add.reduceat(w * each, starts, axis=2) + measure
        own_group = codes[looked]
        own, whole_of_rows = each[:, :, looked], whole[:, :, own_group]
        without = logsumexp(whole_of_rows - w[looked] * own, axis=0)
        with_one = logsumexp(whole_of_rows + (1.0 - w[looked]) * own, axis=0)
        total = logsumexp(whole, axis=0)[:, own_group]
    return sampled[looked], (total - without).T, (with_one - without).T


class Line(NamedTuple):
    """The number ``u`` that is integrated out in every group.

    ``effects`` (draws, groups) are its values at the draws, ``column`` is what ``u`` is multiplied by in the predictor
    of a row, and ``rest`` are the effects if ``u`` is zero. Given all else, ``u`` has a law with centre ``mean``:
    normal, or Student-t with ``df`` degrees of freedom.
    """

    effects: np.ndarray
    column: np.ndarray
    mean: np.ndarray
    scale: np.ndarray
    df: float
    rest: np.ndarray


class Curved(NamedTuple):
    """Rows with the sampled row of each group, and the curvatures of their log densities, an array (draws, rows)."""

    codes: np.ndarray
    looked: np.ndarray
    curvatures: np.ndarray


def _of_one(effects: np.ndarray, column: np.ndarray, group: Groups) -> Line:
    scale = np.sqrt(np.maximum(group.covariance[:, :1, 0], 1e-300))
    return Line(effects, column, np.zeros_like(scale), scale, group.df, np.empty(0))


def _curvatures(at: LogDensity, eta: np.ndarray, effects: np.ndarray, Z: np.ndarray) -> np.ndarray:
    """Of every row's log density in its predictor, by differences, at the mean of the draws' effects."""
    middle = eta + np.einsum("iq,iq->i", effects, Z)
    below, here, above = (at(middle + k * _STEP) for k in (-1, 0, 1))
    found = np.abs(above - 2.0 * here + below) / _STEP**2
    return np.where(np.isfinite(found), np.minimum(found, 1e12), 0.0)


def _of_several(effects: np.ndarray, Z: np.ndarray, rows: Curved, group: Groups) -> Line:
    """Of several effects ``v`` of a row's group: what the row sees of them, ``u = z.v``, where ``v = r + b u``.

    ``u`` is integrated out, and ``r`` is held. ``b = P^-1 z / z'P^-1 z``, with ``P`` the precision of ``v`` without the
    row, makes ``r`` and ``u`` independent if the other rows are normal: then ``r`` does not know the row, and nothing
    is lost. The law of ``u`` given ``r`` is that of ``v`` on a line: with ``a = b'Q b``, ``Q`` the precision of the
    effects' law, it is normal about ``-b'Q r / a`` with the precision ``a``.
    """
    codes, looked, q = rows.codes, rows.looked, Z.shape[1]
    z, v, Q = Z[looked], effects[:, looked], np.linalg.inv(group.covariance)
    others = rows.curvatures.copy()
    others[:, looked] = 0.0
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    P = np.add.reduceat(others[:, :, None, None] * Z[:, :, None] * Z[:, None, :], starts, axis=1) + Q[:, None]
    b = np.linalg.solve(P, np.broadcast_to(z, v.shape)[..., None])[..., 0]
    length = np.einsum("gq,dgq->dg", z, b)
    b = b / np.where(length > 0, length, 1.0)[:, :, None]
    u = np.einsum("dgq,gq->dg", v, z)
    r, Qb = v - u[:, :, None] * b, np.einsum("dqr,dgr->dgq", Q, b)
    a = np.einsum("dgq,dgq->dg", b, Qb)
    a = np.where(a > 0, a, 1.0)
    mean, df = -np.einsum("dgq,dgq->dg", r, Qb) / a, 0.0
    scale = 1 / np.sqrt(a)
    if group.df:
        rest = np.einsum("dgq,dqs,dgs->dg", r, Q, r) - a * mean**2
        df = group.df + q - 1.0
        scale = np.sqrt((group.df + np.maximum(rest, 0.0)) / (a * df))
    return Line(u, np.einsum("iq,diq->di", Z, b[:, codes]), mean, scale, df, r)


def _of_rows(rows: GroupRows, part: ModelRows) -> tuple[np.ndarray, np.ndarray]:
    """The effects of every row's group, (draws, rows, q), and their columns."""
    found = part.chunk.groups[rows.group.given]
    assert found is not None and rows.group.effects is not None  # noqa: PT018
    labels, Z = found
    place = {level: k for k, level in enumerate(rows.group.levels)}
    of_level = np.array([place[level] for level in labels.levels])
    return rows.group.effects[:, of_level[labels.codes]], Z


def _centred(log_density: LogDensity, line: Line, starts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Near the mode of a group's effect, and how wide it is there: two Newton steps from the draw, by differences.

    Curvatures count by their size, so that no step goes downhill and nodes are rather too close than too far apart.
    """
    m, precision, step = line.effects, 1.0 / np.square(line.scale), _STEP * line.scale
    narrowest = np.broadcast_to(precision, m.shape)
    for _ in range(2):
        below, here, above = (log_density(m + k * step) for k in (-1, 0, 1))
        slope = np.add.reduceat(0.5 * (above - below), starts, axis=1) / step - (m - line.mean) * precision
        curvature = np.add.reduceat(np.abs(above - 2.0 * here + below), starts, axis=1) / np.square(step)
        narrowest = np.maximum(narrowest, precision + np.where(np.isfinite(curvature), curvature, 0.0))
        width = 1.0 / np.sqrt(narrowest)
        m = m + np.clip(np.nan_to_num(slope / narrowest), -4.0 * width, 4.0 * width)
    return m, 1.0 / np.sqrt(narrowest)


def _nodes(m: np.ndarray, t: np.ndarray, line: Line, n: int) -> tuple[np.ndarray, np.ndarray]:
    """Nodes (node, draws, groups), and the logarithms of their weights times the density of effects."""
    from scipy import stats  # a third of a second, which only this needs

    df, mean, scale = line.df, line.mean, line.scale
    reach = max(_REACH, stats.t.isf(_TAIL, df)) if df else _REACH
    ends = np.arcsinh((np.abs(m - mean) + reach * scale) / t)
    x = ends * np.linspace(-1.0, 1.0, n)[:, None, None]
    v = m + t * np.sinh(x)
    away = (v - mean) / scale
    law = stats.t.logpdf(away, df) if df else -0.5 * np.square(away) - 0.5 * np.log(2.0 * np.pi)
    return v, law - np.log(scale) + np.log(t * ends * 2.0 / (n - 1)) + np.log(np.cosh(x))
