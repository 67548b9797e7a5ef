"""Hamiltonian dynamics about the Gaussian nearest to the posterior, decided on all rows (spec 5t).

With ``theta = centre + L z`` the posterior is about standard normal in ``z``. A trajectory from ``z`` with a standard
normal momentum ``p`` (Duane et al. 1987) turns ``(z, p)`` as a standard normal's would, exactly, and between the turns
the rows that are far from their quadratics push ``p`` (Shahbaba et al. 2014). Turns and pushes keep volume and can be
undone, whatever the push, so the end is accepted with probability ``min(1, exp(H(z, p) - H(z', p')))``,
``H = U(z) + |p|^2 / 2``. ``U`` is exact: one pass over all rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..acceptance.base import Memory, accepts
from ..chains.kernel import ROWS_READ, Kernel, OverSteps, ReadyKernel, Statistic
from ..compiled import (
    BAD_RATIO,
    BLOCK,
    NO_FAULT,
    REASSOCIATE,
    Adapt,
    Differences,
    Energies,
    Model,
    Step,
    fixed,
    helper,
    part,
)
from ..compiled.vector import copy_into
from ..compiled.windows import window
from .layout import lists_of, near_lists_of, near_row_at, numbers_of, row_at

_STEP = 0  # knob
_H = 1e-4  # of differences that give slopes of energies
_WANTED, _GAIN = 0.9, 1.5  # of what the steps alone would accept
_SHORTEST, _LONGEST = 1.0, 2.1  # of a trajectory; pi / 2 makes a Gaussian's draws independent
_SHORT_ONES, _DECADES = 0.2, 1.5  # the share of trajectories that are shorter, and by how many decades at most
_MOST_STEPS = 32
_FORBIDDEN = -10.0
_KNOWN, _ENERGY, _NEAR, _FORCE = 0, 1, 2, 3  # memory: whether known, energy, that of near rows, their gradient

_STATISTICS = (
    Statistic("accepted", OverSteps.ANY),
    Statistic("acceptance_rate"),
    ROWS_READ,
    Statistic("full_data_step", OverSteps.ANY),
    Statistic("bound_ratio", OverSteps.MAX),
    Statistic("near_acceptance"),  # what would be accepted if all rows were near: what the size of the steps decides
    Statistic("leapfrog_steps"),
)
_ACCEPTED, _RATE, _ROWS, _FULL_STEP, _WORST, _NEAR_RATE, _STEPS = range(len(_STATISTICS))


@helper(fastmath=REASSOCIATE)
def _times(matrix, vector, out):
    """``out += matrix vector``."""
    for i in range(matrix.shape[0]):
        total = 0.0
        for j in range(matrix.shape[1]):
            total += matrix[i, j] * vector[j]
        out[i] += total


@helper(fastmath=REASSOCIATE)
def _triangle_times(upper, vector, out):
    """``out += upper vector`` of an upper triangle."""
    for i in range(upper.shape[0]):
        total = 0.0
        for j in range(i, upper.shape[1]):
            total += upper[i, j] * vector[j]
        out[i] += total


@helper
def _transposed_triangle_times(upper, vector, out):
    """``out += upper' vector`` of an upper triangle."""
    for i in range(upper.shape[0]):
        for j in range(i, upper.shape[1]):
            out[j] += upper[i, j] * vector[i]


@helper(fastmath=REASSOCIATE)
def _predictor(i, rows, lists, short, phi):
    row = row_at(rows, i, phi.size - short)
    total, features, of_features = row.offset, row.features, window(phi, short, phi.size - short)
    for k in range(int(lists.first[i]), int(lists.first[i + 1])):
        total += lists.entries[2 * k] * phi[lists.entries[2 * k + 1]]
    for j in range(features.size):
        total += features[j] * of_features[j]
    return total


