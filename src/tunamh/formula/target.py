"""From a formula and rows to what is learned from them, and to a target."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..errors import Text
from ..groups import GroupEffects, MixedModel
from ..process.blas import one_blas_thread
from ..process.callers import users_line
from ..process.scratch import as_large, distinct, stretches
from ..tables.columns import Factor, Numbers
from ..tables.frames import Frame
from ..targets import GLM
from ..targets.designs.base import NamedDesign
from ..targets.families import Gaussian
from ..targets.families.base import BaseFamily, Location, Responses
from ..targets.families.response_checks import WrongResponse
from .censoring import censoring_of
from .data_summaries import Learned, completed, first_look, refuse_second_intercept, second_look
from .data_summaries import learned as learned_side
from .errors import FormulaError, listed
from .evaluation import Values, filled
from .further_predictors import described_by, split_further
from .group_priors import GroupPriors, parts_of, split_groups
from .left_side import learned_response, numbers_beside
from .likely_factors import as_numbers
from .model import FormulaModel, GroupSide, group_name
from .needed_rows import Read, RowsOf
from .priors import prior_of
from .strata import Strata
from .syntax import Name, Node, Operation, label
from .tables import target_of_tables
from .terms import GroupTerm, Terms, term_label
from .typical import columns_look, typical_columns


def levels_in_order(found: Mapping[str, tuple[str, ...]], known: Mapping[str, Sequence[str]]) -> dict[str, Any]:
    """Return the levels with the known levels first.

    Known levels that still occur keep the order in which they became known.
    """
    ordered = {}
    for name, levels in found.items():
        before, there = known.get(name, ()), set(levels)
        ordered[name] = (*(one for one in before if one in there), *(one for one in levels if one not in set(before)))
    return ordered


def learn_side(terms: Terms, rows: RowsOf, hide_intercept: bool = False) -> Learned:
    """Learn a right side from rows in memory, as from one block."""
    look = first_look(terms, rows.values({}))
    look = look._replace(levels=levels_in_order(look.levels, rows.known))
    side = learned_side(terms, [look], rows.complete.n_rows, hide_intercept=hide_intercept)
    return completed(side, [second_look(side, rows.values(side.states))])


def learned_model(asked: Read, rows: RowsOf, family: Any) -> tuple[FormulaModel, Learned, dict[str, Learned]]:
    """Learn a formula from rows in memory. Return the model, its columns, and those of further predictors."""
    response, _ = learned_response(asked.response, rows.values({}), family)
    common = learn_side(asked.right, rows, hide_intercept=family.own_intercepts)
    refuse_second_intercept(common.side)
    further = {name: learn_side(terms, rows) for name, terms in asked.others.items()}
    model = FormulaModel(
        asked.text,
        response,
        common.side,
        asked.right.offsets,
        tuple(
            side
            for name, terms in ((None, asked.right), *asked.others.items())
            for side in _group_sides(terms.groups, rows, name)
        ),
        {name: of.side for name, of in further.items()},
        asked.beside,
        rows.dropped,
        tuple(rows.arrays),
        typical_columns([columns_look(asked.right, asked.further, rows.values({}))], common.side, common.moments),
        Strata.learned(asked.right.strata, rows.values({})),
        asked.data_columns,
    )
    return model, common, further


def _group_sides(groups: Sequence[GroupTerm], rows: RowsOf, of: str | None) -> list[GroupSide]:
    """Those of one predictor; ``(1 + x || g)`` is one factor for every column."""
    found: list[tuple[Any, Any]] = []
    for group in groups:
        for part in parts_of(group):
            side = learn_side(part, rows).side
            if side.dim == 0:
                raise FormulaError(
                    "group effects have no columns: write (1 | group) for intercepts or (0 + x | group) for slopes."
                )
            if not group.together and side.dim > 1:
                by, factor = ":".join(map(label, group.by)), term_label(part.fixed[0])
                raise FormulaError(
                    f"({factor} || {by}) asks for effects without correlations, but {factor} has {side.dim} levels, "
                    f"whose effects are correlated: write ({factor} | {by}), or (1 | {by}) + (1 | {by}:{factor}) "
                    "for levels that differ without correlation."
                )
            found.append((group.by, side))
    _refuse_repeated(found)
    labels = [tuple(map(str, by)) for by, _ in found]
    names = [group_name(by, side, labels.count(tuple(map(str, by))) == 1) for by, side in found]
    named = names if of is None else [f"{of}_{name}" for name in names]
    return [GroupSide(name, by, side, of) for name, (by, side) in zip(named, found, strict=True)]


def _refuse_repeated(found: list[tuple[Any, Any]]) -> None:
    """The same effect of the same groups twice is one effect: the data cannot tell the two apart."""
    seen: set[tuple[tuple[str, ...], str]] = set()
    for by, side in found:
        group = tuple(map(label, by))
        for name in side.names:
            if (group, name) in seen:
                effect = "the intercept" if name == "Intercept" else f"the slope of {name}"
                raise FormulaError(
                    f"{effect} of {':'.join(group)} is in the formula twice: (1 + x | g) has intercepts and slopes, "
                    "(0 + x | g) has slopes without intercepts, and (1 | a/b) has (1 | a) in it."
                )
            seen.add((group, name))


def default_family(asked: Read, rows: RowsOf) -> BaseFamily:
    """Return the family Gaussian if the response is a column of numbers.

    Raise `FormulaError` with a hint if the response probably needs another family, such as labels or counts of trials.
    """
    name = label(asked.response)
    if "trials" in asked.beside or "trials" in rows.arrays:
        raise FormulaError(Text.of("trials= needs a family for labels: set ", _set("logistic"), "."))
    if "event" in asked.beside or "event" in rows.arrays:
        raise FormulaError(
            Text.of(
                "times to event need a family: set ",
                ("family=tunamh.PiecewiseExponential()", "--family piecewise-exponential"),
                " (proportional hazards, as Cox has them), or one whose hazard has a given form, such as ",
                ("tunamh.Weibull().", "weibull."),
            )
        )
    found = rows.values({}).value(asked.response)
    if isinstance(found, Factor):
        kinds = (_set("logistic"), ' for two classes, "categorical" for more, "ordinal" for ordered ones')
        wrong = f"the response {name} has text or categories, and you have not set a family"
        hint = as_numbers(found.levels)
        raise FormulaError(f"{wrong}.{hint}" if hint else Text.of(f"{wrong}: set ", *kinds, "."))
    values = distinct(rows.values({}).numbers(asked.response))
    if len(values) == 2:
        pair = f"{values[0]:g} and {values[1]:g}"
        raise FormulaError(
            Text.of(
                f"the response {name} has two values, {pair}, and there is no family: set ",
                *(_set("logistic"), " if they are labels, or ", _set("gaussian"), " if they are measurements."),
            )
        )
    return Gaussian()


def _set(word: str) -> tuple[str, str]:
    """How a family is set in Python, and at the shell."""
    return f'family="{word}"', f"--family {word}"


# ------------------------------------------------------------------------------------------------------ the target


def target_of(
    model: FormulaModel,
    learned: Learned,
    further: dict[str, Learned],
    rows: RowsOf,
    family: Any,
    prior: Any,
    redundant: str,
    keep: Any,
) -> GLM | MixedModel:
    values = rows.values(model.states)
    _, y = learned_response(model.response.node, values, family)
    beside = numbers_beside(model.beside, values) | rows.arrays
    codes = censoring_of(beside)
    beside["censored"] = None if codes is None else as_large(codes)
    _check_response(model, family, y, "trials" in beside)
    location = _location(family, y)
    prior, of_further = split_further(prior, further, {name for name, _ in model.side.spans})
    priors, of_groups = split_groups(prior, [one for one in model.groups if one.of is None])
    for name in further:
        of_further[name], own = split_groups(of_further[name], [one for one in model.groups if one.of == name])
        of_groups = of_groups.joined(own)
    table = NamedDesign(model.side.design(values), model.side.names)
    if not model.side.dim and not family.hazards_alone:
        raise FormulaError(f"the formula {model.formula!r} has no coefficients: give it an intercept or a term.")
    common = {
        "prior": prior_of(priors, learned, location, model.response.levels),
        "offset": model.offset(values),
        **{name: beside.get(name) for name in ("weights", "trials", "censored", "entry")},
        "strata": None if model.strata is None else model.strata.factor(values),
    }
    common["predictors"] = {
        name: described_by(name, of, values, of_further[name], family, location.unit) for name, of in further.items()
    } | {name: values.numbers(Name(name))[:, None] for name in model.data_columns} or None
    found: GLM | MixedModel
    if model.groups:
        groups = [_effects(one, values, of_groups) for one in model.groups]
        found = MixedModel(table, y, family, groups, keep_effects=keep, **common)
    else:
        found = GLM(table, y, family, **common)
    if redundant == "error" and model.side.dim:
        found = _without_redundant(found, model)
    return found.from_formula(model, rows.places_of_some())


def regression_of_tables(asked: Read, tables: Any, family: Any, prior: Any, missing: str, redundant: str) -> GLM:
    """Return the regression of tables that come in blocks."""
    found, model = target_of_tables(asked, tables, family, prior, missing, family.own_intercepts)
    if redundant == "error":
        found = _without_redundant(found, model)
    return found.from_formula(model)


def _check_response(model: FormulaModel, family: Any, y: Any, of_trials: bool) -> None:
    """What the family itself has to say of the responses, by their name."""
    if of_trials or isinstance(y, Factor):
        return
    try:
        family.check(y)
    except ValueError as error:
        counted = " (The row is counted without the rows that were left out.)" if model.dropped else ""
        told = (error.without_name if isinstance(error, WrongResponse) else str(error)).rstrip(".")
        told += _as_trials(model.response.node) if family.responses is Responses.LABELS else ""
        raise FormulaError(f"the response {label(model.response.node)} does not fit: {told}.{counted}") from None


def _as_trials(node: Node) -> str:
    """A share k/n, as a formula has it where rows are numbers of successes."""
    match node:
        case Operation(operator="/", left=successes, right=trials) if successes is not None:
            return f". In a formula: {label(successes)} | trials({label(trials)}) ~"
    return ""


def _location(family: BaseFamily, y: Any) -> Location:
    """Where predictors may be expected; classes by name are behind a link that has its centre at 0."""
    return Location(0.0, 1.0) if isinstance(y, Factor) else family.location(y)


def _effects(one: GroupSide, values: Values, priors: GroupPriors) -> GroupEffects:
    side = one.columns
    columns = None
    _warn_of_numbers(one, values)
    if side.names != ["Intercept"]:
        matrix = filled(values, lambda part: {"X": side.columns(part).dense()})["X"]
        columns = Frame(dict(zip(side.names, matrix.T, strict=True)), values.n_rows, matrix)
    scale, correlation = priors.scales.get(one.name), priors.correlations.get(one.name, 1.0)
    law, related = priors.laws.get(one.name), priors.matrices.get(one.name, {})
    return GroupEffects(one.labels(values), columns, one.name, scale, correlation, law, one.of, **related)


_MANY_VALUES = 50


def _warn_of_numbers(one: GroupSide, values: Values) -> None:
    """Groups by a number that is not whole are hardly meant."""
    for atom in one.by:
        found = values.value(atom) if isinstance(atom, Name) else None
        if not isinstance(found, Numbers) or _are_whole(found.values):
            continue
        count = len(distinct(found.values))
        if count > _MANY_VALUES:
            warnings.warn(
                f"{atom} is a number with {count:,} different values, and (... | {atom}) makes each of them a group. "
                f"For the effect of a number write {atom} or s({atom}).",
                stacklevel=users_line(),
            )


def _are_whole(values: np.ndarray) -> bool:
    return all((values[rows] == np.floor(values[rows])).all() for rows in stretches(len(values)))


def _why(named: list[str]) -> str:
    """Products of factors are collinear where combinations of their levels do not occur; curves have lines in them."""
    if any(name.endswith("[linear]") for name in named):
        return " A curve s(x) contains the straight line in x, and a surface te(x, z) contains s(x) and s(z)."
    if not any("]:" in name and name.endswith("]") for name in named):
        return ""
    return " Combinations of levels that no row has make them so: 0 + a:b gives each that occurs its own coefficient."


def _without_redundant(target: Any, model: FormulaModel) -> Any:
    """Raise for columns that are sums of others in every row; what was found out about them stays with the target."""
    base = target.base if isinstance(target, MixedModel) else target
    _refuse_redundant(base, model)
    if target is not base or base.observations is not base.user_rows:
        return target
    return base.knowing_columns()  # sampling asks for the same


def _refuse_redundant(base: GLM, model: FormulaModel) -> None:
    with one_blas_thread():
        groups = base.dependent_columns_as_given()
    names = model.side.names
    if not groups:
        return
    zero = [names[group[0]] for group in groups if len(group) == 1]
    together = [[names[j] for j in group] for group in groups if len(group) > 1]
    told = [f"the column {name} is zero in every row, so it gives no information: leave it out" for name in zero]
    told += [
        f"the columns {listed(named)} are collinear: each is a linear combination of the others" for named in together
    ]
    end = Text("", "")
    if together:
        leave = "Leave one of the terms out" if len(together) == 1 else "Leave one term of each group out"
        end = Text.of(
            f" The data cannot tell such coefficients apart.{_why([name for named in together for name in named])} "
            f"{leave}, or set ",
            ('redundant="keep"', "--redundant keep"),
            " and give them proper priors.",
        )
    raise FormulaError(Text.of(f"{'; '.join(told)}.", (end, end.shell)))
