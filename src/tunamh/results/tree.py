"""From chains to an ArviZ DataTree."""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Sequence
from inspect import signature
from typing import Any, NamedTuple

import numpy as np

from .._arguments import refuse_unknown
from .._arguments import shown as shown_value
from .._version import __version__
from ..chains.kernel import OverSteps, Statistics
from ..laplace.distance import LaplaceDistance
from .convergence import Convergence
from .layout import EFFECT, ROLE, Layout, layout_of, plain_layout, refuse_unwritable


def summary(tree: Any, **settings: Any) -> Any:
    """Return a table with a line for each parameter: mean, standard deviation, interval, effective draws and R-hat.

    This is `arviz_stats.summary`, rounded to the digits that the Monte Carlo error supports. In a mean or the end of an
    interval, the last digit has the same decimal place as the first digit of the Monte Carlo standard error of the mean
    (``mcse_mean``). In a standard deviation, it has the place of the first digit of ``mcse_sd``.

    Parameters
    ----------
    tree : DataTree
        The result of `tunamh.sample`.
    settings
        Further arguments of `arviz_stats.summary`. ``ci_prob=0.95`` gives 95 % intervals. ``round_to="none"`` returns
        all digits; another ``round_to`` sets another rounding.

    Returns
    -------
    pandas.DataFrame
        The columns ``eti89_lb`` and ``eti89_ub`` are the ends of the central interval that contains 89 % of the
        posterior (ArviZ's default). If the acceptance test of the run is not exact, or if the draws come from Laplace's
        approximation, the name of every parameter ends in ``(inexact)``.

        The notes below the table (``attrs["notes"]``) say how many group effects the table does not show, and how to
        see them. If the proposals come from Laplace's approximation, the notes also say how far it is from the
        posterior (docs/choose.md; the numbers are in ``attrs["laplace"]``).

    Examples
    --------
    >>> tunamh.summary(posterior)
    >>> tunamh.summary(posterior, ci_prob=0.95)
    """
    from arviz_stats import summary as table_of
    from pandas import DataFrame

    from .table import SummaryTable

    refuse_unknown("summary", settings, list(signature(table_of).parameters)[1:])
    posterior = _posterior_in(tree)
    shown, left_out = _shown(tree, settings)
    with np.errstate(invalid="ignore", divide="ignore"):  # of a parameter that never moved
        table = table_of(tree, **{"round_to": "none", **shown})
    if not isinstance(table, DataFrame):
        return table
    table = _without_frozen(table)
    decimals: dict[str, list[int]] = {}
    if "round_to" not in settings:
        decimals = _decimals(table)
        table = _rounded(table, decimals)
    if not posterior.attrs.get("exact", 1):
        table.index = [f"{name} (inexact)" for name in table.index]
    distance = LaplaceDistance.from_attributes(posterior.attrs)
    table = SummaryTable(table)
    table.attrs["decimals"] = decimals
    table.attrs["notes"] = [left_out] if left_out else []
    if distance is not None:
        table.attrs["laplace"] = distance.beside_draws
        table.attrs["notes"].append(distance.beside_draws)
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
            "tunamh.summary needs draws: pass the result of tunamh.sample(target), tunamh.read_store(folder) or "
            f"xarray.open_datatree(file), got {shown_value(tree)}.{own}"
        )
    return posterior


def is_effect(variable: Any) -> bool:
    """Return True if a variable contains group effects.

    A summary shows them only on request: there may be thousands.
    """
    return variable.name == "group_effect" or variable.attrs.get(ROLE) == EFFECT


def effects_in(posterior: Any) -> list[str]:
    """Return the names of the variables that contain group effects."""
    return [str(name) for name, values in posterior.data_vars.items() if is_effect(values)]


def _shown(tree: Any, settings: dict[str, Any]) -> tuple[dict[str, Any], str]:
    """The settings by which group effects are left out, unless they are asked for, and the line that says so."""
    posterior = tree["posterior"]
    names, effects = [str(name) for name in posterior.data_vars], effects_in(posterior)
    if {"var_names", "filter_vars", "group"} & set(settings):
        return settings, ""
    if effects and len(names) > len(effects):
        n = sum(int(np.prod(posterior[name].shape[2:])) for name in effects)
        wanted = ", ".join(f'"{name}"' for name in effects)
        return (
            {**settings, "var_names": [name for name in names if name not in effects]},
            f"{n:,} group effects are left out: tunamh.summary(posterior, var_names=[{wanted}]) shows them"
            + (", tunamh.group_effects(posterior) ranks them." if "model" in posterior.attrs else "."),
        )
    if summed := summed_effects(tree):
        n = sum(mean.isel(chain=0).size for mean, _ in summed.values())
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


