"""Formulas over files that come and go (`tunamh.open_rows` with ``cache=``) of which all rows are kept.

A model with groups moves each group by itself, so sums over files do not stand for their rows. Of other models the
coordinates or the columns of old rows change when new rows come (`why_all_rows`). What a cache saves is reading: the
columns of the formula are kept of every piece, as few bytes as hold them exactly, and a night reads new files only.
With groups it saves most of the searches, too: those for a mode and for the learned law begin where the night before
ended. The target is the one of the present rows, as if they had just been read: new groups are there, those without
rows are not. Where a search begins changes proposals and no posterior.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from ..groups import MixedModel
from ..groups.earlier import Ended, begun, ended
from ..laplace.gaussian import gaussian_at_mode, moments
from ..living.cache import ModelFolder
from ..living.journal import Journal
from ..living.pieces import PieceId
from ..living.records import Record, numbers_of
from ..process.scratch import large_arrays_in
from ..rows.pieces import CacheAsked, InPieces
from ..targets import GLM
from .errors import FormulaError, listed
from .living_reading import LivingPiece
from .living_rows import AllRows, all_rows
from .model import FormulaModel
from .needed_rows import Read, RowsOf, missing_told
from .tables import folder_of, may_be_held
from .target import default_family, learned_model, target_of

_USED, _FOUND = "start-used", "start-found"
_ARRAYS = {"laplace": 1, "effects": 1}


class OpenedRows(NamedTuple):
    """The folder of a model, the row groups that exist today, how they are read, and a hash of the forget rules."""

    folder: ModelFolder
    ids: list[PieceId]
    how: LivingPiece
    rules: str


class ModelAsked(NamedTuple):
    """The arguments of a user beside the formula."""

    family: Any
    prior: Any
    missing: str
    redundant: str
    keep_effects: bool | None


def has_groups(asked: Read) -> bool:
    """Return True if any predictor of a formula has group terms."""
    return any(terms.groups for terms in (asked.right, *asked.others.values()))


def refuse_arrays(asked: Read) -> None:
    """Raise an error for arguments that are arrays, because they are not in the files."""
    if asked.arrays:
        raise FormulaError(
            f"{', '.join(asked.arrays)} must be a column of the files, since a cache cannot tell which rows an array "
            "belongs to: write the numbers into the files, or open the rows without cache=."
        )


def regression_of_columns(
    opened: OpenedRows, tables: InPieces, asked: Read, how: ModelAsked, why: str
) -> GLM | MixedModel:
    """Return the target of a formula for which the cache keeps all rows. Its set-up is complete.

    ``why`` says why all rows are kept.
    """
    assert tables.cache is not None
    size = 8 * len(asked.names)  # of a row, as its columns are joined
    given: Any = tables
    may_be_held(asked, given, size, needed_by=f"models of which the cache keeps all rows ({why})", in_files=True)
    with large_arrays_in(folder_of(asked, given, size)):
        rows = all_rows(opened.folder, opened.ids, opened.rules, opened.how, tables.executor)
        model, target = _target(opened.folder, rows, asked, how, tables.cache)
    date, start = _start(opened.folder, target.fingerprint)
    journal = Journal(opened.folder)
    told = files_told(opened.ids, rows.files, journal, "read")
    if isinstance(target, MixedModel):
        told += "; set up without earlier results" if date is None else f"; set up from the effects of {date}"
    else:
        told = f"{told}; set up from all {target.n_rows:,} rows, which the cache keeps because {why}"
    found = (target if start is None else begun(target, start))._with(set_up_told=told)
    entry = _entry(found, opened.ids, rows, model, date)  # which sets the model up
    if isinstance(found, MixedModel):
        _write_start(opened.folder, start, date, found)
    journal.add({"formula": model.formula, "family": repr(found.user_family)}, entry, opened.ids, *rows[1:3])
    return found


def _target(
    folder: ModelFolder, rows: AllRows, asked: Read, how: ModelAsked, cache: CacheAsked
) -> tuple[FormulaModel, Any]:
    if rows.complete.holes and how.missing == "error":
        raise FormulaError(missing_told(rows.complete.holes, rows.lost, sum(rows.lengths) + rows.lost))
    if rows.complete.n_rows == 0:
        raise FormulaError("every row has a missing value or is forgotten, so no rows remain.")
    record = folder.read("levels")
    known: dict[str, list[str]] = {} if record is None else record.words
    given = RowsOf(rows.complete, {}, known)
    family = default_family(asked, given) if how.family is None else how.family
    model, learned, further = learned_model(asked, given, family)
    model = replace(model, dropped=rows.lost)
    levels = _levels(model)
    _refuse_new(known, levels, cache)
    target = target_of(model, learned, further, given, family, how.prior, how.redundant, how.keep_effects)
    if levels != known:
        folder.write("levels", Record(levels, {}))
    return model, target


def _levels(model: FormulaModel) -> dict[str, list[str]]:
    """Of every factor, its levels, the reference first."""
    sides = [model.side, *(one.columns for one in model.groups), *model.others.values()]
    return {name: list(levels) for side in sides for name, levels in side.levels.items()}


def _refuse_new(known: Mapping[str, Sequence[str]], levels: Mapping[str, Sequence[str]], cache: CacheAsked) -> None:
    for name, found in levels.items():
        new = [one for one in found if one not in set(known.get(name, found))]
        if new and cache.new_levels == "refuse":
            raise FormulaError(
                f"{name} has the level{'s' * (len(new) > 1)} {listed([repr(one) for one in new])}, which no file had "
                'before, and new_levels="refuse" is set: correct the file, or set new_levels="grow".'
            )


# -------------------------------------------------------------------------------------------- where searches begin


def _start(folder: ModelFolder, data: str) -> tuple[str | None, Ended | None]:
    """Where the night before ended, and its date; of the same rows, where that night began: draws are the same."""
    found = folder.read(_FOUND)
    if found is not None and found.words.get("data") == data:
        found = folder.read(_USED)
        found = found if found is not None and found.words.get("data") == data else None
    if found is None or not numbers_of(found, _ARRAYS):
        return None, None
    words, arrays = found
    return words["date"], Ended(
        words["names"], arrays["laplace"], arrays.get("learned"), words["labels"], arrays["effects"]
    )


def _write_start(folder: ModelFolder, start: Ended | None, date: str | None, model: Any) -> None:
    """First where this night began, then where it ended: a kill between them leaves both nights' start the same."""
    if start is None:
        folder.remove([_USED])
    else:
        folder.write(_USED, _as_record(start.of_labels(model.effect_labels), model.fingerprint, date))
    folder.write(_FOUND, _as_record(ended(model), model.fingerprint, dt.date.today().isoformat()))


