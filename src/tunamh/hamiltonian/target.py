"""A regression as a trajectory's kernel sees it: the same posterior, in the coordinates of its Laplace law."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from .._jit import Model
from ..capabilities import Separable, offers
from ..data.passes import announce
from ..laplace_law import LaplaceLaw, law_at_mode
from ..priors import Flat
from ..targets.base import Target
from ..targets.layouts import pack_hyper
from ..targets.parts import no_distance
from ..targets.regression import ResultsOfRegression, plain_rows_in_memory
from .layout import Numbers, pack
from .rows import ShortRows, short_rows
from .trajectory import Momentum, Trajectories, differences_of_rows, energies_of_rows


def may_have_trajectories(target: Any) -> bool:
    """One predictor, nothing unknown beside the coefficients, all rows in memory: what `short_rows` can read."""
    return offers(target, Separable) and plain_rows_in_memory(target)


class HamiltonianRegression(ResultsOfRegression, Target):
    """The state is ``z``, ``theta = mode + L z``; results are the regression's own."""

    def __init__(self, target: Any):
        mode = target.modes[0]
        self.regression = self.base = target
        self.mode = mode
        self.factor = np.ascontiguousarray(mode.posterior.metric().factor)
        super().__init__(
            rows=target.n_rows,
            bound_column=1,  # weights, which no test of its own asks for
            hyper=target.own_numbers,
            family_hyper=list(target._family_hyper),
            parts=target.parts_with(differences_of_rows, energies_of_rows, energies_of_rows)._replace(
                distance=no_distance
            ),
            dim=target.dim,
            names=target.walking_names,
            prior=None,
            ready=Flat().bind(target.dim),
            temper=target.temper,
        )
        self.prior = target.prior

    @cached_property
    def short(self) -> ShortRows:
        announce("shortening rows")
        return short_rows(self.regression)

    def _pack(self) -> np.ndarray:
        return self.short.table

    @cached_property
    def _packed_hyper(self) -> np.ndarray:
        short, L, centre = self.short, self.factor, self.mode.point
        widths = np.linalg.norm(L, axis=1)
        prior = self.regression._prior.expansion(centre, widths)
        numbers = Numbers(
            short.short,
            centre,
            L,
            np.linalg.solve(short.basis, centre),
            np.linalg.solve(short.basis, L),
            L.T @ prior.gradient,
            L.T @ prior.hessian @ L,
            short.first,
            short.column,
            short.value,
        )
        return pack_hyper(self.own_numbers, pack(numbers))

    def model(self, rows: np.ndarray | None = None, elsewhere: int = 0) -> Model:
        self._hyper = self._packed_hyper
        prior = self.regression._prior
        plain = super().model(rows, elsewhere)
        return plain._replace(common_prior=prior.log_prior, common_hyper=prior.hyper)

    @property
    def total_bound(self) -> float:
        return np.inf

    @property
    def fingerprint(self) -> str:
        return self.regression.fingerprint

    def check_data(self) -> None:
        self.regression.check_data()

    # -------------------------------------------------------------------------------- what a target with kernels offers

    def sweep(self) -> tuple[Trajectories, Momentum, str]:
        why = f"Hamiltonian trajectories in the coordinates of the Laplace law, on all {self.n_rows:,} rows"
        return Trajectories(), Momentum(), why

    def summaries(self, memories: list[np.ndarray]) -> dict[str, np.ndarray] | None:
        return None

    def audit(self, sweeps: int, rng: np.random.Generator) -> float:
        """There are no bounds to hold rows against."""
        return 0.0

    def laplace_law(self) -> tuple[LaplaceLaw | None, Any]:
        return law_at_mode(self.regression.modes), self.regression

    def start(self, rng: np.random.Generator, chain: int = 0) -> np.ndarray:
        """From half the width of the Laplace law, inside the support: forces far out are too steep for a first step."""
        for spread in (0.5, 0.0):
            z = spread * rng.standard_normal(self.dim)
            if (
                self.regression._prior.log_prior(self.mode.point + self.factor @ z, self.regression._prior.hyper)
                > -np.inf
            ):
                break
        return z

    def state_at(self, theta: np.ndarray) -> np.ndarray:
        return np.linalg.solve(self.factor, theta - self.mode.point)

    def natural(self, points: np.ndarray) -> np.ndarray:
        return self.regression.natural(self.mode.point + points @ self.factor.T)

    def walking(self, point: np.ndarray) -> np.ndarray:
        return self.regression.walking(point)
