"""The command ``tunamh``: thin over the API."""

from . import sample as sampling, check as checking, results, compare, compile as compiling, paper  # noqa: F401, I001  the order in which help lists commands
from .app import app

__all__ = ["app"]