@helper
def energy_at(z, model, numbers):
    """Return ``U(z)``, including the prior, by one pass over all rows. NaN and +inf are returned as they are."""
    data, lists = model.data, lists_of(numbers)
    theta, phi = numbers.centre.copy(), numbers.origin.copy()
    _times(numbers.factor, z, theta)
    prior = model.log_prior(theta, model.prior_hyper)
    if not prior > -np.inf:
        return -prior
    _triangle_times(numbers.to_basis, z, phi)
    total, eta, y, energy = -prior, np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    for start in range(0, model.n_rows, BLOCK):
        n = min(BLOCK, model.n_rows - start)
        for b in range(n):
            i = start + b
            eta[b], y[b] = _predictor(i, data.rows, lists, numbers.short, phi), row_at(data.rows, i, 0).y
        data.family_energy(n, eta, y, data.family_hyper, energy)
        block = 0.0
        for b in range(n):
            block += row_at(data.rows, start + b, 0).weight * energy[b]
        total += block
    return total


@helper
def near_energy(z, model, numbers, gradient):
    """Return ``sum (f - quadratic)`` over the near rows and its gradient in ``z``, approximately."""
    data, near, lists, short, d = model.data, numbers.near, near_lists_of(numbers), numbers.short, z.size
    phi, of_phi = numbers.origin.copy(), np.zeros(d)
    of_features = window(of_phi, short, d - short)
    _triangle_times(numbers.to_basis, z, phi)
    eta, above, below = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    total, energy, rise, y = 0.0, np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    for start in range(0, len(near), BLOCK):
        n = min(BLOCK, len(near) - start)
        for b in range(n):
            eta[b], y[b] = _predictor(start + b, near, lists, short, phi), row_at(near, start + b, 0).y
            above[b], below[b] = eta[b] + _H, eta[b] - _H
        data.family_energy(n, eta, y, data.family_hyper, energy)
        data.family_rise(n, below, above, y, data.family_hyper, rise)
        for b in range(n):
            i = start + b
            row = near_row_at(near, i, d - short)
            weight, first, second, features = row.weight, row.slope, row.curvature, row.features
            away = eta[b] - row.eta
            total += weight * (energy[b] - away * (first + 0.5 * second * away))
            slope = weight * (rise[b] / (2.0 * _H) - first - second * away)
            for k in range(int(lists.first[i]), int(lists.first[i + 1])):
                of_phi[lists.entries[2 * k + 1]] += lists.entries[2 * k] * slope
            for j in range(d - short):
                of_features[j] += features[j] * slope
    gradient[:] = 0.0
    _transposed_triangle_times(numbers.to_basis, of_phi, gradient)
    return total


@helper
def _energies_at(z, index, start, n, data, out):
    numbers = numbers_of(data.hyper)
    lists = lists_of(numbers)
    phi, eta, y, one = numbers.origin.copy(), np.empty(1), np.empty(1), np.empty(1)
    _triangle_times(numbers.to_basis, z, phi)
    for b in range(n):
        i = index[start + b]
        row = row_at(data.rows, i, 0)
        eta[0], y[0] = _predictor(i, data.rows, lists, numbers.short, phi), row.y
        data.family_energy(1, eta, y, data.family_hyper, one)
        out[b] = row.weight * one[0]


@part(Energies)
def energies_of_rows(z, index, n, data, out):
    """Compute the energies of single rows, for the checks that name a row."""
    _energies_at(z, index, 0, n, data, out)


@part(Differences)
def differences_of_rows(z, there, index, start, n, data, rise, bound):
    """Compute the energy differences of single rows, for the checks that name a row. The bounds are infinite."""
    before = np.empty(n)
    _energies_at(z, index, start, n, data, before)
    _energies_at(there, index, start, n, data, rise)
    for b in range(n):
        rise[b] -= before[b]
        bound[b] = np.inf


@helper
def _squares(vector):
    total = 0.0
    for value in vector:
        total += value * value
    return total


@helper
def _length(rng):
    """Of a trajectory. Some are short: they are accepted wherever a chain is, far from the Gaussian too."""
    length = _SHORTEST + (_LONGEST - _SHORTEST) * rng.random()
    return length if rng.random() > _SHORT_ONES else length * 10.0 ** (-_DECADES * rng.random())


@helper
def _under_prior(model, log_prior, prior_hyper):
    """The model with another prior: that of the parameters which a kernel moves."""
    return Model(
        model.data,
        model.differences,
        model.energies,
        model.scales,
        model.locate,
        model.distance,
        model.offset,
        log_prior,
        prior_hyper,
        model.dim,
        model.n_rows,
        model.total_bound,
        model.own_bounds,
        model.elsewhere,
    )


