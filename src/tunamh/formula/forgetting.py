"""Rows inside files that are to be forgotten: a condition, and the pieces that are mapped again without them."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass
from typing import Any, NamedTuple

from ..living.cache import Cache, ModelFolder
from ..process.stages import announce
from ..rows.executors import in_order
from ..rows.formats import open_rows
from ..rows.passes import with_progress
from ..rows.pieces import Reading
from .errors import FormulaError
from .living_reading import forgotten
from .living_tables import ids_of, rules_digest, source_of
from .parser import parse_expression
from .syntax import Node, columns_in
from .variables import as_columns, read, refuse_unknown


class Forgotten(NamedTuple):
    """The result of `tunamh.forget`.

    ``where`` is the condition. ``rows`` is the number of rows that the condition selects today, and ``files`` is the
    number of files that contain them.
    """

    where: str
    rows: int
    files: int

    def __repr__(self) -> str:
        return f"{self.rows:,} rows in {self.files:,} files are forgotten from the next run on, where {self.where}"


@dataclass(frozen=True)
class _Count:
    """How many rows of a piece a condition holds of."""

    condition: Node

    def __call__(self, piece: Any) -> int:
        names, found = list(dict.fromkeys(columns_in(self.condition))), 0
        for table in Reading().tables(piece, names):
            frame = as_columns(table)
            found += int(forgotten(read(frame, names), [self.condition], frame.n_rows).sum())
        return found


def forget(cache: Any, where: str) -> Forgotten:
    """Leave rows out of every posterior of a cache, from the next run on.

    The next posterior is the exact posterior of the other rows. `forget` immediately deletes everything in the cache
    that comes from row groups with such rows (a row group is a block of rows of a Parquet file). The next run reads
    these row groups again, and leaves out the rows. The condition also applies to files that you add later. The files
    themselves are not changed.

    Parameters
    ----------
    cache : str or path
        The folder that you passed to `tunamh.open_rows`.
    where : str
        A condition of the columns of the files, such as ``"person == 4711"`` or ``'(carrier == "AA") * (year <
        2010)'``. Write comparisons and arithmetic as in formulas; nothing is evaluated as Python code. A row is
        forgotten if the result is not zero. A row with a missing value in these columns is not forgotten.

    Returns
    -------
    Forgotten
        ``rows`` and ``files``: the number of rows that the condition selects today, and the number of files that
        contain them.

    Examples
    --------
    >>> tunamh.forget("flights.tunamh", where="person == 4711")
    """
    condition = parsed_condition(where)
    opened = Cache(cache)
    source = source_of(opened)
    tables = open_rows(source[0] if len(source) == 1 else source)
    names = list(dict.fromkeys(columns_in(condition)))
    refuse_unknown(names, list(tables.names))
    ids = ids_of(tables)
    with opened.lock():
        announce("searching for the rows to be forgotten")
        answers = in_order(None, _Count(condition), ((one.piece,) for one in ids))
        done = list(range(1, len(ids) + 1))
        counts = list(with_progress(zip(done, answers, strict=True), len(ids), "looking for rows"))
        before = [str(rule["where"]) for rule in opened.rules()]
        rows, files = sum(counts), len({one.file for one, count in zip(ids, counts, strict=True) if count})
        date = dt.date.today().isoformat()
        opened.add_rule({"where": str(condition), "date": date, "rows": rows, "files": files})
        untouched = {one.key for one, count in zip(ids, counts, strict=True) if count == 0}
        for folder in opened.models():
            _carry_over(folder, untouched, rules_digest(before), rules_digest([*before, str(condition)]))
    return Forgotten(str(condition), rows, files)


def parsed_condition(where: Any) -> Node:
    """Return the condition. Raise an error if it is not a condition of the columns of single rows."""
    if not isinstance(where, str):
        raise TypeError(f"where must be a condition such as 'person == 4711', got {type(where).__name__}.")
    condition = parse_expression(where)
    names = list(columns_in(condition))
    if not names:
        raise FormulaError(
            f"the condition {where!r} contains no column: write which rows to forget, as in 'person == 4711'."
        )
    return condition


def _carry_over(folder: ModelFolder, untouched: set[str], before: str, after: str) -> None:
    """Records of pieces without such rows hold under the new rule, too; those of the others are deleted.

    So is where a set-up of groups ended, as that has an effect of every group.
    """
    for name in folder.names():
        kind, _, rest = name.partition("-")
        if kind == "start":
            folder.remove([name])
        if kind not in ("look", "map", "columns"):
            continue
        piece, rules, *others = rest.split("-")
        if piece in untouched and rules == before:
            folder.rename(name, "-".join([kind, piece, after, *others]))
        else:
            folder.remove([name])
