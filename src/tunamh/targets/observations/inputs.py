"""Whatever a user gives as ``X`` and ``y``, as observations."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..._arguments import shown
from ...errors import NotApplicable
from ...rows.in_memory import fits, load_columns
from ...rows.named_columns import features_named, rows_by_columns
from ...rows.pieces import has_cache
from ...rows.source import Rows, Source
from ...rows.table_source import SomeColumns, Tables
from ...tables.columns import Factor
from ...tables.frames import Frame, column_names
from ...tables.levels import classes, every_level
from ...tables.libraries import is_sparse
from ...tables.matrices import aligned, as_matrix, as_vector, is_plain, named_frame, one_column
from ..designs import DenseDesign, Design
from ..designs.base import NamedDesign
from ..designs.indexed import of_sparse, with_factors
from ..designs.with_offset import DesignWithOffset
from ..families.base import BaseFamily, Responses
from ..families.registry import FAMILIES, of_responses
from .base import Observations
from .censored import check_codes
from .from_source import FromSource, validated
from .observed import InMemory, Seal

_MOST_WEIGHT = 1e20  # with more, a posterior is narrower than the rounding of its parameters


class RowExtras(NamedTuple):
    """The arguments that a user may pass beside ``X`` and ``y``."""

    weights: Any = None
    offset: Any = None
    trials: Any = None
    censored: Any = None
    predictors: Any = None
    entry: Any = None
    strata: Any = None


def observe(X: Any, y: Any, beside: RowExtras, family: BaseFamily) -> Observations:
    """Return the observations of a user's ``X`` and ``y``, checked by the family."""
    _refuse_what_means_nothing(beside, family)
    if isinstance(X, SomeColumns | Tables):
        named = by_name(X, y, beside)
        if not fits(named.tables, named.columns, needed_by="further predictors" if named.predictors else None):
            return _from_tables(named, family)
        X, y, beside = named.at_hand(load_columns(named.tables, named.columns))
    if type(X).__module__.partition(".")[0] in ("dask", "dask_expr"):
        raise TypeError(
            "X is a Dask collection: open it as rows with all its columns, tables = tunamh.open_rows(frame), then give "
            "X=tables[['distance', 'hour']] and y='late' by name."
        )
    if isinstance(X, Observations):  # which were looked at when their pieces were mapped
        return X
    if isinstance(X, Source):
        for name, given in {"y": y, **beside._asdict()}.items():
            if given is not None:
                raise TypeError(f"a source gives its own {name}: leave {name}= out, got {shown(given)}.")
        return validated(FromSource(X), family.check)
    if y is None:
        raise TypeError("y is missing: give the responses, one per row of X, or a source that has them.")
    return _of_arrays(X, y, beside, family)


def labels_in_order(X: Any, rows: Observations) -> list[str] | None:
    """Return the columns of a user's table in the user's order, or None if no column has categories.

    The coefficients of categories come after all others, so their order differs from that of the table.
    """
    return column_names(X) if rows.factor_names else None


def _of_arrays(X: Any, y: Any, beside: RowExtras, family: BaseFamily) -> InMemory:
    """Arrays or data frames: aligned, read as numbers, checked and sealed."""
    beside = beside._replace(offset=_for_all(beside.offset, X), trials=_for_all(beside.trials, X))
    vectors = beside._asdict()
    del vectors["predictors"], vectors["strata"]
    tables = {f"predictors[{name!r}]": table for name, table in (beside.predictors or {}).items()}
    y, strata, *others = aligned(X, "X", y=y, strata=beside.strata, **vectors, **tables)
    of_tables = others[len(vectors) :]
    others, tables = others[: len(vectors)], dict(zip(beside.predictors or {}, of_tables, strict=True))
    design, names = as_design(X)
    n_rows = design.n_rows
    y, names_of_classes = _responses(y, family)
    y = as_vector(y, "y", n_rows)
    weights, offset, trials, censored, entry = (
        None if given is None else as_vector(given, name, n_rows) for name, given in zip(vectors, others, strict=True)
    )
    if offset is not None:
        design = DesignWithOffset(design, offset)
    for name in family.data_columns:
        if name in tables and np.ndim(tables[name]) == 1:
            tables[name] = as_vector(tables[name], f"predictors[{name!r}]", n_rows)[:, None]
    given_columns = [as_design(table, f"predictors[{name!r}]") for name, table in tables.items()]
    for (one, _), name in zip(given_columns, beside.predictors or {}, strict=True):
        if one.n_rows != n_rows:
            raise ValueError(f"predictors[{name!r}] has {one.n_rows} rows, but X has {n_rows}.")
    if trials is None:
        family.check(y)
    if censored is not None:
        check_codes(censored)
    if entry is not None:
        _check_entry(entry, y)
    held = {"y": y, "weights": weights, "trials": trials, "censored": censored, "entry": entry}
    columns: dict[str, np.ndarray] = {}
    labels = {"X": names}
    for (one, of_one), name in zip(given_columns, tables, strict=True):
        labels[f"predictors[{name!r}]"] = of_one
        columns |= one.arrays(f"predictors[{name!r}]")
    arrays = {name: array for name, array in held.items() if array is not None}
    seal = Seal({**design.arrays(), **arrays, **columns}, labels)
    if trials is not None:
        return replace(family.of_trials(InMemory(design, y, weights, names, seal), trials), counts=y)
    ready = [table if isinstance(table, NamedDesign) else None for table in tables.values()]
    return InMemory(
        design,
        y,
        weights,
        names,
        seal,
        censored,
        others=tuple(one for one, _ in given_columns),
        other_names=tuple(labels for _, labels in given_columns),
        described=tuple(beside.predictors or ()),
        other_priors=tuple(None if one is None else one.prior for one in ready),
        other_origins=tuple(None if one is None else one.origin for one in ready),
        classes=names_of_classes,
        entry=entry,
        strata=None if strata is None else _strata(strata, n_rows),
    )


