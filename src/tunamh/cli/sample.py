"""``tunamh sample`` and ``tunamh resume``."""

from __future__ import annotations

import dataclasses
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any

import typer

from ..capabilities import Kept, offers
from ..results.tree import effects_in
from ..sampling.evidence import refuse_without_evidence
from .app import Refused, command, with_options
from .files import refuse_existing, save
from .request import SampleRequest

DRAWS = Annotated[int, typer.Option(min=1, help="Kept draws per chain.")]
OUT = Annotated[Path | None, typer.Option(help="New file for the result; its name ends in .nc.")]
SECONDS = Annotated[float | None, typer.Option(min=0.001, help="Stop after this many seconds.")]


@dataclasses.dataclass(frozen=True)
class RunRequest:
    """Where the draws go, and how many there are. Each field is an option of ``tunamh sample``."""

    out: OUT = None
    store: Annotated[Path | None, typer.Option(help="New folder: save the run in it during sampling.")] = None
    draws: DRAWS = 1000
    tune: Annotated[int, typer.Option(min=0, help="Warm-up steps per chain.")] = 1000
    chains: Annotated[int, typer.Option(min=1, help="Number of chains.")] = 4
    seed: Annotated[int | None, typer.Option(min=0, help="The same seed gives the same draws.")] = None
    until_ess: Annotated[
        float | None, typer.Option(min=1, help="Stop when every parameter has this many effective draws.")
    ] = None
    max_seconds: SECONDS = None
    evidence: Annotated[
        bool,
        typer.Option("--evidence", help="Also estimate the log marginal likelihood; tunamh compare then shows it."),
    ] = False

    def refuse(self) -> None:
        """Raise an error if the draws cannot be saved where the user wants them."""
        if self.out is None and self.store is None:
            raise Refused(
                "say where to save the draws: --out run.nc, or --store run (a folder; you can resume the run)."
            )
        if self.out is not None:
            refuse_existing(self.out, ".nc")
        if self.store is not None:
            refuse_existing(self.store)
        if self.evidence and self.out is None:
            raise Refused("the evidence is stored in the result file: set --out run.nc.")

    def draw(self, target: Any) -> Any:
        import tunamh

        until = None if self.until_ess is None else tunamh.Until(ess=self.until_ess)
        settings: dict[str, Any] = {"draws": self.draws, "tune": self.tune, "chains": self.chains, "rng": self.seed}
        settings |= {"until": until, "store": self.store, "max_seconds": self.max_seconds}
        tree = tunamh.sample(target, **settings)
        return _with_evidence(target, tree) if self.evidence else tree


@command
@with_options
def sample(run: RunRequest, request: SampleRequest) -> None:
    """Draw from the posterior of a regression.

    The command prints a summary, and saves the draws to --out or --store.

    Examples:

        tunamh sample flights.csv "late ~ hour" --family logistic --out run.nc

        tunamh sample flights.csv "delay ~ hour" --missing drop --out run.nc

        tunamh sample flights.parquet "delay ~ (1 | carrier)" --store run

        tunamh sample flights.csv 'delay ~ `odd name`' --out run.nc

        tunamh sample a.csv "n ~ age" --prior "age=normal(0, 1)" --out run.nc
    """
    run.refuse()
    target = request.target(request.table())
    if run.evidence:
        refuse_without_evidence(target)
    _tell(target)
    _finish(lambda: run.draw(target), run.out, run.store)


@command
def resume(
    store: Annotated[Path, typer.Argument(help="The folder that was given to --store.")],
    draws: Annotated[int | None, typer.Option(min=1, help="New, larger number of draws per chain.")] = None,
    data: Annotated[Path | None, typer.Option(help="New path of the data file, if you have moved it.")] = None,
    out: OUT = None,
    max_seconds: SECONDS = None,
) -> None:
    """Continue an interrupted run of tunamh sample --store.

    The draws are the same as without an interruption.

    Examples:

        tunamh resume run

        tunamh resume run --draws 5000 --out longer.nc
    """
    import tunamh

    from ..store import Store

    if out is not None:
        refuse_existing(out, ".nc")
    request = SampleRequest.of_run(Store.open(store).header)
    if data is not None:
        request = dataclasses.replace(request, data=str(data))
    print(f"continuing {request.formula!r} on {request.data}")
    target = request.target(request.table())
    _finish(lambda: tunamh.resume(store, target, draws=draws, max_seconds=max_seconds), out, store)


def _with_evidence(target: Any, tree: Any) -> Any:
    """The draws come first: where the evidence cannot be estimated, that is a warning."""
    import tunamh

    try:
        print(tunamh.evidence(target, tree))
    except tunamh.TunaMHError as error:
        warnings.warn(f"the evidence could not be estimated: {error}", stacklevel=2)
    return tree


def _tell(target: Any) -> None:
    """What was made of the data, in a few lines."""
    model = target.formula
    kept = f"{target.data_rows:,} rows"
    if model.dropped:
        kept += f" ({model.dropped:,} with missing values left out)"
    if target.n_rows != target.data_rows:
        kept += f", split into {target.n_rows:,} pieces of time"
    print(f"{kept}, {model.side.dim:,} coefficients; response {model.response.told}")
    if offers(target, Kept) and target.kept is not None:
        print(target.kept.told)
    if offers(target, Kept) and target.set_up_told is not None:
        print(target.set_up_told)
    for line in target.remarks():
        if line not in model.remarks(target.n_rows):  # told above
            print(line)
    for name, levels in model.side.levels.items():
        reference = model.side.references.get(name)
        which = "each with coefficients of its own" if reference is None else f"the reference is {reference!r}"
        print(f"{name}: {len(levels):,} levels, {which}")


def _finish(draw: Callable[[], Any], out: Path | None, store: Path | None) -> None:
    """Draw, save, and only then print; a warning that a filter makes an error comes last, as it carries the draws."""
    import tunamh

    from .results import shown_table

    complaint = None
    try:
        tree = draw()
    except Warning as error:
        tree, complaint = vars(error).get("posterior"), error
        if tree is None:
            raise
    if out is not None:
        print(f"wrote {save(tree, out)}")
    if store is not None:
        print(f"the run is in {store}: tunamh resume {store} --draws ... extends it")
    print(shown_table(tunamh.summary(tree, var_names=_without_effects(tree))))
    if complaint is not None:
        raise complaint


def _without_effects(tree: Any) -> list[str] | None:
    """Of many groups there are many effects: they are in the file."""
    effects = effects_in(tree["posterior"])
    return [str(name) for name in tree["posterior"].data_vars if name not in effects] if effects else None
