"""Terms of a formula that are curves: ``s(x)``, whose wiggles have an unknown scale, and ``bs``, ``ns``, ``poly``.

A curve is ``f(x) = sum_j R_j(x) (T c)_j``: known functions ``R`` (`tunamh.formula.splines`), a matrix ``T`` that is
learned from the data, and coefficients ``c``. With ``G`` the mean of ``R R'`` over the rows and ``S`` the penalty (both
scaled to one trace), the columns of ``T`` are eigenvectors of ``G v = mu (G + S) v`` (Demmler and Reinsch 1975): those
with ``mu = 1`` are the curves without a penalty, a constant, which is left out, and a line; the others,

    T_j = v_j / (sqrt(1 - mu_j) norm),    norm^2 = sum_j mu_j / (1 - mu_j),

have a mean of zero over the rows and no covariance with the line. If their coefficients are ``N(0, sigma^2)``, minus
twice the log prior of a curve is its penalty over ``sigma^2`` and a constant, and the variance of the wiggles, averaged
over the rows, is ``sigma^2``: the scale is in the units of the curve. Functions that no row sees (``mu = 0``) are
columns as all others: without them a curve could not bend between the data as its prior says.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..targets.designs.curved import columns_of_curve, products_of_splines
from ..targets.designs.curves import Curve
from .demmler_reinsch import demmler_reinsch
from .errors import FormulaError
from .evaluation import Values
from .splines import CYCLIC, POLYNOMIAL, SPLINES, differences, places, raw_columns
from .syntax import Call, Name, Node, Number, label

_LEAST = {"s": 5, "te": 5, "bs": 4, "ns": 2, "poly": 1}
_MOST = 200
_DEFAULT_K = {"s": 10, "te": 5}
_BEYOND = 1e-3  # of the range of the data: how far outside it rows may be without a warning
_NO_DATA = 1e-7  # eigenvalues of functions that the rows say nothing of
_ROUNDING = 1e-9  # of columns that are zero in all rows, which numbers that are nearly zero would not be

_OF_OTHERS = {
    "bs": " All curves are penalised cubic splines. Write s(x, cyclic=True) for a cyclic curve, and (1 | group) for "
    "group effects.",
    "fx": " Splines without a penalty are written bs(x, df).",
    "sp": ' The scale of a curve is unknown and sampled. Set its prior by prior={"s(x)": tunamh.HalfStudentT(3, 1)}.',
    "raw": " A power of a column is written I(x**2).",
    "m": " The penalty is the integral of the squared second derivative.",
}
"""What arguments of other packages are here."""


class Asked(NamedTuple):
    """The arguments of a term. ``size`` is ``k`` of ``s``, ``df`` of ``bs`` and ``ns``, or the degree of ``poly``."""

    function: str
    x: Node
    size: int
    by: Node | None = None
    cyclic: bool = False
    period: float | None = None
    z: Node | None = None
    """The second column, of a surface."""

    @property
    def kind(self) -> str:
        return POLYNOMIAL if self.function == "poly" else CYCLIC if self.cyclic else SPLINES

    @property
    def raw(self) -> int:
        """Return the number of functions ``R`` from which the columns are made."""
        return self.size + {"s": 0, "te": 0, "bs": 1, "ns": 3, "poly": 1}[self.function]

    @property
    def penalised(self) -> bool:
        return self.function in ("s", "te")

    @property
    def numbers(self) -> int:
        """Return how many numbers of the term a row stores: for `s` its place on the curve, otherwise all columns."""
        return {"s": 1 + (self.by is not None), "te": self.size**2 - 1}.get(self.function, self.size)

    @property
    def name(self) -> str:
        """Return the name of the term in results. For a smooth it does not contain numbers such as ``k``."""
        by = "" if self.by is None else f", by={label(self.by)}"
        size = "" if self.penalised else f", {self.size}"
        columns = ", ".join(map(label, self.columns))
        return f"{self.function}({columns}{size}{by})"

    @property
    def columns(self) -> tuple[Node, ...]:
        """Return the expressions of which the term is a function: x, or x and z."""
        return (self.x,) if self.z is None else (self.x, self.z)


def asked(node: Call) -> Asked:
    """Return the arguments of a call as an `Asked`. Raise `FormulaError` for arguments that are not known."""
    function, named = node.function, dict(node.named)
    positional = list(node.arguments)
    if not positional:
        raise FormulaError(f"{node}: {function} takes a column, such as {function}(x).")
    if function == "te" and len(positional) != 2:
        raise FormulaError(f"{node}: te takes two columns, as in te(x, z).")
    if len(positional) > (1 if function == "s" else 2):
        several = "a surface over two columns is written te(x, z), two curves s(x) + s(z)"
        raise FormulaError(f"{node}: {several if function == 's' else f'{function} takes a column and one number'}.")
    z = positional.pop() if function == "te" else None
    known = {"s": ("k", "by", "cyclic", "period"), "te": ("k",), "poly": ("degree",)}.get(function, ("df",))
    unknown = [name for name in named if name not in known]
    if unknown:
        hint = _OF_OTHERS.get(unknown[0], "") if function in ("s", "te") or unknown[0] == "raw" else ""
        raise FormulaError(f"{node}: {function} has no argument {unknown[0]}=; known are {', '.join(known)}=.{hint}")
    size_node = positional[1] if len(positional) == 2 else named.get(known[0])
    if size_node is None and function not in _DEFAULT_K:
        raise FormulaError(f"{node}: write how many columns you want, as in {function}({label(positional[0])}, 4).")
    size = _DEFAULT_K[function] if size_node is None else _whole(node, known[0], size_node, _LEAST[function])
    cyclic = _truth(node, "cyclic", named.get("cyclic"))
    period = None if "period" not in named else _positive(node, "period", named["period"])
    if period is not None and not cyclic:
        raise FormulaError(f"{node}: period= is only for a cyclic curve: add cyclic=True.")
    by = named.get("by")
    if by is not None and not (isinstance(by, Name) or (isinstance(by, Call) and by.function == "C")):
        raise FormulaError(f"{node}: by= is a column of numbers or levels, or C(column).")
    return Asked(function, positional[0], size, by, cyclic, period, z)


def _whole(node: Call, name: str, given: Node, least: int) -> int:
    if not isinstance(given, Number) or given.value != int(given.value) or not least <= given.value <= _MOST:
        raise FormulaError(f"{node}: {name}= is a whole number from {least} to {_MOST}, got {given}.")
    return int(given.value)


def _positive(node: Call, name: str, given: Node) -> float:
    if not isinstance(given, Number) or not 0 < given.value < np.inf:
        raise FormulaError(f"{node}: {name}= is a positive number, such as {name}=24; got {given}.")
    return given.value


def _truth(node: Call, name: str, given: Node | None) -> bool:
    if given is None:
        return False
    if not isinstance(given, Name) or given.name not in ("True", "False", "TRUE", "FALSE"):
        raise FormulaError(f"{node}: {name}= is True or False, got {given}.")
    return given.name.title() == "True"


def columns_of_smooth(node: Call) -> list[Node]:
    """Return the expressions of a smooth that need columns of the data."""
    found = asked(node)
    return [*found.columns] if found.by is None else [*found.columns, found.by]


@dataclass(frozen=True, eq=False)
class Smooth:
    """A curve with what was learned from the data: its range, and the matrix ``T`` that makes columns from functions.

    The first ``fixed`` columns have no penalty. ``levels`` is the number of levels of a factor ``by``, each of which
    has its own curve. ``multiplied`` is True if a column of numbers ``by`` multiplies the curve. The last ``unseen``
    columns are zero in all rows, up to rounding.
    """

    node: Call
    low: float
    high: float
    T: np.ndarray | None = None
    fixed: int = 0
    levels: int = 0
    multiplied: bool = False
    unseen: int = 0

    @property
    def asked(self) -> Asked:
        return asked(self.node)

    @property
    def name(self) -> str:
        return self.asked.name

    @property
    def each(self) -> int:
        """Return the number of columns of one curve."""
        assert self.T is not None, "a second look at the rows finds these"
        return self.T.shape[1]

    @property
    def size(self) -> int:
        return self.each * max(self.levels, 1)

    @property
    def labels(self) -> tuple[str, ...]:
        """Return the labels of the columns of one curve."""
        if not self.asked.penalised:
            return tuple(str(j + 1) for j in range(self.each))
        fixed = (["constant"] if self.multiplied else []) + ([] if self.asked.cyclic else ["linear"])
        return (*fixed, *(str(j + 1) for j in range(self.each - self.fixed)))

    def raw(self, x: np.ndarray) -> np.ndarray:
        return raw_columns(self.asked.kind, x, self.low, self.high, self.asked.raw)

    def columns(self, x: np.ndarray) -> np.ndarray:
        """Return the columns of one curve at the points ``x``: an array (n, each)."""
        assert self.T is not None
        if not self.banded:
            return self.raw(x) @ self.T
        found = columns_of_curve(self._curve(self.T), self._places(x)[:, None])
        if self.unseen:
            last = found[:, self.each - self.unseen :]
            last[np.abs(last) < _ROUNDING] = 0.0
        return found

    def of_rows(self, values: Values) -> np.ndarray:
        """Return the columns of a curve for some rows: the same curve for all rows, or the curve of the row's level.

        Warn if rows lie outside the range of the data.
        """
        found, by = self.columns(self._x(values)), self.asked.by
        return found * values.numbers(by)[:, None] if by is not None and self.multiplied else found

    def _x(self, values: Values) -> np.ndarray:
        own = self.asked
        x = values.numbers(own.x)
        if not own.cyclic:
            how = "the polynomial continues" if own.kind == POLYNOMIAL else "the curve continues as a straight line"
            warn_beyond(own.x, x, self.low, self.high, how)
        return x

    @property
    def banded(self) -> bool:
        """Return True if a row of the data stores its place on the curve instead of the columns (see `as_curve`)."""
        return self.asked.function == "s"

    def _places(self, x: np.ndarray) -> np.ndarray:
        own = self.asked
        return places(x, self.low, self.high, own.raw, cyclic=own.cyclic)

    def _curve(self, T: np.ndarray) -> Curve:
        """One curve alone."""
        return Curve(0, T, self.asked.cyclic)

    def as_curve(self, start: int) -> Curve:
        """Return the curve for a design. Its parameters begin at position ``start``.

        Columns that are zero in all rows of the data, up to rounding, are exactly zero here.
        """
        assert self.T is not None
        T = self.T.copy()
        T[:, self.each - self.unseen :] = 0.0
        return self._curve(T)._replace(start=start, levels=max(self.levels, 1), multiplied=self.multiplied)

    def numbers_on(self, values: Values, codes: Mapping[str, np.ndarray]) -> list[np.ndarray]:
        """Return the numbers that a row stores for the curve, one array for each number.

        See `tunamh.targets.designs.curves`.
        """
        own = self.asked
        found, by = [self._places(self._x(values))], own.by
        if by is None:
            return found
        if self.levels > 1:
            found.append(codes[label(by)].astype(np.float64))
        return [*found, values.numbers(by)] if self.multiplied else found

    def sums(self, values: Values) -> tuple[np.ndarray, ...]:
        """Return sums over some rows from which the curve is learned: products of functions, and the number of rows."""
        x = values.numbers(self.asked.x)
        n = np.array(float(len(x)))
        if self.banded:
            return products_of_splines(self._curve(np.eye(self.asked.raw)), self._places(x)[:, None]), n
        R = self.raw(x)
        return R.T @ R, n

    def finished(self, sums: tuple[np.ndarray, ...], levels: int) -> Smooth:
        """Return the curve with its columns, computed from the `sums` over all rows.

        ``levels`` is the number of levels of a factor ``by``, or 0.
        """
        gram, n = sums
        return finished(self, gram, float(n), levels, self.asked.by is not None and not levels)

    @property
    def shares(self) -> np.ndarray:
        """Return an array (columns, scales) of zeros and ones: which scale the prior of a coefficient has.

        See `tunamh.priors.summed_precisions`.
        """
        curve = np.arange(self.size)
        wiggle = curve % self.each >= self.fixed
        return (curve[:, None] // self.each == np.arange(max(self.levels, 1))) * wiggle[:, None] * 1.0

    def scale_labels(self, levels: Mapping[str, tuple[str, ...]]) -> tuple[str, ...]:
        """Return the labels of the curve's scales: the levels of ``by``. The result is empty if there is one scale."""
        by = self.asked.by
        return () if by is None or not self.levels else levels[label(by)]

    def to_json(self) -> dict[str, Any]:
        return {
            "term": str(self.node),
            "low": self.low,
            "high": self.high,
            "T": [] if self.T is None else self.T.tolist(),
            "fixed": self.fixed,
            "levels": self.levels,
            "multiplied": self.multiplied,
            "unseen": self.unseen,
        }

    @classmethod
    def from_json(cls, found: Mapping[str, Any], node: Call) -> Smooth:
        T = np.array(found["T"], dtype=np.float64)
        one = cls(
            node,
            float(found["low"]),
            float(found["high"]),
            T,
            int(found["fixed"]),
            int(found["levels"]),
            bool(found["multiplied"]),
            int(found.get("unseen", 0)),
        )
        fits = T.ndim == 2 and len(T) == one.asked.raw and 0 <= one.fixed <= T.shape[1] and one.levels >= 0
        fits = fits and 0 <= one.unseen <= T.shape[1] - one.fixed
        if not (fits and np.isfinite(T).all() and np.isfinite([one.low, one.high]).all() and one.low < one.high):
            raise FormulaError(f"the stored columns of {one.name} do not fit its term")
        return one


