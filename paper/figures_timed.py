"""The figures of the timed comparisons: 2 (robust regression), 3 (mixture) and 4 (MNIST)."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import settings
from .figures import COLOURS, Pictures, new

WITHOUT_MAP = ("MH", "TFMH", "FlyMC", "TunaMH")
WITH_MAP = ("MH", "SMH-1", "SMH-2", "FlyMC-MAP", "TunaMH-MAP")
TUNED_WITHOUT_MAP = ("MH", "TFMH", "FlyMC", "TunaMH", "TunaMH, chi tuned", "sample(target)")
TUNED_WITH_MAP = ("MH", "SMH-1", "SMH-2", "SMH-1, sharp", "SMH-2, sharp", "FlyMC-MAP", "TunaMH", "sample(target)")


def bars(axis: Any, result: dict[str, Any], names: tuple[str, ...], what: str) -> None:
    """Groups of bars by number of rows; hatched where a run had too few effective draws to tell."""
    rows, width = list(result), 0.8 / len(names)
    for k, name in enumerate(names):
        methods = [result[N].get(name) for N in rows]
        values = [np.nan if m is None or m[what] is None else m[what] for m in methods]
        x = np.arange(len(rows)) + (k - (len(names) - 1) / 2) * width
        drawn = axis.bar(x, values, width * 0.92, color=COLOURS[name], label=name.replace("chi", "χ"), zorder=3)
        for patch, method in zip(drawn, methods, strict=True):
            if what == "best" and method is not None and method["few"]:
                patch.set(hatch="////", edgecolor="white")
    axis.set_xticks(range(len(rows)), [f"N = {int(N):,}" for N in rows])
    axis.set_yscale("log")
    axis.set_ylabel("effective draws per second" if what == "best" else "rows evaluated per step")
    axis.legend(frameon=False, fontsize=7, ncol=3, loc="lower center", bbox_to_anchor=(0.5, 1.0))


def figure_2(result: dict[str, Any]) -> Pictures:
    pictures = {}
    groups = {
        "published": (WITHOUT_MAP, WITH_MAP, "the paper's step sizes"),
        "tuned": (TUNED_WITHOUT_MAP, TUNED_WITH_MAP, "step sizes tuned at stationarity"),
    }
    for key, (without, with_map, title) in groups.items():
        figure, axes = new(2, 2, width=5.6, height=3.7)
        panels = [(without, "best"), (without, "batch"), (with_map, "best"), (with_map, "batch")]
        for letter, axis, (names, what) in zip("abcd", axes, panels, strict=True):
            bars(axis, result[key], names, what)
            axis.text(-0.08, 1.06, f"({letter})", transform=axis.transAxes, fontweight="bold")
        figure.suptitle(f"Robust regression, d = 100, {title}; hatched: too few effective draws to tell", fontsize=10)
        pictures[f"figure-2-{key}"] = figure
    return pictures


def kl_curves(result: dict[str, Any]) -> Any:
    figure, axes = new(2, width=5.4, height=4.0)
    panels = zip(axes, ("kl", "tv"), ("symmetric KL", "total variation"), strict=True)
    for axis, what, label in panels:
        for name, method in result["methods"].items():
            for k, curve in enumerate(method["curves"]):
                style = {"color": COLOURS[name], "linewidth": 1.6, "alpha": 0.85}
                axis.plot(curve["seconds"], curve[what], label=name if k == 0 else None, **style)
        axis.axvline(settings.SHORT_SECONDS, color="#999999", linestyle=":", linewidth=1)
        axis.set(xscale="log", yscale="log", xlabel="seconds", ylabel=f"{label} to the true density")
    axes[0].legend(frameon=False, fontsize=8, ncol=2)
    return figure


def one_second(result: dict[str, Any]) -> Any:
    """The true density, and that of every method's draws after one second."""
    panels = [("true density", np.array(result["truth"]))]
    for name, method in result["methods"].items():
        after = method["after_one_second"]
        panels.append((f"{name}: {after['steps']:,} steps, KL {after['kl']:.2g}", np.array(after["density"])))
    figure, axes = new(4, 2, width=3.0, height=2.9, sharex=True, sharey=True)
    (low1, high1), (low2, high2) = result["range"]
    for axis, (title, density) in zip(axes, panels, strict=True):
        axis.grid(visible=False)
        axis.imshow(
            np.where(density > 0.001 * panels[0][1].max(), density, np.nan).T,  # white where there is nothing
            origin="lower",
            extent=(low1, high1, low2, high2),
            aspect="auto",
            cmap="magma_r",
            vmin=0,
            vmax=panels[0][1].max(),
        )
        axis.set_title(title, fontsize=9)
    for axis in axes[4:]:
        axis.set_xlabel("θ₁")
    for axis in axes[::4]:
        axis.set_ylabel("θ₂")
    return figure


def figure_3(result: dict[str, Any]) -> Pictures:
    return {"figure-3a": kl_curves(result), "figure-3-densities": one_second(result)}


def figure_4(result: dict[str, Any]) -> Pictures:
    from matplotlib import colormaps

    figure, axes = new(3, width=4.4, height=3.8)

    def lines(axis: Any, method: dict[str, Any], x: str, label: str, colour: Any, **style: Any) -> None:
        for k, curve in enumerate(method["curves"]):
            axis.plot(curve[x], curve["accuracy"], color=colour, label=label if k == 0 else None, alpha=0.8, **style)

    for name, method in result["methods"].items():
        lines(axes[0], method, "seconds", name, COLOURS[name])
    shades = colormaps["YlOrRd"](np.linspace(0.45, 0.95, len(result["dial"])))
    for axis, x in zip(axes[1:], ("iterations", "seconds"), strict=True):
        lines(axis, result["methods"]["MH"], x, "MH", COLOURS["MH"])
        for shade, (chi, method) in zip(shades, result["dial"].items(), strict=True):
            lines(axis, method, x, f"χ = {chi}", shade)
        for shade, (chi, method) in zip(shades, result["dial_same_step"].items(), strict=True):
            label = f"χ = {chi}, step 1e-3" if x == "iterations" else ""
            lines(axis, method, x, label, shade, linestyle=":", linewidth=1)
    for letter, axis, x in zip("abc", axes, ("seconds", "iterations", "seconds"), strict=True):
        axis.set(xscale="log", xlabel=x, ylabel="test accuracy of the running mean", ylim=(0.45, 0.97))
        axis.set_title(f"({letter})", loc="left", fontsize=10, fontweight="bold")
        axis.axhline(result["mode_accuracy"], color="#999999", linestyle=":", linewidth=1)
        axis.legend(frameon=False, fontsize=7.5, loc="lower right")
    return {"figure-4": figure}
