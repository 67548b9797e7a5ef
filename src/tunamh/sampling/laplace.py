"""`tunamh.laplace(target)`: Laplace's approximation itself, for whoever wants it, and a warning where it is off."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from .._arguments import explained, flag, seed_sequence, shown, whole_number
from ..capabilities import Examined, Expandable, Whitenable, offers
from ..errors import LaplaceOff, NotApplicable
from ..laplace.distance import LaplaceDistance
from ..laplace.gaussian import LaplaceGaussian, approximated_target, laplace_gaussian, moments, supported_draws
from ..process.blas import one_blas_thread
from ..proposals import Autoregressive
from ..results.layout import Layout, layout_of
from ..results.tree import attributes_of, posterior_of, summary
from ..targets.base import Target
from ..targets.expansion.control import Taylor
from .choice import choose
from .laplace_measure import by_laplace_gaussian
from .sample import sample

_CHAINS, _DRAWS, _TUNE = 4, 1000, 500  # of the run against which the approximation is held


@dataclass(frozen=True, eq=False)
class LaplaceApproximation:
    """Laplace's approximation of a posterior: the result of `tunamh.laplace`.

    It is the normal distribution ``N(mode, Q^-1)``; ``Q`` is the Hessian of minus the log posterior at the mode. If all
    parameters are coefficients, the approximation is normal in these parameters. If a scale, a shape or a similar
    parameter is unknown, the approximation is normal on a transformed scale; ``mode``, ``covariance`` and draws are
    converted back to the original parameters.

    Attributes
    ----------
    names : list of str
        The parameters, in the order of ``mode`` and ``covariance``.
    mode, mean, covariance, sd : arrays
        Mode, mean, covariance and standard deviations of the original parameters. Mode and mean are equal unless
        parameters are transformed.
    distance : LaplaceDistance or None
        The distance from the posterior; None if it was not measured. ``total_variation`` is an upper bound of the total
        variation distance. ``shift`` has, for each parameter, the posterior mean minus the mean of the approximation,
        divided by the posterior standard deviation. ``ratio`` has the posterior standard deviation divided by the
        standard deviation of the approximation.
    """

    target: Any = field(repr=False)
    layout: Layout = field(repr=False)
    law: LaplaceGaussian = field(repr=False)
    distance: LaplaceDistance | None = field(default=None, repr=False)

    @property
    def names(self) -> list[str]:
        """Return the names of the d parameters, a list in the order of ``mode`` and ``covariance``."""
        return self.layout.names

    @property
    def mode(self) -> np.ndarray:
        """Return the mode of the posterior, an array (d,)."""
        return self.target.to_user(self.law.mean)

    @cached_property
    def _moments(self) -> tuple[np.ndarray, np.ndarray]:
        return moments(self.target, self.law)

    @property
    def mean(self) -> np.ndarray:
        """Return the means of the parameters under the approximation, an array (d,)."""
        return self._moments[0]

    @property
    def covariance(self) -> np.ndarray:
        """Return the covariance of the parameters under the approximation, an array (d, d)."""
        return self._moments[1]

    @property
    def sd(self) -> np.ndarray:
        """Return the standard deviations of the parameters under the approximation, an array (d,)."""
        return np.sqrt(np.diag(self.covariance))

    def sample(self, draws: int = 1000, rng: Any = None, chains: int = 4) -> Any:
        """Return independent draws from the approximation, in the same form as the result of `tunamh.sample`.

        The draws do not come from the posterior, so the result is marked as inexact.

        Parameters
        ----------
        draws, chains : int
            The result has ``chains`` chains of ``draws`` draws each.
        rng : seed, optional
            The seed. By default the draws differ in every call.

        Returns
        -------
        xarray.DataTree
        """
        import xarray

        draws, chains = whole_number("draws", draws, 1), whole_number("chains", chains, 1)
        seed = seed_sequence("rng", rng)
        walked = supported_draws(self.target, self.law, draws * chains, np.random.default_rng(seed))
        posterior = posterior_of(self.target.to_user(walked.reshape(chains, draws, -1)), self.layout)
        settings = {
            "target": repr(self.target),
            "test": "no test",
            "proposal": "Laplace's approximation",
            "why": "independent draws from it, not from the posterior",
            "seed": str(seed.entropy),
            "draws": draws,
            "rows": self.target.n_rows,
            "data_rows": self.target.data_rows,
            "data": self.target.fingerprint,
            "model": getattr(self.target, "description", None),
        }
        posterior.attrs = attributes_of(False, settings)
        return xarray.DataTree.from_dict({"posterior": posterior})

    def summary(self, **settings: Any) -> Any:
        """Return `tunamh.summary` of 4000 draws from the approximation, made with a fixed seed.

        The name of every parameter ends in ``(inexact)``. ``settings`` are arguments of `tunamh.summary`.
        """
        return summary(self.sample(rng=0), **settings)

    def __repr__(self) -> str:
        told = "its distance from the posterior was not measured" if self.distance is None else self.distance.line
        return f"LaplaceApproximation({len(self.names)} parameters of {self.target!r}). {told}"


@explained
def laplace(target: Target, *, check: bool = True, rng: Any = 0) -> LaplaceApproximation:
    """Compute Laplace's approximation of the posterior of ``target``, with a warning if it is inaccurate.

    The approximation is compared with 4000 draws from the posterior. After the set-up, these draws need little time,
    because each step reads only a few rows.

    Parameters
    ----------
    target : Target
        A regression, with or without groups, or an `EnergyTarget` with derivatives and their bounds. With groups the
        approximation covers the coefficients and, for a single factor, the scales of its effects.
    check : bool
        True: compare the approximation with draws from the posterior. False: make no draws and no comparison.
    rng : seed, SeedSequence or Generator
        The seed of the draws of the comparison.

    Warns
    -----
    LaplaceOff
        The bound on the total variation distance exceeds 0.1, a mean differs by more than 0.1 posterior standard
        deviations, or a standard deviation by more than 10 %, beyond Monte Carlo error.

    Raises
    ------
    NotApplicable
        If there is no approximation: several modes, no mode found, a prior with unknown scales, or no derivatives.
    ImproperPosterior
        There is no posterior.

    Examples
    --------
    >>> approximation = tunamh.laplace(tunamh.LogisticRegression(X, y))
    >>> approximation.mode, approximation.covariance, approximation.sample(1000, rng=1)
    """
    if not isinstance(target, Target):
        raise TypeError(f"target must be a tunamh target such as LogisticRegression(X, y), got {shown(target)}.")
    check, seed = flag("check", check), seed_sequence("rng", rng)
    target.check_data()
    with one_blas_thread():
        choice = choose(target, None, *_asked_of(target), frames=1)
        law = laplace_gaussian(choice.target) if by_laplace_gaussian(choice.target, choice.kernel) else None
    if law is None:
        raise NotApplicable(
            f"this posterior has no reliable Laplace approximation. sample(target) does this: {choice.why}."
        )
    base = approximated_target(choice.target)  # the approximation holds no copy of the rows
    layout = layout_of(target, base.variables)
    if not check:
        return LaplaceApproximation(base, layout, law)
    posterior = sample(
        choice.target,
        kernel=choice.kernel,
        draws=_DRAWS,
        tune=_TUNE,
        chains=_CHAINS,
        rng=seed,
        progressbar=False,
    )
    distance = LaplaceDistance.from_attributes(posterior.posterior.attrs)
    if distance is not None and distance.complaint is not None:
        warnings.warn(
            f"Laplace's approximation is inaccurate: {distance.complaint}. tunamh.sample(target) draws from the "
            "posterior itself.",
            LaplaceOff,
            stacklevel=3,
        )
    return LaplaceApproximation(base, layout, law, distance)


def _asked_of(target: Target) -> tuple[Any, Any]:
    """Proposal and control: as `sample` chooses for a regression; of your own energy, the expansion asked for here."""
    if offers(target, Examined) or offers(target, Whitenable) or not offers(target, Expandable):
        return None, None
    return Autoregressive(), Taylor(order=2)
