"""What a person asks for at the shell: a file, a formula and choices; kept with a run, so that it can be resumed."""

from __future__ import annotations

import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Annotated, Any

import typer

from .app import Refused
from .files import read_table
from .names import FAMILIES, PRIORS, family_named, predictors_named, priors_named


@dataclass(frozen=True)
class SampleRequest:
    """The model that the user describes. Each field is an argument or an option of a command (`with_options`).

    The fields are plain values that JSON can store.
    """

    data: Annotated[
        str,
        typer.Argument(
            help="Data: .parquet (also a folder, or 'folder/*.parquet'), .csv, .tsv (also .gz), .npy or .npz."
        ),
    ]
    formula: Annotated[
        str,
        typer.Argument(
            help='Such as "late ~ distance + C(carrier) + (1 | airport)"; in single quotes if it has backticks.'
        ),
    ]
    family: Annotated[
        str | None, typer.Option(help=f"Family of the response (default for numbers: gaussian): {FAMILIES}.")
    ] = None
    priors: Annotated[
        list[str], typer.Option("--prior", help=f"Prior of a term; repeat the option for other terms: {PRIORS}.")
    ] = field(default_factory=list)
    weights: Annotated[str | None, typer.Option(help="Column with the weights of the rows.")] = None
    trials: Annotated[
        str | None, typer.Option(help="Column with the number of trials, if the response counts successes.")
    ] = None
    censored: Annotated[
        str | None, typer.Option(help="Column with 0 (exact), 1 (the true response is larger) or -1 (smaller).")
    ] = None
    predictors: Annotated[
        list[str], typer.Option(help="Formula of another parameter of the family, such as 'scale=~ distance'.")
    ] = field(default_factory=list)
    missing: Annotated[str, typer.Option(help="What to do with rows with missing values: error or drop.")] = "error"
    redundant: Annotated[
        str, typer.Option(help="What to do with columns that are linear combinations of others: error or keep.")
    ] = "error"
    memory: Annotated[
        str | None, typer.Option(help="Largest memory for the rows of Parquet files, such as 8GiB (default 2GiB).")
    ] = None
    cache: Annotated[
        str | None,
        typer.Option(help="Folder in which the run saves sums over each file; the next run reads only new files."),
    ] = None
    new_levels: Annotated[
        str, typer.Option(help="With --cache, what to do with levels that no earlier file had: grow or refuse.")
    ] = "grow"
    event: Annotated[
        str | None, typer.Option(help="Column with 1 (the event happened) or 0 (the time is censored).")
    ] = None

    def table(self) -> Any:
        return read_table(Path(self.data), self.memory, self.cache, self.new_levels)

    def target(self, table: Any) -> Any:
        """Return the regression. It contains this request, so that its results do, too."""
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
    def of_run(cls, header: Any) -> SampleRequest:
        """Return the request of the command that began a stored run."""
        model = header.settings.get("model") or {}
        origin = model.get("origin")
        if not isinstance(origin, dict):
            raise Refused(
                "this run was started from Python, not by the command tunamh sample, so the command does not know its "
                "data: continue it in Python with tunamh.resume(store, target)."
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
                memory=_maybe(origin.get("memory")),
                cache=_maybe(origin.get("cache")),
                new_levels=_text(origin.get("new_levels", "grow")),
                event=_maybe(origin.get("event")),
            )
        except (KeyError, TypeError) as error:
            raise Refused(f"the settings of the run cannot be read ({error}).") from None


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise TypeError(f"a text is wanted, got {type(value).__name__}")
    return value


def _maybe(value: Any) -> str | None:
    return None if value is None else _text(value)
