"""Predictions of new rows from draws of a posterior, in chunks."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from .._arguments import explained, flag, number_between, shown, whole_number
from ..errors import NotApplicable, Text
from ..formula.errors import FormulaError, listed
from .fitted import Fitted, Groups
from .new_rows import KEEP, Chunk, Effects, NewRowExtras, NewRows
from .times import TIME_KINDS, checked_times, of_times, refuse_without_times

_NUMBERS_AT_ONCE = 4_000_000
_KINDS = ("mean", "response", "linear", *TIME_KINDS)
_NEW_LEVELS = ("error", "population", "draw")
_MISSING = ("error", KEEP)


@explained
def predict(
    posterior: Any,
    new_data: Any,
    *,
    kind: str = "mean",
    times: Sequence[float] | None = None,
    draws: int | None = None,
    quantiles: Sequence[float] | None = (0.05, 0.5, 0.95),
    new_levels: str = "error",
    include_group_specific: bool = True,
    trials: Any = None,
    offset: Any = None,
    groups: Any = None,
    predictors: Any = None,
    family: Any = None,
    missing: str = "error",
    rng: Any = None,
) -> Any:
    """Predict new rows from the posterior of a regression.

    Parameters
    ----------
    posterior : DataTree
        The result of `tunamh.sample` or `tunamh.read_store`, or a result read from a file.
    new_data : table
        A table with the columns of the formula. For a target made from ``X``: a matrix or table of the same columns.
    kind : "mean", "response", "linear", "survival", "hazard" or "median"
        ``"mean"``: the mean of the response; for labels the probability of 1 (with trials, of success in one trial),
        for classes the probabilities of all classes. ``"response"``: simulated responses, with their noise; with
        trials, numbers of successes; for classes, a class written as in the data. ``"linear"``: the linear predictor;
        for `tunamh.nonlinear` all linear predictors, with the dimension ``predictor``. If the formula transforms the
        response, such as ``log(y)``, predictions are on the transformed scale. For times to event there are three more
        kinds. ``"survival"``: the probability that the event has not happened before ``times``. ``"hazard"``: the rate
        of events at ``times``, among rows without an earlier event. ``"median"``: half of the events happen before this
        time.
    times : sequence, optional
        The times at which the predictions are computed, for ``kind="survival"`` and ``"hazard"``. The result has a
        dimension ``time``.
    draws : int, optional
        Number of posterior draws to use, evenly spaced. Default: at most 1000.
    quantiles : sequence, optional
        The quantiles to return for each row, as probabilities. None: return the draws themselves; this needs memory for
        rows times draws numbers.
    new_levels : "error", "population" or "draw"
        What to do with groups that are not in the data of the fit: raise an error, set their effect to zero (a typical
        group), or draw their effect from the distribution of the group effects. With ``"population"`` the table does
        not need the columns of groups; without these columns, all rows are predicted for a typical group.
    include_group_specific : bool
        False: leave all group effects out, also those of known groups (brms: ``re_formula=NA``).
    trials, offset, groups, predictors
        The same arguments as for the target, but with the values of the new rows. You do not need them if the target
        was made from a formula. If the target had one number of ``trials`` for all rows, it is also used for the new
        rows.
    family : optional
        Your own family (`tunamh.family`) again, because a result does not contain code. It is needed only for
        ``"mean"`` and ``"response"``.
    missing : "error" or "keep"
        What to do with rows that have a missing value in a column that the formula needs: raise an error, or keep the
        row with NaN as its prediction.
    rng : seed, optional
        The seed of the simulated responses and effects.

    Returns
    -------
    xarray.Dataset
        ``mean``, ``sd`` and a variable for each quantile (``q5``, ``q50``, ``q95``), with the dimension ``row`` (and
        ``class``). If ``new_data`` is a pandas table, ``row`` has its index. ``.to_dataframe()`` has one line for each
        row. With ``quantiles=None`` the result is a DataArray of draws (sample, row). For simulated classes there are
        no ``mean`` and ``sd``: ``mode`` is the most frequent class, and there are quantiles only for ordered classes
        (`Ordinal`).

    Examples
    --------
    >>> tunamh.predict(posterior, new_flights).to_dataframe()
    >>> tunamh.predict(posterior, new_flights, kind="response", rng=1)
    """
    for name, value, known in (
        ("kind", kind, _KINDS),
        ("new_levels", new_levels, _NEW_LEVELS),
        ("missing", missing, _MISSING),
    ):
        if value not in known:
            raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, got {shown(value)}.")
    wanted = None if draws is None else whole_number("draws", draws, 1)
    at_times = checked_times(kind, times)
    at = None if quantiles is None else [number_between("quantiles", q, 0.0, 1.0, ends="both") for q in quantiles]
    fitted = Fitted.open(posterior, wanted, family)
    refuse_without_times(fitted, kind)
    effects = Effects.of(flag("include_group_specific", include_group_specific), new_levels)
    rows = NewRows(fitted, new_data, NewRowExtras(offset, trials, groups, predictors), effects=effects, missing=missing)
    if kind == "response":
        rows.refuse_missing_trials()
    predictor = Predictor(fitted, new_levels, np.random.default_rng(rng))
    size = max(1, predictor.rows_at_once // (1 if at_times is None else len(at_times)))
    found = [_all_rows(_chunk(predictor, one, kind, at, at_times), one.kept) for one in rows.chunks(size)]
    return _as_xarray(found, fitted, kind, at, rows.index, at_times)


class Predictor:
    """Computes linear predictors and parameters for chunks of rows."""

    def __init__(self, fitted: Fitted, new_levels: str, rng: np.random.Generator, argument: str = "new_levels"):
        self.fitted, self.new_levels, self.rng = fitted, new_levels, rng
        self._way_out = f"{argument}='population'", f"--{argument.replace('_', '-')} population"
        self._unseen: dict[tuple[str, str], np.ndarray] = {}
        self.classes = max(1, fitted.theta.shape[1] // max(1, int(fitted.about["dim"])))

    @property
    def rows_at_once(self) -> int:
        return max(1, _NUMBERS_AT_ONCE // (len(self.fitted.picked) * (self.classes + 1)))

    def linear(self, chunk: Chunk) -> np.ndarray:
        """Return the linear predictors: an array (draws, rows), or (draws, rows, classes - 1)."""
        columns, theta, dim = chunk.columns, self.fitted.theta, int(self.fitted.about["dim"])
        if columns.dim != dim:
            raise FormulaError(f"the formula makes {columns.dim} columns, and the result has coefficients of {dim}.")
        block = columns.block()
        parts = [block.matmat(np.ascontiguousarray(theta[:, k * dim : (k + 1) * dim].T)).T for k in range(self.classes)]
        eta = np.stack(parts, axis=-1) if self.fitted.per_class else parts[0]
        if chunk.offset is not None:
            eta = eta + (chunk.offset if eta.ndim == 2 else chunk.offset[:, None])
        for group in self.fitted.groups:
            added = self._added(group, chunk) if group.parameter is None else None
            if added is None:
                continue
            if group.predictor is None:
                eta = eta + added
            else:
                eta[:, :, group.predictor] += added
        return eta

    def _added(self, group: Groups, chunk: Chunk) -> np.ndarray | None:
        """What the effects of a factor add to a predictor, (draws, rows); None where they do not count."""
        found = chunk.groups[group.given]
        if found is None:
            return None
        codes, Z = found
        return np.einsum("nq,snq->sn", Z, self._effects(group, codes.levels)[:, codes.codes])

    def _effects(self, group: Groups, levels: tuple[str, ...]) -> np.ndarray:
        """Of some levels, (draws, levels, columns)."""
        if group.effects is None and self.new_levels == "error":
            raise NotApplicable(
                Text.of(
                    f"the result has no draws of the effects of {group.name} (keep_effects): ",
                    self._way_out,
                    " or 'draw' predicts rows of groups that are not known.",
                )
            )
        place = {level: k for k, level in enumerate(group.levels)} if group.effects is not None else {}
        unknown = [level for level in levels if level not in place]
        if unknown and self.new_levels == "error":
            raise FormulaError(
                Text.of(
                    f"{group.name} has the level{'s' * (len(unknown) > 1)} "
                    f"{listed([repr(one) for one in unknown])}, which the data of the fit did not have: set ",
                    self._way_out,
                    " (its effect is zero) or 'draw' (its effect is drawn from the distribution of the groups).",
                )
            )
        n, q = len(self.fitted.picked), len(group.columns)
        found = np.zeros((n, len(levels), q))
        for k, level in enumerate(levels):
            if level in place:
                found[:, k] = group.effects[:, place[level]]  # type: ignore[index]
            elif self.new_levels == "draw":
                found[:, k] = self._drawn(group, level)
        return found

    def _drawn(self, group: Groups, level: str) -> np.ndarray:
        """The same effects wherever the level comes again."""
        if group.related:
            raise NotApplicable(
                f"{group.name} has no level {level}, and the relation of this level to the others is not known: add it "
                "to the matrix of the model (levels of the matrix need no rows)."
            )
        key = f"{group.name}: {group.columns[0]}", level
        if key not in self._unseen:
            root = np.linalg.cholesky(group.covariance + 1e-300 * np.eye(len(group.columns)))
            standard = self.rng.standard_normal((len(root), len(group.columns)))
            if group.df:  # one weight for all effects of a group
                standard /= np.sqrt(self.rng.gamma(0.5 * group.df, 2.0 / group.df, (len(root), 1)))
            self._unseen[key] = np.einsum("sab,sb->sa", root, standard)
        return self._unseen[key]

    def named(self, chunk: Chunk, eta: np.ndarray) -> np.ndarray:
        """Return the predictors of a `tunamh.nonlinear` model: an array (draws, rows, predictors)."""
        found = self.parameters(chunk)
        each = [np.broadcast_to(found[name], eta.shape) for name in self.fitted.named_predictors]
        return np.stack(each, axis=-1)

    def parameters(self, chunk: Chunk) -> dict[str, Any]:
        found = dict(self.fitted.parameters)
        for name, Z in chunk.others.items():
            if name in self.fitted.data_columns:
                found[name] = Z[None, :, 0]
                continue
            gamma = self.fitted.further(name)
            if gamma.ndim != 2 or gamma.shape[1] != Z.shape[1]:
                raise ValueError(f"columns of {name} are {Z.shape[1]}, but the model has {gamma.shape[-1]}.")
            effects = [self._added(one, chunk) for one in self.fitted.groups if one.parameter == name]
            eta = gamma @ Z.T + sum(one for one in effects if one is not None)
            found[name] = self.fitted.link_of(name).mean(eta)
        if chunk.trials is not None:
            found["trials"] = chunk.trials
        if chunk.stratum is not None:
            found["stratum"] = chunk.stratum
        return found


def _chunk(predictor: Predictor, chunk: Chunk, kind: str, at: list[float] | None, times: np.ndarray | None) -> Any:
    eta = predictor.linear(chunk)
    if kind == "linear":
        values = predictor.named(chunk, eta) if predictor.fitted.named_predictors else eta
    elif kind in TIME_KINDS:
        values = of_times(predictor.fitted.responses, kind, times, eta, predictor.parameters(chunk))
    else:
        responses, p = predictor.fitted.responses, predictor.parameters(chunk)
        values = responses.mean(eta, p) if kind == "mean" else responses.draw(predictor.rng, eta, p)
        if kind == "response" and predictor.fitted.classes is not None:
            return _chunk_of_classes(values.astype(np.int64), predictor.fitted, at)
    if at is None:
        return values
    with np.errstate(invalid="ignore"):
        ends = np.quantile(values, at, axis=0)
        return {"mean": values.mean(axis=0), "sd": values.std(axis=0)} | _by_quantile(at, ends)


def _all_rows(found: Any, kept: np.ndarray | None) -> Any:
    """With NaN for the rows that have missing values; of draws (draw, row) and of summaries (row)."""
    if kept is None:
        return found
    if isinstance(found, dict):
        return {name: _spread(values, kept, 0) for name, values in found.items()}
    return _spread(found, kept, 1)


def _spread(values: np.ndarray, kept: np.ndarray, axis: int) -> np.ndarray:
    shape = (*values.shape[:axis], len(kept), *values.shape[axis + 1 :])
    whole = np.full(shape, np.nan, dtype=None if values.dtype.kind in "biuf" else object)  # names of classes
    whole[(slice(None),) * axis + (kept,)] = values
    return whole


def _chunk_of_classes(codes: np.ndarray, fitted: Fitted, at: list[float] | None) -> Any:
    """Simulated classes, as the data have them; ``codes`` (draws, rows) number them from 0."""
    names = fitted.classes
    assert names is not None
    if at is None:
        return names[codes]
    counts = np.stack([(codes == k).sum(axis=0) for k in range(len(names))])
    found = {"mode": names[counts.argmax(axis=0)]}
    if not fitted.per_class:  # they are ordered
        found |= _by_quantile(at, names[np.quantile(codes, at, axis=0, method="inverted_cdf").astype(np.int64)])
    return found


def _by_quantile(at: list[float], ends: np.ndarray) -> dict[str, np.ndarray]:
    return {f"q{100 * q:.6g}": own for q, own in zip(at, ends, strict=True)}


def _as_xarray(
    found: list[Any], fitted: Fitted, kind: str, at: list[float] | None, index: Any, times: np.ndarray | None
) -> Any:
    import xarray

    coords: dict[str, Any] = {} if index is None else {"row": index}
    first = found[0] if at is None else next(iter(found[0].values()))[None]
    dims: tuple[str, ...] = ("row",)
    if times is not None:
        dims, coords["time"] = ("row", "time"), times
    elif first.ndim == 3 and fitted.named_predictors:
        dims, coords["predictor"] = ("row", "predictor"), list(fitted.named_predictors)
    elif first.ndim == 3:
        dims = ("row", "class")
        named = fitted.about.get("classes") or [str(k) for k in range(first.shape[-1])]
        coords["class"] = list(named)[-first.shape[-1] :]
    attrs = {"kind": kind, "draws": len(fitted.picked)}
    if at is None:
        values = np.concatenate(found, axis=1)
        return xarray.DataArray(values, dims=("sample", *dims), coords=coords, name=kind, attrs=attrs)
    whole = {name: (dims, np.concatenate([one[name] for one in found])) for name in found[0]}
    return xarray.Dataset(whole, coords=coords, attrs=attrs)
