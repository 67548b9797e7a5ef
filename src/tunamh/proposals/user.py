"""A user's own compiled function as a proposal, and what else `sample` takes for one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numba.core.dispatcher import Dispatcher

from .._arguments import shown
from ..compiled import Part, Propose, compile_now, fixed, part, read_only
from ..compiled.user_functions import audit, kept, refuse_uncompiled
from .base import Proposal, ReadyProposal, Space


@dataclass(frozen=True)
class UserProposal(Proposal):
    """A proposal from your own compiled function.

    Parameters
    ----------
    function : ``@numba.njit`` function ``propose(rng, theta, prop) -> float``
        It draws random numbers from ``rng`` (a NumPy Generator) and writes the proposed parameters into ``prop``, which
        is a copy of ``theta`` at first. It returns the logarithm of the Hastings factor, ``log q(theta | prop) - log
        q(prop | theta)``. For a symmetric proposal this is 0.0.
    """

    function: Callable

    def bind(self, space: Space) -> ReadyProposal:
        refuse_uncompiled(self.function, "propose")
        propose = kept(self.function, "propose", lambda: _users_propose(self.function))
        audit(self.function, "propose", space.dim, proposal=True)
        return ReadyProposal(propose, fixed([1.0]), False, 0.25)


def _users_propose(function: Callable) -> Part:
    """``prop`` begins as ``theta``: what the user does not write would else be the proposal before."""

    @part(Propose, cache=False)
    def propose(rng, theta, prop, knobs):
        prop[:] = theta
        try:
            return float(function(rng, read_only(theta), prop))
        except Exception:
            return np.nan

    return compile_now(propose, "propose(rng, theta, prop)")


def as_proposal(proposal: Any) -> Any:
    """Return ``proposal`` as a proposal object; a compiled function becomes a `UserProposal`.

    Raises TypeError for anything else that is not a proposal.
    """
    if isinstance(proposal, Dispatcher):
        return UserProposal(proposal)
    if isinstance(proposal, type):
        raise TypeError(f"proposal is the class {proposal.__name__}: give a value, such as {proposal.__name__}().")
    if hasattr(proposal, "exact"):
        raise TypeError(f"proposal is {shown(proposal)}, which is an acceptance test: pass it as test= instead.")
    if isinstance(proposal, Proposal):
        return proposal
    if callable(proposal):
        raise TypeError("proposal is a plain Python function: compile it first with @numba.njit.")
    known = "RandomWalk(...), Autoregressive(...), NeighbourWalk() or an @numba.njit function"
    raise TypeError(f"proposal must be {known}, got {shown(proposal)}.")
