"""From chains to an ArviZ DataTree."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from typing import Any, NamedTuple

import numpy as np

from .._arguments import shown as shown_value
from .._version import __version__
from ..chains.kernel import OverSteps, Statistics
from ..laplace.distance import LaplaceDistance
from .convergence import Convergence, label

EFFECTS = "group_effect"
"""The variable of which there may be thousands; a summary shows them where they are asked for."""


def summary(tree: Any, **settings: Any) -> Any:
    """`arviz_stats.summary`, with enough digits for each parameter's standard deviation.

    If the draws come from an inexact test, every parameter is marked. The notes below the table (``attrs["notes"]``)
    say how far the posterior is from Laplace's approximation, if proposals came from it (docs/choose.md; the numbers
    are in ``attrs["laplace"]``). They also say how many group effects are not shown; ``var_names=["group_effect"]``
    shows them. ``settings`` are passed to ArviZ; ``round_to`` sets another rounding.
    """
    from arviz_stats import summary as table_of
    from pandas import DataFrame

    from .table import SummaryTable

    posterior = _posterior_in(tree)
    shown, left_out = _shown(tree, settings)
    with np.errstate(invalid="ignore", divide="ignore"):  # of a parameter that never moved
        table = table_of(tree, **{"round_to": "none", **shown})
    if not isinstance(table, DataFrame):
        return table
    table = _without_frozen(table)
    if "round_to" not in settings:
        table = _readable(table)
    if not posterior.attrs.get("exact", 1):
        table.index = [f"{name} (inexact)" for name in table.index]
    distance = LaplaceDistance.from_attributes(posterior.attrs)
    table = SummaryTable(table)
    table.attrs["notes"] = [left_out] if left_out else []
    if distance is not None:
        table.attrs["laplace"] = distance.line
        table.attrs["notes"].append(distance.line)
    return table


def _posterior_in(tree: Any) -> Any:
    """The group of draws; raises for what has none."""
    import xarray

    try:
        posterior = tree["posterior"]
    except (TypeError, LookupError, AttributeError, ValueError):
        posterior = None
    if not isinstance(posterior, xarray.Dataset | xarray.DataTree):
        own = " It has a summary of its own: call .summary() on it." if hasattr(tree, "summary") else ""
        raise TypeError(
            "a summary is one of draws: give what tunamh.sample(target) returned, what tunamh.read_store(folder) or "
            f"xarray.open_datatree(file) reads, got {shown_value(tree)}.{own}"
        )
    return posterior


def _shown(tree: Any, settings: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The settings by which group effects are left out, unless they are asked for, and the line that says so."""
    import xarray

    posterior = tree["posterior"]
    names = [str(name) for name in posterior.data_vars]
    if {"var_names", "filter_vars", "group"} & set(settings):
        return settings, ""
    if EFFECTS in names and len(names) > 1:
        n = posterior[EFFECTS].shape[-1]
        return (
            {**settings, "var_names": [name for name in names if name != EFFECTS]},
            f'{n:,} group effects are left out: tunamh.summary(posterior, var_names=["{EFFECTS}"]) shows them.',
        )
    if isinstance(tree, xarray.DataTree) and "group_effects" in tree.children:
        n = tree["group_effects"]["mean"].shape[-1]
        return settings, f'{n:,} group effects: posterior["group_effects"] has their means and standard deviations.'
    return settings, ""


_ROUNDING = 1e-12  # of a mean, that the standard deviation of equal numbers may have


def _without_frozen(table: Any) -> Any:
    """R-hat and effective draws of a parameter that never moved are no numbers: nothing was learned of it."""
    if not {"mean", "sd"} <= set(table.columns):
        return table
    frozen = table["sd"] <= _ROUNDING * table["mean"].abs()
    told = [name for name in table.columns if name.startswith(("ess", "r_hat"))]
    return table.assign(**{name: table[name].astype(float).mask(frozen) for name in told})


def _readable(table: Any) -> Any:
    """Three digits of the standard deviation, as many decimals of all that has its unit, four digits of the rest."""
    sds = table["sd"] if "sd" in table else np.ones(len(table))
    decimals = [2 - math.floor(math.log10(sd)) if 0 < sd < math.inf else 3 for sd in sds]
    columns = {}
    for name in table.columns:
        if name.startswith(("ess", "r_hat")):
            columns[name] = [float(f"{value:.4g}") for value in table[name]]
        else:
            columns[name] = [round(value, places) for value, places in zip(table[name], decimals, strict=True)]
    return type(table)(columns, index=table.index)


Variables = Sequence[tuple[str, Sequence[str] | None]]
"""Names of variables, with the labels of those that are vectors."""


def refuse_unwritable(variables: Variables) -> None:
    """Names that no file can hold would be found out when the draws are saved."""
    for name, labels in variables:
        for text in map(str, (name, *(labels or ()))):
            try:
                whole = "\0" not in text and text.encode() is not None
            except UnicodeEncodeError:
                whole = False
            if not whole:
                raise ValueError(
                    f"the name {text!r} has a character that no file can hold (NUL, or half of a surrogate pair): "
                    "rename the column or level."
                )


_TAKEN = {"chain", "draw", "elapsed", "step_size"}


def refuse_statistics(statistics: Statistics) -> None:
    """Names of a kernel's statistics that results have for something else, or that no file can hold."""
    refuse_unwritable([(one.name, None) for one in statistics])
    taken = [one.name for one in statistics if one.name in _TAKEN]
    if taken:
        raise ValueError(f"results have a {taken[0]} of their own: give the kernel's statistic another name.")


class ChainResult(NamedTuple):
    """What one chain hands over; all arrays have one entry per kept draw. A step size of NaN: there is none."""

    draws: np.ndarray
    record: np.ndarray
    elapsed: np.ndarray
    step_size: float


