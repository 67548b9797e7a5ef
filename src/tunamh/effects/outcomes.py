"""What a question is asked of: the mean of the response, or the linear predictor, for every draw and row."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..errors import NotApplicable
from ..formula.terms import columns_of
from ..prediction.fitted import Fitted
from ..prediction.new_rows import Chunk, Effects, NewRowExtras, NewRows
from ..prediction.predictions import Predictor
from ..tables.frames import Frame
from .integration import largest_tau, new_groups, normal_nodes

SCALES = ("response", "link")
GROUPS = ("known", "draw", "new", "population")
_NUMBERS_AT_ONCE = 2_000_000


class Outcomes:
    """Of a result: ``values(rows)`` is (draws, rows, outcomes). There is one outcome, or one for each class.

    ``groups`` says which effects of groups count: of known groups (a new level is an error), also drawn ones of new
    levels, the mean over the law of new groups, or none. ``at_hand``: those of factors whose columns the rows have.
    """

    def __init__(self, fitted: Fitted, scale: str, groups: str, rng: np.random.Generator, *, at_hand: bool = False):
        self.fitted, self.scale, self.groups = fitted, scale, groups
        self.predictor = Predictor(fitted, "draw" if groups == "draw" else "error", rng)
        self._effects = Effects.AT_HAND if at_hand else Effects.ALL
        if groups in ("new", "population"):
            self._effects = Effects.NONE
        if scale == "response":
            _ = fitted.responses  # or the reason why there is none

    @property
    def _integrates(self) -> bool:
        return self.groups == "new" and self.scale == "response" and bool(self.fitted.groups)

    @property
    def columns(self) -> list[str]:
        """The columns that rows need."""
        formula = self.fitted.formula
        assert formula is not None
        names = formula.columns_needed(lambda one: self._effects is not Effects.NONE)
        if self._integrates:
            names += [name for one in formula.groups for name in columns_of(one.columns.terms)]
        return list(dict.fromkeys(names))

    @cached_property
    def names(self) -> list[str] | None:
        """The classes; None where there is one outcome."""
        fitted = self.fitted
        if fitted.per_class or (self.scale == "response" and fitted.responses.of_classes):
            named = [str(one) for one in fitted.about.get("classes") or ()]
            if not named:
                named = list(map(str, range(self._classes)))
            return named[1:] if self.scale == "link" else named
        return None

    @property
    def _classes(self) -> int:
        if self.fitted.per_class:
            return self.predictor.classes + 1
        return int(self.fitted.parameters["cutpoint"].shape[-1]) + 1

    @property
    def size(self) -> int:
        return 1 if self.names is None else len(self.names)

    @cached_property
    def rows_at_once(self) -> int:
        each = len(self.fitted.picked) * self.size
        if self._integrates:
            each *= len(normal_nodes(largest_tau(self.fitted))[0])
        return max(1, _NUMBERS_AT_ONCE // each)

    def values(self, rows: Frame) -> np.ndarray:
        """(draws, rows, outcomes)."""
        new = NewRows(self.fitted, rows, NewRowExtras(), effects=self._effects)
        (chunk,) = new.chunks(rows.n_rows)
        eta = self.predictor.linear(chunk)
        if self.scale == "link":
            return eta if eta.ndim == 3 else eta[:, :, None]
        if self._integrates:
            return self._integrated(rows, eta, chunk)
        found = self.fitted.responses.mean(eta, self.predictor.parameters(chunk))
        return found if found.ndim == 3 else found[:, :, None]

    def _integrated(self, rows: Frame, eta: np.ndarray, chunk: Chunk) -> np.ndarray:
        formula = self.fitted.formula
        assert formula is not None
        if eta.ndim == 3:
            raise NotApplicable("means over new groups are not offered for classes without an order.")
        tau = new_groups(self.fitted, formula.values(rows, self.columns)).tau
        p: dict[str, Any] = self.predictor.parameters(chunk)
        nodes, weights = normal_nodes(float(tau.max(initial=0.0)))
        total: Any = 0.0
        for x, weight in zip(nodes, weights, strict=True):
            total = total + weight * self.fitted.responses.mean(eta + x * tau, p)
        return total if total.ndim == 3 else total[:, :, None]
