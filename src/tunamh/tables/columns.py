"""One column of a table, as numbers or as codes of levels, and which of its values are missing.

`read_column` reads any: of pandas, polars, pyarrow and whatever else narwhals knows, of arrays and of lists.
"""

from __future__ import annotations

import contextlib
import numbers
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from itertools import compress
from typing import Any

import numpy as np

from .kinds import Unreadable, kind_of_array, kind_of_series, kind_of_value
from .libraries import as_series, narwhals

_REAL = numbers.Real | Decimal | np.bool_


@dataclass(frozen=True, eq=False)
class Numbers:
    """A number in every row, NaN where it is missing.

    ``nulls`` are the rows of which the table itself says that they have no value, None if there are none: a NaN may as
    well have been computed. A plain array may be a matrix.
    """

    values: np.ndarray
    nulls: np.ndarray | None = None

    def __len__(self) -> int:
        return len(self.values)

    @property
    def missing(self) -> np.ndarray:
        return np.isnan(self.values) if self.values.dtype.kind == "f" else np.zeros(len(self), bool)

    def take(self, which: slice | np.ndarray) -> Numbers:
        """Some rows: a slice, a mask or their numbers."""
        return Numbers(self.values[which], None if self.nulls is None else self.nulls[which])


@dataclass(frozen=True, eq=False)
class Factor:
    """A code in every row, -1 where it is missing, and the levels' names.

    ``ordered``: the levels' order means something. ``absent`` are levels that no row had when the column was read.
    ``kind`` is what the column holds, ``text`` or ``categories``.
    """

    codes: np.ndarray
    levels: tuple[str, ...]
    ordered: bool = False
    absent: tuple[str, ...] = ()
    kind: str = "categories"

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def missing(self) -> np.ndarray:
        return self.codes < 0

    def take(self, which: slice | np.ndarray) -> Factor:
        """Some rows: a slice, a mask or their numbers."""
        return Factor(self.codes[which], self.levels, self.ordered, self.absent, self.kind)

    def recoded(self, levels: Sequence[str]) -> np.ndarray:
        """Codes of other levels; -1 of those that are none of them."""
        place = {level: code for code, level in enumerate(levels)}
        new = np.array([place.get(level, -1) for level in self.levels] + [-1], dtype=np.int64)
        return new[self.codes]

    def packed(self) -> Factor:
        """With the levels only that occur."""
        return _packed(self.codes, self.levels, self.ordered, self.kind)


Column = Numbers | Factor


def read_column(values: Any, what: str) -> Column:
    """Numbers, or the levels of text and categories; a column without any value holds numbers.

    Errors call the column ``what``. Raises `Unreadable` for dates and the like.
    """
    if isinstance(values, Numbers | Factor):
        return values
    found = read_factor(values, what)
    return found if found is not None and found.levels else read_numbers(values, what)


# ------------------------------------------------------------------------------------------------------------ levels


def read_factor(values: Any, what: str, *, text: bool = True) -> Factor | None:
    """The levels that occur: of categories in their own order, of text, if asked for, sorted.

    None of any other column, and of text without any value.
    """
    if isinstance(values, Numbers | Factor):
        return values.packed() if isinstance(values, Factor) else None
    series = as_series(values)
    kind = "objects" if series is None else kind_of_series(series)
    if kind == "categories" or (kind == "text" and text):
        found = _coded(series, kind, what)
        return found if found.levels or kind == "categories" else None
    if kind != "objects" or not text:
        return None
    try:
        return _text_in(*plain_array(values if series is None else series.to_native()))
    except (TypeError, ValueError):  # rows of different lengths, which those who read numbers refuse
        return None


def _text_in(array: np.ndarray, masked: np.ndarray | None) -> Factor | None:
    if array.ndim != 1 or array.dtype.kind not in "UTO":
        return None
    there = np.ones(len(array), bool) if masked is None else ~masked
    if array.dtype.kind == "O":
        is_text = np.fromiter((isinstance(value, str) for value in array), bool, len(array))
        if not all(_is_missing(value) for value in array[there & ~is_text]):
            return None
        there = there & is_text
    if not there.any():
        return None
    levels, packed = np.unique(array[there].astype(str), return_inverse=True)
    codes = np.full(len(array), -1, dtype=np.int64)
    codes[there] = packed
    return Factor(codes, tuple(str(level) for level in levels), kind="text")


def missing_in(array: np.ndarray) -> np.ndarray:
    """Which values of a plain array are NaN, NaT, None or the like."""
    if array.dtype.kind == "O":
        return np.fromiter((_is_missing(value) for value in array), bool, len(array))
    if array.dtype.kind in "mM":
        return np.isnat(array)
    return np.isnan(array) if array.dtype.kind == "f" else np.zeros(len(array), bool)


