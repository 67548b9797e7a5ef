"""Curves and surfaces of a formula, whichever a term asks for."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from .smooths import Smooth, begun
from .surfaces import Surface, begun_surface
from .syntax import Call

Term = Smooth | Surface


def begun_term(node: Call, ranges: Sequence[tuple[float, float]]) -> Term:
    """Return a curve or a surface that knows the ranges of its columns, and has learned nothing else yet."""
    return begun_surface(node, list(ranges)) if node.function == "te" else begun(node, *ranges[0])


def term_from_json(found: Mapping[str, Any], node: Call) -> Term:
    return Surface.from_json(found, node) if node.function == "te" else Smooth.from_json(found, node)
