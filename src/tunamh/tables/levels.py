"""Categories and text of data frames and arrays, as codes and the names of their levels."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np


class Coded(NamedTuple):
    """Codes of the levels that occur, 0, 1, ... in their order, and the levels' names.

    ``absent`` are levels that no row has; ``ordered`` says whether the order means anything.
    """

    codes: np.ndarray
    levels: list[str]
    absent: list[str]
    ordered: bool
    kind: str


def categories(column: Any, where: str) -> Coded | None:
    """Of a column of categories (pandas, polars, pyarrow), in the order of these; None of any other column.

    ``where`` names the column in an error, such as ``X`` and ``, column sex``.
    """
    if hasattr(column, "dictionary_encode") and str(column.type).startswith("dictionary"):  # pyarrow
        if hasattr(column, "unify_dictionaries"):
            column = column.unify_dictionaries().combine_chunks()
        missing, ordered = np.asarray(column.is_null()), bool(column.type.ordered)
        codes, levels = np.asarray(column.indices.fill_null(0)), column.dictionary.to_pylist()
    elif (held := _pandas(column)) is not None:
        codes, levels, ordered = np.asarray(held.codes), list(held.categories), bool(held.ordered)
        missing = codes < 0
    elif type(column).__module__.startswith("polars") and str(column.dtype).startswith(("Categorical", "Enum")):
        missing, ordered = column.is_null().to_numpy(), str(column.dtype).startswith("Enum")
        codes, levels = _polars(column, by_text=not ordered)
    else:
        return None
    if missing.any():
        row = int(np.argmax(missing))
        what, _, of_column = where.partition(", ")
        at = f"row {row}{', ' * bool(of_column)}{of_column}"
        raise ValueError(
            f"{what} has a missing value in {at}; every value must be there: drop or fill such rows first."
        )
    used, packed = np.unique(codes, return_inverse=True)
    if used.size and not 0 <= used[0] <= used[-1] < len(levels):
        raise ValueError(f"{where} holds categories whose codes are outside 0 to {len(levels) - 1}.")
    occurring = set(used.tolist())
    absent = [str(level) for code, level in enumerate(levels) if code not in occurring]
    return Coded(packed, [str(levels[code]) for code in used.tolist()], absent, ordered, "categories")


def _pandas(column: Any) -> Any:
    """What has codes and categories: a `pandas.Categorical`, or the accessor of a series of them."""
    if hasattr(column, "codes") and hasattr(column, "categories"):
        return column
    return column.cat if hasattr(column, "cat") and hasattr(column.cat, "codes") else None


def _polars(column: Any, *, by_text: bool) -> tuple[np.ndarray, list[str]]:
    """polars numbers categories as they come, in any order: these are sorted, an Enum's stay."""
    codes = column.to_physical().fill_null(0).to_numpy()
    found, where = np.unique(codes, return_index=True)
    texts = np.array([str(column[int(row)]) for row in where])
    order = np.argsort(texts) if by_text else np.arange(len(texts))
    place = np.empty(int(found[-1]) + 1, dtype=np.int64)
    place[found[order]] = np.arange(len(order))
    return place[codes], texts[order].tolist()


def classes(values: Any, what: str) -> Coded | None:
    """Of a column of categories or of text, whose levels are then sorted; None where the values are anything else."""
    if hasattr(values, "iloc") and getattr(values, "ndim", 1) == 2 and values.shape[1] == 1:
        values = values.iloc[:, 0]
    found = categories(values, what)
    if found is not None:
        return found
    if not isinstance(values, np.ndarray | list | tuple) and not hasattr(values, "dtype") and not _arrow_text(values):
        return None
    try:
        array = np.asarray(values.to_pylist() if hasattr(values, "to_pylist") else values)
    except Exception:  # what it is will be said where numbers are read
        return None
    if array.dtype.kind == "O" and array.ndim == 1:
        text = np.array([isinstance(value, str) for value in array.tolist()], bool)
        missing = ~text
        if text.any() and all(_is_missing(value) for value in array[missing].tolist()):
            if missing.any():
                row = int(np.argmax(missing))
                raise ValueError(f"{what} has a missing value in row {row}: drop or fill such rows first.")
            array = array.astype(str)
    if array.dtype.kind not in "UT" or array.ndim != 1 or array.size == 0:
        return None
    levels, codes = np.unique(array, return_inverse=True)
    return Coded(codes, [str(level) for level in levels], [], False, "text")


def _is_missing(value: Any) -> bool:
    return value is None or str(value) in ("<NA>", "nan", "NaT")


def _arrow_text(values: Any) -> bool:
    return hasattr(values, "to_pylist") and "string" in str(getattr(values, "type", ""))
