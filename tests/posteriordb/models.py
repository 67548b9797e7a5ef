"""Models of posteriordb in the library's words: what are the rows, the family and the priors, and which of the results
are which parameters of the reference draws.

`MODELS` has one function for every model; it takes the data by name. Regressions are here, energies of one's own in
`energies.py`, `curves.py` and `motions.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any, NamedTuple

import energies
import numpy as np
from curves import counts, curve
from motions import hunted

from tunamh import GLM, Gaussian, GroupEffects, HalfCauchy, HalfNormal, HalfStudentT, MixedModel, Normal, priors

log = np.log


class Restated(NamedTuple):
    """A posterior as the library takes it."""

    target: Any
    parameters: Callable[[Any], dict[str, np.ndarray]]
    """From the draws: every parameter by its name in the reference, chains in rows."""
    settings: dict[str, Any]
    """Of `tunamh.sample`."""


# ------------------------------------------------------------------------------------------------------ regressions


def regression(
    y: np.ndarray, X: np.ndarray, names: list[str] | None = None, *, scale: Any = None, prior: Any = None
) -> Restated:
    """Normal errors of unknown scale ``sigma``; flat priors where none is given."""
    names = [f"beta[{j + 1}]" for j in range(X.shape[1])] if names is None else names

    def parameters(draws: Any) -> dict[str, np.ndarray]:
        theta = draws["theta"].values
        return {name: theta[..., j] for j, name in enumerate(names)} | {"sigma": draws["scale"].values}

    target = GLM(X, y, Gaussian(scale=scale or priors.FlatPositive()), prior=prior)
    return Restated(target, parameters, {"draws": 10_000})


def ones_and(*columns: np.ndarray) -> np.ndarray:
    return np.column_stack([np.ones(len(columns[0])), *columns])


def levels(codes: np.ndarray, last: int) -> list[np.ndarray]:
    """Zeros and ones for each level but the first."""
    return [(codes == level).astype(float) for level in range(2, last + 1)]


def standard(x: np.ndarray, widths: float = 1.0) -> np.ndarray:
    return (x - x.mean()) / (widths * x.std(ddof=1))


def products(first: np.ndarray, second: np.ndarray) -> np.ndarray:
    """Ones, two columns, and their product."""
    return ones_and(first, second, first * second)


def autoregression(d: Any) -> Restated:
    lags = int(d.K)
    X = ones_and(*(d.y[lags - k : -k] for k in range(1, lags + 1)))
    names = ["alpha", *(f"beta[{k}]" for k in range(1, lags + 1))]
    return regression(d.y[lags:], X, names, scale=HalfCauchy(2.5), prior=Normal(scale=10))


def diamonds(d: Any) -> Restated:
    """The intercept belongs to centred columns, and so does its prior."""
    X = ones_and(d.X[:, 1:] - d.X[:, 1:].mean(axis=0))
    names = ["Intercept", *(f"b[{j}]" for j in range(1, X.shape[1]))]
    prior = priors.ByName({"0": priors.StudentT(df=3, mean=8, scale=10)}, others=Normal(scale=1))
    return regression(d.Y, X, names, scale=HalfStudentT(3, 10), prior=prior)


def eight_schools(d: Any) -> Restated:
    """A row for every school, its known error as a weight: ``(y - theta)^2 / (2 sigma^2)``; every school is a group."""
    schools = np.arange(len(d.y))
    groups = GroupEffects(schools, scale=HalfCauchy(5))
    target = MixedModel(
        np.ones((len(d.y), 1)), d.y, Gaussian(scale=1.0), groups, prior=Normal(scale=5), weights=d.sigma**-2.0
    )

    def parameters(draws: Any) -> dict[str, np.ndarray]:
        mean, effects = draws["theta"].values[..., 0], draws["group_effect"].values
        named = {f"theta[{j + 1}]": mean + effects[..., j] for j in schools}
        return named | {"mu": mean, "tau": draws["group_scale"].values[..., 0]}

    return Restated(target, parameters, {"draws": 10_000})


# ---------------------------------------------------------------------------------------------------------- shrubs


def volume(d: Any) -> np.ndarray:
    return log(d.diam1 * d.diam2 * d.canopy_height)


def area(d: Any) -> np.ndarray:
    return log(d.diam1 * d.diam2)


def shape(d: Any) -> np.ndarray:
    return log(d.diam1 / d.diam2)


def shrub_columns(d: Any, of: Callable[[np.ndarray], np.ndarray]) -> np.ndarray:
    measured = (d.diam1, d.diam2, d.canopy_height, d.total_height, d.density)
    return ones_and(*(of(column) for column in measured), d.group)


# ------------------------------------------------------------------------------------------------------- the models

_KID = HalfCauchy(2.5)

MODELS: dict[str, Callable[[Any], Restated]] = {
    "earn_height": lambda d: regression(d.earn, ones_and(d.height)),
    "log10earn_height": lambda d: regression(np.log10(d.earn), ones_and(d.height)),
    "logearn_height": lambda d: regression(log(d.earn), ones_and(d.height)),
    "logearn_height_male": lambda d: regression(log(d.earn), ones_and(d.height, d.male)),
    "logearn_logheight_male": lambda d: regression(log(d.earn), ones_and(log(d.height), d.male)),
    "logearn_interaction": lambda d: regression(log(d.earn), products(d.height, d.male)),
    "logearn_interaction_z": lambda d: regression(log(d.earn), products(standard(d.height), d.male)),
    "kidscore_momhs": lambda d: regression(d.kid_score, ones_and(d.mom_hs), scale=_KID),
    "kidscore_momiq": lambda d: regression(d.kid_score, ones_and(d.mom_iq), scale=_KID),
    "kidscore_momhsiq": lambda d: regression(d.kid_score, ones_and(d.mom_hs, d.mom_iq), scale=_KID),
    "kidscore_interaction": lambda d: regression(d.kid_score, products(d.mom_hs, d.mom_iq), scale=_KID),
    "kidscore_interaction_c": lambda d: regression(
        d.kid_score, products(d.mom_hs - d.mom_hs.mean(), d.mom_iq - d.mom_iq.mean())
    ),
    "kidscore_interaction_c2": lambda d: regression(d.kid_score, products(d.mom_hs - 0.5, d.mom_iq - 100)),
    "kidscore_interaction_z": lambda d: regression(d.kid_score, products(standard(d.mom_hs, 2), standard(d.mom_iq, 2))),
    "kidscore_mom_work": lambda d: regression(d.kid_score, ones_and(*levels(d.mom_work, 4))),
    "kilpisjarvi": lambda d: regression(
        d.y,
        ones_and(d.x),
        ["alpha", "beta"],
        prior=Normal(mean=[float(d.pmualpha), float(d.pmubeta)], scale=[float(d.psalpha), float(d.psbeta)]),
    ),
    "mesquite": lambda d: regression(d.weight, shrub_columns(d, np.asarray)),
    "logmesquite": lambda d: regression(log(d.weight), shrub_columns(d, log)),
    "logmesquite_logvolume": lambda d: regression(log(d.weight), ones_and(volume(d))),
    "logmesquite_logva": lambda d: regression(log(d.weight), ones_and(volume(d), area(d), d.group)),
    "logmesquite_logvas": lambda d: regression(
        log(d.weight), ones_and(volume(d), area(d), shape(d), log(d.total_height), log(d.density), d.group)
    ),
    "logmesquite_logvash": lambda d: regression(
        log(d.weight), ones_and(volume(d), area(d), shape(d), log(d.total_height), d.group)
    ),
    "nes": lambda d: regression(
        d.partyid7, ones_and(d.real_ideo, d.race_adj, *levels(d.age_discrete, 4), d.educ1, d.gender, d.income)
    ),
    "blr": lambda d: regression(d.y, d.X, scale=HalfNormal(10), prior=Normal(scale=10)),
    "arK": autoregression,
    "diamonds": diamonds,
    "eight_schools_noncentered": eight_schools,
}


def _by_energy(made: Callable[[Any], energies.Walked]) -> Callable[[Any], Restated]:
    return lambda d: Restated(*energies.walked(*made(d)))


OWN = energies.ENERGIES | {"gp_regr": curve, "gp_pois_regr": counts, "lotka_volterra": hunted}
MODELS |= {name: _by_energy(made) for name, made in OWN.items()}


def restated(model: str, data: dict[str, Any]) -> Restated:
    return MODELS[model](SimpleNamespace(**data))
