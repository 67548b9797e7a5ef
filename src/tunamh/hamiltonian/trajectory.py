"""Hamiltonian dynamics in the coordinates of the Laplace law, decided on all rows (spec 5t).

With ``theta = centre + L z`` the posterior is about standard normal in ``z``. A trajectory of leapfrog steps from ``z``
with a standard normal momentum ``p`` (Duane et al. 1987) is reversible and keeps volume whatever force drives it, so
its end is accepted with probability ``min(1, exp(H(z, p) - H(z', p')))``, ``H = U(z) + |p|^2 / 2``. The force may
therefore be made of differences of energies and of the prior's expansion about the centre; ``U`` in ``H`` is exact.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from .._jit import (
    BAD_RATIO,
    BLOCK,
    NO_FAULT,
    Adapt,
    Decide,
    Decision,
    Differences,
    Energies,
    fixed,
    helper,
    part,
)
from ..acceptance.base import ReadyTest, accepts, failure
from ..data.supply import NO_ROWS
from ..proposals import Staying
from .layout import numbers_of
from .rows import FEATURES

_STEP = 0  # knob
_H = 1e-4  # of differences that give slopes of energies
_WANTED, _GAIN = 0.8, 1.5
_SHORTEST, _LONGEST = 0.6, 2.2  # of a trajectory; pi / 2 would make a Gaussian's draws independent
_MOST_STEPS = 64
_KNOWN, _ENERGY, _FORCE = 0, 1, 2  # memory: whether it is known, the energy, and the gradient, at the present point


@helper
def _times(matrix, vector, out):
    """``out += matrix vector``."""
    for i in range(matrix.shape[0]):
        total = 0.0
        for j in range(matrix.shape[1]):
            total += matrix[i, j] * vector[j]
        out[i] += total


@helper
def _transposed_times(matrix, vector, out):
    """``out += matrix' vector``."""
    for i in range(matrix.shape[0]):
        for j in range(matrix.shape[1]):
            out[j] += matrix[i, j] * vector[i]


@helper
def _predictors(data, numbers, phi, start, n, eta):
    """Of ``n`` rows from ``start`` on."""
    rows, short = data.rows, numbers.short
    for b in range(n):
        i = start + b
        total = rows[i, 2]
        for k in range(int(numbers.first[i]), int(numbers.first[i + 1])):
            total += numbers.value[k] * phi[int(numbers.index[k])]
        for j in range(phi.size - short):
            total += rows[i, FEATURES + j] * phi[short + j]
        eta[b] = total


@helper
def _add_slopes(data, numbers, start, n, slope, out):
    """``out += sum_i slope_i x_i`` in the basis of the rows."""
    rows, short = data.rows, numbers.short
    for b in range(n):
        i = start + b
        for k in range(int(numbers.first[i]), int(numbers.first[i + 1])):
            out[int(numbers.index[k])] += numbers.value[k] * slope[b]
        for j in range(out.size - short):
            out[short + j] += rows[i, FEATURES + j] * slope[b]


@helper
def _energy_and_gradient(z, model, numbers, gradient, with_energy):
    """``U(z)``, the prior included, and its gradient, about: one pass over all rows. NaN and +inf are told as such.

    Without the energy, which only the ends of a trajectory need, what is returned is not NaN where the gradient is not.
    """
    data, d = model.data, z.size
    theta, phi, of_phi = numbers.centre.copy(), numbers.origin.copy(), np.zeros(d)
    _times(numbers.factor, z, theta)
    prior = model.common_prior(theta, model.common_hyper)
    if not prior > -np.inf:
        return -prior
    _times(numbers.to_basis, z, phi)
    total, eta, above, below = -prior, np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    energy, slope, y = np.empty(BLOCK), np.empty(BLOCK), np.empty(BLOCK)
    for start in range(0, model.n_rows, BLOCK):
        n = min(BLOCK, model.n_rows - start)
        _predictors(data, numbers, phi, start, n, eta)
        for b in range(n):
            y[b], above[b], below[b] = data.rows[start + b, 0], eta[b] + _H, eta[b] - _H
        if with_energy:
            data.family_energy(n, eta, y, data.family_hyper, energy)
        else:
            energy[:n] = 0.0
        data.family_rise(n, below, above, y, data.family_hyper, slope)
        block = 0.0
        for b in range(n):
            weight = data.rows[start + b, 1]
            block += weight * energy[b]
            slope[b] *= weight / (2.0 * _H)
            if not math.isfinite(slope[b]):
                return np.inf if slope[b] > 0.0 or slope[b] < 0.0 else slope[b]
        total += block
        _add_slopes(data, numbers, start, n, slope, of_phi)
    for j in range(d):
        gradient[j] = numbers.pull[j]
    _times(numbers.bend, z, gradient)
    _transposed_times(numbers.to_basis, of_phi, gradient)
    return total


