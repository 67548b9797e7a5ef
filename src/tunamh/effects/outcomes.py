"""What a question is asked of: the mean of the response, or the linear predictor, for every draw and row."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property

import numpy as np

from ..formula.terms import columns_of
from ..prediction.fitted import Fitted
from ..prediction.new_rows import Chunk, Effects, NewRowExtras, NewRows
from ..prediction.predictions import Predictor
from ..tables.frames import Frame
from ..targets.families.base import Responses
from ..targets.families.links import IDENTITY
from .integration import mean_over_new, variances, varying_columns

SCALES = ("response", "link")
GROUPS = ("known", "draw", "new", "population")
_NUMBERS_AT_ONCE = 2_000_000


class Outcomes:
    """The outcomes of a result: the mean of the response, or the linear predictor, of each row at each draw.

    ``values(rows)`` returns an array (draws, rows, outcomes). There is one outcome, or one for each class. ``groups``
    says which group effects are used: those of known groups (then a new level is an error), also drawn effects of new
    levels, the mean over the distribution of new groups, or none. If ``at_hand`` is True, only those factors are used
    whose columns are in the rows.
    """

    def __init__(self, fitted: Fitted, scale: str, groups: str, rng: np.random.Generator, *, at_hand: bool = False):
        self.fitted, self.scale, self.groups = fitted, scale, groups
        self.predictor = Predictor(fitted, "draw" if groups == "draw" else "error", rng, "groups")
        self._effects = Effects.AT_HAND if at_hand else Effects.ALL
        if groups in ("new", "population"):
            self._effects = Effects.NONE
        if scale == "response":
            _ = fitted.responses  # or the reason why there is none

    @property
    def integrates(self) -> bool:
        return self.groups == "new" and self.scale == "response" and bool(self.fitted.groups)

    @property
    def columns(self) -> list[str]:
        """Return the names of the columns that the rows must have."""
        formula = self.fitted.formula
        assert formula is not None
        names = formula.columns_needed(lambda one: self._effects is not Effects.NONE)
        if self.integrates:
            names += [name for one in formula.groups for name in columns_of(one.columns.terms)]
        return list(dict.fromkeys(names))

    @cached_property
    def names(self) -> list[str] | None:
        """Return the names of the classes, or None if there is one outcome."""
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
        each = len(self.fitted.picked) * self.size * (2 if self.integrates else 1)
        return max(1, _NUMBERS_AT_ONCE // each)

    def chunk(self, rows: Frame) -> Chunk:
        """Return the columns of the model for these rows."""
        (found,) = NewRows(self.fitted, rows, NewRowExtras(), effects=self._effects).chunks(rows.n_rows)
        if not self.integrates:
            return found
        formula, family = self.fitted.formula, self.fitted.family
        assert formula is not None
        varying = varying_columns(self.fitted, formula.values(rows, self.columns))
        if family is not None and family.responses is Responses.REALS and family.link is IDENTITY:
            return found  # effects' mean is 0
        return replace(found, varying=varying)

    def with_draws(self, fitted: Fitted) -> Outcomes:
        """Return the same question for other draws of the same model."""
        at_hand = self._effects is Effects.AT_HAND
        return Outcomes(fitted, self.scale, self.groups, self.predictor.rng, at_hand=at_hand)

    def values(self, rows: Frame) -> np.ndarray:
        """Return the outcomes of the rows at every draw: an array (draws, rows, outcomes)."""
        chunk = self.chunk(rows)
        eta = self.predictor.linear(chunk)
        if self.scale == "link":
            return eta if eta.ndim == 3 else eta[:, :, None]
        p = self.predictor.parameters(chunk)
        if chunk.varying:
            total = variances(self.fitted, chunk.varying, 1 if eta.ndim == 2 else eta.shape[2])
            return mean_over_new(lambda moved: self.fitted.responses.mean(moved, p), eta, total)
        found = self.fitted.responses.mean(eta, p)
        return found if found.ndim == 3 else found[:, :, None]