def warn_beyond(x: Node, values: np.ndarray, low: float, high: float, how: str) -> None:
    """Warn of rows outside the range of the data. ``how`` says in words how the curve continues there."""
    away = _BEYOND * (high - low)  # slopes are taken by steps that are shorter
    outside = int(((values < low - away) | (values > high + away)).sum())
    if outside:
        warnings.warn(
            f"{label(x)} is outside the range of the fitted data, {low:g} to {high:g}, in {outside:,} rows: there "
            f"{how}, without any data.",
            stacklevel=3,
        )


def begun(node: Call, low: float, high: float) -> Smooth:
    """Return a curve that knows only its range: from the smallest to the largest number of the data.

    If the curve has a period, the range begins at the smallest number and is one period long.
    """
    own = asked(node)
    if not low < high:
        raise FormulaError(f"{node}: {label(own.x)} is {low:g} in every row, so it cannot have a curve: leave it out.")
    return Smooth(node, low, high if own.period is None else low + own.period)


def finished(smooth: Smooth, gram: np.ndarray, n: float, levels: int, multiplied: bool) -> Smooth:
    """Return the curve with its columns.

    They are computed from ``gram``, the sum over ``n`` rows of the products of the functions ``R``.
    """
    own, G = smooth.asked, gram / n
    if own.penalised:
        T, fixed, unseen = _penalised(own, smooth, G, multiplied)
    else:
        T, fixed, unseen = _plain(own, smooth, G), 0, 0
    return Smooth(smooth.node, smooth.low, smooth.high, T, fixed, levels, multiplied, unseen)


