"""The answers: a table with a line for each effect, which keeps its draws. Imported when one is made, as pandas is."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..results.group_effects import decimals_of
from ..results.table import GroupTable

_OWN = ("mean", "sd", "p_positive", "p_above_1", "probability", "chain", "draw", "line")


class EffectsTable(GroupTable):
    """A pandas table of effects, with one line for each effect. `tunamh.predictions` and similar functions return it.

    Attributes
    ----------
    draws : xarray.DataArray
        The posterior draws of every line.
    attrs : dict
        ``"notes"``: the notes that are printed below the table. ``"kind"``: the kind of effects, such as
        ``"comparisons"``. ``"of"``: the names of the columns that say which effect a line describes.
    """

    _metadata = ["_all_draws"]  # noqa: RUF012 - as pandas wants it
    _all_draws: Any = None

    @property
    def _constructor(self) -> Any:
        return EffectsTable

    @property
    def draws(self) -> Any:
        """Return the posterior draws as an `xarray.DataArray` with the dimensions chain, draw and line.

        The coordinate ``line`` has the index of the table. If you have changed the index or the columns of the table,
        so that the draws cannot be found, the property raises ValueError.
        """
        draws = self._all_draws
        lines = self.index.to_numpy()
        if draws is None or not set(lines.tolist()) <= set(draws["line"].values.tolist()):
            raise ValueError("this table has no draws: use the table that tunamh has returned.")
        found = draws if np.array_equal(lines, draws["line"].values) else draws.sel(line=lines)
        for name in self.columns:
            if name in found.coords and found[name].values.tolist() != self[name].tolist():
                raise ValueError(
                    "the index of this table has changed, so its draws cannot be found: use the table that tunamh "
                    "has returned."
                )
        return found


def effects_table(
    labels: dict[str, list[Any]],
    numbers: dict[str, np.ndarray],
    draws: np.ndarray,
    *,
    kind: str,
    told: str = "",
    notes: list[str],
) -> EffectsTable:
    """Return a table with the columns ``labels`` and ``numbers``. ``told`` says in words what the numbers are.

    ``draws`` has the dimensions (chain, draw, line).
    """
    import xarray

    called = {_free(name, numbers): _whole(values) for name, values in labels.items()}
    table = EffectsTable({**called, **numbers})
    table.attrs.update(notes=notes, kind=kind, told=told or kind, of=list(called))
    sd = numbers["sd"]
    spread = sd[np.isfinite(sd) & (sd > 0)]
    unit = decimals_of(float(spread.min()) if len(spread) else 0.0)
    shares = ("p_positive", "p_above_1", "probability")
    table.attrs["decimals"] = {name: 3 if name in shares else unit for name in numbers}
    coords = {"chain": np.arange(draws.shape[0]), "draw": np.arange(draws.shape[1]), "line": np.arange(draws.shape[2])}
    more = {name: ("line", table[name].to_numpy()) for name in called}
    table._all_draws = xarray.DataArray(draws, dims=("chain", "draw", "line"), coords={**coords, **more}, name=kind)
    return table


def _free(name: str, numbers: dict[str, np.ndarray]) -> str:
    """A name of a column that the table does not need itself."""
    return f"{name}_" if name in numbers or name in _OWN else name


def _whole(values: list[Any]) -> list[Any]:
    """Whole numbers as such."""
    if all(isinstance(one, float) and one == int(one) and abs(one) < 1e15 for one in values if one == one):
        return [int(one) for one in values] if all(one == one for one in values) else values
    return values
