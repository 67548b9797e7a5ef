"""The scales of a prior that is Gaussian given them, drawn anew given the coefficients; no row is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import NotApplicable
from .kernel import Kernel, ReadyKernel


@dataclass(frozen=True)
class GibbsScales(Kernel):
    """Scales of a horseshoe, a grouped prior and the like, by their law given the coefficients (spec 5o).

    `sample` takes it in turn with coefficients given the scales: ``InTurn(GibbsScales(), MetropolisHastings(...))``.
    """

    def bind(self, target: Any) -> ReadyKernel:
        mixture = target.mixture
        if mixture is None:
            raise NotApplicable("the state of this target contains no scales of a prior: leave kernel= out.")
        return ReadyKernel(mixture.draw_scales, hyper=mixture.hyper)
