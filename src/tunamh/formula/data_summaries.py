"""What a right side learns from data, block by block: levels, means and standard deviations, cells, columns that vary.

Two maps: the first finds levels and what functions need to know, the second, which can then make columns, finds cells
that occur and how numbers vary. What blocks say is joined in their order.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import NamedTuple

import numpy as np

from ..priors.default import INTERCEPT, Columns
from ..process.scratch import distinct, large
from ..tables.columns import Factor
from .coding import Block
from .curve_terms import Term, begun_term
from .errors import FormulaError, listed
from .evaluation import Values, as_factor, filled, learned_calls, reference_of
from .likely_factors import NoNumber, first_without_number, refuse_numbers_as_text, refuse_unlikely
from .right_side import MOST_COLUMNS, RightSide
from .smooths import asked
from .syntax import Call, Name, label
from .terms import Terms, term_label
from .variables import join_levels


class Moments(NamedTuple):
    """A summary of a column of numbers.

    It contains the count, the mean, the sum of squared deviations from the mean, the smallest and the largest number.
    """

    n: float
    mean: float
    squares: float
    low: float
    high: float

    @classmethod
    def of(cls, values: np.ndarray) -> Moments:
        if len(values) == 0:
            return cls(0.0, 0.0, 0.0, math.inf, -math.inf)
        mean = float(values.mean())
        squares = np.subtract(values, mean, out=large(len(values)))
        np.square(squares, out=squares)
        return cls(float(len(values)), mean, float(squares.sum()), float(values.min()), float(values.max()))

    def __add__(self, other: Moments) -> Moments:  # type: ignore[override]
        n = self.n + other.n
        if n == 0:
            return self
        apart, share = other.mean - self.mean, other.n / n
        squares = self.squares + other.squares + apart * apart * self.n * share
        return Moments(n, self.mean + apart * share, squares, min(self.low, other.low), max(self.high, other.high))

    @property
    def sd(self) -> float:
        return math.sqrt(self.squares / self.n) if self.n else 0.0


CURVE = Moments(6.0, 0.0, 6.0, -2.0, 2.0)
"""Of a column of a curve, which has the mean 0 and about the size 1. One of numbers times a curve is of their size."""

LEVEL = Moments(2.0, 0.5, 0.5, 0.0, 1.0)
"""Of a column of zeros and ones, whatever their shares."""


class FirstLook(NamedTuple):
    """What one block of rows says at the first pass: levels of factors and moments of the arguments of functions.

    ``sorted_levels`` says whether the levels were sorted, or have an order of their own in the data.
    """

    levels: dict[str, tuple[str, ...]]
    sorted_levels: dict[str, bool]
    moments: dict[str, Moments]
    texts: dict[str, NoNumber | None] = {}  # noqa: RUF012 - nobody writes to it
    """Columns of text, with their first value that is not a number."""


def first_look(terms: Terms, values: Values) -> FirstLook:
    levels, in_order, moments = {}, {}, {}
    texts: dict[str, NoNumber | None] = {}
    curves = [(curve, asked(curve)) for curve in terms.curves]
    for curve, own in curves:
        for k, column in enumerate(own.columns):
            moments[_argument(curve, k)] = Moments.of(values.numbers(column))
    by = [own.by for _, own in curves if own.by is not None]
    for atom in dict.fromkeys([*(atom for term in terms.fixed for atom in term), *by]):
        for call in learned_calls(atom):
            moments[str(call)] = Moments.of(values.numbers(call.arguments[0]))
        is_c = isinstance(atom, Call) and atom.function == "C"
        if is_c or (isinstance(atom, Name) and isinstance(values.value(atom), Factor)):
            factor = as_factor(values.value(atom))
            used = distinct(factor.codes)
            levels[label(atom)] = tuple(factor.levels[code] for code in used.tolist() if code >= 0)
            in_order[label(atom)] = list(levels[label(atom)]) == sorted(levels[label(atom)])
            if not is_c and factor.kind == "text":
                odd = first_without_number(factor)
                texts[label(atom)] = None if odd is None else odd._replace(row=values.row(odd.row))
    return FirstLook(levels, in_order, moments, texts)


def learned(terms: Terms, looks: Iterable[FirstLook], n_rows: int, *, hide_intercept: bool = False) -> RightSide:
    """Return the right side with everything that the first pass tells. The cells are found in a second pass."""
    levels: dict[str, list[tuple[str, ...]]] = {}
    moments: dict[str, Moments] = {}
    texts: dict[str, NoNumber | None] = {}
    for look in looks:
        for name, odd in look.texts.items():
            texts[name] = texts.get(name) or odd
        for name, found in look.levels.items():
            levels.setdefault(name, []).append(found)
        for name, one in look.moments.items():
            moments[name] = moments[name] + one if name in moments else one
    atoms = {label(atom): atom for term in terms.fixed for atom in term}
    atoms |= {label(by): by for curve in terms.curves if (by := asked(curve).by) is not None}
    curves = tuple(begun_term(one, _ranges(one, moments)) for one in terms.curves)
    joined = {name: with_reference(join_levels(found), atoms[name]) for name, found in levels.items()}
    states = {name: {"mean": one.mean, "sd": one.sd} for name, one in moments.items()}
    for name, state in states.items():
        if not state["sd"] > 1e-12 * abs(state["mean"]):
            raise FormulaError(
                f"{name}: its argument is {state['mean']:g} in every row, so it gives no information: leave it out."
            )
    _refuse_single(joined)
    refuse_numbers_as_text(joined, texts, atoms)
    refuse_unlikely(joined, atoms, n_rows)
    side = RightSide(terms, joined, states, curves=curves, hide_intercept=hide_intercept)
    _refuse_too_many(side)
    return side


def _argument(curve: Call, k: int) -> str:
    """What is known of column ``k`` of a curve is kept by this name."""
    return f"{curve} {k}"


def _ranges(curve: Call, moments: dict[str, Moments]) -> list[tuple[float, float]]:
    """Of the columns of a curve, taken from what is known."""
    found = [moments.pop(_argument(curve, k)) for k in range(len(asked(curve).columns))]
    return [(one.low, one.high) for one in found]


def refuse_second_intercept(side: RightSide) -> None:
    """Raise `FormulaError` if all levels of a factor would have a column in a family that has its own intercepts.

    An example is ``0 + g`` with `Ordinal`: the cutpoints are the intercepts, so one level of ``g`` must be the
    reference.
    """
    if not side.hide_intercept or side.terms.has_intercept:
        return
    whole = [one for one in side.gathered if not one.numbers and all(factor.full for factor in one.factors)]
    if whole:
        raise FormulaError(
            "this family has intercepts of its own (cutpoints, log hazards), and 0 + cannot remove them. With 0 + "
            f"every level of {side.block_name(whole[0])} would have a coefficient, and the data cannot determine all "
            "of them: leave 0 + out."
        )


def with_reference(levels: tuple[str, ...], atom: object) -> tuple[str, ...]:
    """Return the levels with the reference level first."""
    reference = reference_of(atom)  # type: ignore[arg-type]
    if reference is None:
        return levels
    if reference not in levels:
        raise FormulaError(
            f"{atom}: no row has the level {reference!r}; there are {listed([repr(one) for one in levels])}."
        )
    return (reference, *(level for level in levels if level != reference))


def _refuse_single(levels: Mapping[str, tuple[str, ...]]) -> None:
    for name, found in levels.items():
        if len(found) == 1:
            raise FormulaError(f"{name} is {found[0]!r} in every row, so it gives no information: leave it out.")


def _refuse_too_many(side: RightSide) -> None:
    for block in side.gathered:
        if len(block.factors) == 1 and side.count(block) > MOST_COLUMNS:
            name = label(block.factors[0].atom)
            raise FormulaError(
                f"{name} has {len(side.levels[name]):,} levels, and a model may have at most {MOST_COLUMNS:,} "
                f"coefficients: use group effects, (1 | {Name(name)})."
            )
        if math.prod(side.sizes(block)) > 2**60:
            raise FormulaError(f"{term_label(block.term)} has too many combinations of levels to count.")


class SecondLook(NamedTuple):
    """What one block of rows says at the second pass: the cells that occur, and how the columns of numbers vary."""

    cells: dict[str, np.ndarray]
    moments: dict[str, Moments]
    curves: dict[str, tuple[np.ndarray, ...]]
    """Of a curve: sums over the rows."""


def second_look(side: RightSide, values: Values) -> SecondLook:
    cells = {}
    for key, numbers in filled(values, partial(_cell_numbers, side)).items():
        used = distinct(numbers)
        cells[key] = used[used >= 0]
    moments = {}
    for block in side.blocks:
        if block.numbers:
            moments[_numbers_of(block)] = Moments.of(side.multiplier(block, values))
    for curve in side.curves:
        if (by := curve.asked.by) is not None and label(by) not in side.levels:
            moments[_multiplier(curve)] = Moments.of(values.numbers(by))
    curves = {curve.name: curve.sums(values) for curve in side.curves}
    return SecondLook(cells, moments, curves)


def _cell_numbers(side: RightSide, values: Values) -> dict[str, np.ndarray]:
    """Of products of factors."""
    codes = side.codes(values)
    return {block.key: side.cell_numbers(block, codes) for block in side.gathered if len(block.factors) > 1}


def _multiplier(curve: Term) -> str:
    """What is known of the numbers that multiply a curve is kept by this name."""
    return f"{curve.name} by"


def second_look_at_once(terms: Terms, first: FirstLook, values: Values) -> SecondLook | None:
    """Return the second look at a block of rows directly after the first, or None if this is impossible.

    It is impossible if other blocks matter: if a function learns from all rows, if a curve needs its range, or if the
    formula has products of factors, whose cells are counted with the levels of all blocks.
    """
    if first.moments or terms.curves:
        return None
    side = RightSide(terms, first.levels, {})
    if any(len(block.factors) > 1 for block in side.blocks):
        return None
    return SecondLook(
        {}, {_numbers_of(one): Moments.of(side.multiplier(one, values)) for one in side.blocks if one.numbers}, {}
    )


def _numbers_of(block: Block) -> str:
    return term_label(block.numbers)


class Learned(NamedTuple):
    """A right side, and the moments of the numbers in each group of its columns (None: a column of levels)."""

    side: RightSide
    moments: list[Moments | None]

    @property
    def columns(self) -> Columns:
        """Return the columns as default priors need them. A column of a level has the size 1 and no mean."""
        known = [LEVEL if one is None else one for one in self.moments]
        numbers = ([one.mean for one in known], [one.sd for one in known], [one.low for one in known])
        return Columns.of_moments(*(np.array(each) for each in (*numbers, [one.high for one in known])))


def completed(side: RightSide, looks: Iterable[SecondLook]) -> Learned:
    cells: dict[str, np.ndarray] = {}
    moments: dict[str, Moments] = {}
    curves: dict[str, tuple[np.ndarray, ...]] = {}
    for look in looks:
        for name, sums in look.curves.items():
            before = curves.get(name)
            curves[name] = sums if before is None else tuple(a + b for a, b in zip(before, sums, strict=True))
        for key, found in look.cells.items():
            cells[key] = np.union1d(cells[key], found) if key in cells else found
        for name, one in look.moments.items():
            moments[name] = moments[name] + one if name in moments else one
    side = replace(side, cells={key: tuple(found.tolist()) for key, found in cells.items()})
    side = replace(side, curves=tuple(one.finished(curves[one.name], _levels_by(side, one)) for one in side.curves))
    if side.dim > MOST_COLUMNS:
        raise FormulaError(
            f"the formula makes {side.dim:,} coefficients, and at most {MOST_COLUMNS:,} are possible: use "
            "group effects, (1 | factor), for factors with many levels."
        )
    for block in side.blocks:
        own = moments.get(_numbers_of(block)) if block.numbers else None
        constant = own is not None and own.low == own.high
        if block.term and term_label(block.term) == INTERCEPT and (side.terms.has_intercept or not constant):
            raise FormulaError(
                "a column has the name Intercept, which is the name of the intercept: rename the column. If it is a "
                "column of ones, it can replace the intercept: write 0 + Intercept."
            )
        if own is not None and own.low == own.high and (side.terms.has_intercept or own.low == 0):
            raise FormulaError(
                f"{term_label(block.numbers)} is {own.low:g} in every row, like the intercept, so it gives no "
                "information: leave it out."
            )
    return Learned(side, [_moments_of(one, moments) for one in side.parts])


def _moments_of(part: Block | Term, moments: Mapping[str, Moments]) -> Moments | None:
    if isinstance(part, Term):
        return moments.get(_multiplier(part), CURVE)
    return moments[_numbers_of(part)] if part.numbers else None


def _levels_by(side: RightSide, curve: Term) -> int:
    by = curve.asked.by
    return 0 if by is None else len(side.levels.get(label(by), ()))