def _decimals(table: Any) -> dict[str, list[int]]:
    """How many decimals of each number are more than Monte Carlo error.

    Without ``mcse_...`` columns: three digits of the standard deviation.
    """
    spread = _first(table, "sd", "mad")
    otherwise = [_places(value, 3) for value in (np.ones(len(table)) if spread is None else spread)]

    def supported(*errors: str) -> list[int]:
        error = _first(table, *errors)
        if error is None:
            return otherwise
        return [_places(e, 1) if 0 < e < math.inf else places for e, places in zip(error, otherwise, strict=True)]

    found = {}
    for name in table.columns:
        if name.startswith(("ess", "min_ss")):
            found[name] = [0] * len(table)
        elif name == "r_hat":
            found[name] = [3] * len(table)
        elif name.startswith("mcse"):
            found[name] = [_places(error, 2) for error in table[name]]
        else:
            found[name] = supported("mcse_sd") if name == "sd" else supported("mcse_mean", "mcse_median")
    return found


def _first(table: Any, *names: str) -> Any:
    return next((table[name] for name in names if name in table), None)


def _places(size: float, digits: int) -> int:
    """Decimals that show so many digits of a number of this size."""
    return digits - 1 - math.floor(math.log10(size)) if 0 < size < math.inf else 3


def _rounded(table: Any, decimals: dict[str, list[int]]) -> Any:
    columns = {
        name: [round(value, places) for value, places in zip(table[name].astype(float), decimals[name], strict=True)]
        for name in table.columns
    }
    return type(table)(columns, index=table.index)


_TAKEN = {"chain", "draw", "elapsed", "step_size"}


def refuse_statistics(statistics: Statistics) -> None:
    """Raise `ValueError` if a kernel's statistic has a name that results use already, or that no file can contain."""
    refuse_unwritable(plain_layout([(one.name, None) for one in statistics]))
    taken = [one.name for one in statistics if one.name in _TAKEN]
    if taken:
        raise ValueError(f"results already have a {taken[0]}: give the kernel's statistic another name.")


class ChainResult(NamedTuple):
    """What one chain returns. All arrays have one entry per kept draw. A step size of NaN means that there is none."""

    draws: np.ndarray
    record: np.ndarray
    elapsed: np.ndarray
    step_size: float


def import_what_the_end_needs() -> None:
    """Import everything that is needed after the last draw.

    This is done before sampling, so that draws cannot be lost because of a missing package or a Ctrl-C in an import.
    """
    import arviz_base  # noqa: F401
    import scipy.special  # noqa: F401
    import xarray  # noqa: F401


def closing_line(
    results: Sequence[ChainResult],
    convergence: Convergence | None,
    names: Sequence[str],
    n_rows: int,
    statistics: Statistics,
    thin: int,
    seconds: float,
) -> str:
    """Return the closing line of a run: draws, time, the worst parameter, and rows read, if known."""
    kept = min(len(result.draws) for result in results)
    draws = kept * len(results)
    parts = [f"{draws:,} draws in {seconds:.2g} s" if seconds < 10 else f"{draws:,} draws in {seconds:,.0f} s"]
    if convergence is not None and convergence.stuck:
        parts.append(f"{len(convergence.stuck)} of {len(results)} chains never moved")
    elif convergence is not None:
        named = [names[j] for j in (convergence.ess_of, convergence.r_hat_of)]
        parts.append(
            f"worst of {len(names)} parameters: {convergence.ess:,.0f} effective draws ({named[0]}), "
            f"R-hat {convergence.r_hat:.3f} ({named[1]})"
            if len(names) > 1
            else f"{convergence.ess:,.0f} effective draws, R-hat {convergence.r_hat:.3f}"
        )
    if any(one.rows for one in statistics):
        rows = thin * sum(float(statistics.rows(result.record[:kept]).sum()) for result in results)
        passes = rows / max(n_rows, 1)
        parts.append(f"{rows:,.0f} rows read, {_short(rows / draws)} per draw, {_short(passes)} passes over the data")
    return "; ".join(parts)


