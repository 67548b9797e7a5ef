"""Proposals: the distribution ``q(there | here)`` from which a step draws its next state.

A proposal also returns the logarithm of its Hastings factor, ``log q(here | there) - log q(there | here)``.
"""

from .autoregressive import Autoregressive
from .base import OPTIMAL_WALK, Proposal, ReadyProposal, Space
from .independent import IndependentGaussian
from .user import UserProposal, as_proposal
from .walks import NeighbourWalk, RandomWalk

__all__ = [
    "OPTIMAL_WALK",
    "Autoregressive",
    "IndependentGaussian",
    "NeighbourWalk",
    "Proposal",
    "RandomWalk",
    "ReadyProposal",
    "Space",
    "UserProposal",
    "as_proposal",
]
