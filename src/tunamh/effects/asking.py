"""From the arguments of a user to rows and outcomes, and from the answers to a table: what all questions share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arguments import shown, whole_number
from ..errors import NotApplicable, Text
from ..formula.model import FormulaModel
from ..formula.syntax import columns_in, label
from ..formula.terms import term_label
from ..prediction.fitted import Fitted
from ..results.group_effects import interval_probability
from ..tables.matrices import has_row_labels
from ..targets.families.links import IDENTITY
from .averages import Question, averaged, each_row
from .columns import ModelColumns
from .expansion import expanded, may_be_expanded
from .grid import Point, grid_of, typical_rows
from .outcomes import GROUPS, SCALES, Outcomes
from .rows import AskedRows, Key, by_columns
from .statistics import share_above, summarised
from .typical_of_data import typical_of

if TYPE_CHECKING:
    from .table import EffectsTable

_EXCEEDS = {0.0: "p_positive", 1.0: "p_above_1"}  # names of columns, by what is exceeded
Values = list[np.ndarray]
Ask = Callable[[ModelColumns, list[Point], bool], Question]
"""From the columns, the points of the grid, and whether rows are averaged, to a question."""


@dataclass(frozen=True)
class Asking:
    """The arguments that `predictions`, `comparisons` and `slopes` share."""

    posterior: Any
    data: Any = None
    conditional: Any = None
    average_by: Any = None
    weights: Any = None
    scale: str = "response"
    groups: str | None = None
    draws: int | None = None
    ci_prob: float | None = None
    family: Any = None
    rng: Any = None

    def __post_init__(self) -> None:
        for name, value, known in (("scale", self.scale, SCALES), ("groups", self.groups, (None, *GROUPS))):
            if value not in known:
                raise ValueError(f"{name} must be one of {', '.join(map(repr, known))}, got {shown(value)}.")
        if self.by is not None and self.data is None:
            raise TypeError(
                Text.of(
                    "a result does not contain rows, but averages need them: pass a table, ",
                    ("data=...", "the second argument"),
                    ", such as the data of the fit.",
                )
            )
        if self.by is None and self.weights is not None:
            raise TypeError("weights are for averages over rows: set average_by=True, or leave weights out.")

    @cached_property
    def by(self) -> list[str] | None:
        return by_columns(self.average_by)

    @property
    def of_grid(self) -> bool:
        """Return True if the rows are points of a grid. Columns that are not in the grid have typical values there."""
        return self.by is None and (self.conditional is not None or self.data is None)

    @cached_property
    def fitted(self) -> Fitted:
        wanted = None if self.draws is None else whole_number("draws", self.draws, 1)
        found = Fitted.open(self.posterior, wanted, self.family, by_chain=True)
        if found.formula is None:
            raise NotApplicable(
                "effects need the columns of a formula, and this result has no formula: make the target with "
                "tunamh.regression. tunamh.predict also takes results of other targets."
            )
        return found

    @property
    def above_zero(self) -> float | None:
        """Return the number with which means of the response are compared: 0.

        The result is None if the link makes every mean positive, because the comparison would then say nothing.
        """
        family = self.fitted.family
        positive = family is not None and (family.of_classes or family.link is not IDENTITY)
        return None if positive and self.scale == "response" else 0.0

    @property
    def formula(self) -> FormulaModel:
        assert self.fitted.formula is not None
        return self.fitted.formula

    @cached_property
    def columns(self) -> ModelColumns:
        formula = self.formula
        known = ModelColumns(self.fitted, formula)
        if self.data is None or (formula.typical and not self.of_grid):
            return known
        return ModelColumns(self.fitted, formula, typical_of(known, self.data))

    @cached_property
    def points(self) -> list[Point]:
        return grid_of(self.columns, self.conditional)

    @cached_property
    def outcomes(self) -> Outcomes:
        generator = np.random.default_rng(self.rng)
        return Outcomes(self.fitted, self.scale, self.groups or "known", generator, at_hand=self.of_grid)

    # ------------------------------------------------------------------------------------------------- answers

    def answer(self, ask: Ask, kind: str, told: str, above: float | None = 0.0) -> EffectsTable:
        """Return a table of effects.

        ``told`` says in words what the numbers of the table are; ``{}`` in it stands for the mean of the response. The
        table contains the probability that a number is larger than ``above``, unless ``above`` is None.
        """
        from .table import effects_table

        probability = interval_probability(self.ci_prob)
        self._refuse_columns_that_do_nothing()
        question = ask(self.columns, self.points, self.by is not None)
        self._refuse_groups_that_do_not_count([name for one in question.settings for name in one])
        if self.by is not None:
            lines, items, notes = self._averaged(question)
        elif self.of_grid:
            rows = typical_rows(self.columns, self.points, self._needed(question))
            lines, items = each_row(question, self.outcomes, rows), list(self.points)
            notes = self._of_left_out([*rows.columns, *(name for one in question.settings for name in one)])
        else:
            lines, items, notes = self._each_row(question)
        chains = self.fitted.posterior.sizes["chain"]
        labels, draws = _flat(lines, question, items, self._points_of(question), self.outcomes.names)
        draws = draws.reshape(chains, -1, draws.shape[-1])
        exceeds = {} if above is None else {_EXCEEDS[above]: share_above(draws, above)}
        numbers = summarised(draws, probability) | exceeds
        notes = [*notes, *_of_infinite(draws)]
        return effects_table(labels, numbers, draws, kind=kind, told=told.format(self._mean_in_words()), notes=notes)

    def _refuse_columns_that_do_nothing(self) -> None:
        """Raise where a column is set in all rows, and rows are averaged by it."""
        both = [name for name in self.by or () if name in self.points[0]]
        if both:
            raise ValueError(
                f"conditional sets {both[0]} to the same values in all rows, so tunamh cannot average by the values "
                f"that {both[0]} has in the data: leave it out of average_by, or average by a copy of the column "
                f"with another name."
            )
        self._refuse_groups_that_do_not_count(list(self.points[0]))

    def _refuse_groups_that_do_not_count(self, names: list[str]) -> None:
        """Raise where columns are set that only name groups, whose effects are left out."""
        if self.groups not in ("new", "population"):
            return
        idle = [name for name in names if name in self.columns.of_groups and name not in self.columns.predictors]
        if idle:
            raise ValueError(
                f"{idle[0]} is a factor of group effects, and groups={self.groups!r} leaves these effects out, so no "
                f"result would depend on {idle[0]}: leave it out, or set groups='known'."
            )

    def _mean_in_words(self) -> str:
        response, family = self.formula.response, self.fitted.family
        name = label(response.node)
        if self.scale == "link":
            return f"linear predictor of {name}"
        if self.outcomes.names is not None:
            return f"P({name})"
        if family is None or not family.of_labels:
            return f"mean of {name}"
        return f"P({name} = {response.levels[1]})" if response.labels and response.levels else f"P({name})"

    def _needed(self, question: Question) -> list[str]:
        set_by_contrasts = [name for setting in question.settings for name in setting]
        moved = [name for name in dict.fromkeys(set_by_contrasts) if name in self.columns.predictors]
        return list(dict.fromkeys([*self.columns.predictors, *moved]))

    def _points_of(self, question: Question) -> list[Point]:
        """The labels of the points that a question goes through for all rows."""
        return self.points if len(question.points) > 1 or self.by is not None else [{}]

    def _averaged(self, question: Question) -> tuple[Values, list[dict[str, Any]], list[str]]:
        assert self.by is not None
        rows = AskedRows.of(self.data, self.outcomes.columns, self.by, self.weights)
        lines, keys, notes = self._computed(question, rows)
        order = _order(self.columns, self.by, keys)
        items = [dict(zip(self.by, keys[k], strict=True)) for k in order]
        n = rows.n_rows - rows.dropped
        first = f"Averages of {n:,} rows{' with weights' * (self.weights is not None)}."
        notes = [first, *notes, *_of_dropped(rows)]
        return [own[:, order] for own in lines], items, notes

    def _computed(self, question: Question, rows: AskedRows) -> tuple[Values, list[Key], list[str]]:
        """All rows at all draws if they are few; else by the expansion, with a note about its error."""
        if not may_be_expanded(question, self.outcomes, rows):
            return *averaged(question, self.outcomes, rows), []
        generator = np.random.default_rng(0 if self.rng is None else self.rng)  # the same answer at every call
        found = expanded(question, self.outcomes, rows, generator)
        if found.error is None:
            return found.lines, found.keys, []
        told = (
            f"Computed from one pass and {found.sampled:,} sampled rows: the estimated error is at most "
            f"{found.error:.2g} posterior standard deviations."
        )
        return found.lines, found.keys, [told]

    def _each_row(self, question: Question) -> tuple[Values, list[dict[str, Any]], list[str]]:
        rows = AskedRows.of(self.data, self.outcomes.columns, [], None)
        found: list[Values] = []
        numbers = []
        for block in rows.blocks():
            found.append(each_row(question, self.outcomes, block.rows))
            numbers.append(block.numbers)
        called = np.concatenate(numbers)
        if has_row_labels(self.data) and self.data.index.nlevels == 1:
            called = np.asarray(self.data.index)[called]
        lines = [np.concatenate(own, axis=1) for own in zip(*found, strict=True)]
        return lines, [{"row": one} for one in called.tolist()], _of_dropped(rows)

    def _of_left_out(self, there: list[str]) -> list[str]:
        """Which effects of groups do not count in a grid."""
        if self.groups in ("new", "population"):
            return []
        wanted = [(term_label(one.by), [n for atom in one.by for n in columns_in(atom)]) for one in self.formula.groups]
        out = [name for name, own in wanted if not set(own) <= set(there)]
        if not out:
            return []
        return [
            f"Effects of {', '.join(dict.fromkeys(out))} are left out (a typical group): to use them, set their "
            "levels in conditional=; to average over new groups, set groups='new'."
        ]


def _of_infinite(draws: np.ndarray) -> list[str]:
    lines = int((~np.isfinite(draws)).any(axis=(0, 1)).sum())
    if not lines:
        return []
    return [f"{lines:,} of {draws.shape[2]:,} lines have draws that are not finite, such as a number divided by zero."]


def _of_dropped(rows: AskedRows) -> list[str]:
    return [f"{rows.dropped:,} rows with missing values are left out."] if rows.dropped else []


def _flat(
    lines: Values, question: Question, items: list[dict[str, Any]], points: list[Point], classes: list[str] | None
) -> tuple[dict[str, list[Any]], np.ndarray]:
    """Labels by column, and draws (draws, lines): point by point, contrast by contrast, row by row, class by class."""
    taken = {*question.labels[0], *(() if classes is None else ("class",))}
    points, items = (
        [{_beside(taken, name): value for name, value in one.items()} for one in own] for own in (points, items)
    )
    labels = [{**own, **point} for point in points for own in question.labels]
    whole: list[dict[str, Any]] = []
    of_classes: list[dict[str, Any]] = [{}] if classes is None else [{"class": name} for name in classes]
    for one in labels:
        for item in items:
            whole += [{**one, **item, **of_class} for of_class in of_classes]
    flat = np.concatenate([own.reshape(len(own), -1) for own in lines], axis=1)
    return {name: [one[name] for one in whole] for name in whole[0]}, flat


def _beside(taken: set[str], name: str) -> str:
    """The name of a user's column, where the table has one of its own with this name."""
    return f"{name}_" if name in taken else name


def _order(columns: ModelColumns, by: list[str], keys: list[Key]) -> list[int]:
    """Levels in the order of the model, others sorted."""

    def rank(name: str, value: float | str) -> tuple[int, Any]:
        levels = (columns.levels(name) or ()) if name in [*columns.predictors, *columns.of_groups] else ()
        if isinstance(value, str) and value in levels:
            return 0, levels.index(value)
        return (1, value) if not isinstance(value, str) else (2, value)

    ranks = [tuple(rank(name, value) for name, value in zip(by, key, strict=True)) for key in keys]
    return sorted(range(len(keys)), key=lambda k: ranks[k])