def _is_missing(value: Any) -> bool:
    """None, NaN, NaT, and the missing value of pandas, which equals nothing and says so by raising."""
    try:
        return value is None or value is np.ma.masked or bool(value != value)
    except TypeError:
        return True
    except ValueError:  # an array
        return False


def _coded(series: Any, kind: str, what: str) -> Factor:
    """Each library has its own way to the codes; text becomes categories by the library's means, which are fast."""
    if series.null_count() == len(series):
        return Factor(np.full(len(series), -1), (), kind=kind)
    native = (series.cast(narwhals().Categorical()) if kind == "text" else series).to_native()
    by_name = kind == "text"
    if series.implementation.is_polars():
        ordered = kind == "categories" and isinstance(series.dtype, narwhals().Enum)
        by_name = not ordered  # polars numbers categories as they come
        codes, levels = _codes_of_polars(native)
    elif series.implementation.is_pyarrow():
        encoded = native.unify_dictionaries().combine_chunks()
        codes, ordered = np.asarray(encoded.indices.cast("int64").fill_null(-1)), bool(encoded.type.ordered)
        levels = encoded.dictionary.to_pylist()
    else:
        codes, levels, ordered = native.cat.codes.to_numpy(), list(native.cat.categories), bool(native.cat.ordered)
    if len(codes) and not -1 <= codes.min() <= codes.max() < len(levels):
        raise ValueError(f"{what} holds categories whose codes are outside 0 to {len(levels) - 1}.")
    gone = [code for code, level in enumerate(levels) if _is_missing(level)]  # a dictionary of pyarrow may hold NaN
    codes = np.where(np.isin(codes, gone), -1, codes) if gone else codes
    found = _packed(codes, tuple(map(str, levels)), ordered, kind)
    names = tuple(sorted(found.levels))
    if not by_name or names == found.levels:
        return found
    return Factor(found.recoded(names), names, ordered, found.absent, kind)


def _codes_of_polars(column: Any) -> tuple[np.ndarray, list[str]]:
    """polars numbers the categories of all columns together: the numbers that occur here become 0, 1, ..."""
    levels = column.drop_nulls().unique()
    numbers = levels.to_physical().to_numpy()
    order = np.argsort(numbers)
    place = np.full(int(numbers.max()) + 2, -1, dtype=np.int64)
    place[numbers[order]] = np.arange(len(order))
    return place[column.to_physical().fill_null(len(place) - 1).to_numpy()], levels.gather(order).to_list()


def _packed(codes: np.ndarray, levels: Sequence[str], ordered: bool, kind: str) -> Factor:
    """Codes 0, 1, ... of the levels that occur."""
    codes = np.asarray(codes, dtype=np.int64)
    occurs = np.bincount(codes + 1, minlength=len(levels) + 1)[1:] > 0
    if occurs.all():
        return Factor(codes, tuple(levels), ordered, (), kind)
    place = np.append(np.where(occurs, np.cumsum(occurs) - 1, -1), -1)
    used, absent = (tuple(compress(levels, which.tolist())) for which in (occurs, ~occurs))
    return Factor(place[codes], used, ordered, absent, kind)


# ----------------------------------------------------------------------------------------------------------- numbers


def read_numbers(values: Any, what: str, where: str = "") -> Numbers:
    """The numbers of a column, or of a plain array of any shape, as they are where they can be.

    ``what`` and ``where``, such as ``X`` and ``, column age``, name the column in errors.
    """
    if isinstance(values, Numbers):
        return values
    if isinstance(values, Factor):
        raise Unreadable(values.kind, what, values.levels)
    series = as_series(values)
    if series is None:
        return _numbers_in(*_array(values, what, where), what, where)
    kind = kind_of_series(series)
    native, of_pandas = series.to_native(), series.implementation.is_pandas_like()
    if of_pandas and isinstance(native.dtype, np.dtype):
        return _numbers_in(native.to_numpy(), None, what, where)
    if series.null_count() == len(series):
        return Numbers(np.full(len(series), np.nan), np.ones(len(series), bool))
    if of_pandas and (kind == "numbers" or native.dtype.kind in "biuf"):  # nullable, or sparse
        nulls = native.isna().to_numpy()
        found = native.to_numpy(dtype=np.float32 if is_single(series) else np.float64, na_value=np.nan)
        return Numbers(found, nulls if nulls.any() else None)
    if kind == "numbers":
        return _without_nulls(series)
    if kind == "objects":
        return _numbers_in(np.asarray(native), None, what, where)
    raise Unreadable(kind, what, series)


def _without_nulls(series: Any) -> Numbers:
    """Of polars, pyarrow and their like: NaN in the place of nulls."""
    nw = narwhals()
    nulls = series.is_null().to_numpy() if series.null_count() else None
    if nulls is not None or isinstance(series.dtype, nw.Decimal | nw.Int128 | nw.UInt128):
        series = series.cast(nw.Float64)
    return Numbers(series.to_numpy(), nulls)


