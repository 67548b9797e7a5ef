"""What a formula makes of files that come and go: its model in the columns of today, and what needs all rows."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

import numpy as np

from .._linear import SMALLEST_CURVATURE, groups_of, scaled_eigen
from ..living.cache import ModelFolder
from ..living.records import Record
from ..priors.mixtures import MixturePrior
from ..rows.pieces import CacheAsked
from ..targets.base import Expansion
from ..targets.families.energy_functions import OneFunction
from ..targets.families.likelihood import OnePredictorLikelihood
from ..targets.families.user import UserFamily
from .data_summaries import Learned, completed, learned
from .errors import FormulaError, listed
from .evaluation import learned_calls
from .left_side import Response, response_of_levels
from .living_columns import ModelAsked
from .living_looks import AllLooks
from .model import FormulaModel
from .needed_rows import Read
from .syntax import label
from .typical import typical_columns


class NeedsAllRows(Exception):
    """Sums over old rows cannot be kept for this model. The text says why; it is the end of a sentence."""


def why_all_rows(asked: Read, how: ModelAsked) -> str | None:
    """Return why sums over old rows cannot be kept for a formula, as the end of a sentence.

    The result is None if they can be kept.
    """
    family, terms = how.family, asked.right
    calls = [call for term in terms.fixed for atom in term for call in learned_calls(atom)]
    calls += [call for node in (*terms.offsets, asked.response, *asked.beside.values()) for call in learned_calls(node)]
    if terms.curves:
        return f"{terms.curves[0]} needs the range of all rows"
    if calls:
        return f"{calls[0]} needs numbers from all rows"
    if terms.strata or [name for name in asked.beside if name not in ("weights", "trials")]:
        return "times to event, censored responses and strata need all rows"
    if asked.others or asked.data_columns:
        return "several predictors need all rows"
    if family is None:
        return "the default family has an unknown scale"
    if how.redundant != "error":
        return 'redundant="keep" needs all rows'
    return _why_of_family(family) or (_SCALES if _with_unknown_scales(how.prior) else None)


_SCALES = "the scales of the prior are unknown"


def _why_of_family(family: Any) -> str | None:
    if isinstance(family, OneFunction | UserFamily) or not type(family).__module__.startswith("tunamh."):
        return f"the functions of {family!r} are your own, and may change"
    unknown = [name for name in family.parameters if name not in family.known_parameters()]
    if unknown or family.own_intercepts:
        named, several = listed(unknown or ["intercepts"]), len(unknown) != 1
        return f"the {named} of {type(family).__name__} {'are' if several else 'is'} unknown"
    if family.of_classes:
        return f"{family!r} has a predictor for every class"
    if isinstance(family, OnePredictorLikelihood) and not family.convex:
        return f"{family!r} may have several modes"
    return None


def _with_unknown_scales(prior: Any) -> bool:
    return any(isinstance(one, MixturePrior) for one in (prior.values() if isinstance(prior, Mapping) else [prior]))


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
        raise NeedsAllRows("new combinations of levels of products of factors may come every day")
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
        raise NeedsAllRows(f"each trial of {family!r} is a row of its own")
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
    """Return a hash of what the columns mean: the reference of every factor, and the classes of the response."""
    references = {name: levels[0] for name, levels in model.side.levels.items()}
    about = (references, model.response.levels, [block.key for block in model.side.blocks])
    return hashlib.blake2b(repr(about).encode(), digest_size=4).hexdigest()


def rows_of_columns(looks: AllLooks, model: FormulaModel) -> dict[str, int]:
    """Return for each column of a level the number of rows that have this level."""
    found, side, begin = {}, model.side, len(model.side.whole)
    for block in side.gathered:
        counts = looks.counts(label(block.factors[0].atom))
        for levels in side.cell_levels(block):
            found[side.names[begin]] = counts.get(levels[0], 0)
            begin += 1
    return found


def refuse_redundant(expansion: Expansion, model: FormulaModel) -> None:
    """Raise an error if columns are sums of other columns. Then the Hessian of the data is singular.

    The Hessian is an exact sum over all rows.
    """
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