def _short(value: float) -> str:
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def add_summaries(
    tree: Any, given: Any, target: Any, summarise: Callable[..., Any], memories: list[np.ndarray]
) -> None:
    """Add the group ``group_effects`` with summaries of effects whose draws are not kept.

    For a formula, it has the variables that draws would have, with a dimension ``statistic`` (mean and sd).
    """
    import xarray

    summaries = summarise(target, memories)
    if summaries is None or isinstance(tree, dict):
        return
    layout = layout_of(given, [("group_effect", target.effect_labels)])
    chains = np.arange(len(memories))
    if getattr(given, "formula", None) is None:
        one_each = {name: layout.dataset(values, {"chain": chains}) for name, values in summaries.items()}
        found = xarray.Dataset({name: own["group_effect"] for name, own in one_each.items()})
    else:
        values = np.stack(list(summaries.values()), axis=1)
        found = layout.dataset(values, {"chain": chains, "statistic": list(summaries)})
    tree["group_effects"] = xarray.DataTree(found)


def summed_effects(tree: Any) -> dict[str, tuple[Any, Any]]:
    """Return means and standard deviations of effects whose draws were not kept, by variable. The dict may be empty."""
    import xarray

    if not isinstance(tree, xarray.DataTree) or "group_effects" not in tree.children:
        return {}
    group = tree["group_effects"]
    if {"mean", "sd"} <= set(group.data_vars):
        return {"group_effect": (group["mean"], group["sd"])}
    return {
        str(name): (values.sel(statistic="mean"), values.sel(statistic="sd"))
        for name, values in group.data_vars.items()
        if "statistic" in values.dims and {"mean", "sd"} <= set(values["statistic"].values.tolist())
    }


def to_plain_dict(results: Sequence[ChainResult]) -> dict[str, Any]:
    """Return a plain dict with only the draws, for the case that a DataTree cannot be made."""
    n = min(len(result.draws) for result in results)
    return {"posterior": {"theta": np.stack([result.draws[:n] for result in results])}}


def stacked(draws: Sequence[np.ndarray]) -> np.ndarray:
    """Return the draws of all chains as one array (chain, draw, number). A single chain is not copied."""
    return draws[0][None] if len(draws) == 1 else np.stack(draws)


def to_datatree(
    results: Sequence[ChainResult],
    layout: Layout,
    *,
    draws: np.ndarray | None = None,
    exact: bool,
    statistics: Statistics,
    settings: dict[str, Any],
    laplace: dict[str, Any] | None = None,
) -> Any:
    """Return the DataTree of a run with the groups ``posterior`` and ``sample_stats``, cut to the shortest chain.

    ``statistics`` are the columns of the chains' records. ``draws`` are the draws of all chains, if they are in one
    array already. ``laplace`` are further attributes of the posterior: how far it is from Laplace's approximation.
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
    posterior = posterior_of(stacked([one.draws[:n] for one in results]) if draws is None else draws, layout)
    posterior.attrs = {**attributes, **(laplace or {})}
    attributes.pop("model", None)
    sample_stats = xarray.Dataset({k: (dims, v) for k, v in stats.items()}, coords=coords, attrs=attributes)
    return xarray.DataTree.from_dict({"posterior": posterior, "sample_stats": sample_stats})


def attributes_of(exact: bool, settings: dict[str, Any]) -> dict[str, Any]:
    """Return the attributes of every group that say where it comes from, as ArviZ, PyMC and tunamh name them."""
    settings = dict(settings)
    model = settings.pop("model", None)
    return {
        **library_attributes(),
        **_times(settings),
        "exact": int(exact),
        "choice": f"{_named(settings)}: {settings['why']}",
        "settings": json.dumps(settings, default=str),
        **({} if model is None else {"model": json.dumps(model)}),
    }


def _named(settings: dict[str, Any]) -> str:
    return settings["kernel"] if "kernel" in settings else f"{settings['test']}, {settings['proposal']}"


def library_attributes() -> dict[str, Any]:
    """Return attributes in ArviZ's words: which library made a group, and when."""
    from arviz_base import make_attrs

    version = {f"{kind}_library_version": __version__ for kind in ("creation", "inference")}
    return make_attrs({"creation_library": "tunamh", "inference_library": "tunamh", **version})


def _times(settings: dict[str, Any]) -> dict[str, Any]:
    """``sampling_time`` (seconds of warm-up and draws) and ``tuning_steps``, as PyMC has them, where they are known."""
    seconds = settings.get("seconds") or {}
    found = {"sampling_time": seconds.get("warm-up and draws"), "tuning_steps": settings.get("tune")}
    return {name: value for name, value in found.items() if value is not None}


def posterior_of(draws: np.ndarray, layout: Layout) -> Any:
    """Return draws (chain, draw, number) as an xarray data set."""
    return layout.dataset(draws, {"chain": np.arange(len(draws)), "draw": np.arange(draws.shape[1])})
