"""The tables, the goals and the picture of the comparison with peers, from what `peers.py` has measured.

python benchmarks/peers_report.py [benchmarks/results/peers.json]
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

from common import DOCS, RESULTS, number, print_table

FEW = 50  # effective draws, below which ESS itself is a guess


class Sampler(NamedTuple):
    """How a sampler is shown; ``colour`` is None for those that the picture leaves out.

    HMCECS samples a perturbed posterior. pymhss draws its rows once and cycles through them, so that it is not exact as
    coded, whatever its theory says.
    """

    label: str
    exact: str
    colour: str | None = None
    marker: str = "o"


SAMPLERS = {
    "tunamh": Sampler("tunamh", "yes", "#d62728", "o"),
    "numpyro": Sampler("NumPyro NUTS", "yes", "#1f77b4", "s"),
    "numpyro-dense": Sampler("NumPyro NUTS, dense metric", "yes"),
    "nutpie": Sampler("nutpie NUTS", "yes", "#2ca02c", "^"),
    "hmcecs": Sampler("NumPyro HMCECS", "no, approximate", "#9467bd", "D"),
    "pymhss": Sampler("pymhss MH-SS 2", "no, fixed pool of rows", "#7f7f7f", "v"),
}
NUTS = ("numpyro", "numpyro-dense", "nutpie")


def measured(results: dict, sampler: str) -> dict | None:
    """The figures of a sampler that ran."""
    result = results.get(sampler)
    return result if result and result["status"] == "ok" else None


def best_nuts(results: dict) -> dict | None:
    ran = [result for sampler in NUTS if (result := measured(results, sampler))]
    return max(ran, key=lambda result: result["ess_per_second"], default=None)


def times_faster(results: dict, peer: dict | None, sampler: str = "tunamh") -> float | None:
    """Effective draws per second of sampling, ``sampler`` over ``peer``."""
    ours = measured(results, sampler)
    return ours["ess_per_second"] / peer["ess_per_second"] if ours and peer else None


# -------------------------------------------------------------------------------------------------------- tables


def print_problem(name: str, results: dict) -> None:
    """One row per sampler; what did not run says why, and where tunamh is behind the title says so."""
    best, rows, excuses = best_nuts(results), [], []
    for sampler, (label, exact, *_) in SAMPLERS.items():
        if sampler not in results:
            continue
        result = measured(results, sampler)
        if result is None:
            excuses.append(f"{label}: {results[sampler]['status']}")
            continue
        flag = "*" if result["min_ess"] < FEW else ""
        rows.append(
            [
                label,
                exact,
                number(result["setup_seconds"]),
                number(result["draws"]),
                number(result["min_ess"]) + flag,
                number(result["ess_per_second"]) + flag,
                number(result["ess_per_second_with_setup"]) + flag,
                number(result["seconds_to_1000"]) + flag,
                number(times_faster(results, best, sampler)) + flag,
                f"{result['spread']:.2f}",
            ]
        )
    if not rows and not excuses:
        return
    columns = [
        "sampler",
        "exact?",
        "set-up s",
        "draws",
        "min ESS",
        "ESS/s",
        "ESS/s, set-up too",
        "s to 1000 ESS",
        "x best NUTS",
        "sd/Laplace",
    ]
    print_table(f"{name}{_verdict(results)}", columns, rows, text=2)
    ours = measured(results, "tunamh")
    if ours:
        print(
            f"tunamh: {number(ours['rows_per_step'])} rows per step, acceptance {ours['acceptance']:.2f}, "
            f"{number(ours['ess_per_step'])} effective draws per step; {ours['test']}, {ours['proposal']}"
        )
    for excuse in excuses:
        print(excuse)


def _verdict(results: dict) -> str:
    ours = measured(results, "tunamh")
    if ours is None:
        return ""
    ahead = [
        SAMPLERS[sampler].label
        for sampler in SAMPLERS
        if (peer := measured(results, sampler)) and peer["ess_per_second"] > ours["ess_per_second"]
    ]
    return f": tunamh LOSES to {', '.join(ahead)}" if ahead else ": tunamh is fastest"


# --------------------------------------------------------------------------------------------------------- goals


class Goal(NamedTuple):
    """To be ``limit`` times as fast as ``peer`` in sampling; without a peer, 1000 draws within ``limit`` seconds."""

    problem: str
    what: str
    limit: float
    peer: Callable[[dict], dict | None] | None = None

    def value(self, results: dict) -> float | None:
        if self.peer is not None:
            return times_faster(results, self.peer(results))
        ours = measured(results, "tunamh")
        return ours["seconds_to_1000"] if ours else None

    def verdict(self, value: float | None) -> str:
        if value is None:
            return "not measured"
        return "pass" if (value >= self.limit if self.peer else value <= self.limit) else "FAIL"

    def flag(self, results: dict) -> str:
        """A star where one of the two has too few effective draws for the figure to be trusted."""
        both = (measured(results, "tunamh"), self.peer(results) if self.peer else None)
        return "*" if any(result and result["min_ess"] < FEW for result in both) else ""


def hmcecs(results: dict) -> dict | None:
    return measured(results, "hmcecs")


GOALS = [
    Goal("logistic-1e6x50", "times the better NUTS", 500_000, best_nuts),
    Goal("logistic-1e5x50", "times the better NUTS", 2000, best_nuts),
    Goal("student-1e5x100", "times the better NUTS", 600, best_nuts),
    Goal("logistic-1e4x50", "times the better NUTS", 60, best_nuts),
    Goal("student-1e4x50", "times the better NUTS", 60, best_nuts),
    Goal("mnist79", "times the better NUTS", 10, best_nuts),
    *(
        Goal(f"{family}-{n_rows}x{d}", "times HMCECS", 100, hmcecs)
        for n_rows in ("1e5", "1e6")
        for d in (10, 50, 100)
        for family in ("logistic", "student")
    ),
    Goal("logistic-1e6x50", "seconds to 1000 effective draws, set-up too", 2.0),
]


def print_goals(report: dict) -> None:
    rows = []
    for goal in GOALS:
        results = report["problems"].get(goal.problem, {})
        value = goal.value(results)
        limit = f"{'>=' if goal.peer else '<='} {goal.limit:,g}"
        now = "" if value is None else number(value) + goal.flag(results)
        rows.append([f"{goal.problem}: {goal.what}", limit, now, goal.verdict(value)])
    print_table("goals of tunamh, in sampling time where not said otherwise", ["goal", "limit", "now", ""], rows)
    print(f"* rests on fewer than {FEW} effective draws")


# ------------------------------------------------------------------------------------------------------- picture


def draw(report: dict, path: Path) -> None:
    """Effective draws per second against N: a panel per family, a line style per d, a colour per sampler.

    Hollow marks rest on too few effective draws.
    """
    import matplotlib as mpl

    mpl.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(1, 2, figsize=(12, 5.2), sharey=True, layout="constrained")
    styles = {10: ":", 50: "-", 100: "--"}
    seen: set[str] = set()
    for axis, (family, title) in zip(axes, (("logistic", "logistic"), ("student", "Student-t")), strict=True):
        for sampler, look in SAMPLERS.items():
            for d, style in styles.items():
                points = _curve(report, family, d, sampler)
                if look.colour and points:
                    seen.add(sampler)
                    settings = {"color": look.colour, "marker": look.marker, "linestyle": style, "markersize": 5}
                    rows, pace, _ = zip(*points, strict=True)
                    axis.plot(rows, pace, **settings)
                    for point in points:
                        if point[2]:
                            axis.plot(*point[:2], **settings, markerfacecolor="white")
        axis.set(xscale="log", yscale="log", xlabel="rows", title=f"{title} regression")
        axis.grid(alpha=0.3)
    axes[0].set_ylabel("effective draws per second of sampling")
    handles = [
        plt.Line2D([], [], color=look.colour, marker=look.marker, label=_legend(look))
        for sampler, look in SAMPLERS.items()
        if sampler in seen
    ]
    handles += [plt.Line2D([], [], color="black", linestyle=style, label=f"d = {d}") for d, style in styles.items()]
    hollow = {"color": "black", "linestyle": "", "marker": "o", "markerfacecolor": "white"}
    handles.append(plt.Line2D([], [], **hollow, label=f"fewer than {FEW} effective draws"))
    figure.legend(handles=handles, loc="outside right upper", frameon=False)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _legend(look: Sampler) -> str:
    return look.label if look.exact == "yes" else f"{look.label} (not exact)"


def _curve(report: dict, family: str, d: int, sampler: str) -> list[tuple[float, float, bool]]:
    """Rows, effective draws per second, and whether there were too few, for those sizes that were measured."""
    points: list[tuple[float, float, bool]] = []
    for n_rows in ("1e4", "1e5", "1e6"):
        results: dict[str, Any] = report["problems"].get(f"{family}-{n_rows}x{d}", {})
        result = measured(results, sampler)
        if result:
            points.append((float(n_rows), result["ess_per_second"], result["min_ess"] < FEW))
    return points


def main() -> None:
    path = Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS / "peers.json"
    report = json.loads(path.read_text())
    for name, results in report["problems"].items():
        print_problem(name, results)
    print_goals(report)
    draw(report, DOCS / "peers.png" if path.parent == RESULTS else path.with_suffix(".png"))


if __name__ == "__main__":
    main()