def as_design(X: Any, what: str = "X") -> tuple[Design, list[str] | None]:
    """Return the design of a table, and the names of its parameters, if it has names. Errors call the table ``what``.

    Columns of categories become codes, with a parameter for each level that occurs except the first, the reference.
    Sparse matrices stay sparse. Everything else becomes a matrix of numbers.
    """
    if isinstance(X, NamedDesign):
        return X.design, X.names
    if is_plain(X):
        return DenseDesign(as_matrix(X, what)), None
    if is_sparse(X):
        return of_sparse(X, what), None
    frame = named_frame(X, what)
    if frame is None:
        return DenseDesign(as_matrix(X, what)), None
    found = {name: classes(column, what, f", column {name}", text=False) for name, column in frame.columns.items()}
    factors = {name: factor for name, factor in found.items() if factor is not None}
    if factors:
        return with_factors(frame, what, factors)
    return DenseDesign(as_matrix(frame, what)), frame.names


def _strata(given: Any, n_rows: int) -> Factor:
    """The stratum of every row: numbers, text or categories."""
    found = every_level(one_column(given, "strata"), "strata")
    if len(found) != n_rows:
        raise ValueError(f"strata has {len(found)} entries, but there are {n_rows} rows.")
    if found.missing.any():
        raise ValueError(f"strata has a missing value in row {int(np.argmax(found.missing))}: drop or fill such rows.")
    return found.packed()


def _check_entry(entry: np.ndarray, stop: np.ndarray) -> None:
    for wrong, what in ((entry < 0, "must not be negative"), (stop <= entry, "must be before the time in y")):
        if wrong.any():
            row = int(np.argmax(wrong))
            raise ValueError(
                f"entry {what}, but row {row} has {entry[row]:g} and y is {stop[row]:g} "
                f"({int(wrong.sum()):,} rows in all)."
            )


class Named(NamedTuple):
    """The names of the columns of a regression in a table.

    ``X`` are the columns of the main predictor. ``vectors`` maps a role, such as the response, to a column.
    ``predictors`` are the columns of further predictors.
    """

    tables: Tables
    X: list[str]
    vectors: dict[str, str]
    predictors: dict[str, list[str]]

    @property
    def columns(self) -> list[str]:
        """Return the names of all columns, each name once."""
        others = [name for columns in self.predictors.values() for name in columns]
        return list(dict.fromkeys([*self.X, *self.vectors.values(), *others]))

    def at_hand(self, table: Frame) -> tuple[Frame, Any, RowExtras]:
        """Return ``X``, ``y`` and the other arguments, from columns in memory."""
        given: Any = {role: table.columns[name] for role, name in self.vectors.items()}
        if self.predictors:
            given["predictors"] = {name: table.select(columns) for name, columns in self.predictors.items()}
        y = given.pop("y")
        return table.select(self.X), y, RowExtras(**given)


def by_name(X: Any, y: Any, beside: RowExtras, apart: Sequence[str] = ()) -> Named:
    """Return the names of columns that a user passes, if ``X`` consists of tables.

    The columns in ``apart`` belong to ``X`` only if the user names them.
    """
    if y is None:
        raise TypeError("y is missing: give the name of the column that has the responses, such as y='late'.")
    tables: Tables = X.tables if isinstance(X, SomeColumns) else X
    if has_cache(tables):
        raise NotApplicable(
            "rows that were opened with cache= are for formulas, whose columns are the same from file to file: use "
            "tunamh.regression('late ~ distance + hour', rows, family=...), or open the rows without cache=."
        )
    given = {name: value for name, value in beside._asdict().items() if value is not None and name != "predictors"}
    vectors = {"y": y, **given}
    others = {*apart, *(name for name in vectors.values() if isinstance(name, str))}
    predictors = {
        str(name): columns_named(tables, of, f"predictors[{name!r}]") for name, of in (beside.predictors or {}).items()
    }
    features = X.columns if isinstance(X, SomeColumns) else [name for name in X.names if name not in others]
    return Named(tables, features_named(tables, features, vectors), vectors, predictors)


