"""What experiments, demo and benchmarks share: whose machine it was, JSON files, and figures that need no display."""

from __future__ import annotations

import json
import platform
from pathlib import Path
from typing import Any


def processor() -> str:
    """Return the name of the processor if the system tells it."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def write_json(path: Path, content: dict[str, Any]) -> None:
    """Write a JSON file under another name and rename it. So after a crash the file is the old or the new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    beside = path.with_suffix(".part")
    beside.write_text(json.dumps(content, indent=1) + "\n")
    beside.replace(path)


def new_figure(width: float, height: float) -> Any:
    """Return a figure that needs no display."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(figure)
    return figure
