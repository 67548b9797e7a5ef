"""Formulas of files that come and go (`tunamh.open_rows` with ``cache=``): only pieces that are new are read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .._linear import Columns as KnownColumns
from ..groups import MixedModel
from ..living.cache import Cache
from ..living.journal import Journal
from ..living.observations import LivingRows
from ..living.pieces import PieceId, RowsOfPieces
from ..living.records import Record
from ..living.set_up import Night, Settled, look_name, why_not_at_a_centre
from ..process.stages import announce
from ..rows.executors import in_order
from ..rows.passes import with_progress
from ..rows.pieces import InPieces
from ..rows.source import Rows
from ..targets import GLM
from ..targets.observations.from_source import Blocks
from .data_summaries import Learned
from .errors import FormulaError
from .living_columns import ModelAsked, OpenedRows, files_told, has_groups, refuse_arrays, regression_of_columns
from .living_looks import AllLooks, Look, look_at
from .living_model import NeedsAllRows, design_digest, model_of, refuse_redundant, rows_of_columns, why_all_rows
from .living_reading import Held, LivingPiece
from .model import FormulaModel
from .needed_rows import Read, missing_told
from .parser import parse_expression
from .priors import prior_of
from .tables import FormulaRows

_WHY = "all-rows"
_GROUPS = "groups move by themselves"


@dataclass(frozen=True)
class RowsOfLivingPiece:
    """The rows of a piece in blocks, numbered from 0."""

    how: LivingPiece
    rows: FormulaRows

    def __call__(self, piece: Any) -> Iterator[Rows]:
        start = 0
        for found in self.how.blocks(piece, self.rows.plain):
            if isinstance(found, Rows):
                yield found._replace(start=start)
                start += len(found.y)
            else:
                yield self.rows.of_rows(found, start)
                start += found.n_rows


@dataclass(frozen=True)
class _LookAt:
    """What a worker does with a piece that was never seen."""

    how: LivingPiece
    asked: Read

    def __call__(self, piece: Any) -> Look:
        return look_at(piece, self.how, self.asked)


def rules_digest(conditions: list[str]) -> str:
    """Return a hash of the conditions of rows that are left out."""
    return hashlib.blake2b(repr(conditions).encode(), digest_size=4).hexdigest()


def ids_of(tables: InPieces) -> list[PieceId]:
    """Return the identities of the pieces that have rows. A piece is a row group of a Parquet file.

    A copy of a file has its own identities.
    """
    pieces: Any = tables.pieces
    found, seen = [], dict[str, int]()
    for one in (PieceId.of(piece) for piece in pieces if piece.n_rows > 0):
        copies = seen.get(one.key, 0)
        seen[one.key] = copies + 1
        found.append(one.copy_number(copies) if copies else one)
    return found


def regression_of_living(asked: Read, tables: InPieces, how: ModelAsked) -> GLM | MixedModel:
    """Return the target of a formula over files with a cache. Its set-up is complete.

    What is computed from each piece is taken from the cache, or stored there.
    """
    assert tables.cache is not None
    refuse_arrays(asked)
    why = _GROUPS if has_groups(asked) else why_all_rows(asked, how)
    cache = Cache(tables.cache.path)
    with cache.lock():
        cache.begin("\n".join(tables.cache.source))
        opened = _opened(cache, tables, asked, how)
        if why is None:
            why = _why_of_before(opened)
        if why is None:
            opened = _holding(opened, tables)
            try:
                return _regression_at_a_centre(opened, tables, asked, how)
            except NeedsAllRows as found:
                why = str(found)
                opened.folder.write(_WHY, Record({"why": why}, {}))
            finally:
                if opened.how.held is not None:
                    opened.how.held.end()
        return regression_of_columns(opened, tables, asked, how, why)


def _why_of_before(opened: OpenedRows) -> str | None:
    """What an earlier night found out of the rows, so that no file is looked at for it."""
    record = opened.folder.read(_WHY)
    return None if record is None else str(record.words.get("why"))


def _regression_at_a_centre(opened: OpenedRows, tables: InPieces, asked: Read, how: ModelAsked) -> GLM:
    """From sums of every piece; raises `NeedsAllRows` where they cannot be kept."""
    assert tables.cache is not None
    looks, read = _looks(opened, asked, tables.executor)
    if looks.holes and how.missing == "error":
        raise FormulaError(missing_told(looks.holes, looks.lost, sum(looks.lengths) + looks.lost))
    if not any(looks.lengths):
        raise FormulaError("every row has a missing value or is forgotten, so no rows remain.")
    model, common, filler = model_of(opened.folder, looks, asked, how.family, tables.cache)
    base = _base(opened, tables, looks, model, common, filler, how.family, how.prior)
    why = why_not_at_a_centre(base)
    if why is not None:
        raise NeedsAllRows(why)
    return _settled(opened, base, model, looks, read)


def _opened(cache: Cache, tables: InPieces, asked: Read, wanted: ModelAsked) -> OpenedRows:
    conditions = [str(rule["where"]) for rule in cache.rules()]
    how = LivingPiece(tuple(asked.names), tuple(parse_expression(text) for text in conditions))
    beside = {name: str(node) for name, node in asked.beside.items()}
    about: tuple[Any, ...] = (asked.text, repr(wanted.family), beside, wanted.missing, sorted(tables.names))
    if asked.others:
        about = (*about, repr(asked.others))
    folder = cache.model(about)
    folder.begin()
    return OpenedRows(folder, ids_of(tables), how, rules_digest(conditions))


def _holding(opened: OpenedRows, tables: InPieces) -> OpenedRows:
    """Tables are held from a look to the map, so that they are read once; not in workers of an executor."""
    if tables.executor is not None:
        return opened
    return opened._replace(how=replace(opened.how, held=Held(float(tables.memory or 1 << 31) / 2)))


def _looks(opened: OpenedRows, asked: Read, executor: Any) -> tuple[AllLooks, int]:
    """What is known of every piece; those that were never seen are read. Returns the number of rows that were."""
    ids, folder = opened.ids, opened.folder
    names = [look_name(one, opened.rules) for one in ids]
    found: list[Look | None] = []
    for name in names:
        record = folder.read(name)
        found.append(None if record is None else record.words.get("look"))
    missing = [k for k, look in enumerate(found) if look is None]
    if missing:
        announce("looking at files that are not in the cache")
        answers = in_order(executor, _LookAt(opened.how, asked), ((ids[k].piece,) for k in missing))
        done = np.cumsum([ids[k].piece.n_rows for k in missing]).tolist()
        for k, look in zip(
            missing, with_progress(zip(done, answers, strict=True), done[-1], "looking at files"), strict=True
        ):
            folder.write(names[k], Record({"look": look}, {}))
            found[k] = look
    there = set(names)
    folder.remove(name for name in folder.names() if name.startswith("look-") and name not in there)
    return AllLooks([look for look in found if look is not None]), sum(ids[k].piece.n_rows for k in missing)


def _base(
    opened: OpenedRows,
    tables: InPieces,
    looks: AllLooks,
    model: FormulaModel,
    common: Learned,
    filler: float,
    family: Any,
    prior: Any,
) -> GLM:
    """The regression of rows that were looked at, in the columns of today."""
    moments, side = looks.response_moments, model.side
    location = family.location(
        looks.some_responses if moments is not None else np.zeros(1),
        moments=None if moments is None else (moments.mean, moments.sd),
    )
    made = prior_of(prior, common, location, model.response.levels)
    read = RowsOfLivingPiece(opened.how, FormulaRows(_without_dropped(model), list(opened.how.names), filler))
    fingerprint = _fingerprint(opened)
    source = RowsOfPieces(
        [one.piece for one in opened.ids],
        looks.lengths,
        read,
        side.names,
        fingerprint,
        executor=tables.executor,
        memory=tables.memory,
    )
    weighted = "weights" in model.beside or "trials" in model.beside
    blocks = Blocks(len(side.whole), False, len(side.gathered), side.dim, weighted, bool(model.offsets), False)
    valued = any(block.numbers for block in side.gathered)
    rows = LivingRows(source, blocks._replace(valued=valued), model.response.levels if family.of_classes else None)
    of_rows = family.for_trials() if "trials" in model.beside else family
    return GLM(rows, family=of_rows, prior=made)


def _without_dropped(model: FormulaModel) -> FormulaModel:
    """Rows with missing values are not there at all, so that no weights of zero take their places."""
    return replace(model, dropped=0)


def _fingerprint(opened: OpenedRows) -> str:
    text = repr(([one.key for one in opened.ids], opened.rules, opened.folder.path.name))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _settled(opened: OpenedRows, base: GLM, model: FormulaModel, looks: AllLooks, read: int) -> GLM:
    night = Night(
        base,
        opened.folder,
        opened.ids,
        looks.lengths,
        opened.rules,
        design_digest(model),
        rows_of_columns(looks, model),
    )
    night.rows_read = read
    settled = night.settled()
    refuse_redundant(settled.kept.expanded.at_centre, model)
    journal = Journal(opened.folder)
    told = _told(opened, night, settled, journal)
    kept = settled.kept._replace(told=told)
    if opened.how.held is not None:
        settled = settled._replace(rows_read=opened.how.held.rows_read)
    about = {"formula": model.formula, "family": repr(base.user_family)}
    journal.add(about, _entry(night, settled, model, base), opened.ids, looks.lengths, looks.forgotten)
    known = KnownColumns(settled.centre.frame, np.empty((base.dim, 0)))
    found = base._with(known_columns=known).with_kept(kept)
    return found.from_formula(model)


def _files(ids: list[PieceId]) -> int:
    return len({one.file for one in ids})


def _told(opened: OpenedRows, night: Night, settled: Settled, journal: Journal) -> str:
    """What was read, and what became of the centre."""
    again = night.files_mapped if settled.moved is None else set[str]()
    told = files_told(opened.ids, again, journal, "mapped")
    if settled.moved is None:
        return f"{told}; centre of {settled.centre.date} kept"
    if not journal.nights:
        return f"{told} around a first centre"
    return f"{told}; every file mapped around a new centre, because {settled.moved}"


def _entry(night: Night, settled: Settled, model: FormulaModel, base: GLM) -> dict[str, Any]:
    expanded, mean = settled.kept.expanded, settled.kept.expanded.reference
    sd = np.linalg.norm(expanded.metric.factor, axis=1)
    return {
        "date": night.date,
        "data": base.fingerprint,
        "rows": night.n_rows,
        "pieces": len(night.ids),
        "files": _files(night.ids),
        "mapped": settled.mapped,
        "moved": settled.moved,
        "centre": settled.centre.date,
        "rows_read": settled.rows_read,
        "names": list(model.side.names),
        "mean": mean.tolist(),
        "sd": sd.tolist(),
    }


def source_of(cache: Cache) -> list[str]:
    """Return the files of a cache, as they were named when it was opened last."""
    source = cache.source
    if source is None:
        raise FileNotFoundError(f"there is no cache in {os.fspath(cache.path)!r}.")
    return source.split("\n")