def import_what_the_end_needs() -> None:
    """Before sampling, so that neither a missing package nor a Ctrl-C in an import can take the draws."""
    import scipy.special  # noqa: F401
    import xarray  # noqa: F401


def closing_line(
    results: Sequence[ChainResult],
    convergence: Convergence | None,
    target: Any,
    statistics: Statistics,
    thin: int,
    seconds: float,
) -> str:
    """What a run came to: draws, time, the worst parameter, rows read for the kept draws where kernels tell it."""
    kept = min(len(result.draws) for result in results)
    draws = kept * len(results)
    parts = [f"{draws:,} draws in {seconds:.2g} s" if seconds < 10 else f"{draws:,} draws in {seconds:,.0f} s"]
    if convergence is not None and convergence.stuck:
        parts.append(f"{len(convergence.stuck)} of {len(results)} chains never moved")
    elif convergence is not None:
        named = [label(target.reported[j]) for j in (convergence.ess_of, convergence.r_hat_of)]
        parts.append(
            f"worst of {len(target.reported)} parameters: {convergence.ess:,.0f} effective draws ({named[0]}), "
            f"R-hat {convergence.r_hat:.3f} ({named[1]})"
            if len(target.reported) > 1
            else f"{convergence.ess:,.0f} effective draws, R-hat {convergence.r_hat:.3f}"
        )
    if any(one.rows for one in statistics):
        rows = thin * sum(float(statistics.rows(result.record[:kept]).sum()) for result in results)
        passes = rows / max(target.n_rows, 1)
        parts.append(f"{rows:,.0f} rows read, {_short(rows / draws)} per draw, {_short(passes)} passes over the data")
    return "; ".join(parts)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def add_summaries(tree: Any, target: Any, summarise: Callable[..., Any], memories: list[np.ndarray]) -> None:
    """A group ``group_effects`` with what chains have summed up of effects whose draws are not kept."""
    import xarray

    summaries = summarise(target, memories)
    if summaries is None or isinstance(tree, dict):
        return
    dims = ("chain", "group_effect_parameter")
    coords = {"chain": np.arange(len(memories)), "group_effect_parameter": target.effect_labels}
    found = xarray.Dataset({name: (dims, values) for name, values in summaries.items()}, coords=coords)
    tree["group_effects"] = xarray.DataTree(found)


def to_plain_dict(results: Sequence[ChainResult]) -> dict[str, Any]:
    """The draws and nothing else, for when a DataTree cannot be made."""
    n = min(len(result.draws) for result in results)
    return {"posterior": {"theta": np.stack([result.draws[:n] for result in results])}}


def to_datatree(
    results: Sequence[ChainResult],
    variables: Variables,
    *,
    exact: bool,
    statistics: Statistics,
    settings: dict[str, Any],
    laplace: dict[str, Any] | None = None,
) -> Any:
    """Groups ``posterior`` and ``sample_stats``, cut to the shortest chain; ``statistics`` are the record's columns.

    ``laplace`` are further attributes of the posterior, which tell how far it is from Laplace's approximation.
    """
    import xarray

    n = min(len(result.draws) for result in results)
    record = np.stack([result.record[:n] for result in results])
    stats = {
        one.name: record[:, :, k] > 0 if one.over_steps is OverSteps.ANY else record[:, :, k]
        for k, one in enumerate(statistics)
        if one.shown
    }
    if not all(math.isnan(result.step_size) for result in results):
        stats["step_size"] = np.stack([np.full(n, result.step_size) for result in results])
    stats["elapsed"] = np.stack([result.elapsed[:n] for result in results])
    attributes = attributes_of(exact, settings)
    dims, coords = ("chain", "draw"), {"chain": np.arange(len(results)), "draw": np.arange(n)}
    posterior = posterior_of(np.stack([result.draws[:n] for result in results]), variables)
    posterior.attrs = {**attributes, **(laplace or {})}
    attributes.pop("model", None)
    sample_stats = xarray.Dataset({k: (dims, v) for k, v in stats.items()}, coords=coords, attrs=attributes)
    return xarray.DataTree.from_dict({"posterior": posterior, "sample_stats": sample_stats})


def attributes_of(exact: bool, settings: dict[str, Any]) -> dict[str, Any]:
    """What every group says of where it comes from."""
    settings = dict(settings)
    model = settings.pop("model", None)
    return {
        "created_at": datetime.now(UTC).isoformat(),
        "inference_library": "tunamh",
        "inference_library_version": __version__,
        "exact": int(exact),
        "choice": f"{_named(settings)}: {settings['why']}",
        "settings": json.dumps(settings, default=str),
        **({} if model is None else {"model": json.dumps(model)}),
    }


def _named(settings: dict[str, Any]) -> str:
    return settings["kernel"] if "kernel" in settings else f"{settings['test']}, {settings['proposal']}"


def posterior_of(draws: np.ndarray, variables: Variables) -> Any:
    """Draws (chain, draw, parameter) as a data set.

    A column of the draws belongs to the first of ``variables`` that has room for it; one without labels is a number.
    """
    import xarray

    dims, coords = ("chain", "draw"), {"chain": np.arange(len(draws)), "draw": np.arange(draws.shape[1])}
    columns: dict[str, Any] = {}
    labels: dict[str, list[str]] = {}
    at = 0
    for name, of_name in variables:
        if of_name is None:
            columns[name], at = (dims, draws[:, :, at]), at + 1
            continue
        dimension = "parameter" if name == "theta" else f"{name}_parameter"
        columns[name] = ((*dims, dimension), draws[:, :, at : at + len(of_name)])
        labels[dimension], at = list(of_name), at + len(of_name)
    return xarray.Dataset(columns, coords={**coords, **labels})
