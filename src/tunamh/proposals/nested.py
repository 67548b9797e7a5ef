"""Scales of a prior and all coefficients at once, independently of the state (spec 5u).

For ``f(theta, v) = q~(log v) N(theta; m(v), P(v)^-1) / prod v``, the law of `NestedLaw` with a product of tables in the
place of ``q``, every kind of step is reversible, so that ``log_q`` is ``log f(here) - log f(there)``:

- new scales from the tables, and ``z' = rho z + innovation xi`` where ``theta = m(v) + P(v)^(-1/2) z``;
- the same with the scales as they are, and a shorter innovation;
- a dilation ``u' = mean + e^s (u - mean)``, ``v' = e^(2s) v`` of one scale, or of all that have coefficients in common,
  taken by a Metropolis-Hastings step for a power of ``f`` (its Jacobian is ``e^((m_g + 2) s)``, 2 for each scale), so
  that its factor is that power's ratio.

With ``innovation`` 1 and ``q~ = q`` the factor and the target's offset leave ``exp(R(theta) - R(theta'))``, with ``R``
what the rows have beyond their quadratic.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..compiled import REASSOCIATE, Propose, fixed, helper, part
from ..compiled.layouts import NUMBER, WHOLE, Layout
from ..compiled.triangular import solve_upper
from ..compiled.vector import copy_into, precision_under
from .base import Proposal, ReadyProposal, Space
from .nested_law import NestedLaw
from .scale_tables import TABLES, drawn_from, log_density_of, tables_at
from .walks import log_dilation

_KNOBS = Layout(
    "NestedKnobs",
    innovation=NUMBER,
    cooled=NUMBER,  # the power of ``f`` by which dilations are screened; 0: they are not
    m=WHOLE,  # coefficients u whose prior has unknown scales
    n=WHOLE,  # other parameters a
    scales=WHOLE,
    tau_at=WHOLE,  # of one over the errors' scale, in whose units all is said here; -1 where it is known
    tau=NUMBER,  # at the centre
    at_u=("m",),
    at_a=("n",),
    mean=("m",),
    moment=("m",),  # k
    c=("n",),
    share=("m", "scales"),  # the precision of u_i is the sum of share / v
    together=("scales",),  # the first of the scales that have coefficients in common: these are dilated together
    C=("m", "m"),
    W=("n", "m"),
    root=("n", "n"),  # the lower factor of A
    scaled=("m + n",),  # 1 of coefficients, beside an unknown scale of the errors
    at=("m + n",),  # from where they are measured in its units
)
"""Behind these the tables of the scales."""

_knobs_at = _KNOBS.reader()
_DILATED_SHARE, _KEPT_SHARE = 0.05, 0.1
_COOLED = 0.25  # tails of the likelihood may be heavier than those of ``f``
_FARTHEST = 400.0  # of a log variance: beyond, it is no number to compute with


@helper
def _factor(U, own, state, d):
    """Fills the upper half of ``U`` so that ``U'U = C + D^-1``, row by row; the logarithm of its determinant.

    Eight entries of a row side by side: their sums do not wait for each other, and lie in registers.
    """
    total, variances, m = 0.0, state[d : d + own.scales], own.m
    C = own.C
    for i in range(m):
        j = i
        while j + 8 <= m:
            a0, a1, a2, a3 = C[i, j], C[i, j + 1], C[i, j + 2], C[i, j + 3]
            a4, a5, a6, a7 = C[i, j + 4], C[i, j + 5], C[i, j + 6], C[i, j + 7]
            if j == i:
                a0 += precision_under(own.share, i, variances)
            for k in range(i):
                f = U[k, i]
                a0 -= f * U[k, j]
                a1 -= f * U[k, j + 1]
                a2 -= f * U[k, j + 2]
                a3 -= f * U[k, j + 3]
                a4 -= f * U[k, j + 4]
                a5 -= f * U[k, j + 5]
                a6 -= f * U[k, j + 6]
                a7 -= f * U[k, j + 7]
            U[i, j], U[i, j + 1], U[i, j + 2], U[i, j + 3] = a0, a1, a2, a3
            U[i, j + 4], U[i, j + 5], U[i, j + 6], U[i, j + 7] = a4, a5, a6, a7
            j += 8
        while j < m:
            value = C[i, j]
            if j == i:
                value += precision_under(own.share, i, variances)
            for k in range(i):
                value -= U[k, i] * U[k, j]
            U[i, j] = value
            j += 1
        root = math.sqrt(U[i, i])
        U[i, i] = root
        for j in range(i + 1, m):
            U[i, j] /= root
        total += math.log(root)
    return total


@helper
def _solve_transposed(U, x):
    """With ``U'``."""
    for k in range(x.size):
        x[k] /= U[k, k]
        for i in range(k + 1, x.size):
            x[i] -= U[k, i] * x[k]


