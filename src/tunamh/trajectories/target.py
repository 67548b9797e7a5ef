"""A regression as a trajectory's kernel sees it: the same posterior, in the coordinates of the nearest Gaussian."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from ..capabilities import Separable, offers
from ..laplace.gaussian import LaplaceGaussian, gaussian_at_mode
from ..priors import Flat
from ..process.stages import announce
from ..rows.packing import HeldRows, PackedRows
from ..targets.base import Target
from ..targets.layouts import pack_hyper
from ..targets.parts import no_distance
from ..targets.regression import ResultsOfRegression, plain_rows_in_memory
from .driving_rows import near_rows
from .gaussian_fit import NearestGaussian, nearest_gaussian
from .layout import NUMBERS
from .sparse_rows import ShortRows, short_rows
from .trajectory import Trajectories, differences_of_rows, energies_of_rows


def may_have_trajectories(target: Any) -> bool:
    """Return True if trajectories are possible: all rows in memory, one predictor, only coefficients unknown."""
    return offers(target, Separable) and plain_rows_in_memory(target)


class HamiltonianRegression(ResultsOfRegression, Target):
    """A regression with the state ``z`` and ``theta = centre + L z``. The results are those of the regression."""

    def __init__(self, target: Any):
        parts = target.parts_with(differences_of_rows, energies_of_rows, energies_of_rows)
        super().__init__(
            packed=PackedRows(target.n_rows, 1, parts._replace(distance=no_distance)),  # 1: weights
            hyper=target.own_numbers,
            family_hyper=list(target._family_hyper),
            dim=target.dim,
            names=target.chain_names,
            prior=None,
            ready=Flat().bind(target.dim),
            temper=target.temper,
        )
        self._settle(regression=target, base=target, prior=target.prior)

    base: Any
    fingerprint_of_all_rows = True

    @cached_property
    def short(self) -> ShortRows:
        announce("shortening rows")
        return short_rows(self.regression)

    def _pack(self) -> HeldRows:
        return HeldRows(self.short.table, 1)

    @cached_property
    def law(self) -> NearestGaussian:
        mode, basis = self.regression.modes[0], self.short.basis
        to_mode = np.linalg.solve(basis, np.column_stack([mode.point, mode.posterior.metric().factor]))
        precision = np.linalg.inv(to_mode[:, 1:] @ to_mode[:, 1:].T)
        terms, prior = self.regression.terms, self.regression._prior
        return nearest_gaussian(self.short, terms, prior, to_mode[:, 0], precision)

    @cached_property
    def centre(self) -> np.ndarray:
        return self.short.basis @ self.law.mean

    @cached_property
    def factor(self) -> np.ndarray:
        return np.ascontiguousarray(self.short.basis @ self.law.factor)

    @cached_property
    def near(self) -> np.ndarray:
        """Return the rows whose forces are computed exactly in a trajectory."""
        return near_rows(self.regression.terms, self.law, self.short)

    @cached_property
    def _hyper(self) -> np.ndarray:
        short, law, near = self.short, self.law, self.near
        lists, near_lists = short.lists(), short.lists(near)
        numbers = NUMBERS.pack(
            order=2.0,
            short=short.short,
            n_rows=len(short.table),
            centre=self.centre,
            factor=self.factor,
            origin=law.mean,
            to_basis=law.factor,
            first=lists.first,
            entries=lists.entries,
            near=np.column_stack([short.table[near], law.eta[near], law.first[near], law.second[near]]),
            near_first=near_lists.first,
            near_entries=near_lists.entries,
        )
        return pack_hyper(self.own_numbers, numbers)

    @property
    def total_bound(self) -> float:
        return np.inf

    @property
    def fingerprint(self) -> str:
        return self.regression.fingerprint

    def check_data(self) -> None:
        self.regression.check_data()

    # -------------------------------------------------------------------------------- what a target with kernels offers

    def own_kernel(self) -> Trajectories:
        return Trajectories()

    def why_own_kernel(self) -> str:
        return (
            f"Hamiltonian trajectories about the Gaussian nearest to the posterior, on {len(self.near):,} rows, each "
            f"decided on all {self.n_rows:,}"
        )

    def laplace_gaussian(self) -> tuple[LaplaceGaussian | None, Any]:
        return gaussian_at_mode(self.regression.modes), self.regression

    def start(self, rng: np.random.Generator, chain: int = 0) -> np.ndarray:
        """Return a start, drawn with half the width of the Gaussian. If the prior excludes it, return the centre."""
        prior, point = self.regression._prior, self.centre + 0.5 * (self.factor @ rng.standard_normal(self.dim))
        return point if prior.log_prior(point, prior.hyper) > -np.inf else self.centre

    def state_at(self, theta: np.ndarray) -> np.ndarray:
        return np.linalg.solve(self.factor, theta - self.centre)

    def to_user(self, points: np.ndarray) -> np.ndarray:
        return self.regression.to_user(self.centre + points @ self.factor.T)

    def to_chain(self, point: np.ndarray) -> np.ndarray:
        return self.regression.to_chain(point)
