"""The figures: one function per experiment, from its result to named pictures."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from tunamh.cli.demo.records import new_figure

from . import settings

Pictures = dict[str, Any]
"""Name of a file, without its ending: figure."""

COLOURS = {
    "MH": "#222222",
    "TunaMH": "#d1341f",
    "TunaMH-MAP": "#d1341f",
    "TunaMH, chi tuned": "#f08a5d",
    "TFMH": "#1f77b4",
    "FlyMC": "#2a9d5c",
    "FlyMC-MAP": "#8fd19e",
    "SMH-1": "#7b4ea3",
    "SMH-2": "#b58ad6",
    "SMH-1, sharp": "#5a6acf",
    "SMH-2, sharp": "#9aa7ee",
    "PoissonMH": "#b8860b",
    "AustereMH": "#1f77b4",
    "MHminibatch": "#2a9d5c",
    "sample(target)": "#e6b400",
}


def new(columns: int = 1, rows: int = 1, width: float = 5.0, height: float = 3.6, **shared: Any) -> tuple[Any, Any]:
    """A figure that needs no display, and its axes as a flat list."""
    figure = new_figure(columns * width, rows * height)
    axes = np.ravel(figure.subplots(rows, columns, **shared))
    for axis in axes:
        axis.spines[["top", "right"]].set_visible(False)
        axis.grid(alpha=0.25, linewidth=0.6)
    return figure, axes


def save(pictures: Pictures, folder: Path) -> list[str]:
    """As PNG to look at and SVG for the page."""
    for name, figure in pictures.items():
        figure.savefig(folder / f"{name}.png", dpi=110)
        figure.savefig(folder / f"{name}.svg")
    return list(pictures)


def densities(walk: dict[str, Any], states: list[str], columns: int) -> Any:
    """Exact laws of all methods, in units of the uniform law; simulated ones beside them where there are any."""
    figure, axes = new(columns, -(-len(states) // columns), width=5.2, height=3.4)
    for axis, K in zip(axes, states, strict=True):
        for name, method in walk["methods"].items():
            law = np.array(method["law"][K])
            x = np.linspace(0, int(K) - 1, len(law))
            label = f"{name}: TV {method['tv'][K]:.3f}, B {method['rows_per_move']:,.4g}"
            style = {"color": COLOURS[name], "linewidth": 1.8, "linestyle": "--" if name == "TunaMH" else "-"}
            axis.plot(x, law * int(K), label=label, zorder=3 + (name == "TunaMH"), **style)
            if K in method["simulated"]:
                cells = np.array_split(np.array(method["simulated"][K]["law"]) * int(K), 50)
                middle = (np.arange(50) + 0.5) * int(K) / 50
                axis.plot(middle, [c.mean() for c in cells], ".", color=COLOURS[name], alpha=0.55, markersize=5)
        axis.set(xlabel="state", ylabel="probability x K", title=f"K = {K}", ylim=(0, None))
        axis.legend(fontsize=7.5, frameon=False, loc="upper center")
        axis.set_ylim(0, axis.get_ylim()[1] * 1.35)
    return figure


def total_variation(walk: dict[str, Any]) -> Any:
    figure, (axis,) = new()
    for name, method in walk["methods"].items():
        if name == "MH":
            continue
        axis.plot(walk["states"], [method["tv"][str(K)] for K in walk["states"]], "o-", color=COLOURS[name], label=name)
    axis.set(xscale="log", xlabel="number of states K", ylabel="total variation to the target", ylim=(-0.03, 1))
    axis.set_xticks(walk["states"], [str(K) for K in walk["states"]])
    axis.minorticks_off()
    axis.legend(frameon=False)
    return figure


def acceptance(curve: dict[str, Any]) -> Any:
    from matplotlib import colormaps

    figure, (axis,) = new(width=6.2)
    shades = colormaps["YlOrRd"](np.linspace(0.35, 0.95, len(curve["methods"]) - 1))
    for k, (name, method) in enumerate(curve["methods"].items()):
        colour = COLOURS["TFMH"] if method["chi"] is None else shades[k - 1]
        axis.plot(curve["M"], method["closed_form"], color=colour, label=name.replace("TunaMH, chi", "TunaMH, χ"))
        axis.plot(curve["M"], method["simulated"], "o", color=colour, markersize=4)
    axis.axhline(1, color=COLOURS["MH"], linestyle=":", label="MH")
    axis.set(xscale="log", xlabel="M", ylabel="acceptance (lines: closed form, dots: run)", ylim=(-0.04, 1.05))
    axis.legend(frameon=False, fontsize=8, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure


def figure_1(result: dict[str, Any]) -> Pictures:
    return {
        "figure-1a": densities(result["walk"], [str(settings.WALK_STATES[0])], 1),
        "figure-1b": total_variation(result["walk"]),
        "figure-1c": acceptance(result["curve"]),
    }


def appendix(result: dict[str, Any]) -> Pictures:
    walk = result["walk"]
    return {"appendix-densities": densities(walk, [str(K) for K in walk["states"]], 2)}


def theory(result: dict[str, Any]) -> Pictures:
    gaps, scaling = result["gaps"], result["scaling"]
    figure, (left, right) = new(2)
    chi = gaps["chi"]
    for value, ratios in zip(chi, gaps["measured"], strict=True):
        left.plot([value] * len(ratios), ratios, ".", color="#888888", alpha=0.6, markersize=4)
    left.plot([], [], ".", color="#888888", label="random problems")
    left.plot(chi, gaps["worst"], "o-", color=COLOURS["TunaMH"], label="two opposite classes (worst found)")
    left.plot(chi, gaps["sharper"], "--", color=COLOURS["TFMH"], label="guarantee, theorem C")
    left.plot(chi, gaps["paper"], ":", color=COLOURS["MH"], label="guarantee, the paper's theorem 1")
    left.set(xscale="log", xlabel="χ", ylabel="spectral gap / that of MH", ylim=(-0.03, 1.05))
    left.legend(frameon=False, fontsize=8, ncol=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    names = {"0": "no control variate", "1": "Taylor order 1", "2": "Taylor order 2"}
    for (order, batch), colour in zip(scaling["batches"].items(), ("#d1341f", "#7b4ea3", "#1f77b4"), strict=True):
        slope = scaling["slopes"][order]
        right.plot(scaling["rows"], batch, "o-", color=colour, label=f"{names[order]}: slope {slope:+.2f}")
    right.set(xscale="log", yscale="log", xlabel="rows N", ylabel="mean batch C M")
    right.legend(frameon=False, fontsize=8, ncol=2, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return {"theory": figure}


def drawers() -> dict[str, Callable[[dict[str, Any]], Pictures]]:
    """By experiment."""
    from . import figures_timed as timed

    return {
        "figure-1": figure_1,
        "figure-2": timed.figure_2,
        "figure-3": timed.figure_3,
        "figure-4": timed.figure_4,
        "appendix": appendix,
        "theory": theory,
    }
