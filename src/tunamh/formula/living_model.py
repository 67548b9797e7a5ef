"""What a formula makes of files that come and go: its model in the columns of today, and what it cannot offer."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from .._linear import SMALLEST_CURVATURE, groups_of, scaled_eigen
from ..living.cache import ModelFolder
from ..living.records import Record
from ..rows.pieces import CacheAsked
from ..targets.base import Expansion
from .data_summaries import Learned, completed, learned
from .errors import FormulaError, listed
from .evaluation import learned_calls
from .left_side import Response, response_of_levels
from .living_looks import AllLooks
from .model import FormulaModel
from .needed_rows import Read
from .syntax import label
from .typical import typical_columns


def refuse_what_changes(asked: Read, family: Any, redundant: str) -> None:
    """Raise for terms whose columns in old rows change when new rows come, and for models without a centre to keep."""
    calls = [call for term in asked.right.fixed for atom in term for call in learned_calls(atom)]
    calls += [
        call for node in (*asked.right.offsets, asked.response, *asked.beside.values()) for call in learned_calls(node)
    ]
    way_out = "or open the rows without cache="
    if asked.right.curves:
        raise FormulaError(
            f"{asked.right.curves[0]} needs the range of all rows, so its columns would change in every old file "
            f"when a new file comes: write columns such as I(x**2), {way_out}."
        )
    beside = [name for name in asked.beside if name not in ("weights", "trials")]
    if asked.right.strata or beside or (family is not None and family.own_intercepts):
        raise FormulaError(
            "times to event, censored responses, strata and intercepts of the family are not kept by cache=: "
            f"{way_out[3:]}."
        )
    if calls:
        raise FormulaError(
            f"{calls[0]} needs numbers from all rows, so its column would change in every old file when a new file "
            f"comes: write the numbers yourself, as in I((x - 3) / 2), {way_out}."
        )
    if asked.right.groups or asked.others or asked.data_columns or asked.arrays:
        what = "group effects" if asked.right.groups else "further predictors" if asked.others else "arrays"
        what = "columns of the data in an energy" if asked.data_columns else what
        raise FormulaError(
            f"{what} need all rows in memory, but with a cache tunamh does not read all rows again: leave them "
            f"out, {way_out}."
        )
    if family is None:
        raise FormulaError("rows with a cache need a family: set family=, such as tunamh.Logistic().")
    if redundant != "error":
        raise FormulaError(f'redundant="keep" and cache= together are not offered: leave columns out, {way_out}.')
    if family.of_classes:
        raise FormulaError(
            f"{type(family).__name__} has a predictor for every class, which cache= does not keep: {way_out[3:]}."
        )


def model_of(
    folder: ModelFolder, looks: AllLooks, asked: Read, family: Any, cache: CacheAsked
) -> tuple[FormulaModel, Learned, float]:
    record = folder.read("levels")
    known: dict[str, list[str]] = {} if record is None else record.words
    levels = {}
    for name in looks.factors:
        levels[name], new = looks.levels(name, known.get(name, []))
        if new and known.get(name) and cache.new_levels == "refuse":
            raise FormulaError(
                f"{name} has the level{'s' * (len(new) > 1)} {listed([repr(one) for one in new])}, which no file had "
                'before, and new_levels="refuse" is set: correct the file, or set new_levels="grow".'
            )
    response, y = _response(asked, looks, family)
    side = learned(asked.right, [looks.first(levels)], sum(looks.lengths))
    if any(len(block.factors) > 1 for block in side.gathered):
        raise FormulaError(
            "products of factors are not offered with cache=, because new combinations of levels may come every "
            "day: write the combination as a new column in the files."
        )
    common = completed(side, [looks.second()])
    words = {name: list(found) for name, found in common.side.levels.items()}
    if words != known:
        folder.write("levels", Record(words, {}))
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
        raise FormulaError(f"the response {name} has numbers in some files and text in others.")
    if moments is None:
        every = tuple(sorted({one for found in levels for one in found}))
        return response_of_levels(asked.response, every, family), np.zeros(1)
    if moments.low == moments.high and family.of_labels and "trials" not in asked.beside:
        raise FormulaError(f"the response {name} is {moments.low:g} in every row: there is nothing to estimate.")
    return Response(asked.response), looks.some_responses


def design_digest(model: FormulaModel) -> str:
    """Of what columns mean: the reference of every factor, and the classes of the response."""
    references = {name: levels[0] for name, levels in model.side.levels.items()}
    about = (references, model.response.levels, [block.key for block in model.side.blocks])
    return hashlib.blake2b(repr(about).encode(), digest_size=4).hexdigest()


def rows_of_columns(looks: AllLooks, model: FormulaModel) -> dict[str, int]:
    """How many rows have the level that a column is of."""
    found, side, begin = {}, model.side, len(model.side.whole)
    for block in side.gathered:
        counts = looks.counts(label(block.factors[0].atom))
        for levels in side.cell_levels(block):
            found[side.names[begin]] = counts.get(levels[0], 0)
            begin += 1
    return found


def refuse_redundant(expansion: Expansion, model: FormulaModel) -> None:
    """Columns that are sums of others make the data's own Hessian, exact over all rows, singular."""
    scale, values, vectors = scaled_eigen(expansion.hessian)
    flat = np.abs(values) <= SMALLEST_CURVATURE * np.abs(values).max()
    if not flat.any():
        return
    directions = vectors[:, flat] / scale[:, None]
    if expansion.frame is not None:
        directions = expansion.frame.columns @ directions
    names = model.side.names
    groups = [listed([names[j] for j in group]) for group in groups_of(directions, 1 / expansion.width)]
    raise FormulaError(
        f"the data cannot separate these coefficients: {'; '.join(groups)}. Their columns are zero or sums of each "
        "other in every row. Leave a term out."
    )
