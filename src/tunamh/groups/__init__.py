"""Models with group effects, and the kernel that samples them."""

from .grouping import GroupEffects
from .model import MixedModel

__all__ = ["GroupEffects", "MixedModel"]
