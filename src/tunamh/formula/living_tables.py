"""Formulas of files that come and go (`tunamh.open_rows` with ``cache=``): only pieces that are new are read."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from .._linear import Columns as KnownColumns
from ..living.cache import Cache, ModelFolder
from ..living.journal import Journal
from ..living.observations import LivingRows
from ..living.pieces import PieceId, RowsOfPieces
from ..living.records import Record
from ..living.set_up import Night, Settled, look_name
from ..process.stages import announce
from ..rows.executors import in_order
from ..rows.passes import with_progress
from ..rows.pieces import CacheAsked, InPieces
from ..rows.source import Rows
from ..targets import GLM
from ..targets.observations.from_source import Blocks
from .data_summaries import Learned, completed, learned
from .errors import FormulaError, listed
from .evaluation import learned_calls
from .left_side import Response, response_of_levels
from .living_looks import AllLooks, Held, LivingPiece, Look, look_at
from .model import FormulaModel
from .needed_rows import Read, missing_told
from .parser import parse_expression
from .priors import prior_of
from .syntax import label
from .tables import FormulaRows
from .typical import typical_columns


@dataclass(frozen=True)
class RowsOfLivingPiece:
    """The rows of a piece in blocks, numbered from 0 on."""

    how: LivingPiece
    rows: FormulaRows

    def __call__(self, piece: Any) -> Iterator[Rows]:
        start = 0
        for complete in self.how.blocks(piece):
            yield self.rows.of_rows(complete, start)
            start += complete.n_rows


@dataclass(frozen=True)
class _LookAt:
    """What a worker does with a piece that was never seen."""

    how: LivingPiece
    asked: Read

    def __call__(self, piece: Any) -> Look:
        return look_at(piece, self.how, self.asked)


class Opened(NamedTuple):
    """A cache, the pieces of today, the folder of the model, and the rows that are to be forgotten."""

    cache: Cache
    folder: ModelFolder
    ids: list[PieceId]
    how: LivingPiece
    rules: str


def rules_digest(conditions: list[str]) -> str:
    """Of the conditions of rows that are left out."""
    return hashlib.blake2b(repr(conditions).encode(), digest_size=4).hexdigest()


def ids_of(tables: InPieces) -> list[PieceId]:
    """The pieces that have rows: row groups of Parquet files."""
    pieces: Any = tables.pieces
    return [PieceId.of(piece) for piece in pieces if piece.n_rows > 0]


def regression_of_living(asked: Read, tables: InPieces, family: Any, prior: Any, missing: str, redundant: str) -> GLM:
    """The target of a formula, all set up: what is computed of each piece is in the cache, or is put there."""
    assert tables.cache is not None
    refuse_what_changes(asked, family, redundant)
    cache = Cache(tables.cache.path)
    with cache.lock():
        cache.begin("\n".join(tables.cache.source))
        opened = _opened(cache, tables, asked, family, missing)
        looks, read = _looks(opened, asked, tables.executor)
        if looks.holes and missing == "error":
            raise FormulaError(missing_told(looks.holes, looks.lost, sum(looks.lengths) + looks.lost))
        if not any(looks.lengths):
            raise FormulaError("every row has a missing value or is forgotten: no rows are left.")
        model, common, filler = _model(opened, looks, asked, family, tables.cache)
        base = _base(opened, tables, looks, model, common, filler, family, prior)
        found = _settled(opened, base, model, looks, read)
        if opened.how.held is not None:
            opened.how.held.end()
        return found


def refuse_what_changes(asked: Read, family: Any, redundant: str) -> None:
    """Raise for terms whose columns in old rows change when new rows come, and for models without a centre to keep."""
    calls = [call for term in asked.right.fixed for atom in term for call in learned_calls(atom)]
    calls += [
        call for node in (*asked.right.offsets, asked.response, *asked.beside.values()) for call in learned_calls(node)
    ]
    way_out = "or open the rows without cache="
    if asked.right.curves:
        raise FormulaError(
            f"{asked.right.curves[0]} has functions that are chosen by the range of all rows, so that its columns "
            f"change in every old file when a new one comes: write columns such as I(x**2), {way_out}."
        )
    beside = [name for name in asked.beside if name not in ("weights", "trials")]
    if asked.right.strata or beside or (family is not None and family.own_intercepts):
        raise FormulaError(
            "times to event, censored responses, strata and intercepts of the family are not kept by cache=: "
            f"{way_out[3:]}."
        )
    if calls:
        raise FormulaError(
            f"{calls[0]} learns its numbers from all rows, so that its column changes in every old file when a new one "
            f"comes: write the numbers, as in I((x - 3) / 2), {way_out}."
        )
    if asked.right.groups or asked.others or asked.arrays:
        what = "group effects" if asked.right.groups else "further predictors" if asked.others else "arrays"
        raise FormulaError(
            f"{what} need all rows in memory, and a cache is for not reading them again: leave them out, {way_out}."
        )
    if family is None:
        raise FormulaError("rows with a cache need a family: say family=, such as tunamh.Logistic().")
    if redundant != "error":
        raise FormulaError(f'redundant="keep" and cache= together are not offered: leave columns out, {way_out}.')
    if family.of_classes:
        raise FormulaError(
            f"{type(family).__name__} has a predictor for every class, which cache= does not keep: {way_out[3:]}."
        )


def _opened(cache: Cache, tables: InPieces, asked: Read, family: Any, missing: str) -> Opened:
    conditions = [str(rule["where"]) for rule in cache.rules()]
    held = Held(float(tables.memory or 1 << 31) / 2) if tables.executor is None else None
    how = LivingPiece(tuple(asked.names), tuple(parse_expression(text) for text in conditions), held)
    beside = {name: str(node) for name, node in asked.beside.items()}
    about = (asked.text, repr(family), beside, missing, sorted(tables.names))
    folder = cache.model(about)
    folder.begin()
    return Opened(cache, folder, ids_of(tables), how, rules_digest(conditions))


def _looks(opened: Opened, asked: Read, executor: Any) -> tuple[AllLooks, int]:
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


def _model(
    opened: Opened, looks: AllLooks, asked: Read, family: Any, cache: CacheAsked
) -> tuple[FormulaModel, Learned, float]:
    record = opened.folder.read("levels")
    known: dict[str, list[str]] = {} if record is None else record.words
    levels = {}
    for name in looks.factors:
        levels[name], new = looks.levels(name, known.get(name, []))
        if new and known.get(name) and cache.new_levels == "refuse":
            raise FormulaError(
                f"{name} has the level{'s' * (len(new) > 1)} {listed([repr(one) for one in new])}, which no file had "
                'before, and new_levels="refuse" was asked: correct the file, or say new_levels="grow".'
            )
    response, y = _response(asked, looks, family)
    side = learned(asked.right, [looks.first(levels)], sum(looks.lengths))
    if any(len(block.factors) > 1 for block in side.gathered):
        raise FormulaError(
            "products of factors are not offered with cache=, since other combinations of levels may come every day: "
            "write the combination as a column of its own in the files."
        )
    common = completed(side, [looks.second()])
    words = {name: list(found) for name, found in common.side.levels.items()}
    if words != known:
        opened.folder.write("levels", Record(words, {}))
    typical = typical_columns(looks.columns(), common.side, common.moments)
    of_formula = asked.text, response, common.side, asked.right.offsets
    model = FormulaModel(*of_formula, beside=asked.beside, dropped=looks.lost, typical=typical)
    if model.side.dim == 0:
        raise FormulaError(f"the formula {asked.text!r} has no coefficients: give it an intercept or a term.")
    if "trials" in asked.beside and not (family.of_labels and family.linear_in_label):
        raise FormulaError(f"trials with cache= are for Logistic(), and {family!r} is another family.")
    return model, common, float(y[0])


def _response(asked: Read, looks: AllLooks, family: Any) -> tuple[Response, np.ndarray]:
    name, moments, levels = label(asked.response), looks.response_moments, looks.response_levels
    if moments is not None and levels:
        raise FormulaError(f"the response {name} holds numbers in some files and text in others.")
    if moments is None:
        return response_of_levels(
            asked.response, tuple(sorted({one for found in levels for one in found})), False, family
        ), np.zeros(1)
    if moments.low == moments.high and family.of_labels and "trials" not in asked.beside:
        raise FormulaError(f"the response {name} is {moments.low:g} in every row: there is nothing to explain.")
    return Response(asked.response), looks.some_responses


def _base(
    opened: Opened,
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
    from dataclasses import replace

    return replace(model, dropped=0)


def _fingerprint(opened: Opened) -> str:
    text = repr(([one.key for one in opened.ids], opened.rules, opened.folder.path.name))
    return hashlib.blake2b(text.encode(), digest_size=8).hexdigest()


def _design_digest(model: FormulaModel) -> str:
    """Of what columns mean: the reference of every factor, and the classes of the response."""
    references = {name: levels[0] for name, levels in model.side.levels.items()}
    about = (references, model.response.levels, [block.key for block in model.side.blocks])
    return hashlib.blake2b(repr(about).encode(), digest_size=4).hexdigest()


def _settled(opened: Opened, base: GLM, model: FormulaModel, looks: AllLooks, read: int) -> GLM:
    night = Night(
        base,
        opened.folder,
        opened.ids,
        looks.lengths,
        opened.rules,
        _design_digest(model),
        _rows_of_columns(looks, model),
    )
    night.rows_read = read
    settled = night.settled()
    _refuse_redundant(settled, model)
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


def _rows_of_columns(looks: AllLooks, model: FormulaModel) -> dict[str, int]:
    """How many rows have the level that a column is of."""
    found, side, begin = {}, model.side, len(model.side.whole)
    for block in side.gathered:
        counts = looks.counts(label(block.factors[0].atom))
        for levels in side.cell_levels(block):
            found[side.names[begin]] = counts.get(levels[0], 0)
            begin += 1
    return found


def _refuse_redundant(settled: Settled, model: FormulaModel) -> None:
    """Columns that are sums of others make the data's own Hessian, exact over all rows, singular."""
    from .._linear import SMALLEST_CURVATURE, groups_of, scaled_eigen

    expansion = settled.kept.expanded.at_centre
    scale, values, vectors = scaled_eigen(expansion.hessian)
    flat = np.abs(values) <= SMALLEST_CURVATURE * np.abs(values).max()
    if not flat.any():
        return
    directions = vectors[:, flat] / scale[:, None]
    if expansion.frame is not None:
        directions = expansion.frame.columns @ directions
    names = model.side.names
    groups = [
        listed([names[j] for j in group]) for group in groups_of(directions, 1 / settled.kept.expanded.at_centre.width)
    ]
    raise FormulaError(
        f"the data do not tell these coefficients apart: {'; '.join(groups)}. Their columns are zero or sums of each "
        "other in every row. Leave a term out."
    )


def _files(ids: list[PieceId]) -> int:
    return len({one.file for one in ids})


def _told(opened: Opened, night: Night, settled: Settled, journal: Journal) -> str:
    """What was read, and what became of the centre."""
    before = journal.pieces_of(len(journal.nights) - 1)
    known, there = {one["digest"] for one in before}, {one.key for one in opened.ids}
    files = {one.file for one in opened.ids}
    new = {one.file for one in opened.ids if one.key not in known}
    left = {one["file"] for one in before if one["digest"] not in there} - files
    told = f"{len(new):,} new file{'s' * (len(new) != 1)} of {len(files):,} mapped"
    again = len(night.files_mapped - new)
    if again and settled.moved is None:
        told += f", {again:,} mapped again"
    if left:
        told += f", {len(left):,} left out that {'is' if len(left) == 1 else 'are'} gone"
    if settled.moved is None:
        return f"{told}; centre of {settled.centre.date} kept"
    if not journal.nights:
        return f"{told} about a first centre"
    return f"{told}; every file mapped about a new centre, since {settled.moved}"


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
    """The files of a cache, as they were opened last."""
    source = cache.source
    if source is None:
        raise FileNotFoundError(f"there is no cache in {os.fspath(cache.path)!r}.")
    return source.split("\n")
