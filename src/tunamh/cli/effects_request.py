"""What ``tunamh effects`` was asked for: words at the shell as the arguments of `tunamh.predictions` and the like."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from .app import Refused

_WORDS = ("reference", "pairwise", "sequential", "sd", "minmax")


@dataclass(frozen=True)
class EffectsRequest:
    """The effects that the user wants; each field is an option of the command."""

    compare: Annotated[
        list[str] | None,
        typer.Option(
            help="The column that changes: carrier, carrier=pairwise, carrier=UA:DL (from UA to DL), "
            "distance=100 (a step)."
        ),
    ] = None
    slope: Annotated[list[str] | None, typer.Option(help="A numeric column: estimate its slope.")] = None
    at: Annotated[list[str] | None, typer.Option(help="Values of a column: distance=500,1000 or carrier=all.")] = None
    average: Annotated[bool, typer.Option("--average", help="Average over all rows of the file.")] = False
    by: Annotated[list[str] | None, typer.Option(help="A column: one average for each of its values.")] = None
    weights: Annotated[str | None, typer.Option(help="The column of the rows' weights.")] = None
    comparison: Annotated[str, typer.Option(help="With --compare: difference, ratio, 'odds ratio' or lift.")] = (
        "difference"
    )
    scale: Annotated[str, typer.Option(help="Scale of the answer: response or link (the linear predictor).")] = (
        "response"
    )
    groups: Annotated[
        str | None,
        typer.Option(
            help="Group effects: known (of the data), draw (also of new groups), new (mean over new groups) or "
            "population (zero)."
        ),
    ] = None
    draws: Annotated[int | None, typer.Option(min=1, help="Number of posterior draws to use; default up to 1000.")] = (
        None
    )
    seed: Annotated[int | None, typer.Option(min=0, help="Seed for the effects of new groups.")] = None

    def answer(self, tree: Any, data: Any) -> Any:
        """Return the table of the effects."""
        import tunamh

        if self.compare and self.slope:
            raise Refused("--compare and --slope are two questions: ask one at a time.")
        settings: dict[str, Any] = {"weights": self.weights, "scale": self.scale, "groups": self.groups}
        settings |= {"draws": self.draws, "rng": self.seed}
        settings |= {"conditional": self._conditional(), "average_by": self.by or self.average}
        if self.compare:
            contrast = {name: _contrast(how) for name, how in map(_named, self.compare)}
            return tunamh.comparisons(tree, data, contrast, comparison=self.comparison, **settings)
        if self.slope:
            return tunamh.slopes(tree, data, self.slope, **settings)
        return tunamh.predictions(tree, data, **settings)

    def _conditional(self) -> dict[str, Any] | None:
        asked = {name: _values(name, how) for name, how in map(_named, self.at or ())}
        return asked or None

    @staticmethod
    def draw(table: Any, place: Path) -> None:
        """Save a picture of the table in a file."""
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
