"""A result of `tunamh.sample`, opened for prediction: its draws, and what is told of its model."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from .._arguments import shown
from ..errors import NotApplicable
from ..formula import FormulaModel
from ..formula.errors import FormulaError
from ..targets.families.metadata import family_from_json

if TYPE_CHECKING:
    from ..targets.families import BaseFamily
    from ..targets.families.links import Link
    from ..targets.families.responses import ResponseDistribution

MOST_DRAWS = 1000
_PARTS: dict[str, Any] = {"family": {}, "predictors": {}, "factors": {}, "columns": [], "groups": [], "formula": {}}


@dataclass(frozen=True)
class Groups:
    """Effects of one factor: names of levels, effects (draws, levels, columns), and their scales and correlations.

    ``effects`` is None where a run kept no draws of them.
    """

    name: str
    columns: list[str]
    levels: tuple[str, ...]
    effects: np.ndarray | None
    covariance: np.ndarray


@dataclass(frozen=True)
class Fitted:
    """Draws, one behind the other whatever chain they are from, and the description of the model."""

    posterior: Any
    about: dict[str, Any]
    picked: np.ndarray

    @classmethod
    def open(cls, tree: Any, draws: int | None) -> Fitted:
        """``draws`` of all draws, evenly spread over the chains; None: at most 1000."""
        try:
            posterior = tree["posterior"]
            text = posterior.attrs["model"]
            about = json.loads(text)
            kinds = [(about.get(key, empty), type(empty)) for key, empty in _PARTS.items()]
            if int(about["dim"]) < 0 or not all(part is None or isinstance(part, kind) for part, kind in kinds):
                raise ValueError
            if not isinstance(about["family"], dict):
                raise ValueError
            for one in about.get("groups") or ():
                if not isinstance(one["name"], str) or not isinstance(one["columns"], list) or int(one["levels"]) < 1:
                    raise ValueError
        except (KeyError, TypeError, AttributeError, ValueError, OverflowError, RecursionError):
            raise NotApplicable(
                "prediction needs a result of tunamh.sample of a regression, whose posterior has the attribute 'model' "
                f"with what the model is, got {shown(tree)}."
            ) from None
        total = posterior.sizes["chain"] * posterior.sizes["draw"]
        wanted = min(total, MOST_DRAWS if draws is None else draws)
        return cls(posterior, about, np.unique(np.linspace(0, total - 1, wanted).round().astype(np.int64)))

    @cached_property
    def formula(self) -> FormulaModel | None:
        found = self.about.get("formula")
        return None if found is None else FormulaModel.from_json(found)

    @cached_property
    def family(self) -> BaseFamily | None:
        """None of a user's own, of which results keep nothing but its text."""
        return family_from_json(self.about["family"])

    @cached_property
    def responses(self) -> ResponseDistribution:
        """The distribution of a response."""
        found = None if self.family is None else self.family.response_distribution()
        if found is None:
            text = self.about["family"].get("text", "the family")
            raise NotApplicable(
                f"what {text} says of a response is not known, as it is a likelihood of "
                "your own: kind='linear' gives its linear predictors."
            )
        return found

    def link_of(self, parameter: str) -> Link:
        """Of a parameter that columns describe."""
        assert self.family is not None, "a user's family has no response distribution, which is asked for first"
        return self.family.parameter_links[parameter]

    @property
    def per_class(self) -> bool:
        """Whether there are coefficients for every class but one."""
        return self.family is not None and self.family.coefficients_per_class

    def draws(self, variable: str) -> np.ndarray:
        """Of a variable, the picked ones: (draws, ...)."""
        values = np.asarray(self.posterior[variable].values, dtype=np.float64)
        return values.reshape(-1, *values.shape[2:])[self.picked]

    @cached_property
    def theta(self) -> np.ndarray:
        found, dim = self.draws("theta"), int(self.about["dim"])
        if dim == 0 or found.shape[1] % dim:
            raise FormulaError(
                f"the result has {found.shape[1]} coefficients, which do not fit its model's {dim} columns."
            )
        return found

    @cached_property
    def parameters(self) -> dict[str, Any]:
        """The family's parameters, known ones and drawn ones, that columns do not describe: numbers, or (draws, 1)."""
        if self.family is None:
            return {}
        found: dict[str, Any] = dict(self.family.known_parameters())
        for name in self.family.parameters:
            if name in self.posterior and name not in self.about["predictors"]:
                values = self.draws(name)
                found[name] = values[:, None] if values.ndim == 1 else values[:, None, :]
        return found

    @cached_property
    def groups(self) -> list[Groups]:
        found, at = [], 0
        kept = "group_effect" in self.posterior
        effects = self.draws("group_effect") if kept and self.about.get("groups") else None
        labels = self._effect_labels()
        for one in self.about.get("groups", []):
            name, columns, count = str(one["name"]), [str(c) for c in one["columns"]], int(one["levels"])
            q = len(columns)
            own = labels[at : at + count * q]
            mine = None if effects is None else effects[:, at : at + count * q].reshape(-1, count, q)
            levels = tuple(_level(text, name, columns[0]) for text in own[::q])
            found.append(Groups(name, columns, levels, mine, self._covariance(name, columns, one.get("known"))))
            at += count * q
        return found

    def _effect_labels(self) -> list[str]:
        if "group_effect" in self.posterior:
            return [str(text) for text in self.posterior["group_effect_parameter"].values]
        return []

    def _covariance(self, name: str, columns: list[str], known: Any) -> np.ndarray:
        """(draws, columns, columns), by the names of scales and correlations."""
        q, n = len(columns), len(self.picked)
        if known is not None:
            return np.broadcast_to(np.diag(np.square(np.asarray(known, dtype=np.float64))), (n, q, q))
        scales = self._named("group_scale", [f"{name}: {column}" if column else name for column in columns])
        correlation = np.broadcast_to(np.eye(q), (n, q, q)).copy()
        for i in range(q):
            for j in range(i):
                own = self._named("group_correlation", [f"{name}: {columns[i]}, {columns[j]}"])[:, 0]
                correlation[:, i, j] = correlation[:, j, i] = own
        return scales[:, :, None] * correlation * scales[:, None, :]

    def _named(self, variable: str, labels: list[str]) -> np.ndarray:
        there = [str(text) for text in self.posterior[f"{variable}_parameter"].values]
        return self.draws(variable)[:, [there.index(text) for text in labels]]


def _level(text: str, name: str, column: str) -> str:
    """The level in ``name[level]`` or ``name[level]: column``."""
    return text.removeprefix(f"{name}[").removesuffix(f"]: {column}" if column else "]")
