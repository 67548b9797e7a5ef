"""The scales of a prior that is Gaussian given them, drawn anew given the coefficients; no row is read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from ..errors import NotApplicable
from .kernel import Kernel, ReadyKernel


@dataclass(frozen=True)
class GibbsScales(Kernel):
    """The kernel that draws the scales of a prior, such as the horseshoe, given the coefficients (spec 5o).

    It reads no rows. `sample` uses it in turn with a kernel for the coefficients: ``InTurn(GibbsScales(),
    MetropolisHastings(...))``.
    """

    def bind(self, target: Any) -> ReadyKernel:
        mixture = target.mixture
        if mixture is None:
            raise NotApplicable("the state of this target contains no scales of a prior: leave kernel= out.")
        return ReadyKernel(mixture.draw_scales, hyper=mixture.hyper)
