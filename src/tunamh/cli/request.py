"""What a person asks for at the shell: a file, a formula and choices; kept with a run, so that it can be resumed."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from .app import Refused
from .files import read_table
from .names import family_named, predictors_named, priors_named


@dataclass(frozen=True)
class Asked:
    """Plain values, as JSON has them."""

    data: str
    formula: str
    family: str | None = None
    priors: list[str] = field(default_factory=list)
    weights: str | None = None
    trials: str | None = None
    censored: str | None = None
    predictors: list[str] = field(default_factory=list)
    missing: str = "error"
    redundant: str = "error"
    memory: str | None = None
    event: str | None = None

    def table(self) -> Any:
        return read_table(Path(self.data), self.memory)

    def target(self, table: Any) -> Any:
        """The regression; it carries these choices along."""
        from ..formula import regression

        target = regression(
            self.formula,
            table,
            family=None if self.family is None else family_named(self.family),
            prior=priors_named(self.priors),
            weights=self.weights,
            trials=self.trials,
            censored=self.censored,
            event=self.event,
            predictors=predictors_named(self.predictors),
            missing=self.missing,
            redundant=self.redundant,
        )
        return target.from_origin({**asdict(self), "data": os.path.abspath(self.data)})

    @classmethod
    def of_run(cls, header: Any) -> Asked:
        """What the command asked for that began a stored run."""
        model = header.settings.get("model") or {}
        origin = model.get("origin")
        if not isinstance(origin, dict):
            raise Refused(
                "this run was begun from Python, not by the command tunamh sample, so that its data are not known "
                "here: go on with tunamh.resume(store, target)."
            )
        try:
            return cls(
                _text(origin["data"]),
                _text(origin["formula"]),
                _maybe(origin["family"]),
                [_text(one) for one in origin["priors"]],
                _maybe(origin["weights"]),
                _maybe(origin["trials"]),
                _maybe(origin["censored"]),
                [_text(one) for one in origin["predictors"]],
                _text(origin["missing"]),
                _text(origin["redundant"]),
                _maybe(origin.get("memory")),
                _maybe(origin.get("event")),
            )
        except (KeyError, TypeError) as error:
            raise Refused(f"what the run was asked for cannot be read ({error}).") from None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text is wanted, got {type(value).__name__}")
    return value


def _maybe(value: Any) -> str | None:
    return None if value is None else _text(value)
