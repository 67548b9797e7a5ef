"""The proposal beside a test whose decision makes the moves: a sweep over groups, a trajectory."""

from __future__ import annotations

from typing import Any

from ..compiled import Propose, fixed, part
from ..compiled.vector import copy_into
from .base import ReadyProposal


@part(Propose)
def _stay(rng, here, there, knobs):
    copy_into(there, here)
    return 0.0


class Staying:
    """Proposes where the chain is."""

    def bind(self, target: Any) -> ReadyProposal:
        return ReadyProposal(_stay, fixed([1.0]), False, 0.0)
