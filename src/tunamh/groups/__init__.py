"""Group effects: rows in groups, each with effects of its own, and the sweep that samples them."""

from .grouping import GroupEffects
from .model import MixedModel

__all__ = ["GroupEffects", "MixedModel"]
