"""Groups of rows, as a user gives them."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._arguments import moderate_number, settle, shown
from ..priors.half_normal import HalfNormal
from ..priors.laws import Laws
from ..priors.positive import PositivePrior, refuse_flat
from ..process.callers import users_line
from ..process.scratch import in_rows, large
from ..tables.frames import column_names
from ..tables.levels import every_level
from ..tables.matrices import aligned, as_matrix, name_of, one_column
from .covariance import df_of, scale_count
from .known_covariance import related_levels
from .relation import Relation

_UNCENTRED = 10.0  # standard deviations of a column from zero


@dataclass(frozen=True, eq=False)
class GroupEffects:
    """The effects of one factor: random intercepts ``v_g``, or random slopes ``z_i.v_g``, of its groups ``g``.

    ``z_i`` are the columns ``X`` of row ``i``. The effects are normal, ``v_g ~ N(0, Sigma)``, with unknown scales, or
    Student-t (``law=``). With several columns they also have unknown correlations. Pass the result to `MixedModel`.

    Parameters
    ----------
    codes : (N,)
        The group of every row: text, integers, or a column of categories (pandas, polars, pyarrow). If the rows come
        from `tunamh.open_rows`, pass the name of the column.
    X : (N, q) table, optional
        The columns whose coefficients vary by group. Default: random intercepts. No column of ones is added: include
        one if you want intercepts and slopes.
    name : str, optional
        The name of the factor in results. Default: the name of the pandas or polars column, otherwise ``group``.
    scale : prior of a positive parameter, or a list of them
        The prior of the standard deviations of the effects, such as ``HalfNormal(1)``. A list has one prior for each
        column of ``X``. If you pass a number, the standard deviation is known and has this value; effects of several
        columns with known standard deviations have no correlations. The default prior is half-normal. For intercepts
        its scale is 1 if the family has a link (log, logit, ...), and 2.5 times a first estimate of the residual scale
        for real responses and log times. For slopes this scale is divided by the standard deviation of the column.
    correlation : float
        The parameter ``eta`` of the LKJ prior of the correlations. With 1 the prior is uniform over correlation
        matrices; with a larger number correlations near 0 are more probable.
    law : tunamh.priors.StudentT, optional
        The distribution of the effects. ``priors.StudentT(df=4)``: a Student-t distribution with 4 degrees of freedom,
        so that a few groups can be far from the others. Several effects of one group have a multivariate Student-t
        distribution. ``scale`` is then the prior of the scale of this distribution; the standard deviation is the scale
        times ``sqrt(df / (df - 2))``. Default: normal effects.
    predictor : str, optional
        A parameter of the family, such as ``"scale"``: the effects are then added to the linear predictor of this
        parameter, so that groups can differ in the scale of their responses. ``predictors=`` of the model must have
        columns for this parameter, at least a column of ones. By default the effects are added to the main linear
        predictor, which has the columns ``X`` of the model.
    covariance : matrix, optional
        The known covariance ``K`` among the levels: the effects are ``v ~ N(0, scale^2 K)``. An example is a kinship
        matrix of animals. ``K`` is a data frame whose labels are the levels, or an array; then the levels are the row
        numbers 0, 1, 2, ... of the array. Each level has one effect. Levels of the matrix that have no rows have
        effects, too.
    precision : matrix, optional
        The inverse of ``K``, instead of ``covariance``, for example a matrix of the neighbours on a map. It may be
        sparse.

    Examples
    --------
    >>> groups = tunamh.GroupEffects(airport, scale=tunamh.HalfNormal(1))
    >>> target = tunamh.MixedModel(X, y, tunamh.Logistic(), groups)
    """

    codes: Any
    X: Any = None
    name: str | None = None
    scale: Any = None
    correlation: float = 1.0
    law: Any = None
    predictor: str | None = None
    covariance: Any = None
    precision: Any = None

    def __post_init__(self) -> None:
        if df_of(self.law) and not (self.covariance is None and self.precision is None):
            raise ValueError("levels with a known covariance have normal effects: leave law= out.")
        of: Any = self.predictor
        if of is not None and not (isinstance(of, str) and of):
            raise TypeError(f"predictor must be the name of a parameter of the family, got {shown(of)}.")
        settle(self, correlation=moderate_number("correlation", self.correlation, 0.1, 1e6))
        if self.codes is None or isinstance(self.codes, bytes | dict):
            raise _no_column(self.codes)
        name: Any = self.name
        if name is not None and not (isinstance(name, str) and name):
            raise TypeError(f"name must be a text that is not empty, got {shown(name)}.")
        for one in self.scale if isinstance(self.scale, list | tuple) else [self.scale]:
            refuse_flat("scale", one)
            if not (one is None or isinstance(one, PositivePrior)) and not isinstance(one, int | float):
                raise TypeError(
                    "scale must be a prior of a positive parameter such as tunamh.HalfNormal(1), a number (known), or "
                    f"a list of priors, one per column of X, got {shown(one)}."
                )


@dataclass(frozen=True, eq=False)
class Grouping:
    """A factor after reading: codes 0 to G - 1, names of levels, columns of effects, and priors of scales.

    ``known`` is the precision of the effects if it is known, otherwise None. Levels in ``pinned`` have no effects.
    ``df`` are the degrees of freedom of Student-t effects, 0 for normal ones. ``predictor`` is the number of the
    predictor to which the effects are added; None means every predictor with the coefficients. Results name it by its
    class (``label``) or by the parameter of the family (``parameter``). ``given`` is the position among the user's
    factors. ``related`` is the known covariance between levels, None if they are independent.
    """

    name: str
    codes: np.ndarray
    levels: list[str]
    Z: np.ndarray
    columns: list[str]
    laws: Laws | None
    correlation: float
    known: np.ndarray | None = None
    pinned: np.ndarray | None = None
    df: float = 0.0
    predictor: int | None = None
    label: str | None = None
    given: int | None = None
    parameter: str | None = None
    related: Relation | None = None

    def of_class(self, predictor: int, label: str, given: int) -> Grouping:
        """Return the same groups with effects for one class.

        Results name a column ``B`` or ``x[B]``, with the label of the class.
        """
        columns = [f"{column}[{label}]" if column else label for column in self.columns]
        return replace(self, columns=columns, predictor=predictor, label=label, given=given)

    @property
    def q(self) -> int:
        return self.Z.shape[1]

    @property
    def groups(self) -> int:
        return len(self.levels)

    @property
    def scales(self) -> int:
        """Return the number of unknown coordinates of the covariance."""
        return 0 if self.known is not None else scale_count(self.q)

    @property
    def own_scales(self) -> np.ndarray:
        """Return the standard deviation of each level's effect in units of the scale: 1, unless levels have a known
        covariance.
        """
        return np.ones(self.groups) if self.related is None else np.sqrt(self.related.variances)

    @property
    def free(self) -> np.ndarray:
        """Return a boolean array: True for each level that has effects."""
        return np.ones(self.groups, bool) if self.pinned is None else ~self.pinned

    def of_rows(self, which: Any, unit: float) -> Grouping:
        """Return the same groups for some rows, by a slice or row numbers, with columns divided by ``unit``."""
        return replace(self, codes=self.codes[which], Z=self.Z[which] if unit == 1 else self.Z[which] / unit)

    def inside(self, other: Grouping) -> np.ndarray | None:
        """Return for each group the group of ``other`` that contains it, as a school contains its classes.

        The result is None if a group belongs to several groups of ``other``.
        """
        parent = np.zeros(self.groups, np.int64)
        parent[self.codes] = other.codes
        return parent if (parent[self.codes] == other.codes).all() else None

    def same_columns(self, other: Grouping) -> list[tuple[int, int]]:
        """Return pairs of columns of effects that are equal in all rows; for each column the first such column of
        ``other``.
        """
        pairs = [(a, c) for a in range(self.q) for c in range(other.q) if (self.Z[:, a] == other.Z[:, c]).all()]
        return [pair for k, pair in enumerate(pairs) if k == 0 or pairs[k - 1][0] != pair[0]]

    def mean_squares(self, unit: float) -> list[list[float]]:
        """Return the mean of ``z z'`` over all rows, in the user's units.

        Effects with the covariance ``Sigma`` add ``trace(Sigma E[z z'])`` to the variance of a row.
        """
        Z = self.Z * unit * self.own_scales[self.codes, None]
        return [[float(f"{value:.10g}") for value in row] for row in Z.T @ Z / max(1, len(Z))]

    def rows_by_level(self, origin: tuple[np.ndarray, int] | None) -> list[int]:
        """Return how many of the user's rows each level has. A row with trials may have become two rows."""
        codes = self.codes if origin is None else self.codes[np.unique(origin[0], return_index=True)[1]]
        return [int(count) for count in np.bincount(codes, minlength=self.groups)]


def factors_given(groups: Any, X: Any) -> list[GroupEffects]:
    """Return one entry for each factor that a user passes. Objects of pandas are matched with ``X`` by row labels."""
    found = [one if isinstance(one, GroupEffects) else GroupEffects(one) for one in _listed(groups)]
    for k, one in enumerate(found):
        codes, Z = aligned(X, "X", **{f"the codes of groups[{k}]": one.codes, f"X of groups[{k}]": one.X})
        found[k] = replace(one, codes=codes, X=Z)
    return found


def _listed(groups: Any) -> list[Any]:
    """One entry per factor."""
    if groups is None:
        raise TypeError("groups is None: give at least one tunamh.GroupEffects(codes), or use tunamh.GLM.")
    if not isinstance(groups, list | tuple):
        return [groups]
    single = [one for one in groups if not isinstance(one, GroupEffects) and np.ndim(one) == 0]
    if single:
        raise TypeError(
            f"groups is a list with single values such as {single[0]!r}: give one column of codes per factor, "
            "groups=[df['airport']], not names of columns or a list of labels."
        )
    return list(groups)


def read_groups(given: list[GroupEffects], n_rows: int, unit: float = 1.0) -> list[Grouping]:
    """Return all factors with different names. ``unit`` is the unit of default priors."""
    if not given:
        raise ValueError("groups is empty: give at least one tunamh.GroupEffects(codes), or use tunamh.GLM.")
    found = [_read(one, n_rows, "group" if len(given) == 1 else f"group{k + 1}", unit) for k, one in enumerate(given)]
    names = [one.name for one in found]
    if len(set(names)) < len(names):
        raise ValueError(f"groups have the names {', '.join(names)}: give every factor a different name (name=).")
    _warn_of_same_groups(found)
    return found


def _warn_of_same_groups(found: list[Grouping]) -> None:
    """Two factors that divide the rows alike: as ``(1 | room/school)`` does, if rooms lie in schools."""
    for k, one in enumerate(found):
        for other in found[:k]:
            if one.groups != other.groups or one.parameter != other.parameter or (one.related or other.related):
                continue
            if one.same_columns(other) and one.inside(other) is not None:
                warnings.warn(
                    f"{other.name} and {one.name} are the same groups of rows, so that the data cannot tell their "
                    "effects apart. Leave one of them out; of nested groups the larger ones come first: "
                    "(1 | school/room) for rooms in schools.",
                    stacklevel=users_line(),
                )


def _no_column(codes: Any) -> TypeError:
    return TypeError(
        f"the codes of a group must be a column, one entry per row, such as df['airport'], got {shown(codes)}."
    )


def _read(effects: GroupEffects, n_rows: int, fallback: str, unit: float) -> Grouping:
    if isinstance(effects.codes, str):
        raise _no_column(effects.codes)
    name = effects.name or name_of(effects.codes) or fallback
    if effects.predictor is not None and effects.name is None:
        name = f"{effects.predictor}_{name}"
    codes, levels = _codes(effects.codes, str(name), n_rows)
    related: Relation | None = None
    if effects.covariance is not None or effects.precision is not None:
        codes, levels, related = related_levels(effects.covariance, effects.precision, str(name), codes, levels)
    if effects.X is None:
        Z, columns = large((n_rows, 1)), [""]
        Z[:] = 1.0
    else:
        Z = in_rows(as_matrix(effects.X, f"X of {name}", or_vector=True))
        if len(Z) != n_rows:
            raise ValueError(f"X of {name} has {len(Z)} rows, but there are {n_rows}.")
        if not np.isfinite(Z).all():
            row, column = np.argwhere(~np.isfinite(Z))[0]
            named = (column_names(effects.X) or [str(j) for j in range(Z.shape[1])])[int(column)]
            raise ValueError(f"X of {name} has {Z[row, column]:g} in row {row}, column {named}; drop or fill it first.")
        label = name_of(effects.X)
        columns = column_names(effects.X) or ([label] if label else [str(j) for j in range(Z.shape[1])])
    q, df = Z.shape[1], df_of(effects.law)
    if related is not None and q > 1:
        raise ValueError(
            f"{name} has a known covariance among levels and {q} columns of effects: give every column a factor of its "
            "own, with the same codes and the same matrix."
        )
    given = list(effects.scale) if isinstance(effects.scale, list | tuple) else [effects.scale] * q
    if len(given) != q:
        raise ValueError(f"scale of {name} has {len(given)} priors, but there are {q} columns of effects.")
    if all(isinstance(one, int | float) for one in given):
        if q > 1 and effects.correlation != 1.0:
            raise ValueError(
                f"correlation of {name} has no meaning beside known standard deviations: such effects have no "
                "correlations. Leave correlation out, or give priors as scale=."
            )
        sizes = np.array([moderate_number(f"scale of {name}", one) for one in given])
        known, of = np.diag(sizes**-2.0), effects.predictor
        return Grouping(
            str(name), codes, levels, Z, columns, None, effects.correlation, known, df=df, parameter=of, related=related
        )
    if any(isinstance(one, int | float) for one in given):
        raise TypeError(f"scale of {name} mixes numbers and priors: give one kind for all columns.")
    _warn_of_uncentred(str(name), Z, columns)
    sizes = np.where(np.ptp(Z, axis=0) > 0, np.std(Z, axis=0), np.maximum(np.abs(Z[0]), 1e-300))
    unit = unit if effects.predictor is None else 1.0  # further predictors stand behind a link
    laws = [
        (HalfNormal(float(f"{unit / size:.3g}")) if one is None else one).law()
        for one, size in zip(given, sizes, strict=True)
    ]
    joined = Laws(*(np.concatenate(parts) for parts in zip(*laws, strict=True)))
    of = effects.predictor
    return Grouping(
        str(name), codes, levels, Z, columns, joined, effects.correlation, df=df, parameter=of, related=related
    )


def _codes(values: Any, name: str, n_rows: int) -> tuple[np.ndarray, list[str]]:
    """Codes of the levels that occur, and these, in their order."""
    found = every_level(one_column(values, name), f"the codes of {name}")
    codes = found.codes
    if (codes < 0).any():
        raise ValueError(
            f"the codes of {name} have a missing value in row {int(np.argmax(codes < 0))}: drop such rows, or give "
            "them a level of their own."
        )
    if len(codes) != n_rows:
        raise ValueError(f"the codes of {name} have {len(codes)} entries, but there are {n_rows} rows.")
    if len(found.levels) == 1:
        raise ValueError(
            f"{name} has one level, {found.levels[0]!r}, in all rows: the data cannot separate its effect from the "
            "intercept. Leave the factor out."
        )
    return np.ascontiguousarray(codes, dtype=np.int64), list(found.levels)


def warn_of_single_rows(groupings: list[Grouping]) -> None:
    """Warn if a factor has one row per level, and the data hardly separate its effects from errors.

    This is so beside an unknown scale of the errors, and with single labels. In other models such effects are useful:
    counts that vary more than their law allows, errors of known size.
    """
    for one in groupings:
        if one.groups == len(one.codes) and one.related is None:
            warnings.warn(
                f"every row has its own level of {one.name}: the data hardly separate the group effects from the "
                "errors, and the chains move slowly. Is this the column you meant?",
                stacklevel=users_line(),
            )


def _warn_of_uncentred(name: str, Z: np.ndarray, columns: list[str]) -> None:
    if Z.shape[1] < 2:
        return
    spread = np.std(Z, axis=0)
    far = (spread > 0) & (np.abs(np.mean(Z, axis=0)) > _UNCENTRED * spread)
    if far.any():
        column = columns[int(np.argmax(far))]
        warnings.warn(
            f"column {column} of the effects of {name} is far from zero compared with its standard deviation: then "
            "its slopes and the intercepts are strongly correlated, and the chains move slowly. Centre the column.",
            stacklevel=users_line(),
        )