def _penalised(own: Asked, smooth: Smooth, G: np.ndarray, multiplied: bool) -> tuple[np.ndarray, int, int]:
    found = demmler_reinsch(smooth.node, own.x, G, cyclic=own.cyclic)
    wiggles = found.vectors / (np.sqrt(1 - found.mu) * found.norm)
    fixed = [] if not multiplied else [np.ones(own.raw)]
    if found.line is not None:
        fixed.append(found.line)
    wiggles *= np.where(wiggles[-1] - wiggles[0] < 0, -1.0, 1.0)
    return np.column_stack([*fixed, wiggles, found.unseen / found.norm]), len(fixed), found.unseen.shape[1]


def _plain(own: Asked, smooth: Smooth, G: np.ndarray) -> np.ndarray:
    """Centred columns; of natural splines those without a second derivative at the ends; orthogonal polynomials."""
    k = own.raw
    if own.function == "poly":
        root = np.linalg.cholesky(G) if np.linalg.eigvalsh(G)[0] > _NO_DATA * np.trace(G) else None
        if root is None:
            raise FormulaError(f"{smooth.node}: {label(own.x)} has too few different values for this degree.")
        return np.linalg.inv(root).T[:, 1:]  # Gram and Schmidt: the first is the constant
    T = np.eye(k)
    if own.function == "ns":
        D = differences(k, cyclic=False)
        T = np.linalg.svd(np.array([D[0], D[-1]]))[2][2:].T  # curves without these differences
    ones = np.linalg.lstsq(T, np.ones(k), rcond=None)[0]
    mean = G.sum(axis=0) @ T
    rest = np.linalg.svd((ones / np.linalg.norm(ones))[None, :])[2][1:].T  # coefficients other than a constant's
    T = T @ rest
    return T - np.outer(np.ones(k), (mean @ rest))
