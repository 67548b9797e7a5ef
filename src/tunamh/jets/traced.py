"""Objects that NumPy's functions take for numbers: a user's plain Python function is run on them unchanged."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NoReturn

import numpy as np

from .where import WATCHER, line_of_user


class CannotBound(TypeError):
    """The energy uses an operation for which no bounds are known; the message says what to write instead."""


class Traced(np.lib.mixins.NDArrayOperatorsMixin):
    """Base class of objects on which NumPy's operators and functions work by the rules of `rules`.

    An operation without a rule raises `CannotBound`.
    """

    __slots__ = ()

    @abstractmethod
    def plus(self, other: Any) -> Traced: ...

    @abstractmethod
    def negated(self) -> Traced: ...

    @abstractmethod
    def times(self, other: Any) -> Traced: ...

    @abstractmethod
    def over(self, divisor: np.ndarray) -> Traced:
        """Return the object divided by exact numbers."""

    @abstractmethod
    def rounded(self, constant: Any) -> Any:
        """Return a constant that is known up to rounding, in the form of a factor or summand."""

    @abstractmethod
    def through(self, function: Any) -> Traced:
        """Return an `Elementary` function of the object."""

    def __array_ufunc__(self, ufunc: np.ufunc, method: str, *inputs: Any, **options: Any) -> Any:
        from .rules import RULES  # which needs this class

        rule = RULES.get(ufunc)
        if rule is None or method != "__call__" or options:
            refuse(
                ufunc.__name__ if method == "__call__" and not options else f"{ufunc.__name__} with {method}/options"
            )
        with np.errstate(all="ignore"):  # infinite ends are part of the arithmetic
            result = rule(*inputs)
        watcher = WATCHER.get()
        if watcher is not None:
            watcher(ufunc.__name__, result)
        return result

    def __array_function__(self, function: Any, types: Any, inputs: Any, options: Any) -> NoReturn:
        refuse(function.__name__)

    def __array__(self, *options: Any, **more: Any) -> NoReturn:
        refuse("a conversion to an array")

    def __bool__(self) -> NoReturn:
        refuse("if")

    def __float__(self) -> NoReturn:
        refuse("float")

    __int__ = __index__ = __complex__ = __float__

    def __len__(self) -> NoReturn:
        refuse("len")

    def __iter__(self) -> NoReturn:
        refuse("a loop over the predictor")

    def __getitem__(self, key: Any) -> Any:
        refuse("indexing")


_SMOOTH = "energies must be smooth: in the place of |x| write sqrt(x*x + e*e) with a small e"
_NO_BRANCH = (
    "a branch on the predictor cannot be bounded; write one smooth formula (branches on y alone may become 0/1 "
)
_NO_BRANCH += "columns that multiply their terms)"
_NUMPY = "use NumPy's functions (np.exp, not math.exp), on the whole predictor"

_ADVICE = {
    **dict.fromkeys(("absolute", "fabs", "sign", "copysign", "heaviside"), _SMOOTH),
    **dict.fromkeys(
        ("maximum", "fmax"), "energies must be smooth: in the place of max(x, 0) write e*logaddexp(0, x/e)"
    ),
    **dict.fromkeys(
        ("minimum", "fmin"), "energies must be smooth: in the place of min(x, 0) write -e*logaddexp(0, -x/e)"
    ),
    **dict.fromkeys(("clip", "floor", "ceil", "rint", "trunc", "remainder", "fmod", "floor_divide"), _SMOOTH),
    **dict.fromkeys(("if", "where", "select", "piecewise", "isfinite", "isnan", "isinf"), _NO_BRANCH),
    **dict.fromkeys(("greater", "greater_equal", "less", "less_equal", "equal", "not_equal"), _NO_BRANCH),
    **dict.fromkeys(("logical_and", "logical_or", "logical_not"), _NO_BRANCH),
    **dict.fromkeys(("float", "len", "indexing", "a loop over the predictor", "a conversion to an array"), _NUMPY),
    "erf": "write 2*ndtr(sqrt(2)*x) - 1 with scipy.special.ndtr",
    "erfc": "write 2*ndtr(-sqrt(2)*x) with scipy.special.ndtr",
    "sinh": "write (exp(x) - exp(-x))/2",
    "cosh": "write (exp(x) + exp(-x))/2",
}


def refuse(operation: str) -> NoReturn:
    advice = _ADVICE.get(operation)
    if advice is None:
        from .rules import RULES

        advice = "known are " + ", ".join(sorted(ufunc.__name__ for ufunc in RULES))
    line = line_of_user()
    where = "" if line is None else f" in {line}"
    raise CannotBound(f"the energy uses {operation}{where}, which cannot be bounded: {advice}.")
