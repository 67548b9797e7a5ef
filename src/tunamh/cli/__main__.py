"""``python -m tunamh.cli`` is the command ``tunamh``."""

from . import app

app(prog_name="tunamh")
