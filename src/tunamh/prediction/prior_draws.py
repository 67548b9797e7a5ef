"""Independent draws from the prior of a regression, and the responses that they predict before the data are seen."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from .._arguments import explained, whole_number
from ..errors import NotApplicable
from ..formula.errors import FormulaError
from ..groups import MixedModel
from ..groups.covariance import correlations
from ..groups.grouping import Grouping
from ..priors.laws import (
    FLAT,
    FLAT_POSITIVE,
    GAMMA,
    INVERSE_GAMMA,
    LAPLACE,
    LOG_NORMAL,
    LOGISTIC,
    NORMAL,
    ON_PRECISION,
    ON_VARIANCE,
    STUDENT_T,
    UNIFORM,
    Laws,
    ReadyIndependent,
)
from ..results.layout import layout_of
from ..results.tree import library_attributes
from ..targets.base import Target
from .fitted import Fitted
from .replication import RESPONSES, replicated

POSITIVE = ("scale", "df", "shape", "dispersion", "precision")
PROBABILITIES = ("inflation", "positive")


@explained
def prior_predictive(model: Any, data: Any, *, draws: int = 500, rows: int = 1000, rng: Any = None) -> Any:
    """Simulate responses from the prior, before the data are seen.

    Parameters
    ----------
    model : GLM or MixedModel
        A target made by `tunamh.regression`, all of whose priors are proper.
    data : table
        Rows with the columns of the formula, such as the data of the model.
    draws : int
        Number of draws from the prior.
    rows : int
        Size of the random subsample of the rows.
    rng : seed, optional

    Returns
    -------
    DataTree
        Groups for ArviZ: ``prior``, ``prior_predictive``, ``observed_data`` and ``constant_data``.

    Raises
    ------
    NotApplicable
        A prior is flat, is a function of yours, or is one of cutpoints, of ``predictors=`` or with unknown scales.
    """
    import xarray

    if not isinstance(model, Target) or model.formula is None:
        raise NotApplicable("the prior predictive needs a target that was made by tunamh.regression.")
    draws, rows = whole_number("draws", draws, 1), whole_number("rows", rows, 1)
    generator = np.random.default_rng(rng)
    layout = layout_of(model, model.variables)
    natural = _draws_of(model, draws, generator)
    prior = layout.dataset(natural[None], {"chain": [0], "draw": np.arange(draws)})
    prior.attrs = {**library_attributes(), "model": json.dumps(model.description)}
    fitted = Fitted.open(xarray.DataTree.from_dict({"posterior": prior}), draws, by_chain=True)
    try:
        found, _, _ = replicated(fitted, data, rows, generator, (RESPONSES,))
    except ValueError as error:
        if isinstance(error, FormulaError):
            raise
        raise NotApplicable(
            f"the prior allows parameters at which no response can be simulated ({error}): give narrower priors."
        ) from error
    groups = {name: group.to_dataset() for name, group in found.children.items() if name != "posterior"}
    groups["prior_predictive"] = groups.pop(RESPONSES)
    return xarray.DataTree.from_dict({"prior": prior, **groups})


def _draws_of(model: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    """(draws, numbers), in the order of the model's variables."""
    base = model.base if isinstance(model, MixedModel) else model
    own = base.coefficient_prior
    if not isinstance(own, ReadyIndependent) or own.mixture is not None:
        raise NotApplicable(f"draws from the prior {base.prior!r} are not offered.")
    parts = [draws_from(own.laws, n, rng, names=base.row_layout.names)]
    for extra, laws in zip(base.row_layout.extras, base.row_layout.laws, strict=True):
        parts.append(_parameter(extra, laws, n, rng))
    if isinstance(model, MixedModel):
        parts += _groups(model, n, rng)
    return np.concatenate(parts, axis=1)


def _parameter(extra: Any, laws: Laws, n: int, rng: np.random.Generator) -> np.ndarray:
    if extra.labels is None and extra.name in POSITIVE:
        return draws_from(laws, n, rng, names=[extra.name], positive=True)
    if extra.labels is None and extra.name in PROBABILITIES:
        return rng.random((n, 1))  # whose prior is uniform, as no other can be given
    raise NotApplicable(f"draws from the prior of {extra.name} are not offered.")