def _as_record(point: Ended, data: str, date: str | None) -> Record:
    words = {"data": data, "date": date, "names": point.names, "labels": point.labels}
    arrays = {"laplace": point.laplace, "effects": point.effects}
    return Record(words, arrays if point.learned is None else {**arrays, "learned": point.learned})


# ------------------------------------------------------------------------------------------------------ the journal


def files_told(ids: list[PieceId], read: set[str], journal: Journal, done: str) -> str:
    """Return a line in words: which files are new, which others were ``read`` again, and which are gone.

    ``done`` is the verb for new files: "mapped" or "read".
    """
    before = journal.pieces_of(len(journal.nights) - 1)
    known, digests = {one["digest"] for one in before}, {one.key for one in ids}
    files = {one.file for one in ids}
    new = {one.file for one in ids if one.key not in known}
    left = {one["file"] for one in before if one["digest"] not in digests} - files
    told = f"{len(new):,} new file{'s' * (len(new) != 1)} of {len(files):,} {done}"
    again = len(read - new)
    told += f", {again:,} {done} again" if again else ""
    if left:
        told += f", {len(left):,} left out that {'is' if len(left) == 1 else 'are'} gone"
    return told


def _entry(target: Any, ids: list[PieceId], rows: AllRows, model: FormulaModel, date: str | None) -> dict[str, Any]:
    names, mean, sd = _gaussian(target, model)
    today = dt.date.today().isoformat()
    return {
        "date": today,
        "data": target.fingerprint,
        "rows": sum(rows.lengths),
        "pieces": len(ids),
        "files": len({one.file for one in ids}),
        "mapped": len(rows.files),
        "moved": None if date else "it is the first one",
        "centre": date or today,
        "rows_read": rows.read,
        "names": names,
        "mean": mean,
        "sd": sd,
    }


def _gaussian(target: Any, model: FormulaModel) -> tuple[list[str], list[float], list[float]]:
    """Names of the parameters, with groups of those that all share, and Laplace's means and standard deviations.

    Nothing where there is no law.
    """
    if isinstance(target, MixedModel):
        law, shared = target.laplace_gaussian()
    else:  # under unknown scales of a prior coefficients have no Gaussian of their own
        law, shared = None if target.mixed_prior is not None else gaussian_at_mode(target.modes), target
    if law is None:
        return [], [], []
    mean, covariance = moments(shared, law)
    names = [
        label if name == "theta" else name if label is None else f"{name}[{label}]"
        for name, labels in shared.variables
        for label in (labels or [None])
    ]
    return names, np.asarray(mean).tolist(), np.sqrt(np.diag(np.atleast_2d(covariance))).tolist()
