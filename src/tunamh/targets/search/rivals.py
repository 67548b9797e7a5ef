"""Modes that one search may miss: descents on a sample of the rows, from fits to tiny random subsamples.

For regressions whose energies are not known to be convex: users' own, and those with an unknown scale, dispersion,
shape or degrees of freedom. Models without columns of their own have `spread_starts`. Of others, rows say which
predictors they would like best, by their responses or by their energies themselves; a fit to as many rows as there are
coefficients is right whenever all of these rows are good (Rousseeuw 1984). Of these fits every one is followed that is
lower than all its neighbours.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ..coordinates.base import Scale
from ..families.base import Responses
from ..observations.base import Observations
from ..observations.observed import TransformedRows
from .many_starts import subsets_of
from .newton import Mode, descend, near
from .spread_starts import scales, spread_starts

if TYPE_CHECKING:
    from ...rows.source import Rows
    from ..glm import GLM

_ROWS, _FEW_ROWS = 2000, 300
_STEPS = 40
_NEIGHBOURS = 5  # a start that is lower than so many next to it is followed
_MOST_FOLLOWED = 30
_OTHER_EXTRAS = 0.0, 2.0, -2.0  # logarithms and logits of what rows share, beside where the usual search begins
_NOISE = 5.0  # times what a mode moves by when some rows stand for all
_GRID = np.r_[-np.geomspace(1e4, 0.02, 80), 0.0, np.geomspace(0.02, 1e4, 80)]
_ONE_SIDED = 2.0  # where a row's energy falls for ever, a predictor that says so
_WAY = np.linspace(0.0, 1.0, 9)
_MOST_COEFFICIENTS = 1000  # beyond, fits to subsamples take too much memory


def rival_modes(target: GLM, known: Mode) -> np.ndarray:
    """Return points (k, d) near modes of a sample of the rows, except the mode to which ``known`` belongs."""
    if target.dim > _MOST_COEFFICIENTS:
        return np.empty((0, target.dim))
    with np.errstate(all="ignore"):  # starts far from all rows overflow, and are dropped
        sample = target.sample_of(_ROWS, seed=2)
        sample = target.on_rows(np.arange(target.n_rows)) if sample is target else sample  # in memory
        few = sample.sample_of(_FEW_ROWS, seed=3)
        starts = _starts(few)
        ends = _ends(few, _lower_than_neighbours(few, starts))
        if few is not sample:
            ends = _ends(sample, np.array([mode.point for mode in ends]).reshape(-1, target.dim))
        home = _home(target, sample, known)
        return np.array([mode.point for mode in ends if home is None or not near(mode.point, home)]).reshape(
            -1, target.dim
        )


def _home(target: GLM, sample: GLM, known: Mode) -> Mode | None:
    """The sample's mode that is ``known``, moved by no more than a sample's noise; None where there is no such one."""
    if not (known.found and known.posterior.metric().positive_definite):
        return None
    ends = _ends(sample, known.point[None, :])
    noise = _NOISE * np.sqrt(max(target.n_rows / sample.n_rows - 1, 0.1))
    return ends[0] if ends and near(ends[0].point, known, noise) else None


def _ends(target: GLM, starts: np.ndarray) -> list[Mode]:
    """Minima that the starts lead to, each once."""
    found: list[Mode] = []
    for start in starts:
        if any(_downhill(target, start, mode) for mode in found):
            continue
        mode = descend(target, start, _STEPS)
        finite = mode.found and np.isfinite(mode.posterior.hessian).all()
        if finite and mode.posterior.metric().positive_definite and not any(near(mode.point, other) for other in found):
            found.append(mode)
    return found


def _downhill(target: GLM, start: np.ndarray, mode: Mode) -> bool:
    """Whether the straight way from a start to a mode leads downhill all along: far cheaper than a descent."""
    way = start + _WAY[:, None] * (mode.point - start)
    return bool((np.diff(target.energies_at(way)) < 0).all())


# ------------------------------------------------------------------------------------------------------- starts


def _lower_than_neighbours(target: GLM, starts: np.ndarray) -> np.ndarray:
    """The starts whose energy is lower than those of the starts next to them, by their rows' first predictors."""
    starts = np.unique(_rounded(starts), axis=0)
    energies = target.energies_at(starts)
    kept = np.isfinite(energies)
    order = np.flatnonzero(kept)[np.argsort(energies[kept])]
    starts, energies = starts[order], energies[order]
    if len(starts) <= _MOST_FOLLOWED:
        return starts
    seen = _seen(target, starts)
    nearest = np.array([np.argsort(np.median(np.abs(seen - one), axis=1))[1 : 1 + _NEIGHBOURS] for one in seen])
    lowest = energies <= energies[nearest].min(axis=1)
    return starts[lowest][:_MOST_FOLLOWED]


