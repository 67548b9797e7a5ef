"""The draws of a result as states of a model with unknown scales."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..errors import NotApplicable
from ..groups import MixedModel
from ..results.layout import layout_of
from .given_scales import refuse_too_many
from .joint import Joint, State

MOST_ROWS = 500_000


def refuse_groups(target: MixedModel) -> None:
    """Raise an error for models whose results have no draws of effects, and for models that are too large."""
    if target.n_rows > MOST_ROWS:
        raise NotApplicable(
            f"the evidence of models with group effects is offered up to {MOST_ROWS:,} rows, since every proposal "
            "reads all of them. tunamh.compare says which of these models predicts better."
        )
    refuse_too_many(target.groupings, target.p)
    if not target.keeps_effects:
        raise NotApplicable(
            f"the evidence needs the draws of all group effects, and this model with {target.effects:,} effects does "
            "not keep them: make it with keep_effects=True if there is memory for them. tunamh.compare does not need "
            "them."
        )


def states_of(target: Any, result: Any) -> list[list[State]]:
    """Return the draws of a result as states, chain by chain."""
    joint = Joint(target)
    variables = list(target.variables) if isinstance(target, MixedModel) else [*target.variables, *_scales_of(joint)]
    try:
        natural = layout_of(target, variables).flat(result["posterior"])
    except KeyError as missing:
        raise NotApplicable(
            f"the result does not contain {missing.args[0]}, which the evidence needs: give the result of "
            "tunamh.sample(target) itself."
        ) from None
    return [[joint.state(_walked(target, joint, point)) for point in chain] for chain in natural]


def _walked(target: Any, joint: Joint, point: np.ndarray) -> np.ndarray:
    """What a chain walks, with the logarithms of the variances of the prior."""
    if isinstance(target, MixedModel):
        return np.asarray(target.to_chain(point))
    common, scales = np.split(point, [joint.rows.p])
    variances = np.zeros(len(joint.scales.kept))
    variances[joint.scales.kept] = 2 * np.log(scales)
    return np.concatenate([target.to_chain(common), variances])


def _scales_of(joint: Joint) -> list[tuple[str, list[str] | None]]:
    """The variables of a result that hold the scales of a prior."""
    mixture, mixed = joint.base._prior.mixture, joint.scales.mixed
    found = []
    for name, labels in mixture.variables:
        kept = labels
        if labels is not None and joint.scales.local:
            kept = [label for label, own in zip(labels, mixed, strict=True) if own]
        found.append((name, None if kept is None else list(kept)))
    return found
