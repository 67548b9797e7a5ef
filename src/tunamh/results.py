"""From chains to an ArviZ DataTree."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from ._version import __version__
from .chain import ACCEPTED, FULL, RATE, REACH, ROWS, WORST


def summary(tree: Any, **settings: Any) -> Any:
    """`arviz_stats.summary`, rounded by each parameter's standard deviation: with many rows it is small.

    Every parameter is marked when the draws come from an inexact test. ``settings`` go to ArviZ; ``round_to`` among
    them brings its own rounding back.
    """
    from arviz_stats import summary as table_of

    table = table_of(tree, **{"round_to": "none", **settings})
    if "round_to" not in settings:
        table = table.apply(_readable, axis=1)
    if not tree["posterior"].attrs.get("exact", 1):
        table.index = [f"{name} (inexact)" for name in table.index]
    return table


def _readable(row: Any) -> Any:
    """Three digits of the standard deviation, as many decimals of all that has its unit, four digits of the rest."""
    sd = row.get("sd", 1.0)
    decimals = 2 - math.floor(math.log10(sd)) if 0 < sd < math.inf else 3
    unitless = row.index.str.startswith(("ess", "r_hat"))
    rounded = [float(f"{v:.4g}") if u else round(v, decimals) for v, u in zip(row, unitless, strict=True)]
    return type(row)(rounded, index=row.index)


class ChainResult(NamedTuple):
    """What one chain hands over; all arrays have one entry per kept draw."""

    draws: np.ndarray
    record: np.ndarray
    elapsed: np.ndarray
    step_size: float


_ENOUGH_TO_JUDGE = 1000


def worst_r_hat(draws: np.ndarray) -> tuple[float, int]:
    """The largest split R-hat of draws (chain, draw, parameter), and of which parameter (Gelman and Rubin 1992).

    Plain, without ranks, of a thousand draws at most: a coarse alarm that costs nothing; `summary` has the fine one.
    """
    draws = draws[:, :: max(1, draws.shape[1] // _ENOUGH_TO_JUDGE)]
    chains, n, d = draws.shape
    halves = draws[:, : n // 2 * 2].reshape(2 * chains, n // 2, d)
    within = halves.var(axis=1, ddof=1).mean(axis=0)
    between = halves.mean(axis=1).var(axis=0, ddof=1)
    with np.errstate(invalid="ignore", divide="ignore"):
        r_hat = np.sqrt(1 + between / within)
    r_hat = np.where(between > 0, r_hat, 1.0)
    return float(r_hat.max()), int(r_hat.argmax())


def to_datatree(
    results: Sequence[ChainResult], names: Sequence[str], *, exact: bool, extra: str | None, settings: dict[str, Any]
) -> Any:
    """Groups ``posterior`` and ``sample_stats``, cut to the shortest chain; ``extra`` names a test's own statistic."""
    from arviz_base import from_dict

    n = min(len(result.draws) for result in results)
    record = np.stack([result.record[:n] for result in results])
    stats = {
        "accepted": record[:, :, ACCEPTED] > 0,
        "acceptance_rate": record[:, :, RATE],
        "batch_size": record[:, :, ROWS],
        "full_data_step": record[:, :, FULL] > 0,
        "bound_ratio": record[:, :, WORST],
        "step_size": np.stack([np.full(n, result.step_size) for result in results]),
        "elapsed": np.stack([result.elapsed[:n] for result in results]),
    }
    if extra is not None:
        stats[extra] = record[:, :, REACH]
    tree = from_dict(
        {"posterior": {"theta": np.stack([result.draws[:n] for result in results])}, "sample_stats": stats},
        coords={"parameter": list(names)},
        dims={"theta": ["parameter"]},
    )
    attributes = {
        "inference_library": "tunamh",
        "inference_library_version": __version__,
        "exact": int(exact),
        "choice": f"{settings['test']}, {settings['proposal']}: {settings['why']}",
        "settings": json.dumps(settings),
    }
    for group in ("posterior", "sample_stats"):
        tree[group].attrs.update(attributes)
    return tree
