"""A user's own energy of one row."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any, cast

import numpy as np

from .._arguments import number, shown, whole_number
from ..compiled.user_functions import RowAudit, RowAudits, audit, kept, refuse_uncompiled
from ..errors import NotApplicable
from ..proposals import RandomWalk
from ..rows.packing import PackedRows, packed_rows
from ..rows.passes import blocks
from ..tables.frames import column_names
from ..tables.matrices import aligned, as_matrix, as_vector, refuse_non_finite
from .base import Expansion, Target, checked_temper
from .energy_rows import NUMBERS, block_parts, distance_part, no_hessian, sums_of, taylor_parts
from .expansion.bounds import bounds_in_general
from .expansion.taylor import TaylorTarget, polynomial_offset
from .parts import Parts, euclidean


class EnergyTarget(Target):
    """A target from your own compiled energy: minus the log-likelihood of one row.

    The energy of row ``i`` is ``U_i(theta) = temper * energy(theta, row_i)``.

    Parameters
    ----------
    energy : ``@numba.njit`` function ``energy(theta, row) -> float``
        Minus the log-likelihood of one row, up to a constant.
    rows : (N, k) table or (N,) vector
        The data for the energy; a vector gives rows of length one.
    c : (N,) or float
        Bounds: ``|energy(prop, row_i) - energy(theta, row_i)| <= c_i M(theta, prop)`` for all pairs of states. For the
        Euclidean distance, ``c_i`` is the supremum of the norm of the gradient. Do not include ``temper``. Use
        ``np.inf`` if no bound is known; then `MH` works, and `Taylor` if its own bounds are known.
    dim : int
        Number of parameters.
    distance : ``@numba.njit`` function ``distance(theta, prop) -> float``, optional
        The symmetric distance ``M``. Default: Euclidean.
    gradient, hessian : ``@numba.njit`` functions ``(theta, row, out)``, optional
        Functions that write the derivatives of the energy into ``out``, (d) or (d, d), which is zero at first. `Taylor`
        of order 1 needs the gradient, order 2 also the Hessian.
    c_gradient, c_hessian : (N,) or float, optional
        Lipschitz constants of the gradient (the supremum of the Hessian's spectral norm) for order 1, and of the
        Hessian for order 2. Do not include ``temper``.
    names : sequence of str, optional
        Names of the parameters.
    prior, temper
        The prior of the parameters, as in `GLM`, and a number that multiplies every energy but not the prior.

    Before sampling, every function is called once for each row, at ``theta = 0`` or at another point where it is
    defined. If it uses an index outside an array, an error names the row. Functions that it calls as
    ``module.function`` are not checked.

    Examples
    --------
    >>> @numba.njit
    ... def energy(theta, row):  # logistic regression; row has the columns and then the label 0 or 1
    ...     eta = np.dot(theta, row[:-1])
    ...     return np.log1p(np.exp(eta)) - row[-1] * eta
    >>> rows = np.column_stack([X, y])
    >>> target = tunamh.EnergyTarget(energy, rows, c=np.linalg.norm(X, axis=1), dim=X.shape[1])
    """

    own_bounds = True

    def __init__(
        self,
        energy: Callable,
        rows: Any,
        c: Any,
        *,
        dim: int,
        distance: Callable | None = None,
        gradient: Callable | None = None,
        hessian: Callable | None = None,
        c_gradient: Any = None,
        c_hessian: Any = None,
        names: Sequence[str] | None = None,
        prior: Any = None,
        temper: float = 1.0,
    ):
        for function, name in (
            (energy, "energy"),
            (distance, "distance"),
            (gradient, "gradient"),
            (hessian, "hessian"),
        ):
            if function is not None or name == "energy":
                refuse_uncompiled(function, name)
        columns = column_names(rows)
        (c,) = aligned(rows, "rows", c=c)
        table = as_matrix(rows, "rows", or_vector=True)
        n_rows, width = table.shape
        temper, dim = checked_temper(temper), whole_number("dim", dim, 1)
        names = None if names is None else _checked_names(names, dim)
        packed = packed_rows(n_rows, width + 1)
        packed[:, width] = temper * _per_row(c, "c", n_rows, infinite=True)
        for block in blocks(n_rows):
            packed[block, :width] = table[block]
            refuse_non_finite(packed[block, :width], "rows", block.start, columns)
        differences, energies, scales = kept(energy, "blocks", lambda: block_parts(energy))
        measure = euclidean if distance is None else kept(distance, "distance", lambda: distance_part(distance))
        super().__init__(
            packed=PackedRows(packed, width, Parts(differences, energies, scales=scales, distance=measure)),
            hyper=NUMBERS.pack(temper=temper, width=width, euclidean=distance is None).tolist(),
            dim=dim,
            names=names,
            prior=prior,
            temper=temper,
        )
        lipschitz = [
            None if values is None else temper * _per_row(values, name, n_rows)
            for values, name in ((c_gradient, "c_gradient"), (c_hessian, "c_hessian"))
        ]
        if distance is not None:
            audit(distance, "distance", dim, inputs=2)
        shapes = {"energy": (energy, ()), "gradient": (gradient, (dim,)), "hessian": (hessian, (dim, dim))}
        audits = [RowAudit(f, name, self.rows, width, out) for name, (f, out) in shapes.items() if f is not None]
        self._settle(
            _width=width,
            _energy=energy,
            _gradient=gradient,
            _hessian=hessian,
            _lipschitz=lipschitz,
            _audits=RowAudits(audits, dim),
        )

    _width: int
    _energy: Callable
    _gradient: Callable | None
    _hessian: Callable | None
    _lipschitz: list[np.ndarray | None]
    _audits: RowAudits

    def default_proposal(self) -> RandomWalk:
        """Return a random walk that learns its covariance in warm-up."""
        return RandomWalk(learn_shape=True)

    def state_at(self, theta: np.ndarray) -> np.ndarray:
        self._audits.at(theta)
        return super().state_at(theta)

    def expansion(self, theta: np.ndarray) -> Expansion:
        """Return the sum of the energies of all rows at ``theta``, its gradient (d,) and its Hessian (d, d).

        The energy of a row is its negative log-likelihood. If you gave no Hessian, the function uses differences of
        gradients.
        """
        if self._gradient is None:
            raise NotApplicable("Taylor needs derivatives: pass gradient= to EnergyTarget.")
        at = self._pass(theta)
        if self._hessian is None:
            steps = 1e-5 * np.maximum(1.0, np.abs(theta)) * np.eye(self.dim)
            sides = [(self._pass(theta + h).gradient, self._pass(theta - h).gradient, 2 * h.sum()) for h in steps]
            hessian = np.array([(after - before) / width for after, before, width in sides])
            at = at._replace(hessian=0.5 * (hessian + hessian.T))
        return at

    def _pass(self, theta: np.ndarray) -> Expansion:
        self._audits.at(theta)
        gradient, hessian = np.zeros(self.dim), np.zeros((self.dim, self.dim))
        energy = self._sums(theta, self.rows, self._width, gradient, hessian)
        return Expansion(self.temper * energy, self.temper * gradient, self.temper * hessian)

    @cached_property
    def _sums(self) -> Callable:
        functions = self._energy, cast(Any, self._gradient), self._hessian or no_hessian
        return kept(self._energy, ("sums", *functions[1:]), lambda: sums_of(*functions))

    def taylor(
        self, order: int, centre: np.ndarray, at_centre: Expansion, *, whiten: bool, original_bounds: bool
    ) -> TaylorTarget:
        """Return a target with the same posterior, in which each energy is a Taylor polynomial plus a remainder.

        The energy of a row is its negative log-likelihood. The target adds up the polynomials of all rows once, so a
        step reads rows only for the remainders. ``at_centre`` has the sum of the energies at ``centre``, its gradient
        and its Hessian. The other arguments are those of `tunamh.Taylor`. Section 5a of docs/spec.md has the bounds of
        the remainders.
        """
        c, width = self._lipschitz[order - 1], self._width
        if original_bounds:
            raise NotApplicable("original_bounds=True works only for regressions.")
        if c is None or (order == 2 and self._hessian is None):
            needs = "gradient= and c_gradient=" if order == 1 else "gradient=, hessian= and c_hessian="
            raise NotApplicable(
                f"Taylor(order={order}) needs derivatives and their bounds: pass {needs} to EnergyTarget."
            )
        rows = packed_rows(self.n_rows, width + 1)
        rows[:, :width], rows[:, width] = self.rows[:, :width], c
        functions = self._energy, cast(Any, self._gradient), self._hessian or no_hessian
        differences, energies, scales = kept(self._energy, ("Taylor", *functions[1:]), lambda: taylor_parts(*functions))
        remainders = PackedRows(rows, width, Parts(differences, energies, scales=scales, offset=polynomial_offset))
        return TaylorTarget(self, order, centre, at_centre, remainders=remainders, bounds=bounds_in_general(order))


def _checked_names(names: Any, dim: int) -> list[str]:
    listed = list(names) if np.iterable(names) and not isinstance(names, str) else [None]
    if not all(isinstance(name, str) for name in listed):
        raise TypeError(f"names must be a list of texts, one for each of the {dim} parameters, got {shown(names)}.")
    if len(listed) != dim:
        raise ValueError(f"names has {len(listed)} entries, but dim is {dim}.")
    if len(set(listed)) < dim:
        raise ValueError(f"names must differ from each other, got {shown(names)}.")
    return [str(name) for name in listed]


def _per_row(values: Any, name: str, n_rows: int, *, infinite: bool = False) -> np.ndarray:
    """One number per row, +infinity among them only where that has a meaning."""
    if np.ndim(values) == 0:
        values = np.full(n_rows, number(name, values))
    given = np.asarray(values)
    if not infinite or given.dtype.kind != "f":
        return as_vector(values, name, n_rows)
    vector = as_vector(np.where(np.isposinf(given), 0.0, given), name, n_rows)
    return np.where(np.isposinf(given.reshape(vector.shape)), np.inf, vector)