@helper
def _energies_at(z, index, start, n, data, out):
    numbers = numbers_of(data.hyper)
    phi, eta, y, one = numbers.origin.copy(), np.empty(1), np.empty(1), np.empty(1)
    _times(numbers.to_basis, z, phi)
    for b in range(n):
        i = index[start + b]
        _predictors(data, numbers, phi, i, 1, eta)
        y[0] = data.rows[i, 0]
        data.family_energy(1, eta, y, data.family_hyper, one)
        out[b] = data.rows[i, 1] * one[0]


@part(Energies)
def energies_of_rows(z, index, n, data, out):
    """For guards, which ask row by row."""
    _energies_at(z, index, 0, n, data, out)


@part(Differences)
def differences_of_rows(z, there, index, start, n, data, rise, bound):
    """For guards; nothing bounds them."""
    before = np.empty(n)
    _energies_at(z, index, start, n, data, before)
    _energies_at(there, index, start, n, data, rise)
    for b in range(n):
        rise[b] -= before[b]
        bound[b] = np.inf


@part(Decide)
def _trajectory(rng, theta, prop, log_rho, distance, model, stream, knobs, memory, work):
    """Moves ``prop``, which is where the chain goes, to the end of a trajectory, or leaves it where it is."""
    numbers, d = numbers_of(model.data.hyper), prop.size
    passes = 0
    gradient = np.empty(d)
    if memory[_KNOWN] == 0.0:
        memory[_ENERGY] = _energy_and_gradient(prop, model, numbers, gradient, True)
        memory[_FORCE:] = gradient
        passes += 1
        if not math.isfinite(memory[_ENERGY]):
            return failure(BAD_RATIO)
        memory[_KNOWN] = 1.0
    length = _SHORTEST + (_LONGEST - _SHORTEST) * rng.random()
    step = knobs[_STEP] * (0.8 + 0.4 * rng.random())
    steps = min(max(int(length / step + 0.5), 1), _MOST_STEPS)
    z, p = prop.copy(), np.empty(d)
    before = memory[_ENERGY]
    for j in range(d):
        p[j] = rng.standard_normal()
        before += 0.5 * p[j] * p[j]
        gradient[j] = memory[_FORCE + j]
    energy = np.inf
    for k in range(steps):
        for j in range(d):
            p[j] -= 0.5 * step * gradient[j]
            z[j] += step * p[j]
        energy = _energy_and_gradient(z, model, numbers, gradient, k == steps - 1)
        passes += 1
        if not energy < np.inf:
            break
        for j in range(d):
            p[j] -= 0.5 * step * gradient[j]
    rows = passes * model.n_rows
    if math.isnan(energy):
        prop[:] = z
        return failure(BAD_RATIO)
    after = energy
    for j in range(d):
        after += 0.5 * p[j] * p[j]
    log_ratio = before - after if after < np.inf else -np.inf
    if accepts(rng, log_ratio):
        prop[:] = z
        memory[_ENERGY] = energy
        memory[_FORCE:] = gradient
    chance = math.exp(min(0.0, log_ratio))
    return Decision(True, min(0.0, log_ratio), rows, True, np.nan, max(chance, 1e-6), float(steps), NO_FAULT)


@part(Adapt)
def _step_size(knobs, acceptance):
    """What a trajectory reports in the place of a move bound is its acceptance."""
    knobs[_STEP] = min(knobs[_STEP] * math.exp(_GAIN * (acceptance - _WANTED)), 1.5)


@dataclass(frozen=True)
class Trajectories:
    """Hamiltonian trajectories on all rows; warm-up learns the size of their steps."""

    exact: ClassVar[bool] = True

    def bind(self, target: Any) -> ReadyTest:
        memory = np.zeros(_FORCE + target.dim)
        first = fixed([target.dim**-0.25])
        return ReadyTest(_trajectory, first, memory, NO_ROWS, _step_size, "leapfrog_steps", fresh=True)


@dataclass(frozen=True)
class Momentum(Staying):
    """The proposals of `Trajectories`."""
