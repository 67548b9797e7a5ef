"""Independent draws from the prior of a regression, and the responses that they predict before the data are seen."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any

import numpy as np

from .._arguments import explained, whole_number
from ..errors import NotApplicable
from ..formula.errors import FormulaError
from ..groups import MixedModel
from ..groups.covariance import correlations
from ..groups.grouping import Grouping
from ..priors.description import POSITIVE, PROBABILITIES
from ..priors.independent import IndependentPrior
from ..priors.laws import Laws
from ..results.layout import layout_of
from ..results.tree import library_attributes
from ..targets.base import Target
from .fitted import Fitted
from .prior_laws import coefficients, draws_from
from .replication import RESPONSES, replicated

_MOST_TRIES = 1000


@explained
def prior_predictive(model: Any, data: Any, *, draws: int = 500, rows: int = 1000, rng: Any = None) -> Any:
    """Simulate responses from the prior, before the data are seen.

    Parameters
    ----------
    model : GLM or MixedModel
        A target made by `tunamh.regression`. All its priors must be proper.
    data : table
        Rows with the columns of the formula, such as the data of the model.
    draws : int
        Number of draws from the prior.
    rows : int
        Size of the random subsample of the rows.
    rng : seed, optional
        The seed of the draws and of the random subsample. By default they differ in every call.

    Returns
    -------
    DataTree
        Groups for ArviZ: ``prior`` (draws of the parameters), ``prior_predictive`` (simulated responses),
        ``observed_data`` (the responses in ``data``) and ``constant_data`` (the columns on the right
        side of the formula).

    Raises
    ------
    NotApplicable
        If a prior is flat, or your own function, or a random walk of log hazards. The message says what to do.

    Notes
    -----
    For censored times, the simulated responses are the times without censoring. For priors with unknown scales
    (`priors.Horseshoe`, curves) the scales are also drawn, but not returned. `plot_prior_predictive` draws the picture.

    Examples
    --------
    >>> model = tunamh.regression("delay ~ distance", flights)
    >>> tree = tunamh.prior_predictive(model, flights, rng=1)
    >>> tunamh.plot_prior_predictive(tree)
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
    base: Any = model.base if isinstance(model, MixedModel) else model
    assert model.description is not None
    own = None if model.description["family"].get("name") is not None else base.user_family
    fitted = Fitted.open(xarray.DataTree.from_dict({"posterior": prior}), draws, own, by_chain=True)
    fitted = replace(fitted, about={**fitted.about, "censored": None})
    try:
        with np.errstate(over="ignore"):  # wide priors reach beyond all numbers
            found, _, _ = replicated(fitted, data, rows, generator, (RESPONSES,))
    except ValueError as error:
        if isinstance(error, FormulaError):
            raise
        raise NotApplicable(
            f"the prior allows parameters at which no response can be simulated ({error}): set narrower priors."
        ) from error
    groups = {name: group.to_dataset() for name, group in found.children.items() if name != "posterior"}
    groups["prior_predictive"] = groups.pop(RESPONSES)
    return xarray.DataTree.from_dict({"prior": prior, **groups})


def _draws_of(model: Any, n: int, rng: np.random.Generator) -> np.ndarray:
    """(draws, numbers), in the order of the model's variables."""
    base = model.base if isinstance(model, MixedModel) else model
    theta, scales = coefficients(base, n, rng)
    parts, at = [theta], len(base.row_layout.names)
    for extra, laws in zip(base.row_layout.extras, base.row_layout.laws, strict=True):
        if at >= theta.shape[1]:
            parts.append(_parameter(base, theta, extra, laws, n, rng))
        at += extra.size
    own = np.concatenate(parts, axis=1)
    for one in base.recentred:  # priors of intercepts in predictors= are of a row whose columns have their means
        own = one.out(own)
    return np.concatenate([own, *([scales, *_groups(model, n, rng)] if isinstance(model, MixedModel) else [])], axis=1)


def _parameter(base: Any, theta: np.ndarray, extra: Any, laws: Laws, n: int, rng: np.random.Generator) -> np.ndarray:
    known = base.user_family.responses is not None  # parameters of a likelihood of one's own are any numbers
    if extra.name == "cutpoint":
        return _cutpoints(base.row_layout.form, theta, laws, n, rng)
    if known and extra.labels is None and extra.name in PROBABILITIES:
        return rng.random((n, 1))  # whose prior is uniform, as no other can be given
    if extra.name == "log_hazard" and not isinstance(base.user_family.parameter_prior("log_hazard"), IndependentPrior):
        raise NotApplicable(
            "draws from the random walk of log hazards are not offered: give them an independent prior, such as "
            "tunamh.PiecewiseExponential(log_hazard=tunamh.Normal(mean=-2, scale=1))."
        )
    names = [extra.name] if extra.labels is None else [f"{extra.name} {label}" for label in extra.labels]
    return draws_from(laws, n, rng, names=names, positive=known and extra.labels is None and extra.name in POSITIVE)


def _cutpoints(form: Any, theta: np.ndarray, laws: Laws, n: int, rng: np.random.Generator) -> np.ndarray:
    """Draws of the laws, given that they increase; the laws are those of a typical row (`Ordinal`).

    Of equal laws all orders are equally likely, so that sorted draws are such draws; of others draws are rejected.
    """
    count = len(laws.kind)
    names = [f"cutpoint {k}" for k in range(count)]
    if all((values == values[0]).all() for values in laws):
        found = np.sort(draws_from(laws, n, rng, names=names), axis=1)
    else:
        found = np.empty((0, count))
        for _ in range(_MOST_TRIES):
            more = draws_from(laws, n, rng, names=names)
            found = np.concatenate([found, more[(np.diff(more, axis=1) > 0).all(axis=1)]])[:n]
            if len(found) == n:
                break
        else:
            raise NotApplicable(
                "draws of the cutpoints from their priors are almost never in order: set priors with increasing means."
            )
    return found + (theta @ (form.origin + form.lean))[:, None]


def _groups(model: Any, n: int, rng: np.random.Generator) -> list[np.ndarray]:
    """Scales of all factors, then correlations, then effects."""
    if not model.keeps_effects:
        raise NotApplicable("this model does not keep draws of the group effects: set keep_effects=True.")
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
        if one.related is not None:
            standard = one.related.root @ standard
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