def _seen(target: GLM, starts: np.ndarray) -> np.ndarray:
    """Per start the first predictors of some rows; without a main predictor the parameters in units of their priors."""
    if target.user_family.named_predictors:
        return starts / scales(target)
    rows = _given(target.observations)
    step = max(1, len(rows.y) // 50)
    coefficients = target.to_user(starts)[:, : len(target.row_layout.names)]
    return np.array([rows.X.matvec(point)[::step] for point in coefficients])


def _rounded(points: np.ndarray) -> np.ndarray:
    """Six digits of each number: where rows repeat, so do fits to them."""
    unit = 10.0 ** np.floor(np.log10(np.where(points == 0, 1.0, np.abs(points))))
    return np.round(points / unit, 5) * unit


def _starts(target: GLM) -> np.ndarray:
    """Return fits of the coefficients to few rows each, with several values of the other unknown parameters."""
    if target.user_family.named_predictors:
        return spread_starts(target)
    rows = _given(target.observations)
    first = target.search_starts()
    rng = np.random.default_rng(0)
    fits = _fits_to_few_rows(rows, target, rng)
    form = target.row_layout.form
    if form is None:
        return np.array([*first, *fits])
    begin = np.asarray(target.row_layout.start, dtype=np.float64)
    found, d, scalar = list(first), form.coefficients, _scalars(target)
    for k, fit in enumerate(fits):
        natural = np.concatenate([fit, begin[d:]])
        if isinstance(form, Scale):
            size = float(np.median(np.abs(rows.y - rows.X.matvec(fit)))) / 0.6745
            natural[d] = size if size > 0 else begin[d]
        point = form.to_chain(natural)
        point[scalar] += _OTHER_EXTRAS[k % len(_OTHER_EXTRAS)]
        found.append(point)
    return np.array(found)


def _scalars(target: GLM) -> np.ndarray:
    """Return the positions of numbers that all rows share, except a scale, which the residuals determine."""
    form = target.row_layout.form
    sizes = [extra.size for extra in target.row_layout.extras]
    alone = np.repeat([size == 1 for size in sizes], sizes)
    at = form.extra_at[alone]  # type: ignore[union-attr]
    return at[at != form.tau_at] if isinstance(form, Scale) else at


def _fits_to_few_rows(rows: Rows, target: GLM, rng: np.random.Generator) -> list[np.ndarray]:
    """Least squares on d rows each, of predictors that a row would like: one of these, where there are several."""
    X, offset = rows.X.dense(), rows.X.matvec(np.zeros(len(target.row_layout.names)))
    liked = [[value] for value in rows.y] if target.user_family.responses is Responses.REALS else _liked(target)
    counts = np.flatnonzero(target.weight(rows) > 0)
    fits = []
    for subset in subsets_of(len(counts), X.shape[1], rng):
        which = counts[subset]
        alone = len(which) == 1  # then all that it likes; else one for each
        wishes = liked[which[0]] if alone else [[rng.choice(liked[i]) for i in which]]
        fits += [np.linalg.lstsq(X[which], np.atleast_1d(wish) - offset[which])[0] for wish in wishes]
    return [fit for fit in fits if np.isfinite(fit).all()]


def _liked(target: GLM) -> list[np.ndarray]:
    """Per row, where its energy has local minima in its first predictor, the others being as the search begins.

    Looked for about 0 and about the response, on grids that grow finer towards these.
    """
    rows = target.observations.rows()  # type: ignore[attr-defined]
    n, family = len(rows.y), target.terms
    begin = np.zeros((target.predictors, n)) if target.predictors > 1 else np.zeros(n)
    if target.row_layout.start is not None:
        begin = rows.X.matvec(target.to_chain(np.asarray(target.row_layout.start, dtype=np.float64)))
    minima: list[list[float]] = [[] for _ in range(n)]
    for middle in (np.zeros(n), rows.y):
        grid = middle[:, None] + _GRID
        energies = np.empty_like(grid)
        for k in range(len(_GRID)):
            eta = begin.copy()
            eta[(0,) if target.predictors > 1 else slice(None)] = grid[:, k]
            energies[:, k] = family.energies(eta, rows.y)
        energies = np.where(np.isnan(energies), np.inf, energies)
        left, here, right = energies[:, :-2], energies[:, 1:-1], energies[:, 2:]
        for i, k in zip(*np.nonzero((here < left) & (here <= right)), strict=True):
            minima[i].append(grid[i, k + 1])
    falls = np.where(energies[:, -1] < energies[:, 0], _ONE_SIDED, -_ONE_SIDED)
    return [np.array(found) if found else falls[i : i + 1] for i, found in enumerate(minima)]


def _given(observations: Observations) -> Rows:
    """The rows of a sample as a user gave them."""
    while isinstance(observations, TransformedRows):
        observations = observations.base
    return observations.rows()  # type: ignore[attr-defined]
