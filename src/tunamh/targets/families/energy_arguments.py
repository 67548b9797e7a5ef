"""The arguments of a user's energy: which are predictors, which are columns of the data, and which is the response."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any, NamedTuple

from numba.core.dispatcher import Dispatcher

from ..._arguments import shown

MOST_PREDICTORS = 8


class Arguments(NamedTuple):
    """The arguments of a user's energy by their names: predictors, columns of the data, and the response.

    ``places`` maps the order of the energy's arguments to the order predictors, columns, response.
    """

    predictors: tuple[str, ...]
    known: tuple[str, ...]
    response: str
    order: tuple[str, ...]

    @property
    def places(self) -> tuple[int, ...]:
        inside = (*self.predictors, *self.known, self.response)
        return tuple(inside.index(name) for name in self.order)

    @property
    def call(self) -> str:
        return f"energy({', '.join(self.order)})"

    def in_order(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Return the user's function as a function of first the predictors, then the columns, then the response."""
        places = self.places
        if places == tuple(range(len(places))):
            return function
        return lambda *given: function(*(given[place] for place in places))


def signature_of(energy: Any) -> tuple[str, ...]:
    """Return the names of an energy's arguments. Raise `TypeError` if it is no plain Python function."""
    plain = energy.py_func if isinstance(energy, Dispatcher) else energy
    if not inspect.isfunction(plain):
        raise TypeError(f"energy must be a plain Python function energy(eta, y), got {shown(energy)}.")
    parameters = list(inspect.signature(plain).parameters.values())
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    listed = ", ".join(map(str, parameters))
    if any(p.kind not in positional or p.default is not inspect.Parameter.empty for p in parameters):
        raise TypeError(
            f"energy({listed}) must have plain parameters only, the predictors, columns of the data and y: give "
            "constants as variables outside the function."
        )
    return tuple(p.name for p in parameters)