@helper
def _solve(U, x):
    """With ``U``."""
    for i in range(x.size - 1, -1, -1):
        x[i] /= U[i, i]
        for k in range(i):
            x[k] -= U[k, i] * x[i]


@helper
def _mean_of(U, mean, own):
    copy_into(mean, own.moment)
    _solve_transposed(U, mean)
    _solve(U, mean)


@helper(fastmath=REASSOCIATE)
def _whitened(state, U, mean, own, z):
    """``z`` of a state: of ``u`` first, then of ``a``."""
    m, n = own.m, own.n
    z[:] = 0.0
    for i in range(m):
        off = state[int(own.at_u[i])] - own.mean[i] - mean[i]
        for j in range(i + 1):
            z[j] += U[j, i] * off
    for i in range(n):
        off = state[int(own.at_a[i])] - own.c[i]
        for j in range(m):
            off += own.W[i, j] * (state[int(own.at_u[j])] - own.mean[j])
        for j in range(i + 1):
            z[m + j] += own.root[i, j] * off


@helper(fastmath=REASSOCIATE)
def _unwhitened(z, U, mean, own, state):
    """Fills the parameters of a state; ``z`` is used up."""
    m, n = own.m, own.n
    u, a = z[:m], z[m:]
    _solve(U, u)
    solve_upper(own.root, a)
    for i in range(m):
        u[i] += mean[i]
        state[int(own.at_u[i])] = own.mean[i] + u[i]
    for i in range(n):
        total = own.c[i] + a[i]
        for j in range(m):
            total -= own.W[i, j] * u[j]
        state[int(own.at_a[i])] = total


@helper
def _scales_log_density(state, tables, d):
    """``sum_g log q~(log v_g) - log v_g``."""
    total = 0.0
    for g in range(tables.scales):
        at = math.log(state[d + g])
        total += log_density_of(at, tables, g) - at
    return total


@helper
def _log_f(state, U, mean, z, own, tables, d):
    """``log f`` up to a constant; leaves the factor, the mean and ``z`` of the state behind."""
    total = _factor(U, own, state, d) + _scales_log_density(state, tables, d)
    _mean_of(U, mean, own)
    _whitened(state, U, mean, own, z)
    for j in range(d):
        total -= 0.5 * z[j] * z[j]
    return total


@helper
def _is_among(own, i, one):
    """Whether a scale of coefficient ``i`` is among those of which ``one`` is the first."""
    for g in range(own.scales):  # noqa: SIM110
        if own.share[i, g] > 0.0 and own.together[g] == one:
            return True
    return False


@helper
def _dilated(rng, here, there, own, tables, d):
    """By a Metropolis-Hastings step for ``f^cooled``, whose factor is the ratio of these: most long ones end here."""
    s, one, count = log_dilation(rng), own.together[int(tables.scales * rng.random())], 0.0
    copy_into(there, here)
    for i in range(own.m):
        if _is_among(own, i, one):
            j = int(own.at_u[i])
            there[j] = own.mean[i] + math.exp(s) * (here[j] - own.mean[i])
            count += 1.0
    for g in range(tables.scales):
        if own.together[g] == one:
            there[d + g] = here[d + g] * math.exp(2.0 * s)
            count += 2.0
            if not abs(math.log(there[d + g])) < _FARTHEST:
                return -np.inf
    if own.cooled == 0.0:
        return count * s
    U, mean, z = np.empty((own.m, own.m)), np.empty(own.m), np.empty(d)
    rise = _log_f(there, U, mean, z, own, tables, d) - _log_f(here, U, mean, z, own, tables, d)
    if not abs(rise) < np.inf or not math.log(1.0 - rng.random()) < own.cooled * rise + count * s:
        return -np.inf  # it stays
    return -own.cooled * rise


