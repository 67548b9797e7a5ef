"""The page itself: a template in which everything is escaped, under a policy that lets no other script run."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from importlib.resources import files
from typing import Any

from .contents import Contents

GENERATOR = '<meta name="generator" content="tunamh report">'
"""By which an older report is known, so that it may be replaced."""

_LONG = 34  # characters of a label in a picture


def rendered(contents: Contents) -> str:
    return (
        _template()
        .render(page=contents, style=_text("style.css"), script=_text("script.js"), policy=_policy())
        .lstrip()
    )


@cache
def _template() -> Any:
    from jinja2 import Environment, StrictUndefined
    from markupsafe import Markup

    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.filters["short"] = short
    environment.filters["ends"] = ends
    environment.filters["minus"] = lambda number: str(number).replace("-", "\N{MINUS SIGN}")
    environment.globals.update(generator=Markup(GENERATOR), safe=Markup)
    return environment.from_string(_text("page.html"))


def short(label: str) -> str:
    """Return a long name shortened in the middle. More of its end is kept, because the end says more."""
    return label if len(label) <= _LONG else f"{label[:12]}…{label[-(_LONG - 13) :]}"


def ends(label: str) -> tuple[str, str]:
    """Return the name of a column, and what follows it, such as a level.

    If there is little room, only the name is cut.
    """
    at = label.rfind(": ") if ": " in label else label.find("[") if label.endswith("]") else -1
    return (label[:at], label[at:]) if at > 0 else (label, "")


def _policy() -> str:
    """No network, and no script but the page's own, by its hash."""
    digest = base64.b64encode(hashlib.sha256(_text("script.js").encode()).digest()).decode()
    only = "default-src 'none'; base-uri 'none'; form-action 'none'; style-src 'unsafe-inline'"
    return f"{only}; script-src 'sha256-{digest}'"


@cache
def _text(name: str) -> str:
    return files(__package__).joinpath(name).read_text(encoding="utf-8")
