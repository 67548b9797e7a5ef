"""A model in words for people: formula, family, rows, reference levels, groups and priors, a line or a few each."""

from __future__ import annotations

from typing import Any

from ..targets.families.registry import family_as_json, family_in_words
from .model import FormulaModel
from .prior_summary import prior_summary

_MOST_NAMES = 6  # of one line
_MOST_LINES = 20  # of priors


def described(formula: FormulaModel, target: Any) -> str:
    """Return the text that ``print(model)`` prints."""
    response = formula.response
    family = family_in_words(family_as_json(target.user_family))
    which = f"; {response.told}" if response.labels and response.levels else ""
    dropped = f" ({formula.dropped:,} with missing values are left out)" if formula.dropped else ""
    split = f", split into {target.n_rows:,} pieces of time" if target.n_rows != target.data_rows else ""
    lines = [formula.formula, f"Family: {family}{which}", f"Rows: {target.data_rows:,}{dropped}{split}"]
    if references := _references(formula):
        lines.append(f"Reference levels: {', '.join(references)}")
    if groups := dict.fromkeys(f"{name} ({count:,} levels)" for name, count in _groups(formula, target)):
        lines.append(f"Groups: {', '.join(groups)}")
    return "\n".join([*lines, "Priors:", *_priors(target)])


def _references(formula: FormulaModel) -> list[str]:
    """Of factors, the levels without a coefficient."""
    found: dict[str, str] = {}
    for side in [formula.side, *formula.others.values()]:
        found |= side.references
    return [f"{name}: {level}" for name, level in found.items()]


def _groups(formula: FormulaModel, target: Any) -> list[tuple[str, int]]:
    if not formula.groups:
        return []
    return [
        (formula.factors[k if one.given is None else one.given], one.groups) for k, one in enumerate(target.groupings)
    ]


def _priors(target: Any) -> list[str]:
    """A line for each prior, with the names of the parameters that have it."""
    table = prior_summary(target)
    every = table.index.tolist()
    names_of: dict[str, dict[str, list[str]]] = {}
    for name, words in zip(every, table["prior"].tolist(), strict=True):
        names_of.setdefault(words, {}).setdefault(_base(name), []).append(name)
    lines = [
        f"  {_listed([_together(names, every) for names in own.values()])}: {words}" for words, own in names_of.items()
    ]
    if len(lines) > _MOST_LINES:
        lines = [*lines[:_MOST_LINES], f"  ... and {len(lines) - _MOST_LINES} more: tunamh.prior_summary(model)"]
    return lines


def _base(name: str) -> str:
    """The variable of a parameter: ``plan`` of ``plan[plus]``."""
    return name.partition("[")[0] if name.endswith("]") else name


def _together(names: list[str], every: list[str]) -> str:
    """Entries of one variable: the variable, if these are all of it; the first and the last, if all between are."""
    if len(names) == 1:
        return names[0]
    base, first = _base(names[0]), every.index(names[0])
    if sum(_base(name) == base for name in every) == len(names):
        return base
    in_a_row = every[first : first + len(names)] == names
    return f"{names[0]} to {names[-1]}" if in_a_row else f"{len(names)} of {base}"


def _listed(names: list[str]) -> str:
    more = len(names) - _MOST_NAMES
    return ", ".join(names[:_MOST_NAMES]) + (f" and {more} more" if more > 0 else "")
