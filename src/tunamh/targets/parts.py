"""The compiled functions of a target, by role, and what stands in for those that it has none of."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from ..compiled import (
    Distance,
    Dot,
    Dots,
    FamilyEnergy,
    FamilyRise,
    Offset,
    Part,
    Sizes,
    part,
    same_coordinates,
)


@part(Distance)
def euclidean(theta, prop, hyper):
    """Return the Euclidean distance ``M(theta, prop) = |prop - theta|``."""
    total = 0.0
    for j in range(theta.size):
        total += (prop[j] - theta[j]) ** 2
    return np.sqrt(total)


@part(Distance)
def no_distance(theta, prop, hyper):
    """Return NaN. This is for targets whose own kernel makes and decides moves."""
    return np.nan


@part(Offset)
def no_offset(theta, prop, hyper):
    return 0.0


@part(FamilyRise)
def no_family_rise(n, eta, eta_prop, y, hyper, out):
    out[:] = np.nan


@part(FamilyEnergy)
def no_family_energy(n, eta, y, hyper, out):
    out[:] = np.nan


@part(Dots)
def no_dots(theta, prop, rows, index, n, hyper, eta, eta_prop):
    eta[:], eta_prop[:] = np.nan, np.nan


@part(Dot)
def no_dot(theta, rows, index, n, hyper, eta):
    eta[:] = np.nan


@part(Sizes)
def no_sizes(theta, rows, i, hyper):
    return np.nan, np.nan


class Parts(NamedTuple):
    """The compiled functions of a target, by role."""

    differences: Part
    energies: Part
    scales: Part | None = None  # None: the energies themselves, where nothing cancels in them
    locate: Part = same_coordinates
    distance: Part = euclidean
    offset: Part = no_offset
    family_rise: Part = no_family_rise
    family_energy: Part = no_family_energy
    dots: Part = no_dots
    dot: Part = no_dot
    sizes: Part = no_sizes