def _groups(model: Any, n: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Scales of all factors, then correlations, then effects."""
    if not model.keeps_effects:
        raise NotApplicable("a model that keeps no group effects has no draws of them: say keep_effects=True.")
    scales, related, effects = [], [], []
    for one in model.groupings:
        if one.laws is None:
            sizes = np.broadcast_to(np.diag(one.known) ** -0.5, (n, one.q))
            correlation = np.broadcast_to(np.eye(one.q), (n, one.q, one.q))
        else:
            sizes = draws_from(one.laws, n, rng, names=[f"the scale of {one.name}"] * one.q, positive=True)
            pairs = _correlations(one, n, rng)
            scales.append(sizes)
            related.append(pairs)
            correlation = _matrices(pairs, one.q)
        root = np.linalg.cholesky(correlation)
        standard = rng.standard_normal((n, one.groups, one.q))
        if one.df:
            standard /= np.sqrt(rng.gamma(0.5 * one.df, 2.0 / one.df, (n, one.groups, 1)))
        effects.append((np.einsum("sab,sgb->sga", root, standard) * sizes[:, None, :]).reshape(n, -1))
    return [*scales, *related, *effects]


def _correlations(one: Grouping, n: int, rng: np.random.Generator) -> np.ndarray:
    """LKJ: canonical partial correlations are independent, of column ``j`` with the density ``(1 - w^2)^(a_j - 1)``."""
    q = one.q
    a = np.array([one.correlation + 0.5 * (q - 2 - j) for i in range(q) for j in range(i)])
    partial = 2.0 * rng.beta(a, a, (n, len(a))) - 1.0
    return correlations(np.concatenate([np.zeros((n, q)), np.arctanh(partial)], axis=1), q)


def _matrices(pairs: np.ndarray, q: int) -> np.ndarray:
    found = np.broadcast_to(np.eye(q), (len(pairs), q, q)).copy()
    places = [(i, j) for i in range(q) for j in range(i)]
    for k, (i, j) in enumerate(places):
        found[:, i, j] = found[:, j, i] = pairs[:, k]
    return found


def draws_from(laws: Laws, n: int, rng: np.random.Generator, *, names: list[str], positive: bool = False) -> np.ndarray:
    """(draws, coordinates) of independent laws; ``positive``: restricted to positive numbers."""
    columns = []
    for name, kind, mean, scale, df in zip(names, *laws, strict=True):
        power = -0.5 if kind >= ON_PRECISION else 0.5 if kind >= ON_VARIANCE else 1.0
        plain = int(kind) % ON_VARIANCE
        if plain in (FLAT, FLAT_POSITIVE):
            raise NotApplicable(
                f"the prior of {name} is flat, so that nothing can be drawn from it: give it a proper one."
            )
        kept = np.empty(0)
        while len(kept) < n:
            drawn = _drawn(plain, float(mean), float(scale), float(df), n, rng)
            kept = np.concatenate([kept, drawn[drawn > 0] if positive else drawn])
        columns.append(kept[:n] ** power if power != 1.0 else kept[:n])
    return np.stack(columns, axis=1)


def _drawn(kind: int, mean: float, scale: float, df: float, n: int, rng: np.random.Generator) -> np.ndarray:
    if kind == UNIFORM:
        return rng.uniform(mean, scale, n)
    if kind == LOG_NORMAL:
        return rng.lognormal(mean, scale, n)
    if kind == INVERSE_GAMMA:
        return scale / rng.gamma(df, size=n)
    if kind == GAMMA:
        return scale * rng.gamma(df, size=n)
    standard = {
        NORMAL: lambda: rng.standard_normal(n),
        STUDENT_T: lambda: rng.standard_t(df, n),
        LAPLACE: lambda: rng.laplace(size=n),
        LOGISTIC: lambda: rng.logistic(size=n),
    }[kind]()
    return mean + scale * standard
