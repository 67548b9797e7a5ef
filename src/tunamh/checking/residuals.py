"""Scores of rows under draws of the posterior, block by block of rows: their means, and what the model says of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from ..errors import NotApplicable
from ..prediction.fitted import Fitted
from ..prediction.new_rows import Chunk, NewRowExtras, NewRows
from ..prediction.predictions import Predictor
from ..prediction.times import Seen
from ..targets.families.responses import ResponseDistribution
from ..targets.families.user_responses import UserResponses
from .quantiles import means_over_draws, of_quantiles
from .some_rows import SomeRows
from .statistics import Moments
from .under_draws import UnderDraws, draws_kept, under_draws

_ROWS_AT_ONCE = 2000


@dataclass(frozen=True, eq=False)
class Residuals:
    """Scores and residuals of the rows that are checked.

    ``location`` are the scores of the mean, with classes one for each class. ``shape`` are the scores of quantile
    residuals (`tunamh.checking.scores`); it is None for labels, classes, and own families without the needed functions.
    ``residual`` is the randomised quantile residual; for labels and classes it is the response minus its probability.
    ``learned`` has the scores of ``location`` draw by draw, with the positions of rows along the linear predictor (for
    labels and classes along the probability). ``shape_learned`` is the same for quantile residuals, along the linear
    predictor.
    """

    rows: SomeRows
    observed: np.ndarray
    predictor: np.ndarray
    mean: np.ndarray
    location: list[Moments]
    learned: list[UnderDraws]
    residual: np.ndarray
    shape: list[Moments] | None = None
    shape_learned: UnderDraws | None = None
    pearson: np.ndarray | None = None
    zero: Moments | None = None
    drawn: np.ndarray | None = None
    trials: np.ndarray | None = None
    levels: tuple[tuple[str, np.ndarray, tuple[str, ...]], ...] = ()

    @property
    def n(self) -> int:
        return len(self.observed)


def residuals_of(fitted: Fitted, rows: SomeRows, rng: np.random.Generator) -> Residuals:
    """Compute the scores and residuals of some rows in one pass over them."""
    new = NewRows(fitted, rows.table, NewRowExtras(), with_response=True)
    predictor = Predictor(fitted, "error", rng)
    reader = _reader(fitted)
    kept = draws_kept(len(fitted.picked), rows.table.n_rows)
    parts, groups = [], []
    for chunk in new.chunks(min(predictor.rows_at_once, _ROWS_AT_ONCE)):
        which = slice(chunk.first, chunk.first + chunk.n_rows)
        parts.append(reader(Asked(fitted, predictor, kept, rng), chunk, rows.seen.part(which)))
        groups.append(chunk.groups)
    found = {name: _joined([part[name] for part in parts]) for name in parts[0]}
    return Residuals(rows, **found, levels=_levels(fitted, groups))


def _joined(parts: list[Any]) -> Any:
    first = parts[0]
    if first is None:
        return None
    if isinstance(first, tuple):  # of Moments, of UnderDraws
        return type(first)(*(_joined(list(own)) for own in zip(*parts, strict=True)))
    if isinstance(first, list):
        return [_joined(list(own)) for own in zip(*parts, strict=True)]
    return np.concatenate(parts, axis=-1)


def _levels(fitted: Fitted, groups: list[Any]) -> tuple[tuple[str, np.ndarray, tuple[str, ...]], ...]:
    """Codes and names of the groups of every row, by factor."""
    sides = () if fitted.formula is None else fitted.formula.groups
    found: dict[str, tuple[np.ndarray, tuple[str, ...]]] = {}
    for k, side in enumerate(sides):
        names = np.concatenate([np.asarray(part[k][0].levels)[part[k][0].codes] for part in groups])
        levels, codes = np.unique(names, return_inverse=True)
        found.setdefault(":".join(map(str, side.by)), (codes, tuple(map(str, levels))))
    return tuple((name, *own) for name, own in found.items())


# --------------------------------------------------------------------------------------------- by kind of response


class Asked(NamedTuple):
    """What is the same for all chunks of rows. ``kept`` are the draws that are examined one by one."""

    fitted: Fitted
    predictor: Predictor
    kept: np.ndarray
    rng: np.random.Generator


def _reader(fitted: Fitted) -> Any:
    family = fitted.family
    if family is not None and family.of_labels:
        return _labels
    if family is not None and family.of_classes:
        return _classes
    own = _responses(fitted)
    if isinstance(own, UserResponses) and not own.draws_responses:
        return _means
    return _quantiles


def _responses(fitted: Fitted) -> ResponseDistribution:
    found = None if fitted.family is None else fitted.family.response_distribution()
    if found is not None:
        return found
    text = fitted.about["family"].get("text", "the family")
    raise NotApplicable(
        f"{text} is your own likelihood, and a result does not contain its code: pass the family again, family=... "
        "It can be checked if it has draw= (all checks) or mean= (trends): tunamh.family(energy, draw=..., "
        "mean=...)."
    )


def _bernoulli(seen: np.ndarray, p: np.ndarray, n: Any = 1.0) -> Moments:
    """By draw."""
    variance = n * p * (1 - p)
    return Moments(seen - n * p, variance, variance * (1 - 2 * p))


def _labels(asked: Asked, chunk: Chunk, seen: Seen) -> dict[str, Any]:
    """What was seen minus its expectation; with trials also quantile residuals, whose spread is free."""
    fitted, predictor, kept, rng = asked
    eta, p = predictor.linear(chunk), predictor.parameters(chunk)
    probability, y = fitted.responses.mean(eta, p), _of(chunk)
    n = np.broadcast_to(np.asarray(p.get("trials", 1.0), dtype=np.float64), y.shape)
    location = means_over_draws(*_bernoulli(y, probability, n))
    several = chunk.trials is not None or float(n.max()) > 1
    more = of_quantiles(fitted, eta, p, y, seen, kept, rng) if several else {}
    return {
        "observed": y,
        "predictor": eta.mean(axis=0),
        "mean": probability.mean(axis=0),
        "location": [location],
        "learned": [under_draws(probability[kept], _bernoulli(y, probability[kept], n))],
        "residual": more.get("residual", location.score / n),
        "shape": more.get("shape"),
        "shape_learned": more.get("shape_learned"),
        "pearson": more.get("pearson"),
        "trials": n,
    }


def _classes(asked: Asked, chunk: Chunk, seen: Seen) -> dict[str, Any]:
    """Every class against all others."""
    fitted, predictor, kept, _ = asked
    eta, p = predictor.linear(chunk), predictor.parameters(chunk)
    probabilities, y = fitted.responses.mean(eta, p), _of(chunk)
    count = probabilities.shape[-1]
    seen_as = np.take_along_axis(probabilities.mean(axis=0), y.astype(np.int64)[:, None], axis=-1)[:, 0]
    linear = eta.mean(axis=0)
    return {
        "observed": y,
        "predictor": linear if linear.ndim == 1 else linear.T,
        "mean": probabilities.mean(axis=0).T,
        "location": [means_over_draws(*_bernoulli(y == k, probabilities[..., k])) for k in range(count)],
        "learned": [
            under_draws(own, _bernoulli(y == k, own)) for k, own in enumerate(np.moveaxis(probabilities[kept], -1, 0))
        ],
        "residual": 1 - seen_as,
    }


def _means(asked: Asked, chunk: Chunk, seen: Seen) -> dict[str, Any]:
    """An own family without ``draw=``: what was seen minus its mean, with the variance that is seen."""
    fitted, predictor, kept, _ = asked
    eta, p = predictor.linear(chunk), predictor.parameters(chunk)
    try:
        mean, y = _responses(fitted).mean(eta, p), _of(chunk)
    except NotApplicable:
        raise NotApplicable(
            "an energy alone does not say which responses to expect, so the fit cannot be checked. Pass a "
            "function to tunamh.family(energy, draw=..., mean=...): draw(rng, eta) for all checks, or mean(eta) "
            "for trends only. tunamh.influence needs neither."
        ) from None
    each = np.broadcast_to(y - mean, eta.shape)
    off = each.mean(axis=0)
    return {
        "observed": y,
        "predictor": eta.mean(axis=0),
        "mean": mean.mean(axis=0),
        "location": [_seen_moments(off)],
        "learned": [under_draws(eta[kept], _seen_moments(each[kept]))],
        "residual": off,
    }


def _seen_moments(off: np.ndarray) -> Moments:
    return Moments(off, np.maximum(np.square(off), 1e-300), np.zeros_like(off))


def _quantiles(asked: Asked, chunk: Chunk, seen: Seen) -> dict[str, Any]:
    fitted, predictor, kept, rng = asked
    eta, p, y = predictor.linear(chunk), predictor.parameters(chunk), _of(chunk)
    found = of_quantiles(fitted, eta, p, y, seen, kept, rng)
    found["location"], found["learned"] = [found.pop("own")], [found["shape_learned"]]
    try:
        mean = fitted.responses.mean(eta, p)
    except NotApplicable:  # an own family with draw= alone
        mean = eta
    with np.errstate(invalid="ignore", over="ignore"):
        mean = np.mean(mean, axis=0)
    zero = None
    if fitted.responses.discrete:
        zero = means_over_draws(*_bernoulli(y == 0, np.exp(fitted.responses.log_density(np.zeros_like(y), eta, p))))
    return {"observed": y, "predictor": eta.mean(axis=0), "mean": mean, "zero": zero, **found}


def _of(chunk: Chunk) -> np.ndarray:
    assert chunk.y is not None, "rows were asked for with their responses"
    return chunk.y