def columns_named(tables: Tables, given: Any, what: str) -> list[str]:
    """Return the names of columns of these tables: from ``tables[["a", "b"]]``, a list of names, or one name."""
    if isinstance(given, SomeColumns):
        if given.tables is not tables:
            raise ValueError(f"{what} and X come from different calls of open_rows: choose both from the same one.")
        return list(given.columns)
    names = [given] if isinstance(given, str) else given
    if not isinstance(names, list | tuple) or not all(isinstance(name, str) for name in names):
        raise TypeError(
            f"{what} must be names of columns, because X comes from tables, such as ['hour'], got {shown(given)}."
        )
    return tables[list(names)].columns


def _from_tables(named: Named, family: BaseFamily) -> Observations:
    """Rows that are read block by block, as often as they are needed."""
    of_trials = "trials" in named.vectors
    linear = not of_trials or family.linear_in_label
    rows = rows_by_columns(named.tables, named.X, dict(named.vectors), linear=linear)
    return validated(FromSource(rows), (family.for_trials() if of_trials else family).check)


def _for_all(given: Any, X: Any) -> Any:
    """One number for all rows as a vector of it; anything else stays as it is."""
    if isinstance(given, int | float | np.integer | np.floating) and not isinstance(given, bool):
        return np.full(X.shape[0] if hasattr(X, "shape") else len(X), float(given))
    return given


def _responses(y: Any, family: BaseFamily) -> tuple[Any, tuple[str, ...] | None]:
    """Numbers, and the names of classes where a family of classes was given any: text or categories."""
    if family.of_labels:
        return y, None  # labels, of which errors have their own to say
    found, kind = classes(y, "y"), type(family).__name__
    if found is None:
        return y, None
    if not family.of_classes:
        convert = "convert numbers stored as text with astype(float)" if found.kind == "text" else "give their numbers"
        raise TypeError(
            f"y holds {found.kind}, and {kind} is for numbers: {convert}. Two classes, coded as 0 and 1, are for "
            "Logistic(), more for Categorical(), ordered ones for Ordinal()."
        )
    return family.class_codes(found)


def _refuse_what_means_nothing(beside: RowExtras, family: BaseFamily) -> None:
    """Trials, censoring and further predictors are for families that know them."""
    kind = type(family).__name__
    if beside.trials is not None and not family.of_labels:
        known = _joined([f"{name}()" for name in of_responses(Responses.LABELS)])
        raise TypeError(f"trials= counts labels, for {known}; {kind} has no labels.")
    if beside.censored is not None and not family.takes_censoring:
        known = _joined([name for name, one in FAMILIES.items() if one.takes_censoring])
        raise TypeError(f"censored= is for {known} responses, not for {kind}.")
    if beside.entry is not None and not family.takes_entry:
        known = _joined([name for name, one in FAMILIES.items() if one.takes_entry])
        raise TypeError(
            f"entry= (delayed entry) is for {known}, not for {kind}: the likelihood of such a row is divided by the "
            f"probability to survive until the entry, and then there is no proved bound. "
            "tunamh.PiecewiseExponential() takes delayed entry, and its hazard has any form."
        )
    if beside.strata is not None and not family.takes_strata:
        known = _joined([name for name, one in FAMILIES.items() if one.takes_strata])
        raise TypeError(
            f"strata= is for {known}, where each stratum has its own hazard, not for {kind}: use the column as a "
            f"factor, or as groups."
        )
    if beside.predictors is not None and not isinstance(beside.predictors, Mapping):
        raise TypeError(
            f"predictors must be a dict of tables by parameter, such as {{'scale': Z}}, got {shown(beside.predictors)}."
        )
    described = family.described
    for name in beside.predictors or {}:
        if name not in described:
            named = ", ".join(described)
            what = f"its parameters with predictors of their own are {named}" if described else "it has none"
            raise ValueError(f"predictors names {name!r}, which {kind} does not describe by columns: {what}.")
    if beside.predictors and beside.censored is not None:
        raise ValueError("censored= and predictors= together are not offered: leave one of them out.")


def _joined(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def check_weights(observations: Observations, temper: float) -> None:
    """Raise an error for weights that are negative, all zero, or too large for the computation."""

    def look(rows: Rows) -> tuple[float, bool]:
        weights = rows.weights
        assert weights is not None
        if (weights < 0).any():
            row = int(np.argmax(weights < 0))
            raise ValueError(f"weights must not be negative, but row {rows.start + row} has {weights[row]:g}.")
        return float(weights.sum()), bool(weights.any())

    total, some = observations.sums(look)
    if temper * total > _MOST_WEIGHT:
        raise ValueError(f"weights add up to {total:g}, which is too large: a weight of 1 means one row.")
    if not some:
        raise ValueError("weights are all zero, so that no row counts: at least one must be positive.")
