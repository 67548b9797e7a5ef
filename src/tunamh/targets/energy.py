"""A user's own energy of one row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher
from numba.core.errors import NumbaError

from .._jit import Differences, Distance, Energies, Part, part
from ..data.packed import packed_rows
from ..data.tables import as_matrix, as_vector, blocks, column_names, refuse_non_finite
from .base import Parts, Target, checked_temper, euclidean

# Layout of a packed row: the user's row, c.   Layout of hyper: temper, width of the user's row.


class EnergyTarget(Target):
    """A posterior from a compiled energy of one row, ``U_i(theta) = temper * energy(theta, row_i)``.

    Parameters
    ----------
    energy : ``@numba.njit`` function ``energy(theta, row) -> float``
        Minus the log-likelihood of one row, up to a constant.
    rows : (N, k) table or (N,) vector
        What the energy reads; a vector gives rows of length one.
    c : (N,) or float
        Bounds: ``|energy(prop, row_i) - energy(theta, row_i)| <= c_i M(theta, prop)`` for all pairs of states. For the
        Euclidean distance ``c_i`` is the supremum of the gradient's length. Temper is not to be included.
    dim : int
        Number of parameters.
    distance : ``@numba.njit`` function ``distance(theta, prop) -> float``, optional
        The symmetric ``M``; Euclidean by default.
    names : sequence of str, optional
        Names of the parameters.
    prior, temper
        As for every target.
    """

    def __init__(
        self,
        energy: Callable,
        rows: Any,
        c: Any,
        *,
        dim: int,
        distance: Callable | None = None,
        names: Sequence[str] | None = None,
        prior: Any = None,
        temper: float = 1.0,
    ):
        _refuse_uncompiled(energy, "energy")
        table = np.asarray(rows) if column_names(rows) is None else rows
        table = as_matrix(table[:, None] if np.ndim(table) == 1 else table, "rows")
        n_rows, width = table.shape
        temper = checked_temper(temper)
        if dim < 1:
            raise ValueError(f"dim must be at least 1, got {dim!r}")
        if names is not None and len(names) != dim:
            raise ValueError(f"names has {len(names)} entries, but dim is {dim}")
        c = np.broadcast_to(c, n_rows) if np.ndim(c) == 0 else c
        packed = packed_rows(n_rows, width + 1)
        packed[:, width] = temper * as_vector(c, "c", n_rows)
        for block in blocks(n_rows):
            packed[block, :width] = table[block]
            refuse_non_finite(packed[block, :width], "rows", block.start)
        differences, energies = _block_parts(energy)
        super().__init__(
            rows=packed,
            bound_column=width,
            hyper=[temper, width],
            parts=Parts(differences, energies, distance=euclidean if distance is None else _distance_part(distance)),
            dim=dim,
            names=names,
            prior=prior,
            temper=temper,
        )
        _compile_now(energies, "energy(theta, row)")
        _compile_now(self.parts.distance, "distance(theta, prop)")


def _block_parts(energy: Callable) -> tuple[Part, Part]:
    """The energy of one row, wrapped so that rows cross the pointer in blocks.

    An exception inside the user's code cannot leave compiled code here; it becomes NaN, which raises in Python.
    """

    @part(Energies, cache=False)
    def energies(theta, index, n, data, out):
        temper, width = data.hyper[0], int(data.hyper[1])
        for b in range(n):
            try:
                out[b] = temper * energy(theta, data.rows[index[b], :width])
            except Exception:
                out[b] = np.nan

    @part(Differences, cache=False)
    def differences(theta, prop, index, start, n, data, rise, bound):
        temper, width = data.hyper[0], int(data.hyper[1])
        for b in range(n):
            row = data.rows[index[start + b], :width]
            try:
                rise[b] = temper * (energy(prop, row) - energy(theta, row))
            except Exception:
                rise[b] = np.nan
            bound[b] = data.rows[index[start + b], width]

    return differences, energies


def _distance_part(distance: Callable) -> Part:
    _refuse_uncompiled(distance, "distance")

    @part(Distance, cache=False)
    def measure(theta, prop, hyper):
        try:
            return float(distance(theta, prop))
        except Exception:
            return np.nan

    return measure


def _refuse_uncompiled(function: Any, what: str) -> None:
    if not isinstance(function, Dispatcher):
        raise TypeError(f"{what} must be compiled: decorate it with @numba.njit (got {function!r})")


def _compile_now(part: Part, call: str) -> None:
    """Compile at construction, so that a mistake in the user's code shows where it was made."""
    try:
        part.__wrapper_address__()
    except NumbaError as error:
        raise TypeError(
            f"{call} does not compile: theta and prop are float64 vectors, row is a read-only float64 vector, and the "
            f"result must be a number.\n{error}"
        ) from None
