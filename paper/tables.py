"""Tables of the page, by experiment: numbers behind the figures, and those the paper gives in words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from .claims import number


class Table(NamedTuple):
    caption: str
    header: list[str]
    rows: list[list[str]]


def percent(share: float | None) -> str:
    return "" if share is None else f"{share:.0%}"


def regression(caption: str, methods: dict[str, Any]) -> Table:
    header = [
        "method",
        "step size",
        "acceptance rate",
        "rows per step",
        "bright rows",
        "share of steps on all rows",
        "µs per step",
    ]
    header += ["ESS per second, ArviZ", "ESS per second, by the length of moves"]
    rows = [
        [
            name,
            f"{m['step_size']:.2g}",
            f"{m['acceptance']:.3f}",
            number(m["batch"], 4),
            "" if m["bright"] is None else number(m["bright"]),
            percent(m["full_share"]),
            number(m["microseconds_per_step"]),
            number(m["ess_per_second"]) + (" (few)" if m["few"] else ""),
            "" if m["ess_per_second_by_jumps"] is None else number(m["ess_per_second_by_jumps"]),
        ]
        for name, m in methods.items()
    ]
    return Table(caption, header, rows)


def figure_1(result: dict[str, Any]) -> list[Table]:
    walk = result["walk"]
    header = [
        "method",
        "probability to accept a move up",
        "a move down",
        "their ratio (exact: 1)",
        "rows per move",
        *(f"TV, K = {K}" for K in walk["states"]),
    ]
    rows = [
        [
            name,
            f"{m['accept_up']:.5f}",
            f"{m['accept_down']:.5f}",
            f"{m['ratio']:.5f}",
            number(m["rows_per_move"], 4),
            *(f"{tv:.3f}" for tv in m["tv"].values()),
        ]
        for name, m in walk["methods"].items()
    ]
    return [Table("Random walk: exact probabilities, as sums over all batches", header, rows)]


def figure_2(result: dict[str, Any]) -> list[Table]:
    tables = []
    for key, words in (("published", "the paper's step sizes"), ("tuned", "steps tuned to 0.25 acceptance")):
        for N, methods in result[key].items():
            tables.append(regression(f"N = {int(N):,}, d = 100, {words}", methods))
    return tables


def figure_3(result: dict[str, Any]) -> list[Table]:
    header = ["method", "step size", "acceptance rate", "rows per step", "bright rows", "µs per step"]
    header += ["symmetric KL after 1 s", "symmetric KL at the end"]
    rows = []
    for name, m in result["methods"].items():
        run, after = m["runs"][0], m["after_one_second"]
        bright = "" if run["bright"] is None else number(run["bright"])
        rows.append(
            [
                name,
                f"{run['step_size']:.2g}",
                f"{run['acceptance']:.3f}",
                number(run["batch"], 4),
                bright,
                number(run["microseconds_per_step"]),
                number(after["kl"]),
                number(m["curves"][0]["kl"][-1]),
            ]
        )
    return [Table(f"Mixture, first run of {result['seconds']:g} seconds", header, rows)]


def figure_4(result: dict[str, Any]) -> list[Table]:
    header = [
        "method",
        "step size",
        "acceptance rate",
        "rows per step",
        "µs per step",
        "seconds to an accuracy of 0.94",
        "iterations to an accuracy of 0.94",
        "accuracy at the end",
    ]
    groups = {"methods": "{}", "dial": "TunaMH, χ = {}", "dial_same_step": "TunaMH, χ = {}, step size 1e-3"}
    rows = []
    for group, words in groups.items():
        for name, m in result[group].items():
            run = m["runs"][0]
            rows.append(
                [
                    words.format(name),
                    f"{run['step_size']:.2g}",
                    f"{run['acceptance']:.3f}",
                    number(run["batch"], 5),
                    number(run["microseconds_per_step"]),
                    number(m["seconds_to_accuracy"], 2),
                    number(m["iterations_to_accuracy"]),
                    f"{m['curves'][0]['accuracy'][-1]:.4f}",
                ]
            )
    return [Table("MNIST; iterations and seconds are means over runs, the rest is of the first run", header, rows)]


def table_1(result: dict[str, Any]) -> list[Table]:
    header = ["task", "method", "batch size, paper", "batch size, ours", "steps"]
    header += ["rows evaluated per step", "acceptance rate", "batch size in equilibrium"]
    rows = []
    for task in ("mixture", "MNIST"):
        for name, m in result[task].items():
            stationary = number(m["stationary"]) if "stationary" in m else ""
            if "stationary_paper_bounds" in m:
                stationary += f" ({number(m['stationary_paper_bounds'])} with the paper's bound)"
            rows.append(
                [
                    task,
                    name,
                    f"{m['paper']:,.2f} ± {m['paper_error']:g}",
                    f"{m['ours']:,.2f} ± {m['error']:.2g}",
                    f"{m['steps']:,}",
                    number(m["evaluated"], 5),
                    f"{m['acceptance']:.2f}",
                    stationary,
                ]
            )
    return [Table(f"Average batch sizes, {result['runs']} runs; FlyMC's are bright rows", header, rows)]


def appendix(result: dict[str, Any]) -> list[Table]:
    low, austere = result["low"], result["austere"]
    header = [
        "method",
        "distance of the mean draw to the truth",
        "distance of the mean draw to the mode",
        "variance of the draws / posterior variance",
        "rows per step",
        "acceptance",
    ]
    rows = [
        [
            name,
            number(m["error"]),
            number(m["from_mode"]),
            number(m["posterior_variance_ratio"]),
            number(m["batch"], 4),
            f"{m['acceptance']:.3f}",
        ]
        for name, m in austere["methods"].items()
    ]
    caption = f"AustereMH on N = 5,000, d = 100: {austere['draws']:,} draws after {austere['burn']:,} steps from 0"
    return [
        regression(f"N = {low['rows']:,}, d = 10, steps tuned to 0.25 acceptance", low["methods"]),
        Table(caption, header, rows),
    ]


def theory(result: dict[str, Any]) -> list[Table]:
    gaps = result["gaps"]
    rows = [
        [f"{chi:g}", f"{paper:.3g}", f"{sharper:.3f}", f"{worst:.3f}", f"{min(measured):.3f}"]
        for chi, paper, sharper, worst, measured in zip(
            *(gaps[k] for k in ("chi", "paper", "sharper", "worst", "measured")), strict=True
        )
    ]
    header = ["χ", "guarantee of the paper (theorem 1)", "guarantee of docs/spec.md (theorem C)"]
    header += ["exact worst case, two kinds of rows", "smallest ratio in random problems"]
    return [Table("Spectral gap of TunaMH, divided by that of MH", header, rows)]


TABLES: dict[str, Callable[[dict[str, Any]], list[Table]]] = {
    "figure-1": figure_1,
    "figure-2": figure_2,
    "figure-3": figure_3,
    "figure-4": figure_4,
    "table-1": table_1,
    "appendix": appendix,
    "theory": theory,
}
