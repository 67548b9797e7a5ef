"""``python -m tunamh`` is the command ``tunamh``."""

from .cli import app

app(prog_name="tunamh")
