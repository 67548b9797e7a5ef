"""Where the chain may go next, and the Hastings factor ``log q(theta|prop) - log q(prop|theta)``."""

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
