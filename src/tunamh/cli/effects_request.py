"""What ``tunamh effects`` was asked for: words at the shell as the arguments of `tunamh.predictions` and the like."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from .app import Refused

_WORDS = ("reference", "pairwise", "sequential", "sd", "minmax")


@dataclass(frozen=True)
class Request:
    """The options that say which effects are wanted."""

    compare: list[str]
    slope: list[str]
    at: list[str]
    average: bool
    by: list[str]
    comparison: str

    def answer(self, tree: Any, data: Any, settings: dict[str, Any]) -> Any:
        """A table of effects."""
        import tunamh

        if self.compare and self.slope:
            raise Refused("--compare and --slope are two questions: ask one at a time.")
        settings = {**settings, "conditional": self._conditional(), "average_by": self.by or self.average}
        if self.compare:
            contrast = {name: _contrast(how) for name, how in map(_named, self.compare)}
            return tunamh.comparisons(tree, data, contrast, comparison=self.comparison, **settings)
        if self.slope:
            return tunamh.slopes(tree, data, self.slope, **settings)
        return tunamh.predictions(tree, data, **settings)

    def _conditional(self) -> dict[str, Any] | None:
        asked = {name: _values(name, how) for name, how in map(_named, self.at)}
        return asked or None

    @staticmethod
    def draw(table: Any, place: Path) -> None:
        """A picture of the table in a file."""
        import numpy as np

        import tunamh

        axes = tunamh.plot_predictions(table)
        np.ravel(axes)[0].figure.savefig(place, dpi=150)
        print(f"wrote {place}")


def _named(text: str) -> tuple[str, str | None]:
    name, sign, how = text.partition("=")
    return name.strip(), how.strip() if sign else None


def _values(name: str, how: str | None) -> Any:
    if how in (None, "all"):
        return "all"
    assert how is not None
    values = [_number(one.strip()) for one in how.split(",")]
    if "" in values:
        raise Refused(f"--at {name}={how}: write the values as {name}=500,1000, or {name}=all.")
    return values


def _contrast(how: str | None) -> Any:
    """A word, a step, or pairs: ``UA:DL,AA:DL``; of numbers ``500:1000`` is from 500 to 1000."""
    if how is None or how in _WORDS:
        return how
    parts = [one.strip() for one in how.split(",")]
    if all(":" in one for one in parts):
        return [tuple(_number(end.strip()) for end in one.split(":", 1)) for one in parts]
    return _number(how)


def _number(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text