@part(Propose)
def nested(rng, here, there, knobs):
    """Propose the scales of a prior together with all coefficients. Return the log Hastings factor.

    If the scale of the errors is unknown, the proposal is made in units of this scale, and the factor has a Jacobian.
    """
    own = _knobs_at(knobs, 0)
    tables = tables_at(knobs, own.end)
    if own.tau_at < 0:
        return _nested(rng, here, there, own, tables)
    begin, end = np.empty(here.size), np.empty(here.size)
    _in_units(here, begin, own)
    log_f = _nested(rng, begin, end, own, tables)
    tau = end[own.tau_at]
    if not (log_f > -np.inf and tau > 0.0):
        return -np.inf
    _out_of_units(end, there, own)
    return log_f + _coordinates(own) * math.log(here[own.tau_at] / tau)


@helper
def _coordinates(own):
    """How many powers of ``tau`` the Jacobian has."""
    total = 2.0 * own.scales
    for j in range(own.scaled.size):
        total += own.scaled[j]
    return total


@helper
def _in_units(state, found, own):
    """``(beta - at) tau / tau_0`` and ``v (tau / tau_0)^2`` of a state."""
    unit, d = state[own.tau_at] / own.tau, own.scaled.size
    for j in range(d):
        found[j] = (state[j] - own.at[j]) * unit if own.scaled[j] > 0.0 else state[j]
    for g in range(d, state.size):
        found[g] = state[g] * unit * unit


@helper
def _out_of_units(found, state, own):
    """The inverse of `_in_units`."""
    unit, d = found[own.tau_at] / own.tau, own.scaled.size
    for j in range(d):
        state[j] = own.at[j] + found[j] / unit if own.scaled[j] > 0.0 else found[j]
    for g in range(d, state.size):
        state[g] = found[g] / (unit * unit)


@helper
def _nested(rng, here, there, own, tables):
    m, d = own.m, own.m + own.n
    u = rng.random()
    if u < _DILATED_SHARE:
        return _dilated(rng, here, there, own, tables, d)
    U, mean, z = np.empty((m, m)), np.empty(m), np.empty(d)
    log_f = _factor(U, own, here, d)
    _mean_of(U, mean, own)
    _whitened(here, U, mean, own, z)
    kept = u < _DILATED_SHARE + _KEPT_SHARE
    innovation = own.innovation * rng.random() if kept else own.innovation
    rho, squares = math.sqrt(max(0.0, 1.0 - innovation * innovation)), 0.0
    for j in range(d):
        before = z[j]
        z[j] = rho * before + innovation * rng.standard_normal()
        squares += (z[j] - before) * (z[j] + before)
    for g in range(tables.scales):
        there[d + g] = here[d + g]
    if kept:
        log_f = 0.0
    else:
        for g in range(tables.scales):
            new = drawn_from(rng, tables, g)
            if not abs(new) < _FARTHEST:
                return -np.inf
            there[d + g] = math.exp(new)
        log_f += _scales_log_density(here, tables, d) - _scales_log_density(there, tables, d)
        log_f -= _factor(U, own, there, d)
        _mean_of(U, mean, own)
    _unwhitened(z, U, mean, own, there)
    log_f += 0.5 * squares
    return log_f if abs(log_f) < np.inf else -np.inf  # without a factor in either state it is no move


def knobs_of(law: NestedLaw, *, screened: bool = True, **units: Any) -> np.ndarray:
    """Return the numbers that the compiled proposal reads. The first is the innovation, which warm-up tunes.

    ``screened`` says whether long dilations are decided before a row is read. ``units`` are the numbers for an unknown
    scale of the errors.
    """
    found, d = law.tables(), len(law.at_u) + len(law.at_a)
    known = {"tau_at": -1, "tau": 1.0, "scaled": np.zeros(d), "at": np.zeros(d)}
    own = _KNOBS.pack(
        innovation=1.0,
        cooled=_COOLED if screened else 0.0,
        at_u=law.at_u,
        at_a=law.at_a,
        share=law.share,
        together=law.together,
        mean=law.mean,
        moment=law.k,
        c=law.c,
        C=law.C,
        W=law.W,
        root=law.root_a,
        **{**known, **units},
    )
    return fixed([*own, *TABLES.pack(**found)])


@dataclass(frozen=True)
class Nested(Proposal):
    """The proposal of scales of a prior together with the coefficients.

    They are drawn from the law that they have if the energy of the rows is quadratic (spec 5u). `sample` chooses it for
    `priors.Grouped`, `priors.Ridge` and smooth terms of formulas.
    """

    def bind(self, space: Space) -> ReadyProposal:
        given: Any = space
        return ReadyProposal(given.propose, given.proposal_knobs, True, 0.6, largest=1.0)