@part(Step)
def _trajectory(rng, place, model, stream, own, work, statistics):
    """To the end of a trajectory, or nowhere; ``own.log_prior`` is the prior of ``theta``, the state being ``z``."""
    model, memory, here = _under_prior(model, own.log_prior, own.prior_hyper), own.memory, place.here
    numbers, d = numbers_of(model.data.hyper), here.size
    copy_into(place.there, here)
    rows, force = 0, memory[_FORCE:]
    if memory[_KNOWN] == 0.0:
        memory[_ENERGY] = energy_at(here, model, numbers)
        memory[_NEAR] = near_energy(here, model, numbers, force)
        rows += model.n_rows + len(numbers.near)
        if not (math.isfinite(memory[_ENERGY]) and math.isfinite(memory[_NEAR])):
            return BAD_RATIO
        memory[_KNOWN] = 1.0
    length = _length(rng)
    step = own.knobs[_STEP] * (0.8 + 0.4 * rng.random())
    steps = max(int(length / step + 0.5), 1)
    if steps <= _MOST_STEPS:
        step = length / steps
    else:
        steps = _MOST_STEPS
    cosine, sine = math.cos(step), math.sin(step)
    z, p, gradient = here.copy(), np.empty(d), force.copy()
    for j in range(d):
        p[j] = rng.standard_normal()
    motion, near = 0.5 * _squares(p), memory[_NEAR]
    gaussian = motion + 0.5 * _squares(z)
    for _ in range(steps):
        for j in range(d):
            pushed = p[j] - 0.5 * step * gradient[j]
            z[j], p[j] = cosine * z[j] + sine * pushed, cosine * pushed - sine * z[j]
        near = near_energy(z, model, numbers, gradient)
        if not near < np.inf:
            break
        for j in range(d):
            p[j] -= 0.5 * step * gradient[j]
    energy = energy_at(z, model, numbers) if near < np.inf else near
    rows += model.n_rows + steps * len(numbers.near)
    if math.isnan(energy):
        copy_into(place.there, z)
        return BAD_RATIO
    log_ratio, by_steps = -np.inf, 0.0
    if energy < np.inf:  # by_steps: what is accepted of the near rows' energy; none where the others forbid the end
        motion_after = 0.5 * _squares(p)
        log_ratio = memory[_ENERGY] - energy + motion - motion_after
        if log_ratio > _FORBIDDEN:
            by_steps = math.exp(min(0.0, memory[_NEAR] - near + gaussian - motion_after - 0.5 * _squares(z)))
    if accepts(rng, log_ratio):
        copy_into(here, z)
        copy_into(place.there, z)
        memory[_ENERGY], memory[_NEAR] = energy, near
        force[:] = gradient
    statistics[_ACCEPTED], statistics[_FULL_STEP], statistics[_WORST] = 1.0, 1.0, np.nan
    statistics[_RATE], statistics[_ROWS] = math.exp(min(0.0, log_ratio)), rows
    statistics[_NEAR_RATE], statistics[_STEPS] = max(by_steps, 1e-6), steps
    return NO_FAULT


@part(Adapt)
def _step_size(knobs, acceptance):
    """Longer where trajectories would be accepted more often than is wanted if all rows were near, else shorter."""
    knobs[_STEP] = min(knobs[_STEP] * math.exp(_GAIN * (acceptance - _WANTED)), _LONGEST)


@dataclass(frozen=True)
class Trajectories(Kernel):
    """The kernel of Hamiltonian trajectories, which decides on all rows. Warm-up learns the size of the steps."""

    def bind(self, target: Any) -> ReadyKernel:
        prior = target.base._prior
        return ReadyKernel(
            _trajectory,
            _STATISTICS,
            knobs=fixed([target.dim**-0.25]),
            memory=np.zeros(_FORCE + target.dim),
            memory_is=Memory.OF_PARAMETERS,
            memory_begins_anew=True,
            adapt=_step_size,
            adapts_to="near_acceptance",
            log_prior=(prior.log_prior, prior.hyper),
        )

    def check_bounds(self, target: Any, times: int, rng: np.random.Generator) -> float:
        """Return 0: there are no bounds to check."""
        return 0.0
