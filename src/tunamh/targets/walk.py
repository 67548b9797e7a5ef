"""Targets on finitely many states: the paper's counterexample, and any table of energies."""

from __future__ import annotations

from typing import Any

import numpy as np

from .._arguments import whole_number
from ..compiled import Differences, Energies, Offset, part
from ..compiled.layouts import NUMBER, WHOLE, Layout
from ..proposals import NeighbourWalk
from ..rows.packing import PackedRows, packed_rows
from ..tables.matrices import as_matrix, as_vector, refuse_non_finite
from .base import Target, checked_temper
from .layouts import OWN, row_and_bound_at
from .parts import Parts

_NUMBERS = Layout("Walk", temper=NUMBER, states=NUMBER, columns=WHOLE)
"""The target's own. A packed row has the energies of the states, or one column, the energy's slope x_i / N."""

_numbers_at = _NUMBERS.reader()


@part(Differences)
def _linear_differences(theta, prop, index, start, n, data, rise, bound):
    temper = _numbers_at(data.hyper, OWN).temper
    for b in range(n):
        row = row_and_bound_at(data.rows, index[start + b], 1)
        rise[b] = temper * row.numbers[0] * (prop[0] - theta[0])
        bound[b] = row.bound


@part(Energies)
def _linear_energies(theta, index, n, data, out):
    temper = _numbers_at(data.hyper, OWN).temper
    for b in range(n):
        out[b] = temper * data.rows[index[b], 0] * theta[0]


@part(Differences)
def _table_differences(theta, prop, index, start, n, data, rise, bound):
    own = _numbers_at(data.hyper, OWN)
    temper, here, there = own.temper, int(theta[0]), int(prop[0])
    for b in range(n):
        row = row_and_bound_at(data.rows, index[start + b], own.columns)
        rise[b] = temper * (row.numbers[there] - row.numbers[here])
        bound[b] = row.bound


@part(Energies)
def _table_energies(theta, index, n, data, out):
    temper, state = _numbers_at(data.hyper, OWN).temper, int(theta[0])
    for b in range(n):
        out[b] = temper * data.rows[index[b], state]


@part(Offset)
def _is_state(theta, prop, hyper):
    state = prop[0]
    if np.isnan(state):
        return np.nan
    return 0.0 if 0.0 <= state < _numbers_at(hyper, OWN).states and state == np.floor(state) else -np.inf


class FiniteWalk(Target):
    """A target with finitely many states ``0 .. K-1``, on which all results can be computed exactly.

    The posterior of state ``k`` is proportional to ``prior(k) exp(-sum_i U_i(k))``. ``U_i`` is the energy (negative
    log-likelihood) of row ``i``. ``c_i`` is its bound: ``|U_i(l) - U_i(k)| <= c_i |l - k|``.

    Parameters
    ----------
    x : (N,), optional
        The rows of the walk in the TunaMH paper (Zhang, Cooper and De Sa 2020): ``U_i(theta) = theta x_i / N``, with
        the bound ``c_i = |x_i| / N``.
    states : int
        The number of states K, with ``x``.
    table : (N, K), optional
        Instead of ``x``: ``table[i, k] = U_i(k)``. The smallest valid bound is the largest step between neighbours,
        ``c_i = max_k |U_i(k+1) - U_i(k)|``.
    c : (N,), optional
        Larger bounds than the bounds above. Do not include ``temper``.
    prior, temper
        The prior (default: flat), and a number that multiplies every energy but not the prior.

    Examples
    --------
    >>> walk = FiniteWalk([-1.0] * 5000 + [5.0] * 1000, states=200)  # the counterexample of the TunaMH paper
    """

    states: int

    def __init__(
        self,
        x: Any = None,
        states: int | None = None,
        *,
        table: Any = None,
        c: Any = None,
        prior: Any = None,
        temper: float = 1.0,
    ):
        if (x is None) == (table is None):
            raise TypeError("Give either x and states, or table.")
        temper = checked_temper(temper)
        states = None if states is None else whole_number("states", states, 2)
        if table is not None:
            energies = as_matrix(table, "table").astype(np.float64)
            refuse_non_finite(energies, "table")
            if states is not None and states != energies.shape[1]:
                raise ValueError(f"table has {energies.shape[1]} columns, but states={states}.")
            states = energies.shape[1]
            smallest = np.abs(np.diff(energies, axis=1)).max(axis=1, initial=0.0)
            parts = Parts(_table_differences, _table_energies, offset=_is_state)
        else:
            x = as_vector(x, "x")
            energies = x[:, None] / x.size
            smallest = np.abs(energies[:, 0])
            parts = Parts(_linear_differences, _linear_energies, offset=_is_state)
        if states is None or states < 2:
            raise ValueError(f"A walk needs at least two states, got states={states!r}.")
        n_rows, n_columns = energies.shape
        rows = packed_rows(n_rows, n_columns + 1)
        rows[:, :n_columns] = energies
        rows[:, n_columns] = temper * (smallest if c is None else as_vector(c, "c", n_rows))
        self._settle(states=states, own_bounds=c is not None)
        super().__init__(
            packed=PackedRows(rows, n_columns, parts),
            hyper=_NUMBERS.pack(temper=temper, states=states, columns=n_columns).tolist(),
            dim=1,
            names=["state"],
            prior=prior,
            temper=temper,
        )

    def global_bounds(self) -> tuple[np.ndarray, np.ndarray]:
        """Return two arrays (N,): the largest energy of each row, and its largest minus its smallest energy.

        The energy of a row is its negative log-likelihood. Both arrays are computed over all states and include
        ``temper``.
        """
        if self._held.column == 1:
            ends = self.temper * self.rows[:, :1] * np.array([0.0, self.states - 1.0])
        else:
            ends = self.temper * self.rows[:, : self.states]
        return ends.max(axis=1), np.ptp(ends, axis=1)

    def start(self, rng: np.random.Generator, chain: int = 0) -> np.ndarray:
        """Return a random initial state, uniform over the states."""
        return np.array([float(rng.integers(self.states))])

    def default_proposal(self) -> NeighbourWalk:
        return NeighbourWalk()
