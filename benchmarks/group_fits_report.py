"""The tables of `group_fits.py`: seconds, estimates beside the peers', and where peers are ahead."""

from __future__ import annotations

import numpy as np

from common import number
from group_fits_data import ENTRIES

COLUMNS = [
    "model",
    "rows, groups of each factor",
    "set-up, s",
    "milliseconds per sweep",
    "effective draws per sweep",
    "effective draws per sweep of effects: worst, median",
    "**1,000 effective draws, s**",
    "glmer, s",
    "glmmTMB, s",
    "NUTS, s",
]
CHECKS = [
    "model",
    "glmer: worst coefficient, sd",
    "glmer: scales",
    "glmmTMB: worst coefficient, sd",
    "glmmTMB: scales",
    "NUTS: means, errors",
    "NUTS: standard deviations, errors",
]


def best_nuts(found: dict) -> tuple[str, dict] | None:
    ran = {name: one for name, one in found.get("nuts", {}).items() if one.get("status") == "ok"}
    return min(ran.items(), key=lambda item: item[1]["seconds_to_1000"]) if ran else None


def _fit_cell(found: dict, peers: tuple[str, ...]) -> str:
    for peer in peers:
        if peer in found.get("fits", {}):
            fit = found["fits"][peer]
            what = {"ordinal": " (clmm)"}.get(peer, "")
            return number(fit["seconds"]) + what if fit["status"] == "ok" else fit["status"][:60] + what
    return "-"


def _nuts_cell(found: dict) -> str:
    best = best_nuts(found)
    if best is None:
        return next((one["status"][:60] for one in found.get("nuts", {}).values() if "status" in one), "-")
    form, one = best
    few = "*" if one["min_ess_common"] < 50 else ""
    return f"{number(one['seconds_to_1000'])}{few} ({form}{', ' + one['date'] if 'date' in one else ''})"


def cells(name: str, found: dict) -> list[str]:
    ours = found["tunamh"]
    if ours["status"] != "ok":
        return [ENTRIES[name].title, ours["status"][:60], *[""] * (len(COLUMNS) - 2)]
    effects = [ours.get(f"effects_{which}_ess_per_sweep") for which in ("min", "median")]
    return [
        ENTRIES[name].title,
        f"{ours['rows']:,}, {' x '.join(f'{g:,}' for g in ours['groups'])}",
        number(ours["setup_seconds"]),
        number(1000 * ours["sweep_seconds"]),
        f"{ours['ess_per_sweep']:.2g}",
        "-" if effects[0] is None else ", ".join(f"{value:.2g}" for value in effects),
        f"**{number(ours['seconds_to_1000'])}**",
        _fit_cell(found, ("lme4", "ordinal")),
        _fit_cell(found, ("glmmTMB",)),
        _nuts_cell(found),
    ]


def beside_fit(ours: dict, fit: dict) -> tuple[float, np.ndarray, np.ndarray]:
    """How far a point fit is from our means: the worst coefficient, scales in per cent, log scales.

    Coefficients and log scales in posterior standard deviations.
    """
    d, factors = ours["columns"], len(ours["groups"])
    mean, sd = np.array(ours["mean"]), np.array(ours["sd"])
    away = (np.atleast_1d(fit["coefficients"]) - mean[:d]) / sd[:d]
    log_scales = np.log(np.maximum(np.atleast_1d(fit["scales"]), 1e-300)) - mean[d : d + factors]
    return float(np.abs(away).max()), 100 * np.expm1(log_scales), log_scales / sd[d : d + factors]


def check_cells(name: str, found: dict) -> list[str]:
    """By how much point fits differ from our means (`beside_fit`), and the largest z of NUTS: common, effects."""
    row = [ENTRIES[name].title]
    for peers in (("lme4", "ordinal"), ("glmmTMB",)):
        fit = next((fit for peer in peers if (fit := found.get("fits", {}).get(peer))), {"status": "-"})
        if fit["status"] != "ok" or found["tunamh"]["status"] != "ok":
            row += ["-", "-"]
            continue
        away, percent, log_scales = beside_fit(found["tunamh"], fit)
        shares = (f"{share:+.1f} % ({far:+.1f})" for share, far in zip(percent, log_scales, strict=True))
        row += [f"{away:.2f}", ", ".join(shares)]
    z = found.get("nuts", {}).get("z")
    return row + (
        [f"{z[what]['common']:.1f}, {z[what]['effects']:.1f}" for what in ("mean", "sd")] if z else ["-", "-"]
    )


def losses(report: dict) -> list[str]:
    """Where a point fit is faster than our 1,000 effective draws, NUTS less than ten times slower, or mixing is bad."""
    found = []
    for name, one in report["problems"].items():
        ours = one["tunamh"]
        if ours["status"] != "ok":
            found.append(f"{name}: {ours['status']}")
            continue
        for peer, fit in one.get("fits", {}).items():
            if fit["status"] == "ok" and fit["seconds"] < ours["seconds_to_1000"]:
                found.append(f"{name}: {peer} {number(fit['seconds'])} s, ours {number(ours['seconds_to_1000'])} s")
        best = best_nuts(one)
        if best and best[1]["seconds_to_1000"] < 10 * ours["seconds_to_1000"]:
            ratio = best[1]["seconds_to_1000"] / ours["seconds_to_1000"]
            found.append(f"{name}: {number(ratio)} times as fast as NUTS")
        if ours["ess_per_sweep"] < 0.02:
            found.append(f"{name}: {ours['ess_per_sweep']:.2g} effective draws of {ours['worst']} per sweep")
    return found