def _array(values: Any, what: str, where: str) -> tuple[np.ndarray, np.ndarray | None]:
    try:
        return plain_array(values)
    except Exception as error:
        ragged = "inhomogeneous" in str(error)
        problem = "rows of different lengths" if ragged else f"what NumPy cannot read ({error})"
        raise TypeError(f"{what} holds {problem}{where}: pass a table of numbers.") from None


def plain_array(values: Any) -> tuple[np.ndarray, np.ndarray | None]:
    """An array, and which of its values are masked; of a list, text and numbers stay what they are."""
    masked = np.ma.getmaskarray(values) if isinstance(values, np.ma.MaskedArray) else None
    array = np.asarray(values)
    if isinstance(values, list | tuple) and array.dtype.kind in "US" and array.ndim == 1:
        if any(not isinstance(value, str | bytes) for value in values):
            array = np.array(values, dtype=object)
    return array, masked


def _numbers_in(array: np.ndarray, masked: np.ndarray | None, what: str, where: str) -> Numbers:
    kind = array.dtype.kind
    if kind == "O" and array.ndim > 0:
        array, nulls = _from_objects(array, what, where)
        masked = nulls if masked is None else masked if nulls is None else masked | nulls
    elif masked is not None and masked.all() and masked.ndim == 1:
        array = np.full(len(array), np.nan)
    elif array.dtype.names:
        raise TypeError(
            f"{what} is a structured array: pass numpy.lib.recfunctions.structured_to_unstructured({what})."
        )
    elif kind in "USTmMc":
        raise Unreadable(kind_of_array(array), what, array)
    elif kind not in "biuf":
        raise TypeError(f"{what} is a {_named(array)}, not a table of numbers: pass an array, a list or a table.")
    elif array.dtype.itemsize > 8:
        array = _narrowed(array, what, where)
    if masked is None or not masked.any():
        return Numbers(array)
    return Numbers(np.where(masked, np.nan, array), masked)


def _named(array: np.ndarray) -> str:
    """What NumPy could not take apart."""
    return type(array.item() if array.ndim == 0 else array).__name__


def _narrowed(array: np.ndarray, what: str, where: str) -> np.ndarray:
    """Long doubles as doubles."""
    with np.errstate(over="ignore"):
        narrow = array.astype(np.float64)
    lost = np.isfinite(array) & ~np.isfinite(narrow)
    if lost.any():
        _refuse_too_large(np.argwhere(lost)[0], what, where)
    return narrow


def _from_objects(array: np.ndarray, what: str, where: str) -> tuple[np.ndarray, np.ndarray | None]:
    """Python's own objects: all at once if they are numbers, else one by one up to the first that is none."""
    if all(issubclass(kind, _REAL) for kind in set(map(type, array.ravel()))):
        with contextlib.suppress(OverflowError):
            return array.astype(np.float64), None
    found, nulls = np.empty(array.shape), np.zeros(array.shape, bool)
    for place, value in np.ndenumerate(array):
        if isinstance(value, _REAL):
            try:
                found[place] = value
            except OverflowError:
                _refuse_too_large(np.array(place), what, where)
        elif _is_missing(value):
            found[place], nulls[place] = np.nan, True
        else:
            raise Unreadable(kind_of_value(value), what, [value], place[1] if len(place) > 1 else None)
    return found, nulls if nulls.any() else None


def _refuse_too_large(place: np.ndarray, what: str, where: str) -> None:
    column = where or (f", column {place[1]}" if len(place) > 1 else "")
    raise ValueError(f"{what} has a number too large to compute with in row {place[0]}{column}: rescale the column.")


def is_single(values: Any) -> bool:
    """Whether a column holds numbers of single precision."""
    values = values.values if isinstance(values, Numbers) else values
    if isinstance(values, np.ndarray):
        return values.dtype == np.float32
    series = as_series(values)
    return series is not None and series.dtype == narwhals().Float32


# -------------------------------------------------------------------------------------------------------- one behind


def joined(parts: Sequence[Column], levels_of: Callable[[list[tuple[str, ...]]], Sequence[str]]) -> Column:
    """Columns of several blocks one behind the other; ``levels_of`` all blocks are made from those of each.

    Raises ValueError where some hold numbers and others text.
    """
    factors = [part for part in parts if isinstance(part, Factor)]
    others = [part for part in parts if isinstance(part, Numbers)]
    if not factors:
        return Numbers(np.concatenate([part.values for part in others]))
    if any(not part.missing.all() for part in others):
        raise ValueError("numbers in some blocks and text in others")
    levels = tuple(levels_of([part.levels for part in factors]))
    codes = [part.recoded(levels) if isinstance(part, Factor) else np.full(len(part), -1) for part in parts]
    return Factor(np.concatenate(codes), levels, all(part.ordered for part in factors), kind=factors[0].kind)
